"""Questions about the real market, from services on this machine in their wire formats.

The attack: an agent that knows the calendar of splits forecast a move of -75 % where one lay between asking and
resolving. Prices are of a share as on the day of asking.
"""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import DataError
from openfingym.kinds.questions.asking_real import ask_real, can_ask, takes_questions
from openfingym.questions import moment_ns, utc_text
from openfingym.questions.open_markets import open_markets
from openfingym.questions.prices.binance import BinancePrices
from openfingym.questions.prices.yahoo import YahooPrices
from openfingym.questions.providers.price import PriceProvider
from openfingym.questions.trading_days import _around
from tests.openfingym.questions.providers.served import serve

HOUR = 3600 * 10**9
NOW = time.time_ns() // HOUR * HOUR + 61 * 10**9


@pytest.fixture
def service():
    with serve() as found:
        found.now_ns = NOW
        yield found


def hourly(query: dict[str, str]) -> list[list[object]]:
    """The latest bars, the one that goes on too; the price is the number of hours since 1970 at their end."""
    assert query["interval"] == "1h"
    newest = service_now[0] // HOUR
    rows = []
    for hour in range(newest - int(query["limit"]) + 1, newest + 1):
        price, opens = str(float(hour + 1)), hour * 3_600_000
        rows.append([opens, price, price, price, price, "2", opens + 3_599_999, "9", 5, "1", "1", "0"])
    return rows


service_now = [NOW]


@pytest.mark.parametrize("into_s", [1, 61, 3599])
def test_prices_are_asked_with_the_returns_of_whole_hours_before(service, into_s):
    now = service.now_ns = service_now[0] = NOW // HOUR * HOUR + into_s * 10**9
    contract = load_task("crypto-forecast-live").spec.contract
    service.answers["/api/v3/klines"] = hourly
    service.answers["/api/v3/ticker/price"] = lambda query: {"symbol": query["symbol"], "price": "1234.5"}
    provider = PriceProvider({"binance": BinancePrices(service.web)})
    asked = ask_real(contract, provider, (), 59, "r1", now)
    provider.close()
    assert len(asked.questions) == 59
    assert len({(one.market, one.evaluation_ns) for one in asked.questions}) == 59
    for one in asked.questions:
        assert now < one.deadline_ns < one.evaluation_ns
    hours = now // HOUR - np.arange(25.0)
    np.testing.assert_allclose(asked.data["test_inputs"][0, 2:], np.log(hours[:-1] / hours[1:]), rtol=1e-9)
    np.testing.assert_array_equal(asked.shown, 1234.5)
    assert sum("/klines" in path for path in service.asked) == len(contract.markets)


def test_prices_that_stand_still_are_not_asked_about(service):
    service.now_ns = NOW
    service_now[0] = NOW - 4 * HOUR
    service.answers["/api/v3/klines"] = hourly
    service.answers["/api/v3/ticker/price"] = lambda query: {"symbol": query["symbol"], "price": "1234.5"}
    provider = PriceProvider({"binance": BinancePrices(service.web)})
    with pytest.raises(DataError, match="no complete bar of the last"):
        ask_real(load_task("crypto-forecast-live").spec.contract, provider, (), 59, "r1", NOW)
    provider.close()


