"""Prices and corporate actions that contradict each other are refused, by one set of rules for panels and for bars."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from openfingym.data.pulled import pulled_panel
from openfingym.data.sources import adjusted_prices
from openfingym.data.sources.consistency import cash_by_row, require_consistent, row_of
from openfingym.data.sources.table import CorporateAction
from openfingym.data.vendor_bars import pulled_bars
from openfingym.errors import DataError
from tests.openfingym.data.sources.test_pulled import chart
from tests.openfingym.data.sources.test_pulled_bars import bars_of_yahoo, pulled
from tests.openfingym.data.sources.test_yahoo import opening

DAYS = [date(2024, 3, day) for day in (4, 5, 6, 7)]


def flat(*closes: float) -> list[list[float | None]]:
    return [[close, close * 1.01, close * 0.99, close, 100.0] for close in closes]


def dividend(day: date, amount: float, **more: object) -> dict[str, object]:
    return {"dividends": {"1": {"amount": amount, "date": opening(day), **more}}}


def split(day: date, ratio: float) -> dict[str, object]:
    return {"splits": {"1": {"date": opening(day), "numerator": ratio, "denominator": 1.0}}}


@pytest.mark.parametrize(
    ("closes", "events", "meta", "reason"),
    [
        ((1.0, 1.0, 1.0, 1.0), dividend(DAYS[2], 7.8), {}, r"X, 2024-03-06: a dividend of 7.8 is not below the price"),
        (
            (90.0, 91.0, 90.0, 90.0),
            dividend(DAYS[2], 0.5, currency="USD"),
            {"currency": "GBp"},
            r"X, 2024-03-06: a dividend in USD, and prices in GBp",
        ),
        ((400.0, 404.0, 100.0, 101.0), split(DAYS[2], 4.0), {}, r"its split by 4 are not adjusted for it"),
        ((1.0, 1.02, 10.1, 10.0), split(DAYS[2], 0.1), {}, r"its split by 0.1 are not adjusted for it"),
        ((250.0, 251.0, 2.52, 2.5), None, {"currency": "GBp"}, r"X, 2024-03-06: its price jumps from 251 to 2.52"),
        ((2.5, 251.0, 2.52, 2.5), None, {"currency": "GBp"}, r"X, 2024-03-05: its price jumps"),
    ],
)
def test_panels_and_bars_refuse_the_same(site, client, cache, closes, events, meta, reason) -> None:
    site.on("/v8/finance/chart/X", bars_of_yahoo("X", DAYS, flat(*closes), events=events, **meta))
    pulled(site, client, cache, "yahoo", "X", start=DAYS[0], end=DAYS[-1])
    with pytest.raises(DataError, match=reason):
        pulled_bars("yahoo", ("X",), cache=cache)
    with pytest.raises(DataError, match=reason):
        pulled_panel("yahoo", ("X",), cache=cache)


@pytest.mark.parametrize(
    ("closes", "events"),
    [
        ((100.0, 101.0, 99.0, 98.0), split(DAYS[2], 4.0)),  # adjusted, as Yahoo says
        ((100.0, 101.0, 60.0, 61.0), split(DAYS[2], 4.0)),  # a crash on the day of a split is no split by four
        ((100.0, 104.0, 99.0, 98.0), split(DAYS[2], 1.05)),  # too small to be told from a return
        ((100.0, 101.0, 99.0, 98.0), dividend(DAYS[2], 60.0)),  # a return of capital
        ((100.0, 101.0, 99.0, 98.0), dividend(DAYS[2], 1.0, currency="USD")),
        ((1.0, 60.0, 59.0, 58.0), None),
    ],
)
def test_what_can_be_is_taken(site, client, cache, closes, events) -> None:
    site.on("/v8/finance/chart/X", bars_of_yahoo("X", DAYS, flat(*closes), events=events))
    pulled(site, client, cache, "yahoo", "X", start=DAYS[0], end=DAYS[-1])
    assert pulled_bars("yahoo", ("X",), cache=cache)[0].close[:, 0].tolist() == list(closes)
    assert len(pulled_panel("yahoo", ("X",), cache=cache).times) == 4


def test_an_account_has_one_currency(site, client, cache) -> None:
    for symbol, currency in (("X", "USD"), ("Y", "GBp")):
        rows = flat(10.0, 10.0, 10.0, 10.0)
        site.on(f"/v8/finance/chart/{symbol}", bars_of_yahoo(symbol, DAYS, rows, currency=currency))
    pulled(site, client, cache, "yahoo", "X", "Y", start=DAYS[0], end=DAYS[-1])
    with pytest.raises(DataError, match="an account has one currency, and the prices are of 2: X in USD, Y in GBp"):
        pulled_bars("yahoo", ("X", "Y"), cache=cache)
    assert pulled_bars("yahoo", ("X",), cache=cache)[0].symbols == ("X",)
    assert pulled_panel("yahoo", ("X", "Y"), cache=cache).channels == ("X", "Y")


def test_a_price_of_zero_or_below_is_a_halt(site, client, cache) -> None:
    rows = [*flat(20.0), [18.0, 18.0, -40.0, -37.6, 10.0], *flat(9.0, 12.0)]
    site.on("/v8/finance/chart/CL%3DF", bars_of_yahoo("CL=F", DAYS, rows))
    pulled(site, client, cache, "yahoo", "CL=F", start=DAYS[0], end=DAYS[-1])
    bars, info = pulled_bars("yahoo", ("CL=F",), cache=cache)
    assert bars.tradable[:, 0].tolist() == [True, False, True, True]
    assert bars.close[:, 0].tolist() == [20.0, 20.0, 9.0, 12.0]
    assert any("1 rows with a price of zero or below taken as halts, the first on 2024-03-05" in note
               for note in info.notes)  # fmt: skip


WEEKS = np.array(["2024-03-04", "2024-03-11", "2024-03-25"], dtype="datetime64[D]")
MONTHS = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("times", "frequency", "day", "row"),
    [
        (WEEKS, "weekly", "2024-03-11", 1),
        (WEEKS, "weekly", "2024-03-13", 1),
        (WEEKS, "weekly", "2024-03-17", 1),
        (WEEKS, "weekly", "2024-03-18", 2),  # a week without a row: the next one
        (WEEKS, "weekly", "2024-03-31", 2),
        (WEEKS, "weekly", "2024-04-01", 3),
        (WEEKS, "weekly", "2024-03-01", 0),
        (WEEKS, "daily", "2024-03-13", 2),
        (MONTHS, "monthly", "2024-02-29", 1),
        (MONTHS, "monthly", "2024-03-31", 2),
        (MONTHS, "monthly", "2024-04-01", 3),
    ],
)
def test_an_action_counts_in_the_bar_that_it_lies_in(times, frequency, day, row) -> None:
    assert row_of(times, date.fromisoformat(day), frequency) == row


def test_a_dividend_within_a_week_makes_ratios_total_returns() -> None:
    close, paid = np.array([100.0, 95.0, 96.0]), CorporateAction("X", date(2024, 3, 13), "dividend", 5.0)
    adjusted = adjusted_prices(close, WEEKS, [paid], frequency="weekly")
    # The week of the ex-date pays 5 per share: nothing was lost.
    assert adjusted[1] / adjusted[0] == pytest.approx(95.0 / (100.0 - 5.0))
    assert adjusted[2] / adjusted[1] == pytest.approx(96.0 / 95.0)
    assert cash_by_row(close, WEEKS, [paid], frequency="weekly") == {1: 5.0}


def test_dividends_of_one_day_are_added_before_they_are_compared() -> None:
    times = np.array(DAYS, dtype="datetime64[D]")
    actions = [CorporateAction("X", DAYS[1], kind, 0.6) for kind in ("dividend", "capital-gain")]
    with pytest.raises(DataError, match="not below the price of 1 before it"):
        cash_by_row(np.ones(4), times, actions)
    assert cash_by_row(np.ones(4), times, actions[:1]) == {1: 0.6}
    require_consistent("X", np.array([np.nan, -1.0, 5.0, np.nan]), times, actions, frequency="daily")


JOHANNESBURG = {"exchangeTimezoneName": "Africa/Johannesburg", "currentTradingPeriod": {}, "regularMarketTime": None}


def stamps(*texts: str) -> list[int]:
    return [int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) for text in texts]


def dates(site, client, cache, interval: str, at: list[int], meta: dict[str, object]) -> list[date]:
    """The dates of the bars that are kept of an answer with these rows."""
    from openfingym.data.sources import SourceRequest
    from openfingym.data.sources.progress import silent
    from openfingym.data.sources.yahoo import Yahoo
    from tests.openfingym.data.sources.test_yahoo import chart as answer

    site.on("/v8/finance/chart/X", answer("X", stamps=at, meta=meta, interval=interval))
    request = SourceRequest(("X",), date(2000, 1, 1), date(2030, 1, 1), interval=interval)
    table = Yahoo(base_url=site.url).fetch(request, client, cache, silent)
    found: list[date] = table.times.astype("datetime64[D]").tolist()
    return found


def session(begin: str, hours: float) -> dict[str, object]:
    (opens,) = stamps(begin)
    return {"regular": {"start": opens, "end": opens + int(hours * 3600)}}


def quoted(at: str, begin: str, hours: float, zone: str = "America/New_York") -> dict[str, object]:
    return {"regularMarketTime": stamps(at)[0], "currentTradingPeriod": session(begin, hours),
            "exchangeTimezoneName": zone}  # fmt: skip


WEEKLY = ("2022-06-05T22:00", "2022-06-12T22:00", "2022-06-19T22:00")
MONTHLY = ("2024-02-01T05:00", "2024-03-01T05:00", "2024-04-01T04:00")


@pytest.mark.parametrize(
    ("interval", "at", "meta", "kept"),
    [
        # The quote has a row of its own beside its week, whose bar is left: the week is over on Friday evening.
        ("1wk", (*WEEKLY, "2022-06-24T20:41"), JOHANNESBURG, ["2022-06-06", "2022-06-13", "2022-06-20"]),
        ("1wk", (*WEEKLY, "2022-06-24T15:41"), quoted("2022-06-24T15:41", "2022-06-24T07:00", 8, "Africa/Johannesburg"),
         ["2022-06-06", "2022-06-13", "2022-06-20"]),
        # On Wednesday it is not over, whatever session has ended.
        ("1wk", WEEKLY, quoted("2022-06-22T15:00", "2022-06-22T07:00", 8, "Africa/Johannesburg"),
         ["2022-06-06", "2022-06-13"]),
        ("1wk", WEEKLY, quoted("2022-06-24T14:00", "2022-06-24T07:00", 8, "Africa/Johannesburg"),
         ["2022-06-06", "2022-06-13"]),
        ("1wk", WEEKLY, quoted("2022-06-27T09:00", "2022-06-27T07:00", 8, "Africa/Johannesburg"),
         ["2022-06-06", "2022-06-13", "2022-06-20"]),
        ("1mo", MONTHLY, quoted("2024-04-10T20:00", "2024-04-10T13:30", 6.5), ["2024-02-01", "2024-03-01"]),
        ("1mo", MONTHLY, quoted("2024-04-30T20:00", "2024-04-30T13:30", 6.5),
         ["2024-02-01", "2024-03-01", "2024-04-01"]),
        # Stamped an hour before midnight, since clocks have changed in between.
        ("1mo", ("2024-02-01T04:00", "2024-03-01T04:00"), quoted("2024-05-01T20:00", "2024-05-01T13:30", 6.5),
         ["2024-02-01", "2024-03-01"]),
        # In the evening the session that is stated is the next one, and the quote is no session's bar.
        ("1d", ("2024-03-07T14:30", "2024-03-08T14:30", "2024-03-10T23:12:07"),
         quoted("2024-03-10T23:12:07", "2024-03-11T13:30", 6.5), ["2024-03-07", "2024-03-08"]),
    ],
)  # fmt: skip
def test_a_bar_that_is_not_finished_is_none(site, client, cache, interval, at, meta, kept) -> None:
    assert [f"{day}" for day in dates(site, client, cache, interval, stamps(*at), meta)] == kept


def test_weeks_of_a_server_are_pulled_and_pay_in_their_week(site, client, cache) -> None:
    weeks = [date(2020, 8, 3) + timedelta(weeks=n) for n in range(4)]
    document = chart("X", weeks, [100.0, 95.0, 96.0, 97.0], events=dividend(date(2020, 8, 12), 5.0))
    site.on("/v8/finance/chart/X", document)
    pulled(site, client, cache, "yahoo", "X", start=weeks[0], end=weeks[-1] + timedelta(days=6), interval="1wk")
    panel = pulled_panel("yahoo", ("X",), interval="1wk", cache=cache)
    assert (panel.values[1:, 0] / panel.values[:-1, 0])[0] == pytest.approx(1.0)
