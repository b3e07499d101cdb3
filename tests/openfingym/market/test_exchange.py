"""The simulated exchange: conservation, priority, equal seeds, and a comparison with the plainest matching there is."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import VenueError
from openfingym.market.sim.driver import drive
from openfingym.market.sim.events import ATOMS, Balance, BookChange, Event, ExchangeExecution, ExchangeTrade, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.flow import Crowd, TapeTrade

SECOND = 10**9
BTC = ListedPair("BTCUSDT", "BTC", "USDT", Decimal("0.1"), Decimal("0.001"))
ETH = ListedPair(
    "ETHBTC", "ETH", "BTC", Decimal("0.001"), Decimal("0.01"), fee_in_quote=True, maker_ppm=0, taker_ppm=2500
)
CROWD = Crowd(value=100, rate=20, depth=400, half_spread=100, orders=30)

PLACE = st.fixed_dictionaries(
    {
        "account": st.sampled_from(["ann", "bob"]),
        "symbol": st.sampled_from(["BTCUSDT", "ETHBTC"]),
        "side": st.sampled_from([1, -1]),
        "kind": st.sampled_from(["limit", "market", "stop", "stop_limit", "limit_maker"]),
        "quantity": st.integers(0, 60),
        "price": st.integers(94, 106),
        "stop": st.integers(94, 106),
        "time_in_force": st.sampled_from(["GTC", "IOC", "FOK"]),
        "client_id": st.sampled_from(["", "", "a", "b"]),
    }
)
ACTIONS = st.lists(
    st.one_of(
        PLACE,
        st.tuples(st.just("wait"), st.integers(0, SECOND)),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("reduce"), st.integers(0, 30), st.integers(1, 60)),
    ),
    max_size=30,
)


def exchange(crowds: bool = True, seed: int = 0) -> Exchange:
    made = Exchange([BTC, ETH], {"BTCUSDT": CROWD, "ETHBTC": CROWD} if crowds else None, seed=seed, start=0)
    for account in ("ann", "bob"):
        made.accounts.open(account)
        for asset, amount in (("BTC", 1), ("ETH", 2), ("USDT", 20)):
            made.deposit(account, asset, amount * ATOMS // 5)
    made.advance(5 * SECOND)
    return made


def terms(kind: str, action: dict[str, Any]) -> dict[str, Any]:
    """The action with the prices that its kind of order takes."""
    return action | {
        "price": action["price"] if kind in {"limit", "stop_limit", "limit_maker"} else None,
        "stop": action["stop"] if kind in {"stop", "stop_limit"} else None,
    }


def act(made: Exchange, action: Any) -> None:
    orders = list(made.orders.values())
    if isinstance(action, dict):
        made.place(**terms(action["kind"], action))
    elif action[0] == "wait":
        made.advance(made.now + action[1])
    elif orders and action[0] == "cancel":
        made.cancel(orders[action[1] % len(orders)])
    elif orders:
        made.reduce(orders[action[1] % len(orders)], action[2])


def assert_conserved(made: Exchange) -> None:
    for asset in ("BTC", "ETH", "USDT"):
        assert made.accounts.total(asset) == made.accounts.deposited[asset]
    for account in ("ann", "bob"):
        for asset, holding in made.accounts.holdings(account).items():
            assert holding.free >= 0
            locked = sum(
                order.hold * order.left
                for order in made.open_orders(account)
                if asset == (made.listings[order.symbol].quote if order.side > 0 else made.listings[order.symbol].base)
            )
            assert holding.locked == locked
    for book in made.books.values():
        bid, ask = book.best(1), book.best(-1)
        assert bid is None or ask is None or bid < ask
        for side in (1, -1):
            for price, total in book.levels(side):
                queue = book.queue(side, price)
                assert total == sum(order.left for order in queue)
                assert [order.number for order in queue] == sorted(order.number for order in queue)
    for order in made.orders.values():
        assert 0 <= order.filled <= order.quantity
        assert (order.status == "filled") == (order.filled == order.quantity and order.quantity > 0)
        assert order.open == (order in made.open_orders(order.account))
        if order.time_in_force == "FOK" and order.kind in {"market", "limit"}:
            assert order.filled in {0, order.quantity}


@given(ACTIONS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_money_and_units_are_conserved_and_the_book_is_never_crossed(actions: list[Any]) -> None:
    made = exchange()
    for action in actions:
        act(made, action)
        assert_conserved(made)


@given(ACTIONS, st.integers(0, 3))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_equal_seeds_give_equal_events_however_time_is_cut(actions: list[Any], seed: int) -> None:
    def events() -> list[Event]:
        made = exchange(seed=seed)
        found: list[Event] = []
        for action in actions:
            act(made, action)
            found += made.collect()
        return found + made.advance(40 * SECOND)

    assert events() == events()
    quiet = [[*exchange(seed=seed).advance(9 * SECOND)], []]
    pieces = exchange(seed=seed)
    for step in range(1, 41):
        quiet[1] += pieces.advance(5 * SECOND + step * SECOND // 10)
    assert quiet[0] == quiet[1]
    assert quiet[0] != exchange(seed=seed + 1).advance(9 * SECOND)


class Naive:
    """Price-time priority by looking at every resting order each time."""

    def __init__(self) -> None:
        self.resting: list[list[int]] = []  # number, side, price, left
        self.trades: list[tuple[int, int, int, int]] = []

    def place(self, number: int, side: int, price: int | None, left: int, rule: str) -> None:
        def fits(order: list[int]) -> bool:
            return order[1] == -side and (price is None or (price - order[2]) * side >= 0)

        if rule == "FOK" and sum(order[3] for order in self.resting if fits(order)) < left:
            return
        while left and any(map(fits, self.resting)):
            best = min(filter(fits, self.resting), key=lambda order: (order[2] * side, order[0]))
            traded = min(left, best[3])
            left -= traded
            best[3] -= traded
            self.trades.append((number, best[0], best[2], traded))
            if not best[3]:
                self.resting.remove(best)
        if left and price is not None and rule == "GTC":
            self.resting.append([number, side, price, left])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, -1]), st.integers(95, 105) | st.none(), st.integers(1, 20),
            st.sampled_from(["GTC", "GTC", "IOC", "FOK", "cancel"]),
        ),
        max_size=60,
    )
)  # fmt: skip
@settings(max_examples=150, deadline=None, derandomize=True)
def test_matching_is_that_of_the_plainest_transcription(orders: list[tuple[int, int | None, int, str]]) -> None:
    made, naive = Exchange([BTC], start=0), Naive()
    made.accounts.open("ann", margin=True)
    for side, price, quantity, rule in orders:
        if rule == "cancel":
            if naive.resting:
                gone = naive.resting.pop(quantity % len(naive.resting))
                assert made.cancel(made.orders["BTCUSDT", gone[0]])
            continue
        kind = "market" if price is None else "limit"
        terms = {"price": price, "time_in_force": rule}
        order = made.place("ann", "BTCUSDT", side, kind, quantity, **terms)  # type: ignore[arg-type]
        naive.place(order.id, side, price, quantity, rule)
    found = [event for event in made.collect() if isinstance(event, ExchangeTrade)]
    assert [(trade.taker_order, trade.maker_order, trade.price, trade.quantity) for trade in found] == naive.trades
    book = made.books["BTCUSDT"]
    resting = [order for side in (1, -1) for price, _ in book.levels(side) for order in book.queue(side, price)]
    assert sorted([order.number, order.side, order.price, order.left] for order in resting) == sorted(naive.resting)


def test_further_levels_follow_the_value_and_leave_the_rest_to_the_crowd() -> None:
    made, plain = (
        Exchange([BTC], {"BTCUSDT": Crowd(value=6e6, rate=20.0, far=far)}, seed=1, start=0) for far in (500, 0)
    )
    book, crowds = made.books["BTCUSDT"], plain.books["BTCUSDT"]
    moved = 0.0
    for second in range(0, 900, 60):
        made.advance(second * SECOND)
        plain.advance(second * SECOND)
        best, worst = book.best(1), book.best(-1)
        assert best is not None
        assert worst is not None
        assert best < worst
        moved = max(moved, abs(best - 6e6))
        assert abs(best - (crowds.best(1) or 0)) < 300  # half a basis point
        for side in (1, -1):
            prices = [price for price, _ in book.levels(side)]
            assert 500 <= len(prices) < 650
            # Standing orders are none that a crowd cancels, and lie from a few basis points away of the value on.
            crowd = {order.price for order in book.crowd}
            standing = [price for price in prices if price not in crowd]
            assert 3_000 < min(abs(price - best) for price in standing) < 12_000
    assert moved > 8_000  # the value has moved past levels that lay there at the beginning


def test_changes_and_trades_are_numbered_and_make_the_book() -> None:
    made = Exchange([BTC, ETH], {"BTCUSDT": CROWD, "ETHBTC": CROWD}, seed=5, start=0)
    events = made.advance(200 * SECOND)
    for symbol, book in made.books.items():
        changes = [event for event in events if isinstance(event, BookChange) and event.symbol == symbol]
        assert [change.update for change in changes] == list(range(1, book.update + 1))
        levels: dict[tuple[int, int], int] = {(change.side, change.price): change.quantity for change in changes}
        for side in (1, -1):
            assert dict(book.levels(side)) == {
                price: left for (at, price), left in levels.items() if at == side and left
            }
        trades = [event for event in events if isinstance(event, ExchangeTrade) and event.symbol == symbol]
        assert [trade.id for trade in trades] == list(range(1, book.trade + 1))
        assert len(trades) > 100
    assert [event.time for event in events] == sorted(event.time for event in events)


def test_reports_of_an_order_add_up() -> None:
    made = exchange()
    for symbol in made.listings:
        for side in (1, -1):
            for price in (95, 100, 105):
                made.place("ann", symbol, side, "limit", 30, price=price)
    events = made.advance(200 * SECOND)
    reports = [event for event in events if isinstance(event, ExchangeExecution)]
    assert [report.id for report in reports] == list(range(1, len(reports) + 1))
    assert any(report.maker for report in reports)
    for order in made.orders.values():
        fills = [report for report in reports if report.order is order and report.kind == "trade"]
        assert sum(fill.quantity for fill in fills) == order.filled
        assert [fill.filled for fill in fills] == sorted({fill.filled for fill in fills})
    balances = {(event.account, event.asset): event for event in events if isinstance(event, Balance)}
    assert balances
    for (account, asset), last in balances.items():
        assert made.accounts.holding(account, asset) == (last.free, last.locked)


def test_a_limit_maker_that_would_trade_a_second_client_id_and_more_than_there_is_are_refused() -> None:
    made = Exchange([BTC], start=0)
    for name, asset in (("ann", "BTC"), ("bob", "USDT")):
        made.accounts.open(name)
        made.deposit(name, asset, ATOMS)
    assert made.place("ann", "BTCUSDT", -1, "limit", 10, price=100, client_id="x").status == "new"
    assert made.place("ann", "BTCUSDT", -1, "limit", 10, price=100, client_id="x").reason == "duplicate-client-id"
    assert made.place("bob", "BTCUSDT", 1, "limit_maker", 10, price=100).reason == "would-match"
    assert made.place("bob", "BTCUSDT", 1, "limit", 1000, price=100).reason == "insufficient-balance"
    assert made.place("bob", "BTCUSDT", 1, "market", 1000).reason == "unfilled"
    assert made.place("ann", "BTCUSDT", -1, "limit", 991, price=100).reason == "insufficient-balance"
    with pytest.raises(VenueError, match=r"LTCBTC.*BTCUSDT"):
        made.place("ann", "LTCBTC", 1, "market", 1)
    with pytest.raises(VenueError, match="eve"):
        made.place("eve", "BTCUSDT", 1, "market", 1)


def test_a_stop_waits_until_its_price_trades() -> None:
    made = Exchange([BTC], start=0)
    for name in ("ann", "bob"):
        made.accounts.open(name, margin=True)
    stop = made.place("ann", "BTCUSDT", -1, "stop", 5, stop=95)
    limited = made.place("ann", "BTCUSDT", -1, "stop_limit", 5, stop=95, price=94)
    for price in (100, 95, 93):
        made.place("bob", "BTCUSDT", 1, "limit", 4, price=price)
    made.place("bob", "BTCUSDT", -1, "market", 4)
    assert (stop.working, stop.filled) == (False, 0)
    made.place("bob", "BTCUSDT", -1, "market", 1)
    assert (stop.status, stop.cost) == ("filled", (3 * 95 + 2 * 93) * BTC.value)
    assert (limited.status, limited.working, limited.filled) == ("new", True, 0)
    assert made.books["BTCUSDT"].best(-1) == 94


def test_a_tape_trades_as_it_did_unless_an_account_is_first() -> None:
    tape = [TapeTrade(SECOND * k, 100 + k % 3, 7, 1 if k % 2 else -1) for k in range(1, 40)]
    alone = Exchange([BTC], {"BTCUSDT": tape}, start=0)
    trades = [event for event in alone.advance(60 * SECOND) if isinstance(event, ExchangeTrade)]
    assert [(trade.time, trade.price, trade.quantity, trade.taker) for trade in trades] == tape
    made = Exchange([BTC], {"BTCUSDT": tape}, start=0)
    made.accounts.open("ann", margin=True)
    order = made.place("ann", "BTCUSDT", 1, "limit", 3, price=100)
    made.advance(60 * SECOND)
    assert (order.status, order.cost) == ("filled", 300 * BTC.value)


def test_a_book_forgets_the_levels_that_are_empty() -> None:
    made = Exchange([BTC], {"BTCUSDT": Crowd(value=1e6, rate=50, volatility=1e-3)}, start=0)
    made.advance(1200 * SECOND)
    book = made.books["BTCUSDT"]
    assert len(book.crowd) < 400
    assert max(len(levels) for levels in book._levels.values()) <= 2 * 400 + 256


def test_what_cannot_be_is_refused_with_words() -> None:
    with pytest.raises(VenueError, match="larger lot"):
        ListedPair("A", "B", "C", Decimal("0.0001"), Decimal("0.00001"))
    with pytest.raises(VenueError, match="far = -1"):
        Crowd(value=100, far=-1)
    with pytest.raises(VenueError, match="tail = 1"):
        Crowd(value=10, tail=1)
    with pytest.raises(VenueError, match="XRP"):
        Exchange([BTC], {"XRP": CROWD})


def test_an_exchange_follows_a_clock() -> None:
    class Fake:
        now = 0

        def monotonic(self) -> int:
            return self.now

        def wall(self) -> int:
            return 0

        async def sleep(self, seconds: float) -> None:
            self.now += int(seconds * SECOND)
            if self.now > 3 * SECOND:
                raise asyncio.CancelledError

    made = exchange()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(drive(made.advance, made.now, Fake(), speed=10, step_s=0.5))
    assert made.now == 35 * SECOND
