"""Alpaca's messages as reports, in the exact form in which the venue sends them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from openfingym.errors import FeedError
from openfingym.market.brokers.alpaca import Alpaca
from openfingym.market.brokers.alpaca_messages import instrument, nanoseconds, order_report
from openfingym.market.brokers.broker import BrokerAnswer
from openfingym.market.brokers.reports import BrokerExecution, Bust, Instrument, OrderState, ReportSource
from openfingym.market.commands import Instant
from openfingym.market.keys import Keys
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

D = Decimal
AT = Instant(0, 1_700_000_000 * 10**9)
ORDER = json.loads("""{"asset_class":"crypto","asset_id":"1cf35270","cancel_requested_at":null,"canceled_at":null,
"client_order_id":"4642fd68","created_at":"2022-04-19T13:45:04.981350886-04:00","expired_at":null,
"extended_hours":false,"failed_at":null,"filled_at":"2022-04-19T17:45:05.024916716Z","filled_avg_price":"105.8988475",
"filled_qty":"1790.86","hwm":null,"id":"a5be8f5e","legs":null,"limit_price":null,"notional":null,"order_class":"",
"order_type":"market","qty":"1790.86","replaced_at":null,"replaced_by":null,"replaces":null,"side":"sell",
"status":"filled","stop_price":null,"symbol":"SOLUSD","time_in_force":"gtc","trail_percent":null,"type":"market"}""")
FILL = {"event": "fill", "execution_id": "2f63ea93", "order": ORDER, "position_qty": "0", "price": "105.8988475",
        "qty": "1790.86", "timestamp": "2022-04-19T17:45:05.024916716Z"}  # fmt: skip


def broker() -> Alpaca:
    return Alpaca([Instrument("SOL/USD", "SOLUSD", "USD"), Instrument("AAPL", "AAPL", "USD")], Keys("k", "s"))


def frame(data, stream="trade_updates") -> bytes:
    return json.dumps({"stream": stream, "data": data}).encode()


def test_a_fill_comes_before_the_order_that_includes_it():
    [fill, order] = broker().session().received(frame(FILL))
    assert isinstance(fill, BrokerExecution)
    assert (fill.symbol, fill.side, fill.quantity, fill.price) == ("SOL/USD", Side.SELL, D("1790.86"), D("105.8988475"))
    assert (fill.client_id, fill.time, fill.source) == ("4642fd68", 1650390305024916716, ReportSource.STREAM)
    assert order[:7] == (
        "a5be8f5e",
        "4642fd68",
        "SOL/USD",
        Side.SELL,
        D("1790.86"),
        D("1790.86"),
        fill.quantity * fill.price,
    )
    assert order[7:10] == (OrderState.FILLED, OrderType.MARKET, TimeInForce.GTC)


def test_a_fill_of_the_activities_is_the_same_fill():
    activity = {"activity_type": "FILL", "id": "20220202135509981::2d7be4ff", "type": "fill", "symbol": "SOL/USD",
                "side": "sell", "qty": "1790.860", "price": "105.9", "cum_qty": "1790.86", "leaves_qty": "0",
                "order_id": "a5be8f5e", "order_status": "filled",
                "transaction_time": "2022-02-02T18:55:09.981482Z"}  # fmt: skip
    [found], more = broker().read_fills(broker().fills_since(0)[0], json.dumps([activity]).encode(), AT)
    [streamed, _] = broker().session().received(frame(FILL))
    assert found.slot == streamed.slot
    assert (found.id, found.source, more) == ("2d7be4ff", ReportSource.ACTIVITY, None)


def test_a_bust_names_the_execution_it_takes_back():
    session = broker().session()
    told = session.received(
        frame({**FILL, "event": "trade_bust", "previous_execution_id": "2f63ea93", "execution_id": "y"})
    )
    assert told[0] == Bust("a5be8f5e", "2f63ea93", ReportSource.STREAM)


@pytest.mark.parametrize(
    ("status", "state"),
    [("new", OrderState.OPEN), ("pending_new", OrderState.PENDING), ("partially_filled", OrderState.OPEN),
     ("canceled", OrderState.CANCELLED), ("done_for_day", OrderState.OPEN), ("pending_cancel", OrderState.OPEN),
     ("replaced", OrderState.REPLACED),
     ("rejected", OrderState.REJECTED), ("expired", OrderState.EXPIRED), ("a word of tomorrow", OrderState.OPEN)],
)  # fmt: skip
def test_states(status, state):
    assert order_report({**ORDER, "status": status}, str).state is state


def test_holdings_are_cash_and_signed_positions_and_nothing_where_none_is_stated():
    positions = [{"symbol": "SOLUSD", "qty": "2.5", "side": "long"}, {"symbol": "MSFT", "qty": "1", "side": "long"}]
    assert broker().read_account(1, json.dumps(positions).encode(), 7) == ({"SOLUSD": D("2.5"), "AAPL": D(0)}, 7)
    short = [{"symbol": "AAPL", "qty": "-3", "side": "short"}]
    assert broker().read_account(1, json.dumps(short).encode(), 7).totals["AAPL"] == -3
    assert broker().read_account(0, b'{"cash":"-23140.2","equity":"1"}', 7) == ({"USD": D("-23140.2")}, 7)


@pytest.mark.parametrize(
    ("status", "message", "certain", "reason"),
    [
        (403, "insufficient buying power", True, Reason.INSUFFICIENT_CASH),
        (403, "insufficient qty available for order (requested: 1, available: 0)", True, Reason.SHORT_CAP),
        (422, "invalid limit_price 1.234. sub-penny increment does not fulfill minimum", True, Reason.OFF_TICK),
        (422, "asset ZZZZ not found", True, Reason.UNKNOWN_SYMBOL),
        (403, "wash trade detected", True, Reason.VENUE_REFUSED),
        (422, "client_order_id must be unique", False, Reason.DUPLICATE_ID),
        (504, "", False, Reason.VENUE_AWAY),
        (500, "internal", False, Reason.VENUE_AWAY),
        (0, "", False, Reason.VENUE_AWAY),
        (429, "too many requests.", True, Reason.VENUE_AWAY),
    ],
)
def test_what_refusals_mean(status, message, certain, reason):
    refusal = broker().refusal(BrokerAnswer(status, json.dumps({"message": message}).encode()), AT)
    assert refusal is not None
    assert (refusal.certain, refusal.reason, refusal.fatal) == (certain, reason, False)


def test_how_long_to_wait_is_stated_as_a_time():
    limited = BrokerAnswer(429, b"", {"x-ratelimit-reset": "1700000007"})
    refusal = broker().refusal(limited, AT)
    assert refusal is not None
    assert refusal.wait_s == 7.0


def test_keys_that_are_refused_are_of_no_more_use():
    session = broker().session()
    session.received(frame({"status": "unauthorized", "action": "authenticate"}, "authorization"))
    assert session.refusal is not None
    assert session.refusal.fatal
    refusal = broker().refusal(BrokerAnswer(401, b"{}"), AT)
    assert refusal is not None
    assert refusal.fatal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("2022-04-19T13:45:04.98135088-04:00", 1650390304981350880),
        ("2022-04-19T17:45:05.024916716Z", 1650390305024916716),
    ],
)
def test_times_are_exact_to_the_nanosecond(text, expected):
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("bad", [b"{", b"[]", b"{}", frame({"event": "fill"}), frame({**FILL, "qty": "secret"})])
def test_a_frame_that_is_not_of_the_protocol_is_told_without_its_values(bad):
    with pytest.raises(FeedError) as caught:
        broker().session().received(bad)
    assert "secret" not in str(caught.value)


def test_an_instrument_of_an_asset():
    coin = {"symbol": "BTC/USD", "class": "crypto", "price_increment": "1", "min_trade_increment": "0.0001",
            "min_order_size": "0.0002"}  # fmt: skip
    assert instrument(coin) == Instrument("BTC/USD", "BTCUSD", "USD", D(1), D("0.0001"), D("0.0002"))
    assert instrument({"symbol": "AAPL", "class": "us_equity"}).quantity_increment == 1
