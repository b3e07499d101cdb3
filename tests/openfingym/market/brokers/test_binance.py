"""Binance's messages as reports and orders as signed requests; the vectors are those that the venue publishes."""

from __future__ import annotations

import json
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest

from openfingym.errors import FeedError
from openfingym.market.brokers.binance import Binance
from openfingym.market.brokers.binance_messages import instrument
from openfingym.market.brokers.broker import BrokerAnswer, FillQuery
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reports import BrokerExecution, Instrument, OrderReport, OrderState, Submitted
from openfingym.market.brokers.signing import encoded, signature, signed_fields, signed_query
from openfingym.market.commands import Instant
from openfingym.market.keys import Keys
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

D = Decimal
SECRET = "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j"
KEY = "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A"
AT = Instant(5, 1_499_827_319_559_000_000)
ITEM = Instrument("BTCUSDT", "BTC", "USDT", D("0.01"), D("0.00001"), D("0.00001"), D(5))


def broker() -> Binance:
    return Binance([ITEM, Instrument("ETHBTC", "ETH", "BTC")], Keys(KEY, SECRET))


def order(client="c1", quantity="1", price="100") -> Submitted:
    limit = D(price)
    gtc = TimeInForce.GTC
    return Submitted(client, "BTCUSDT", Side.BUY, D(quantity), OrderType.LIMIT, gtc, limit, None, limit, 0)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("LTCBTC", "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71"),
        ("１２３４５６", "e1353ec6b14d888f1164ae9af8228a3dbd508bc82eb867db8ab6046442f33ef3"),
    ],
)
def test_the_published_signatures_of_the_rest_interface(symbol, expected):
    fields = {
        "symbol": symbol,
        "side": "BUY",
        "type": "LIMIT",
        "timeInForce": "GTC",
        "quantity": "1",
        "price": "0.1",
        "recvWindow": "5000",
        "timestamp": "1499827319559",
    }
    assert signature(SECRET, encoded(fields)) == expected
    assert signed_query(SECRET, fields) == f"{encoded(fields)}&signature={expected}"


def test_the_published_signature_of_the_websocket_interface():
    fields = {
        "timeInForce": "GTC",
        "symbol": "BTCUSDT",
        "side": "SELL",
        "type": "LIMIT",
        "quantity": "0.01000000",
        "price": "52000.00",
        "recvWindow": "100",
        "timestamp": "1645423376532",
        "apiKey": KEY,
    }
    signed = signed_fields(SECRET, fields)
    assert signed["signature"] == "aa1b5712c094bc4e57c05a1a5c1fd8d88dcd628338ea863fec7b88e59fe2db24"


def test_an_order_is_a_signed_request_without_exponents():
    request = broker().place(order(quantity="0.00001", price="1E+5"), AT)
    assert request.method == "POST"
    query = {key: values[0] for key, values in parse_qs(urlsplit(request.path).query).items()}
    assert query["quantity"] == "0.00001"
    assert query["price"] == "100000"
    assert query["newClientOrderId"] == "c1"
    assert query["timestamp"] == "1499827319559"
    payload, _, sign = urlsplit(request.path).query.partition("&signature=")
    assert sign == signature(SECRET, payload)
    assert SECRET not in repr(request)


def test_a_clock_that_is_wrong_is_corrected():
    one = broker()
    refusal = one.refusal(BrokerAnswer(400, b'{"code":-1021,"msg":"Timestamp for this request is outside"}'), AT)
    assert refusal is not None
    assert (refusal.clock, refusal.certain) == (True, True)
    one.read_time(b'{"serverTime":1499827324559}', AT, AT)
    assert one.timestamp(AT) == "1499827324559"


def report(**changes) -> str:
    event = {
        "e": "executionReport", "E": 1, "s": "BTCUSDT", "c": "c1", "S": "BUY", "o": "LIMIT", "f": "GTC",
        "q": "1.00000000", "p": "100.00000000", "P": "0.00000000", "C": "", "x": "NEW", "X": "NEW", "r": "NONE",
        "i": 7, "l": "0", "z": "0", "L": "0", "n": "0", "N": None, "T": 1499405658657, "t": -1, "Z": "0", "I": 1,
    }  # fmt: skip
    return json.dumps({"subscriptionId": 0, "event": {**event, **changes}})


