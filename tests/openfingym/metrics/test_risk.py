"""Risk statistics against empyrical, NumPy, the standard library, closed forms and their own laws."""

import math
import statistics

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from openfingym.errors import UsageError
from openfingym.metrics.risk import expected_shortfall, mean_gap, path_returns, sharpe_ratio, tail_risk, value_at_risk

RETURNS = npst.arrays(np.float64, st.integers(1, 200), elements=st.floats(-0.5, 0.5, allow_subnormal=False))
LEVELS = st.floats(0.001, 0.999)


def gaussian(seed, shape):
    return 0.01 * np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("size", [2, 3, 19, 20, 21, 100, 1000])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.5, 0.9])
def test_agrees_with_empyrical(size, level):
    r = gaussian(size, size)
    assert value_at_risk(r, level) == empyrical.value_at_risk(r, level)
    assert expected_shortfall(r, level) == pytest.approx(empyrical.conditional_value_at_risk(r, level), rel=1e-12)
    assert sharpe_ratio(r, 252.0) == pytest.approx(empyrical.sharpe_ratio(r, annualization=252), rel=1e-10)
    assert sharpe_ratio(r, 1.0) == pytest.approx(empyrical.sharpe_ratio(r, annualization=1), rel=1e-10)


@given(RETURNS, LEVELS)
def test_var_is_the_linear_quantile_and_es_the_mean_not_above_it(r, level):
    var, shortfall = tail_risk(r, level)
    assert var == pytest.approx(np.quantile(r, level), rel=1e-12, abs=1e-15)
    assert shortfall == pytest.approx(statistics.fmean(x for x in r.tolist() if x <= var), rel=1e-12, abs=1e-15)
    assert r.min() <= shortfall <= var <= r.max()


@given(st.lists(st.sampled_from([-0.02, -0.01, 0.0, 0.01]), min_size=1, max_size=60), LEVELS)
def test_ties_with_var_belong_to_the_tail(values, level):
    var, shortfall = tail_risk(np.array(values), level)
    assert shortfall == pytest.approx(statistics.fmean(x for x in values if x <= var), rel=1e-12, abs=1e-17)


@given(RETURNS.filter(lambda r: r.size > 1), st.floats(0.5, 9000.0))
def test_sharpe_agrees_with_the_standard_library(r, periods):
    deviation = statistics.stdev(r.tolist())
    expected = 0.0 if deviation < 1e-12 else statistics.fmean(r.tolist()) / deviation * math.sqrt(periods)
    assert sharpe_ratio(r, periods) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -0.1, 1 / 3, 1e-9])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_constant_series_has_a_finite_sharpe_of_zero(value, size):
    flat = np.full(size, value)
    assert sharpe_ratio(flat, 252.0) == 0.0
    assert tail_risk(flat) == (value, pytest.approx(value, rel=1e-15))


def test_a_single_return():
    assert sharpe_ratio(np.array([0.3])) == 0.0
    assert tail_risk(np.array([0.3]), 0.05) == (0.3, 0.3)


def test_a_series_just_above_the_flat_threshold_counts():
    r = np.array([1e-11, 3e-11])
    assert sharpe_ratio(r) == pytest.approx(2e-11 / statistics.stdev(r.tolist()))


@given(RETURNS.filter(lambda r: r.std() > 1e-6), st.floats(0.1, 10.0), LEVELS)
def test_scale_laws(r, factor, level):
    assert sharpe_ratio(factor * r) == pytest.approx(sharpe_ratio(r), rel=1e-6, abs=1e-9)
    assert value_at_risk(factor * r, level) == pytest.approx(factor * value_at_risk(r, level), rel=1e-9, abs=1e-14)


@given(RETURNS, st.floats(-0.1, 0.1), LEVELS)
def test_shift_law_of_the_quantile(r, shift, level):
    assert value_at_risk(r + shift, level) == pytest.approx(value_at_risk(r, level) + shift, rel=1e-9, abs=1e-12)


