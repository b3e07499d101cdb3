"""Indicators in observations of trading: formulas, what they read, and that all environments show the same."""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Iterator

import gymnasium
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import openfingym
from openfingym import catalog
from openfingym.data.bars import Bars
from openfingym.envs.indicators import FORMULAS, SeenBars, parse, table, warm
from openfingym.envs.sb3 import adapt
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_hidden import HiddenTradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.errors import UsageError
from openfingym.kinds.trading import kind as trading
from openfingym.packages.build import build
from openfingym.trading.market import MarketRules

SHORT = [
    *("return:2", "sma:4", "ema:3", "rsi:3", "macd:2:4:3", "atr:3"),
    *("bollinger:4", "volatility:3", "momentum:5", "volume:4"),
]
"""Every indicator, with periods that a few bars fill."""
MARKET = MarketRules(fee_bps=2.0, lot=0.0)


def bars_of(closes: np.ndarray, seed: int = 0, *, split: np.ndarray | None = None, halts: float = 0.0) -> Bars:
    """Bars around closes float64[T, S], with opens, ranges and volumes by chance."""
    rng = np.random.default_rng(seed)
    opens = closes * np.exp(0.01 * rng.standard_normal(closes.shape))
    volume = rng.integers(1, 1000, closes.shape).astype(float)
    volume[1:][rng.random(volume[1:].shape) < halts] = 0.0
    return Bars.from_arrays(
        np.datetime64("2020-01-01", "ns") + np.arange(len(closes)) * np.timedelta64(1, "D"),
        [f"s{i}" for i in range(closes.shape[1])],
        open=opens,
        high=np.maximum(opens, closes) * np.exp(0.01 * rng.random(closes.shape)),
        low=np.minimum(opens, closes) * np.exp(-0.01 * rng.random(closes.shape)),
        close=closes,
        volume=volume,
        split=split,
    )


def walk(rows: int = 90, symbols: int = 2, seed: int = 0, **options: object) -> Bars:
    rng = np.random.default_rng(seed)
    return bars_of(100.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((rows, symbols)), axis=0)), seed, **options)


def shown(asked: list[str], bars: Bars) -> np.ndarray:
    return table(bars, parse(asked, len(bars)))


def wilder(values: pd.Series, period: int) -> pd.Series:
    """Wilder's mean in pandas: the plain mean of the first values, and an average that begins with it."""
    first = values.first_valid_index()
    seeded = values.loc[first + period - 1 :].copy()
    seeded.iloc[0] = values.loc[first : first + period - 1].mean()
    return seeded.ewm(alpha=1.0 / period, adjust=False).mean()


def in_pandas(bars: Bars, s: int) -> dict[str, pd.Series]:
    """The indicators of a symbol by their definitions, with default periods."""
    c, h, low, v = (pd.Series(part[:, s]) for part in (bars.close, bars.high, bars.low, bars.volume))
    change, returns = c.diff(), np.log(c).diff()
    gain, loss = (
        wilder(part.where(change.notna()), 14) for part in (change.clip(lower=0.0), (-change).clip(lower=0.0))
    )
    line = c.ewm(span=12, adjust=False).mean() - c.ewm(span=26, adjust=False).mean()
    signal = line[25:].ewm(span=9, adjust=False).mean()
    ranges = pd.concat([h - low, (h - c.shift()).abs(), (low - c.shift()).abs()], axis=1).max(axis=1)
    ranges[0] = np.nan

    def z(x: pd.Series) -> pd.Series:
        return (x - x.rolling(20).mean()) / x.rolling(20).std(ddof=0)

    return {
        "return:1": returns,
        "sma:20": np.log(c / c.rolling(20).mean()),
        "ema:20": np.log(c / c.ewm(span=20, adjust=False, min_periods=20).mean()),
        "rsi:14": (100.0 - 100.0 / (1.0 + gain / loss)) / 50.0 - 1.0,
        "macd:12:26:9": ((line - signal) / c)[lambda x: x.index >= 33],
        "atr:14": wilder(ranges, 14) / c,
        "bollinger:20": z(c),
        "volatility:20": returns.rolling(20).std(ddof=0),
        "momentum:20": returns.rolling(20).sum() / np.sqrt((returns**2).rolling(20).sum()),
        "volume:20": z(v),
    }


