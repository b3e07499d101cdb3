"""The dates in an author's table: which column has them, and what they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.data.csvfile import YEARS
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

DATES = frozenset({"date", "time", "datetime", "timestamp", "day", "month", "period"})
"""Names of a column of dates, in lower case."""
SURELY_DATES = DATES - {"day", "month", "period"}
"""Names of a column that holds nothing but dates."""
DATE = re.compile(r"\d{4}-\d\d")
"""How a date begins: year and month."""


def date_column(frame: pd.DataFrame) -> str | None:
    """Name of the column of dates: one that is called so, else the first whose first cell looks like a date; None for
    none.
    """
    names = [str(name) for name in frame.columns]
    dated = [name for name in names if frame[name].dtype.kind == "M" or DATE.match(str(frame[name].iloc[0]).strip())]
    # A column 'month' or 'day' may hold the number of the month or day as well.
    called = [name for name in names if name.lower() in SURELY_DATES or (name.lower() in DATES and name in dated)]
    return next(iter([*called, *dated]), None)


def dates_of(cells: pd.Series, path: Path) -> pd.DatetimeIndex:
    """The dates of a column in UTC, without a time zone of their own, to the nanosecond.

    Raises:
        DataError: a cell is no ISO date, or is outside :data:`~openfingym.data.csvfile.YEARS`.
    """
    import pandas as pd

    if cells.dtype.kind in "iuf":
        raise DataError(f"{path}, column {cells.name!r}: numbers, not dates; write dates as 2024-01-31")
    texts = cells
    try:
        if cells.dtype.kind == "M":
            stamps = pd.to_datetime(cells, utc=True)
        else:
            # A number alone would be read as a year.
            plain = cells.astype(str).str.strip()
            texts = plain.where(~plain.str.fullmatch(r"[\d.]*"), "?")
            stamps = pd.to_datetime(texts, format="ISO8601", utc=True)
    except pd.errors.OutOfBoundsDatetime as error:
        # Of texts with nanoseconds, and before pandas 3 of all texts; what else is outside is named below by its row.
        raise DataError(
            f"{path}, column {cells.name!r}: a date is outside the years {YEARS[0]} to {YEARS[1]} "
            f"({str(error).split(', at')[0]}); leave out rows whose date stands for none"
        ) from None
    except ValueError:
        # By trying each: what pandas says of the first is long, and differs by version.
        found = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").isna()
        row = int(found.to_numpy().argmax())
        raise DataError(
            f"{path}, row {row + 2}, column {cells.name!r}: not all are ISO dates such as 2024-01-31; found "
            f"{str(cells.iloc[row])[:40]!r}. Other orders of day and month can be mistaken"
        ) from None
    if stamps.isna().any():
        raise DataError(f"{path}, row {int(stamps.isna().to_numpy().argmax()) + 2}: has no date")
    dates = pd.DatetimeIndex(stamps).tz_localize(None)
    outside = (dates.year < YEARS[0]) | (dates.year > YEARS[1])
    if outside.any():
        row = int(outside.argmax())
        raise DataError(
            f"{path}, row {row + 2}, column {cells.name!r}: {str(cells.iloc[row])!r} is outside the years "
            f"{YEARS[0]} to {YEARS[1]}; leave out rows whose date stands for none"
        )
    return dates.as_unit("ns")
