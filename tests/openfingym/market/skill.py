"""Agents without skill, and the report's own verdict on accounts of a live session."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds import kind_named, score_with_replicates
from openfingym.kinds.live import on_session, session_arrays
from openfingym.kinds.material import Fold
from openfingym.market.session.account import Agent, Mark
from openfingym.market.session.machine import TradingIngest
from openfingym.metrics import Truth
from openfingym.metrics.sampling_error import sampling_error
from openfingym.results import RolloutResult
from openfingym.task import Task

LIVE = Path(__file__).parents[3] / "tasks" / "crypto-trading-live"


def skillless(number: int) -> Agent:
    """One of four sorts, in turn: weights at random times, one purchase or short sale that is held, a moving average
    followed or faded, a walk of weights.
    """
    source = random.Random(number)

    def at_times(mark: Mark) -> object:
        return {"weights": [source.uniform(-1.0, 1.0)]} if source.random() < often or mark.number == 0 else None

    def hold(mark: Mark) -> object:
        held = mark.observation["positions"]
        return {"weights": [weight]} if mark.number >= first and held == [0.0] else None

    def follow(mark: Mark) -> object:
        if mark.number % each:
            return None
        bars: list[list[list[float]]] = mark.observation["bars"]  # type: ignore[assignment]
        return {"weights": [float(sign * np.sign(bars[-1][0][3] - bars[-length][0][3]))]}

    walked = [0.0]

    def walk(mark: Mark) -> object:
        if mark.number % each:
            return None
        walked[0] = max(-1.0, min(1.0, walked[0] + source.gauss(0.0, 0.4)))
        return {"weights": [walked[0]]}

    often, weight, sign = source.choice((0.01, 0.03, 0.1)), source.choice((-1.0, 0.5, 1.0)), source.choice((-1.0, 1.0))
    first, length, each = source.randrange(80), source.randrange(2, 12), source.choice((3, 12, 48))
    return (at_times, hold, follow, walk)[number % 4]


def better_than_cash_and_basket(
    machine: TradingIngest, records: Sequence[NDArray[np.float64]], seed: int
) -> list[set[str]]:
    """Which of ``cash`` and ``basket`` each account is called better than, as the verifier and reports do: the basket
    is the live task's baseline on the session's bars, and the verdict that of its ranking metric.
    """
    terms = machine.terms
    spec = on_session(Task.read(LIVE).spec, terms)
    contract = spec.contract.model_copy(
        update={"steps": terms.steps, "lookback": terms.lookback, "symbols": terms.symbols}
    )
    ranking = [metric for metric in spec.scoring.metrics if metric.relative_weight]
    scoring = spec.scoring.model_copy(update={"metrics": tuple(ranking)})
    kind = kind_named(contract)
    arrays = session_arrays({}, machine.bars, machine.first_bar, terms.interval)
    hidden = arrays | {name.replace("private", "public"): array[:0] for name, array in arrays.items()}
    basket = kind.naive(contract, hidden.__getitem__, (1, terms.steps + 1, 7))
    cash = np.zeros_like(basket)
    cash[:, :, 0] = terms.cash
    fold = Fold(slice(0, 1), Truth({}, {"periods_per_year": scoring.periods_per_year}, seed))
    design = kind.resampling(contract, fold)
    assert design is not None
    baselines = {
        name: score_with_replicates(contract, scoring, fold, record, design)
        for name, record in (("cash", cash), ("basket", basket))
    }
    found = []
    for record in records:
        own = score_with_replicates(contract, scoring, fold, record[None], design)
        verdicts = {}
        for name, base in baselines.items():
            interval = sampling_error(scoring, own, base).relative_interval
            verdicts[name] = RolloutResult(
                name, "live", "", "simulated", "", "", seed, "scored", relative_interval=interval
            ).verdict
        found.append({name for name, verdict in verdicts.items() if verdict == "better"})
    return found
