"""The compiled core against the readable simulator: everything an account is, with ==."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.data.bars import FIELDS, Bars
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.errors import UsageError
from openfingym.trading.actions import Decision, Replacement
from openfingym.trading.compiled.account import CompiledAccount
from openfingym.trading.compiled.core import CORE
from openfingym.trading.compiled.core_table import CoreTable
from openfingym.trading.compiled.layout import AVERAGE, HOLD_CASH, HOLD_SHORT, MARK, OPENING, VOLUME, State
from openfingym.trading.executor import OpenOrder
from openfingym.trading.market import BarPath, MarketRules
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side, TimeInForce
from openfingym.trading.session import Session
from tests.sweeps import ALL, sweep

NAN = math.nan


def bars_of(
    rng: np.random.Generator,
    rows: int,
    symbols: int,
    *,
    volatility: float = 0.02,
    tick: float = 0.0,
    events: bool = True,
) -> Bars:
    """Bars with gaps, halts, splits and dividends."""
    shape = (rows, symbols)
    close = 50.0 * np.exp(np.cumsum(volatility * rng.standard_normal(shape), axis=0))
    opening = np.vstack([close[:1], close[:-1] * np.exp(volatility * rng.standard_normal((rows - 1, symbols)))])
    split, dividend = np.ones(shape), np.zeros(shape)
    volume = np.floor(rng.lognormal(7.0, 1.0, shape))
    if events:
        ratio = rng.choice([2.0, 1.5, 3.0, 0.5, 0.1], shape)
        split[1:] = np.where(rng.random(shape) < 0.02, ratio, 1.0)[1:]
        dividend[1:] = np.where(rng.random(shape) < 0.04, rng.choice([0.25, 0.3, 1.0 / 3.0], shape), 0.0)[1:]
        volume[1:][rng.random((rows - 1, symbols)) < 0.05] = 0.0
    level = np.cumprod(split, axis=0)
    opening, close = opening / level, close / level
    high = np.maximum(opening, close) * np.exp(np.abs(volatility / 2 * rng.standard_normal(shape)))
    low = np.minimum(opening, close) * np.exp(-np.abs(volatility / 2 * rng.standard_normal(shape)))
    if tick:
        low, opening, close, high = (
            np.maximum(tick, np.round(price / tick) * tick) for price in (low, opening, close, high)
        )
    times = np.datetime64("2020-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "D")
    names = [f"s{i}" for i in range(symbols)]
    return Bars.from_arrays(
        times, names, open=opening, high=high, low=low, close=close, volume=volume, split=split, dividend=dividend
    )


ENDS = ("as they go", "ruin", "halt to the end", "delisting")
"""How the last rows of some bars go: their first symbol soars, trades no more, or falls to nothing and then trades no
more."""


def ending(bars: Bars, end: str, first: int) -> Bars:
    """The same bars, but for the end of their first symbol from row ``first`` on."""
    columns = {field: getattr(bars, field).copy() for field in (*FIELDS, "split", "dividend")}
    late, after = slice(first, None), slice(first + 1, None)
    if end == "ruin":
        for field in ("open", "high", "low", "close"):
            columns[field][late, 0] *= 30.0
    if end == "delisting":
        for field in ("open", "high", "low", "close"):
            columns[field][late, 0] *= 1e-6
    if end in {"halt to the end", "delisting"}:
        columns["volume"][after, 0] = 0.0
    return Bars.from_arrays(bars.times, bars.symbols, **columns)


def random_market(rng: np.random.Generator) -> MarketRules:
    pick = rng.choice
    return MarketRules(
        fee_bps=float(pick([0.0, 1.0, 7.3])),
        fee_per_trade=float(pick([0.0, 0.0, 1.1])),
        slippage_bps=float(pick([0.0, 2.0, 31.7])),
        half_spread_bps=float(pick([0.0, 1.3])),
        impact=float(pick([0.0, 0.1, 3.0])),
        max_participation=float(pick([0.0, 0.0, 0.1, 0.01])),
        lot=float(pick([1.0, 0.0, 0.001, 0.1, 100.0])),
        tick=float(pick([0.0, 0.01, 0.05])),
        max_short=float(pick([1.0, 0.0, 0.5, 2.0])),
        borrow_bps_per_year=float(pick([0.0, 300.0])),
        path=BarPath(int(rng.integers(4))),
        short_proceeds_fund_longs=bool(rng.random() < 0.3),
        check_on_submit=bool(rng.random() < 0.8),
        max_open_orders=int(pick([1, 4, 16, 64])),
        max_orders_per_batch=int(pick([3, 64])),
    )


def random_order(rng: np.random.Generator, symbols: int, price: float, market: MarketRules) -> Order:
    kind = OrderType(int(rng.integers(4)))
    quantity = float(rng.choice([1.0, 10.0, 37.0, 100.0, 400.0, 3000.0])) * (
        market.lot if market.lot > 0.0 and rng.random() < 0.9 else 1.0
    )
    if market.lot == 0.0 or market.lot < 1.0:
        quantity = max(market.lot, quantity * float(rng.choice([0.3, 1.7, 10.0])))
        quantity = round(quantity / market.lot) * market.lot if market.lot > 0.0 else quantity
    level = [price * math.exp(0.02 * rng.standard_normal()) for _ in range(2)]
    if market.tick and rng.random() < 0.9:
        level = [max(1, round(value / market.tick)) * market.tick for value in level]
    limit = level[0] if kind in {OrderType.LIMIT, OrderType.STOP_LIMIT} else NAN
    stop = level[1] if kind in {OrderType.STOP, OrderType.STOP_LIMIT} else NAN
    order = Order(
        int(rng.integers(symbols)),
        Side(int(rng.choice([-1, 1]))),
        quantity,
        kind,
        limit,
        stop,
        TimeInForce(int(rng.random() < 0.2)),
    )
    wrong = rng.random()
    if wrong < 0.06:
        bad = rng.choice(8)
        order = [
            order._replace(quantity=NAN),
            order._replace(quantity=-1.0),
            order._replace(quantity=0.0),
            order._replace(quantity=math.inf),
            order._replace(quantity=1e308),
            order._replace(symbol=symbols),
            order._replace(limit_price=-1.0, stop_price=1e308),
            order._replace(side=0),  # type: ignore[arg-type]
        ][bad]
    return order


def random_pair(rng: np.random.Generator, session: Session) -> list[Order]:
    """Two orders of which one cancels the other, often on what is held; or some that are no pair."""
    account = session.simulator
    symbol = int(rng.integers(len(account.position)))
    held, mark = account.position[symbol], account.mark[symbol]
    side = Side.SELL if held > 0.0 else Side.BUY if held < 0.0 else Side(int(rng.choice([-1, 1])))
    tick = account.market.tick or 1e-9
    near, far = (max(1, round(mark * math.exp(side * x) / tick)) * tick for x in (0.03 * rng.random(2) - 0.005))
    low, high = 2.0 * mark - near, far
    quantity = abs(held) if held and rng.random() < 0.7 else random_order(rng, 1, mark, account.market).quantity
    name = str(rng.choice(["a", "b"]))
    limit = Order(symbol, side, quantity, OrderType.LIMIT, max(tick, round(low / tick) * tick), oco=name)
    stop = Order(symbol, side, quantity, OrderType.STOP, NAN, high, oco=name)
    if rng.random() < 0.4:
        level = max(tick, round(high * math.exp(0.01 * rng.standard_normal()) / tick) * tick)
        stop = stop._replace(type=OrderType.STOP_LIMIT, limit_price=level)
    pair = [limit, stop]
    if rng.random() < 0.15:
        pair[1] = [
            stop._replace(oco="c"),
            stop._replace(oco=None),
            stop._replace(quantity=2.0 * quantity),
            stop._replace(symbol=symbol + 1),
            stop._replace(side=Side(-side)),
            stop._replace(time_in_force=TimeInForce.IOC),
            stop._replace(stop_price=-1.0),
            stop._replace(side=0),  # type: ignore[arg-type]
            limit,
        ][int(rng.integers(9))]
    if rng.random() < 0.03:
        pair = [order._replace(symbol=len(account.position)) for order in pair]
    return pair if rng.random() < 0.97 else [*pair, limit]


def random_decision(rng: np.random.Generator, session: Session) -> Decision | None:
    if rng.random() < 0.15:
        return None
    market, account = session.simulator.market, session.simulator
    symbols = len(account.position)
    weights = None
    if rng.random() < 0.2:
        raw = rng.uniform(-1.0, 1.0, symbols) * rng.choice([1.0, 0.5, 1.5]) / symbols
        weights = tuple(float(value) for value in raw)
    count = int(rng.choice([0, 1, 1, 2, 3, 5]))
    orders = []
    for _ in range(count):
        symbol = int(rng.integers(symbols))
        orders.append(
            random_order(rng, symbols, account.mark[symbol], market)._replace(symbol=symbol)
            if rng.random() < 0.97
            else random_order(rng, symbols, 1.0, market)
        )
    if rng.random() < 0.4:
        orders += random_pair(rng, session)
        rng.shuffle(orders)  # type: ignore[arg-type]  # a list is shuffled in its place
    known = [order.id for order in account.open_orders()] + [1, 7, 10**6, 0, -3]
    cancels = tuple(int(rng.choice(known)) for _ in range(int(rng.random() < 0.2)))
    replaces = []
    for order in account.open_orders():
        if rng.random() < 0.1:
            new = random_order(rng, symbols, account.mark[order.symbol], market)
            price = [value if rng.random() < 0.5 else None for value in (new.limit_price, new.stop_price)]
            price = [None if value is not None and math.isnan(value) else value for value in price]
            quantity = new.quantity if rng.random() < 0.4 else order.remaining / 2 if rng.random() < 0.4 else None
            quantity = None if order.other and rng.random() < 0.8 else quantity
            replaces.append(
                Replacement(
                    order.id, None if quantity is not None and math.isnan(quantity) else quantity, price[0], price[1]
                )
            )
    return Decision(weights, tuple(orders), cancels, tuple(replaces))


def same(ours: Sequence[tuple[object, ...]], theirs: Sequence[tuple[object, ...]]) -> bool:
    """Equal in every bit, but that NaN equals NaN."""
    return len(ours) == len(theirs) and all(
        repr(float(a)) == repr(float(b)) for x, y in zip(ours, theirs, strict=True) for a, b in pairs(x, y)
    )


def pairs(ours: tuple[object, ...], theirs: tuple[object, ...]) -> list[tuple[float, float]]:
    """Numbers side by side; a client's id and words, which are no numbers, must be equal."""
    assert len(ours) == len(theirs)
    if isinstance(ours, Event):
        assert ours[-1] == theirs[-1] == ""
        ours, theirs = ours[:-1], theirs[:-1]
    if isinstance(theirs, OpenOrder):
        assert ours[-1] == theirs[-1]
        ours, theirs = ours[:-1], theirs[:-1]
    assert ours[-1] == theirs[-1]
    return list(zip(ours[:-1], theirs[:-1], strict=True))  # type: ignore[arg-type]


