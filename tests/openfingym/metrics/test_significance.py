"""Newey-West and Diebold-Mariano against statsmodels."""

import math

import numpy as np
import pytest
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


@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_diebold_mariano_agrees_with_statsmodels(horizon):
    a, b = autoregressive(1) ** 2, autoregressive(2) ** 2
    plain = diebold_mariano(a, b, horizon)
    expected = hac_t(a - b, horizon - 1)
    assert plain.statistic == pytest.approx(expected, rel=1e-9)
    assert plain.p_value == pytest.approx(2 * stats.norm.sf(abs(expected)), rel=1e-9)
    n = len(a)
    corrected = diebold_mariano(a, b, horizon, small_sample=True)
    assert corrected.statistic == pytest.approx(
        expected * math.sqrt((n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n), rel=1e-9
    )
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(corrected.statistic), n - 1), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 51, 400])
def test_student_p_value_for_odd_and_even_degrees(n):
    rng = np.random.default_rng(n)
    found = diebold_mariano(rng.standard_normal(n), rng.standard_normal(n), small_sample=True)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.statistic), n - 1), rel=1e-8)


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
        (lambda: panel_diebold_mariano(np.arange(5.0), np.arange(5.0), np.zeros(5)), DataError),
    ],
)
def test_what_is_undefined_raises(call, error):
    with pytest.raises(error):
        call()


def test_a_series_of_zeros_has_t_zero():
    assert newey_west_t(np.zeros(9)) == 0.0
