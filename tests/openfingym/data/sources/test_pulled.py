"""Panels from pulled files alone: each source pulled from a real server, which is then gone."""

import hashlib
import io
import json
import zipfile
from datetime import UTC, date, datetime

import numpy as np
import pytest

from openfingym.data.curves import simulated_curves
from openfingym.data.pulled import pull_command, pulled_curves, pulled_panel
from openfingym.data.recipe import to_values
from openfingym.data.sources import adjusted_prices
from openfingym.data.sources.catalog import pull
from openfingym.errors import DataError, TaskError

DAYS = [date(2020, 8, 27), date(2020, 8, 28), date(2020, 8, 31), date(2020, 9, 1)]


@pytest.fixture
def pulls(site, client, cache):
    """Pull from the site, then take it away: whatever is read afterwards comes from the cache."""

    def pulls(name, *symbols, **options):
        record = pull(name, symbols=symbols, client=client, cache=cache, base_url=site.url, **options).record
        site.routes.clear()
        site.asked.clear()
        return record

    yield pulls
    assert site.asked == []


# ---- Yahoo


def second(day, hour=13, minute=30):
    return int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC).timestamp())


def chart(symbol, days, closes, *, events=None, adjusted=None, currency="USD"):
    session = {"regular": {"start": second(DAYS[-1]), "end": second(DAYS[-1], 20)}}
    meta = {
        "currency": currency,
        "symbol": symbol,
        "exchangeTimezoneName": "America/New_York",
        "currentTradingPeriod": session,
    }
    cells = dict.fromkeys(("open", "high", "low", "close"), closes) | {"volume": [100] * len(days)}
    result = {
        "meta": meta | {"regularMarketTime": second(DAYS[-1], 20)},
        "timestamp": [second(day) for day in days],
        "events": events or {},
        "indicators": {"quote": [cells], "adjclose": [{"adjclose": adjusted or closes}]},
    }
    return json.dumps({"chart": {"result": [result], "error": None}}).encode()


SPLIT = {"splits": {"1": {"date": second(DAYS[2]), "numerator": 4.0, "denominator": 1.0}}}
DIVIDEND = {"dividends": {"1": {"date": second(DAYS[2]), "amount": 2.0}}}


def test_yahoo_closes_are_adjusted_and_aligned(site, cache, pulls):
    site.on("/v8/finance/chart/AAPL", chart("AAPL", DAYS, [125.0, 124.5, 129.0, 134.0], events=SPLIT))
    site.on(
        "/v8/finance/chart/XOM",
        chart("XOM", DAYS[1:], [40.0, 39.0, 38.5], events=DIVIDEND, adjusted=[38.0, 39.0, 38.5]),
    )
    record = pulls("yahoo", "AAPL", "XOM", start=DAYS[0], end=DAYS[-1])
    panel = pulled_panel("yahoo", ["XOM", "AAPL"], cache=cache)
    assert panel.channels == ("XOM", "AAPL")
    assert panel.times.astype("datetime64[D]").tolist() == DAYS[1:]
    # AAPL's closes are in shares of today already; 2 paid on a close of 40 before leave 38 of it.
    np.testing.assert_array_equal(panel.values, [[38.0, 124.5], [39.0, 129.0], [38.5, 134.0]])
    info = panel.info
    assert (info.kind, info.measure, info.frequency, info.unit, info.missing, info.rows) == (
        "real",
        "price",
        "daily",
        "USD per share",
        0,
        3,
    )
    assert "1 splits by Yahoo" in info.corporate_actions
    assert "1 dividends" in info.corporate_actions
    assert info.calendar.startswith("the 3 rows in which every channel has a value, of 4 in the period")
    assert "1 of 4 rows with a missing value dropped" in info.notes
    assert record.pulled_at in info.provenance
    assert [digest for _, digest in info.originals] == [origin.sha256 for origin in record.files]
    assert len(record.files) == 2
    assert (panel.digest, info.sha256, info.channels) == (info.sha256, panel.digest, panel.channels)
    assert to_values(panel, "log_return")[1][0, 0] == pytest.approx(np.log(39.0 / 38.0), abs=1e-10)


def test_yahoo_one_ticker_of_several_and_one_alone(site, cache, pulls):
    site.on("/v8/finance/chart/AAPL", chart("AAPL", DAYS, [1.0, 2.0, 3.0, 4.0]))
    site.on("/v8/finance/chart/XOM", chart("XOM", DAYS[1:], [40.0, 39.0, 38.5]))
    pulls("yahoo", "AAPL", "XOM", start=DAYS[0], end=DAYS[-1])
    assert pulled_panel("yahoo", ["AAPL"], cache=cache).values.ravel().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert pulled_panel("yahoo", cache=cache).channels == ("AAPL", "XOM")
    site.on("/v8/finance/chart/AAPL", chart("AAPL", DAYS, [9.0, 2.0, 3.0, 4.0]))
    pulls("yahoo", "AAPL", start=DAYS[0], end=DAYS[-1], refresh=True)
    assert pulled_panel("yahoo", ["AAPL"], cache=cache).values[0, 0] == 9.0
    # The pull of both still names the file of then.
    assert pulled_panel("yahoo", ["AAPL", "XOM"], cache=cache).values[0].tolist() == [2.0, 40.0]


