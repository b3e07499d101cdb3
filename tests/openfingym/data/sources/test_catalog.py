"""The catalogue: every entry complete, pulling by name, what is remembered of it, and tables in general.

The attack: a source that serves a part of the data, or other columns, for scores under the dataset's published name.
"""

import io
import zipfile
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

import openfingym.data.sources
from openfingym.data.sources import SOURCES, OfflineError, SourceRequest, Table
from openfingym.data.sources.catalog import PULLABLE, find_pull, last_pull, pull
from openfingym.data.sources.expected import require_expected
from openfingym.data.sources.record import read_table, records
from openfingym.data.sources.table import DataProvenance, join, stack
from openfingym.errors import DataError, UsageError

FROM = DataProvenance("here", "us", "CC0-1.0", "test", ())


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_says_what_it_is(name):
    source = SOURCES[name]
    assert source.name == name
    for field in (source.publisher, source.licence, source.frequency, source.gives):
        assert len(field) >= 4
    assert source.base_url.startswith("https://")


def test_every_dataset_names_a_source():
    for name, dataset in PULLABLE.items():
        assert dataset.name == name
        assert dataset.title
        assert dataset.source in SOURCES
    assert {dataset.source for dataset in PULLABLE.values()} == set(SOURCES) - {"binance-rest"}


def test_the_documentation_names_every_source_and_dataset():
    text = (Path(__file__).parents[4] / "docs" / "sources.md").read_text()
    for name in (*SOURCES, *PULLABLE):
        assert f"`{name}`" in text, name


def test_exports_are_sorted_and_complete():
    names = openfingym.data.sources.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(openfingym.data.sources, name) for name in names)


CSV = b'Date,"1 Mo","10 Yr"\n01/03/2024,5.54,3.91\n01/02/2024,,3.95\n'
PATH = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/2024/all"


def test_pulling_by_name_keeps_a_record(site, client, cache):
    tenors = ("1m", "3m", "6m", "1y", "2y", "3y", "5y", "7y", "10y")
    header = ",".join(f'"{tenor[:-1]} {"Mo" if tenor[-1] == "m" else "Yr"}"' for tenor in tenors)
    rates = f"Date,{header}\n01/03/2024,5.54{',5.0' * 7},3.91\n01/02/2024,{',5.0' * 7},3.95\n".encode()
    site.on(PATH, rates)
    options = {
        "client": client,
        "cache": cache,
        "start": date(2024, 1, 2),
        "end": date(2024, 1, 3),
        "base_url": site.url,
    }
    assert last_pull("treasury-par-yields", cache) is None
    done = pull("treasury-par-yields", **options)
    assert done.table.columns == tenors
    record = last_pull("treasury-par-yields", cache)
    assert record == done.record
    assert (record.rows, record.columns, record.missing, record.size, record.frequency) == (
        2,
        9,
        1,
        len(rates),
        "daily",
    )
    assert (record.first, record.last) == ("2024-01-02T00:00:00", "2024-01-03T00:00:00")
    assert record.files == done.table.provenance.files
    assert (record.fetched_at, record.base_url, record.digest) == (
        record.files[0].fetched_at,
        site.url,
        done.table.digest,
    )
    site.on(PATH, rates.replace(b"3.91", b"3.92"))
    assert pull("treasury-par-yields", **options).table.digest == done.table.digest
    assert pull("treasury-par-yields", refresh=True, **options).table.digest != done.table.digest


def test_a_failed_pull_leaves_the_record_and_the_data(site, client, cache, reply):
    day = date(2024, 1, 2)
    dataset = PULLABLE["fred-treasury-rates"]
    for series in dataset.request.symbols:
        site.on(
            f"/graph/fredgraph.csv?id={series}&cosd={day}&coed={day}",
            f"observation_date,{series}\n2024-01-02,4.8\n".encode(),
        )
    options = {"client": client, "cache": cache, "base_url": site.url, "start": day, "end": day}
    first = pull("fred-treasury-rates", **options).record
    # All series change, and the seventh breaks off: the first six are in the cache anew.
    for series in dataset.request.symbols:
        site.on(
            f"/graph/fredgraph.csv?id={series}&cosd={day}&coed={day}",
            f"observation_date,{series}\n2024-01-02,9.9\n".encode(),
        )
    site.on(
        f"/graph/fredgraph.csv?id=DGS5&cosd={day}&coed={day}",
        reply(b"observation_date,DGS5\n2024-01-02,9.9\n", send=30),
    )
    with pytest.raises(DataError, match="is kept and untouched"):
        pull("fred-treasury-rates", refresh=True, **options)
    assert last_pull("fred-treasury-rates", cache) == first
    held = read_table(first, cache, SOURCES)
    assert held.digest == first.digest
    assert set(held.values.ravel().tolist()) == {4.8}


