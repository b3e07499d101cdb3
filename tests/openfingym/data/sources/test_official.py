"""Treasury, ECB and FRED: old and new headers, either order, missing cells, web pages instead of files."""

import io
import zipfile
from datetime import UTC, date, datetime

import numpy as np
import pytest

from openfingym.data.sources import NotPublishedError, SourceRequest, silent
from openfingym.data.sources.ecb import Ecb, read_history
from openfingym.data.sources.fred import Fred, read_series
from openfingym.data.sources.treasury import TENORS, Treasury, read_year
from openfingym.errors import DataError, UsageError

# ---- Treasury

Y2024 = b"""Date,"1 Mo","2 Mo","3 Mo","4 Mo","6 Mo","1 Yr","2 Yr","3 Yr","5 Yr","7 Yr","10 Yr","20 Yr","30 Yr"
12/31/2024,4.40,4.39,4.37,4.32,4.24,4.16,4.25,4.27,4.38,4.48,4.58,4.86,4.78
12/30/2024,4.43,4.39,4.37,N/A,4.25,4.17,4.24,,4.37,4.46,4.55,4.84,4.77
"""
Y2025 = b"""Date,"1 Mo","1.5 Month","2 Mo","3 Mo","4 Mo","6 Mo","1 Yr","2 Yr","3 Yr","5 Yr",\
"7 Yr","10 Yr","20 Yr","30 Yr"
02/18/2025,4.37,4.38,4.38,4.33,4.35,4.35,4.24,4.29,4.32,4.40,4.48,4.55,4.84,4.77
01/02/2025,4.45,N/A,4.36,4.36,4.31,4.25,4.17,4.25,4.29,4.38,4.47,4.57,4.86,4.79
"""


def year_path(year):
    return f"/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/{year}/all"


@pytest.fixture
def treasury(site, client, cache):
    def treasury(start, end, *symbols):
        return Treasury(base_url=site.url).fetch(SourceRequest(symbols, start, end), client, cache, silent)

    return treasury


def test_years_with_other_tenors_are_one_table(site, treasury):
    site.on(year_path(2024), Y2024)
    site.on(year_path(2025), Y2025)
    table = treasury(date(2024, 12, 30), date(2025, 12, 31))
    assert table.columns == TENORS
    assert table.times.astype("datetime64[D]").tolist() == [
        date(2024, 12, 30),
        date(2024, 12, 31),
        date(2025, 1, 2),
        date(2025, 2, 18),
    ]
    assert table.missing == {"1.5m": 3, "4m": 1, "3y": 1}
    assert table.column("10y").tolist() == [4.55, 4.58, 4.57, 4.55]
    assert table.unit.startswith("percent")
    chosen = treasury(date(2024, 12, 31), date(2024, 12, 31), "30y", "1m")
    assert chosen.values.tolist() == [[4.78, 4.40]]
    panel = table.select(["2y", "10y"]).to_panel(name="own", title="Own", measure="yield")
    assert panel.values.shape == (4, 2)
    assert "type=daily_treasury_yield_curve&field_tdr_date_value=2024&page&_format=csv" in site.paths()[0]


def test_tenors_that_do_not_exist_in_the_period_are_no_columns(site, treasury):
    site.on(year_path(2024), Y2024)
    table = treasury(date(2024, 1, 1), date(2024, 12, 31))
    assert "1.5m" not in table.columns
    with pytest.raises(DataError, match=r"no channel '1\.5m'"):
        table.select(["1.5m"])


def test_the_running_year_is_asked_for_again_and_a_past_one_is_not(site, client, cache, treasury, monkeypatch):
    year = datetime.now(UTC).year
    header = Y2025.splitlines()[0].decode()
    rows = "4.37,4.38,4.38,4.33,4.35,4.35,4.24,4.29,4.32,4.40,4.48,4.55,4.84,4.77"
    site.on(year_path(year), f"{header}\n01/02/{year},{rows}\n".encode())
    site.on(year_path(2024), Y2024)
    monkeypatch.setattr("openfingym.data.sources.treasury.MAX_AGE_S", 0.0)
    for _ in range(2):
        treasury(date(2024, 1, 1), date(2024, 12, 31))
        treasury(date(year, 1, 1), None)
    assert [path.split("/")[5] for path in site.paths()] == ["2024", str(year), str(year)]