def test_yahoos_own_adjustment_is_compared_with_ours(site, cache, pulls):
    site.on(
        "/v8/finance/chart/XOM",
        chart("XOM", DAYS, [40.0, 40.0, 39.0, 38.5], events=DIVIDEND, adjusted=[37.0, 37.0, 39.0, 38.5]),
    )
    pulls("yahoo", "XOM", start=DAYS[0], end=DAYS[-1])
    panel = pulled_panel("yahoo", ["XOM"], cache=cache)
    assert "XOM: up to 2.63% from Yahoo's own adjusted close" in panel.info.notes
    actions = pull("yahoo", symbols=("XOM",), start=DAYS[0], end=DAYS[-1], cache=cache, base_url=site.url).table.actions
    np.testing.assert_array_equal(
        panel.values[:, 0], adjusted_prices(np.array([40.0, 40.0, 39.0, 38.5]), panel.times, actions)
    )


def test_a_price_below_zero_has_no_return_and_is_left_out_with_a_note(site, cache, pulls):
    site.on("/v8/finance/chart/CL%3DF", chart("CL=F", DAYS, [18.27, -37.63, 10.01, 13.78]))
    pulls("yahoo", "CL=F", start=DAYS[0], end=DAYS[-1])
    panel = pulled_panel("yahoo", ["CL=F"], cache=cache)
    assert panel.values.ravel().tolist() == [18.27, 10.01, 13.78]
    assert "CL=F: -37.63 on 2020-08-28 taken as missing" in panel.info.notes


def test_tickers_that_never_trade_together(site, cache, pulls):
    site.on("/v8/finance/chart/A", chart("A", DAYS[:2], [1.0, 2.0]))
    site.on("/v8/finance/chart/B", chart("B", DAYS[2:], [1.0, 2.0]))
    pulls("yahoo", "A", "B", start=DAYS[0], end=DAYS[-1])
    with pytest.raises(DataError, match="no row has a value in every one of the columns A, B"):
        pulled_panel("yahoo", ["A", "B"], cache=cache)


# ---- Binance

HOUR_MS = 3_600_000


def klines(day, *, hours=24, skip=(), close=100.0):
    first = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    rows = [(first + h * HOUR_MS, close + h) for h in range(hours) if h not in skip]
    return [[t, str(c), str(c + 1), str(c - 1), str(c), "1", t + HOUR_MS - 1, "1", 1, "1", "1", "0"] for t, c in rows]


def archived(site, symbol, day, rows):
    stem = f"{symbol}-1h-{day}"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{stem}.csv", "".join(",".join(map(str, row)) + "\n" for row in rows))
    path = f"/data/spot/daily/klines/{symbol}/1h/{stem}.zip"
    site.on(path, packed.getvalue())
    site.on(f"{path}.CHECKSUM", f"{hashlib.sha256(packed.getvalue()).hexdigest()}  {stem}.zip\n".encode())


def test_binance_archive(site, cache, pulls):
    first, last = date(2024, 6, 1), date(2024, 6, 3)
    for symbol, close in (("BTCUSDT", 60_000.0), ("ETHUSDT", 3_000.0)):
        for day in (first, last):
            archived(
                site, symbol, day, klines(day, skip={5} if symbol == "ETHUSDT" and day == last else (), close=close)
            )
    record = pulls("binance-archive", "BTCUSDT", "ETHUSDT", start=first, end=last, interval="1h")
    assert len(record.files) == 8
    assert len(record.absent) == 2
    panel = pulled_panel("binance-archive", ["ETHUSDT", "BTCUSDT"], interval="1h", cache=cache)
    assert panel.values[0].tolist() == [3_000.0, 60_000.0]
    assert (len(panel.times), panel.info.frequency, panel.info.measure) == (47, "hourly", "price")
    assert "1 of 48 rows with a missing value dropped" in panel.info.notes
    assert "BTCUSDT: no file for 2024-06-02" in panel.info.notes
    assert str(panel.times[0]) == "2024-06-01T00:00:00.000000000"
    with pytest.raises(DataError, match=r"data pull binance-archive --symbols BTCUSDT --start 2023-01-01$"):
        pulled_panel("binance-archive", ["BTCUSDT"], cache=cache)


