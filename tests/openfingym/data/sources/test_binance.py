"""The archive's zips and checksums, the REST pages, milliseconds and microseconds, gaps and faults."""

import hashlib
import io
import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from openfingym.data.sources import NotPublishedError, SourceRequest, silent
from openfingym.data.sources.binance_archive import BinanceArchive, months, read_checksum
from openfingym.data.sources.binance_rest import BinanceRest
from openfingym.data.sources.klines import COLUMNS, read_csv
from openfingym.errors import DataError, UsageError

HOUR_MS = 3_600_000


def millis(day):
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def bars(first_ms, count, *, scale=1, step=HOUR_MS, skip=()):
    """Lines as the archive writes them; ``scale`` 1000 is microseconds."""
    lines = []
    for i in range(count):
        if i in skip:
            continue
        opened = (first_ms + i * step) * scale
        closes = (first_ms + (i + 1) * step) * scale - 1
        lines.append(
            f"{opened},{100 + i}.10000000,{101 + i}.5,{99 + i}.5,{100 + i}.7,12.5,{closes},1256.0,42,6.25,628.0,0"
        )
    return "\n".join(lines) + "\n"


class Archive:
    def __init__(self, site):
        self.site = site

    def publish(self, folder, symbol, interval, period, text, *, digest=None, member=None):
        stem = f"{symbol}-{interval}-{period}"
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member or f"{stem}.csv", text)
        body = packed.getvalue()
        path = f"/data/spot/{folder}/klines/{symbol}/{interval}/{stem}.zip"
        self.site.on(path, body)
        self.site.on(f"{path}.CHECKSUM", f"{digest or hashlib.sha256(body).hexdigest()}  {stem}.zip\n".encode())
        return path


@pytest.fixture
def archive(site):
    return Archive(site)


@pytest.fixture
def fetch(site, client, cache):
    def fetch(*symbols, start, end, interval="1h", refresh=False):
        request = SourceRequest(symbols or ("BTCUSDT",), start, end, interval, refresh)
        return BinanceArchive(base_url=site.url).fetch(request, client, cache, silent)

    return fetch


def test_months_are_taken_whole_and_the_rest_by_day_across_the_change_to_microseconds(site, archive, fetch):
    archive.publish("monthly", "BTCUSDT", "1h", "2024-12", bars(millis(date(2024, 12, 1)), 31 * 24))
    for day in (date(2024, 11, 30), date(2025, 1, 1), date(2025, 1, 2)):
        archive.publish(
            "daily", "BTCUSDT", "1h", day.isoformat(), bars(millis(day), 24, scale=1000 if day.year == 2025 else 1)
        )
    table = fetch(start=date(2024, 11, 30), end=date(2025, 1, 2))
    assert table.columns == COLUMNS
    assert len(table.times) == 34 * 24
    assert set(np.diff(table.times).tolist()) == {HOUR_MS * 10**6}
    assert str(table.times[0]) == "2024-11-30T00:00:00.000000000"
    assert str(table.times[-1]) == "2025-01-02T23:00:00.000000000"
    assert table.values[0].tolist() == [100.1, 101.5, 99.5, 100.7, 12.5, 1256.0, 42.0, 6.25, 628.0]
    assert (table.frequency, table.missing, table.provenance.notes) == ("hourly", {}, ())
    assert len(table.provenance.files) == 4
    assert [path for path in site.paths() if "monthly" in path and "2024-11" in path] == []


def test_a_month_not_there_yet_is_taken_by_day_and_missing_days_are_noted(archive, fetch):
    for day in range(1, 29):
        if day not in {7, 28}:
            archive.publish(
                "daily", "BTCUSDT", "1d", f"2023-02-{day:02d}", bars(millis(date(2023, 2, day)), 1, step=24 * HOUR_MS)
            )
    table = fetch(start=date(2023, 2, 1), end=date(2023, 2, 28), interval="1d")
    assert len(table.times) == 26
    assert table.provenance.notes == (
        "BTCUSDT: no monthly file for 2023-02, taken day by day",
        "BTCUSDT: no file for 2023-02-07",
        "BTCUSDT: no file for 2023-02-28",
        "BTCUSDT: 1 bars of 1d are missing within the period",
    )


def test_nothing_published_is_an_error(fetch):
    with pytest.raises(DataError, match="binance-archive BTCUSDT: nothing was published"):
        fetch(start=date(2024, 6, 1), end=date(2024, 6, 2))