def charts(service, now: str, splits: dict[str, Any] | None = None) -> int:
    """Yahoo's charts at a moment: each session's close is its day of the month, with the one that goes on."""
    service.now_ns = now_ns = moment_ns(now)
    days = [day for day in _around("XNYS", date.fromisoformat(now[:8] + "01")) if day.opens_ns <= now_ns]
    stamps, closes = [day.opens_ns // 10**9 for day in days], [float(day.day.day) for day in days]
    columns = dict.fromkeys(("open", "high", "low", "close", "volume"), closes)
    for symbol in load_task("equity-forecast-live").spec.contract.markets:
        meta = {"currency": "USD", "symbol": symbol, "exchangeTimezoneName": "America/New_York"}
        result = {
            "meta": {**meta, "regularMarketPrice": 99.5, "regularMarketTime": now_ns // 10**9 - 1},
            "timestamp": stamps,
            "events": {"splits": splits or {}},
            "indicators": {"quote": [columns], "adjclose": [{"adjclose": closes}]},
        }
        service.answers[f"/v8/finance/chart/{symbol}"] = {"chart": {"result": [result], "error": None}}
    return now_ns


@pytest.mark.parametrize(
    ("now", "ends", "newest", "basis"),
    [
        # During a session: Thanksgiving is none, and the day after it closes early.
        ("2026-11-24T15:00:00Z", ["25T21:00", "27T18:00", "30T21:00"], (23, 20), "2026-11-24"),
        # An hour after the close it has settled; before, it is not among the returns.
        ("2026-11-24T21:30:00Z", ["25T21:00", "27T18:00", "30T21:00"], (23, 20), "2026-11-24"),
        ("2026-11-24T22:00:01Z", ["25T21:00", "27T18:00", "30T21:00"], (24, 23), "2026-11-24"),
        # Before a session, and on a day without one.
        ("2026-11-25T13:00:00Z", ["25T21:00", "27T18:00", "30T21:00"], (24, 23), "2026-11-24"),
        ("2026-11-26T16:00:00Z", ["27T18:00", "30T21:00"], (25, 24), "2026-11-25"),
        # New York leaves summer time over the weekend.
        ("2026-10-29T15:00:00Z", ["30T20:00", "02T21:00", "03T21:00"], (28, 27), "2026-10-29"),
    ],
)
def test_sessions_are_asked_about_by_the_exchanges_calendar(service, now, ends, newest, basis):
    now_ns = charts(service, now)
    provider = PriceProvider({"yahoo": YahooPrices(service.web)})
    asked = ask_real(load_task("equity-forecast-live").spec.contract, provider, (), 59, "r1", now_ns)
    assert len(service.asked) == 10  # one request a symbol, with its price
    assert len({(one.market, one.evaluation_ns) for one in asked.questions}) == 59
    for place, end in enumerate(ends):
        assert utc_text(asked.questions[10 * place].evaluation_ns)[8:16] == end
    for one in asked.questions:
        provider.check(one)
        assert one.query["split_basis"] == basis
        assert one.evaluation_ns - now_ns >= 3.5 * HOUR
    assert asked.data["test_inputs"][0, :2].tolist() == [99.5, 1.0]
    assert asked.data["test_inputs"][0, 2] == pytest.approx(np.log(newest[0] / newest[1]))
    provider.close()


def test_a_split_before_the_answer_is_no_move(service):
    now_ns = charts(service, "2026-11-16T15:00:00Z")
    provider = PriceProvider({"yahoo": YahooPrices(service.web)})
    asked = ask_real(load_task("equity-forecast-live").spec.contract, provider, (), 20, "r1", now_ns)
    one = asked.questions[10]  # of the second session to come
    split = {"1": {"date": moment_ns("2026-11-17T14:30:00Z") // 10**9, "numerator": 4, "denominator": 1}}
    later = charts(service, "2026-11-20T22:30:00Z", splits=split)
    found = provider.answers([one], later)[one.id]
    assert (found.truth, found.evidence["session"], found.evidence["later_splits"]) == (4 * 18.0, "2026-11-18", 4.0)
    provider.close()


def test_what_can_be_asked_about_is_said():
    names = ("polymarket-forecast", "crypto-forecast-live", "equity-forecast-live", "event-forecast")
    contracts = [load_task(name).spec.contract for name in names]
    assert [can_ask(one) for one in contracts] == [True, True, True, False]
    assert [takes_questions(one) for one in contracts] == [False, False, False, True]


GOOD = {
    "id": "7",
    "question": "Will it?",
    "conditionId": "0x" + "1" * 64,
    "endDate": "2030-01-02T00:00:00Z",
    "outcomes": '["Up", "Down"]',
    "closed": False,
    "bestBid": 0.4,
    "bestAsk": 0.5,
    "volume24hr": 10,
}
BEGIN, END = 1_893_456_000 * 10**9, 1_893_456_000 * 10**9 + 48 * HOUR


@pytest.mark.parametrize(
    "changes",
    [
        {"closed": True},
        {"closed": None},
        {"acceptingOrders": False},
        {"outcomes": '["A", "B", "C"]'},
        {"outcomes": "not a list"},
        {"bestBid": None},
        {"bestBid": "NaN"},
        {"bestBid": 0.6},
        {"bestAsk": 1},
        {"endDate": "2030-01-02"},
        {"endDate": "2030-02-02T00:00:00Z"},
        {"endDate": "2029-01-02T00:00:00Z"},
        {"endDate": None},
        {"conditionId": None},
        {"id": "../7"},
        {"question": ""},
        {"oneDayPriceChange": "inf"},
    ],
)
def test_markets_that_cannot_be_asked_about_are_passed_over(service, monkeypatch, changes):
    monkeypatch.setenv("OPENFINGYM_POLYMARKET_URL", service.url)
    service.answers["/markets"] = [GOOD, GOOD | {"id": "8"} | changes]
    (one,) = open_markets(1, BEGIN, BEGIN + HOUR, END)
    assert (one.market, one.outcome, one.known["price"]) == ("7", "Up", pytest.approx(0.45))
    with pytest.raises(DataError, match="shows 1 open markets of two outcomes"):
        open_markets(2, BEGIN, BEGIN + HOUR, END)
