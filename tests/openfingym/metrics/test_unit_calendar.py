"""What each unit adds to a logarithm, found again from its replicates, and what is read of a stranger's document."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.resampling import block_bootstrap
from openfingym.metrics.unit_calendar import MOST_COEFFICIENTS, UnitCalendar

DAY = 86_400


def calendar_of(units: int, *, seed: int = 3, length: int = 5) -> UnitCalendar:
    design = block_bootstrap(units, seed)
    assert design is not None
    begins = np.arange(units) * length * DAY
    return UnitCalendar(begins, begins + length * DAY, seed, design.block)


def replicates(units: int, losses: np.ndarray, seed: int = 3) -> np.ndarray:
    design = block_bootstrap(units, seed)
    assert design is not None
    counts = design.counts(units)
    return np.asarray(counts @ losses / counts.sum(axis=1))


@pytest.mark.parametrize("units", [19, 40, 61, 250])
def test_what_blocks_of_units_add_to_a_mean_is_found_again_from_its_replicates(units: int) -> None:
    calendar, losses = calendar_of(units), np.random.default_rng(units).standard_normal(units)
    found = calendar.influence(replicates(units, losses))
    assert found is not None
    together = math.ceil(units / MOST_COEFFICIENTS)
    # Of units that share a number it is a mean, so more units are explained less well.
    assert found.explained == pytest.approx(1.0, abs=1e-9 if together == 1 else 0.4)
    truth = (losses - losses.mean()) / units
    days = 5.0 * DAY * calendar.block
    times = np.arange(0.0, 5 * DAY * (units - calendar.block), 5 * DAY)
    sums = found.until(times + days) - found.until(times)
    expected = np.convolve(truth, np.ones(calendar.block), "valid")[: len(times)]
    assert np.corrcoef(sums, expected)[0, 1] > (0.999 if together == 1 else 0.85)
    assert found.until(np.array([-1.0, 5.0 * DAY * units])) == pytest.approx([0.0, 0.0], abs=1e-9)
    assert found.share_until(np.array([0.0, 2.5 * DAY * units, 9e9])) == pytest.approx([0.0, 0.5, 1.0], abs=0.01)
    assert found.block == pytest.approx(days)


def test_replicates_that_were_drawn_otherwise_are_not_explained() -> None:
    losses = np.random.default_rng(0).standard_normal(40)
    found = calendar_of(40, seed=4).influence(replicates(40, losses))
    assert found is not None
    assert found.explained < 0.3
    assert replace(calendar_of(40), block=7).influence(replicates(40, losses)) is not None, "blocks may be longer"
    assert replace(calendar_of(40), block=2).influence(replicates(40, losses)) is None, "and never shorter"
    for logs in (np.zeros(200), np.full(200, math.nan), replicates(40, losses)[:100]):
        assert calendar_of(40).influence(logs) is None


def test_a_difference_has_a_calendar_only_if_both_sides_have_the_same() -> None:
    losses = np.random.default_rng(1).standard_normal(40)
    dated = RelativeSample(replicates(40, losses), 1.1, 9.0, 40, calendar_of(40))
    undated = replace(dated, calendar=None)
    later = replace(dated, calendar=calendar_of(40, length=6))
    half = dated.minus(dated.times(0.5))
    assert half is not None
    assert half.influence is not None
    assert dated.influence is not None
    assert half.influence.values == pytest.approx(0.5 * dated.influence.values)
    for other in (undated, later):
        for pair in ([dated, other], [other, dated]):
            difference, mean = pair[0].minus(pair[1]), RelativeSample.mean(pair)
            assert difference is not None
            assert mean is not None
            assert difference.calendar is mean.calendar is None
    back = RelativeSample.from_dict(dated.to_dict())
    assert back is not None
    assert back.calendar is not None
    assert back.calendar.is_same(dated.calendar)


@pytest.mark.parametrize(
    "change",
    [
        {"begins": None}, {"begins": [0]}, {"begins": [0, 1, 2.0]}, {"begins": [0, 9, 2]}, {"begins": [0, 1, True]},
        {"begins": [-(2**41), 1, 2]}, {"ends": [0, 9, 9]}, {"ends": "9"}, {"ends": [1, 2, 2**41]}, {"seed": -1},
        {"seed": 2**63}, {"seed": 1.0}, {"seed": True}, {"block": 0}, {"block": 4}, {"block": None},
    ],
)  # fmt: skip
def test_a_strangers_calendar_that_is_none_leaves_the_sample_without(change: dict[str, Any]) -> None:
    calendar = UnitCalendar(np.array([0, 1, 2]), np.array([2, 3, 4]), 5, 1)
    stated = RelativeSample(np.array([0.1, 0.2]), 1.0, 2.0, 3, calendar).to_dict()
    whole, found = RelativeSample.from_dict(stated), RelativeSample.from_dict({**stated, **change})
    assert whole is not None
    assert whole.calendar is not None
    assert found is not None
    assert found.calendar is None