def test_binance_rest(site, cache, pulls):
    day = date(2024, 6, 1)
    site.on("/api/v3/klines", json.dumps(klines(day)).encode())
    pulls("binance-rest", "BTCUSDT", start=day, end=day, interval="1h")
    panel = pulled_panel("binance-rest", ["BTCUSDT"], interval="1h", start=day, end=day, cache=cache)
    assert panel.values.ravel().tolist() == [100.0 + hour for hour in range(24)]
    with pytest.raises(
        DataError, match=r"is from 2024-06-01 to 2024-06-01\. Run .* --interval 1h --start 2024-05-01 --end 2024-06-01$"
    ):
        pulled_panel("binance-rest", ["BTCUSDT"], interval="1h", start=date(2024, 5, 1), end=day, cache=cache)


# ---- rates


def test_treasury(site, cache, pulls):
    path = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/2024/all"
    site.on(
        path, b'Date,"1 Mo","10 Yr","30 Yr"\n01/04/2024,5.5,4.00,4.1\n01/03/2024,5.54,3.91,\n01/02/2024,,3.95,4.0\n'
    )
    pulls("treasury", start=date(2024, 1, 1), end=date(2024, 12, 31))
    panel = pulled_panel("treasury", ["10y", "30y"], cache=cache)
    assert panel.values.tolist() == [[3.95, 4.0], [4.0, 4.1]]
    assert (panel.info.measure, panel.info.unit) == ("yield", "percent per annum, bond-equivalent")
    assert pulled_panel("treasury", cache=cache).channels == ("1m", "10y", "30y")
    with pytest.raises(DataError, match=r"no channel '3m'"):
        pulled_panel("treasury", ["3m"], cache=cache)
    with pytest.raises(TaskError, match="holds yields"):
        to_values(panel, "log_return")


def test_a_pull_that_follows_the_clock_is_read_again_on_another_day(site, cache, pulls, monkeypatch):
    """Years later the request without an end still means the years it meant."""
    year = datetime.now(UTC).year
    path = f"/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/{year}/all"
    site.on(path, f'Date,"10 Yr"\n01/02/{year},3.95\n'.encode())
    pulls("treasury", start=date(year, 1, 1))

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(year + 3, 5, 5, tzinfo=tz)

    monkeypatch.setattr("openfingym.data.sources.treasury.datetime", Later)
    assert pulled_panel("treasury", ["10y"], cache=cache).values.tolist() == [[3.95]]


def test_ecb_pairs_are_crosses(site, cache, pulls):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "eurofxref-hist.csv", "Date,USD,JPY,CYP,\n2026-10-30,1.1172,175.68,N/A,\n2026-10-29,1.115,175.1,0.5,\n"
        )
    site.on("/stats/eurofxref/eurofxref-hist.zip", packed.getvalue())
    pulls("ecb")
    panel = pulled_panel("ecb", ["usd_jpy", "eur_usd", "jpy_eur", "JPY"], cache=cache)
    assert panel.values.tolist() == [[157.0404, 1.115, 0.005711022, 175.1], [157.2503, 1.1172, 0.005692168, 175.68]]
    assert panel.info.measure == "price"
    assert "3 pairs are crosses through the euro, to 7 significant digits" in panel.info.notes
    assert len(pulled_panel("ecb", ["JPY", "CYP"], cache=cache).times) == 1
    with pytest.raises(DataError, match="no channel 'GBP'"):
        pulled_panel("ecb", ["gbp_usd"], cache=cache)


def test_fred(site, cache, pulls):
    for series, rows in {
        "DGS2": "2024-01-02,4.33\n2024-01-03,\n2024-01-04,4.38",
        "CPI": "2024-01-02,-0.1\n2024-01-04,310.2",
    }.items():
        site.on(f"/graph/fredgraph.csv?id={series}", f"observation_date,{series}\n{rows}\n".encode())
    pulls("fred", "DGS2", "CPI")
    assert pulled_panel("fred", ["DGS2"], cache=cache).info.measure == "yield"
    both = pulled_panel("fred", ["CPI", "DGS2"], cache=cache)
    assert both.values.tolist() == [[-0.1, 4.33], [310.2, 4.38]]
    assert (both.info.measure, both.info.units) == ("mixed", ("as the series states",) * 2)
    with pytest.raises(DataError, match="openfingym data pull fred --symbols DGS2,GDP"):
        pulled_panel("fred", ["DGS2", "GDP"], cache=cache)


def eiopa_release(day, rates):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    page = book.create_sheet("RFR_spot_no_VA")
    for row in [["Main menu"], [None, None, *rates], *[[None, "VA", *[1] * len(rates)]] * 8]:
        page.append(row)
    for year in range(1, 151):
        page.append([None, year, *[round(rate + year * 1e-5, 5) for rate in rates.values()]])
    file, packed = io.BytesIO(), io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"EIOPA_RFR_{day:%Y%m%d}_Term_Structures.xlsx", file.getvalue())
    return packed.getvalue()


