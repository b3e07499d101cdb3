"""Tables of data: reading one from the bytes that a stranger sent, and whether it has a time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import read_csv
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES = 1 << 16
"""Bytes within which the first line must end."""
MOST_COLUMNS = 2000
"""Most columns of a table: one with more would take far more memory than its bytes."""
DATES = ("date", "time", "timestamp", "datetime", "day", "month", "observation_date", "period")
"""Names of columns that may hold the time, in lower case."""


def is_dated(frame: pd.DataFrame) -> bool:
    """Whether a table's rows have a time, and not a number."""
    return bool(np.issubdtype(frame.index.to_numpy().dtype, np.datetime64))


def read_table(content: bytes) -> pd.DataFrame:
    """A CSV file as a table of numbers, indexed by the time if a column holds one.

    Args:
        content: bytes of the file.

    Returns:
        Columns of float64, with NaN for cells without a value. Times are in UTC, and without a zone.

    Raises:
        DataError: the bytes are a web page, or no such table.
    """
    import pandas as pd

    # Publishers answer with a page of excuses where a file has moved, and with status 200.
    head = content[:512].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise DataError(f"a web page where a table should be: {content[:80]!r}")
    # Counted before anything is parsed, since pandas makes an array for each column.
    widest = max((line.count(b",") for line in content[:HEAD_BYTES].splitlines()[:3]), default=0)
    if widest >= MOST_COLUMNS or b"\n" not in content[:HEAD_BYTES]:
        raise DataError(f"no table of at most {MOST_COLUMNS} columns whose first line ends within {HEAD_BYTES} bytes")
    try:
        frame = read_csv(io.BytesIO(content), na_values=[".", "", "ND"])
    except (ValueError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise DataError(f"no CSV: {' '.join(str(error).split())[:200]}") from None
    if frame.empty or not len(frame.columns):
        raise DataError("the table has no rows")
    first = frame.columns[0]
    for name in (*(column for column in frame.columns if str(column).strip().lower() in DATES), first):
        # Numbers are no times here: they would be taken for nanoseconds since 1970.
        times = (
            pd.to_datetime(frame[name], errors="coerce", utc=True)
            if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
            else None
        )
        # A few rows may be notes of the publisher's, as at the end of a file.
        if times is not None and times.notna().mean() > 0.98:
            frame = frame.assign(**{name: times.dt.tz_localize(None)}).dropna(subset=[name]).set_index(name)
            break
    else:
        if str(first).lower() in ("row", "id", "index"):
            frame = frame.set_index(first)
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    # A cell that had something and has no number: to drop it silently would change the data.
    texts = [str(name) for name in frame.columns if numbers[name].isna().sum() > frame[name].isna().sum()]
    if texts:
        cell = frame[texts[0]][numbers[texts[0]].isna() & frame[texts[0]].notna()].iloc[0]
        raise DataError(f"column {texts[0]!r} holds what is no number, as {cell!r}")
    table: pd.DataFrame = numbers.astype(float)
    return table