def assert_agreement(bars: Bars, market: MarketRules, rng: np.random.Generator, cash: float) -> set[str]:
    """Drive both with the same random decisions to the last bar, after ruin too; returns in what state the account came
    to its end."""
    session = Session(bars, market, cash=cash, first=0, steps=len(bars) - 1)
    readable, compiled, decisions = session.simulator, CompiledAccount(bars, market, cash=cash), []
    while readable.row < len(bars) - 1:
        decision = random_decision(rng, session)
        decisions.append(decision)
        if decision is not None:
            session.decide(decision)
        theirs = advance(session)
        record = compiled.run([decision])
        where = f"row {readable.row}: {decision}"
        ours = compiled.events()
        assert same(ours, theirs), f"{where}\n{ours}\n{theirs}"
        assert same([(*record[0].tolist(), None)], [(*session.record[readable.row].tolist(), None)]), where
        assert same([(*compiled.positions(), None)], [(*readable.positions(), None)]), where
        assert same([(*compiled.account(), None)], [(*readable.account(), None)]), where
        assert same(compiled.open_orders(), readable.open_orders()), where
        expected = [(o.opening, o.hold_cash, o.hold_short, None) for o in readable.orders]
        found = compiled._open()[:, [OPENING, HOLD_CASH, HOLD_SHORT]].tolist()
        assert same([(*row, None) for row in found], expected), where
        for column, values in ((AVERAGE, readable.average), (MARK, readable.mark), (VOLUME, readable.volume)):
            assert same([(*compiled._state.book[0, :, column].tolist(), None)], [(*values, None)]), where
        assert (compiled.bankrupt, compiled.row) == (readable.bankrupt, readable.row)
    whole = CompiledAccount(bars, market, cash=cash).run(decisions)
    assert whole.tobytes() == session.record[1:].tobytes() == session.outcome()[1:].tobytes()
    happened = {"orders pending"} if readable.orders else set()
    if readable.bankrupt:
        happened.add("ruin while short" if min(readable.position) < 0.0 else "ruin")
    if not bars.tradable[-2:, 0].any() and readable.position[0] != 0.0:
        happened.add("halted while short" if readable.position[0] < 0.0 else "halted while long")
    return happened


