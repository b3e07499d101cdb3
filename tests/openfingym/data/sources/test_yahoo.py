"""The chart API's wire format with everything odd it is known to answer, and explicit adjustment."""

import json
from datetime import UTC, date, datetime

import numpy as np
import pytest

from openfingym.data.sources import NotPublishedError, SourceRequest, adjusted_prices, raw_prices, silent
from openfingym.data.sources.adjust import split_adjusted, split_factors
from openfingym.data.sources.table import CorporateAction
from openfingym.data.sources.yahoo import Yahoo
from openfingym.errors import DataError, UsageError

PATH = "/v8/finance/chart/AAPL"
DAYS = [date(2020, 8, day) for day in (27, 28, 31)] + [date(2020, 9, 1)]


def opening(day, hour=13, minute=30):
    return int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC).timestamp())


def chart(symbol="AAPL", *, stamps=None, meta=None, events=None, drop=(), interval="1d", **fields):
    stamps = [opening(day) for day in DAYS] if stamps is None else stamps
    n = len(stamps)
    quote = {
        "open": [126.0] * n,
        "high": [130.0] * n,
        "low": [125.0] * n,
        "close": [125.01, 124.8075, 129.04, 134.18][:n] + [100.0] * max(0, n - 4),
        "volume": [155552400] * n,
    }
    adjclose = [value if value is None else value * 0.98 for value in quote["close"]]
    adjclose = fields.pop("adjclose", adjclose)
    quote |= fields
    result = {
        "meta": {
            "currency": "USD",
            "symbol": symbol,
            "exchangeName": "NMS",
            "instrumentType": "EQUITY",
            "gmtoffset": -14400,
            "timezone": "EDT",
            "exchangeTimezoneName": "America/New_York",
            "regularMarketTime": opening(date(2020, 9, 1), 20, 0),
            "currentTradingPeriod": {
                "regular": {
                    "timezone": "EDT",
                    "start": opening(date(2020, 9, 1)),
                    "end": opening(date(2020, 9, 1), 20, 0),
                }
            },
            "dataGranularity": interval,
            **(meta or {}),
        },
        "timestamp": stamps,
        "indicators": {"quote": [quote], "adjclose": [{"adjclose": adjclose}]},
    }
    if events:
        result["events"] = events
    for key in drop:
        (result if key in result else result["indicators"]).pop(key)
    return json.dumps({"chart": {"result": [result], "error": None}}).encode()


@pytest.fixture
def fetch(site, client, cache):
    def fetch(*symbols, start=DAYS[0], end=DAYS[-1], **wanted):
        request = SourceRequest(symbols or ("AAPL",), start, end, **wanted)
        return Yahoo(base_url=site.url).fetch(request, client, cache, silent)

    return fetch


def test_prices_events_and_provenance(site, fetch):
    events = {
        "dividends": {"1": {"amount": 0.205, "date": opening(date(2020, 8, 7))}},
        "splits": {
            "2": {"date": opening(date(2020, 8, 31)), "numerator": 4.0, "denominator": 1.0, "splitRatio": "4:1"}
        },
        "capitalGains": {"3": {"amount": 0.5, "date": opening(date(2020, 8, 28))}},
    }
    site.on(PATH, chart(events=events))
    table = fetch()
    assert table.columns == ("open", "high", "low", "close", "volume", "adj_close")
    assert table.times.astype("datetime64[D]").tolist() == DAYS
    assert table.column("close").tolist() == [125.01, 124.8075, 129.04, 134.18]
    np.testing.assert_allclose(table.column("adj_close") / table.column("close"), 0.98)
    assert [(action.kind, action.day, action.value) for action in table.actions] == [
        ("dividend", date(2020, 8, 7), 0.205),
        ("capital-gain", date(2020, 8, 28), 0.5),
        ("split", date(2020, 8, 31), 4.0),
    ]
    assert (table.frequency, table.missing, table.unit) == ("daily", {}, "USD per share; volume in shares")
    assert not table.values.flags.writeable
    (asked,) = site.paths()
    assert "interval=1d&includePrePost=false&events=div,splits,capitalGains" in asked
    assert table.provenance.files[0].url == site.url + asked


def test_the_session_date_is_the_exchanges_not_utcs(site, fetch):
    tokyo = {"exchangeTimezoneName": "Asia/Tokyo", "currency": "JPY", "currentTradingPeriod": {}}
    stamps = [opening(date(2020, 8, 26), 0), opening(date(2020, 8, 27), 0)]
    sydney = {**tokyo, "exchangeTimezoneName": "Australia/Sydney"}
    site.on(PATH, chart(stamps=stamps, meta=tokyo))
    site.on("/v8/finance/chart/BHP.AX", chart("BHP.AX", stamps=[opening(date(2020, 8, 26), 23, 30)], meta=sydney))
    assert fetch(start=date(2020, 8, 1)).times.astype("datetime64[D]").tolist() == [
        date(2020, 8, 26),
        date(2020, 8, 27),
    ]
    assert fetch("BHP.AX", start=date(2020, 8, 1)).times.astype("datetime64[D]").tolist() == [date(2020, 8, 27)]