def test_each_is_what_pandas_computes_and_0_before_that() -> None:
    bars = walk(120)
    asked = parse(list(FORMULAS), len(bars))
    values = table(bars, asked)
    for s in range(2):
        expected = in_pandas(bars, s)
        assert [one.label for one in asked] == list(expected)
        for place, (label, series) in enumerate(expected.items()):
            defined = series.reindex(range(len(bars)))
            np.testing.assert_allclose(values[:, s, place], defined.fillna(0.0), rtol=1e-9, atol=1e-11, err_msg=label)
            assert defined.notna().to_numpy().tolist() == warm(len(bars), asked)[:, place].astype(bool).tolist(), label


def test_closed_forms() -> None:
    bars = bars_of(np.exp(0.01 * np.arange(60.0))[:, None])
    rising = dict(zip(SHORT, shown(SHORT, bars)[-1, 0], strict=True))
    assert rising["return:2"] == pytest.approx(0.02)
    assert rising["rsi:3"] == pytest.approx(1.0)
    assert rising["volatility:3"] == pytest.approx(0.0, abs=1e-12)
    assert rising["momentum:5"] == pytest.approx(np.sqrt(5.0)), "its upper bound"
    assert shown(["rsi:3"], bars_of(np.exp(-0.01 * np.arange(60.0))[:, None]))[-1] == pytest.approx(-1.0)
    jump = np.r_[np.ones(59), 2.0][:, None]
    assert shown(["bollinger:20"], bars_of(jump))[-1] == pytest.approx(np.sqrt(19.0)), "its upper bound"
    assert shown(["macd:2:4:3"], bars_of(jump))[-1] == pytest.approx((2 / 3 - 2 / 5) * (1 - 1 / 2) / 2)


prices = arrays.arrays(np.float64, (24, 2), elements=st.floats(1e-3, 1e6))
"""Prices that may be a thousand million times those of the bar before."""


@settings(max_examples=60)
@given(prices, prices, st.integers(0, 23), st.sampled_from([0.0, 0.3]))
def test_no_later_bar_changes_what_a_row_shows(before, after, row, halts) -> None:
    splits = np.ones((24, 2))
    splits[row + 1 :] = 2.0
    one = bars_of(before, halts=halts)
    other = bars_of(np.vstack([before[: row + 1], after[row + 1 :]]), split=splits, halts=halts)
    assert np.array_equal(shown(SHORT, one)[: row + 1], shown(SHORT, other)[: row + 1])


