"""What holds of every stream of ticks and orders: nothing is filled that the market did not show or trade."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.paper.liquidity import walk
from openfingym.market.ticks import Halt, Level, Trade
from openfingym.trading.actions import Decision, Replacement
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event, EventKind, Order
from tests.openfingym.market.paper.live import BUY, FILLED, GTC, IOC, LIMIT, MARKET, SELL, STOP, STOP_LIMIT, Live, limit

Action = tuple[Any, ...]
NAN = float("nan")
SYMBOLS = ("S", "T")

prices = st.integers(97, 103).map(float)
sizes = st.integers(1, 9).map(float)
symbols = st.sampled_from(SYMBOLS)


@st.composite
def books(draw: st.DrawFn) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    middle = draw(st.integers(98, 102))
    sides = [
        tuple((float(middle + sign * step), draw(sizes)) for step in range(1, 5) if draw(st.integers(0, 3)))
        for sign in (-1, 1)
    ]
    return sides[0], sides[1]


orders = st.builds(
    lambda symbol, side, quantity, kind, bound, stop, time_in_force: Order(
        SYMBOLS.index(symbol),
        side,
        quantity,
        kind,
        bound if kind in {LIMIT, STOP_LIMIT} else NAN,
        stop if kind in {STOP, STOP_LIMIT} else NAN,
        time_in_force,
    ),
    symbols,
    st.sampled_from([BUY, SELL]),
    sizes,
    st.sampled_from([MARKET, LIMIT, LIMIT, STOP, STOP_LIMIT]),
    prices,
    prices,
    st.sampled_from([GTC, GTC, IOC]),
)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("trade"), symbols, prices, sizes, st.sampled_from([-1, 0, 1]), st.sampled_from([0, 0, 0.7])),
        st.tuples(st.just("trade"), symbols, prices, sizes, st.sampled_from([-1, 0, 1]), st.just(0)),
        st.tuples(st.just("again"), symbols),
        st.tuples(st.just("book"), symbols, books()),
        st.tuples(st.just("order"), symbols, orders),
        st.tuples(st.just("order"), symbols, orders),
        st.tuples(st.just("order"), symbols, orders),
        st.tuples(st.just("replace"), symbols, st.integers(1, 9), sizes, prices),
        st.tuples(st.just("lost"), symbols),
        st.tuples(st.just("halt"), symbols, st.sampled_from([False, False, True])),
        st.tuples(st.just("wait"), st.sampled_from([0.3, 0.3, 0.3, 6.0])),
    ),
    min_size=10,
    max_size=50,
)


class Run:
    """Carries actions out, and keeps what happened beside what had been asked or told."""

    def __init__(self, symbols: tuple[str, ...] = SYMBOLS, cash: float = 1e9) -> None:
        self.live = Live(MarketRules(fee_bps=3.7, fee_per_trade=0.1), symbols=symbols, cash=cash)
        self.symbols = symbols
        self.last: dict[str, Trade] = {}
        self.happened: list[tuple[Action, list[Event]]] = []
        for symbol in SYMBOLS:
            self.do(("book", symbol, (((99.0, 5.0),), ((101.0, 5.0),))))

    def do(self, action: Action) -> None:
        live = self.live
        match action:
            case ("trade", symbol, price, size, taker, late):
                live.wait(0.01)
                self.last[symbol] = live.trade(price, size, taker, seconds=live.now - late, symbol=symbol)
            case ("again", symbol) if symbol in self.last:
                live.tell(self.last[symbol])
            case ("book", symbol, (bids, asks)):
                live.wait(0.01)
                live.book(bids, asks, symbol)
            case ("order", symbol, order):
                live.order(order._replace(symbol=self.symbols.index(SYMBOLS[order.symbol])))
            case ("replace", _, number, quantity, price):
                change = Replacement(number, quantity=quantity, limit_price=price)
                live.paper.decide(Decision(replaces=(change,)), live.at())
            case ("lost", symbol):
                live.state.lost([symbol], live.at())
            case ("halt", symbol, halted):
                live.tell(Halt(symbol, halted, "", live.time()))
            case ("wait", seconds):
                live.wait(seconds)
        self.happened.append((action, live.events()))

    def all(self, actions: Sequence[Action]) -> Run:
        for action in actions:
            self.do(action)
        return self

    @property
    def events(self) -> list[Event]:
        return [event for _, events in self.happened for event in events]


def passive(events: list[Event]) -> list[Event]:
    """Fills of orders that rested, among what a trade brought about."""
    triggered = {event.order_id for event in events if event.kind is EventKind.TRIGGERED}
    return [event for event in events if event.kind is FILLED and event.order_id not in triggered]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(actions)
def test_a_trade_fills_no_more_than_its_size_and_nothing_worse_than_a_limit(actions: list[Action]) -> None:
    for action, events in Run().all(actions).happened:
        if action[0] == "trade":
            _, _, price, size, taker, _ = action
            fills = passive(events)
            assert sum(event.quantity for event in fills) <= size
            for event in fills:
                assert event.side * (event.price - price) >= 0.0
                assert event.price != price or event.side != taker
        elif action[0] in {"again", "halt", "lost", "wait"}:
            assert events == []


@settings(deadline=None, derandomize=True, max_examples=60)
@given(actions)
def test_a_book_gives_no_more_than_it_shows_and_no_better_than_in_order(actions: list[Action]) -> None:
    run = Run().all(actions)
    shown: dict[str, tuple[tuple[Level, ...], tuple[Level, ...]]] = {}
    taken: dict[tuple[str, int], tuple[float, float]] = {}
    for action, events in run.happened:
        if action[0] == "book":
            shown[action[1]] = action[2]
            taken = {key: value for key, value in taken.items() if key[0] != action[1]}
        resting = passive(events) if action[0] == "trade" else []
        for event in events:
            if event.kind is FILLED and event not in resting:
                symbol = SYMBOLS[event.symbol]
                quantity, cost = taken.get((symbol, event.side), (0.0, 0.0))
                quantity, cost = quantity + event.quantity, cost + event.quantity * event.price
                taken[symbol, event.side] = quantity, cost
                most, price = walk(shown[symbol][event.side > 0], quantity)
                assert quantity <= most
                assert event.side * (cost - most * price) >= -1e-6


@settings(deadline=None, derandomize=True, max_examples=60)
@given(actions, st.sampled_from([1e9, 1500.0]))
def test_cash_and_positions_are_what_fills_say(actions: list[Action], cash: float) -> None:
    run = Run(cash=cash).all(actions)
    fills = [event for event in run.events if event.kind is FILLED]
    money = cash - sum(event.side * event.quantity * event.price + event.fee for event in fills)
    paper = run.live.paper
    assert paper.cash == pytest.approx(money, abs=0.005)
    for number, position in enumerate(paper.positions()):
        assert position == sum(event.side * event.quantity for event in fills if event.symbol == number)
    assert paper.account().equity == pytest.approx(paper.cash + paper.value())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(actions, st.sampled_from([1e9, 1500.0]))
def test_the_same_inputs_give_the_same_events_and_state(actions: list[Action], cash: float) -> None:
    one, other = Run(cash=cash).all(actions), Run(cash=cash).all(actions)
    assert repr(one.happened) == repr(other.happened)
    assert one.live.paper.digest() == other.live.paper.digest()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(actions)
def test_the_order_of_symbols_changes_nothing_while_the_account_does_not_bind(actions: list[Action]) -> None:
    one, other = Run(), Run(("T", "S"))
    assert one.live.paper.digest() == Run().live.paper.digest()
    assert repr(one.all(actions).events) == repr(
        [event._replace(symbol=1 - event.symbol) if event.symbol >= 0 else event for event in other.all(actions).events]
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.sampled_from([BUY, SELL]),
    sizes,
    st.integers(0, 9),
    st.lists(st.tuples(st.sampled_from([98.0, 99.0, 100.0, 101.0, 102.0]), sizes, st.sampled_from([-1, 0, 1]))),
)
def test_one_resting_order_against_the_plainest_queue(side, quantity, ahead, trades) -> None:
    """The queue at the limit, one unit after the other: those of others, then the order's own."""
    live = Live()
    beside = ((98.0, 1.0),) if side is BUY else ((102.0, 1.0),)
    own = ((100.0, float(ahead)), *beside) if ahead else beside
    live.book(*((own, ((103.0, 1.0),)) if side is BUY else (((97.0, 1.0),), own)))
    live.order(limit(side, quantity, 100.0))
    queue = deque(["other"] * ahead + ["own"] * int(quantity))
    for number, (price, size, taker) in enumerate(trades, 1):
        live.now = float(number)
        live.trade(price, size, taker)
        if side * (100.0 - price) < 0 or (price == 100.0 and taker == side):
            traded = []
        elif price == 100.0:
            traded = [queue.popleft() for _ in range(min(len(queue), int(size)))]
        else:
            queue = deque(unit for unit in queue if unit == "own")
            traded = [queue.popleft() for _ in range(min(len(queue), int(size)))]
        filled = traded.count("own")
        assert live.fills() == ([(float(filled), 100.0)] if filled else [])