def trade(number, cumulative, quantity="0.5", price="100", order_id=7, client="c1", asset="BTC", fee="0.0005"):
    value = str(D(cumulative) * D(price))
    changes = {"x": "TRADE", "X": "PARTIALLY_FILLED", "t": number, "l": quantity, "z": cumulative, "L": price}
    return report(**changes, n=fee, N=asset, Z=value, i=order_id, c=client)


def told(mirror, frames):
    session = broker().session()
    for frame in frames:
        for one in session.received(frame):
            mirror.merge(one, AT)


def mirror() -> Mirror:
    return Mirror(broker().instruments.values(), cash="USDT", fee_assets=["BNB"])


def test_executions_are_told_once_and_their_fee_is_taken_from_the_asset_received():
    one = mirror()
    one.merge(order(), AT)
    told(one, [trade(1, "0.5"), trade(1, "0.5"), report(), trade(2, "1.0"), trade(1, "0.5")])
    assert one.position("BTCUSDT") == D("0.9990")
    assert one.cash == -100
    assert one.orders["c1"].state is OrderState.FILLED


def test_the_same_trade_number_of_two_orders_is_two_trades():
    one = mirror()
    one.merge(order(), AT)
    one.merge(order("c2"), AT)
    told(one, [trade(1, "0.5"), trade(1, "0.5", order_id=8, client="c2")])
    assert one.position("BTCUSDT") == D("0.9990")


def test_a_cancellation_carries_the_id_of_its_request_and_still_ends_the_order():
    one = mirror()
    one.merge(order(), AT)
    told(one, [trade(1, "0.5"), report(x="CANCELED", X="CANCELED", c="web_123", C="c1", z="0.5", Z="50"), report()])
    assert (one.orders["c1"].state, one.orders["c1"].filled) == (OrderState.CANCELLED, D("0.5"))
    assert not one.live
    assert len(one.orders) == 1


def test_fills_of_the_answer_of_the_stream_and_of_the_query_are_the_same_fills():
    one, venue = mirror(), broker()
    one.merge(order(), AT)
    answer = {
        "symbol": "BTCUSDT", "orderId": 7, "clientOrderId": "c1", "transactTime": 1507725176595, "price": "100",
        "origQty": "1", "executedQty": "1.0", "cummulativeQuoteQty": "100", "status": "FILLED", "timeInForce": "GTC",
        "type": "LIMIT", "side": "BUY",
        "fills": [
            {"price": "100", "qty": "0.5", "commission": "0.0005", "commissionAsset": "BTC", "tradeId": number}
            for number in (1, 2)
        ],
    }  # fmt: skip
    for report_ in venue.read_order(json.dumps(answer).encode()):
        one.merge(report_, AT)
    told(one, [trade(1, "0.5"), trade(2, "1.0")])
    fills = [
        {"symbol": "BTCUSDT", "id": number, "orderId": 7, "price": "100", "qty": "0.5", "commission": "0.0005",
         "commissionAsset": "BTC", "time": 1499865549590, "isBuyer": True}
        for number in (1, 2)
    ]  # fmt: skip
    found, more = venue.read_fills(FillQuery("BTCUSDT", "BTCUSDT/7"), json.dumps(fills).encode(), AT)
    for fill in found:
        one.merge(fill, AT)
    assert more is None
    assert one.position("BTCUSDT") == D("0.9990")
    assert one.cash == -100


def test_fills_since_a_time_are_asked_for_day_by_day_and_page_by_page():
    venue, day = broker(), 86_400 * 10**9
    query = FillQuery("BTCUSDT", since=AT.wall - day - 1)
    _, later = venue.read_fills(query, b"[]", AT)
    assert later == query._replace(since=AT.wall - 1)
    assert venue.read_fills(later, b"[]", AT)[1] is None
    fills = [
        {"symbol": "BTCUSDT", "id": number, "orderId": 7, "price": "100", "qty": "0.5", "commission": "0",
         "commissionAsset": "BNB", "time": 1499865549590, "isBuyer": True}
        for number in range(1000)
    ]  # fmt: skip
    _, more = venue.read_fills(query, json.dumps(fills).encode(), AT)
    assert more == query._replace(page="1000")
    assert "fromId=1000" in venue.ask_fills(more, AT).path


