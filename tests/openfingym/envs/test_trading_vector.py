"""Many environments at once: the same as one at a time, whatever the threads, on one copy of the data."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numba
import numpy as np
import psutil
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings
from hypothesis import strategies as st

import openfingym
from openfingym.data.bars import FIELDS, Bars
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.errors import UsageError
from openfingym.trading.compiled.layout import (
    AVERAGE,
    BANKRUPT,
    CASH,
    CLOSED,
    COST,
    EQUITY,
    HAPPENED,
    HOLD_SHORT,
    MARK,
    ORDERS,
    POSITION,
    ROW,
    TRADED,
    VOLUME,
    WON,
    tape,
)
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Reason

COSTS = MarketRules(fee_bps=2.0, slippage_bps=3.0, lot=0.0)


def walk(rows: int = 80, symbols: int = 2, seed: int = 0, volatility: float = 0.02) -> Bars:
    rng = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(volatility * rng.standard_normal((rows, symbols)), axis=0))
    opening = np.vstack([close[:1], close[:-1] * np.exp(volatility / 2 * rng.standard_normal((rows - 1, symbols)))])
    times = np.datetime64("2020-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "D")
    high, low = np.maximum(opening, close) * 1.01, np.minimum(opening, close) / 1.01
    volume = np.full(close.shape, 1e5)
    return Bars.from_arrays(
        times, [f"s{i}" for i in range(symbols)], open=opening, high=high, low=low, close=close, volume=volume
    )


def orders_of(rng: np.random.Generator, count: int, rows: int, symbols: int) -> np.ndarray:
    """Tables of requests, some of them empty, some about open orders, some nonsense."""
    table = np.full((count, rows, 8), math.nan)
    table[..., 0] = rng.integers(-1, symbols + 1, (count, rows))
    table[..., 1] = rng.choice([-1.0, 1.0, 0.3, 0.0], (count, rows), p=[0.45, 0.45, 0.08, 0.02])
    table[..., 2] = rng.choice([1.0, 20.0, 300.0, -1.0, math.nan], (count, rows), p=[0.3, 0.3, 0.3, 0.05, 0.05])
    table[..., 3] = rng.choice([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, math.nan], (count, rows))
    table[..., 4:6] = 100.0 * np.exp(0.1 * rng.standard_normal((count, rows, 2)))
    table[..., 6] = rng.choice([0.0, 1.0], (count, rows))
    table[..., 7] = rng.choice([math.nan, 1.0, 3.0, 9.0], (count, rows))
    return table


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("action", ["weights", "orders"])
@pytest.mark.parametrize("symbols", [1, 3])
@pytest.mark.filterwarnings("ignore:target weights were refused")
def test_equal_to_single_environments(symbols, action, mode) -> None:
    """Against Gymnasium's own vectorisation of the single environment, through several episodes."""
    count, bars, rng = 5, walk(symbols=symbols, volatility=0.1), np.random.default_rng(3)
    options = {"lookback": 3, "steps": 12, "action": action, "start": 20}
    ours = TradingVectorEnv(count, bars, COSTS, autoreset_mode=mode, max_orders=3, **options)
    theirs = SyncVectorEnv([lambda: TradingEnv(bars, COSTS, **options)] * count, autoreset_mode=mode)
    starts = np.arange(count) + 10
    seen, _ = ours.reset(options={"start": starts})
    expected = np.stack(
        [env.reset(options={"start": int(start)})[0] for env, start in zip(theirs.envs, starts, strict=True)]
    )
    assert np.array_equal(seen, expected)
    theirs._autoreset_envs[:] = False
    for _ in range(40):
        asked = rng.uniform(-0.9, 0.9, (count, symbols)) if action == "weights" else orders_of(rng, count, 3, symbols)
        found = ours.step(asked)
        if action == "orders":
            theirs.single_action_space = theirs.action_space = None
        wanted = _step(theirs, asked, mode)
        for a, b in zip(found[:4], wanted[:4], strict=True):
            assert np.array_equal(a, b)
        if mode == AutoresetMode.NEXT_STEP:
            assert np.array_equal(found[4]["equity"], wanted[4]["equity"])
        if mode == AutoresetMode.SAME_STEP:
            ended = found[2] | found[3]
            assert ("final_obs" in found[4]) == bool(ended.any())
            for place in np.flatnonzero(ended):
                assert np.array_equal(found[4]["final_obs"][place], wanted[4][place])