def test_nulls_and_infinities_are_missing_and_noted(site, fetch):
    nothing = {field: [1.0, None, 1.0, 1.0] for field in ("open", "high", "low", "close", "volume")}
    site.on(PATH, chart(**nothing, adjclose=[1.0, None, float("inf"), 1.0]))
    table = fetch()
    assert table.missing == {"open": 1, "high": 1, "low": 1, "close": 1, "volume": 1, "adj_close": 2}
    assert any("1 infinite" in note for note in table.provenance.notes)
    assert any("7 missing cells, 1 rows wholly empty" in note for note in table.provenance.notes)
    whole = table.select(["close", "adj_close"]).complete()
    assert whole.times.astype("datetime64[D]").tolist() == [DAYS[0], DAYS[3]]
    assert "2 of 4 rows" in whole.provenance.notes[-1]
    panel = whole.to_panel(name="own", title="Own", measure="price")
    assert (panel.info.kind, panel.info.rows, panel.info.missing, panel.digest) == ("real", 2, 0, panel.info.sha256)
    with pytest.raises(DataError, match=r"2020-08-28.*'close': the value is missing"):
        table.select(["close"]).to_panel(name="own", title="Own", measure="price")


def test_the_row_of_an_open_session_is_dropped(site, fetch):
    live = {"regularMarketTime": opening(DAYS[-1], 15)}
    site.on(PATH, chart(meta=live))
    table = fetch()
    assert table.times.astype("datetime64[D]").tolist() == DAYS[:-1]
    assert any("not finished" in note for note in table.provenance.notes)


def test_a_second_row_for_the_last_day_is_dropped(site, fetch):
    site.on(PATH, chart(stamps=[*(opening(day) for day in DAYS), opening(DAYS[-1], 20)]))
    table = fetch()
    assert table.times.astype("datetime64[D]").tolist() == DAYS
    assert table.column("close")[-1] == 134.18
    assert any("not finished" in note for note in table.provenance.notes)


def test_rows_outside_the_period_are_cut(site, fetch):
    site.on(PATH, chart())
    assert fetch(start=DAYS[1], end=DAYS[2]).times.astype("datetime64[D]").tolist() == DAYS[1:3]


def test_several_tickers_share_one_clock(site, fetch):
    site.on(PATH, chart())
    site.on(
        "/v8/finance/chart/VOD.L",
        chart("VOD.L", stamps=[opening(DAYS[1], 7)], meta={"exchangeTimezoneName": "Europe/London", "currency": "GBp"}),
    )
    table = fetch("AAPL", "VOD.L")
    assert table.columns[0] == "AAPL.open"
    assert table.missing["VOD.L.close"] == 3
    assert table.column("VOD.L.close")[1] == 125.01
    assert any("hundredth" in note for note in table.provenance.notes)
    with pytest.raises(DataError, match=r"did you mean 'AAPL\.close'"):
        table.column("AAPL.clse")


def test_shorter_bars_keep_their_time_and_have_no_adjusted_close(site, fetch):
    now = int(datetime.now(UTC).timestamp()) // 86400 * 86400
    stamps = [now - 2 * 86400 + hour * 3600 for hour in (14, 15)]
    site.on(PATH, chart(stamps=stamps, drop=["adjclose"], meta={"currentTradingPeriod": {}}))
    table = fetch(start=None, end=None, interval="1h")
    assert table.times.astype("datetime64[s]").astype(int).tolist() == stamps
    assert (table.frequency, table.columns[-1]) == ("hourly", "volume")


@pytest.mark.parametrize(
    ("body", "status", "error", "message"),
    [
        (
            (
                b'{"chart":{"result":null,"error":{"code":"Not Found","description":"No data found, symbol may be '
                b'delisted"}}}'
            ),
            200,
            NotPublishedError,
            "delisted",
        ),
        (
            (
                b'{"chart":{"result":null,"error":{"code":"Not Found","description":"No data found, symbol may be '
                b'delisted"}}}'
            ),
            404,
            NotPublishedError,
            "delisted",
        ),
        (chart(drop=["timestamp"]), 200, NotPublishedError, "no rows"),
        (chart(stamps=[]), 200, NotPublishedError, "no rows"),
        (chart(close=[1.0]), 200, DataError, "4 timestamps but 1 values for 'close'"),
        (chart(volume=None), 200, DataError, "nothing for 'volume'"),
        (chart(drop=["quote"]), 200, DataError, "format has changed"),
        (chart(close=["a", 1, 1, 1]), 200, DataError, "format has changed"),
        (chart(meta={"exchangeTimezoneName": "Mars/Olympus"}), 200, DataError, "format has changed"),
        (
            chart(stamps=[opening(day) for day in (DAYS[1], DAYS[0], DAYS[2], DAYS[3])]),
            200,
            DataError,
            "not after the row above",
        ),
        (
            chart(events={"splits": {"1": {"date": 1, "numerator": 0.0, "denominator": 1.0}}}),
            200,
            DataError,
            "split of 0.0",
        ),
        (b'{"finance":{}}', 200, DataError, "format has changed"),
        (b"{broken", 200, DataError, "format has changed"),
        (b"[]", 200, DataError, "format has changed"),
        (b"<html><title>Oops</title></html>", 200, DataError, "web page titled 'Oops'"),
        (b"Too Many Requests\r\n", 200, DataError, "Too Many Requests.*gave up after 3"),
    ],
)
def test_bad_answers(site, fetch, reply, body, status, error, message):
    site.on(PATH, reply(body, status))
    with pytest.raises(error, match=message):
        fetch()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"interval": "1M"}, "no interval '1M'"),
        ({"interval": "1m", "start": date(2024, 1, 1), "end": date(2024, 2, 1)}, "at most 8 days of 1m"),
        ({"start": date(2999, 1, 1), "end": None}, "is empty"),
    ],
)
def test_what_the_service_does_not_have_is_refused_before_asking(site, fetch, wanted, message):
    with pytest.raises(UsageError, match=message):
        fetch(**wanted)
    assert site.asked == []


