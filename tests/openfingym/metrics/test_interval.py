"""Interval metrics by definition, against scikit-learn, and where they can be gamed."""

import math

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from openfingym.errors import DataError, UsageError
from openfingym.metrics.interval import coverage_gap, cwc, interval_score, mpiw, nmpiw, picp

Y = np.array([0.0, 1.0, 2.0, 3.0])


def test_by_hand():
    lower, upper = np.array([0.0, 1.5, 1.0, 2.0]), np.array([1.0, 2.0, 2.0, 2.5])
    assert picp(Y, lower, upper) == 0.5  # both bounds inclusive
    assert coverage_gap(Y, lower, upper) == pytest.approx(0.45)
    assert mpiw(Y, lower, upper) == pytest.approx(0.75)
    assert nmpiw(Y, lower, upper) == pytest.approx(0.25)
    assert cwc(Y, lower, upper) == pytest.approx(0.25 * (1 + math.exp(50 * 0.45)))
    assert cwc(Y, Y - 1, Y + 1) == pytest.approx(2 / 3)
    assert interval_score(Y, lower, upper) == pytest.approx(0.75 + 40 * (0.5 + 0.5) / 4)


def test_interval_score_is_a_sum_of_two_pinball_losses():
    rng = np.random.default_rng(0)
    y, centre, width = rng.standard_normal((3, 50, 2, 2))
    lower, upper = centre - np.abs(width), centre + np.abs(width)
    for target in (0.5, 0.9, 0.95):
        tail = (1 - target) / 2
        low, high = (mean_pinball_loss(y.ravel(), q.ravel(), alpha=a) for q, a in ((lower, tail), (upper, 1 - tail)))
        assert interval_score(y, lower, upper, target) == pytest.approx((low + high) / tail)


def test_no_width_does_not_win():
    rng = np.random.default_rng(1)
    y = rng.standard_normal(500)
    fair, none = (np.full(500, -1.96), np.full(500, 1.96)), (np.zeros(500), np.zeros(500))
    assert mpiw(y, *none) < mpiw(y, *fair)  # which is why it is a diagnostic
    for score in (cwc, interval_score, coverage_gap):
        assert score(y, *none) > score(y, *fair)
        assert math.isfinite(score(y, *none))


def test_faults():
    with pytest.raises(UsageError, match=r"lower\[2\] is above upper\[2\]"):
        picp(Y, np.array([0.0, 0.0, 3.0, 0.0]), np.ones(4))
    with pytest.raises(DataError, match="constant"):
        nmpiw(np.ones(4), np.zeros(4), np.ones(4))
    with pytest.raises(UsageError, match="target"):
        cwc(Y, Y, Y, 1.0)
