"""Relative totals on every replicate: written, read back, and set against each other."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from openfingym.metrics.relative_sample import MOST, RelativeSample

SAMPLE = RelativeSample(np.array([0.1, -0.2, 0.05, 0.3]), 1.5, 7.0, 40)


def test_its_error_is_the_deviation_over_replicates_times_the_scale() -> None:
    assert SAMPLE.error == pytest.approx(1.5 * np.std(SAMPLE.values, ddof=1))
    many = RelativeSample(np.array([*([0.1, 0.2] * 48), *([math.nan] * 4)]), 2.0, 7.0, 40)
    assert many.error == pytest.approx(2.0 * np.std([0.1, 0.2] * 48, ddof=1))
    assert RelativeSample(np.array([*([0.1, 0.2] * 9), math.nan, math.nan]), 2.0, 7.0, 40).error is None


def test_what_both_have_in_common_cancels() -> None:
    moved = RelativeSample(SAMPLE.values + 0.7, 1.5, 7.0, 40)
    difference = SAMPLE.minus(moved)
    assert difference is not None
    assert difference.error == pytest.approx(0.0, abs=1e-12)
    mean = RelativeSample.mean([SAMPLE, moved])
    assert mean is not None
    assert mean.values == pytest.approx(SAMPLE.values + 0.35)
    assert SAMPLE.times(-2.0).values == pytest.approx(-2.0 * SAMPLE.values)
    assert (SAMPLE.times(0.5).freedom, SAMPLE.times(0.5).units) == (7.0, 40)


@pytest.mark.parametrize(
    "other",
    [
        RelativeSample(SAMPLE.values, 1.4, 7.0, 40),
        RelativeSample(SAMPLE.values, 1.5, 6.0, 40),
        RelativeSample(SAMPLE.values, 1.5, 7.0, 41),
        RelativeSample(SAMPLE.values[:3], 1.5, 7.0, 40),
    ],
)
def test_samples_of_other_replicates_are_not_set_against_each_other(other: RelativeSample) -> None:
    assert SAMPLE.minus(other) is None
    assert RelativeSample.mean([SAMPLE, other]) is None


def test_it_is_read_back_and_what_has_no_value_stays_without() -> None:
    sample = RelativeSample(np.array([0.1, math.nan, 1.0 / 3.0]), 1.1, 2.5, 9)
    document = json.loads(json.dumps(sample.to_dict(), allow_nan=False))
    assert document["logs"][1] is None
    back = RelativeSample.from_dict(document)
    assert back is not None
    assert back.values == pytest.approx(sample.values, abs=1e-9, nan_ok=True)
    assert (back.scale, back.freedom, back.units) == (1.1, 2.5, 9)


@pytest.mark.parametrize(
    "change",
    [
        {"logs": "0.1"}, {"logs": [0.1]}, {"logs": [0.1, "x"]}, {"logs": [0.1, True]}, {"logs": [0.1, [0.2]]},
        {"logs": [0.1, math.inf]}, {"logs": [0.0] * (MOST + 1)}, {"logs": None}, {"scale": 0.0}, {"scale": math.nan},
        {"scale": "1"}, {"scale": True}, {"freedom": -1.0}, {"freedom": math.inf}, {"freedom": None}, {"units": 0},
        {"units": 1.5}, {"units": True},
    ],
)  # fmt: skip
def test_a_strangers_document_that_is_none_is_none(change: dict[str, Any]) -> None:
    assert RelativeSample.from_dict(SAMPLE.to_dict()) is not None
    assert RelativeSample.from_dict({**SAMPLE.to_dict(), **change}) is None
    assert RelativeSample.from_dict(None) is RelativeSample.from_dict([1]) is RelativeSample.from_dict({}) is None
