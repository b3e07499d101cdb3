"""Questions about the real market, from services on this machine in their wire formats."""

from __future__ import annotations

import time

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import DataError
from openfingym.kinds.asking import ask_real, can_ask
from openfingym.questions.open_markets import open_markets
from openfingym.questions.prices.binance import BinancePrices
from openfingym.questions.providers.price import Prices
from tests.openfingym.questions.providers.served import serve

HOUR = 3600 * 10**9
NOW = time.time_ns() // HOUR * HOUR + 61 * 10**9


@pytest.fixture
def service():
    with serve() as found:
        found.now_ns = NOW
        yield found


def hourly(query: dict[str, str]) -> list[list[object]]:
    """Minute bars from where they are asked for; the price is the number of hours since 1970 at their end."""
    begins = int(query["startTime"])
    rows = []
    for opens in range(begins, begins + 3 * 60_000, 60_000):
        price = str((opens + 60_000) / 3_600_000)
        rows.append([opens, price, price, price, price, "2", opens + 59_999, "9", 5, "1", "1", "0"])
    return rows


def test_prices_are_asked_with_the_returns_of_whole_hours_before(service):
    contract = load_task("crypto-forecast-live").spec.contract
    service.answers["/api/v3/klines"] = hourly
    service.answers["/api/v3/ticker/price"] = lambda query: {"symbol": query["symbol"], "price": "1234.5"}
    provider = Prices({"binance": BinancePrices(service.web)})
    asked = ask_real(contract, provider, (), 59, "r1", NOW)
    provider.close()
    assert len(asked.questions) == 59
    assert len({(one.market, one.evaluation_ns) for one in asked.questions}) == 59
    for one in asked.questions:
        assert NOW < one.deadline_ns < one.evaluation_ns
    hours = NOW // HOUR - np.arange(25.0)
    np.testing.assert_allclose(asked.data["test_inputs"][0, 2:], np.log(hours[:-1] / hours[1:]), rtol=1e-9)
    np.testing.assert_array_equal(asked.shown, 1234.5)


def test_what_cannot_be_asked_about_is_said_to_be_so():
    names = ("polymarket-forecast", "crypto-forecast-live", "equity-forecast-live", "event-forecast")
    assert [can_ask(load_task(name).spec.contract) for name in names] == [True, True, False, False]


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