def test_several_pairs_share_one_clock(archive, fetch):
    archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", bars(millis(date(2024, 6, 1)), 24, skip={3}))
    archive.publish("daily", "ETHUSDT", "1h", "2024-06-01", bars(millis(date(2024, 6, 1)), 24))
    table = fetch("BTCUSDT", "ETHUSDT", start=date(2024, 6, 1), end=date(2024, 6, 1))
    assert table.values.shape == (24, 18)
    assert table.missing == {f"BTCUSDT.{column}": 1 for column in COLUMNS}
    assert np.isnan(table.column("BTCUSDT.close")[3])


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(site, archive, fetch, cache):
    path = archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", bars(millis(date(2024, 6, 1)), 24), digest="0" * 64)
    with pytest.raises(DataError, match="its publisher states 0000"):
        fetch(start=date(2024, 6, 1), end=date(2024, 6, 1))
    assert cache.entry(site.url + path) is None


def test_a_file_corrected_by_the_publisher_is_taken_on_refresh_only(archive, fetch):
    day = date(2024, 6, 1)
    archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", bars(millis(day), 24))
    first = fetch(start=day, end=day)
    archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", bars(millis(day), 24).replace("100.7,12.5", "100.8,12.5"))
    assert fetch(start=day, end=day).digest == first.digest
    corrected = fetch(start=day, end=day, refresh=True)
    assert corrected.column("close")[0] == 100.8
    assert corrected.provenance.files[0].sha256 != first.provenance.files[0].sha256


def test_an_unchanged_file_is_not_sent_again_on_refresh(site, archive, fetch):
    path = archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", bars(millis(date(2024, 6, 1)), 24))
    for refresh in (False, True):
        fetch(start=date(2024, 6, 1), end=date(2024, 6, 1), refresh=refresh)
    assert site.paths().count(path) == 1
    assert site.paths().count(f"{path}.CHECKSUM") == 2


GOOD = bars(millis(date(2024, 6, 1)), 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("open_time,open,high,low,close,volume,close_time\n", "empty"),
        ("time;price\n1;2\n", "the header is"),
        (GOOD[:-30], "cut off"),
        (GOOD[:-1], "the last line has no end"),
        (GOOD.replace(",0\n", "\n"), "11 cells a line, expected 12"),
        (GOOD.replace("42", "many"), "not candlesticks"),
        (GOOD.replace("42", "nan"), "line 1: a cell is not finite"),
        (GOOD + GOOD, "line 4: .* is not after the line above"),
        (GOOD.replace("102.5", "0.5"), r"line 2: open, high, low, close are .* no candlestick"),
        (GOOD.replace("100.10000000", "-1"), "no candlestick"),
    ],
)
def test_damaged_csv(text, message):
    with pytest.raises(DataError, match=message):
        read_csv(text.encode(), "a.csv")


def test_a_header_line_is_understood():
    header = (
        "open_time,open,high,low,close,volume,close_time,quote_volume,count,"
        "taker_buy_volume,taker_buy_quote_volume,ignore\n"
    )
    np.testing.assert_array_equal(read_csv((header + GOOD).encode(), "a")[2], read_csv(GOOD.encode(), "a")[2])


def test_an_archive_without_the_expected_file_or_damaged(site, archive, fetch, reply):
    day = date(2024, 6, 1)
    archive.publish("daily", "BTCUSDT", "1h", "2024-06-01", GOOD, member="other.csv")
    with pytest.raises(DataError, match=r"expected one file of the wanted name, found 0 among other.csv"):
        fetch(start=day, end=day)
    half = b"PK\x03\x04" + bytes(100)
    path = "/data/spot/daily/klines/ETHUSDT/1h/ETHUSDT-1h-2024-06-01.zip"
    site.on(path, half)
    site.on(f"{path}.CHECKSUM", f"{hashlib.sha256(half).hexdigest()}  ETHUSDT-1h-2024-06-01.zip".encode())
    with pytest.raises(DataError, match="the archive is damaged"):
        fetch("ETHUSDT", start=day, end=day)


def test_checksum_files():
    digest = "ab" * 32
    assert read_checksum(f"{digest}  a.zip\n".encode(), "a.zip") == digest
    for content in (b"", b"abc  a.zip", f"{digest}  b.zip".encode(), b"<html>"):
        with pytest.raises(DataError, match=r"a.zip.CHECKSUM"):
            read_checksum(content, "a.zip")