@pytest.mark.parametrize(
    ("status", "code", "text", "certain", "reason"),
    [
        (400, -2010, "Account has insufficient balance for requested action.", True, Reason.INSUFFICIENT_CASH),
        (400, -2010, "Duplicate order sent.", False, Reason.DUPLICATE_ID),
        (400, -1013, "Filter failure: LOT_SIZE", True, Reason.ODD_LOT),
        (400, -1013, "Filter failure: PRICE_FILTER", True, Reason.OFF_TICK),
        (400, -1121, "Invalid symbol.", True, Reason.UNKNOWN_SYMBOL),
        (400, -2011, "Unknown order sent.", True, Reason.NOT_OPEN),
        (504, -1007, "Timeout waiting for response from backend server.", False, Reason.VENUE_AWAY),
        (400, -1007, "Timeout waiting for response from backend server.", False, Reason.VENUE_AWAY),
        (0, 0, "", False, Reason.VENUE_AWAY),
        (429, -1003, "Too many requests.", True, Reason.VENUE_AWAY),
        (400, -2010, "Market is closed.", True, Reason.VENUE_REFUSED),
    ],
)
def test_what_refusals_mean(status, code, text, certain, reason):
    refusal = broker().refusal(BrokerAnswer(status, json.dumps({"code": code, "msg": text}).encode()), AT)
    assert refusal is not None
    assert (refusal.certain, refusal.reason) == (certain, reason)


def test_the_old_order_of_a_replacement_that_failed_halfway_is_known_to_be_cancelled():
    body = {"code": -2022, "data": {"cancelResponse": {
        "symbol": "BTCUSDT", "origClientOrderId": "c1", "orderId": 7, "clientOrderId": "x", "price": "100",
        "origQty": "1", "executedQty": "0", "cummulativeQuoteQty": "0", "status": "CANCELED", "timeInForce": "GTC",
        "type": "LIMIT", "side": "BUY"},
        "newOrderResponse": {"code": -2010, "msg": "insufficient balance"}}}  # fmt: skip
    [found] = broker().read_refused_replacement(json.dumps(body).encode())
    assert isinstance(found, OrderReport)
    assert (found.client_id, found.state) == ("c1", OrderState.CANCELLED)


def test_the_increments_of_a_symbol_come_from_its_filters():
    symbol = {"symbol": "BTCUSDT", "baseAsset": "BTC", "quoteAsset": "USDT", "filters": [
        {"filterType": "PRICE_FILTER", "tickSize": "0.01000000"},
        {"filterType": "LOT_SIZE", "minQty": "0.00001000", "stepSize": "0.00001000"},
        {"filterType": "NOTIONAL", "minNotional": "5.00000000"}]}  # fmt: skip
    assert instrument(symbol) == ITEM


def test_the_stream_is_asked_for_with_a_signature_and_says_when_it_ends():
    session = broker().session()
    session.opened(AT)
    params = json.loads(session.replies[0])["params"]
    assert params["signature"] == signature(SECRET, f"apiKey={KEY}&timestamp=1499827319559")
    session.received('{"id":"1","status":200,"result":{"subscriptionId":0}}')
    assert session.ready
    session.received('{"subscriptionId":0,"event":{"e":"balanceUpdate","E":1,"a":"BTC","d":"1","T":1}}')
    assert session.moved
    session.received('{"subscriptionId":0,"event":{"e":"eventStreamTerminated","E":1}}')
    assert (session.ready, session.over) == (False, True)


@pytest.mark.parametrize("frame", ["{", "[]", '{"event":{"e":"executionReport"}}', report(x="TRADE", z="BTC")])
def test_a_frame_that_is_not_of_the_protocol_is_told_without_its_values(frame):
    with pytest.raises(FeedError) as caught:
        broker().session().received(frame)
    assert "BTC" not in str(caught.value)


def test_the_wire_form_of_an_execution():
    [fill, state] = broker().session().received(trade(3, "0.5", fee="0.01", asset="BNB"))
    assert isinstance(fill, BrokerExecution)
    assert fill[:7] == ("BTCUSDT/7", "3", "BTCUSDT", Side.BUY, D("0.5"), D(100), 1499405658657 * 10**6)
    assert (fill.fee, fill.fee_asset) == (D("0.01"), "BNB")
    assert isinstance(state, OrderReport)
    assert (state.filled, state.cost) == (D("0.5"), D(50))