ENDS = ("ruin", "halt to the end", "delisting")


def ending(bars: Bars, end: str, first: int) -> Bars:
    """The same bars; from row ``first`` on the first symbol soars, trades no more, or falls to nothing and then trades
    no more."""
    columns = {field: getattr(bars, field).copy() for field in FIELDS}
    for field in FIELDS[:4]:
        columns[field][first:, 0] *= {"ruin": 30.0, "halt to the end": 1.0, "delisting": 1e-6}[end]
    if end != "ruin":
        columns["volume"][first + 1 :, 0] = 0.0
    return Bars.from_arrays(bars.times, bars.symbols, **columns)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    end=st.sampled_from(ENDS),
    symbols=st.sampled_from([1, 3]),
    action=st.sampled_from(["weights", "orders"]),
    reward=st.sampled_from(["log-return", "differential-sharpe", "pnl"]),
)
def test_three_ways_to_one_end(seed, end, symbols, action, reward) -> None:
    """The readable engine, the compiled one and many accounts at once: whole accounts, and all that an agent is
    told."""
    rng, last = np.random.default_rng(seed), 30
    bars = ending(walk(last + 1, symbols, seed=seed, volatility=0.05), end, int(rng.integers(8, last)))
    market = MarketRules(
        fee_bps=2.0, slippage_bps=3.0, lot=0.0, borrow_bps_per_year=300.0, max_short=float(rng.choice([1.0, 2.0]))
    )
    options = {"lookback": 3, "action": action, "reward": reward, "start": "first", "initial_cash": 3_000.0}
    readable, compiled = (TradingEnv(bars, market, engine=engine, **options) for engine in ("python", "compiled"))
    many = TradingVectorEnv(2, bars, market, max_orders=3, autoreset_mode=AutoresetMode.NEXT_STEP, **options)
    seen = [readable.reset()[0], compiled.reset()[0], many.reset()[0][0]]
    assert seen[0].tobytes() == seen[1].tobytes() == seen[2].tobytes()
    over = False
    while not over:
        asked = rng.uniform(-1.0, 0.5, symbols) / symbols if action == "weights" else orders_of(rng, 1, 3, symbols)[0]
        first, second, third = readable.step(asked), compiled.step(asked), many.step(np.stack([asked, asked]))
        assert first[0].tobytes() == second[0].tobytes() == third[0][0].tobytes() == third[0][1].tobytes()
        told = np.array([[*step[1:4], step[4]["equity"]] for step in (first, second)])
        assert (
            told[0].tobytes()
            == told[1].tobytes()
            == np.array([*(part[0] for part in third[1:4]), third[4]["equity"][0]]).tobytes()
        )
        assert first[4].get("events") == second[4].get("events")
        assert (first[4]["row"], first[4]["prices"].tolist()) == (second[4]["row"], second[4]["prices"].tolist())
        assert account_of(readable) == account_of(compiled) == account_of(many)
        over = first[2] or first[3]
    assert first[2] or first[4]["row"] == last


def account_of(env: TradingEnv | TradingVectorEnv) -> tuple[bytes, ...]:
    """What the first account of an environment is, to the last bit, and what happened to it."""
    cells, book, orders, events = (array[0] for array in env._state)
    shown = [CASH, EQUITY, TRADED, COST, CLOSED, WON, ROW, BANKRUPT, ORDERS, HAPPENED]
    working, happened = orders[: int(cells[ORDERS]), : HOLD_SHORT + 1], events[: int(cells[HAPPENED])]
    return (
        cells[shown].tobytes(),
        book[:, [POSITION, AVERAGE, MARK, VOLUME]].tobytes(),
        working.tobytes(),
        repr(happened.tolist()).encode(),
    )


def test_an_order_of_no_finite_number_is_unknown_to_both_engines() -> None:
    for code in (4.0, 5.0):
        asked = np.array([[0.0, 1.0, 1.0, code, math.nan, math.nan, 0.0, math.inf]])
        told = []
        for engine in ("python", "compiled"):
            env = TradingEnv(walk(), COSTS, action="orders", engine=engine)
            env.reset(seed=0)
            told.append(env.step(asked)[4]["events"])
        assert told[0] == told[1]
        assert told[0][0].reason is Reason.UNKNOWN_ORDER


