"""EIOPA: monthly risk-free interest rate term structures of the Solvency II directive.

Each month is a zip file of spreadsheets, linked from two web pages; the reference date, a month
end, is in the file's name. Sheet ``RFR_spot_no_VA``: one column a country, above it eight rows of
parameters, then annually compounded spot rates for maturities of 1 to 150 years.
"""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import numpy as np

from openfingym.data.dataset import suggestion
from openfingym.data.sources.cells import unzip
from openfingym.data.sources.source import SourceRequest
from openfingym.data.sources.table import DataProvenance, Origin, Table
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "eiopa-rfr/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
MAX_AGE_S = 24 * 3600.0
"""Age up to which a page of links is not asked for again; a release is added each month."""
MATURITIES = 150
"""Maturities of a curve: 1 to so many years."""
PAGES = (
    "/tools-and-data/risk-free-interest-rate-term-structures_en",
    "/tools-and-data/risk-free-interest-rate-term-structures/risk-free-rate-previous-releases-and-preparatory-phase_en",
)
"""Pages that link the releases, the current one first."""
SHEETS: Mapping[str, str] = {
    "no-va": "RFR_spot_no_VA",
    "with-va": "RFR_spot_with_VA",
    "no-va-up": "Spot_NO_VA_shock_UP",
    "no-va-down": "Spot_NO_VA_shock_DOWN",
    "with-va-up": "Spot_WITH_VA_shock_UP",
    "with-va-down": "Spot_WITH_VA_shock_DOWN",
}
"""Sheets of a workbook by our name: with or without volatility adjustment (VA), shocked up or down."""
_LINK = re.compile(r"""href\s*=\s*["']([^"']*EIOPA_RFR_(\d{8})(?:_\d+)?\.zip[^"']*)["']""", re.IGNORECASE)
"""A link to a release in the HTML of a page: its address, and the reference date in the file's name."""


@dataclass(frozen=True)
class Eiopa:
    """Risk-free curves by country."""

    base_url: str = "https://www.eiopa.europa.eu"
    sheet: str = "no-va"
    """Which curves are read, a key of :data:`SHEETS`."""
    name: str = "eiopa"
    publisher: str = "European Insurance and Occupational Pensions Authority, risk-free interest rate term structures"
    licence: str = "EIOPA legal notice: re-use free with acknowledgement of the source"
    frequency: str = "monthly, month ends since December 2015"
    gives: str = (
        "columns 1y to 150y: annually compounded spot rate as a decimal, by country (Euro if none is asked for)"
    )
    lag_days: int | None = None

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """Curves of the countries in ``request.symbols``, one row for each month; see :class:`DataSource`."""
        if self.sheet not in SHEETS or request.interval is not None:
            raise UsageError(
                f"eiopa has no interval, and its sheets are {', '.join(SHEETS)}; found {request.interval!r} and "
                f"{self.sheet!r}"
            )
        countries = request.symbols or ("Euro",)
        links = {
            day: url
            for day, url in self._links(client, cache, progress, refresh=request.refresh).items()
            if (request.start is None or day >= request.start) and (request.end is None or day <= request.end)
        }
        if not links:
            raise DataError(
                f"eiopa: no file for a month end from {request.start or 'the first'} to {request.end or 'the last'} is "
                "linked"
            )
        origins: list[Origin] = []
        rows = []
        for day in sorted(links):
            entry = cache.fetch(client, links[day], kind="zip", refresh=request.refresh, progress=progress)
            origins.append(entry.origin)
            curves = read_release(cache.read(entry), day, SHEETS[self.sheet])
            rows.append(np.concatenate([_curve(curves, country, day) for country in countries]))
        prefixes = [f"{country}." for country in countries] if len(countries) > 1 else [""]
        columns = tuple(f"{prefix}{year}y" for prefix in prefixes for year in range(1, MATURITIES + 1))
        times = np.array(sorted(links), dtype="datetime64[D]").astype("datetime64[ns]")
        provenance = DataProvenance(
            self.name, self.publisher, self.licence, PARSER, tuple(origins), _absent(sorted(links))
        )
        return Table(
            times, np.array(rows), columns, "monthly", "decimal per annum, annually compounded spot rate", provenance
        )

    def _links(self, client: Client, cache: Cache, progress: Progress, *, refresh: bool) -> dict[date, str]:
        """Reference date and URL of every release that the two pages link."""
        links: dict[date, str] = {}
        for page in PAGES:
            url = self.base_url + page
            entry = cache.fetch(client, url, kind="html", max_age_s=MAX_AGE_S, refresh=refresh, progress=progress)
            for day, link in read_links(cache.read(entry), url).items():
                # A release that both pages link is taken from the current one.
                links.setdefault(day, link)
        return links


