"""MIRAI's functions on millions of events, beside pandas boolean masks over the same table, in one run.

    python benchmarks/mirai_tools.py --events 10_000_000

The masks are over columns of text, as in the code of the paper; they are given a table from which later events were
deleted, which is not counted. The countries are skewed: one of them has a sixth of all events, four have two fifths.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from size import sized

from openfingym.vault import Source, Vault, VaultWriter
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.tables import EVENTS
from openfingym_suites.mirai.tools import Tools

DAYS = 424
FIRST = datetime(2023, 1, 1, tzinfo=UTC)
CODES = np.array([relation.code for relation in taxonomy.relations(2)], dtype=object)
ISO = np.array([country.iso3 for country in taxonomy.countries()], dtype=object)
FUNCTIONS = ("count_events", "get_events", "get_relation_distribution", "get_entity_distribution")
ROLE = {"head_entities": "head", "tail_entities": "tail"}


def skewed(rng: np.random.Generator, count: int, among: int) -> np.ndarray:
    return np.minimum((5.0 * rng.pareto(1.0, count)).astype(int), among - 1)


def made(events: int) -> Iterator[pd.DataFrame]:
    for seed in range(0, events, 1_000_000):
        rng, count = np.random.default_rng(seed), min(1_000_000, events - seed)
        day = np.sort(rng.integers(0, DAYS, count))
        late = rng.integers(0, 3, count) * (rng.random(count) < 0.02)
        known = pd.Timestamp(FIRST) + pd.to_timedelta(day + late + 1, unit="D") - pd.Timedelta(microseconds=1)
        dates = np.array([(FIRST + timedelta(days=number)).date() for number in range(DAYS)], dtype=object)
        columns = {
            "date": dates[day],
            "head": ISO[skewed(rng, count, len(ISO))],
            "relation": CODES[skewed(rng, count, len(CODES))],
            "tail": ISO[skewed(rng, count, len(ISO))],
        }
        yield pd.DataFrame({**columns, "mentions": 60, "articles": 2, "quad": 1, "known_at": known})


def drawn(draw: random.Random, function: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw.random() < 0.7:
        days = sorted(draw.sample(range(380), 2))
        start, end = (str((FIRST + timedelta(days=day)).date()) for day in days)
        found["date_range"] = {"start_date": start, "end_date": end}
    sides = ["interacted_entities"] if function == "get_entity_distribution" else list(ROLE)
    for side in sides:
        if draw.random() < 0.7:
            places = (
                min(int(5.0 * draw.paretovariate(1.0) - 5.0), len(ISO) - 1) for _ in range(draw.choice((1, 1, 2)))
            )
            found[side] = sorted({str(ISO[place]) for place in places})
    if function in {"count_events", "get_events"} and draw.random() < 0.5:
        found["relations"] = draw.choice([["04"], ["042"], ["19", "190"]])
    if function == "get_entity_distribution":
        found["entity_role"] = draw.choice(["head", "tail"])
    return found


def masked(frame: pd.DataFrame, function: str, arguments: dict[str, Any]) -> Any:
    """The same by boolean masks."""
    conditions = {ROLE[side]: arguments[side] for side in ROLE if side in arguments}
    role = arguments.get("entity_role")
    if "interacted_entities" in arguments:
        conditions["tail" if role == "head" else "head"] = arguments["interacted_entities"]
    keep = np.ones(len(frame), dtype=bool)
    for column, values in conditions.items():
        keep &= frame[column].isin(values)
    if "relations" in arguments:
        wanted = [code for code in CODES if any(code.startswith(given) for given in arguments["relations"])]
        keep &= frame["relation"].isin(wanted)
    if "date_range" in arguments:
        start, end = arguments["date_range"].values()
        keep &= (frame["date"] >= start) & (frame["date"] <= end)
    if function == "count_events":
        return int(keep.sum())
    if function == "get_events":
        return frame[keep].sort_values("date", ascending=False).head(30)
    return frame[keep][role or "relation"].value_counts()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = call()
    return 1000.0 * (time.perf_counter() - began), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=sized(10_000_000, 20_000))
    parser.add_argument("--calls", type=int, default=sized(100, 2))
    parser.add_argument(
        "--peers", type=int, default=sized(8, 2), help="calls of each function that pandas is timed on too"
    )
    parser.add_argument("--folder", type=Path, help="keep the vault here, and use it if it is there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "vault"
        if not folder.exists():
            source = Source(name="benchmarks/mirai_tools.py", licence="Apache-2.0")
            with VaultWriter(folder, name="speed", title="Random events", sources=[source], simulated=True) as writer:
                writer.add(EVENTS, made(given.events))
                writer.finish()
        vault, time_of = Vault.open(folder), FIRST + timedelta(days=390)
        frame = pd.concat(made(given.events))
        frame = frame[frame["known_at"] <= time_of].drop(columns=["known_at", "mentions", "articles", "quad"])
        frame["date"] = frame["date"].astype(str)
        print(f"{given.events:,} events, {len(frame):,} known")
        print("| function | p50 ms | p90 ms | pandas p50 ms | times faster |\n|---|---|---|---|---|")
        draw, tools = random.Random(0), Tools(vault.as_of(time_of))
        for function in FUNCTIONS:
            calls = [drawn(draw, function) for _ in range(given.calls)]
            ours = [timed(lambda each=each: tools.reply(function, each).value) for each in calls]  # noqa: B023
            some = calls[: given.peers]
            theirs = [timed(lambda each=each: masked(frame, function, each)) for each in some]  # noqa: B023
            for (_, mine), (_, peer) in zip(ours, theirs, strict=False):
                same = mine == peer if function == "count_events" else len(mine) == len(peer)
                assert same, (function, mine, peer)
            times = np.array([each for each, _ in ours])
            peers = np.array([each for each, _ in theirs])
            ratio = float(np.median(peers / times[: len(peers)]))
            p50, p90 = np.percentile(times, [50, 90])
            print(f"| `{function}` | {p50:.1f} | {p90:.1f} | {np.median(peers):.0f} | {ratio:.0f} |", flush=True)


if __name__ == "__main__":
    main()