def test_older_long_headers_are_understood():
    (_, columns, values), notes = read_year(b"Date,1 Month,10 Years\n01/03/2005,1.99,4.23\n", 2005)
    assert values[0, [columns.index("1m"), columns.index("10y")]].tolist() == [1.99, 4.23]
    assert notes == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Y2024.replace(b"1 Mo", b"Overnight"), "'Overnight' is not a known tenor.*format has changed"),
        (Y2024.replace(b'"2 Mo"', b'"1 Mo"'), "a tenor occurs twice"),
        (Y2024.replace(b"Date", b"Day", 1), "the header is .*expected Date"),
        (Y2024.replace(b"12/31/2024", b"31/12/2024"), "line 2: '31/12/2024' is not a date"),
        (Y2024.replace(b"12/31/2024", b"12/30/2024"), "occur once"),
        (Y2024.replace(b"12/31/2024", b"12/31/2023"), "2023-12-31, which is of another year"),
        (Y2024.replace(b"4.40", b"4,40"), "14|15 cells"),
        (Y2024.replace(b"4.40", b"four"), "line 2, column '1 Mo': 'four' is neither a number"),
        (Y2024.replace(b"4.40", b"inf"), "'inf' is neither"),
        (Y2024[:-20], "line 3: .* cells, but the header has 14; the file may be cut off"),
        (b"Date\n", "the header is"),
    ],
)
def test_damaged_treasury_files(content, message):
    with pytest.raises(DataError, match=message):
        read_year(content, 2024)


def test_a_web_page_instead_of_rates(site, treasury):
    site.on(year_path(2024), b"<!DOCTYPE html><html lang='en'><head><title>Site maintenance</title>")
    with pytest.raises(DataError, match="'Site maintenance' and status 200"):
        treasury(date(2024, 1, 1), date(2024, 12, 31))


def test_a_year_without_rows_yet_is_no_error_beside_others(site, treasury):
    site.on(year_path(2024), Y2024)
    site.on(year_path(2025), Y2025.splitlines()[0] + b"\n")
    assert len(treasury(date(2024, 1, 1), date(2025, 12, 31)).times) == 2
    with pytest.raises(DataError, match="nothing was published"):
        treasury(date(2025, 1, 1), date(2025, 12, 31))


def test_years_before_1990_are_refused(treasury):
    with pytest.raises(UsageError, match="has the years 1990"):
        treasury(date(1980, 1, 1), date(1990, 12, 31))


# ---- ECB

HISTORY = b"""Date,USD,JPY,BGN,CYP,
2026-10-30,1.1172,175.68,N/A,N/A,
2026-10-29,1.1150,175.10,1.9558,N/A,
2007-12-31,1.4721,164.93,1.9558,0.585274,
"""


def packed(text, name="eurofxref-hist.csv"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return file.getvalue()


def test_reference_rates(site, client, cache):
    site.on("/stats/eurofxref/eurofxref-hist.zip", packed(HISTORY))
    source = Ecb(base_url=site.url)
    table = source.fetch(SourceRequest(), client, cache, silent)
    assert table.columns == ("USD", "JPY", "BGN", "CYP")
    assert table.times.astype("datetime64[D]").tolist() == [date(2007, 12, 31), date(2026, 10, 29), date(2026, 10, 30)]
    assert table.missing == {"BGN": 1, "CYP": 2}
    few = source.fetch(SourceRequest(("JPY", "USD"), date(2020, 1, 1)), client, cache, silent)
    assert few.values.tolist() == [[175.10, 1.1150], [175.68, 1.1172]]
    assert len(site.asked) == 1
    with pytest.raises(DataError, match="no channel 'USDD'; did you mean 'USD'"):
        source.fetch(SourceRequest(("USDD",)), client, cache, silent)
    with pytest.raises(DataError, match="no row in the period"):
        source.fetch(SourceRequest((), date(2010, 1, 1), date(2010, 2, 1)), client, cache, silent)
    with pytest.raises(UsageError, match="ecb has no interval"):
        source.fetch(SourceRequest(interval="1d"), client, cache, silent)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(HISTORY, "other.csv"), "found 0 among other.csv"),
        (packed(HISTORY)[:-30], "archive is damaged"),
        (packed(HISTORY.replace(b"USD", b"Dollar")), "Dollar is not a currency code"),
        (packed(HISTORY.replace(b"2026-10-29", b"2026-10-31")), "days must be in order"),
        (packed(HISTORY[:60]), "may be cut off"),
        (packed(b""), "the file is empty"),
        (packed(b"\xff\xfe\x00"), "not UTF-8"),
    ],
)
def test_damaged_reference_rates(content, message):
    with pytest.raises(DataError, match=message):
        read_history(content)


