"""The learned look-ahead, on windows that do and do not show what comes of others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.checks.finding import FailedCheckError
from openfingym.checks.look_ahead import look_ahead

Part = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
LOOKBACK, HORIZON = 6, 3


def windows(values: NDArray[np.float64], stride: int) -> Part:
    """Windows of a series, their targets as changes since the last input, and the number of their first row."""
    starts = np.arange(0, len(values) - LOOKBACK - HORIZON + 1, stride)
    inputs = np.stack([values[start : start + LOOKBACK] for start in starts])
    targets = np.stack([values[start + LOOKBACK : start + LOOKBACK + HORIZON] for start in starts]) - inputs[:, -1:]
    return inputs - inputs.mean(), targets, starts


def walk(seed: int, rows: int = 4000) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(rows).cumsum() * 0.01


@pytest.mark.parametrize("stride", [LOOKBACK + HORIZON, HORIZON], ids=["end to end", "sliding"])
def test_levels_that_are_shown_at_once_are_refused(stride: int) -> None:
    with pytest.raises(FailedCheckError, match=r"sees the next 2 hidden items saves [2-9]\d\.\d%"):
        look_ahead(windows(walk(0), stride), windows(walk(1), stride))


def test_an_order_that_is_mixed_hides_nothing() -> None:
    inputs, targets, times = windows(walk(1), HORIZON)
    mixed = np.random.default_rng(2).permutation(len(times))
    with pytest.raises(FailedCheckError, match="Show items in the order of time"):
        look_ahead(windows(walk(0), HORIZON), (inputs[mixed], targets[mixed], times[mixed]))


@pytest.mark.parametrize("seed", range(5))
def test_items_that_tell_nothing_of_each_other_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def part(rows: int) -> Part:
        inputs = rng.standard_normal((rows, 8))
        return inputs, inputs[:, :2] + rng.standard_normal((rows, 2)), np.arange(rows)

    assert "hidden items saves 0." in look_ahead(part(1200), part(298))


def test_targets_that_nobody_knows_are_no_fault() -> None:
    rng = np.random.default_rng(3)
    train, hidden = (windows(rng.standard_normal(3000), LOOKBACK + HORIZON) for _ in range(2))
    hidden[1][::7] = np.nan
    assert look_ahead(train, hidden).startswith("seeing the next 2")