def advance(session: Session) -> list[Event]:
    """Walk a row; after ruin, where a session is over, the simulator alone does."""
    if not session.done:
        return session.advance()
    bars, account, row = session.bars, session.simulator, session.simulator.row + 1
    prices = [getattr(bars, field)[row].tolist() for field in FIELDS]
    account.on_bar(
        *prices,
        tradable=bars.tradable[row].tolist(),
        splits=bars.split[row].tolist(),
        dividends=bars.dividend[row].tolist(),
    )
    return account.events()


STREAMS = 40


@pytest.mark.parametrize("seed", sweep(range(STREAMS), 2))
def test_random_streams_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market = random_market(rng)
    symbols = int(rng.choice([1, 2, 5]))
    bars = bars_of(rng, 150, symbols, volatility=float(rng.choice([0.01, 0.03, 0.1])), tick=market.tick)
    assert_agreement(bars, market, rng, float(rng.choice([1_000.0, 100_000.0, 3_333_333.33])))


@settings(max_examples=120 if ALL else 40)
@given(
    seed=st.integers(0, 2**32 - 1),
    path=st.sampled_from(BarPath),
    lot=st.sampled_from([0.0, 0.001, 0.1, 1.0, 3.0]),
    rows=st.integers(2, 40),
    end=st.sampled_from(ENDS),
    cash=st.sampled_from([500.0, 50_000.0]),
)
def test_any_stream_agrees(seed: int, path: BarPath, lot: float, rows: int, end: str, cash: float) -> None:
    rng = np.random.default_rng(seed)
    market = replace(random_market(rng), path=path, lot=lot)
    bars = bars_of(rng, rows, int(rng.integers(1, 4)), volatility=0.05, tick=market.tick)
    assert_agreement(ending(bars, end, int(rng.integers(1, rows))), market, rng, cash)