def read_links(content: bytes, page: str) -> dict[date, str]:
    """Releases that a page links, by reference date; links to other hosts are left out."""
    links = {}
    for link, digits in _LINK.findall(content.decode("utf-8", "replace")):
        url = urljoin(page, html.unescape(link))
        if urlsplit(url).netloc == urlsplit(page).netloc:
            links[datetime.strptime(digits, "%Y%m%d").date()] = url  # noqa: DTZ007 - a day has no time zone
    return links


def read_release(content: bytes, day: date, sheet: str) -> dict[str, NDArray[np.float64]]:
    """Curves of one release by country, float64[150] each, as decimals a year.

    Args:
        content: content of the release's zip file.
        day: reference date of the release.
        sheet: name of the sheet in its workbook.

    Raises:
        DataError: the archive, the workbook or the sheet is not of the known form, or the reader is not installed.
    """
    where = f"EIOPA_RFR_{day:%Y%m%d}"
    _, workbook = unzip(content, f"{where}.zip", lambda name: name.lower() == f"{where}_term_structures.xlsx".lower())
    return read_curves(_sheet(workbook, sheet, where), f"{where}, sheet {sheet}")


def read_curves(rows: Sequence[Sequence[object]], where: str) -> dict[str, NDArray[np.float64]]:
    """Curves of a sheet by country, float64[150] each.

    The header is the first row that names ``Euro``; below it are parameters, and then the rates, in rows labelled 1 to
    150.

    Args:
        rows: cells of the sheet, row by row.
        where: name of the sheet in error messages.

    Raises:
        DataError: the header or a row is not there, or a rate is missing.
    """
    header = next((i for i, row in enumerate(rows) if "Euro" in row), None)
    if header is None:
        raise DataError(f"{where}: no row names the column Euro; the format has changed")
    first = list(rows[header]).index("Euro")
    named = [
        (position, name.strip()) for position, name in enumerate(rows[header]) if isinstance(name, str) and name.strip()
    ]
    positions = [position for position, _ in named if position >= first]
    curves: dict[str, list[float]] = {name: [] for position, name in named if position >= first}
    if len(curves) < len(positions):
        raise DataError(f"{where}: a country occurs twice in the header")
    expected = 1
    for row in rows[header + 1 :]:
        # Rows of parameters are labelled by words; their numbers are in the columns of the countries.
        if not any(_number(cell) == expected for cell in row[:first]):
            continue
        for (country, curve), position in zip(curves.items(), positions, strict=True):
            rate = _number(row[position]) if position < len(row) else math.nan
            if not math.isfinite(rate):
                raise DataError(
                    f"{where}: {country} has no rate for {expected} years, found {row[position : position + 1]!r}"
                )
            curve.append(rate)
        expected += 1
        if expected > MATURITIES:
            return {country: np.array(curve) for country, curve in curves.items()}
    raise DataError(f"{where}: rows for 1 to {MATURITIES} years expected, the row for {expected} is missing")


def _number(cell: object) -> float:
    """The number in a cell, be it a number or a text of digits; NaN for anything else."""
    try:
        return float(cell) if isinstance(cell, str | int | float) and not isinstance(cell, bool) else math.nan
    except ValueError:
        return math.nan


def _sheet(workbook: bytes, sheet: str, where: str) -> list[list[object]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise DataError(
            "reading EIOPA's spreadsheets needs python-calamine; install it with: pip install 'openfingym[sources]'"
        ) from None
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(workbook))
        if sheet not in book.sheet_names:
            raise DataError(
                f"{where}: there is no sheet {sheet!r} among {', '.join(book.sheet_names)}; the format has changed"
            )
        return [list(row) for row in book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)]
    except (CalamineError, OSError, ValueError) as error:
        raise DataError(f"{where}: the workbook cannot be read ({error})") from error


def _curve(curves: Mapping[str, NDArray[np.float64]], country: str, day: date) -> NDArray[np.float64]:
    if country not in curves:
        raise DataError(f"eiopa, {day}: no country {country!r}{suggestion(country, curves)}")
    return curves[country]


def _absent(days: Sequence[date]) -> tuple[str, ...]:
    """A note on months within the period that are not linked."""
    months = {day.year * 12 + day.month - 1 for day in days}
    missing = [
        f"{month // 12}-{month % 12 + 1:02d}" for month in range(min(months), max(months)) if month not in months
    ]
    return (f"no release is linked for {', '.join(missing)}",) if missing else ()
