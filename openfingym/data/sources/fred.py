"""FRED, the economic database of the Federal Reserve Bank of St. Louis: series as CSV, without a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from openfingym.data.sources.cells import iso_day, read_dated
from openfingym.data.sources.source import SourceRequest, refuse
from openfingym.data.sources.table import Block, DataProvenance, Table, join
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client
    from openfingym.task.model import Frequency

PARSER = "fred-graph-csv/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
MAX_AGE_S = 12 * 3600.0
"""Age up to which a copy is not asked for again; daily series grow each working day."""
_SPACING: tuple[tuple[float, Frequency], ...] = ((5.0, "daily"), (20.0, "weekly"))
"""Median days between two rows below which a series is of each frequency."""


@dataclass(frozen=True)
class Fred:
    """Macroeconomic series by their FRED ids, latest vintage."""

    base_url: str = "https://fred.stlouisfed.org"
    name: str = "fred"
    publisher: str = "Federal Reserve Bank of St. Louis, FRED (original publisher as stated on the series' page)"
    licence: str = (
        "by series: most United States government series are public domain, others are the property of their publisher"
    )
    frequency: str = "by series"
    gives: str = (
        "one column a series id, in the series' own unit; latest vintage, so revised figures are not point-in-time"
    )
    lag_days: int | None = None

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One column for each id in ``request.symbols``; see :class:`DataSource`."""
        refuse(self.name, request, "interval")
        if not request.symbols:
            raise UsageError("fred needs at least one series id, such as DGS10")
        origins, blocks = [], {}
        for series in request.symbols:
            query = {"id": series} | {
                key: day.isoformat() for key, day in (("cosd", request.start), ("coed", request.end)) if day is not None
            }
            url = f"{self.base_url}/graph/fredgraph.csv?{urlencode(query)}"
            entry = cache.fetch(
                client, url, kind="csv", max_age_s=MAX_AGE_S, refresh=request.refresh, progress=progress
            )
            origins.append(entry.origin)
            blocks[series] = read_series(cache.read(entry), series)
        times, _, values = join(blocks)
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, tuple(origins))
        table = Table(times, values, tuple(blocks), _frequency(times), "as the series states", provenance)
        return table.between(request.start, request.end)


def read_series(content: bytes, series: str) -> Block:
    """Read one series; the date column is ``observation_date``, or ``DATE`` in files before 2025.

    Raises:
        DataError: the file is not of the known form, or holds another series.
    """
    columns, times, values = read_dated(
        content, f"fred {series}", date_header=("observation_date", "DATE"), parse_day=iso_day
    )
    if [column.upper() for column in columns] != [series.upper()]:
        raise DataError(f"fred: asked for {series}, but the file holds {', '.join(columns)}")
    if not len(times):
        raise DataError(f"fred {series}: there is a header but no row below it")
    return times, (series,), values


def _frequency(times: np.ndarray[tuple[int], np.dtype[np.datetime64]]) -> Frequency:
    """The frequency by the median spacing of the rows; ``none`` for quarterly and yearly series."""
    if len(times) < 2:
        return "none"
    days = float(np.median(np.diff(times).astype("timedelta64[D]").astype(np.int64)))
    if days > 35.0:
        return "none"
    return next((name for limit, name in _SPACING if days < limit), "monthly")
