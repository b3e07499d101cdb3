"""EIOPA's pages and workbooks; the workbooks are written by another library than the one that reads them."""

import io
import zipfile
from datetime import date

import numpy as np
import pytest

from openfingym.data.sources import SourceRequest, silent
from openfingym.data.sources.eiopa import PAGES, Eiopa, read_curves, read_links
from openfingym.errors import DataError, UsageError

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

PARAMETERS = ("Coupon_freq", "LLP", "Convergence", "UFR", "alpha", "CRA", "VA")


def rate(country, year):
    return round(0.02 + country * 0.001 + year * 0.0001, 5)


def sheet_rows(countries=("Euro", "Austria", "United States"), *, va=5, last=150):
    """As EIOPA lays it out: a title row, the header, eight parameter rows, then maturities in the second column."""
    rows = [["Main menu", None, *[None] * len(countries)], [None, None, *countries]]
    rows.append([None, None, *[f"{country[:2].upper()}_31_12_2024_SWP_LLP_20_EXT_40_UFR_3.3" for country in countries]])
    rows += [[None, name, *[va if name == "VA" else 1] * len(countries)] for name in PARAMETERS]
    rows += [[None, year, *[rate(i, year) for i in range(len(countries))]] for year in range(1, last + 1)]
    return rows


def release(day, rows=None, *, sheet="RFR_spot_no_VA", name=None):
    book = openpyxl.Workbook()
    book.active.title = "Main_menu"
    for title in (sheet, "Spot_NO_VA_shock_UP"):
        page = book.create_sheet(title)
        for row in rows or sheet_rows():
            page.append(row)
    file, packed = io.BytesIO(), io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name or f"EIOPA_RFR_{day:%Y%m%d}_Term_Structures.xlsx", file.getvalue())
        archive.writestr(f"EIOPA_RFR_{day:%Y%m%d}_Qb_SW.xlsx", b"PK")
    return packed.getvalue()


OCTOBER, DECEMBER = date(2024, 10, 31), date(2024, 12, 31)
NEWEST = b"""<!DOCTYPE html><html>
<a href="/document/download/11-22_en?filename=EIOPA_RFR_20241231.zip&amp;x=1" class="ecl">December</a>
<a href="https://elsewhere.example/EIOPA_RFR_20241130.zip">a copy</a><a href="/about">about</a>"""
EARLIER = b"""<html><a class='l' href='/sites/default/files/EIOPA_RFR_20241031_0.zip'>October</a>
<a href="/old/EIOPA_RFR_20241231.zip">again</a>"""


@pytest.fixture
def published(site):
    site.on(PAGES[0], NEWEST)
    site.on(PAGES[1], EARLIER)
    site.on("/document/download/11-22_en?filename=EIOPA_RFR_20241231.zip&x=1", release(DECEMBER))
    site.on("/sites/default/files/EIOPA_RFR_20241031_0.zip", release(OCTOBER, sheet_rows(va=None)))
    return site


@pytest.fixture
def fetch(published, client, cache):
    def fetch(*countries, start=None, end=None, sheet="no-va"):
        return Eiopa(base_url=published.url, sheet=sheet).fetch(
            SourceRequest(countries, start, end), client, cache, silent
        )

    return fetch


def test_months_become_rows_and_maturities_columns(fetch):
    table = fetch()
    assert table.times.astype("datetime64[D]").tolist() == [OCTOBER, DECEMBER]
    assert (table.columns[0], table.columns[-1], len(table.columns)) == ("1y", "150y", 150)
    np.testing.assert_array_equal(table.values[1], [rate(0, year) for year in range(1, 151)])
    assert table.provenance.notes == ("no release is linked for 2024-11",)
    assert table.unit.startswith("decimal")


def test_countries_periods_and_sheets(site, fetch):
    table = fetch("United States", "Euro", start=date(2024, 12, 1))
    assert table.values.shape == (1, 300)
    assert table.column("United States.10y").tolist() == [rate(2, 10)]
    assert fetch(sheet="no-va-up").values.shape == (2, 150)
    assert len([path for path in site.paths() if "zip" in path]) == 2
    with pytest.raises(DataError, match="no country 'Austra'; did you mean 'Austria'"):
        fetch("Austra")
    with pytest.raises(DataError, match="no file for a month end from 2025-01-01"):
        fetch(start=date(2025, 1, 1))
    with pytest.raises(UsageError, match="its sheets are no-va"):
        fetch(sheet="spot")


def test_links_to_other_hosts_are_not_followed():
    assert read_links(NEWEST, "https://www.eiopa.europa.eu/x") == {
        DECEMBER: "https://www.eiopa.europa.eu/document/download/11-22_en?filename=EIOPA_RFR_20241231.zip&x=1"
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: release(DECEMBER, name="Readme.xlsx"), "found 0 among Readme.xlsx"),
        (lambda: release(DECEMBER, sheet="Spot"), "no sheet 'RFR_spot_no_VA' among Main_menu, Spot"),
        (lambda: release(DECEMBER, sheet_rows(last=149)), "the row for 150 is missing"),
        (lambda: release(DECEMBER, sheet_rows(("Austria",))), "no row names the column Euro"),
        (lambda: release(DECEMBER)[:-100], "archive is damaged"),
        (lambda: b"<html><title>Access denied</title>", "'Access denied' and status 200"),
    ],
)
def test_damaged_releases(site, fetch, content, message):
    site.on("/document/download/11-22_en?filename=EIOPA_RFR_20241231.zip&x=1", content())
    with pytest.raises(DataError, match=message):
        fetch(start=DECEMBER)


def test_a_missing_rate_is_named():
    rows = sheet_rows()
    rows[12][3] = None
    with pytest.raises(DataError, match="Austria has no rate for 3 years"):
        read_curves(rows, "x")


def test_an_extra_unnamed_column_changes_nothing():
    plain = read_curves(sheet_rows(), "x")
    shifted = read_curves([[*row[:2], None, *row[2:], None] for row in sheet_rows()], "x")
    assert list(plain) == list(shifted) == ["Euro", "Austria", "United States"]
    for country, curve in plain.items():
        np.testing.assert_array_equal(curve, shifted[country])


def test_a_page_that_cannot_be_had(site, fetch, reply):
    site.on(PAGES[0], reply(b"", 503))
    with pytest.raises(DataError, match="status 503"):
        fetch()
