"""The baselines of the MIRAI suite on a month of a simulated world: the table of docs/mirai.md.

python benchmarks/mirai_baselines.py --month 2024-02 --cutoff 2023-12-31
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import numpy as np
from size import sized

from openfingym.metrics.registry import find_metric
from openfingym_suites.mirai.answers import labels
from openfingym_suites.mirai.baselines import fit_articles, fit_features, fit_regcn, frequency, recurrency
from openfingym_suites.mirai.question import RelationQuestion
from openfingym_suites.mirai.simulated import simulated_vault
from openfingym_suites.mirai.splits import as_of, relation_queries

SETS = (
    "binary_kl",
    "quad_kl",
    *(f"{level}_level_{name}" for level in ("first", "second") for name in ("precision", "recall", "f1")),
)
RANKS = ("filtered_mrr", "filtered_hits_at_10", "first_code_hits_at_10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--month", default="2024-02")
    parser.add_argument("--cutoff", type=date.fromisoformat, default=date(2023, 12, 31), help="last day of training")
    parser.add_argument("--horizons", type=int, nargs="+", default=[1])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=sized(None, ["frequency"]))
    given = parser.parse_args()
    vault = simulated_vault()
    queries = relation_queries(vault, given.month)[: sized(None, 5)]
    place = {code: number for number, code in enumerate(labels())}
    truth = np.zeros((len(queries), len(place)))
    for row, query in zip(truth, queries, strict=True):
        for code in query.answers:
            row[place[code]] = row[place[code[:2]]] = 1.0
    print(f"vault {vault.digest[:12]}, {len(queries)} queries of {given.month}")
    learned = vault.as_of(datetime.combine(given.cutoff, datetime.max.time(), UTC))
    print("| horizon | baseline | " + " | ".join((*SETS, *RANKS)) + " | fit CPU s | CPU ms a forecast |")
    for horizon in given.horizons:
        makers: dict[str, Callable[[], Callable[..., object]]] = {
            "recurrency": lambda: recurrency,
            "frequency": lambda: frequency,
            "features": lambda horizon=horizon: fit_features(learned, horizon, seed=given.seed),
            "regcn": lambda horizon=horizon: fit_regcn(learned, horizon, seed=given.seed),
            "articles": lambda horizon=horizon: fit_articles(vault, learned, horizon, seed=given.seed),
        }
        for name, make in makers.items():
            if given.only and name not in given.only:
                continue
            began = time.process_time()
            forecast = make()
            fitted = time.process_time() - began
            answers = []
            began = time.process_time()
            for query in queries:
                view = vault.as_of(as_of(query.date, horizon))
                question = RelationQuestion(query.date, query.head, query.tail, query.date - timedelta(days=horizon))
                answers.append(forecast(view, question).numbers())
            each = 1000.0 * (time.process_time() - began) / len(queries)
            values = [
                find_metric(metric).compute({"y_true": truth, "y_pred": np.stack(answers)})
                for metric in (*SETS, *RANKS)
            ]
            cells = [
                f"{value:.2f}" if metric in SETS[:2] else f"{100 * value:.1f}"
                for metric, value in zip((*SETS, *RANKS), values, strict=True)
            ]
            print(f"| {horizon} | {name} | " + " | ".join(cells) + f" | {fitted:.0f} | {each:.0f} |", flush=True)


if __name__ == "__main__":
    main()
