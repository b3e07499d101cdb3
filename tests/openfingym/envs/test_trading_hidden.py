"""Hidden episodes of trading through a real verifier, beside an account in this process on the same bars."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from openfingym import catalog
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_hidden import HiddenTradingEnv
from openfingym.errors import UsageError
from openfingym.kinds import trading
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.trading.actions import Decision, Replacement
from openfingym.trading.orders import Order, OrderType, Side, TimeInForce

LOOKBACK = 20


@pytest.fixture(scope="module")
def package() -> BuiltPackage:
    return build(catalog.load_task("equity-trading"))


@pytest.fixture
def hidden(package: BuiltPackage) -> Iterator[HiddenTradingEnv]:
    env = HiddenTradingEnv(package, lookback=LOOKBACK)
    yield env
    env.close()


def beside(package: BuiltPackage, *, action: str = "weights") -> TradingEnv:
    """The first private episode in this process: only a test, which may read the truth half, can make one."""
    session = trading.session(package.task.spec, package.array, package.read_truth(), package.manifest.n_public)
    return TradingEnv(
        session.bars,
        session.simulator.market,
        initial_cash=session.simulator.cash,
        lookback=LOOKBACK,
        steps=session.steps,
        action=action,  # type: ignore[arg-type]
        observation="flat",
        start=session.first,
        engine="python",
    )


def test_a_policy_sees_the_same_on_both_sides(package: BuiltPackage, hidden: HiddenTradingEnv) -> None:
    local = beside(package)
    rng = np.random.default_rng(0)
    ours, _ = local.reset()
    theirs, _ = hidden.reset()
    assert hidden.observation_space.shape == local.observation_space.shape
    for _ in range(25):
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-6)
        assert theirs in hidden.observation_space
        weights = rng.dirichlet(np.ones(4))[:3] * rng.choice([-1.0, 1.0])
        ours, reward, *_, said = local.step(weights)
        theirs, verified, *_, shown = hidden.step(weights)
        assert verified == reward
        assert shown["equity"] == said["equity"]
        assert np.array_equal(shown["prices"], said["prices"])


def test_orders_do_the_same_on_both_sides(package: BuiltPackage) -> None:
    hidden, local = HiddenTradingEnv(package, lookback=LOOKBACK, action="orders"), beside(package, action="orders")
    try:
        ours, said = local.reset()
        hidden.reset()
        price = float(said["prices"][0])
        decisions: list[object] = [
            Decision(
                orders=(
                    Order(0, Side.BUY, 100.0),
                    Order(1, Side.BUY, 5.0, OrderType.LIMIT, limit_price=round(float(said["prices"][1]) * 0.9, 2)),
                )
            ),
            Decision(replaces=(Replacement(2, quantity=3.0),)),
            [Order(0, Side.SELL, 40.0, OrderType.STOP, stop_price=round(price * 0.99, 2)), Order(7, Side.BUY, 1.0)],
            {
                "orders": (
                    {
                        "symbol": 2,
                        "side": 0,
                        "quantity": 7.0,
                        "type": 0,
                        "limit_price": 1.0,
                        "stop_price": 1.0,
                        "time_in_force": 1,
                    },
                ),
                "cancels": (),
            },
            Decision(cancels=(2, 99)),
            [Order(0, Side.SELL, 1.5), Order(0, Side.SELL, 10.0, time_in_force=TimeInForce.IOC)],
            np.array([[np.nan, np.nan, np.nan, 4.0, np.nan, np.nan, np.nan, np.nan]]),  # cancel everything
            [],
        ]
        for decision in decisions:
            ours, reward, *_, said = local.step(decision)  # type: ignore[arg-type]
            theirs, verified, *_, shown = hidden.step(decision)  # type: ignore[arg-type]
            assert verified == reward
            assert shown["equity"] == said["equity"]
            np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-6)
            rejected = [event for event in said.get("events", ()) if event.kind.name == "REJECTED"]
            assert len(shown["shown"]["rejections"]) == len(rejected)  # type: ignore[index]
    finally:
        hidden.close()


def test_every_episode_once_and_a_verified_score(package: BuiltPackage, hidden: HiddenTradingEnv) -> None:
    held = np.full(3, 1.0 / 3.0)
    for left in reversed(range(package.manifest.n_private)):
        _, info = hidden.reset(seed=3)
        assert info["episodes_left"] == left
        hidden.step(held)
    with pytest.raises(UsageError, match=r"result\(\)"):
        hidden.reset()
    result = hidden.result()
    assert result.state == "scored"
    assert result.submissions_accepted == package.manifest.n_private
    # Bought at the first open and left alone, as the baseline does; what was not played is as if nothing more were
    # done.
    assert result.metrics["total_return"] == result.baseline_metrics["total_return"]
    assert result.relative_total == pytest.approx(1.0)
    assert hidden.result() is result
    hidden.close()
    assert hidden.result() is result


def test_weights_that_are_no_numbers_are_rejected_by_the_market(hidden: HiddenTradingEnv) -> None:
    assert hidden.reset()[1]["refusals"] == 0
    with pytest.warns(match="BAD_WEIGHTS"):
        _, reward, _, _, info = hidden.step(np.array([np.nan, 0.5, 0.5]))
    assert (reward, info["refusals"]) == (0.0, 1)
    assert info["shown"]["rejections"][0]["reason"] == "bad-weights"  # type: ignore[index]
    assert hidden.step(np.array([0.9, 0.5, 0.5]))[4]["refusals"] == 2, "strict, unless it is asked to project"


def test_the_nearest_admissible_weights_are_traded_where_asked_for(package: BuiltPackage) -> None:
    env = HiddenTradingEnv(package, fold="public", action="projected")
    try:
        env.reset(seed=0)
        seen, *_, info = env.step(np.array([2.0, 0.5, -0.5]))
        weights = seen[env.layout["weights"].place]
        assert info["refusals"] == 0
        assert weights[0] > 0.5
        assert weights[2] < -0.2
    finally:
        env.close()


def test_hidden_episodes_are_drawn_as_training_ones(package: BuiltPackage) -> None:
    env = HiddenTradingEnv(package, fold="public", render_mode="ansi", action_dtype="float32")
    try:
        assert env.action_space.dtype == np.float32
        with pytest.raises(UsageError, match="reset"):
            env.render()
        env.reset(seed=0)
        *_, info = env.step(np.array([0.5, 0.0, -0.25], np.float32))
        text = env.render()
        assert isinstance(text, str)
        assert f"account value {info['equity']:,.2f}" in text
        assert "aapl +" in text
        assert "msft -" in text
    finally:
        env.close()
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(3))


def test_a_wrong_shape_is_told(hidden: HiddenTradingEnv) -> None:
    hidden.reset()
    with pytest.raises(UsageError, match=r"shape \(3,\)"):
        hidden.step(np.zeros(2))


def test_too_long_a_lookback(package: BuiltPackage) -> None:
    with pytest.raises(UsageError, match="1 to 40"):
        HiddenTradingEnv(package, lookback=41)


def test_no_step_without_an_episode(hidden: HiddenTradingEnv) -> None:
    with pytest.raises(UsageError, match="reset"):
        hidden.step(np.zeros(3))
    with pytest.raises(UsageError, match="no episode"):
        hidden.result()


def test_a_new_rollout_has_a_result_of_its_own(hidden: HiddenTradingEnv) -> None:
    hidden.reset()
    first = hidden.result()
    hidden.reset()
    assert hidden.result().rollout_id != first.rollout_id