def test_every_end_is_met_and_the_same() -> None:
    """Ruin while short, a delisting while long and while short, and orders that pend at the end: whole records, and all
    that happened."""
    met: set[str] = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        market = replace(random_market(rng), max_short=float(rng.choice([1.0, 2.0])), lot=0.0, max_participation=0.0)
        bars = bars_of(rng, 24, int(rng.integers(1, 4)), volatility=0.05, tick=market.tick)
        met |= assert_agreement(ending(bars, ENDS[seed % len(ENDS)], int(rng.integers(8, 20))), market, rng, 3_000.0)
    assert met >= {"orders pending", "ruin while short", "halted while long", "halted while short"}


def test_the_streams_cover_everything_that_can_happen() -> None:
    """That the tests above compare something: every kind of event, and every reason that an account can meet."""
    kinds, reasons = set(), set()
    for seed in range(STREAMS):
        rng = np.random.default_rng(seed)
        market = random_market(rng)
        symbols = int(rng.choice([1, 2, 5]))
        bars = bars_of(rng, 150, symbols, volatility=float(rng.choice([0.01, 0.03, 0.1])), tick=market.tick)
        session = Session(
            bars, market, cash=float(rng.choice([1_000.0, 100_000.0, 3_333_333.33])), first=0, steps=len(bars) - 1
        )
        while not session.done:
            decision = random_decision(rng, session)
            if decision is not None:
                session.decide(decision)
            for happened in session.advance():
                kinds.add(happened.kind)
                reasons.add(happened.reason)
    assert kinds == set(EventKind)
    elsewhere = {Reason.VENUE_REFUSED, Reason.VENUE_AWAY}  # no simulated market has a venue
    elsewhere |= {Reason.NO_PRICE, Reason.STALE_PRICE, Reason.HALTED}  # nor is one live
    assert set(Reason) - reasons - elsewhere <= {Reason.DUPLICATE_ID, Reason.EPISODE_OVER, Reason.BANKRUPT}


