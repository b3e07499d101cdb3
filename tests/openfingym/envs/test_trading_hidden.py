"""Hidden episodes of trading through a real verifier, beside an account in this process on the same bars."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym import catalog
from openfingym.data.bars import Bars
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_hidden import HiddenTradingEnv, _decision, _Open
from openfingym.errors import UsageError
from openfingym.kinds.trading import kind as trading
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.trading.actions import Decision, Replacement, decision_json, parse_decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event, Order, OrderType, Side, TimeInForce
from openfingym.trading.session import Session

LOOKBACK = 20
_NAN, _INF = math.nan, math.inf


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


ODD = (_NAN, _INF, -_INF, -1.0, 0.0, 0.5, 2.5, 9.0, 1e19, 1e308)
"""Numbers that no field of a request should have."""


def odd(*usual: float) -> st.SearchStrategy[float]:
    """A field of a request: in two of three cases one of the usual numbers."""
    return st.sampled_from(usual) | st.sampled_from(usual) | st.sampled_from(ODD)


ROWS = st.tuples(
    odd(0.0, 1.0),
    odd(1.0, -1.0),
    odd(1.0, 7.0, 2_000.0),
    odd(*range(6), 11.0, 12.0, 12.0),
    odd(90.0, 110.0, _NAN),
    odd(90.0, 110.0, _NAN),
    odd(0.0, 1.0),
    odd(1.0, 2.0, _NAN),
)
# Cancels before replacements, as an action in JSON has them.
TABLES = st.lists(ROWS, max_size=6).map(
    lambda rows: np.array(sorted(rows, key=lambda row: row[3] == 5.0)).reshape(-1, 8)
)
ANYTHING = st.sampled_from([*ODD, None, "buy", True, 1, -7, 2**40, 10**400, 1j, np.float32(3.0), np.int64(1), 10**5000])
ORDERS = st.builds(
    Order,
    st.integers(0, 2) | ANYTHING,
    st.sampled_from(Side) | ANYTHING,
    st.floats(1.0, 9.0) | ANYTHING,
    st.sampled_from(OrderType) | ANYTHING,
    st.just(_NAN) | ANYTHING,
    st.just(_NAN) | ANYTHING,
    st.sampled_from(TimeInForce) | ANYTHING,
    st.none(),
    st.none() | st.sampled_from("ab"),
)
DECISIONS = st.builds(
    Decision,
    st.none(),
    st.lists(ORDERS, max_size=3).map(tuple),
    st.lists(st.integers(0, 4) | ANYTHING, max_size=2).map(tuple),
    st.lists(
        st.builds(
            Replacement,
            st.integers(1, 3) | ANYTHING,
            *[st.none() | st.sampled_from([1.0, 90.0, 110.0]) | ANYTHING for _ in range(3)],
        ),
        max_size=2,
    ).map(tuple),
)


def told(event: Event) -> tuple[object, ...]:
    """What an agent is shown of an event; quantities that are not finite are shown as none."""
    # Of a refused replacement, JSON cannot say what number was asked for if it was none.
    asked = event.quantity if math.isfinite(event.quantity) and event.quantity >= 0.0 else None
    known = event.symbol if 0 <= event.symbol < 2 else None
    return event.kind, event.bar, event.order_id, known, event.side, asked, event.reason, event.fee


@settings(max_examples=60)
@given(
    st.sampled_from(["compiled", "python"]).flatmap(
        lambda engine: st.tuples(
            st.just(engine), st.lists(TABLES if engine == "compiled" else DECISIONS, min_size=5, max_size=5)
        )
    )
)
def test_orders_of_any_kind_are_refused_alike_as_they_are_and_as_json(walked: tuple[str, list[object]]) -> None:
    """Tables in the compiled engine; and orders of ours, whose fields may be anything, in the readable one."""
    engine, actions = walked
    closes = 100.0 + np.array([[0.0, 0.0], [1.0, -2.0], [3.0, 1.0], [-4.0, 2.0], [8.0, -9.0], [0.0, 0.0], [2.0, 2.0]])
    times = np.datetime64("2020-01-01", "ns") + np.arange(len(closes)) * np.timedelta64(1, "D")
    bars = Bars.from_arrays(
        times,
        ["a", "b"],
        open=closes,
        high=closes + 2.0,
        low=closes - 2.0,
        close=closes,
        volume=np.full(closes.shape, 1e6),
    )
    market = MarketRules(fee_bps=2.0, max_short=1.0)
    local = TradingEnv(bars, market, lookback=2, action="orders", start="first", engine=engine)  # type: ignore[arg-type]
    session = Session(bars, market, cash=100_000.0, first=1, steps=5)
    local.reset()
    for action in actions:
        open_orders = [_Open(order.id, order.symbol, order.other) for order in session.simulator.open_orders()]
        sent = decision_json(_decision(action, open_orders), bars.symbols)  # type: ignore[arg-type]
        session.decide(parse_decision(json.loads(json.dumps(sent, allow_nan=False)), bars.symbols))
        events = session.advance()
        *_, info = local.step(action)  # type: ignore[arg-type]
        assert list(map(told, events)) == list(map(told, info.get("events", ())))  # type: ignore[call-overload]
        assert session.simulator.equity == info["equity"]


def test_a_table_that_training_bars_refuse_is_refused_on_hidden_bars(package: BuiltPackage) -> None:
    hidden, local = HiddenTradingEnv(package, lookback=LOOKBACK, action="orders"), beside(package, action="orders")
    tables = [
        np.zeros((1, 8)),
        np.array([[0.0, 1.0, _NAN, 0.0, _NAN, _NAN, 0.0, _NAN], [1.0, 1.0, 2.0, 1.0, _INF, _NAN, 0.0, _NAN]]),
        np.array([[0.0, 1.0, 1.0, 9.0, _NAN, _NAN, 0.0, _NAN], [0.0, 1.0, 1.0, 0.0, _NAN, _NAN, 0.0, _NAN]]),
        *(np.full((3, 8), number) for number in (_INF, -1.0, 1e308, 0.5)),
        np.array([[_NAN, _NAN, _INF, 5.0, _INF, _NAN, _NAN, 1.0]]),
        np.zeros((5_000, 8)),
    ]
    try:
        hidden.reset()
        local.reset()
        for table in tables:
            _, reward, *_, said = local.step(table)
            theirs, verified, *_, shown = hidden.step(table)
            assert verified == reward
            assert shown["refusals"] == said["refusals"]
            reasons = [event.reason.name for event in said["events"] if event.kind.name == "REJECTED"]
            listed = [item["reason"].upper().replace("-", "_") for item in shown["shown"]["rejections"]]  # type: ignore[index]
            assert listed == reasons
            assert theirs in hidden.observation_space
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


def test_what_has_no_form_is_an_error_of_ours(hidden: HiddenTradingEnv) -> None:
    with pytest.raises(UsageError, match="whole number from 0 to 2"):
        hidden.reset(seed=2**70)
    for options in (5, "x"):
        with pytest.raises(UsageError, match="expected a dict"):
            hidden.reset(options=options)  # type: ignore[arg-type]
    hidden.reset(seed=0)
    for weights in ([10**400, 0, 0], np.zeros(3, complex), np.ma.masked_all(3)):
        with pytest.raises(UsageError, match=r"shape \(3,\), real numbers; found"):
            hidden.step(weights)  # type: ignore[arg-type]