def test_months_tile_the_period():
    parts = list(months(date(2023, 12, 31), date(2024, 3, 1)))
    assert parts == [
        (date(2023, 12, 31), date(2023, 12, 31)),
        (date(2024, 1, 1), date(2024, 1, 31)),
        (date(2024, 2, 1), date(2024, 2, 29)),
        (date(2024, 3, 1), date(2024, 3, 1)),
    ]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (SourceRequest(("btcusdt",), date(2024, 1, 1)), "not a symbol"),
        (SourceRequest(("../x",), date(2024, 1, 1)), "not a symbol"),
        (SourceRequest((), date(2024, 1, 1)), "at least one symbol"),
        (SourceRequest(("BTCUSDT",), date(2024, 1, 1), interval="1M"), "no interval '1M'"),
        (SourceRequest(("BTCUSDT",)), "needs a start day"),
        (SourceRequest(("BTCUSDT",), date(2999, 1, 1)), "is empty"),
    ],
)
def test_what_binance_does_not_have_is_refused_before_asking(site, client, cache, request_, message):
    for source in (BinanceArchive(base_url=site.url), BinanceRest(base_url=site.url)):
        with pytest.raises(UsageError, match=message):
            source.fetch(request_, client, cache, silent)
    assert site.asked == []


# ---- REST


def page(first_ms, count, step=HOUR_MS):
    prices, counts = ["100.1", "101.5", "99.5", "100.7", "12.5"], ["1256.0", 42, "6.25", "628.0", "0"]
    row = lambda t: [t, *prices, t + step - 1, *counts]  # noqa: E731
    return json.dumps([row(first_ms + i * step) for i in range(count)]).encode()


@pytest.fixture
def rest(site, client, cache):
    def rest(start, end, interval="1h"):
        return BinanceRest(base_url=site.url).fetch(
            SourceRequest(("BTCUSDT",), start, end, interval), client, cache, silent
        )

    return rest


def test_pages_tile_the_period_and_end_before_today(site, rest):
    start, end = date(2024, 1, 1), date(2024, 2, 15)
    hours = ((end - start).days + 1) * 24
    site.on("/api/v3/klines", page(millis(start), 1000), page(millis(start) + 1000 * HOUR_MS, hours - 1000))
    table = rest(start, end)
    assert len(table.times) == hours
    queries = [{key: value[0] for key, value in parse_qs(urlsplit(path).query).items()} for path in site.paths()]
    assert [query["startTime"] for query in queries] == [str(millis(start)), str(millis(start) + 1000 * HOUR_MS)]
    assert queries[-1]["endTime"] == str(millis(end + timedelta(days=1)) - 1)
    assert {query["limit"] for query in queries} == {"1000"}


def test_a_bar_of_today_never_enters(site, rest):
    today = datetime.now(UTC).date()
    site.on("/api/v3/klines", page(millis(today - timedelta(days=2)), 3, step=24 * HOUR_MS))
    table = rest(today - timedelta(days=2), None, "1d")
    assert table.times[-1].astype("datetime64[D]").item() == today - timedelta(days=1)


def test_pages_before_a_market_opened_are_empty(site, rest):
    site.on("/api/v3/klines", b"[]", page(millis(date(2024, 2, 12)), 10))
    assert len(rest(date(2024, 1, 1), date(2024, 2, 15)).times) == 10
    site.on("/api/v3/klines", b"[]")
    with pytest.raises(DataError, match="nothing was published"):
        rest(date(2023, 1, 1), date(2023, 2, 1))


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b'{"code":-1121,"msg":"Invalid symbol."}', 400, "refused with status 400.*Invalid symbol"),
        (
            b'{"code":-1003,"msg":"Too much request weight used."}',
            200,
            r"Too much request weight used\. \(code -1003\)",
        ),
        (b'[[1,"a"]]', 200, "format has changed"),
        (b"[1,2]", 200, "format has changed"),
        (b"[[1,2],[1]]", 200, "format has changed"),
        (b"[[", 200, "format has changed"),
    ],
)
def test_rest_errors(site, rest, reply, body, status, message):
    site.on("/api/v3/klines", reply(body, status))
    with pytest.raises(DataError, match=message):
        rest(date(2024, 1, 1), date(2024, 1, 2))


def test_a_banned_address_is_told_how_long(site, rest, reply):
    site.on("/api/v3/klines", reply(b'{"code":-1003,"msg":"Way too much"}', 418, {"Retry-After": "259200"}))
    with pytest.raises(DataError, match="asks to wait 259200 s"):
        rest(date(2024, 1, 1), date(2024, 1, 2))


def test_not_published_is_a_data_error():
    assert issubclass(NotPublishedError, DataError)
