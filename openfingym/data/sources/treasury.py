"""United States Treasury: daily par yield curve rates, one CSV file a year.

The set of tenors depends on the year: 1m from July 2001, 2m from October 2018, 4m from October
2022, 1.5m from February 2025; 20y is missing from 1987 to 1993, 30y from February 2002 to
February 2006. A tenor that a year's file does not have is NaN in that year.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.sources.cells import american_day, read_dated
from openfingym.data.sources.source import SourceRequest, refuse
from openfingym.data.sources.table import Block, DataProvenance, Origin, Table, stack
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "treasury-par-csv/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
MAX_AGE_S = 6 * 3600.0
"""Age up to which a copy of the running year's file is not asked for again."""
FIRST_YEAR = 1990
TENORS = ("1m", "1.5m", "2m", "3m", "4m", "6m", "1y", "2y", "3y", "5y", "7y", "10y", "20y", "30y")
_HEADER = re.compile(r"(\d+(?:\.\d+)?)\s*(Mo|Month|Months|Yr|Year|Years)", re.IGNORECASE)
_PATH = "resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv"


@dataclass(frozen=True)
class Treasury:
    """Par yields of the United States Treasury."""

    base_url: str = "https://home.treasury.gov"
    name: str = "treasury"
    publisher: str = "United States Department of the Treasury, daily treasury par yield curve rates"
    licence: str = "work of the United States government, public domain"
    frequency: str = "daily, on the days the bond market is open"
    gives: str = (
        "one column a tenor from 1m to 30y: par yield in percent per annum, bond-equivalent; published after the close"
    )
    lag_days: int | None = 0

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One column for each tenor in ``request.symbols``, or for all; see :class:`DataSource`."""
        refuse(self.name, request, "interval")
        this_year = datetime.now(UTC).year
        years = range(
            request.start.year if request.start else FIRST_YEAR, (request.end.year if request.end else this_year) + 1
        )
        if years.start < FIRST_YEAR or years.stop - 1 > this_year:
            raise UsageError(
                f"treasury has the years {FIRST_YEAR} to {this_year}, asked for {years.start} to {years.stop - 1}"
            )
        origins: list[Origin] = []
        blocks: list[Block] = []
        notes: list[str] = []
        for year in years:
            query = f"type=daily_treasury_yield_curve&field_tdr_date_value={year}&page&_format=csv"
            # A year that is over is corrected rarely; the running one grows every day.
            age = MAX_AGE_S if year == this_year else None
            url = f"{self.base_url}/{_PATH}/{year}/all?{query}"
            entry = cache.fetch(client, url, kind="csv", max_age_s=age, refresh=request.refresh, progress=progress)
            origins.append(entry.origin)
            block, note = read_year(cache.read(entry), year)
            notes.extend(note)
            # In the first days of January, the year's file has a header alone.
            if len(block[0]):
                blocks.append(block)
        times, columns, values = stack(blocks, "treasury")
        # Only the tenors that exist in the period; the others would be columns without a value.
        present = [i for i in range(len(columns)) if not np.isnan(values[:, i]).all()]
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, tuple(origins), tuple(notes))
        chosen = np.ascontiguousarray(values[:, present])
        unit = "percent per annum, bond-equivalent"
        table = Table(times, chosen, tuple(columns[i] for i in present), "daily", unit, provenance)
        return (table.select(request.symbols) if request.symbols else table).between(request.start, request.end)


def read_year(content: bytes, year: int) -> tuple[Block, Sequence[str]]:
    """Read one year's file into all :data:`TENORS`, and notes on what is odd.

    Raises:
        DataError: the file is not of the known form, or holds another year.
    """
    where = f"treasury {year}"
    headers, times, values = read_dated(content, where, date_header=("Date",), parse_day=american_day)
    tenors = [_tenor(header, where) for header in headers]
    if len(set(tenors)) < len(tenors):
        raise DataError(f"{where}: a tenor occurs twice among {', '.join(headers)}")
    wrong = np.flatnonzero(times.astype("datetime64[Y]") != np.datetime64(str(year), "Y"))
    if wrong.size:
        raise DataError(f"{where}: holds {times[wrong[0]].astype('datetime64[D]')}, which is of another year")
    wide = np.full((len(times), len(TENORS)), np.nan)
    wide[:, [TENORS.index(tenor) for tenor in tenors]] = values
    empty = int(np.isnan(wide).all(axis=1).sum())
    return (times, TENORS, wide), [f"{year}: {empty} days without any rate"] if empty else []


def _tenor(header: str, where: str) -> str:
    match = _HEADER.fullmatch(header.strip())
    tenor = f"{match[1]}{'m' if match[2].lower().startswith('mo') else 'y'}" if match else ""
    if tenor not in TENORS:
        raise DataError(f"{where}: {header!r} is not a known tenor ({', '.join(TENORS)}); the format has changed")
    return tenor
