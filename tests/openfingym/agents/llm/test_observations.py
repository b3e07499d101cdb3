"""What a model is told of a market: short, complete, and the numbers that were there."""

from __future__ import annotations

import math

import numpy as np

from openfingym.agents.llm.observations import StepEvents, first_text, next_text
from openfingym.task.episodes import EpisodeStep

SYMBOLS = ("aapl", "ibm")


def _at(step: int = 3, **changes: object) -> EpisodeStep:
    close = np.array([[100.0 * 1.01**row, 50.0 * 0.99**row] for row in range(30)])
    bars = np.stack([close, close + 1, close - 1, close, np.full_like(close, 1e6)], axis=2)
    observation = {
        "bars": bars.tolist(),
        "cash": 500.25,
        "free_cash": 400.0,
        "equity": 10_000.0,
        "positions": [20.0, -10.0],
        "fills": [],
        "rejections": [],
        "changes": [],
        "open_orders": [],
        "splits": [1.0, 1.0],
        "dividends": [0.0, 0.0],
        "steps_left": 7,
        **changes,
    }
    return EpisodeStep(1, "private", 0, 3, step, observation, 0.01, terminated=False, truncated=False, info={})


def test_figures_are_those_of_the_bars() -> None:
    text = next_text(_at(), SYMBOLS, reward=0.0625)
    assert "Step 3, 7 left; reward since the last +0.06250" in text
    assert "equity 10000, cash 500.25, free cash 400" in text
    aapl, ibm = (line.split() for line in text.splitlines() if line.split()[0] in SYMBOLS)
    head = next(line for line in text.splitlines() if "symbol" in line)
    last = 100 * 1.01**29
    assert math.isclose(float(aapl[4]), last, rel_tol=1e-5)
    assert aapl[6:9] == ["+1.00%", f"{100 * (1.01**5 - 1):+.2f}%", f"{100 * (1.01**20 - 1):+.2f}%"]
    assert ibm[6] == "-1.00%"
    assert aapl[9] == "0.00%", "a constant return has no volatility"
    assert math.isclose(float(aapl[11]), 20 * last / 10_000, abs_tol=1e-3)
    assert ibm[10] == "-10"
    assert head.split()[-1] == "weight"
    assert "fills" not in text
    assert "splits" not in text


def test_events_of_steps_that_were_waited_through_are_told() -> None:
    passed = StepEvents()
    for quantity in (5.0, 7.0):
        fill = {"event": "filled", "symbol": "ibm", "side": "buy", "quantity": quantity, "price": 49.5, "reason": None}
        passed.add({"fills": [fill], "rejections": [], "changes": []})
    text = next_text(_at(splits=[2.0, 1.0]), SYMBOLS, passed=passed)
    assert "quantity 5, price 49.5" in text
    assert "quantity 7, price 49.5" in text
    assert "reason" not in text
    assert "splits: aapl 2, ibm 1" in text
    many = StepEvents()
    many.add({"fills": [{"order": number} for number in range(40)]})
    assert "and 28 more" in next_text(_at(), SYMBOLS, passed=many)


def test_the_start_shows_the_past_and_stays_short() -> None:
    text = first_text(_at(step=0), SYMBOLS)
    rows = [line.split() for line in text.splitlines() if line.split() and line.split()[0].startswith(("-", "now"))]
    assert len(rows) == 20
    assert math.isclose(float(rows[-1][1]), 100 * 1.01**29, rel_tol=1e-5)
    assert "reward" not in text
    assert len(text) < 2000


def test_observations_of_other_kinds_are_told_as_they_are() -> None:
    at = EpisodeStep(
        1, "private", 0, 0, 1, {"belief": [0.5, None]}, 0.0, terminated=False, truncated=False, info={"steps_left": 4}
    )
    assert next_text(at, ()).splitlines() == [
        "Step 1, 4 left; reward since the last +0.00000",
        '{"belief": [0.5, null]}',
    ]
