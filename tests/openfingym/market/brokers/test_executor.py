"""The executor against a venue in memory: what an agent sees of its orders, and every way in which a line fails."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from openfingym.market.brokers.broker import BrokerAnswer
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side, TimeInForce
from tests.openfingym.market.brokers.fake_alpaca import Line

D = Decimal
LIMIT, BUY, SELL = OrderType.LIMIT, Side.BUY, Side.SELL


def limit(side=BUY, quantity=5.0, price=100.0, client=None):
    return Order(0, side, quantity, LIMIT, price, client_id=client)


def kinds(executor):
    return [(event.kind, event.order_id, event.quantity, event.reason) for event in executor.events()]


def test_an_order_is_filled_in_parts():
    line = Line()
    executor = line.start()
    [number] = executor.submit([limit(client="mine")])
    assert [order.id for order in executor.open_orders()] == [number]
    assert executor.account().free_cash == 99500.0
    line.carry()
    [order] = line.venue.open()
    line.venue.fill(order, D(2), D(99))
    line.carry()
    assert executor.positions() == (2.0, 0.0)
    assert executor.account()[:3] == (99802.0, 100002.0, 99502.0)
    line.venue.fill(order, D(3), D(100))
    line.carry()
    assert [(e.quantity, e.price, e.client_id) for e in executor.events()] == [
        (2.0, 99.0, "mine"),
        (3.0, 100.0, "mine"),
    ]
    assert executor.open_orders() == ()
    assert executor.submit([limit(client="mine")]) == [number]
    assert executor.submit([limit(quantity=6.0, client="mine")]) == [0]
    line.assert_equal()


def test_an_account_is_valued_by_one_price_of_each_symbol():
    line = Line()
    executor = line.start()
    executor.submit([limit(side=SELL, quantity=7.0, price=60.1)])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(7), D("60.1"))
    line.carry()
    prices = iter(60.0 + 0.07 * number for number in range(1000))
    executor._price = lambda _: next(prices)  # the feed's thread changes it between any two looks
    for _ in range(100):
        account = executor.account()
        assert account.long == 0.0
        assert account.equity == pytest.approx(account.cash - account.short)


@pytest.mark.parametrize("lost", [False, True])
def test_fills_that_an_answer_tells_of_are_missing_only_if_the_stream_does_not_bring_them(lost):
    line = Line()
    executor = line.start()
    executor.submit([limit()])
    [placed] = [ask for ask in line.sent if ask.request.method == "POST"]
    line.sent.remove(placed)
    line.venue.answer(placed.request)
    [order] = line.venue.open()
    line.venue.fill(order, D(5), D(100))
    executor.answered(placed.question, BrokerAnswer(200, json.dumps(order).encode()), line.at)
    assert not [ask for ask in line.sent if "FILL" in ask.request.path]  # the stream has a moment to bring them
    if lost:
        line.venue.frames.clear()
    line.carry()
    line.wait(3)
    assert [tell.text for tell in executor.tells if tell.kind == "filled-gap"] == ["1 fills were missing"] * lost
    assert [kind for kind, *_ in kinds(executor)] == [EventKind.FILLED]
    line.assert_equal()


def test_a_partial_fill_then_a_cancellation():
    line = Line()
    executor = line.start()
    [number] = executor.submit([limit()])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(2), D(99))
    executor.cancel(number)
    line.carry()
    assert kinds(executor) == [
        (EventKind.FILLED, number, 2.0, Reason.NONE),
        (EventKind.CANCELLED, number, 3.0, Reason.NONE),
    ]
    executor.cancel(number)
    executor.cancel(99)
    assert [event.reason for event in executor.events()] == [Reason.NOT_OPEN, Reason.UNKNOWN_ORDER]
    line.assert_equal()


def test_a_replaced_order_keeps_its_number_and_gets_a_new_id():
    line = Line()
    executor = line.start()
    [number] = executor.submit([limit()])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(2), D(99))
    line.carry()
    executor.replace(number, limit_price=101.0)
    line.carry()
    [order] = line.venue.open()
    assert (order["id"], order["qty"], order["limit_price"]) == ("o2", "3", "101")
    [shown] = executor.open_orders()
    assert (shown.id, shown.remaining, shown.limit_price) == (number, 3.0, 101.0)
    line.venue.fill(order, D(3), D(101))
    line.carry()
    assert [kind for kind, *_ in kinds(executor)] == [EventKind.FILLED, EventKind.REPLACED, EventKind.FILLED]
    line.assert_equal()


def test_a_fill_wins_the_race_against_a_replacement():
    line = Line()
    executor = line.start()
    [number] = executor.submit([limit()])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(5), D(100))
    line.venue.frames.clear()  # and its message is lost
    executor.replace(number, quantity=7.0)
    line.carry()
    line.wait(6)
    events = executor.events()
    assert [event.kind for event in events] == [EventKind.REJECTED, EventKind.FILLED]
    assert {event.order_id for event in events} == {number}
    assert executor.open_orders() == ()
    line.assert_equal()


def test_a_lost_answer_is_looked_for_and_never_sent_again():
    line = Line()
    executor = line.start()
    line.lost = lambda request: request.method == "POST"
    line.streaming = False
    executor.submit([limit(quantity=1.0)])
    asks, line.sent[:] = list(line.sent), []
    line.venue.answer(asks[0].request)  # taken, and nothing comes back
    assert executor.mirror.held == 100
    line.wait(14)
    assert executor.open_orders()[0].remaining == 1.0
    assert executor.mirror.held == 100
    line.wait(4)
    assert line.venue.posts == 1
    assert next(iter(executor.mirror.live.values())).order_id == "o1"
    line.assert_equal()


def test_an_order_that_never_arrived_is_refused_in_the_end_and_not_sent_again():
    line = Line()
    executor = line.start()
    line.unheard = lambda request: request.method == "POST"
    [number] = executor.submit([limit()])
    line.carry()
    assert executor.mirror.held == 500
    line.wait(5)
    assert executor.mirror.held == 500
    assert executor.events() == []
    line.wait(30)
    assert kinds(executor) == [(EventKind.REJECTED, number, 5.0, Reason.VENUE_AWAY)]
    assert executor.mirror.held == 0
    assert line.venue.posts == 0


def test_an_order_that_is_cancelled_before_its_answer_is_cancelled_after_it():
    line = Line()
    executor = line.start()
    line.lost = lambda request: request.method == "POST"
    [number] = executor.submit([limit()])
    executor.cancel(number)
    line.carry()
    assert line.venue.open() == []
    line.assert_equal()


def test_a_missing_fill_shows_in_the_order_and_its_price_comes_from_the_activities():
    line = Line()
    executor = line.start()
    executor.submit([limit()])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(2), D(98))
    line.venue.frames.clear()
    line.venue.fill(line.venue.open()[0], D(1), D("97.5"))
    line.carry()
    assert executor.positions()[0] == 3.0
    line.wait(1)
    [order] = executor.mirror.live.values()
    assert not order.gap
    line.assert_equal()


def test_everything_that_happened_while_the_stream_was_away():
    line = Line()
    executor = line.start()
    numbers = executor.submit([limit(), limit(price=99.0), Order(1, BUY, 0.5)])
    line.carry()
    line.disconnect()
    assert executor.submit([limit()]) == [0]
    for order in line.venue.open():
        line.venue.fill(order, D(order["qty"]) / 2, D(99))
    line.venue.end(line.venue.orders["o2"], "canceled")
    line.venue.now += 90 * 10**9
    line.connect()
    line.carry()
    assert executor.ready
    assert executor.events()[0].reason is Reason.VENUE_AWAY
    assert [order.id for order in executor.open_orders()] == [numbers[0], numbers[2]]
    line.assert_equal()


def test_after_a_connection_the_questions_come_in_order_and_no_order_before_the_last_answer():
    line = Line()
    executor = line.start()
    executor.submit([limit()])
    line.carry()
    line.disconnect()
    line.venue.now += 90 * 10**9
    asked = []
    line.unheard = lambda request: asked.append((request.path.partition("?")[0], executor.ready)) or False
    line.connect()
    line.carry()
    assert asked[-4:] == [
        ("/v2/orders/o1", False),
        ("/v2/account/activities/FILL", False),
        ("/v2/account", False),
        ("/v2/positions", False),
    ]
    assert executor.ready


def test_dead_keys_stop_everything():
    line = Line()
    executor = line.start()
    executor.submit([limit()])
    line.venue.dead = True
    line.carry()
    line.wait(60)
    before = line.executor._dispatcher._questions
    line.wait(600)
    assert line.executor._dispatcher._questions == before
    assert [tell.kind for tell in executor.tells].count("refused") == 1
    assert executor.submit([limit()]) == [0]
    assert {event.reason for event in executor.events()} == {Reason.VENUE_REFUSED, Reason.VENUE_AWAY}


def test_a_venue_that_limits_us_is_left_alone_and_a_cancellation_is_kept():
    line = Line()
    executor = line.start()
    [number] = executor.submit([limit()])
    line.carry()
    line.venue.limited = 1
    executor.cancel(number)
    line.carry()
    asked = executor._dispatcher._questions
    line.wait(2)
    assert executor._dispatcher._questions == asked
    line.wait(3)
    assert executor.open_orders() == ()
    line.assert_equal()


def test_cancellations_go_before_orders_and_both_before_questions():
    line = Line()
    executor = line.start()
    numbers = executor.submit([limit(price=1.0, quantity=1.0) for _ in range(120)])
    line.carry()
    line.sent.clear()
    assert len(line.venue.open()) == 120
    executor.submit([limit(price=1.0, quantity=1.0) for _ in range(120)])
    placed = len(line.sent)
    assert placed < 70
    executor.cancel(numbers[0])
    assert line.sent[-1].request.method == "DELETE"
    line.carry()
    line.wait(120)
    assert executor.mirror.gaps == {}
    line.assert_equal()


def test_a_fee_in_the_coin_that_was_bought_reaches_the_position():
    line = Line()
    line.venue.coin_fee = D("0.0025")
    executor = line.start()
    executor.submit([Order(1, BUY, 1.0)])
    line.carry()
    line.venue.fill(line.venue.open()[0], D(1), D(100))
    line.carry()
    assert executor.positions()[1] == 1.0
    line.wait(9)
    assert executor.positions()[1] == 1.0
    line.wait(40)
    assert executor.positions()[1] == 0.9975
    assert [tell.kind for tell in executor.tells if tell.kind == "drift"] == ["drift", "drift"]
    line.assert_equal()


def test_a_fill_that_states_another_position_makes_us_ask_for_the_account():
    line = Line()
    executor = line.start()
    executor.submit([limit(), limit()])
    line.carry()
    line.wait(1)
    asked = []
    line.unheard = lambda request: asked.append(request.path) or False
    first, second = line.venue.open()
    line.venue.fill(first, D(5), D(100))
    line.carry()
    assert "/v2/positions" not in asked
    line.venue.held["AAPL"] += 3
    line.venue.fill(second, D(5), D(100))
    line.carry()
    assert "/v2/positions" in asked
    assert executor.positions()[0] == 10.0


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        (Order(7, BUY, 1.0), Reason.UNKNOWN_SYMBOL),
        (Order(0, BUY, 0.001), Reason.ODD_LOT),
        (Order(0, BUY, float("nan")), Reason.BAD_QUANTITY),
        (Order(0, BUY, 1.0, LIMIT), Reason.BAD_PRICE),
        (Order(0, BUY, 1.0, LIMIT, 0.001), Reason.OFF_TICK),
        (Order(0, BUY, 1.0, limit_price=5.0), Reason.BAD_PRICE),
        (Order(0, BUY, 5000.0), Reason.INSUFFICIENT_CASH),
        (Order(0, SELL, 5000.0), Reason.SHORT_CAP),
        ("an order", Reason.MALFORMED),
    ],
)
def test_what_can_be_known_here_is_refused_here(order, reason):
    line = Line()
    executor = line.start()
    assert executor.submit([order]) == [0]
    assert [event.reason for event in executor.events()] == [reason]
    assert line.venue.posts == 0


def test_a_pair_is_refused_and_the_text_says_what_to_do():
    line = Line()
    executor = line.start()
    pair = [limit(SELL, 5.0, 110.0), Order(0, SELL, 5.0, OrderType.STOP, stop_price=90.0)]
    assert executor.submit([order._replace(oco="exit") for order in pair]) == [0, 0]
    told = executor.events()
    assert [event.reason for event in told] == [Reason.BAD_PAIR] * 2
    assert all("not sent to a venue; send one of the two" in event.text for event in told)
    assert line.venue.posts == 0


def test_what_is_asked_for_is_rounded_to_the_venues_increments():
    line = Line()
    executor = line.start()
    executor.submit([Order(1, BUY, 0.1 + 0.2, LIMIT, 100.7), Order(1, SELL, 0.12345, LIMIT, 100.7)])
    line.carry()
    assert [(o["qty"], o["limit_price"]) for o in line.venue.orders.values()] == [("0.3", "100.5"), ("0.1234", "101")]


def test_an_immediate_order_that_is_not_filled_says_so():
    line = Line()
    executor = line.start()
    [number] = executor.submit([Order(0, BUY, 1.0, LIMIT, 100.0, time_in_force=TimeInForce.IOC)])
    line.carry()
    line.venue.end(line.venue.open()[0], "canceled")
    line.carry()
    assert kinds(executor) == [(EventKind.CANCELLED, number, 1.0, Reason.UNFILLED)]


def test_no_secret_is_ever_shown():
    line = Line()
    executor = line.start()
    executor.submit([limit()])
    shown = repr((executor.broker.rest(), executor.broker.stream(), line.sent, executor.tells, line.venue))
    shown += repr(vars(executor.broker)) + repr(vars(executor.session))
    assert "nobody-may-see" not in shown
    assert "the-key" not in shown