@settings(max_examples=60)
@given(prices, st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_finite_and_within_bounds_from_the_first_row_on(closes, halts, flat) -> None:
    bars = bars_of(closes[:1].repeat(24, axis=0) if flat else closes, halts=halts)
    asked = parse(SHORT, len(bars))
    values, known = table(bars, asked), warm(len(bars), asked)
    low, high = np.array([one.bounds for one in asked]).T
    assert np.isfinite(values).all()
    assert (values >= low).all()
    assert (values <= high).all()
    assert not values[(known == 0.0)[:, None, :].repeat(2, axis=1)].any(), "0 while warming up"


def test_a_market_that_stands_still_is_neutral() -> None:
    still = Bars.from_array(
        walk(40).times, ["a"], np.broadcast_to([3.3, 3.3, 3.3, 3.3, 7.7], (40, 1, 5)).astype(np.float64)
    )
    assert not shown(SHORT, still).any()


@pytest.mark.parametrize("halts", [0.0, 0.2])
def test_a_split_changes_nothing(halts) -> None:
    plain = walk(halts=halts)
    ratio = np.ones(plain.close.shape)
    ratio[[20, 50], [0, 1]] = 4.0, 1.0 / 3.0
    held = np.cumprod(ratio, axis=0)
    prices = {name: getattr(plain, name) / held for name in ("open", "high", "low", "close")}
    split = Bars.from_arrays(plain.times, plain.symbols, **prices, volume=plain.volume * held, split=ratio)
    np.testing.assert_allclose(shown(SHORT, split), shown(SHORT, plain), rtol=0, atol=1e-12)


@pytest.mark.parametrize("asked", [SHORT, ["rsi:2"], ["sma:3", "return"]])
def test_bars_shown_one_after_the_other_give_the_same(asked) -> None:
    ratio = np.ones((400, 2))
    ratio[200, 1] = 2.0
    bars = walk(400, split=ratio, halts=0.1)
    whole = shown(asked, bars)
    names = parse(asked, len(bars))
    seen, values = SeenBars(bars.symbols, names), bars.to_array()
    for _ in range(2):  # of two episodes, the second begins anew
        seen.clear()
        for row in range(9, len(bars)):
            row_values, row_warm = seen.show(values[row - 9 : row + 1], bars.split[row])
            np.testing.assert_allclose(row_values, whole[row], rtol=0, atol=1e-12)
            assert np.array_equal(row_warm, warm(len(bars), names)[row])
    assert len(seen._rows) < 400, "and what is forgotten is not kept"


def test_spaces_and_places() -> None:
    env = TradingEnv(walk(), MARKET, lookback=3, steps=8, indicators=SHORT)
    named = TradingEnv(walk(), MARKET, lookback=3, steps=8, indicators=SHORT, observation="dict", engine="python")
    for one in (env, named):
        check_env(one, skip_render_check=True)
    assert env.indicators == tuple(SHORT)
    flat, _ = env.reset(seed=3)
    parts, _ = named.reset(seed=3)
    over = False
    while not over:
        for name in ("indicators", "warm"):
            part = env.layout[name]
            assert np.array_equal(flat[part.place].reshape(part.shape), parts[name].astype(np.float32))
        asked = env.action_space.sample()
        flat, _, _, over, info = env.step(asked)
        parts = named.step(asked)[0]
        expected = shown(SHORT, env.bars)[info["row"]]
        assert np.array_equal(parts["indicators"], expected)
    assert env.layout["warm"].place.stop == len(flat)
    again = named.reset(options={"start": "first"})[0]["indicators"]
    seen = again.copy()
    again[:] = 9.0
    assert np.array_equal(named.reset(options={"start": "first"})[0]["indicators"], seen), "observations are copies"


def test_without_indicators_observations_are_what_they_were() -> None:
    plain, with_some = (TradingEnv(walk(), MARKET, lookback=3, steps=8, indicators=some) for some in ((), SHORT))
    assert set(with_some.layout) - set(plain.layout) == {"indicators", "warm"}
    size = plain.observation_space.shape[0]
    assert size == 5 * 3 * 2 + 4 * 2 + 3
    a, b = plain.reset(seed=5)[0], with_some.reset(seed=5)[0]
    for _ in range(8):
        assert np.array_equal(a, b[:size])
        asked = np.array([0.5, 0.2])
        a, b = plain.step(asked)[0], with_some.step(asked)[0]
    assert np.array_equal(plain.observation_space.high, with_some.observation_space.high[:size])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_many_at_once_see_what_each_alone_sees(mode) -> None:
    options = {"lookback": 3, "steps": 6, "indicators": SHORT}
    envs = TradingVectorEnv(3, walk(), MARKET, autoreset_mode=mode, **options)
    singles = [TradingEnv(walk(), MARKET, **options) for _ in range(3)]
    assert envs.indicators == singles[0].indicators
    assert envs.layout == singles[0].layout
    asked = np.full((3, 2), 0.3)
    seen, _ = envs.reset(seed=4)
    assert np.array_equal(seen, np.stack([one.reset(seed=4 + i)[0] for i, one in enumerate(singles)]))
    over = np.zeros(3, bool)
    for _ in range(15):
        if mode == "Disabled" and over.any():
            seen, _ = envs.reset(options={"reset_mask": over})
            first = [one.reset()[0] for one in singles]
            assert np.array_equal(seen, np.stack(first))
        seen, _, terminated, truncated, info = envs.step(asked)
        began, over = over, terminated | truncated
        expected = [
            one.reset()[0] if mode == "NextStep" and began[i] else one.step(asked[i])[0]
            for i, one in enumerate(singles)
        ]
        if mode == "SameStep" and over.any():
            assert np.array_equal(np.stack(info["final_obs"]), np.stack(expected))
            expected = [one.reset()[0] for one in singles]
        assert np.array_equal(seen, np.stack(expected))
        assert seen in envs.observation_space


def test_hidden_bars_show_what_the_same_bars_show_here() -> None:
    package = build(catalog.load_task("equity-trading"))
    asked = [*FORMULAS, "rsi:21", "ema:50"]
    session = trading.session(package.task.spec, package.array, package.read_truth(), package.manifest.n_public)
    local = TradingEnv(
        session.bars,
        session.simulator.market,
        initial_cash=session.simulator.cash,
        steps=session.steps,
        action="weights",
        start=session.first,
        indicators=asked,
    )
    hidden = HiddenTradingEnv(package, indicators=asked)
    place = slice(local.layout["indicators"].place.start, None)
    try:
        assert hidden.layout == local.layout
        assert hidden.indicators == local.indicators
        assert hidden.observation_space == local.observation_space
        ours, theirs = local.reset()[0], hidden.reset()[0]
        for _ in range(12):
            assert theirs in hidden.observation_space
            np.testing.assert_allclose(theirs[place], ours[place], rtol=1e-6, atol=1e-12)
            weights = np.array([0.3, 0.2, 0.1])
            ours, theirs = local.step(weights)[0], hidden.step(weights)[0]
    finally:
        hidden.close()


def test_made_by_name_again_and_pickled() -> None:
    env = openfingym.make("equity-trading", indicators=["rsi", "macd:8:21:5"])
    assert env.indicators == ("rsi:14", "macd:8:21:5")
    envs = openfingym.make_vec("equity-trading", num_envs=2, indicators=["rsi", "macd:8:21:5"])
    first, _ = env.reset(seed=1)
    assert np.array_equal(envs.reset(seed=1)[0][0], first)
    again = gymnasium.make(env.spec)
    assert np.array_equal(again.reset(seed=1)[0], first)
    copied = pickle.loads(pickle.dumps(env))
    assert np.array_equal(copied.step(np.full(3, 0.2))[0], env.step(np.full(3, 0.2))[0])


@pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="needs stable-baselines3")
def test_stable_baselines_accepts_them() -> None:
    from stable_baselines3.common import env_checker

    options = {"lookback": 3, "steps": 5, "indicators": SHORT, "action_dtype": "float32"}
    env = TradingEnv(walk(), MARKET, **options)
    env_checker.check_env(env, warn=False)
    adapter = adapt(TradingVectorEnv(2, walk(), MARKET, autoreset_mode="SameStep", **options))
    tail = slice(env.layout["indicators"].place.start, None)
    for end in ("low", "high"):
        ours, theirs = (getattr(one.observation_space, end) for one in (env, adapter))
        assert np.array_equal(ours[tail], theirs[tail])
    adapter.seed(4)
    assert np.array_equal(adapter.reset()[0], env.reset(seed=4)[0])
    for _ in range(5):
        seen, _, dones, infos = adapter.step(np.full((2, 2), 0.25, np.float32))
        expected = env.step(np.full(2, 0.25, np.float32))[0]
    assert dones.all()
    assert np.array_equal(infos[0]["terminal_observation"], expected)
    assert seen[0] in env.observation_space