def test_eiopa(site, cache, pulls):
    pytest.importorskip("python_calamine")
    from openfingym.data.sources.eiopa import PAGES

    days = [date(2024, 10, 31), date(2024, 12, 31)]
    links = "".join(f'<a href="/EIOPA_RFR_{day:%Y%m%d}.zip">x</a>' for day in days).encode()
    for page in PAGES:
        site.on(page, b"<html>" + links)
    for day in days:
        site.on(f"/EIOPA_RFR_{day:%Y%m%d}.zip", eiopa_release(day, {"Euro": 0.02, "Austria": 0.031}))
    pulls("eiopa-euro-curves", start=days[0], end=days[1])
    panel = pulled_panel("eiopa", ["1y", "150y"], cache=cache)
    assert panel.values.tolist() == [[2.001, 2.15]] * 2
    assert (panel.info.frequency, panel.info.measure) == ("monthly", "yield")
    assert panel.info.unit.startswith("percent")
    assert "no release is linked for 2024-11" in panel.info.notes
    assert pulled_panel("eiopa-euro-curves", cache=cache).values.shape == (2, 150)
    with pytest.raises(DataError, match=r"openfingym data pull eiopa --symbols Austria$"):
        pulled_panel("eiopa", ["Austria.10y"], cache=cache)


def test_several_countries_of_eiopa(site, cache, pulls):
    pytest.importorskip("python_calamine")
    from openfingym.data.sources.eiopa import PAGES

    for page in PAGES:
        site.on(page, b'<html><a href="/EIOPA_RFR_20241231.zip">x</a>')
    site.on("/EIOPA_RFR_20241231.zip", eiopa_release(date(2024, 12, 31), {"Euro": 0.02, "Austria": 0.031}))
    pulls("eiopa", "Euro", "Austria")
    assert pulled_panel("eiopa", ["Austria.10y", "10y"], cache=cache).values.tolist() == [[3.11, 2.01]]
    curves = pulled_curves(("Austria", "Euro"), cache=cache)
    assert (curves.values.shape, curves.countries, curves.info.kind) == ((1, 2, 150), ("Austria", "Euro"), "real")
    assert curves.values[0, :, 9].tolist() == [3.11, 2.01]
    simulated = simulated_curves()
    assert curves.maturities.dtype == simulated.maturities.dtype
    assert curves.maturities.tolist() == simulated.maturities.tolist()
    assert not curves.values.flags.writeable
    with pytest.raises(DataError, match=r"and 144 more of eiopa have not been pulled\..*--symbols Japan$"):
        pulled_curves(("Japan",), cache=cache)


# ---- what is not there


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("yahoo", ["XOM", "^GSPC"]), "openfingym data pull yahoo --symbols 'XOM,^GSPC'"),
        (("treasury", ["10y"]), "openfingym data pull treasury --symbols 10y"),
        (("treasury-par-yields", ["10y"]), "openfingym data pull treasury-par-yields"),
        (("binance-hourly", ["BTCUSDT"]), "openfingym data pull binance-hourly"),
        (("ecb", ["eur_usd", "usd_jpy"]), "openfingym data pull ecb --symbols JPY,USD"),
        (("ecb", ["eur_eur"]), "openfingym data pull ecb"),
        (("eiopa", ["10y", "United States.3y"]), "openfingym data pull eiopa --symbols 'Euro,United States'"),
    ],
)
def test_what_was_not_pulled_is_met_with_the_command_that_pulls_it(site, cache, arguments, command):
    with pytest.raises(DataError) as raised:
        pulled_panel(*arguments, cache=cache)
    assert str(raised.value).endswith(f"have not been pulled. Run this once, with a network: {command}")
    assert not cache.root.exists()


def test_commands():
    assert pull_command("yahoo", ("A",), interval="1h", end=date(2024, 1, 2)) == (
        "openfingym data pull yahoo --symbols A --interval 1h --end 2024-01-02"
    )


def test_names_nobody_knows(cache):
    with pytest.raises(DataError, match="did you mean 'yahoo'"):
        pulled_panel("yaho", ["XOM"], cache=cache)


def test_a_damaged_file_is_named_and_not_read(site, cache, pulls):
    site.on("/graph/fredgraph.csv", b"observation_date,DGS2\n2024-01-02,4.33\n")
    record = pulls("fred", "DGS2")
    blob = cache.root / "blobs" / record.files[0].sha256[:2] / record.files[0].sha256
    blob.write_bytes(blob.read_bytes().replace(b"4.33", b"9.99"))
    with pytest.raises(DataError, match="was damaged and has been removed; pull the dataset again"):
        pulled_panel("fred", ["DGS2"], cache=cache)
