"""What each forecasting baseline must find where there is something to find, and must not lose where there is
nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from tests.sweeps import fixed_part, sweep

Panel = NDArray[np.float64]
MakeTask = Callable[..., BuiltPackage]
Run = Callable[..., RolloutResult]
F1 = {"mae": 0.35, "rmse": 0.25, "delta_sharpe": 0.2, "delta_var": 0.1, "delta_es": 0.1}
ERRORS = {"mae": 0.5, "rmse": 0.5}
RETURNS = {"kind": "forecast", "lookback": 15, "horizon": 2, "value_semantics": "log_return"}
PRICES = {**RETURNS, "value_semantics": "price_level"}
ANY_PANEL = ("mean", "seasonal", "ridge", "gbm", "var", "arima")


def prices(returns: Panel) -> Panel:
    return 100.0 * np.exp(np.cumsum(returns, axis=0))


def autoregression(seed: int, rows: int, channels: int, slope: float) -> Panel:
    """Log returns of 1 % a day that lean on the day before."""
    shocks = 0.01 * np.random.default_rng(seed).standard_normal((rows, channels))
    out = shocks.copy()
    for t in range(1, rows):
        out[t] += slope * out[t - 1]
    return out


@pytest.fixture(scope="module")
def leaning(make_task: MakeTask) -> BuiltPackage:
    """Returns of which the day before tells a good part: at best 0.87 of the errors of zero."""
    return make_task("leaning", prices(autoregression(1, 2400, 2, 0.6)), RETURNS, ERRORS)


@pytest.fixture(scope="module")
def martingale(make_task: MakeTask) -> BuiltPackage:
    """Prices that nothing tells anything of, scored as the paper's family F1."""
    return make_task("martingale", prices(autoregression(2, 2400, 2, 0.0)), RETURNS, F1)


@pytest.fixture(scope="module")
def leaning_prices(make_task: MakeTask) -> BuiltPackage:
    return make_task("leaning-prices", prices(autoregression(3, 2400, 2, 0.6)), PRICES, ERRORS)


@pytest.mark.parametrize("agent", ["ridge", "gbm", "var", "arima"])
def test_a_planted_autoregression_is_found(agent: str, leaning: BuiltPackage, run_on: Run) -> None:
    result = run_on(leaning, agent)
    assert result.relative_total is not None
    assert 0.82 < result.relative_total < 0.93
    assert run_on(leaning, agent, again=True).metrics == result.metrics, "the same seed gives the same answer"


@pytest.mark.parametrize("agent", sweep(["ridge", "gbm", "var", "arima"], 2))
def test_a_planted_autoregression_of_prices_is_found_too(agent: str, leaning_prices: BuiltPackage, run_on: Run) -> None:
    result = run_on(leaning_prices, agent)
    assert result.relative_total is not None
    assert result.relative_total < 0.93


@pytest.mark.parametrize("agent", sweep(ANY_PANEL, 2))
def test_on_a_martingale_little_is_lost(agent: str, martingale: BuiltPackage, run_on: Run) -> None:
    result = run_on(martingale, agent)
    assert result.relative_total is not None
    assert result.relative_total < 1.03


def test_draws_of_past_returns_close_the_gaps_of_risk_and_make_the_errors_larger(
    martingale: BuiltPackage, run_on: Run
) -> None:
    result = run_on(martingale, "historical")
    ratio = {name: value / result.baseline_metrics[name] for name, value in result.metrics.items()}
    assert max(ratio["delta_var"], ratio["delta_es"]) < 0.5
    assert min(ratio["mae"], ratio["rmse"]) > 1.1
    other = run_on(martingale, "historical", seed=1)
    assert other.metrics != result.metrics, "another seed, other draws"


def test_a_planted_weekday_is_found(make_task: MakeTask, run_on: Run) -> None:
    returns = autoregression(4, 2000, 2, 0.0)
    returns[:, 0] += 0.01 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])[np.arange(2000) % 5]
    result = run_on(make_task("weekday", prices(returns), RETURNS, ERRORS), "seasonal")
    assert result.relative_total is not None
    assert result.relative_total < 0.93


def test_a_drift_is_found_by_the_mean(make_task: MakeTask, run_on: Run) -> None:
    package = make_task("drift", prices(autoregression(5, 1500, 2, 0.0) + 0.01), PRICES, ERRORS)
    result = run_on(package, "mean")
    assert result.relative_total is not None
    assert result.relative_total < 0.8


