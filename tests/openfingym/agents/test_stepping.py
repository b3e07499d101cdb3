"""Baselines of tasks that are stepped through, run by a real verifier on markets whose law is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.agents import resolve
from openfingym.agents.builtin import fitting
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from tests.openfingym.kinds.stepping import bars_around, rolling_task, trading_task

ROWS, LOOKBACK, STEPS = 600, 20, 40
EQUITY, LONG, SHORT = 0, 3, 4


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store of this module's own, for tasks that nobody else knows."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("stepping")
        patch.setenv("OPENFINGYM_HOME", str(folder / "store"))
        (folder / "tasks").mkdir()
        yield folder


def closes_of(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices from log returns float64[ROWS, 2]."""
    prices: NDArray[np.float64] = np.array([50.0, 20.0]) * np.exp(np.cumsum(returns, axis=0))
    return prices


def trends(rng: np.random.Generator) -> NDArray[np.float64]:
    """Drifts that last for seventy bars: one up, the other down, then the other way round."""
    drift = np.where((np.arange(ROWS) // 70) % 2 == 0, 0.01, -0.01)
    return closes_of(np.stack([drift, -drift], axis=1) + 0.005 * rng.standard_normal((ROWS, 2)))


def swings(rng: np.random.Generator) -> NDArray[np.float64]:
    """Log prices that return to their mean within a few bars: AR(1) of 0.6."""
    logs = np.zeros((ROWS, 2))
    for t in range(1, ROWS):
        logs[t] = 0.6 * logs[t - 1] + 0.03 * rng.standard_normal(2)
    return np.array([50.0, 20.0]) * np.exp(logs)


def calm_and_wild(rng: np.random.Generator) -> NDArray[np.float64]:
    """A volatility that changes from one to three every eighty bars."""
    size = np.where((np.arange(ROWS) // 80) % 2 == 0, 0.005, 0.015)
    return closes_of(size[:, None] * rng.standard_normal((ROWS, 2)))


def unequal(rng: np.random.Generator) -> NDArray[np.float64]:
    """Two symbols that have nothing to do with each other, the first three times as volatile."""
    return closes_of(np.array([0.03, 0.01]) * rng.standard_normal((ROWS, 2)))


def persistent(rng: np.random.Generator) -> NDArray[np.float64]:
    """Returns that repeat a third of themselves."""
    returns = np.zeros((ROWS, 2))
    for t in range(1, ROWS):
        returns[t] = 0.5 * returns[t - 1] + 0.01 * rng.standard_normal(2)
    return closes_of(returns)


def martingale(rng: np.random.Generator) -> NDArray[np.float64]:
    return closes_of(0.01 * rng.standard_normal((ROWS, 2)))


Law = Callable[[np.random.Generator], NDArray[np.float64]]


MARKETS = ((trading_task, (trends, swings, calm_and_wild, unequal)), (rolling_task, (persistent, martingale)))


@pytest.fixture(scope="module")
def run_on(store: Path) -> Iterator[Callable[[Law, str], RolloutResult]]:
    """Runs an agent on the task of a law, by one verifier of all of them; results are kept."""
    packages: dict[Law, BuiltPackage] = {}
    for write, laws in MARKETS:
        options = {"horizon": 1} if write is rolling_task else {"fee_bps": 1.0, "slippage_bps": 1.0, "lot": 0.0}
        for law in laws:
            rng = np.random.default_rng(4)
            packages[law] = build(
                write(store / "tasks", bars_around(law(rng), rng), lookback=LOOKBACK, steps=STEPS, **options)
            )
    known: dict[tuple[Law, str], RolloutResult] = {}
    with Launcher(list(packages.values()), backend="inline") as launcher:

        def run(law: Law, agent: str) -> RolloutResult:
            if (law, agent) not in known:
                package = packages[law]
                result = launcher.run(package, resolve(agent), RolloutOrder(seed=0), out=store / "runs")
                assert result.path is not None
                assert result.state == "scored", (result.reason, (result.path / "output.log").read_text())
                assert result.exit_code == 0
                assert result.submissions_accepted == result.budget == package.manifest.n_private, (
                    "every private episode is played"
                )
                known[law, agent] = result
            return known[law, agent]

        yield run


def weights_of(result: RolloutResult) -> list[NDArray[np.float64]]:
    """Target weights in the order in which they were stated."""
    assert result.path is not None
    actions = [json.loads(line)["action"] for line in (result.path / "actions.jsonl").read_text().splitlines()]
    return [np.array(action["weights"]) for action in actions if action is not None]


def gained(result: RolloutResult) -> float:
    """Mean logarithm of final over initial equity: what ranks in these tasks."""
    assert result.metrics is not None
    return result.metrics["log_growth"]


def test_the_baseline_is_what_the_naive_program_does(run_on) -> None:
    """To the last bit: the verifier computes it without any program."""
    for law, agent in ((unequal, "naive"), (unequal, "buy-and-hold"), (martingale, "naive")):
        assert run_on(law, agent).relative_total == 1.0


def test_cash_stays_cash(run_on) -> None:
    result = run_on(trends, "cash")
    record = np.load(result.path / "submissions" / "1.npy")
    assert (record[:, :, EQUITY] == 100_000.0).all()
    assert gained(result) == 0.0


MARKET_OF: dict[str, Law] = {
    "naive": unequal,
    "cash": trends,
    "buy-and-hold": unequal,
    "equal-weight": unequal,
    "momentum": trends,
    "mean-reversion": swings,
    "volatility-target": calm_and_wild,
    "risk-parity": unequal,
}


def test_every_baseline_that_fits_runs_and_states_admissible_weights(run_on, store: Path) -> None:
    assert fitting(trading_task(store / "tasks")) == list(MARKET_OF)
    for name, law in MARKET_OF.items():
        stated = weights_of(run_on(law, name))
        assert (name == "cash") == (not stated)
        for weights in stated:
            assert np.maximum(weights, 0.0).sum() <= 1.0 + 1e-9
            assert np.maximum(-weights, 0.0).sum() <= 1.0 + 1e-9


def test_momentum_finds_trends_and_reversion_loses_in_them(run_on) -> None:
    momentum, reversion = (gained(run_on(trends, name)) for name in ("momentum", "mean-reversion"))
    assert momentum > 0.1
    assert reversion < 0.0


def test_reversion_finds_swings_and_momentum_loses_in_them(run_on) -> None:
    momentum, reversion = (gained(run_on(swings, name)) for name in ("momentum", "mean-reversion"))
    assert reversion > 0.02
    assert momentum < reversion


def test_a_volatility_target_holds_less_when_markets_are_wild(run_on) -> None:
    shares = np.array([weights.sum() for weights in weights_of(run_on(calm_and_wild, "volatility-target"))])
    assert shares.max() > 2.0 * shares.min()
    assert shares.max() <= 1.0


def test_risk_parity_weighs_by_inverse_volatility_where_nothing_correlates(run_on) -> None:
    """Maillard, Roncalli and Teiletche (2010): with equal correlations the weights are inverse to the volatilities,
    here 1 to 3."""
    weights = np.array(weights_of(run_on(unequal, "risk-parity")))
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)), abs=1e-9)
    assert weights.mean(axis=0) == pytest.approx([0.25, 0.75], abs=0.05)


def test_equal_weight_comes_back_to_equal_parts(run_on) -> None:
    result = run_on(unequal, "equal-weight")
    assert {tuple(weights) for weights in weights_of(result)} == {(0.5, 0.5)}
    assert gained(result) != gained(run_on(unequal, "buy-and-hold"))


def test_a_rolling_ridge_finds_persistence_and_nothing_in_a_martingale(run_on) -> None:
    """With a coefficient of 0.5, the best forecast has sqrt(1 - 0.25) = 0.87 of the error of no change."""
    assert 0.86 < run_on(persistent, "rolling-ridge").relative_total < 0.91
    assert 0.99 < run_on(martingale, "rolling-ridge").relative_total < 1.01
