"""The catalogue: every entry complete, pulling by name, what is remembered of it, and tables in general."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

import openfingym.data.sources
from openfingym.data.sources import PULLABLE, SOURCES, Fred, OfflineError, Provenance, Request, Table, Treasury, last_pull, pull
from openfingym.data.sources.table import join, stack
from openfingym.errors import DataError

FROM = Provenance("here", "us", "CC0-1.0", "test", ())


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
    site.on(PATH, CSV)
    options = {"client": client, "cache": cache, "start": date(2024, 1, 1), "end": date(2024, 12, 31)}
    mirror = {**SOURCES, "treasury": Treasury(base_url=site.url)}
    assert last_pull("treasury-par-yields", cache) is None
    table = pull("treasury-par-yields", sources=mirror, **options)
    assert table.columns == ("1m", "10y")
    record = last_pull("treasury-par-yields", cache)
    assert (record.rows, record.columns, record.missing, record.size) == (2, 2, 1, len(CSV))
    assert (record.first, record.last) == ("2024-01-02T00:00:00", "2024-01-03T00:00:00")
    assert record.fetched_at == table.provenance.files[0].fetched_at
    site.on(PATH, CSV.replace(b"3.91", b"3.92"))
    assert pull("treasury-par-yields", sources=mirror, **options).digest == table.digest
    assert pull("treasury-par-yields", sources=mirror, refresh=True, **options).digest != table.digest


def test_a_failed_pull_leaves_the_record_and_the_data(site, client, cache, reply):
    site.on("/graph/fredgraph.csv", b"observation_date,DGS1\n2024-01-02,4.8\n")
    mirror = {**SOURCES, "fred": Fred(base_url=site.url)}
    dataset = PULLABLE["fred-treasury-rates"]
    for series in dataset.request.symbols:
        site.on(f"/graph/fredgraph.csv?id={series}", f"observation_date,{series}\n2024-01-02,4.8\n".encode())
    first = pull("fred-treasury-rates", client=client, cache=cache, sources=mirror)
    before = last_pull("fred-treasury-rates", cache)
    site.on("/graph/fredgraph.csv?id=DGS5", reply(b"observation_date,DGS5\n2024-01-02,9.9\n", send=30))
    with pytest.raises(DataError, match="is kept and untouched"):
        pull("fred-treasury-rates", client=client, cache=cache, sources=mirror, refresh=True)
    assert last_pull("fred-treasury-rates", cache) == before
    assert pull("fred-treasury-rates", client=client, cache=cache, sources=mirror).digest == first.digest


def test_an_unknown_name_is_met_with_a_suggestion(cache):
    with pytest.raises(DataError, match="did you mean 'ecb-reference-rates'"):
        pull("ecb-reference-rate", cache=cache)


def test_offline_pulls_say_so(client, cache):
    mirror = {**SOURCES, "treasury": Treasury(base_url="http://127.0.0.1:1")}
    with pytest.raises(OfflineError, match=r"cannot reach 127\.0\.0\.1:1"):
        pull("treasury-par-yields", client=client, cache=cache, sources=mirror)
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
        (lambda: table([[1, 2], [0, 1]]).to_panel(name="x", title="x", measure="price"), "2024-01-02.* 'a': 0.0 is not a positive price"),
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
    from openfingym.errors import UsageError

    with pytest.raises(UsageError, match="treasury has no interval, found interval='1d'"):
        SOURCES["treasury"].fetch(Request(interval="1d"), client, cache, openfingym.data.sources.silent)
