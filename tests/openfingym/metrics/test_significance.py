"""Newey-West and Diebold-Mariano against statsmodels."""

import math

import numpy as np
import pytest
import scipy.fft
import statsmodels.api as sm
from scipy import stats

from openfingym.errors import DataError, UsageError
from openfingym.metrics.significance import default_lags, diebold_mariano, dm_zero, newey_west_t, panel_diebold_mariano


def hac_t(series, lags):
    fit = sm.OLS(series, np.ones(len(series))).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": False})
    return float(fit.tvalues[0])


def autoregressive(seed, n=200):
    rng = np.random.default_rng(seed)
    x = np.zeros(n)
    for t in range(1, n):
        x[t] = 0.5 * x[t - 1] + rng.standard_normal()
    return x + 0.2


@pytest.mark.parametrize("lags", [0, 1, 4, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_newey_west_agrees_with_statsmodels(seed, lags):
    x = autoregressive(seed)
    assert newey_west_t(x, lags) == pytest.approx(hac_t(x, lags), rel=1e-9)


def test_default_lags_follow_the_rule():
    assert [default_lags(n) for n in (2, 5, 100, 1000)] == [1, 2, 4, 6]
    assert newey_west_t(autoregressive(3)) == newey_west_t(autoregressive(3), 4)


def test_diebold_mariano_of_one_step_is_the_paired_t_test():
    for n in (2, 3, 4, 5, 8, 51, 400):
        a, b = np.random.default_rng(n).standard_normal((2, n))
        found, expected = diebold_mariano(a, b), stats.ttest_rel(a, b)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-8)


@pytest.mark.parametrize(("n", "horizon", "frequencies"), [(8, 2, 2), (52, 4, 6), (101, 5, 10), (200, 2, 50)])
def test_diebold_mariano_takes_its_variance_from_cosine_transforms(n, horizon, frequencies):
    a, b = np.random.default_rng(n).standard_normal((2, n))
    transforms = scipy.fft.dct(a - b, type=2, norm="ortho")[1 : frequencies + 1]
    expected = (a - b).mean() / math.sqrt(np.mean(transforms**2) / n)
    found = diebold_mariano(a, b, horizon)
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(expected), frequencies), rel=1e-8)


@pytest.mark.parametrize(("n", "horizon"), [(12, 1), (12, 3), (20, 4), (52, 2), (52, 8), (100, 12)])
def test_equal_forecasts_over_overlapping_horizons_are_seldom_told_apart(n, horizon):
    # Errors of forecasts over h steps are moving averages of h shocks; at 5 %, 2,000 series reject at most 7 %.
    shocks = np.random.default_rng(n + horizon).standard_normal((2000, n + horizon - 1))
    series = np.lib.stride_tricks.sliding_window_view(shocks, horizon, axis=1).sum(-1)
    nothing = np.zeros(n)
    rejected = np.mean([diebold_mariano(one, nothing, horizon).p_value < 0.05 for one in series])
    assert 0.035 < rejected < 0.07


def test_identical_forecasts_and_antisymmetry():
    a, b = autoregressive(1), autoregressive(2)
    assert (diebold_mariano(a, a).statistic, diebold_mariano(a, a).p_value) == (0.0, 1.0)
    assert diebold_mariano(a, b, 3).statistic == -diebold_mariano(b, a, 3).statistic
    assert diebold_mariano(a - 1, b + 1).statistic < 0


def test_panel_is_the_t_of_monthly_means():
    rng = np.random.default_rng(0)
    period = np.repeat(np.arange(60), 20)
    shuffled = rng.permutation(period.size)
    e1, e2 = rng.standard_normal(period.size), 0.8 * rng.standard_normal(period.size)
    monthly = np.array([np.mean(e1[period == m] ** 2 - e2[period == m] ** 2) for m in range(60)])
    assert panel_diebold_mariano(e1[shuffled], e2[shuffled], period[shuffled]) == pytest.approx(
        hac_t(monthly, 3), rel=1e-9
    )
    assert panel_diebold_mariano(e1, e2, period) > 0
    dates = np.datetime64("2020-01") + period
    assert panel_diebold_mariano(e1, e2, dates) == panel_diebold_mariano(e1, e2, period)
    assert dm_zero(e1, np.zeros_like(e1), period) == 0.0
    assert dm_zero(e1, 0.9 * e1, period) > 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: newey_west_t(np.full(9, 0.1)), UsageError),
        (lambda: newey_west_t(np.array([1.0])), UsageError),
        (lambda: newey_west_t(np.arange(5.0), 5), UsageError),
        (lambda: newey_west_t(np.array([1.0, np.nan])), UsageError),
        (lambda: diebold_mariano(np.arange(5.0), np.arange(4.0)), UsageError),
        (lambda: diebold_mariano(np.arange(5.0), np.arange(5.0) ** 2, 0), UsageError),
        (lambda: diebold_mariano(np.arange(11.0), np.arange(11.0) ** 2, 3), UsageError),
        (lambda: diebold_mariano(np.arange(9.0), np.arange(9.0) + 1, 2), UsageError),
        (lambda: panel_diebold_mariano(np.arange(5.0), np.arange(5.0), np.zeros(5)), DataError),
    ],
)
def test_what_is_undefined_raises(call, error):
    with pytest.raises(error):
        call()


def test_a_series_of_zeros_has_t_zero():
    assert newey_west_t(np.zeros(9)) == 0.0