def _step(vector: SyncVectorEnv, actions: np.ndarray, mode: AutoresetMode) -> tuple:
    """What SyncVectorEnv does, for actions that are rows of an array."""
    rows, finals, equity = [], {}, []
    for place, env in enumerate(vector.envs):
        if mode == AutoresetMode.NEXT_STEP and vector._autoreset_envs[place]:
            begun, info = env.reset()
            rows.append((begun, 0.0, False, False))
            equity.append(info["equity"])
            vector._autoreset_envs[place] = False
            continue
        seen, reward, terminated, truncated, info = env.step(actions[place])
        equity.append(info["equity"])
        if terminated or truncated:
            finals[place] = seen
            if mode == AutoresetMode.SAME_STEP:
                seen = env.reset()[0]
            else:
                vector._autoreset_envs[place] = True
        rows.append((seen, reward, terminated, truncated))
    return (*(np.stack(column) for column in zip(*rows, strict=True)), {**finals, "equity": np.array(equity)})


def test_threads_change_nothing() -> None:
    bars, before = walk(volatility=0.05), numba.get_num_threads()
    outcomes = []
    try:
        for threads in sorted({1, before}):
            numba.set_num_threads(threads)
            rng = np.random.default_rng(0)
            env = TradingVectorEnv(700, bars, COSTS, lookback=3, steps=9)
            outcomes.append(
                [
                    env.reset(seed=1)[0],
                    *(part for _ in range(30) for part in env.step(rng.uniform(-0.5, 0.5, (700, 2)))[:4]),
                ]
            )
    finally:
        numba.set_num_threads(before)
    first = outcomes[0]
    assert all(np.array_equal(a, b) for other in outcomes[1:] for a, b in zip(first, other, strict=True))


@pytest.mark.filterwarnings("ignore:target weights were refused")
def test_spaces_and_metadata() -> None:
    for action in ("projected", "weights", "orders"):
        env = TradingVectorEnv(4, walk(), COSTS, action=action)
        assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
        assert env.observation_space == batch_space(env.single_observation_space, 4)
        # Learners compare spaces before a policy trained on many accounts plays on one.
        assert env.single_observation_space == TradingEnv(walk(), COSTS, action=action).observation_space
        assert env.action_space == batch_space(env.single_action_space, 4)
        env.action_space.seed(0)
        seen, info = env.reset(seed=0)
        assert info["equity"].tolist() == [100_000.0] * 4
        for _ in range(150):
            assert seen in env.observation_space
            seen, rewards, terminated, truncated, info = env.step(env.action_space.sample())
            assert [part.shape for part in (rewards, terminated, truncated, info["equity"])] == [(4,)] * 4
            assert np.isfinite(rewards).all()
            assert not (terminated & truncated).any()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("action", ["weights", "projected"])
def test_refusals_are_counted_as_by_single_environments(action, mode) -> None:
    options = {"lookback": 3, "steps": 7, "action": action, "start": 20}
    ours = TradingVectorEnv(6, walk(), COSTS, autoreset_mode=mode, **options)
    theirs = SyncVectorEnv([lambda: TradingEnv(walk(), COSTS, **options)] * 6, autoreset_mode=mode)
    ours.action_space.seed(0)
    assert ours.reset(seed=0)[1]["refusals"].tolist() == theirs.reset(seed=0)[1]["refusals"].tolist() == [0] * 6
    ended = 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(30):
            asked = ours.action_space.sample()
            asked[0] = [np.nan, 0.0]
            *_, found = ours.step(asked)
            *_, wanted = theirs.step(asked)
            assert found["refusals"].tolist() == wanted["refusals"].tolist()
            if "final_info" in wanted:
                ended += 1
                assert found["final_info"]["refusals"].tolist() == wanted["final_info"]["refusals"].tolist()
    assert (ended > 0) == (mode == AutoresetMode.SAME_STEP)
    said = [str(warning.message) for warning in told if "BAD_WEIGHTS" in str(warning.message)]
    assert len(said) == (7 if action == "weights" else 2), "one for each environment that refuses, once"