def wrong() -> Iterator[tuple[object, str]]:
    yield ["rsi", "foo"], f"'foo' is no indicator; known: {', '.join(FORMULAS)}"
    yield "rsi", "expected a list of names"
    yield {"rsi"}, "expected a list of names"
    yield [3], "expected a list of names"
    yield None, "expected a list of names"
    yield ["rsi", "rsi:14"], "rsi:14 more than once"
    for periods in (
        "rsi:",
        "rsi:x",
        "rsi:1.5",
        "rsi:-3",
        "rsi:²",
        "rsi:3:4",
        "macd:9",
        "macd:1:2",
        "rsi:" + "9" * 5000,
    ):
        yield [periods], "whole numbers of bars, as in"
    yield ["rsi:0"], "1 or more bars"
    yield ["bollinger:1"], "2 or more bars"
    yield ["macd:26:12:9"], "the first shorter than the second"
    yield ["sma:90"], "'sma:90' is defined from 90 bars on, and an agent sees 90 at most"


@pytest.mark.parametrize(("asked", "message"), list(wrong()), ids=lambda part: str(part)[:20])
def test_what_is_wrong_is_said(asked, message) -> None:
    with pytest.raises(UsageError) as raised:
        TradingEnv(walk(), indicators=asked)
    assert message in str(raised.value)


def test_hidden_episodes_must_be_long_enough() -> None:
    package = build(catalog.load_task("equity-trading"))
    contract = trading.contract_of(package.task.spec.contract)
    sees = contract.lookback + contract.steps
    with pytest.raises(UsageError, match=f"an agent sees {sees} at most"):
        HiddenTradingEnv(package, indicators=[f"sma:{sees}"])