def curves(seed: int, rows: int) -> Panel:
    """Yields of a level that wanders and a slope that reverts within weeks."""
    rng = np.random.default_rng(seed)
    level, slope, out = 4.0, 0.0, np.empty((rows, 4))
    for t in range(rows):
        level += 0.01 * rng.standard_normal()
        slope = 0.9 * slope + 0.3 * rng.standard_normal()
        out[t] = level + slope * np.array([1.0, 0.6, 0.3, 0.1]) + 0.01 * rng.standard_normal(4)
    return out


YIELDS = {"kind": "forecast", "lookback": 15, "horizon": 5, "value_semantics": "yield_level"}


def test_a_slope_that_reverts_is_found(make_task: MakeTask, run_on: Run) -> None:
    package = make_task("yields", curves(6, 4000), YIELDS, ERRORS, channels=["3m", "2y", "5y", "10y"], measure="yield")
    # The level, which nobody can forecast, is most of what moves.
    for agent in ("nelson-siegel", "ridge"):
        result = run_on(package, agent)
        assert result.relative_total is not None
        assert result.relative_total < 0.98, agent


def test_volatility_that_reverts_is_found(make_task: MakeTask, run_on: Run) -> None:
    rng = np.random.default_rng(7)
    logs = np.empty((8000, 3))
    logs[0] = 0.0
    for t in range(1, len(logs)):
        logs[t] = 0.98 * logs[t - 1] + 0.15 * rng.standard_normal()
    returns = 0.01 * np.exp(logs) * rng.standard_normal(logs.shape)
    contract = {
        "kind": "forecast",
        "lookback": 21,
        "horizon": 21,
        "horizons": [1, 5, 21],
        "value_semantics": "realised_vol",
    }
    package = make_task("volatility", prices(returns), contract, {"mafe": 1.0}, train=0.4)
    for agent in ("har", "ridge", "gbm"):
        result = run_on(package, agent)
        assert result.relative_total is not None
        assert result.relative_total < 0.97, agent


@pytest.mark.parametrize("agent", ["ridge", "gbm"])
def test_rows_of_features_are_learned_from(agent: str, run_on: Run) -> None:
    result = run_on(build(load_task("equity-excess-return-forecast")), agent)
    assert result.relative_total is not None
    # Of a month's excess returns half a percent of the variance is learned; sorted by it, a portfolio gains.
    assert result.relative_total < 0.998
    assert result.metrics["long_short_sharpe"] > 1.0


@pytest.mark.parametrize("agent", ["mean", "nelson-siegel"])
def test_curves_come_with_intervals_that_hold_what_they_should(agent: str, run_on: Run) -> None:
    result = run_on(build(load_task("yield-curve-forecast")), agent)
    assert result.relative_total is not None
    assert result.relative_total < 1.01
    assert result.metrics["coverage_gap"] < 0.02


TARGETS = {**PRICES, "targets": ["c1"]}


@pytest.fixture(scope="module")
def one_of_three(make_task: MakeTask) -> BuiltPackage:
    return make_task("one-of-three", prices(autoregression(8, 1200, 3, 0.0)), TARGETS, F1)


@pytest.mark.parametrize("agent", sweep(["naive", *ANY_PANEL, "historical"], 2, first=1))
def test_a_target_that_is_one_of_several_channels(agent: str, one_of_three: BuiltPackage, run_on: Run) -> None:
    result = run_on(one_of_three, agent)
    assert result.relative_total is not None
    assert result.relative_total < 1.5


POOLED = {"kind": "forecast", "lookback": 15, "horizon": 1, "value_semantics": "log_return", "pooled": True}


@pytest.fixture(scope="module")
def pooled(make_task: MakeTask) -> BuiltPackage:
    return make_task("pooled", prices(autoregression(9, 1000, 4, 0.5)), POOLED, ERRORS)


@pytest.mark.parametrize("agent", fixed_part(["mean", "seasonal", "ridge", "gbm"], 2))
def test_pooled_series(agent: str, pooled: BuiltPackage, run_on: Run) -> None:
    result = run_on(pooled, agent)
    assert result.relative_total is not None
    assert result.relative_total < (0.95 if agent in {"ridge", "gbm"} else 1.02)
