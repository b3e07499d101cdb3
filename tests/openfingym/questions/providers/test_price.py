"""Prices at a time, from services in their wire formats: whole bars, closed exchanges, and nothing that is older."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import DataError, UsageError, VenueError
from openfingym.market.sim.local import local_binance
from openfingym.questions import moment_ns
from openfingym.questions.prices.alpaca import AlpacaPrices
from openfingym.questions.prices.binance import BinancePrices
from openfingym.questions.prices.yahoo import YahooPrices
from openfingym.questions.providers.price import PriceProvider
from openfingym.questions.trading_days import next_to_close
from openfingym.questions.web import Web
from tests.openfingym.questions.providers.questions import DAY, END, HOUR, ask
from tests.openfingym.questions.providers.served import Raw

MINUTE = 60 * 10**9
BTC = {"venue": "binance", "symbol": "BTCUSDT"}
AAPL = {"venue": "yahoo", "symbol": "AAPL"}


@pytest.fixture
def service(service):
    service.now_ns = END + 3 * DAY
    return service


@pytest.fixture
def prices(service):
    web = service.web
    found = PriceProvider({"binance": BinancePrices(web), "alpaca": AlpacaPrices(web), "yahoo": YahooPrices(web)})
    yield found
    found.close()


def resolve(prices, query, form="value", end=END, now=END + 10 * DAY, **more):
    question = ask("price", query, form, end=end, **more)
    prices.check(question)
    found = prices.answers([question], now)[question.id]
    if isinstance(found, Exception):
        raise found
    return found


def kline(opens, close, trades=5, step=MINUTE):
    at = opens // 10**6
    return [
        at,
        str(close),
        str(close + 1),
        str(close - 1),
        str(close),
        "2",
        at + step // 10**6 - 1,
        "9",
        trades,
        "1",
        "1",
        "0",
    ]


# --- Binance


def test_bars_are_those_before_the_time_however_late_they_are_asked_for(service, prices):
    bars = [kline(END + number * MINUTE, 100.0 + number) for number in range(40)]
    asked_for = END + 30 * MINUTE

    def latest(query):
        until = [one for one in bars if one[0] <= int(query.get("endTime", 2**62))]
        return until[-int(query["limit"]) :]

    service.answers["/api/v3/klines"] = latest
    service.answers["/api/v3/ticker/price"] = {"symbol": "BTCUSDT", "price": "140"}
    found = prices.history(ask("price", BTC, "value"), 60, 25, asked_for)
    assert found.closes == tuple(100.0 + number for number in range(5, 30))


def test_the_close_of_the_minute_in_which_the_time_falls(service, prices):
    service.answers["/api/v3/klines"] = [kline(END, 101.5), kline(END + MINUTE, 103.0)]
    found = resolve(prices, BTC, end=END + 20 * 10**9)
    assert (found.status, found.truth, found.provider_ns) == ("resolved", 101.5, END + MINUTE)
    assert service.asked == [f"/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime={END // 10**6}&limit=60"]
    assert found.evidence["close"] == 101.5
    assert resolve(prices, {**BTC, "above": 101.0}, "probability").truth == 1.0
    assert resolve(prices, {**BTC, "above": 101.5}, "probability").truth == 0.0


def test_a_bar_that_is_not_complete_waits(service, prices):
    service.answers["/api/v3/klines"] = [kline(END, 101.5)]
    service.now_ns = END + MINUTE - 10**9
    assert resolve(prices, BTC).reason == "the bar of that time is not complete"
    service.now_ns = END + MINUTE
    assert resolve(prices, BTC, now=END + MINUTE - 1).status == "waiting", "by our clock it is not over"
    assert resolve(prices, BTC).truth == 101.5
    service.answers["/api/v3/klines"] = []
    assert resolve(prices, BTC).status == "waiting"


def test_a_bar_without_trades_repeats_an_older_price_and_does_not_count(service, prices):
    service.answers["/api/v3/klines"] = [kline(END, 101.5, trades=0), kline(END + MINUTE, 101.5, trades=0)]
    assert resolve(prices, BTC).reason == "nothing was traded since"
    service.answers["/api/v3/klines"] = [kline(END, 101.5, trades=0), kline(END + MINUTE, 99.0)]
    found = resolve(prices, BTC)
    assert (found.truth, found.evidence["later_s"]) == (99.0, 60.0)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ([kline(END - MINUTE, 100.0), kline(END, 101.0)], DataError),
        ([kline(END + MINUTE, 100.0), kline(END, 101.0)], DataError),
        ({"code": -1121, "msg": "Invalid symbol."}, DataError),
        ([[END // 10**6, "1", "1", "1"]], DataError),
        ([kline(END, float("nan"))], DataError),
        (Raw(b"<html>blocked</html>"), DataError),
        (Raw(b"[[17", stated=999), VenueError),
        (Raw(b"{}", 418, {"Retry-After": "120"}), VenueError),
        (Raw(b"", 307, {"Location": "https://mirror.example/"}), VenueError),
    ],
)
def test_an_older_value_or_no_bars_at_all_are_errors(service, prices, answer, error):
    service.answers["/api/v3/klines"] = answer
    with pytest.raises(error):
        resolve(prices, BTC)


def test_a_day_and_many_questions_about_one_price(service, prices):
    end = moment_ns("2026-11-20T09:30:00Z")
    service.answers["/api/v3/klines"] = [kline(moment_ns("2026-11-20T00:00:00Z"), 7.0, step=DAY)]
    questions = [
        ask("price", {**BTC, "interval": "1d", "above": float(level)}, id=f"q{level}", end=end)
        for level in range(1, 20)
    ]
    found = prices.answers(questions, END + DAY)
    assert [found[one.id].truth for one in questions] == [1.0] * 6 + [0.0] * 13
    assert len(service.asked) == 1


def test_the_reference_comes_from_the_live_buffer_once_several_questions_watch_a_symbol():
    with local_binance(["BTCUSDT"], seed=1, before_s=5.0) as venue:
        web = Web(venue.rest_url, per_second=1e6)
        prices = PriceProvider({"binance": BinancePrices(web, venue.stream_url)})
        question = ask("price", BTC, "value")
        first = prices.reference(question, END)
        assert first["price"] == pytest.approx(60_000.0, rel=0.05)
        assert first["source"] == f"{venue.rest_url}/api/v3/ticker/price?symbol=BTCUSDT"
        until = time.monotonic() + 60.0
        while (shown := prices.reference(question, END))["source"] != "live buffer of binance":
            assert time.monotonic() < until, "nothing is followed"
            time.sleep(0.02)
        assert shown["price"] == pytest.approx(60_000.0, rel=0.05)
        assert abs(time.time_ns() - shown["at_ns"]) < 60 * 10**9
        prices.close()


def test_a_ticker_of_another_symbol_is_an_error(service, prices):
    service.answers["/api/v3/ticker/price"] = {"symbol": "ETHUSDT", "price": "3000"}
    with pytest.raises(DataError, match="the answer is about 'ETHUSDT'"):
        prices.reference(ask("price", BTC, "value"), END)


# --- Yahoo


def chart(*rows, symbol="AAPL", splits=None, **meta):
    """Rows of (moment of the open, close)."""
    stamps, closes = [moment_ns(row[0]) // 10**9 for row in rows], [row[1] for row in rows]
    known = {"currency": "USD", "symbol": symbol, "exchangeName": "NMS", "exchangeTimezoneName": "America/New_York"}
    quote = dict.fromkeys(("open", "high", "low", "close", "volume"), closes)
    result = {
        "meta": {**known, **meta},
        "timestamp": stamps,
        "events": {"splits": splits or {}},
        "indicators": {"quote": [quote], "adjclose": [{"adjclose": closes}]},
    }
    return {"chart": {"result": [result], "error": None}}


def show(service, *rows, **more):
    service.answers["/v8/finance/chart/AAPL"] = chart(*rows, **more)


@pytest.fixture(autouse=True)
def _nothing_is_held(monkeypatch):
    monkeypatch.setattr("openfingym.questions.prices.yahoo.HELD_S", 0.0)
    monkeypatch.setattr("openfingym.questions.prices.yahoo.SHOWN_S", 0.0)


def test_one_answer_serves_questions_about_many_days(service, prices, monkeypatch):
    monkeypatch.setattr("openfingym.questions.prices.yahoo.HELD_S", 600.0)
    show(service, *((f"2026-11-{day}T14:30:00Z", float(day)) for day in (18, 19, 20)))
    for day in (20, 19, 18):
        assert resolve(prices, AAPL, end=moment_ns(f"2026-11-{day}T21:00:00Z")).truth == day
    assert len(service.asked) == 1
    resolve(prices, AAPL, end=moment_ns("2026-06-01T20:00:00Z"))
    assert len(service.asked) == 2


def test_the_close_of_the_first_session_that_ends_then_or_later(service, prices):
    friday, monday = ("2026-11-20T14:30:00Z", 231.0), ("2026-11-23T14:30:00Z", 235.0)
    show(service, friday, monday)
    service.now_ns = moment_ns("2026-11-24T12:00:00Z")
    at_close = resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z"), unit="USD")
    assert (at_close.truth, at_close.provider_ns) == (231.0, moment_ns("2026-11-20T21:00:00Z"))
    assert "dividends are not added" in at_close.evidence["adjustment"]
    assert resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:01Z")).truth == 235.0
    weekend = resolve(prices, AAPL, end=moment_ns("2026-11-21T12:00:00Z"))
    assert (weekend.truth, weekend.evidence["session"]) == (235.0, "2026-11-23")


def test_a_close_waits_until_it_has_settled(service, prices):
    show(service, ("2026-11-20T14:30:00Z", 231.0))
    service.now_ns = moment_ns("2026-11-20T21:30:00Z")
    assert "has not settled" in resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z")).reason
    service.now_ns += HOUR
    assert resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z")).truth == 231.0
    show(service, ("2026-11-20T14:30:00Z", None))
    assert resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z")).status == "waiting"
    show(service, ("2026-11-19T14:30:00Z", 230.0))  # an older value alone
    assert resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z")).status == "waiting"


def test_a_later_split_is_undone(service, prices):
    split = {"1": {"date": moment_ns("2026-11-23T14:30:00Z") // 10**9, "numerator": 4, "denominator": 1}}
    show(service, ("2026-11-20T14:30:00Z", 57.75), splits=split)
    found = resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z"))
    assert (found.truth, found.evidence["close"], found.evidence["later_splits"]) == (231.0, 57.75, 4.0)


@pytest.mark.parametrize(
    "answer",
    [
        chart(("2026-11-20T14:30:00Z", 9.0), symbol="MSFT"),
        chart(("2026-11-20T14:30:00Z", 9.0), currency="GBp"),
        {"chart": {"result": None, "error": {"code": "Not Found", "description": "No data found"}}},
        Raw(b"<html>consent</html>"),
        Raw(b"Too Many Requests", 429, {"Content-Type": "text/plain"}),
    ],
)
def test_another_symbol_another_currency_or_no_chart_are_errors(service, prices, answer):
    service.answers["/v8/finance/chart/AAPL"] = answer
    with pytest.raises((DataError, VenueError)):
        resolve(prices, AAPL, end=moment_ns("2026-11-20T21:00:00Z"), unit="GBP")


def test_the_reference_of_yahoo_has_the_markets_time(service, prices):
    show(service, regularMarketPrice=231.1, regularMarketTime=1763758801)
    shown = prices.reference(ask("price", AAPL, "value"), END)
    assert (shown["price"], shown["at_ns"]) == (231.1, 1763758801 * 10**9)
    show(service)
    assert prices.reference(ask("price", AAPL, "value"), END) is None


# --- Alpaca


STOCK = {"venue": "alpaca", "symbol": "AAPL"}
COIN = {"venue": "alpaca", "symbol": "BTC/USD"}


def bar(at, close, trades=3):
    return {"t": at, "o": close, "h": close, "l": close, "c": close, "v": 10 * trades, "n": trades, "vw": close}


def bars(symbol, *found):
    return {"bars": {symbol: list(found)}, "next_page_token": None}


def test_a_minute_of_a_stock_in_regular_hours(service, prices):
    service.answers["/v2/stocks/bars"] = bars("AAPL", bar("2026-11-20T15:00:00Z", 230.5))
    found = resolve(prices, STOCK, end=moment_ns("2026-11-20T15:00:30Z"))
    assert (found.truth, found.evidence["adjustment"]) == (230.5, "raw")
    assert "start=2026-11-20T15:00:00Z" in service.asked[0]
    assert "end=2026-11-20T21:00:00Z" in service.asked[0]
    service.now_ns = moment_ns("2026-11-20T15:10:00Z")
    assert resolve(prices, STOCK, end=moment_ns("2026-11-20T15:00:30Z")).reason.endswith("may still change")


def test_a_closed_exchange_gives_the_first_minute_of_the_next_session(service, prices):
    service.answers["/v2/stocks/bars"] = bars("AAPL", bar("2026-11-23T14:30:00Z", 233.0))
    service.now_ns = moment_ns("2026-11-24T00:00:00Z")
    found = resolve(prices, STOCK, end=moment_ns("2026-11-20T21:00:00Z"))
    assert (found.truth, found.evidence["later_s"]) == (233.0, (2 * 24 + 17.5) * 3600)
    assert "start=2026-11-23T14:30:00Z" in service.asked[0]


def test_a_session_of_a_stock(service, prices):
    service.answers["/v2/stocks/bars"] = bars("AAPL", bar("2026-11-20T05:00:00Z", 231.0))
    assert resolve(prices, {**STOCK, "interval": "1d"}, end=moment_ns("2026-11-20T21:00:00Z")).truth == 231.0


def test_a_coins_bar_of_quotes_does_not_count(service, prices):
    service.answers["/v1beta3/crypto/us/bars"] = bars(
        "BTC/USD", bar("2026-11-20T22:00:00Z", 1.0, trades=0), bar("2026-11-20T22:01:00Z", 2.0)
    )
    assert resolve(prices, COIN).truth == 2.0
    service.answers["/v1beta3/crypto/us/bars"] = {"bars": {}}
    assert resolve(prices, COIN).status == "waiting"


@pytest.mark.parametrize(
    "answer",
    [
        bars("MSFT", bar("2026-11-20T22:00:00Z", 1.0)),
        bars("BTC/USD", bar("2026-11-20T21:59:00Z", 1.0)),
        bars("BTC/USD", bar("2026-11-20T22:00:00Z", -1.0)),
        bars("BTC/USD", bar("yesterday", 1.0)),
        bars("BTC/USD", {"t": "2026-11-20T22:00:00Z", "n": 1}),
        {"bars": []},
        Raw(b"{}", 403),
    ],
)
def test_an_older_bar_or_one_of_something_else_is_an_error(service, prices, answer):
    service.answers["/v1beta3/crypto/us/bars"] = answer
    with pytest.raises((DataError, VenueError)):
        resolve(prices, COIN)


def test_the_reference_of_alpaca_is_the_last_trade(service, prices):
    service.answers["/v2/stocks/trades/latest"] = {"trades": {"AAPL": {"p": 126.5, "t": "2026-11-20T15:51:44.208Z"}}}
    service.answers["/v1beta3/crypto/us/latest/trades"] = {"trades": {}}
    shown = prices.reference(ask("price", STOCK, "value"), END)
    assert (shown["price"], shown["at_ns"]) == (126.5, moment_ns("2026-11-20T15:51:44.208Z"))
    assert prices.reference(ask("price", COIN, "value"), END) is None


def test_keys_of_alpaca_go_into_headers_alone(service, monkeypatch):
    monkeypatch.setenv("APCA_API_KEY_ID", "PKTEST")
    monkeypatch.setenv("APCA_API_SECRET_KEY", "HIDDEN")
    monkeypatch.setenv("OPENFINGYM_ALPACA_URL", service.url + "/")
    service.answers["/v1beta3/crypto/us/bars"] = bars("BTC/USD", bar("2026-11-20T22:00:00Z", 2.0))
    found = resolve(PriceProvider({"alpaca": AlpacaPrices()}), COIN)
    assert service.headers[-1]["APCA-API-SECRET-KEY"] == "HIDDEN"
    assert "HIDDEN" not in repr(found)


def test_without_keys_alpaca_says_what_is_missing(monkeypatch):
    for name in ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="set APCA_API_KEY_ID and APCA_API_SECRET_KEY"):
        resolve(PriceProvider({"alpaca": AlpacaPrices()}), COIN)


# --- Trading days, and queries


@pytest.mark.parametrize(
    ("moment", "day", "closes"),
    [
        ("2026-11-26T12:00:00Z", "2026-11-27", "2026-11-27T18:00:00Z"),  # Thanksgiving, then a half day
        ("2026-11-27T18:00:01Z", "2026-11-30", "2026-11-30T21:00:00Z"),
        ("2026-03-06T21:00:01Z", "2026-03-09", "2026-03-09T20:00:00Z"),  # summer time begins
        ("2026-10-30T20:00:01Z", "2026-11-02", "2026-11-02T21:00:00Z"),  # and ends
        ("2026-12-31T21:00:01Z", "2027-01-04", "2027-01-04T21:00:00Z"),
    ],
)
def test_trading_days_know_holidays_half_days_and_summer_time(moment, day, closes):
    found = next_to_close("XNYS", moment_ns(moment))
    assert (found.day.isoformat(), found.closes_ns) == (day, moment_ns(closes))


def test_a_session_in_tokyo():
    found = next_to_close("XTKS", moment_ns("2026-11-20T12:00:00Z"))
    assert found.day.isoformat() == "2026-11-24", "Monday is a holiday there"


@pytest.mark.parametrize(
    ("query", "form", "why"),
    [
        ({}, "value", "venue of its query is None; expected one of binance, alpaca, yahoo"),
        ({"venue": "nowhere", "symbol": "A"}, "value", "venue of its query is 'nowhere'"),
        ({"venue": "binance"}, "value", "lacks 'symbol'"),
        ({**BTC, "symbol": "btc/usdt"}, "value", "expected base and quote in capital letters"),
        ({**BTC, "interval": "7m"}, "value", "the interval is '7m'"),
        ({**BTC, "calendar": "XNYS"}, "value", "has 'calendar'"),
        (BTC, "probability", "lacks 'above'"),
        (BTC, "choice", "its form is choice"),
        ({**AAPL, "calendar": "MARS"}, "value", "there is no calendar of an exchange 'MARS'"),
        ({**AAPL, "symbol": "../x"}, "value", "as Yahoo writes it"),
        ({**COIN, "interval": "1d"}, "value", "a coin trades always"),
        ({**STOCK, "symbol": "A B"}, "value", "such as AAPL or BTC/USD"),
    ],
)
def test_a_query_that_it_does_not_know_is_refused(query, form, why):
    with pytest.raises(UsageError, match=why):
        PriceProvider().check(ask("price", query, form))


@given(
    offsets=st.lists(st.integers(-3, 5), max_size=6),
    trades=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    now=st.integers(-2, 8),
    ours=st.integers(-2, 8),
)
def test_no_bar_that_is_older_or_not_complete_gives_a_truth(offsets, trades, now, ours):
    import json

    from openfingym.questions.web import WebReply

    rows = [kline(END + offset * MINUTE, 100.0 + offset, trades[at]) for at, offset in enumerate(offsets)]

    class Answered:
        url = "http://binance"

        def get(self, path, query=None):
            return WebReply(path, json.dumps(rows).encode(), END + now * MINUTE)

        def close(self):
            pass

    prices = PriceProvider({"binance": BinancePrices(Answered())})
    question = ask("price", BTC, "value")
    found = prices.answers([question], END + ours * MINUTE)[question.id]
    prices.close()
    if isinstance(found, Exception) or found.status == "waiting":
        return
    offset = int(found.truth - 100)
    assert 0 <= offset < min(now, ours), "complete by both clocks, and not older"
    assert trades[offsets.index(offset)] > 0