def test_many_rows_in_one_call_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    market = MarketRules(fee_bps=1.0, max_participation=0.05, max_orders_per_batch=64)
    bars = bars_of(rng, 200, 2)
    session = Session(bars, market, cash=1e6, first=3, steps=196)
    decisions, events = [], []
    while not session.done:
        decisions.append(random_decision(rng, session))
        if decisions[-1] is not None:
            session.decide(decisions[-1])
        events += session.advance()
    compiled = CompiledAccount(bars, market, cash=1e6, first=3)
    record = compiled.run(decisions)
    assert same(compiled.events(), events)
    assert record.tolist() == session.record[1:].tolist()
    assert compiled.row == session.row


def test_bankruptcy_is_the_same() -> None:
    times = np.datetime64("2020-01-01", "ns") + np.arange(5) * np.timedelta64(1, "D")
    close = np.array([[10.0], [10.0], [10.0], [40.0], [40.0]])
    bars = Bars.from_arrays(
        times, ["a"], open=close, high=close * 1.01, low=close * 0.99, close=close, volume=np.full((5, 1), 1e6)
    )
    decisions = [
        Decision(orders=(Order(0, Side.SELL, 90.0),)),
        Decision(orders=(Order(0, Side.BUY, 1.0, OrderType.LIMIT, 1.0),)),
        None,
        Decision(weights=(0.5,), orders=(Order(0, Side.BUY, 1.0),)),
    ]
    session, compiled = (
        Session(bars, MarketRules(), cash=1000.0, first=0, steps=4),
        CompiledAccount(bars, MarketRules(), cash=1000.0),
    )
    for decision in decisions[:3]:
        session.decide(decision or Decision())
        session.advance()
    compiled.run(decisions[:3])
    assert compiled.bankrupt
    assert session.simulator.bankrupt
    assert compiled.account() == session.simulator.account()
    session.decide(decisions[3])
    session.simulator.on_bar([40.0], [40.4], [39.6], [40.0], [1e6])
    compiled.events()
    compiled.run(decisions[3:])
    assert same(compiled.events(), session.simulator.events())


WILD = [
    Decision(weights=(0.2,)),
    Decision(weights=(0.1, None)),  # type: ignore[arg-type]
    Decision(weights=("a", 0.1)),  # type: ignore[arg-type]
    Decision(weights=(10**400, 0.0)),
    Decision(weights=()),
    Decision(cancels=(10**400, -(10**400), 2**31, 2**53 + 1)),
    Decision(cancels=(np.int64(1), np.int64(2))),  # type: ignore[arg-type]
    Decision(cancels=(2.0, 1.4, "2", None)),  # type: ignore[arg-type]
    Decision(
        orders=(
            Order(10**400, Side.BUY, 1.0),
            Order(2**40, Side.SELL, 1.0),
            Order(-(2**31), Side.BUY, 1.0),
            Order(7, Side.BUY, 1.0),
        )
    ),
    Decision(orders=(Order(0, Side.BUY, 10**400), Order(0, Side.BUY, "1"), None)),  # type: ignore[arg-type]
    Decision(replaces=(Replacement(2, quantity=NAN), Replacement(2, limit_price=NAN), Replacement(2, stop_price=NAN))),
    Decision(
        replaces=(
            Replacement(3, quantity=NAN),
            Replacement(10**400, quantity=-math.inf),
            Replacement(2, quantity=-math.inf),
        )
    ),
    Decision(
        replaces=(Replacement(2, quantity=10**400), Replacement(2, quantity="1"), Replacement(2, limit_price=-math.inf))
    ),  # type: ignore[arg-type]
    Decision(replaces=(Replacement(2),)),
]


