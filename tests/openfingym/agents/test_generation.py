"""Generators: closer to the law than independent Gaussian draws, and none of them a copier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.agents import Agent
from openfingym.metrics.copying import detect_copies
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher
from tests.sweeps import sweep

Panel = NDArray[np.float64]
MakeTask = Callable[..., BuiltPackage]
Run = Callable[..., RolloutResult]
METRICS = {
    "marginal_total_variation": 0.25,
    "correlation_l1": 0.25,
    "autocorrelation_tailgan": 0.25,
    "covariance_frobenius": 0.25,
}
UNCONDITIONAL = {"kind": "generation", "horizon": 10, "value_semantics": "log_return"}
LEVELS = {**UNCONDITIONAL, "value_semantics": "price_level"}
CONDITIONAL = {
    "kind": "generation",
    "lookback": 8,
    "horizon": 5,
    "futures": 6,
    "dated": True,
    "value_semantics": "log_return",
}
AGENTS = ("bootstrap", "copula", "garch-sim")


def stock_prices(seed: int, rows: int) -> Panel:
    """Three correlated channels of leaning returns whose volatility clusters."""
    rng = np.random.default_rng(seed)
    mixing = np.array([[1.0, 0.0, 0.0], [0.7, 0.7, 0.0], [0.5, 0.2, 0.8]])
    variance, out = np.full(3, 1e-4), np.zeros((rows, 3))
    for t in range(1, rows):
        shock = np.sqrt(variance) * (mixing @ rng.standard_normal(3))
        out[t] = 0.4 * out[t - 1] + shock
        variance = 4e-6 + 0.1 * shock**2 + 0.86 * variance
    prices: Panel = 50.0 * np.exp(np.cumsum(out - out.mean(axis=0), axis=0))
    return prices


@pytest.fixture(scope="module")
def returns(make_task: MakeTask) -> BuiltPackage:
    return make_task("generated-returns", stock_prices(1, 3000), UNCONDITIONAL, METRICS)


@pytest.fixture(scope="module")
def futures(make_task: MakeTask) -> BuiltPackage:
    return make_task("generated-futures", stock_prices(2, 3000), CONDITIONAL, METRICS)


def submitted(result: RolloutResult) -> Panel:
    assert result.path is not None
    values: Panel = np.load(result.path / "submissions" / "1.npy")
    return values


def walked(package: BuiltPackage, values: Panel) -> Panel:
    """What was answered of a submission: of a walk, its private fold."""
    return values[package.manifest.n_public :] if package.windows else values


@pytest.mark.parametrize("agent", AGENTS)
def test_returns_are_closer_to_the_law_than_gaussian_draws(agent: str, returns: BuiltPackage, run_on: Run) -> None:
    result = run_on(returns, agent)
    assert result.relative_total is not None
    assert result.relative_total < 0.75
    assert np.array_equal(submitted(run_on(returns, agent, again=True)), submitted(result)), (
        "the same seed, the same draws"
    )
    other = submitted(run_on(returns, agent, seed=1))
    assert not np.isclose(other, submitted(result)).all(axis=(1, 2)).any(), "another seed, other draws"


@pytest.mark.parametrize("agent", AGENTS)
def test_futures_follow_their_contexts(agent: str, futures: BuiltPackage, run_on: Run) -> None:
    result = run_on(futures, agent)
    assert result.relative_total is not None
    assert result.relative_total < 0.9
    contexts = walked(futures, futures.shown_array("test_inputs"))
    first = walked(futures, submitted(result))[:, :, 0].mean(axis=1)
    correlation = np.corrcoef(contexts[:, -1].reshape(-1), first.reshape(-1))[0, 1]
    assert correlation > 0.3, "returns lean on the one before"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("kind", sweep(["returns", "futures"], 2))
def test_no_generator_is_a_copier(agent: str, kind: str, request: pytest.FixtureRequest, run_on: Run) -> None:
    package: BuiltPackage = request.getfixturevalue(kind)
    values = walked(package, submitted(run_on(package, agent)))
    real = package.read_truth()["real"]
    report = detect_copies(package.array("train_targets"), real, values.reshape(-1, *values.shape[-2:]))
    assert not report.flagged, report
    assert report.memorised_share < report.held_out_share + 0.05


def test_a_copier_is_refused_where_the_generators_are_not(returns: BuiltPackage) -> None:
    """What the tests above rest on: here, the same verifier says no to training windows."""
    source = (
        "import interface\n_, windows = interface.load_train()\ninterface.submit(windows[: "
        "interface.SUBMISSION_SHAPE[0]])\n"
    )
    with Launcher([returns], backend="inline") as launcher:
        result = launcher.run(returns, Agent("copier", "program", source, trusted=True))
    assert result.state == "rejected"
    assert "memorised" in str(result.reason)


@pytest.fixture(scope="module")
def levels(make_task: MakeTask) -> BuiltPackage:
    return make_task("generated-prices", stock_prices(3, 2000), LEVELS, METRICS)


@pytest.mark.parametrize("agent", AGENTS)
def test_prices_stay_positive_and_start_where_windows_start(agent: str, levels: BuiltPackage, run_on: Run) -> None:
    result = run_on(levels, agent)
    values, train = submitted(result), levels.array("train_targets")
    assert (values > 0.0).all()
    assert values[:, 0].min() >= train[:, 0].min()
    assert values[:, 0].max() <= train[:, 0].max()
    assert result.relative_total is not None
    # The prices are a random walk, and so is the reference: there is little to gain, and no reason to lose much.
    assert result.relative_total < 1.5


def test_a_law_that_is_not_stationary_is_followed(make_task: MakeTask, run_on: Run) -> None:
    """Prices over the first one of their window: the later, the wider."""
    package = make_task("generated-from-one", stock_prices(4, 3000), LEVELS, METRICS, scaling="start")
    real = package.read_truth()["real"]
    result = run_on(package, "bootstrap")
    assert result.relative_total is not None
    assert result.relative_total < 0.75
    assert (real.std(axis=0)[9] > 2.0 * real.std(axis=0)[0]).all()
    assert submitted(result).std(axis=0)[[0, 4, 9]] == pytest.approx(real.std(axis=0)[[0, 4, 9]], rel=0.25)