def test_seeds() -> None:
    bars = walk(rows=400)
    env = TradingVectorEnv(50, bars, COSTS, lookback=4, steps=20)

    def play(seed: int | None) -> list[np.ndarray]:
        found = [env.reset(seed=seed)[0]]
        return found + [env.step(np.full((50, 2), 0.3))[0] for _ in range(45)]

    first, again, other = play(7), play(7), play(8)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert len(np.unique(first[0][:, 0])) > 30, "environments start at different rows"
    assert not np.array_equal(first[0], first[21]), "a new episode starts elsewhere"


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("seed", [5, [3, None, 3, 9]], ids=["one", "a list"])
def test_seeds_and_autoreset_as_gymnasiums_own(seed, mode) -> None:
    """Random starts of many episodes, and what every step gives, as SyncVectorEnv of single environments."""
    bars, options = walk(rows=400), {"lookback": 3, "steps": 5, "action_dtype": "float32"}
    ours = TradingVectorEnv(4, bars, COSTS, autoreset_mode=mode, **options)
    theirs = SyncVectorEnv([lambda: TradingEnv(bars, COSTS, **options)] * 4, autoreset_mode=mode)
    assert ours.action_space == theirs.action_space
    ours.action_space.seed(0)
    known = [0, 1, 2, 3] if seed == 5 else [0, 2, 3]

    def same(a: np.ndarray, b: np.ndarray) -> None:
        assert np.array_equal(a[known], b[known])

    same(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    assert [ours.np_random_seed[i] for i in known] == [theirs.np_random_seed[i] for i in known]
    for step in range(25):
        asked = ours.action_space.sample()
        found, wanted = ours.step(asked), theirs.step(asked)
        for a, b in zip(found[:4], wanted[:4], strict=True):
            same(a, b)
        same(found[4]["equity"], wanted[4]["equity"])
        over = found[2] | found[3]
        if mode == AutoresetMode.DISABLED and over.any():
            with pytest.raises(UsageError, match=r"environments \[0, 1, 2, 3\] are over"):
                ours.step(asked)
            half = over & (np.arange(4) < 2)
            for mask in (half, over & ~half):
                (seen, told), (expected, said) = (
                    env.reset(options={"reset_mask": mask.copy()}) for env in (ours, theirs)
                )
                same(seen, expected)
                same(told["equity"], said["equity"])
                assert told["_equity"].tolist() == said["_equity"].tolist() == mask.tolist()
        elif step == 13:
            same(ours.reset()[0], theirs.reset()[0])
    same(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])


