"""Trading on paper in a live market: what each rule says, and what an agent may try against it."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from openfingym.errors import UsageError
from openfingym.market.commands import Instant
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.sim.events import ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.state import MarketState
from openfingym.market.ticks import Correction, Halt, Quote
from openfingym.trading.actions import Decision, Replacement
from openfingym.trading.executor import Executor
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, Reason
from tests.openfingym.market.paper.live import (
    ASKS,
    BEGIN,
    BIDS,
    BUY,
    CANCELLED,
    FILLED,
    IOC,
    REJECTED,
    SELL,
    STOP,
    STOP_LIMIT,
    Live,
    limit,
    market,
)


def opened(rules: MarketRules | None = None, **options: object) -> Live:
    live = Live(rules, **options)  # type: ignore[arg-type]
    live.wait(1)
    live.book()
    return live


def test_it_is_an_executor() -> None:
    executor: Executor = opened().paper
    assert executor.account().equity == 1e6


# Market orders


def test_a_market_order_walks_the_book_and_tells_what_it_cost_beside_the_mid() -> None:
    live = opened(MarketRules(fee_bps=10.0, fee_per_trade=1.0))
    assert live.order(market(BUY, 8.0)) == [1]
    [event] = live.events()
    price = (5 * 101.0 + 3 * 102.0) / 8
    assert (event.kind, event.quantity, event.price, event.order_id) == (FILLED, 8.0, price, 1)
    assert event.fee == pytest.approx(8 * price * 1e-3 + 1.0)
    assert event.slippage == pytest.approx(8 * (price - 100.0))
    assert live.paper.cash == pytest.approx(1e6 - 8 * price - event.fee)
    assert live.paper.positions() == (8.0,)
    assert live.paper.account().equity == pytest.approx(live.paper.cash + 800.0)  # at the mid


@pytest.mark.parametrize("side", [BUY, SELL])
def test_beyond_the_book_nothing_is_invented(side) -> None:
    live = opened()
    live.order(market(side, 200.0, time_in_force=IOC))
    filled, ended = live.events()
    assert (filled.quantity, ended.kind, ended.quantity, ended.reason) == (115.0, CANCELLED, 85.0, Reason.UNFILLED)
    assert live.paper.open_orders() == ()


def test_what_is_left_of_a_market_order_takes_what_the_venue_adds() -> None:
    live = opened()
    live.order(market(BUY, 120.0))
    assert [quantity for quantity, _ in live.fills()] == [115.0]
    live.book(asks=((103.0, 2.0),), bids=(), whole=False)
    assert live.fills() == [(2.0, 103.0)]
    live.book(asks=((101.0, 7.0),), bids=(), whole=False)  # 5 of them were taken
    assert live.fills() == [(2.0, 101.0)]
    assert live.paper.open_orders()[0].remaining == 1.0


def test_without_a_book_the_quote_fills_with_its_size() -> None:
    live = Live()
    live.quote(99.0, 101.0, 5.0)
    live.order(market(SELL, 7.0, time_in_force=IOC))
    assert live.fills() == [(5.0, 99.0)]


def test_a_quote_from_before_the_account_was_opened_counts_unless_the_connection_was_lost_since() -> None:
    state = MarketState(["S"])
    state.apply(Quote("S", 99.0, 5.0, 101.0, 5.0, BEGIN), Instant(0, 0))
    live = Live(state=state)
    live.order(market(BUY, 2.0))
    assert live.fills() == [(2.0, 101.0)]
    state.listener = None
    state.lost(["S"], live.at())
    live = Live(state=state)
    live.order(market(BUY, 2.0))
    assert live.reasons() == [Reason.STALE_PRICE]


def test_without_either_an_order_is_refused() -> None:
    live = Live()
    live.trade(100.0, 5.0)
    assert live.order(market(BUY, 1.0)) == [0]
    assert live.reasons() == [Reason.NO_PRICE]
    live.weights(0.5)
    assert live.reasons() == [Reason.NO_PRICE]


def test_a_newer_quote_stands_before_the_book() -> None:
    live = opened()
    live.wait(0.1)
    live.tell(Quote("S", 100.0, 1.0, 102.0, 3.0, live.time(), 9))
    live.order(market(BUY, 4.0), market(SELL, 2.0))
    assert live.fills() == [(4.0, (3 * 102.0 + 104.0) / 4), (2.0, 99.5)]


def test_the_walk_costs_what_it_costs_at_an_exchange() -> None:
    pair = ListedPair("S", "S", "USD")
    venue = Exchange([pair])
    for name in ("crowd", "agent"):
        venue.accounts.open(name)
        venue.deposit(name, "USD", 10**18)
        venue.deposit(name, "S", 10**18)
    unit = round(1 / float(pair.lot))
    for price, size in ASKS:
        venue.place("crowd", "S", -1, "limit", round(size) * unit, price=round(price * 100))
    for quantity in (1, 5, 8, 17, 90):
        live = Live(MarketRules(lot=0.00001))
        levels = tuple((price / 100, lots / unit) for price, lots in venue.books["S"].levels(-1))
        live.book(asks=levels)
        live.order(market(BUY, float(quantity), time_in_force=IOC))
        done = venue.place("agent", "S", 1, "market", quantity * unit)
        [(filled, price)] = live.fills()
        assert filled == pytest.approx(done.filled / unit)
        assert price == pytest.approx(done.cost / pair.value / done.filled / 100, rel=1e-12)
        if not venue.books["S"].levels(-1):
            break


# Attacks: prices that are none


def test_after_a_disconnect_nothing_trades_on_what_was_shown_before() -> None:
    live = opened()
    live.quote(99.0, 101.0)
    live.state.lost(["S"], live.at())
    assert live.order(market(BUY, 1.0)) == [0]
    assert live.reasons() == [Reason.STALE_PRICE]
    live.weights(1.0)
    assert live.reasons() == [Reason.STALE_PRICE]
    live.wait(0.1)
    live.quote(99.0, 103.0)  # the stream is back
    live.order(market(BUY, 1.0))
    assert live.fills() == [(1.0, 103.0)]


def test_what_is_older_than_its_budget_is_not_traded_on() -> None:
    live = opened()
    live.wait(5.1)
    assert live.order(market(BUY, 1.0)) == [0]
    assert live.reasons() == [Reason.STALE_PRICE]
    live.book()
    live.order(market(BUY, 9.0), market(BUY, 200.0))
    live.fills()
    live.wait(5.1)
    live.quote(99.0, 103.0, 1.0)
    assert live.fills() == [(1.0, 103.0)]  # the open order goes by the quote, which is fresh


def test_a_crossed_market_is_not_traded_on() -> None:
    live = opened()
    live.wait(0.1)
    live.tell(Quote("S", 103.0, 5.0, 102.5, 5.0, live.time(), 9))
    assert live.order(market(BUY, 1.0)) == [0]
    assert live.reasons() == [Reason.STALE_PRICE]


def test_a_market_order_while_halted_is_refused_and_a_resting_one_waits() -> None:
    live = opened()
    live.order(limit(BUY, 5.0, 100.0))
    live.tell(Halt("S", True, "news", live.time()))
    assert live.order(market(BUY, 1.0)) == [0]
    assert live.reasons() == [Reason.HALTED]
    live.wait(1)
    live.trade(90.0, 50.0)
    assert live.fills() == []
    live.tell(Halt("S", False, "", live.time()))
    live.wait(1)
    live.trade(90.0, 50.0)
    assert live.fills() == [(5.0, 100.0)]


def test_levels_that_trades_have_swept_are_gone_before_the_book_says_so() -> None:
    live = opened()
    live.wait(0.1)
    live.trade(102.0, 4.0, 1)
    live.order(market(BUY, 7.0, time_in_force=IOC))
    assert live.fills() == [(7.0, pytest.approx((6 * 102.0 + 104.0) / 7))]
    live.order(market(SELL, 1.0))  # bids are below the price that was paid
    assert live.fills() == [(1.0, 99.0)]
    live.wait(0.1)
    live.book()  # which has counted it in
    live.order(market(BUY, 1.0))
    assert live.fills() == [(1.0, 101.0)]


# Attacks: liquidity taken twice


@pytest.mark.parametrize("side", [BUY, SELL])
def test_many_small_orders_in_one_book_update_pay_as_one_large_one_does(side) -> None:
    one, many = opened(), opened()
    one.order(market(side, 20.0))
    many.order(*[market(side, 1.0) for _ in range(20)])
    [(_, price)] = one.fills()
    fills = many.fills()
    assert sum(quantity * price for quantity, price in fills) == pytest.approx(20 * price)
    many.order(*[market(side, 10.0, time_in_force=IOC) for _ in range(20)])
    assert sum(quantity for quantity, _ in many.fills()) == 95.0
    assert many.order(market(-side, 1.0)) != [0]  # the other side is whole
    assert many.fills() == [(1.0, 99.0 if side is BUY else 101.0)]


def test_a_level_that_flickers_is_not_new() -> None:
    live = opened()
    live.order(market(BUY, 5.0))
    for size in (4.99, 5.0, 5.0):
        live.book(asks=((101.0, size), *ASKS[1:]))
    live.order(market(BUY, 1.0))  # a hundredth of it was added
    assert [price for _, price in live.fills()] == [101.0, pytest.approx(0.01 * 101.0 + 0.99 * 102.0)]
    live.book(asks=ASKS[1:])
    live.book()  # it ended, and is there again
    live.order(market(BUY, 5.0))
    assert live.fills() == [(5.0, 101.0)]


def test_a_limit_order_takes_no_level_twice_either() -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 101.0), limit(BUY, 4.0, 101.0), limit(BUY, 4.0, 102.0))
    assert live.fills() == [(4.0, 101.0), (1.0, 101.0), (4.0, 102.0)]
    assert [order.remaining for order in live.paper.open_orders()] == [3.0]


# Limit orders


def test_the_queue_at_the_price_goes_first() -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 99.0))
    live.wait(1)
    live.trade(99.0, 3.0, -1)
    live.trade(99.0, 7.0, 1)  # buyers take nothing from the queue of buyers
    assert live.fills() == []
    live.trade(99.0, 4.0, -1)
    assert live.fills() == [(2.0, 99.0)]
    live.book(bids=((99.0, 50.0), *BIDS[1:]))  # others come behind
    live.trade(99.0, 1.0, -1)
    assert live.fills() == [(1.0, 99.0)]
    live.wait(1)
    live.trade(98.9, 30.0, -1)
    assert live.fills() == [(1.0, 99.0)]
    assert live.paper.open_orders() == ()


def test_cancellations_ahead_are_not_counted() -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 99.0))
    live.wait(1)
    live.book(bids=((99.0, 1.0), *BIDS[1:]))
    live.trade(99.0, 5.0, -1)
    assert live.fills() == []


def test_a_price_beyond_what_is_shown_has_an_unknown_queue() -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 95.0))
    live.wait(1)
    live.trade(95.0, 1000.0, -1)
    assert live.fills() == []
    live.book(bids=((95.0, 2.0),))
    live.trade(95.0, 5.0, -1)  # may be what the book has counted in already
    assert live.fills() == []
    live.wait(1)
    live.trade(95.0, 5.0, -1)
    assert live.fills() == [(3.0, 95.0)]


def test_own_orders_share_a_trade_by_price_and_then_by_time() -> None:
    live = opened()
    live.order(limit(BUY, 2.0, 99.5), limit(BUY, 2.0, 99.6), limit(BUY, 2.0, 99.6), limit(SELL, 2.0, 100.0))
    live.wait(1)
    live.trade(99.5, 5.0, -1)
    assert [(event.order_id, event.quantity) for event in live.events()] == [(2, 2.0), (3, 2.0), (1, 1.0)]
    live.trade(100.5, 1.0, 1)
    assert live.fills() == [(1.0, 100.0)]


def test_orders_that_cross_each_other_do_not_trade_with_each_other_and_share_a_trade() -> None:
    live = opened()
    live.order(limit(BUY, 5.0, 100.4), limit(SELL, 5.0, 99.6))
    assert live.fills() == []
    live.wait(1)
    live.trade(100.0, 7.0, -1)
    assert live.fills() == [(5.0, 100.4), (2.0, 99.6)]


@pytest.mark.parametrize("latency_s", [0.0, 0.5])
def test_an_order_is_filled_by_no_trade_from_before_it_was_at_the_venue(latency_s) -> None:
    live = opened(latency_s=latency_s)
    live.trade(98.0, 50.0)
    live.wait(1)
    live.order(limit(BUY, 5.0, 100.0))
    last = live.trade(98.0, 50.0, seconds=2.0 + latency_s)  # at the same instant is not after it
    live.tell(last)
    live.trade(98.0, 50.0, seconds=1.5)  # late
    assert live.fills() == []
    live.wait(1)
    live.tell(last)  # and once more
    assert live.fills() == []
    live.trade(98.0, 2.0)
    assert live.fills() == [(2.0, 100.0)]


def test_what_fills_a_gap_counts_from_the_order_on() -> None:
    live = opened()
    live.trade(100.0, 1.0)
    live.state.lost(["S"], live.at())
    before = live.missed(98.0, 50.0, 1.5)
    live.wait(1)
    live.order(limit(BUY, 5.0, 100.0))  # nothing is shown: it rests, and its queue is not known
    live.wait(2)
    at_limit, after = live.missed(100.0, 50.0, 2.5), live.missed(99.9, 3.0, 3.0)
    live.state.filled("S", [before, at_limit, after], live.at())
    assert live.fills() == [(3.0, 100.0)]
    live.state.filled("S", [before, at_limit, after], live.at())
    assert live.fills() == []


def test_trades_without_a_price_of_their_own_and_corrected_ones_do_not_fill() -> None:
    live = opened()
    live.order(limit(BUY, 5.0, 100.0))
    live.wait(1)
    odd = live.missed(90.0, 50.0, 2.0)
    live.tell(odd._replace(prices=False))
    void = live.missed(90.0, 50.0, 2.0)
    live.tell(Correction("S", void.id, "", None))
    live.tell(void)
    assert live.fills() == []


@pytest.mark.parametrize("hair", [1e-9, 1.4e-14])
def test_a_price_a_hair_better_does_not_pass_the_queue(hair) -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 99.0 + hair), limit(BUY, 4.0, 90.0))
    live.paper.decide(Decision(replaces=(Replacement(2, limit_price=99.0 + hair),)), live.at())
    live.wait(1)
    live.trade(99.0, 4.0, -1)
    assert live.fills() == []
    assert [order.limit_price for order in live.paper.open_orders()] == [99.0, 99.0]
    live.paper.decide(Decision(replaces=(Replacement(2, limit_price=99.001),)), live.at())
    assert live.reasons() == [Reason.OFF_TICK]


def test_a_replacement_keeps_the_place_only_where_it_asks_for_less() -> None:
    live = opened()
    live.order(limit(BUY, 4.0, 99.0), limit(BUY, 4.0, 99.0))
    live.wait(1)
    live.trade(99.0, 5.0, -1)
    live.paper.decide(Decision(replaces=(Replacement(1, quantity=2.0), Replacement(2, quantity=5.0))), live.at())
    live.wait(1)
    live.trade(99.0, 4.0, -1)
    assert [(event.order_id, event.quantity) for event in live.events() if event.kind is FILLED] == [(1, 2.0)]
    live.paper.decide(Decision(replaces=(Replacement(2, limit_price=101.0),)), live.at())
    assert live.fills() == [(5.0, 101.0)]


def test_immediate_or_cancel() -> None:
    live = opened()
    live.order(limit(BUY, 9.0, 101.0, time_in_force=IOC), Order(0, BUY, 1.0, STOP, stop_price=150.0, time_in_force=IOC))
    filled, ended, stop = live.events()
    assert (filled.quantity, ended.quantity, ended.reason, stop.reason) == (5.0, 4.0, Reason.UNFILLED, Reason.UNFILLED)


# Stop orders


def test_a_stop_order_takes_the_book_once_a_trade_has_reached_it() -> None:
    live = opened()
    live.order(Order(0, SELL, 8.0, STOP, stop_price=98.5))
    live.wait(1)
    live.trade(98.6, 1.0)
    assert live.events() == []
    live.trade(98.4, 1.0)
    kinds = [event.kind for event in live.events()]
    assert kinds == [EventKind.TRIGGERED, FILLED]
    assert live.paper.positions()[0] < 0


def test_a_stop_limit_order_waits_at_its_limit() -> None:
    live = opened()
    live.order(Order(0, BUY, 8.0, STOP_LIMIT, 101.0, 100.5))
    live.wait(1)
    live.trade(100.6, 50.0)
    assert live.fills() == [(5.0, 101.0)]
    live.wait(1)
    live.trade(100.9, 1.0)
    assert live.fills() == [(1.0, 101.0)]


def test_a_stop_behind_the_last_trade_triggers_at_once_unless_that_is_old() -> None:
    live = opened()
    live.trade(100.0, 1.0)
    live.order(Order(0, BUY, 1.0, STOP, stop_price=99.0))
    assert live.fills() == [(1.0, 101.0)]
    live.wait(6)
    live.book()
    live.order(Order(0, BUY, 1.0, STOP, stop_price=99.0))
    assert live.events() == []


def pair(quantity: float = 10.0, limit_price: float = 103.0, stop_price: float = 97.0) -> list[Order]:
    return [
        limit(SELL, quantity, limit_price, oco="exit"),
        Order(0, SELL, quantity, STOP, stop_price=stop_price, oco="exit"),
    ]


def holding() -> Live:
    """An account that holds 10 and may not be short, a second later."""
    live = opened(MarketRules(max_short=0.0))
    live.order(Order(0, BUY, 10.0))
    live.wait(1)
    live.book()
    live.events()
    return live


def test_of_a_pair_a_stop_cancels_the_limit_order() -> None:
    live = holding()
    assert live.order(*pair()) == [2, 3]
    assert [order.other for order in live.paper.open_orders()] == [3, 2]
    live.wait(1)
    live.trade(96.9, 1.0)
    kinds = [(event.kind, event.order_id, event.reason) for event in live.events()]
    assert kinds == [
        (EventKind.TRIGGERED, 3, Reason.NONE),
        (FILLED, 3, Reason.NONE),
        (CANCELLED, 2, Reason.PAIR_ENDED),
    ]
    assert (live.paper.positions(), live.paper.open_orders()) == ((0.0,), ())


def test_of_a_pair_a_partial_fill_leaves_the_stop_for_the_rest() -> None:
    live = holding()
    live.order(*pair())
    live.wait(1)
    live.trade(103.5, 4.0)
    assert [(event.kind, event.order_id, event.quantity) for event in live.events()] == [
        (FILLED, 2, 4.0),
        (EventKind.ADJUSTED, 3, 6.0),
    ]
    live.wait(1)
    live.trade(96.0, 1.0)
    assert live.fills() == [(6.0, 96.0)]
    assert (live.paper.positions(), live.paper.open_orders()) == ((0.0,), ())


def test_of_a_pair_what_trades_at_once_cancels_the_other() -> None:
    live = holding()
    live.order(*pair(limit_price=98.0))
    assert [(event.kind, event.order_id) for event in live.events()] == [(FILLED, 2), (CANCELLED, 3)]
    assert (live.paper.positions(), live.paper.open_orders()) == ((0.0,), ())


def test_of_a_pair_both_at_their_limits_one_trade_fills_one() -> None:
    live = holding()
    live.order(pair()[0], Order(0, SELL, 10.0, STOP_LIMIT, 101.5, 99.5, oco="exit"))
    live.wait(1)
    live.trade(99.0, 1.0)  # triggers the stop, whose limit waits
    live.wait(1)
    live.trade(104.0, 100.0)
    assert live.fills() == [(10.0, 101.5)]
    assert (live.paper.positions(), live.paper.open_orders()) == ((0.0,), ())


def test_a_pair_is_part_of_what_later_fills_depend_on() -> None:
    apart, together = holding(), holding()
    first, second = pair(5.0)
    apart.order(first._replace(oco=None), second._replace(oco=None))
    together.order(first, second)
    assert [order[:10] for order in apart.paper.open_orders()] == [order[:10] for order in together.paper.open_orders()]
    assert apart.paper.digest() != together.paper.digest()


# The account


def test_cash_and_short_cap_hold_at_the_fill() -> None:
    live = opened(cash=1000.0)
    assert live.order(market(BUY, 9.0)) == [1]  # 900 at the mid, and 913 at the levels
    live.order(market(BUY, 1.0))
    assert [event.reason for event in live.events()] == [Reason.NONE, Reason.INSUFFICIENT_CASH]
    live = opened(cash=1000.0)
    live.order(market(SELL, 10.0), market(SELL, 11.0))
    assert {event.reason for event in live.events() if event.kind is REJECTED} == {Reason.SHORT_CAP}
    assert live.paper.cash >= 0.0


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        (market(BUY, nan), Reason.BAD_QUANTITY),
        (market(BUY, inf), Reason.BAD_QUANTITY),
        (market(BUY, -1.0), Reason.BAD_QUANTITY),
        (market(BUY, 0.5), Reason.ODD_LOT),
        (limit(BUY, 1.0, nan), Reason.BAD_PRICE),
        (limit(BUY, 1.0, inf), Reason.BAD_PRICE),
        (limit(BUY, 1.0, 99.001), Reason.OFF_TICK),
        (Order(7, BUY, 1.0), Reason.UNKNOWN_SYMBOL),
        (Order(0, 3, 1.0), Reason.MALFORMED),  # type: ignore[arg-type]
        ("all of it", Reason.MALFORMED),
    ],
)
def test_what_is_no_order_is_refused_and_changes_nothing(order, reason) -> None:
    live = opened()
    live.order()
    before = live.paper.digest()
    assert live.order(order) == [0]
    assert live.reasons() == [reason]
    assert live.paper.digest() == before


def test_client_ids() -> None:
    live = opened()
    order = limit(BUY, 1.0, 90.0, client_id="a")
    assert live.order(order) == live.order(order) == [1]
    assert live.order(order._replace(quantity=2.0)) == [0]
    assert live.reasons() == [Reason.DUPLICATE_ID]
    live.paper.cancel(1)
    live.paper.cancel(1)
    live.paper.cancel(2)
    assert [event.reason for event in live.events()] == [Reason.NONE, Reason.NOT_OPEN, Reason.UNKNOWN_ORDER]


def test_weights_trade_at_the_levels_as_far_as_cash_goes() -> None:
    live = Live(MarketRules(fee_bps=10.0), symbols=("S", "T"), cash=10_000.0)
    live.book()
    live.book(symbol="T")
    live.weights(0.0, 1.0)
    assert [(event.symbol, event.quantity) for event in live.events()] == [(1, 96.0)]
    assert 0.0 <= live.paper.cash < 2 * 104.0
    live.wait(0.1)
    live.book()
    live.book(symbol="T")
    live.weights(0.3, 0.3)  # sales first
    assert [(event.symbol, event.side) for event in live.events()] == [(1, -1), (0, 1)]
    live.weights(nan, 0.0)
    live.weights(2.0, 0.0)
    assert live.reasons() == [Reason.BAD_WEIGHTS] * 2


def test_weights_beyond_the_book_say_what_was_left() -> None:
    live = opened(cash=100_000.0)
    live.weights(1.0)
    filled, left = live.events()
    assert (filled.quantity, left.kind, left.quantity, left.order_id) == (115.0, CANCELLED, 885.0, 0)


def test_a_mark_ends_an_interval_and_borrowing_is_paid_by_time() -> None:
    rules = MarketRules(borrow_bps_per_year=1e4, bars_per_year=100.0)
    live = opened(rules)
    live.order(market(SELL, 5.0))
    live.wait(30)
    live.book()
    first = live.paper.mark_to_market(live.at())
    assert first.cost == pytest.approx(5.0 + 0.5 * 0.01 * 500.0)
    assert (first.traded, first.short, first.long) == (495.0, 500.0, 0.0)
    assert first.equity == pytest.approx(1e6 - first.cost)
    assert live.paper.mark_to_market(live.at()) == first._replace(traded=0.0, cost=0.0)
    assert live.paper.row == 2


def test_a_bankrupt_account_trades_no_more() -> None:
    live = opened(cash=1000.0)
    live.order(market(SELL, 9.0), limit(SELL, 1.0, 150.0))
    live.wait(1)
    live.book(bids=((399.0, 5.0),), asks=((401.0, 5.0),))
    assert live.paper.mark_to_market(live.at()).equity == 0.0
    live.events()
    assert live.order(market(BUY, 1.0)) == [0]
    live.weights(0.5)
    assert live.reasons() == [Reason.BANKRUPT] * 2
    assert live.paper.open_orders() == ()


def test_marks_are_mids_and_otherwise_the_last_trade() -> None:
    live = opened()
    live.order(market(BUY, 5.0))
    live.wait(6)
    assert live.paper.mark_to_market(live.at()).long == 500.0  # nothing newer is known
    live.trade(90.0, 1.0)
    assert live.paper.mark_to_market(live.at()).long == 450.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"symbols": ()},
        {"symbols": ("S", "S")},
        {"symbols": ("U",)},
        {"cash": nan},
        {"cash": 0.0},
        {"interval_s": 0.0},
        {"latency_s": -1.0},
        {"ticks": [0.0]},
        {"ticks": [nan]},
        {"ticks": [0.1, 0.1]},
        {"ticks": None},
    ],
)
def test_an_account_that_cannot_be_opened(wrong) -> None:
    right = {"symbols": ("S",), "cash": 1.0, "interval_s": 1.0, "latency_s": 0.0, "ticks": [0.01]}
    state, at = MarketState(["S"]), Live().at()
    with pytest.raises(UsageError, match="the paper engine cannot"):
        PaperExecutor(MarketRules(), state, at=at, venue_time=lambda _: BEGIN, **{**right, **wrong})
    PaperExecutor(MarketRules(), state, at=at, venue_time=lambda _: BEGIN, **right)


def test_the_rules_of_bars_do_not_bound_fills() -> None:
    live = opened(replace(MarketRules(), max_participation=0.1, impact=1.0, slippage_bps=50.0))
    live.order(market(BUY, 5.0))
    assert live.fills() == [(5.0, 101.0)]
