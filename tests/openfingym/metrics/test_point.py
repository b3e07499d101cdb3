"""Point errors against scikit-learn, the standard library and their own laws."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.metrics import mean_absolute_error, mean_squared_error, root_mean_squared_error

from openfingym.errors import DataError, UsageError
from openfingym.metrics.point import mae, mse, rmse

SHAPES = npst.array_shapes(min_dims=3, max_dims=3, max_side=6)
VALUES = st.floats(-1e6, 1e6, allow_subnormal=False, width=32)  # squares of float64 would underflow to 0
PAIRS = SHAPES.flatmap(
    lambda shape: st.tuples(
        npst.arrays(np.float64, shape, elements=VALUES), npst.arrays(np.float64, shape, elements=VALUES)
    )
)


@given(PAIRS)
def test_agrees_with_scikit_learn(pair):
    y, p = pair
    assert mse(y, p) == pytest.approx(mean_squared_error(y.ravel(), p.ravel()), rel=1e-12)
    assert rmse(y, p) == pytest.approx(root_mean_squared_error(y.ravel(), p.ravel()), rel=1e-12)
    assert mae(y, p) == pytest.approx(mean_absolute_error(y.ravel(), p.ravel()), rel=1e-12)


@given(PAIRS)
def test_agrees_with_exact_arithmetic_of_the_standard_library(pair):
    y, p = (a.ravel().tolist() for a in pair)
    errors = [b - a for a, b in zip(y, p, strict=True)]
    assert mse(*pair) == pytest.approx(statistics.fmean(e * e for e in errors), rel=1e-12)
    assert mae(*pair) == pytest.approx(statistics.fmean(map(abs, errors)), rel=1e-12)


@given(PAIRS, st.floats(0.1, 100.0), st.floats(-1e3, 1e3))
def test_shift_changes_nothing_and_scale_scales(pair, factor, shift):
    y, p = pair
    assert mae(y + shift, p + shift) == pytest.approx(mae(y, p), rel=1e-6, abs=1e-6)
    assert rmse(factor * y, factor * p) == pytest.approx(factor * rmse(y, p), rel=1e-9, abs=1e-12)
    assert mse(factor * y, factor * p) == pytest.approx(factor**2 * mse(y, p), rel=1e-9, abs=1e-12)


@given(PAIRS)
def test_order_of_the_three_and_the_optimum(pair):
    y, p = pair
    assert 0.0 <= mae(y, p) <= rmse(y, p) * (1 + 1e-12)
    assert mse(y, y) == rmse(y, y) == mae(y, y) == 0.0
    assert (mae(y, p) == 0.0) == bool((y == p).all())


def test_pooled_over_channels_and_not_the_mean_of_channels():
    y = np.zeros((1, 1, 2))
    p = np.array([[[0.0, 2.0]]])
    assert rmse(y, p) == math.sqrt(2.0)  # the mean of one RMSE a channel would be 1


def test_constant_series_and_single_value():
    assert mae(np.full((3, 2, 1), 7.0), np.full((3, 2, 1), 7.0)) == 0.0
    assert mse(np.array([[[1.0]]]), np.array([[[4.0]]])) == 9.0


@pytest.mark.parametrize("function", [mse, rmse, mae])
@pytest.mark.parametrize(
    ("y", "p", "whose", "words"),
    [
        (np.zeros((1, 2, 1)), np.zeros((1, 1, 2)), UsageError, "expected"),
        (np.zeros((0, 2, 1)), np.zeros((0, 2, 1)), DataError, "y_true is empty"),
        (np.zeros((1, 1, 1)), np.full((1, 1, 1), np.nan), UsageError, r"y_pred\[0, 0, 0\] is not"),
        (np.full((1, 1, 1), np.inf), np.zeros((1, 1, 1)), DataError, r"y_true\[0, 0, 0\] is not"),
    ],
)
def test_what_cannot_be_scored_raises_and_says_whose_fault_it_is(function, y, p, whose, words):
    with pytest.raises(whose, match=words):
        function(y, p)


def test_any_shape_and_any_real_type():
    assert mae(np.array([1, 2]), np.array([2.0, 4.0], np.float32)) == 1.5
    assert mse(np.array([[1, 2]]), np.array([[1, 4]])) == 2.0


def test_overflow_raises_and_is_not_infinite():
    y, p = np.zeros((1, 1, 2)), np.full((1, 1, 2), 1e200)
    assert mae(y, p) == 1e200
    for function in (mse, rmse):
        with pytest.raises(UsageError, match="too large"):
            function(y, p)
    with pytest.raises(UsageError, match="too large"):
        mae(np.full((1, 1, 2), -1.7e308), np.full((1, 1, 2), 1.7e308))
