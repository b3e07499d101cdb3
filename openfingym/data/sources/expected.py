"""What a pulled table should hold: columns, frequency and a least number of rows, so that a page of another service, or
a part of the data, is not taken for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.data.sources.source import SourceRequest
    from openfingym.data.sources.table import Table
    from openfingym.task.model import Frequency

STEPS: Mapping[str, tuple[float, float]] = {
    "intraday": (0.0, 0.999),
    "hourly": (1.0, 12.0),
    "daily": (24.0, 72.0),
    "weekly": (144.0, 192.0),
    "monthly": (672.0, 744.0),
}
"""Bounds, in hours, of the median step between two rows, by frequency; other frequencies have no usual step."""
FEWEST_STEPS = 10
"""With fewer steps between rows, the usual one is not looked at."""
COMPLETE = 0.9
"""Least share of a year's rows that must be there; the rest are holidays, outages and months not published."""
DAYS_A_YEAR = 365.25


@dataclass(frozen=True)
class Expected:
    """What a named dataset should hold."""

    frequency: Frequency
    rows_a_year: float
    """Number of rows that a whole year has."""
    since: date
    """First day of the data."""
    columns: tuple[str, ...] = ()
    """Columns that have values in any period; more may be there."""

    def least_rows(self, request: SourceRequest, last: date) -> int:
        """The fewest rows that the period asked for must have; it ends at ``last`` where no end is asked for."""
        start = max(self.since, request.start or self.since)
        days = ((request.end or last) - start).days + 1
        return math.floor(COMPLETE * self.rows_a_year * max(days, 0) / DAYS_A_YEAR)


def require_expected(table: Table, request: SourceRequest, expected: Expected | None, name: str) -> None:
    """Refuse a table that is not what was asked for.

    Args:
        table: the table that the source gave.
        request: the request that was made of the source.
        expected: what the dataset should hold; None for a source asked directly, of which only the symbols and the
            frequency are checked.
        name: name of the dataset or source, for messages.

    Raises:
        DataError: a column is missing or empty, rows are at another frequency, or there are too few; the message says
            what was found and what was expected.
    """
    empty = {column for column, missing in table.missing.items() if missing == len(table.times)}
    absent = [column for column in (expected.columns if expected else ()) if column not in table.columns]
    absent += [symbol for symbol in request.symbols if _is_empty(symbol, table.columns, empty)]
    if absent:
        raise DataError(
            f"{name}: no value of {', '.join(absent[:6])}{f' and {len(absent) - 6} more' if len(absent) > 6 else ''} "
            f"in the {len(table.times):,} rows and {len(table.columns)} columns of the answer, expected some of each; "
            "the service has changed, or another answered in its place"
        )
    frequency = expected.frequency if expected else table.frequency
    # The median, since weekends, holidays and outages make some of the steps longer.
    hours = np.diff(table.times) / np.timedelta64(1, "h")
    if frequency in STEPS and len(hours) >= FEWEST_STEPS:
        usual, (shortest, longest) = float(np.median(hours)), STEPS[frequency]
        if not shortest <= usual <= longest:
            raise DataError(
                f"{name}: rows are usually {usual:g} hours apart, expected {shortest:g} to {longest:g} of {frequency} "
                "data; the service has changed, or another answered in its place"
            )
    if expected is None:
        return
    last = table.times[-1].astype("datetime64[D]").item()
    least = expected.least_rows(request, last)
    if len(table.times) < least:
        raise DataError(
            f"{name}: {len(table.times):,} rows from {table.times[0].astype('datetime64[D]')} to {last}, expected at "
            f"least {least:,} from {max(expected.since, request.start or expected.since)} to {request.end or last}; a "
            "part is missing, or the period reaches beyond the data: state --start and --end, or try again later"
        )


def _is_empty(symbol: str, columns: Sequence[str], empty: set[str]) -> bool:
    """Whether no column of a symbol has a value; the columns of a single symbol may lack its name."""
    own = [column for column in columns if column == symbol or column.startswith(f"{symbol}.")] or columns
    return all(column in empty for column in own)