def reference_rates(site, rows, columns=("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "CAD"), value="1.5"):
    """The ECB's zip of this many days from 1999 on, at weekdays alone, the newest first."""
    days = [day for day in np.arange("1999-01-04", 7 * rows // 5 + 9, dtype="datetime64[D]") if np.is_busday(day)]
    lines = [
        f"Date,{','.join(columns)},",
        *(f"{day},{','.join([value] * len(columns))}," for day in days[rows - 1 :: -1]),
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("eurofxref-hist.csv", "\n".join(lines) + "\n")
    site.on("/stats/eurofxref/eurofxref-hist.zip", packed.getvalue())
    return days[rows - 1].item()


def test_a_named_dataset_is_what_it_should_be(site, client, cache):
    options = {"client": client, "cache": cache, "base_url": site.url, "refresh": True}
    last = reference_rates(site, 500)
    first = pull("ecb-reference-rates", **options).record
    assert first.rows == 500
    reference_rates(site, 500, ("USD", "JPY"))
    with pytest.raises(DataError, match=r"no value of GBP, CHF, SEK, NOK, DKK, CAD in the 500 rows and 2 columns"):
        pull("ecb-reference-rates", **options)
    reference_rates(site, 400)
    message = rf"400 rows from 1999-01-04 to .*, expected at least \d+ from 1999-01-04 to {last}; a part is missing"
    with pytest.raises(DataError, match=message):
        pull("ecb-reference-rates", end=last, **options)
    # What was refused replaces nothing.
    assert last_pull("ecb-reference-rates", cache) == first


def test_a_source_gives_each_symbol_some_value(site, client, cache):
    for series, value in (("DGS1", "4.0"), ("DGS2", "")):
        site.on(
            f"/graph/fredgraph.csv?id={series}",
            f"observation_date,{series}\n2024-01-02,{value}\n2024-01-03,{value}\n".encode(),
        )
    with pytest.raises(DataError, match=r"fred: no value of DGS2 in the 2 rows and 2 columns of the answer"):
        pull("fred", symbols=("DGS1", "DGS2"), client=client, cache=cache, base_url=site.url)


def test_weekly_rows_are_no_daily_data():
    weeks = np.datetime64("2024-01-05", "D") + 7 * np.arange(30)
    weekly = table(np.ones((30, 1)), weeks.astype("datetime64[ns]"))
    with pytest.raises(DataError, match=r"x: rows are usually 168 hours apart, expected 24 to 72 of daily data"):
        require_expected(weekly, SourceRequest(("a",)), None, "x")
    require_expected(replace(weekly, frequency="weekly"), SourceRequest(("a",)), None, "x")


def test_an_open_end_is_stated_where_the_answer_depends_on_it(site, client, cache):
    year = datetime.now(UTC).year
    site.on(PATH.replace("2024", str(year)), CSV.replace(b"2024", str(year).encode()))
    record = pull(
        "treasury", symbols=("10y",), start=date(year, 1, 1), client=client, cache=cache, base_url=site.url
    ).record
    assert record.end == datetime.now(UTC).date().isoformat()
    site.on("/graph/fredgraph.csv", b"observation_date,DGS1\n2024-01-02,4.8\n")
    assert pull("fred", symbols=("DGS1",), client=client, cache=cache, base_url=site.url).record.end is None


def test_the_same_request_again_replaces_its_record_and_another_does_not(site, client, cache):
    for series in ("DGS1", "DGS2"):
        site.on(
            f"/graph/fredgraph.csv?id={series}", f"observation_date,{series}\n2024-01-02,4.8\n2024-01-03,\n".encode()
        )
    options = {"client": client, "cache": cache, "base_url": site.url}
    for symbols in (("DGS1",), ("DGS1", "DGS2"), ("DGS1",)):
        pull("fred", symbols=symbols, **options)
    assert [record.symbols for record in records(cache)] == [("DGS1",), ("DGS1", "DGS2")]
    assert find_pull("fred", ("DGS2",), None, cache).symbols == ("DGS1", "DGS2")
    assert find_pull("fred", ("DGS3",), None, cache) is None
    assert find_pull("fred-treasury-rates", (), None, cache) is None


def test_a_record_that_is_damaged_is_no_record(site, client, cache):
    site.on("/graph/fredgraph.csv", b"observation_date,DGS1\n2024-01-02,4.8\n")
    record = pull("fred", symbols=("DGS1",), client=client, cache=cache, base_url=site.url).record
    (path,) = (cache.root / "pulls").glob("fred.*.json")
    text = path.read_text()
    with pytest.raises(DataError, match=r"are read as .* but were 0000000000000000 when pulled"):
        read_table(replace(record, digest="0" * 64), cache, SOURCES)
    with pytest.raises(DataError, match="is not among the files of the pull"):
        read_table(replace(record, files=()), cache, SOURCES)
    for broken in ("", "[]", "{}", text[:-20], text.replace('"format": 1', '"format": 99')):
        path.write_text(broken)
        assert records(cache) == []


def test_an_unknown_name_is_met_with_a_suggestion(cache):
    with pytest.raises(DataError, match="did you mean 'ecb-reference-rates'"):
        pull("ecb-reference-rate", cache=cache)
    with pytest.raises(UsageError, match=r"has its own symbols and interval.*its source 'yahoo'"):
        pull("yahoo-futures", symbols=("XOM",), cache=cache)


def test_offline_pulls_say_so(client, cache):
    with pytest.raises(OfflineError, match=r"cannot reach 127\.0\.0\.1:1"):
        pull("treasury-par-yields", client=client, cache=cache, base_url="http://127.0.0.1:1")
    assert last_pull("treasury-par-yields", cache) is None


DAYS = np.arange("2024-01-01", "2024-01-05", dtype="datetime64[D]").astype("datetime64[ns]")


def table(values, times=DAYS):
    values = np.array(values, dtype=float)
    return Table(times[: len(values)], values, tuple("ab"[: values.shape[1]]), "daily", "percent", FROM)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: table(np.empty((0, 2))), "there is no row"),
        (lambda: table([[1, 2], [3, np.inf]]), "row 1, column 'b': the value is infinite"),
        (lambda: table([[1, 2], [3, 4]], DAYS[::-1]), "row 1: its time 2024-01-03.* is not after"),
        (lambda: table([[1, 2]] * 2, DAYS[[0, 0]]), "is not after"),
        (lambda: Table(DAYS, np.ones((3, 1)), ("a",), "daily", "x", FROM), r"shape \[3, 1\] for 4 times"),
        (lambda: table([[np.nan, 1], [1, np.nan]]).complete(), "no row has a value in every one of the columns a, b"),
        (
            lambda: table([[1, 2], [0, 1]]).to_panel(name="x", title="x", measure="price"),
            "2024-01-02.* 'a': 0.0 is not a positive price",
        ),
    ],
)
def test_tables_that_cannot_be(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_negative_yields_are_yields():
    panel = table([[-0.5, 2], [0, 1]]).to_panel(name="x", title="x", measure="yield")
    assert panel.values.tolist() == [[-0.5, 2.0], [0.0, 1.0]]


def test_join_and_stack():
    left, right = (DAYS[:2], ("a",), np.array([[1.0], [2.0]])), (DAYS[1:3], ("a",), np.array([[3.0], [4.0]]))
    times, columns, values = join({"x": left, "y": right})
    assert columns == ("x.a", "y.a")
    np.testing.assert_array_equal(values, [[1, np.nan], [2, 3], [np.nan, 4]])
    assert len(times) == 3
    assert join({"x": left})[1] == ("a",)
    with pytest.raises(DataError, match="overlaps"):
        stack([left, right], "x")
    with pytest.raises(DataError, match="columns change from a to b"):
        stack([left, (DAYS[2:], ("b",), np.ones((2, 1)))], "x")


def test_requests_refuse_what_a_source_does_not_know(client, cache):
    with pytest.raises(UsageError, match="treasury has no interval, found interval='1d'"):
        SOURCES["treasury"].fetch(SourceRequest(interval="1d"), client, cache, openfingym.data.sources.silent)