@pytest.mark.parametrize("place", range(len(WILD)))
def test_what_is_wildly_wrong_is_refused_in_the_same_words(place: int) -> None:
    """Annotations do not bind agents: numbers that no float64 holds, NaN where it is no "as it was", too few
    weights."""
    bars = bars_of(np.random.default_rng(1), 6, 2, events=False)
    market = MarketRules(max_short=2.0)
    session, compiled = Session(bars, market, cash=1e5, first=0, steps=5), CompiledAccount(bars, market, cash=1e5)
    opening = Decision(orders=(Order(0, Side.BUY, 10.0), Order(1, Side.BUY, 5.0, OrderType.LIMIT, 1.0)))
    for decision in (opening, WILD[place], Decision(cancels=(2,)), WILD[place]):
        session.decide(decision)
        theirs = session.advance()
        record = compiled.run([decision])
        ours = compiled.events()
        assert same(ours, theirs), f"{ours}\n{theirs}"
        assert record[0].tobytes() == session.record[session.rows].tobytes()
        assert same(compiled.open_orders(), session.simulator.open_orders())


def test_more_rows_than_there_are_are_refused() -> None:
    account = CompiledAccount(bars_of(np.random.default_rng(0), 10, 1), MarketRules(), cash=1.0)
    with pytest.raises(UsageError, match="10 rows after row 0"):
        account.run([None] * 10)
    with pytest.raises(UsageError, match="client ids"):
        account.run([Decision(orders=(Order(0, Side.BUY, 1.0, client_id="a"),))])


def test_a_second_process_compiles_nothing_again() -> None:
    code = (
        "import numpy as np\n"
        "from openfingym.trading.compiled.account import CORE, CompiledAccount\n"
        "from openfingym.data.bars import Bars\n"
        "from openfingym.trading.market import MarketRules\n"
        "x = np.full((5, 1), 10.0); t = np.datetime64('2020-01-01', 'ns') + np.arange(5)\n"
        "bars = Bars.from_arrays(t, ['a'], open=x, high=x, low=x, close=x, volume=x)\n"
        "CompiledAccount(bars, MarketRules(), cash=1.0)\n"
        "print(sum(CORE.stats.cache_misses.values()))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    CompiledAccount(bars_of(np.random.default_rng(0), 5, 1), MarketRules(), cash=1.0)  # this process is the first
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) == 0, "the first one's cache was used"


def test_all_is_compiled_once() -> None:
    bars = bars_of(np.random.default_rng(0), 40, 2)
    single = [TradingEnv(bars, action=action, lookback=3) for action in ("projected", "orders")]
    many = [TradingVectorEnv(3, bars, action=action, lookback=3) for action in ("projected", "orders")]
    for env in (*single, *many):
        env.action_space.seed(0)
        env.reset(seed=0)
        env.step(env.action_space.sample())
    CompiledAccount(bars, MarketRules(), cash=1e5).run([None])
    assert len(CORE.signatures) == 1  # type: ignore[attr-defined]  # of Numba


@pytest.mark.parametrize(
    ("requests", "starts", "weights", "weighted"),
    [
        (np.zeros((1, 7)), [0, 1], np.zeros((1, 2)), [False]),
        (np.zeros((1, 8)), [0, 2], np.zeros((1, 2)), [False]),
        (np.zeros((1, 8)), [-1, 1], np.zeros((1, 2)), [False]),
        (np.zeros((1, 8)), [1, 0], np.zeros((1, 2)), [False]),
        (np.zeros((1, 8)), [0, 1], np.zeros((1, 1)), [False]),
        (np.zeros((1, 8)), [0, 1], np.zeros((1, 2)), [False, False]),
    ],
)
def test_arrays_of_a_run_must_fit(
    requests: np.ndarray, starts: list[int], weights: np.ndarray, weighted: list[bool]
) -> None:
    account = CompiledAccount(bars_of(np.random.default_rng(0), 9, 2), MarketRules(), cash=1e5)
    with pytest.raises(UsageError, match="starts that go up"):
        account.run_arrays(requests, np.array(starts), weights, np.array(weighted))


def test_an_array_of_another_type_is_not_handed_to_the_core() -> None:
    table = CoreTable.of_one(State.empty(1, 1, 1, 1))
    for wrong in (np.zeros((1, 1, 8), np.float32), np.zeros((1, 1, 16))[..., ::2]):
        with pytest.raises(TypeError, match="bars"):
            table.lay(bars=wrong)