def test_a_mask_says_which_environments_start() -> None:
    env = TradingVectorEnv(3, walk(), COSTS, autoreset_mode="Disabled")
    with pytest.raises(UsageError, match="first reset is for all"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    env.reset(seed=0)
    for mask in ([True, False, True], np.array([True, False]), np.zeros(3, np.bool_), np.ones(3)):
        with pytest.raises(UsageError, match="bool array of shape"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(UsageError, match="one for each of 3"):
        env.reset(seed=[1, 2])
    with pytest.raises(UsageError, match="DISABLED"):
        TradingVectorEnv(3, walk(), COSTS).reset(options={"reset_mask": np.ones(3, np.bool_)})


def test_weights_of_single_precision_change_nothing_beyond_rounding() -> None:
    rng = np.random.default_rng(0)
    envs = [TradingVectorEnv(5, walk(), COSTS, steps=50, action_dtype=kind) for kind in ("float64", "float32")]
    assert [env.action_space.dtype for env in envs] == [np.float64, np.float32]
    for env in envs:
        env.reset(seed=0)
    for _ in range(40):
        asked = rng.uniform(-1.0, 1.0, (5, 2)).astype(np.float32)
        (wide, gained, *_, told), (narrow, got, *_, said) = envs[0].step(asked.astype(np.float64)), envs[1].step(asked)
        assert (wide.tobytes(), gained.tobytes()) == (narrow.tobytes(), got.tobytes())
        assert told["refusals"].tolist() == said["refusals"].tolist() == [0] * 5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_goes_on_as_the_original(copied) -> None:
    env = TradingVectorEnv(4, walk(), COSTS, steps=6)
    env.action_space.seed(0)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    twin = copied(env)
    for _ in range(15):
        asked = env.action_space.sample()
        for a, b in zip(env.step(asked)[:4], twin.step(asked)[:4], strict=True):
            assert np.array_equal(a, b)


def test_a_closed_environment_takes_no_step() -> None:
    env = TradingVectorEnv(4, walk(), COSTS)
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(UsageError, match="closed"):
        env.step(np.zeros((4, 2)))


def test_one_copy_of_the_data() -> None:
    """1,024 environments on ten years of daily bars of 50 symbols: no more than what the accounts and one table of bars
    need."""
    bars = walk(rows=2520, symbols=50, volatility=0.01)
    TradingVectorEnv(2, bars, COSTS, lookback=4, steps=100).reset()
    table, before = tape(bars), psutil.Process().memory_info().rss
    env = TradingVectorEnv(1024, bars, COSTS, lookback=4, steps=100)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(3):
        env.step(rng.uniform(-0.02, 0.02, (1024, 50)))
    grown = psutil.Process().memory_info().rss - before
    assert tape(bars) is table
    one_copy = sum(getattr(bars, name).nbytes for name in ("open", "high", "low", "close", "volume"))
    assert grown < 8 * one_copy, f"{grown / 1e6:.0f} MB for 1,024 environments on {one_copy / 1e6:.0f} MB of bars"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"max_orders": 0}, "max_orders"),
        ({"max_orders": 1000}, "max_orders_per_batch"),
        ({"autoreset_mode": "sometimes"}, "NEXT_STEP.*SAME_STEP.*DISABLED"),
        ({"action_dtype": "float16"}, "'float64', 'float32'"),
        ({"lookback": 100}, "lookback"),
    ],
)
def test_wrong_options_are_named(options, words) -> None:
    with pytest.raises(UsageError, match=words):
        TradingVectorEnv(options.pop("num_envs", 4), walk(), COSTS, **options)


def test_wrong_calls_are_named() -> None:
    env = TradingVectorEnv(4, walk(), COSTS)
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((4, 2)))
    with pytest.raises(UsageError, match="one for each of 4"):
        env.reset(options={"start": [20, 20]})
    with pytest.raises(UsageError, match="row 3"):
        env.reset(options={"start": [20, 20, 20, 3]})
    env.reset()
    with pytest.raises(UsageError, match=r"\(4, 2\); found shape \(4, 3\)"):
        env.step(np.zeros((4, 3)))


@pytest.mark.parametrize("action", ["weights", "orders"])
def test_what_is_no_array_of_numbers_is_refused_by_name(action) -> None:
    envs = openfingym.make_vec("equity-trading", num_envs=2, action=action)
    envs.reset(seed=0)
    for wrong in ("buy", [[0.1], [0.1, 0.2]], object()):
        with pytest.raises(UsageError, match=r"shape \(2, .*found"):
            envs.step(wrong)


def test_numbers_that_are_not_real_are_refused_by_name() -> None:
    weighted, ordered = TradingVectorEnv(2, walk(), COSTS), TradingVectorEnv(2, walk(), COSTS, action="orders")
    for env in (weighted, ordered):
        env.reset(seed=0)
        shape = env.action_space.shape
        for wrong in (np.full(shape, 10**400, object).tolist(), np.zeros(shape, complex), np.ma.masked_all(shape)):
            with pytest.raises(UsageError, match=r"shape \(2, .*found"):
                env.step(wrong)


def test_seeds_options_and_starts_of_a_wrong_form_are_named() -> None:
    env = TradingVectorEnv(4, walk(), COSTS)
    for seed in ("a", 1.5, -1, [0.5] * 4, [1, 2, 3, "x"], [-1] * 4, np.array(3), np.zeros(4), object()):
        with pytest.raises(UsageError, match="expected a whole number from 0 on, a list"):
            env.reset(seed=seed)
    for options in ("x", 5):
        with pytest.raises(UsageError, match="expected a dict"):
            env.reset(options=options)
    for start in (np.array(20), np.array("first")):
        with pytest.raises(UsageError, match="expected 'random', 'first' or a row"):
            env.reset(seed=0, options={"start": start})
    assert env.reset(seed=np.int64(3))[1].keys() == env.reset(seed=np.arange(4))[1].keys()