def test_a_request_is_checked():
    with pytest.raises(UsageError, match="tuple of different names"):
        SourceRequest("AAPL")
    with pytest.raises(UsageError, match="tuple of different names"):
        SourceRequest(("AAPL", "AAPL"))
    with pytest.raises(UsageError, match="after end"):
        SourceRequest(("AAPL",), date(2024, 1, 2), date(2024, 1, 1))


# AAPL from the Quandl WIKI prices (public domain): close, and close adjusted back from 2013-03-01 by ex-close
# reinvestment.
WIKI = {
    "2012-08-07": (622.77, 620.914, 79.796103082357),
    "2012-08-08": (619.39, 619.86, 79.660649392073),
    "2012-08-09": (617.85, 620.73, 80.113018452603),
    "2012-11-06": (590.23, 582.8495, 75.22406319751),
    "2012-11-07": (573.835, 558.0019, 72.35918355837),
    "2013-02-06": (456.47, 457.35, 59.307096625335),
    "2013-02-07": (463.25, 468.22, 61.060309583408),
    "2013-03-01": (438.0, 430.47, 56.137353095488),
}


def test_adjustment_agrees_with_published_adjusted_prices():
    times = np.array(list(WIKI), dtype="datetime64[ns]")
    close, published = np.array([row[1] for row in WIKI.values()]), np.array([row[2] for row in WIKI.values()])
    dividends = [
        CorporateAction("AAPL", date.fromisoformat(day), "dividend", 2.65)
        for day in ("2012-08-09", "2012-11-07", "2013-02-07")
    ]
    adjusted = adjusted_prices(close, times, dividends, reinvested_at="ex-close")
    np.testing.assert_allclose(adjusted / adjusted[-1], published / published[-1], rtol=2e-6)
    assert adjusted[-1] == close[-1]


def test_prior_close_factors_by_hand():
    times = np.arange("2024-01-01", "2024-01-06", dtype="datetime64[D]").astype("datetime64[ns]")
    close = np.array([100.0, 50.0, 48.0, np.nan, 60.0])
    paid = [
        CorporateAction("X", date(2024, 1, 3), "dividend", 1.5),
        CorporateAction("X", date(2024, 1, 3), "capital-gain", 0.5),
        CorporateAction("X", date(2024, 1, 4), "dividend", 4.8),
    ]
    adjusted = adjusted_prices(close, times, paid)
    np.testing.assert_allclose(adjusted, [100 * 0.96 * 0.9, 50 * 0.96 * 0.9, 48 * 0.9, np.nan, 60.0])
    with pytest.raises(DataError, match="not below the price of 50"):
        adjusted_prices(close, times, [CorporateAction("X", date(2024, 1, 3), "dividend", 50.0)])
    with pytest.raises(DataError, match="one length"):
        adjusted_prices(close[:2], times, paid)
    outside = [
        CorporateAction("X", date(2023, 1, 1), "dividend", 5.0),
        CorporateAction("X", date(2025, 1, 1), "dividend", 5.0),
    ]
    np.testing.assert_array_equal(adjusted_prices(close, times, outside), close)


def test_splits_undone_and_done_again(site, fetch):
    """Apple split 4 for 1 on 2020-08-31: it closed at 499.23 on 2020-08-28 and at 129.04 on the 31st."""
    events = {
        "splits": {"2": {"date": opening(date(2020, 8, 31)), "numerator": 4.0, "denominator": 1.0, "splitRatio": "4:1"}}
    }
    site.on(PATH, chart(events=events))
    table = fetch()
    close = table.column("close")
    raw = raw_prices(close, table.times, table.actions)
    assert raw.tolist() == [500.04, 499.23, 129.04, 134.18]
    assert split_factors(table.times, table.actions).tolist() == [4.0, 4.0, 1.0, 1.0]
    np.testing.assert_array_equal(split_adjusted(raw, table.times, table.actions), close)
    reverse = [CorporateAction("X", date(2020, 8, 28), "split", 0.1), *table.actions]
    assert split_factors(table.times, reverse).tolist() == [0.4, 4.0, 1.0, 1.0]