def test_each_asset_stands_alone():
    r = gaussian(1, (4, 300))
    for statistic in (sharpe_ratio, value_at_risk, expected_shortfall):
        together = statistic(r)
        assert together.shape == (4,)
        assert together.tolist() == pytest.approx([float(statistic(row)) for row in r], rel=1e-14)


def test_large_sample_reaches_the_normal_distribution():
    r = gaussian(7, 400_000)
    normal = statistics.NormalDist(0.0, 0.01)
    quantile = normal.inv_cdf(0.05)
    assert value_at_risk(r, 0.05) == pytest.approx(quantile, rel=0.01)
    assert expected_shortfall(r, 0.05) == pytest.approx(-(0.01**2) * normal.pdf(quantile) / 0.05, rel=0.01)


def test_log_returns_are_taken_as_they_are():
    values = np.arange(12.0).reshape(2, 3, 2)
    returns = path_returns(values, np.full((2, 2), 99.0), "log_return")
    assert returns.tolist() == [values[:, :, 0].ravel().tolist(), values[:, :, 1].ravel().tolist()]
    assert returns.flags.c_contiguous


def test_prices_give_simple_returns_from_the_last_value():
    values = np.array([[[110.0], [99.0]], [[50.0], [100.0]]])
    returns = path_returns(values, np.array([[100.0], [50.0]]), "price_level")
    assert returns == pytest.approx(np.array([[0.1, -0.1, 0.0, 1.0]]))


def test_yields_give_differences_and_may_be_zero_or_negative():
    values = np.array([[[0.0], [-0.25]], [[1.0], [1.5]]])
    returns = path_returns(values, np.array([[0.5], [0.0]]), "yield_level")
    assert returns.tolist() == [[-0.5, -0.25, 1.0, 0.5]]


def test_horizon_of_one_is_defined_for_levels():
    assert path_returns(np.array([[[102.0]]]), np.array([[100.0]]), "price_level") == pytest.approx(np.array([[0.02]]))


def test_a_gap_is_the_mean_over_assets_of_absolute_differences():
    assert mean_gap(np.array([1.0, -2.0, 0.5]), np.array([0.0, 2.0, 0.5])) == pytest.approx(5.0 / 3.0)
    with pytest.raises(UsageError, match="too large"):
        mean_gap(np.array([-1.7e308]), np.array([1.7e308]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sharpe_ratio(np.array([0.1, np.nan])), "NaN"),
        (lambda: sharpe_ratio(np.array([])), "at least one"),
        (lambda: sharpe_ratio(np.array([0.1, 0.2]), 0.0), "periods_per_year"),
        (lambda: sharpe_ratio(np.array([0.1, 0.2]), math.inf), "periods_per_year"),
        (lambda: tail_risk(np.array([0.1, -np.inf])), "infinity"),
        (lambda: tail_risk(np.array([0.1]), 0.0), "tail level"),
        (lambda: tail_risk(np.array([0.1]), 1.0), "tail level"),
        (lambda: path_returns(np.zeros((1, 1, 1)), np.ones((1, 1)), "price_level"), "positive"),
        (lambda: path_returns(np.ones((1, 1, 1)), -np.ones((1, 1)), "price_level"), "positive"),
        (lambda: path_returns(np.full((1, 1, 1), np.nan), np.ones((1, 1)), "price_level"), "positive"),
        (lambda: path_returns(np.full((1, 1, 1), 1e308), np.full((1, 1), 1e-308), "price_level"), "not finite"),
        (lambda: path_returns(np.full((1, 1, 1), np.nan), np.ones((1, 1)), "yield_level"), "not finite"),
        (lambda: path_returns(np.ones((1, 1, 1)), np.ones((1, 2)), "yield_level"), "last values"),
        (lambda: path_returns(np.ones((1, 1, 1)), np.ones((1, 1)), "spread"), "have no returns"),
        (lambda: path_returns(np.ones((1, 1, 1)), np.ones((1, 1)), "realised_vol"), "have no returns"),
        (lambda: mean_gap(np.zeros(1), np.zeros(2)), "cannot be compared"),
    ],
)
def test_what_is_undefined_raises(call, words):
    with pytest.raises(UsageError, match=words):
        call()
