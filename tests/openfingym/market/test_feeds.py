"""Adapters: what they read of the venues' documented messages, what they ask, and what they make of nonsense."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import FeedError, UsageError
from openfingym.market.feed import Frame
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.feeds.reading import rfc3339, rfc3339_text
from openfingym.market.keys import Keys
from openfingym.market.ticks import Correction, Depth, Halt, Message, Quote, Refused, ServerBar, Trade

MINUTE = 60 * 1_000_000_000
KEYS = Keys("PK", "hush")


def alpaca(text: str, *, feed: str = "iex", symbols: tuple[str, ...] = ("AAPL",), lot: float = 1.0) -> list[Message]:
    return list(AlpacaFeed(symbols, KEYS, feed=feed, lot=lot).session().received(text))  # type: ignore[arg-type]


def binance(data: dict[str, object], symbol: str = "BNBBTC") -> list[Message]:
    return list(BinanceFeed([symbol]).session().received(json.dumps({"stream": "any", "data": data})))


@given(st.integers(0, 4_102_444_800 * 10**9), st.integers(0, 9))
def test_times_are_exact_to_the_nanosecond(time: int, digits: int) -> None:
    text = rfc3339_text(time)
    assert rfc3339(text) == time
    whole, fraction = text[:-1].split(".")
    cut = f"{whole}.{fraction[:digits]}Z" if digits else f"{whole}Z"
    assert rfc3339(cut) == time // 10 ** (9 - digits) * 10 ** (9 - digits)
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    assert rfc3339(text) // 10**9 == seconds
    assert rfc3339(f"{whole}.{fraction}-04:00") == time + 4 * 3600 * 10**9


@pytest.mark.parametrize(
    "text",
    ["", "Z", "2021-02-22", "2021-02-22T15:51:44.Z", "2021-02-22T15:51:44.1_0Z", "2021-02-22T15:51:44.1234567890Z"],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        rfc3339(text)


def test_binance_messages() -> None:
    found = binance(
        {"e": "trade", "E": 1, "s": "BNBBTC", "t": 12345, "p": "0.001", "q": "100", "T": 1672515782136, "m": True}
    )
    assert found == [Trade("BNBBTC", 12345, 0.001, 100.0, 1672515782136 * 10**6, -1)]
    quote = {"u": 400900217, "s": "BNBBTC", "b": "25.35190000", "B": "31.21", "a": "25.36520000", "A": "40.66"}
    assert binance(quote) == [Quote("BNBBTC", 25.3519, 31.21, 25.3652, 40.66, 0, 400900217)]
    depth = {
        "e": "depthUpdate",
        "E": 1672515782136,
        "s": "BNBBTC",
        "U": 157,
        "u": 160,
        "b": [["0.0024", "10"]],
        "a": [],
    }
    assert binance(depth) == [Depth("BNBBTC", ((0.0024, 10.0),), (), 157, 160, 1672515782136 * 10**6, whole=False)]
    bar = {
        "t": 1672515780000,
        "T": 1672515839999,
        "s": "BNBBTC",
        "i": "1m",
        "f": 100,
        "L": 200,
        "o": "0.0010",
        "c": "0.0020",
    }
    bar |= {
        "h": "0.0025",
        "l": "0.0015",
        "v": "1000",
        "n": 100,
        "x": False,
        "q": "1",
        "V": "5",
        "Q": "0.5",
        "B": "123456",
    }
    (found_bar,) = binance({"e": "kline", "E": 1, "s": "BNBBTC", "k": bar | {"l": "0.0005"}})
    assert found_bar == ServerBar(
        "BNBBTC", 1672515780000 * 10**6, MINUTE, 0.001, 0.0025, 0.0005, 0.002, 1000.0, 100, final=False
    )
    assert binance(quote | {"s": "OTHER"}) == []


@pytest.mark.parametrize("price", ["nan", "inf", "-1", "0", "", None, "1e400", [], "x"])
def test_a_binance_price_that_is_none_is_refused(price: object) -> None:
    with pytest.raises(FeedError):
        binance({"e": "trade", "s": "BNBBTC", "t": 1, "p": price, "q": "1", "T": 1, "m": True})
    with pytest.raises(FeedError):
        binance({"e": "depthUpdate", "s": "BNBBTC", "U": 1, "u": 1, "b": [[price, "1"]], "a": []})


def test_binance_is_ready_once_all_is_acknowledged_and_says_what_it_refuses() -> None:
    feed = BinanceFeed([f"S{number}" for number in range(100)])
    session = feed.session()
    session.opened()
    assert [len(json.loads(reply)["params"]) for reply in session.replies] == [100, 100, 100]
    for number in (3, 1):
        session.received(json.dumps({"result": None, "id": number}))
        assert not session.ready
    session.received('{"result":null,"id":2}')
    assert session.ready
    assert session.received('{"code":0,"msg":"Unknown property","id":2}') == (
        Refused(0, "Unknown property", fatal=True),
    )
    with pytest.raises(UsageError, match="1 to 1024 streams"):
        BinanceFeed([f"S{number}" for number in range(400)])


def test_binance_questions_and_answers() -> None:
    feed = BinanceFeed(["BTCUSDT", "ETHUSDT"], levels=500)
    trade = Trade("BTCUSDT", 28456, 4.0, 1.0, 0, 1)
    request = feed.ask_trades("BTCUSDT", trade, 0)
    assert request.path == "/api/v3/historicalTrades?symbol=BTCUSDT&fromId=28457&limit=1000"
    body = b'[{"id":28457,"price":"4.00000100","qty":"12","quoteQty":"4","time":1499865549590,"isBuyerMaker":true}]'
    assert feed.read_trades("BTCUSDT", body) == [Trade("BTCUSDT", 28457, 4.000001, 12.0, 1499865549590 * 10**6, -1)]
    assert [request.weight for request in feed.ask_latest(feed.symbols)] == [4, 4]
    latest = feed.read_latest(b'[{"symbol":"LTCBTC","price":"4.00000200"}]')
    assert [(tick.symbol, tick.price, tick.size, tick.time) for tick in latest if isinstance(tick, Trade)] == [
        ("LTCBTC", 4.000002, 0.0, 0)
    ]
    assert feed.ask_book("BTCUSDT").weight == 25
    book = feed.read_book("BTCUSDT", b'{"lastUpdateId":1027024,"bids":[["4.0","431.0"]],"asks":[["4.2","12.0"]]}')
    assert book == Depth("BTCUSDT", ((4.0, 431.0),), ((4.2, 12.0),), 1027024, 1027024, 0, whole=True, most=500)
    row = [60000, "1", "3", "0.5", "2", "7", 119999, "14", 9, "3", "4", "0"]
    bars = feed.read_bars("BTCUSDT", MINUTE, json.dumps([row, [120000, *row[1:]]]).encode())
    assert [(bar.begin, bar.high, bar.trades, bar.final) for bar in bars] == [
        (MINUTE, 3.0, 9, True),
        (2 * MINUTE, 3.0, 9, False),
    ]
    assert "startTime=60000&endTime=119999" in feed.ask_bars("BTCUSDT", MINUTE, MINUTE, 2 * MINUTE).path
    with pytest.raises(UsageError, match="no bars of 7 s"):
        feed.ask_bars("BTCUSDT", 7 * 10**9, 0, 1)
    assert [feed.bar_length(seconds * 10**9) // 10**9 for seconds in (1, 5, 30, 60, 120, 300)] == [1, 1, 1, 60, 60, 300]
    assert feed.bar_length(10**8) is None
    filters = [
        {"filterType": "PRICE_FILTER", "tickSize": "0.01000000"},
        {"filterType": "LOT_SIZE", "stepSize": "0.00001"},
    ]
    filters[1]["minQty"] = "0.0001"
    info = {
        "symbols": [
            {
                "symbol": "BTCUSDT",
                "status": "HALT",
                "filters": [*filters, {"filterType": "MIN_NOTIONAL", "minNotional": "5"}],
            }
        ]
    }
    rules = feed.read_rules(json.dumps(info).encode())["BTCUSDT"]
    assert rules == (False, Decimal("0.01"), Decimal("0.00001"), Decimal("0.0001"), Decimal(5))


def test_alpaca_trades_quotes_bars_and_halts() -> None:
    text = (
        '[{"T":"t","S":"AAPL","i":96921,"x":"D","p":126.55,"s":1,"c":["@","I"],"t":"2021-02-22T15:51:44.208Z","z":"C"},'
        '{"T":"q","S":"AAPL","bx":"U","bp":87.66,"bs":1,"ax":"Q","ap":87.68,"as":4,"c":["R"],'
        '"t":"2021-02-22T15:51:45.335689322Z","z":"C"},'
        '{"T":"b","S":"AAPL","o":388.985,"h":389.13,"l":388.975,"c":389.12,"v":49378,"n":461,'
        '"vw":389.06,"t":"2021-02-22T19:15:00Z"},'
        '{"T":"u","S":"AAPL","o":1,"h":2,"l":1,"c":2,"v":1,"n":0,"vw":1,"t":"2021-02-22T19:15:00Z"},'
        '{"T":"s","S":"AAPL","sc":"H","sm":"Trading Halt","rc":"T12","rm":"","t":"2021-02-22T19:15:00Z","z":"C"},'
        '{"T":"i","S":"AAPL","p":9.12},{"T":"t","S":"OTHER","i":1,"p":1,"s":1,"t":"2021-02-22T19:15:00Z"}]'
    )
    trade, quote, bar, updated, halt = alpaca(text, lot=100)
    assert isinstance(trade, Trade)
    assert (trade.group, trade.prices, trade.time) == ("D:C:2021-02-22", False, 1614009104208000000)
    assert quote == Quote("AAPL", 87.66, 100.0, 87.68, 400.0, 1614009105335689322)
    assert isinstance(bar, ServerBar)
    assert isinstance(updated, ServerBar)
    assert (bar.interval, bar.begin == updated.begin, bar.final, updated.trades) == (MINUTE, True, True, 0)
    assert halt == Halt("AAPL", True, "Trading Halt T12", bar.begin)


@pytest.mark.parametrize(
    ("time", "day"),
    [
        ("2024-01-06T00:30:00Z", "2024-01-05"),
        ("2024-07-06T03:59:59Z", "2024-07-05"),
        ("2024-07-06T04:00:00Z", "2024-07-06"),
    ],
)
def test_a_day_is_new_yorks(time: str, day: str) -> None:
    (trade,) = alpaca(f'[{{"T":"t","S":"AAPL","i":1,"x":"V","p":1,"s":1,"c":[],"t":"{time}","z":"A"}}]')
    assert isinstance(trade, Trade)
    assert trade.group == f"V:A:{day}"


@pytest.mark.parametrize(
    ("conditions", "tape", "prices"),
    [
        (["@"], "A", True),
        (["B"], "A", False),
        (["B"], "C", True),
        (["W"], "C", False),
        ([" ", "T"], "A", True),
        (["@", "Z"], "B", False),
    ],
)
def test_conditions_that_set_no_price(conditions: list[str], tape: str, prices: bool) -> None:
    item = {
        "T": "t",
        "S": "AAPL",
        "i": 1,
        "x": "V",
        "p": 1,
        "s": 1,
        "c": conditions,
        "t": "2024-07-05T15:00:00Z",
        "z": tape,
    }
    (trade,) = alpaca(json.dumps([item]))
    assert isinstance(trade, Trade)
    assert trade.prices is prices


def test_alpaca_corrections_name_the_trade_they_undo() -> None:
    text = (
        '[{"T":"c","S":"AAPL","x":"M","oi":52983525033527,"op":39.1582,"os":440000,"oc":[" ","7"],'
        '"ci":52983525034326,"cp":39.18,"cs":44,"cc":[" ","7"],"z":"B","t":"2023-04-06T14:25:06.542305024Z"},'
        '{"T":"x","S":"AAPL","i":465,"x":"D","p":105.31,"s":300,"a":"C","z":"C","t":"2023-03-06T13:15:14.103Z"}]'
    )
    corrected, cancelled = alpaca(text)
    assert isinstance(corrected, Correction)
    assert (corrected.id, corrected.group) == (52983525033527, "M:B:2023-04-06")
    assert corrected.instead is not None
    assert (corrected.instead.id, corrected.instead.price, corrected.instead.prices) == (52983525034326, 39.18, False)
    assert cancelled == Correction("AAPL", 465, "D:C:2023-03-06", None)


def test_alpaca_crypto() -> None:
    text = (
        '[{"T":"t","S":"BTC/USD","p":67000.5,"s":0.0213,"t":"2026-01-05T12:01:00.537052Z","i":31455289,"tks":"S"},'
        '{"T":"o","S":"BTC/USD","t":"2026-01-05T12:01:00.1Z","b":[{"p":66999,"s":0.5}],'
        '"a":[{"p":67001,"s":0.4}],"r":true},'
        '{"T":"o","S":"BTC/USD","t":"2026-01-05T12:01:00.4Z","b":[{"p":66999,"s":0}],"a":[]}]'
    )
    trade, whole, change = alpaca(text, feed="us", symbols=("BTC/USD",))
    assert isinstance(trade, Trade)
    assert (trade.taker, trade.prices, bool(trade.group)) == (-1, True, True)
    assert isinstance(whole, Depth)
    assert isinstance(change, Depth)
    assert (whole.whole, change.whole, change.bids, whole.last) == (True, False, ((66999.0, 0.0),), 0)
    feed = AlpacaFeed(["BTC/USD"], KEYS, feed="us")
    body = b'{"orderbooks":{"BTC/USD":{"a":[{"p":2,"s":1},{"p":3,"s":0}],"b":[],"t":"2022-06-24T08:00:14Z"}}}'
    assert feed.read_book("BTC/USD", body).asks == ((2.0, 1.0),)
    assert feed.stream().url.endswith("/v1beta3/crypto/us")


def test_one_unreadable_message_of_a_frame_leaves_the_others() -> None:
    good = '{"T":"t","S":"AAPL","i":%d,"x":"D","p":1,"s":1,"c":[],"t":"2021-02-22T15:51:44Z","z":"C"}'
    for bad in (
        '{"T":"t","S":"AAPL","i":2}',
        '{"T":5}',
        "{}",
        "null",
        '{"T":"t","S":"AAPL","i":2,"p":-1,"s":1,"t":"2021-02-22T15:51:44Z"}',
        '{"T":"t","S":"AAPL","i":2,"p":1,"s":1,"t":"today"}',
    ):
        session = AlpacaFeed(["AAPL"], KEYS).session()
        found = session.received(f"[{good % 1},{bad},{good % 3}]")
        assert [trade.id for trade in found if isinstance(trade, Trade)] == [1, 3]
        assert len(session.unreadable) == 1
    for frame in ("", "{}", "[", b"\xff"):
        with pytest.raises(FeedError):
            AlpacaFeed(["AAPL"], KEYS).session().received(frame)


def test_alpaca_handshake_and_what_is_confirmed() -> None:
    session = AlpacaFeed(["AAPL", "MSFT"], KEYS, channels=("trades", "bars")).session()
    session.opened()
    said: list[Frame] = []
    for text in ('[{"T":"success","msg":"connected"}]', '[{"T":"success","msg":"authenticated"}]'):
        session.received(text)
        said += session.replies
        session.replies.clear()
    assert [json.loads(frame) for frame in said] == [
        {"action": "auth", "key": "PK", "secret": "hush"},
        {"action": "subscribe", "trades": ["AAPL", "MSFT"], "bars": ["AAPL", "MSFT"]},
    ]
    (refused,) = session.received('[{"T":"subscription","trades":["AAPL"],"bars":["*"]}]')
    assert isinstance(refused, Refused)
    assert "trades:MSFT" in refused.reason
    assert not session.ready
    session.received('[{"T":"subscription","trades":["AAPL","MSFT"],"bars":["*"],"corrections":["AAPL"]}]')
    assert session.ready
    codes = {400: True, 402: True, 404: False, 405: True, 406: False, 407: False, 409: True, 410: True, 500: False}
    for code, fatal in codes.items():
        assert session.received(f'[{{"T":"error","code":{code},"msg":"m"}}]') == [Refused(code, "m", fatal)]
    assert session.received('[{"T":"error","code":403,"msg":"already authenticated"}]') == []


def test_alpaca_questions_and_answers() -> None:
    feed = AlpacaFeed(["AAPL"], KEYS)
    assert "start=1970-01-01T00%3A00%3A00.000000001Z" in feed.ask_trades("AAPL", None, 1).path
    body = {"trades": {"AAPL": [{"t": "2024-07-05T15:00:00Z", "x": "V", "p": 1, "s": 2, "i": 7, "z": "A", "c": ["@"]}]}}
    body["trades"]["AAPL"].append(body["trades"]["AAPL"][0] | {"i": 8, "u": "canceled"})
    assert [trade.id for trade in feed.read_trades("AAPL", json.dumps(body).encode())] == [7]
    assert feed.read_trades("AAPL", b'{"trades":null,"next_page_token":null}') == []
    latest = {"AAPL": {"latestTrade": body["trades"]["AAPL"][0], "latestQuote": None}, "MSFT": None}
    assert [type(tick) for tick in feed.read_latest(json.dumps(latest).encode())] == [Trade]
    assert "timeframe=5Min" in feed.ask_bars("AAPL", 5 * MINUTE, 0, MINUTE).path
    assert [feed.bar_length(minutes * MINUTE) // MINUTE for minutes in (1, 50, 61, 120)] == [1, 1, 1, 60]
    assert feed.bar_length(MINUTE // 2) is None
    with pytest.raises(FeedError, match="not of its protocol"):
        feed.read_latest(b"<html>")


def test_keys_are_shown_nowhere() -> None:
    feed = AlpacaFeed(["AAPL"], KEYS)
    assert "hush" not in repr((KEYS, feed.rest(), feed.stream(), feed.__dict__))
    assert rfc3339_text(int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 10**9) == "2024-01-01T00:00:00.000000000Z"