def test_a_zip_whose_content_was_altered_is_noticed():
    body = bytearray(packed(HISTORY * 1))
    body[60] ^= 0xFF
    with pytest.raises(DataError, match="archive is damaged"):
        read_history(bytes(body))


def test_a_zip_bomb_is_not_unpacked():
    from openfingym.data.sources.cells import unzip

    bomb = packed(bytes(10**7))
    assert len(bomb) < 20_000
    with pytest.raises(DataError, match="unpacks to 10000000 bytes, expected at most 1000"):
        unzip(bomb, "a.zip", lambda name: True, max_bytes=1000)
    # The same, with a directory that lies about the size.
    lying = bomb.replace((10**7).to_bytes(4, "little"), (500).to_bytes(4, "little"))
    with pytest.raises(DataError, match=r"damaged|more than 1000"):
        unzip(lying, "a.zip", lambda name: True, max_bytes=1000)


# ---- FRED

NEW = b"observation_date,DGS10\n2024-01-01,\n2024-01-02,3.95\n2024-01-03,.\n"
BEFORE_2025 = NEW.replace(b"observation_date", b"DATE")


@pytest.mark.parametrize("content", [NEW, BEFORE_2025, NEW.replace(b"\n", b"\r\n"), NEW.replace(b"DGS10", b"dgs10")])
def test_series_under_both_headers(content):
    times, columns, values = read_series(content, "DGS10")
    assert columns == ("DGS10",)
    assert times.astype("datetime64[D]").tolist() == [date(2024, 1, day) for day in (1, 2, 3)]
    np.testing.assert_array_equal(values[:, 0], [np.nan, 3.95, np.nan])


def test_several_series_and_periods(site, client, cache):
    def of(series, *rows):
        return f"observation_date,{series}\n".encode() + b"".join(f"{day},{value}\n".encode() for day, value in rows)

    base = "/graph/fredgraph.csv"
    site.on(f"{base}?id=DGS10&cosd=2024-01-02&coed=2024-01-31", of("DGS10", ("2024-01-02", 3.95), ("2024-01-03", 3.91)))
    site.on(f"{base}?id=DGS2&cosd=2024-01-02&coed=2024-01-31", of("DGS2", ("2024-01-03", 4.33), ("2024-01-04", 4.38)))
    site.on(f"{base}?id=GDP", of("GDP", ("2023-10-01", 27956.998), ("2024-01-01", 28269.174)))
    source = Fred(base_url=site.url)
    table = source.fetch(SourceRequest(("DGS10", "DGS2"), date(2024, 1, 2), date(2024, 1, 31)), client, cache, silent)
    assert table.columns == ("DGS10", "DGS2")
    assert table.missing == {"DGS10": 1, "DGS2": 1}
    assert table.complete().values.tolist() == [[3.91, 4.33]]
    assert (table.frequency, source.fetch(SourceRequest(("GDP",)), client, cache, silent).frequency) == (
        "daily",
        "none",
    )


@pytest.mark.parametrize(
    ("body", "status", "error", "message"),
    [
        (b"<!DOCTYPE html><title>Error - St. Louis Fed</title>", 404, NotPublishedError, "not published"),
        (
            b"<!DOCTYPE html><title>Error - St. Louis Fed</title>",
            200,
            DataError,
            "web page titled 'Error - St. Louis Fed'",
        ),
        (b"observation_date,DGS2\n2024-01-01,1\n", 200, DataError, "asked for DGS10, but the file holds DGS2"),
        (b"observation_date,DGS10\n", 200, DataError, "no row below it"),
        (b"observation_date,DGS10\n2024-01-01\n", 200, DataError, "line 2: 1 cells"),
        (b"when,DGS10\n2024-01-01,1\n", 200, DataError, "format has changed"),
        (b"", 200, DataError, "empty"),
    ],
)
def test_bad_series(site, client, cache, reply, body, status, error, message):
    site.on("/graph/fredgraph.csv", reply(body, status))
    with pytest.raises(error, match=message):
        Fred(base_url=site.url).fetch(SourceRequest(("DGS10",)), client, cache, silent)


def test_fred_needs_a_series(client, cache):
    with pytest.raises(UsageError, match="at least one series id"):
        Fred().fetch(SourceRequest(), client, cache, silent)
