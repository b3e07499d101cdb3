"""The trading environment: Gymnasium's contract, what an observation says, rewards, ends."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import re
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.data.bars import Bars
from openfingym.envs.trading import TradingEnv
from openfingym.errors import UsageError
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side
from openfingym.trading.projection import project
from tests.openfingym.envs.test_arguments import NO_NUMBERS

COSTS = MarketRules(fee_bps=2.0, slippage_bps=3.0, lot=0.0)
FREE = MarketRules(lot=0.0)


def bars_of(closes: np.ndarray, opens: np.ndarray | None = None, seed: int = 0) -> Bars:
    """Bars around given closes, float64[T, S]."""
    rng = np.random.default_rng(seed)
    if opens is None:
        opens = np.vstack([closes[:1], closes[:-1]])
    spread = np.exp(0.002 * rng.random(closes.shape))
    times = np.datetime64("2020-01-01", "ns") + np.arange(len(closes)) * np.timedelta64(1, "D")
    return Bars.from_arrays(
        times,
        [f"s{i}" for i in range(closes.shape[1])],
        open=opens,
        high=np.maximum(opens, closes) * spread,
        low=np.minimum(opens, closes) / spread,
        close=closes,
        volume=np.full(closes.shape, 1e6),
    )


def walk(rows: int = 120, symbols: int = 2, seed: int = 0) -> Bars:
    rng = np.random.default_rng(seed)
    closes = 100.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((rows, symbols)), axis=0))
    return bars_of(
        closes, np.vstack([closes[:1], closes[:-1] * np.exp(0.01 * rng.standard_normal((rows - 1, symbols)))]), seed
    )


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize("observation", ["flat", "dict"])
@pytest.mark.filterwarnings("ignore:target weights were refused")
@pytest.mark.parametrize("action", ["projected", "weights", "orders"])
def test_gymnasiums_checker_passes(action, observation, engine) -> None:
    check_env(
        TradingEnv(walk(), COSTS, action=action, observation=observation, engine=engine, steps=30),
        skip_render_check=True,
    )


@pytest.mark.parametrize("action", ["weights", "orders"])
@pytest.mark.parametrize("reward", ["log-return", "differential-sharpe", "pnl"])
@pytest.mark.filterwarnings("ignore:target weights were refused")
def test_both_engines_give_the_same(action, reward) -> None:
    bars, rng = walk(symbols=3), np.random.default_rng(1)
    envs = [
        TradingEnv(bars, COSTS, action=action, reward=reward, lookback=5, engine=engine)
        for engine in ("compiled", "python")
    ]
    for env in envs:
        env.reset(options={"start": 10})
    for _ in range(60):
        if action == "weights":
            chosen: object = rng.uniform(-0.6, 0.6, 3)
        else:
            price = 100.0 * math.exp(0.1 * rng.standard_normal())
            chosen = [
                Order(
                    int(rng.integers(4)),
                    Side(int(rng.choice([-1, 1]))),
                    float(rng.integers(1, 200)),
                    OrderType.LIMIT,
                    price,
                ),
                Order(0, Side.BUY, 5.0, OrderType.MARKET, limit_price=float(rng.choice([np.nan, 1.0]))),
            ]
        (seen, earned, *ended, info), (seen2, earned2, *ended2, info2) = (env.step(chosen) for env in envs)
        assert np.array_equal(seen, seen2)
        assert (earned, ended, info["equity"]) == (earned2, ended2, info2["equity"])
        assert info.get("events") == info2.get("events") or len(info["events"]) == len(info2["events"])


def test_dict_and_flat_observations_describe_the_same_account() -> None:
    bars = walk(symbols=2)
    flat, named = (TradingEnv(bars, COSTS, action="orders", observation=form, lookback=4) for form in ("flat", "dict"))
    orders = [
        Order(0, Side.BUY, 100.0),
        Order(1, Side.SELL, 50.0),
        Order(0, Side.BUY, 7.0, OrderType.LIMIT, 20.0),
        Order(9, Side.BUY, 1.0),
    ]
    for env in (flat, named):
        env.reset(options={"start": 20})
    seen, *_, info = flat.step(orders)
    by_name, *_ = named.step(orders)
    part = {name: seen[place].reshape(shape) for name, (place, shape) in flat.layout.items()}
    cash, equity, free, long, short = by_name["account"]
    row = info["row"]
    value = by_name["positions"] * bars.close[row]
    assert equity == info["equity"] == pytest.approx(cash + value.sum())
    assert (long, short) == (value[0], -value[1])
    assert free == pytest.approx(cash - short - 7 * 20.0 * (1 + 2e-4))
    np.testing.assert_allclose(part["weights"], value / equity, rtol=1e-6)
    assert part["cash"][0] == pytest.approx(cash / equity, rel=1e-6)
    np.testing.assert_allclose(part["open_buys"], [140.0 / equity, 0.0], rtol=1e-6)
    assert part["open_sells"].tolist() == [0.0, 0.0]
    assert part["rejections"].tolist() == [0.0, 0.0, 1.0]
    assert by_name["rejections"][2, Reason.UNKNOWN_SYMBOL] == by_name["rejections"].sum() == 1
    np.testing.assert_array_equal(part["features"], bars.features()[row - 3 : row + 1])
    np.testing.assert_array_equal(by_name["bars"], bars.to_array()[row - 3 : row + 1])
    assert by_name["orders"][0].tolist() == [3.0, 0.0, 1.0, 1.0, 0.0, 7.0, 20.0, 0.0, 0.0]
    assert not by_name["orders"][1:].any()
    assert part["steps_left"][0] == pytest.approx(by_name["steps_left"][0]) == pytest.approx((119 - 21) / (119 - 20))


def test_weights_trade_at_the_next_open_and_earn_its_bar() -> None:
    closes, opens = np.array([[100.0], [110.0], [99.0]]), np.array([[100.0], [105.0], [108.0]])
    env = TradingEnv(bars_of(closes, opens), FREE, lookback=1, start="first")
    env.reset()
    _, earned, *_, info = env.step(np.array([1.0]))
    assert earned == pytest.approx(math.log(110.0 / 105.0))
    assert [event.price for event in info["events"]] == [105.0]
    _, earned, terminated, truncated, _ = env.step(np.array([0.0]))
    assert earned == pytest.approx(math.log(108.0 / 110.0)), (
        "sold at the open, so that the rest of the bar is not its own"
    )
    assert (terminated, truncated) == (False, True)


def test_the_last_step_has_its_own_reward() -> None:
    env = TradingEnv(walk(), COSTS, steps=7, reward="pnl")
    _, info = env.reset(seed=3)
    equity, rewards = info["equity"], []
    for step in range(7):
        _, reward, terminated, truncated, info = env.step(np.array([0.5, 0.4]))
        rewards.append(reward)
        assert reward == info["equity"] - equity
        equity = info["equity"]
        assert (terminated, truncated) == (False, step == 6)
    assert len(set(rewards)) == 7
    assert sum(rewards) == pytest.approx(equity - 100_000.0)


def test_a_higher_fee_never_earns_more() -> None:
    earned = []
    for fee in (0.0, 1.0, 10.0, 100.0):
        env = TradingEnv(walk(), MarketRules(fee_bps=fee, lot=0.0), start="first", lookback=2)
        env.reset()
        rng = np.random.default_rng(0)
        earned.append(sum(env.step(rng.uniform(-0.5, 0.5, 2))[1] for _ in range(100)))
    assert earned == sorted(earned, reverse=True)
    assert earned[0] > earned[-1]


def test_ruin_terminates_and_the_reward_stays_finite() -> None:
    closes = np.array([[100.0]] * 3 + [[250.0]] * 3)
    for reward, expected in (("log-return", math.log(1e-6)), ("pnl", -100_000.0), ("differential-sharpe", None)):
        env = TradingEnv(bars_of(closes), FREE, lookback=1, start="first", reward=reward)
        env.reset()
        env.step(np.array([-1.0]))
        env.step(np.array([-1.0]))
        seen, earned, terminated, truncated, info = env.step(np.array([-1.0]))
        assert (terminated, truncated, info["equity"]) == (True, False, 0.0)
        assert np.isfinite(seen).all()
        assert np.isfinite(earned)
        if expected is not None:
            assert earned == expected
        with pytest.raises(UsageError, match="reset"):
            env.step(np.array([0.0]))


def test_differential_sharpe_is_that_of_moody_and_saffell() -> None:
    env = TradingEnv(walk(), COSTS, reward="differential-sharpe", decay=0.05, start="first", lookback=1)
    _, info = env.reset()
    equity, mean, square = info["equity"], 0.0, 0.0
    rng = np.random.default_rng(2)
    for _ in range(60):
        _, reward, *_, info = env.step(rng.uniform(-0.5, 0.5, 2))
        change = info["equity"] / equity - 1.0
        equity = info["equity"]
        variance = square - mean**2
        expected = (
            0.0 if variance <= 1e-16 else (square * (change - mean) - 0.5 * mean * (change**2 - square)) / variance**1.5
        )
        assert reward == pytest.approx(expected, rel=1e-9)
        mean, square = mean + 0.05 * (change - mean), square + 0.05 * (change**2 - square)


def test_observations_belong_to_the_caller() -> None:
    for observation in ("flat", "dict"):
        env = TradingEnv(walk(), COSTS, observation=observation, start="first", lookback=3)
        seen, _ = env.reset()
        kept = [seen, env.step(np.array([0.5, 0.2]))[0]]
        before = [
            np.concatenate([np.ravel(part) for part in (one.values() if isinstance(one, dict) else [one])])
            for one in kept
        ]
        for _ in range(5):
            later, *_ = env.step(np.array([-0.5, 0.2]))
            for part in later.values() if isinstance(later, dict) else [later]:
                part[...] = 7
        after = [
            np.concatenate([np.ravel(part) for part in (one.values() if isinstance(one, dict) else [one])])
            for one in kept
        ]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_nothing_of_the_future_is_seen_or_earned() -> None:
    """Changing bars after row t changes neither observation nor reward up to t."""
    bars, changed = walk(seed=4), walk(seed=4)
    after = np.array(changed.to_array())
    after[61:] *= np.random.default_rng(0).uniform(0.5, 2.0)
    other = Bars.from_array(bars.times, bars.symbols, after)
    steps = [[], []]
    for found, data in zip(steps, (bars, other), strict=True):
        env = TradingEnv(data, COSTS, action="orders", start="first", lookback=5)
        found.append(env.reset()[0])
        rng = np.random.default_rng(1)
        while True:
            limit = float(100.0 * math.exp(0.1 * rng.standard_normal()))
            seen, reward, *_, info = env.step([Order(0, Side(int(rng.choice([-1, 1]))), 10.0, OrderType.LIMIT, limit)])
            found.append((seen, reward))
            if info["row"] == 60:
                break
    assert np.array_equal(steps[0][0], steps[1][0])
    assert all(np.array_equal(a, b) and x == y for (a, x), (b, y) in zip(steps[0][1:], steps[1][1:], strict=True))


def test_actions_may_be_of_any_layout_and_read_only() -> None:
    rewards = []
    frozen = np.array([0.5, -0.25])
    frozen.flags.writeable = False
    for action in (
        np.array([0.5, -0.25]),
        frozen,
        np.array([0.5, 9.0, -0.25])[::2],
        np.array([0.5, -0.25], np.float32),
        [0.5, -0.25],
    ):
        env = TradingEnv(walk(), COSTS, start="first")
        env.reset()
        rewards.append([env.step(action)[1] for _ in range(5)])
    assert all(found == rewards[0] for found in rewards)


def test_forms_of_orders_are_one() -> None:
    nan = math.nan
    same = [
        {
            "orders": (
                {
                    "symbol": 1,
                    "side": 1,
                    "quantity": 30.0,
                    "type": 1,
                    "limit_price": 50.0,
                    "stop_price": 3.0,
                    "time_in_force": 0,
                },
            ),
            "cancels": (),
        },
        [Order(1, Side.SELL, 30.0, OrderType.LIMIT, 50.0)],
        Decision(orders=(Order(1, Side.SELL, 30.0, OrderType.LIMIT, 50.0),)),
        np.array([[1, -1, 30.0, 1, 50.0, 3.0, 0, nan], [nan] * 8]),
    ]
    seen = []
    for action in same:
        env = TradingEnv(walk(), COSTS, action="orders", start="first")
        env.reset()
        seen.append((env.step(action), env.step([])))
    for (first, *_, info), (then, *_) in seen[1:]:
        assert np.array_equal(first, seen[0][0][0])
        assert np.array_equal(then, seen[0][1][0])
        assert list(info["events"]) == list(seen[0][0][4]["events"])
    assert seen[0][0][4]["events"][0].kind == EventKind.FILLED


def test_orders_are_cancelled_by_id_by_symbol_and_altogether() -> None:
    nan = math.nan
    far = [Order(symbol, Side.BUY, 1.0, OrderType.LIMIT, 1.0) for symbol in (0, 0, 1, 1)]

    def left(*rows: list[float]) -> list[float]:
        env = TradingEnv(walk(), COSTS, action="orders", observation="dict", start="first")
        env.reset()
        env.step(far)
        seen, *_ = env.step(np.array(rows))
        return seen["orders"][:, 0].tolist()[:4]

    assert left([nan] * 8) == [1, 2, 3, 4]
    assert left([nan, nan, nan, 4, nan, nan, nan, 2]) == [1, 3, 4, 0]
    assert left([1, nan, nan, 4, nan, nan, nan, nan]) == [1, 2, 0, 0]
    assert left([nan, nan, nan, 4, nan, nan, nan, nan]) == [0, 0, 0, 0]


def test_what_the_market_refuses_does_not_raise() -> None:
    env = TradingEnv(walk(), COSTS, action="orders", observation="dict", start="first")
    env.reset()
    batch = [Order(0, Side.BUY, 1.0)] * 10_000
    seen, *_, info = env.step(batch)
    assert [(event.reason, event.quantity) for event in info["events"]] == [(Reason.TOO_MANY_ORDERS, 10_000.0)]
    assert seen["rejections"][-1, Reason.TOO_MANY_ORDERS] == 1
    assert not seen["positions"].any()
    wrong = [Order(0, Side.BUY, value) for value in (math.nan, -1.0, 0.0, math.inf)] + ["no order"]
    env.reset()
    with pytest.raises(UsageError, match="sequence of Order"):
        env.step(wrong)
    seen, *_ = env.step(wrong[:-1])
    assert seen["rejections"][0, Reason.BAD_QUANTITY] == 4


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize("action", ["projected", "orders"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_goes_on_as_the_original(copied, action, engine) -> None:
    env = TradingEnv(walk(), COSTS, action=action, engine=engine, steps=20)
    env.action_space.seed(0)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    twin = copied(env)
    for _ in range(10):
        asked = env.action_space.sample()
        (seen, *results, told), (other, *others, said) = env.step(asked), twin.step(asked)
        assert (seen.tobytes(), results) == (other.tobytes(), others)
        assert told.get("events") == said.get("events")
    assert env.reset()[1]["row"] == twin.reset()[1]["row"]


def test_a_closed_environment_takes_no_step() -> None:
    env = TradingEnv(walk(), COSTS)
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(UsageError, match="closed"):
        env.step(np.zeros(2))


def test_a_line_of_text_and_a_picture() -> None:
    env = TradingEnv(walk(), COSTS, start="first", render_mode="ansi")
    with pytest.raises(UsageError, match="reset"):
        env.render()
    env.reset()
    env.step(np.array([0.5, -0.25]))
    assert re.fullmatch(
        r"row 16  account value [\d,.]+ \([+-][\d.]+%\)  weights: s0 \+\d+.\d%  s1 -\d+.\d%", env.render()
    )
    pytest.importorskip("PIL")
    env = TradingEnv(walk(symbols=20), COSTS, start="first", render_mode="rgb_array")
    env.reset()
    pictures = [env.render()]
    for _ in range(5):
        env.step(np.full(20, 0.05))
        pictures.append(env.render())
    assert {(picture.shape, picture.dtype) for picture in pictures} == {((400, 640, 3), np.dtype(np.uint8))}
    assert all((a != b).any() for a, b in itertools.pairwise(pictures))
    blue = (pictures[-1] == [0, 114, 178]).all(axis=2)
    assert blue[48:257, 96:].any(), "the curve"
    assert blue[288:330, 96:].any(), "the weights, above their axis"
    assert not blue[330:, :].any(), "none is short"


def test_what_cannot_be_drawn(monkeypatch) -> None:
    with pytest.raises(UsageError, match="'ansi', 'rgb_array'"):
        TradingEnv(walk(), COSTS, render_mode="human")
    with pytest.raises(UsageError, match="render_mode"):
        TradingEnv(walk(), COSTS).render()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match=r"openfingym\[render\]"):
        TradingEnv(walk(), COSTS, render_mode="rgb_array")


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_refused_weights_are_counted_and_warned_of_once(engine) -> None:
    env = TradingEnv(walk(), COSTS, start="first", action="weights", engine=engine)
    assert env.reset()[1]["refusals"] == 0
    for count, weights in enumerate(([math.nan, 0.0], [0.8, 0.8], [-0.8, -0.8], [math.inf, 0.0]), start=1):
        with pytest.warns(match="BAD_WEIGHTS") if count == 1 else nullcontext():
            seen, reward, *_, info = env.step(np.array(weights))
        assert info["events"][0].reason == Reason.BAD_WEIGHTS
        assert info["refusals"] == count
        assert (reward, seen[env.layout["rejections"].place].tolist()) == (0.0, [0.0, 0.0, 1.0])
    assert env.step(np.zeros(2))[4]["refusals"] == 4
    assert env.reset()[1]["refusals"] == 0


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_sampled_weights_are_traded_where_they_are_projected(engine) -> None:
    """By default, where an agent learns: the account does what it would do with the nearest admissible weights."""
    projecting = TradingEnv(walk(), COSTS, start="first", engine=engine)
    strict = TradingEnv(walk(), COSTS, start="first", action="weights", engine=engine)
    projecting.action_space.seed(0)
    projecting.reset(), strict.reset()
    for _ in range(50):
        asked = 2.0 * projecting.action_space.sample()
        seen, reward, *_, info = projecting.step(asked)
        expected, wanted, *_ = strict.step(project(asked, COSTS.max_short))
        assert info["refusals"] == 0
        assert (seen.tobytes(), reward) == (expected.tobytes(), wanted)
    with pytest.warns(match="BAD_WEIGHTS"):
        assert projecting.step(np.array([math.nan, 0.0]))[4]["refusals"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lookback": 0}, "lookback"),
        ({"lookback": 120}, "lookback"),
        ({"steps": 200}, "steps"),
        ({"action": "buttons"}, "'weights', 'orders'"),
        ({"reward": "sharpe"}, "log-return"),
        ({"observation": "pixels"}, "'flat', 'dict'"),
        ({"engine": "cuda"}, "'compiled', 'python'"),
        ({"initial_cash": 0.0}, "initial_cash"),
        ({"start": 5, "lookback": 20}, "row 5"),
        ({"start": "last"}, "'random', 'first'"),
        ({"decay": 1.0}, "decay"),
    ],
)
def test_wrong_options_are_named(options, words) -> None:
    with pytest.raises(UsageError, match=words):
        TradingEnv(walk(), COSTS, **options)


def test_wrong_calls_are_named() -> None:
    env = TradingEnv(walk(), COSTS)
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(2))
    with pytest.raises(UsageError, match="known: start"):
        env.reset(options={"begin": 3})
    env.reset()
    with pytest.raises(UsageError, match=r"shape \(3,\)"):
        env.step(np.zeros(3))
    env = TradingEnv(walk(), COSTS, action="orders")
    env.reset()
    for wrong, words in (
        (np.zeros(8), "shape"),
        ({"order": ()}, "'orders' and 'cancels'"),
        ([Order(0, Side.BUY, 1.0, client_id="a")], "engine='python'"),
        (Decision(weights=(0.5, 0.5)), "action='weights'"),
        (3, "expected orders"),
    ):
        with pytest.raises(UsageError, match=words):
            env.step(wrong)


def test_client_ids_are_idempotent_in_the_readable_engine() -> None:
    env = TradingEnv(walk(), COSTS, action="orders", engine="python", start="first")
    env.reset()
    order = Order(0, Side.BUY, 3.0, client_id="a")
    *_, info = env.step([order, order])
    assert [(event.kind, event.quantity, event.client_id) for event in info["events"]] == [(EventKind.FILLED, 3.0, "a")]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from([None, 1, 5]))
def test_random_starts_leave_room_for_lookback_and_steps(seed, lookback, steps) -> None:
    env = TradingEnv(walk(rows=60), COSTS, lookback=lookback, steps=steps)
    _, info = env.reset(seed=seed)
    assert lookback - 1 <= info["row"] <= 59 - (steps or 1)
    assert env.reset(seed=seed)[1]["row"] == info["row"]


def test_the_module_does_not_come_with_the_package() -> None:
    code = "import sys, openfingym; sys.exit('numba' in sys.modules or 'gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("action", NO_NUMBERS)
@pytest.mark.parametrize("form", ["projected", "weights"])
def test_weights_that_are_no_real_numbers_are_an_error_of_ours(form, action) -> None:
    env = TradingEnv(walk(symbols=3), COSTS, action=form)
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"shape \(3,\).*found"):
        env.step(action)
    assert env.step(np.zeros(3))[4]["refusals"] == 0


def test_orders_that_are_no_real_numbers_are_an_error_of_ours() -> None:
    env = TradingEnv(walk(), COSTS, action="orders")
    env.reset(seed=0)
    order = {"symbol": 0, "side": 0, "quantity": 10**400, "type": 0}
    masked = np.ma.masked_all((1, 8))
    for wrong in (
        {"cancels": [10**400]},
        {"orders": [order]},
        np.zeros((1, 8), complex),
        np.zeros((1, 8), "M8[s]"),
        masked,
    ):
        with pytest.raises(UsageError, match=r"expected a dict|real numbers"):
            env.step(wrong)


def test_options_and_starts_of_a_wrong_form_are_named() -> None:
    env = TradingEnv(walk(), COSTS)
    for options in ("x", 5, [("start", 20)]):
        with pytest.raises(UsageError, match="expected a dict"):
            env.reset(options=options)
    for start in (np.array(20), np.array([20, 30]), np.array(["random", "first"]), [20]):
        with pytest.raises(UsageError, match="expected 'random', 'first' or a row"):
            env.reset(options={"start": start})
