"""Reading a payload of a stranger's as a table."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES = 1 << 16
MOST_COLUMNS = 2000
"""A table with more would take more memory than its bytes let one think."""
DATES = ("date", "time", "timestamp", "datetime", "day", "month", "observation_date", "period")


def read_table(content: bytes) -> pd.DataFrame:
    """A CSV as a table: by time where a column is one, every other column a number.

    Raises:
        DataError: it is a web page, or no such table.
    """
    import pandas as pd

    head = content[:512].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise DataError(f"a web page where a table should be: {content[:80]!r}")
    widest = max((line.count(b",") for line in content[:HEAD_BYTES].splitlines()[:3]), default=0)
    if widest >= MOST_COLUMNS or b"\n" not in content[:HEAD_BYTES]:
        raise DataError(f"no table of at most {MOST_COLUMNS} columns whose first line ends within {HEAD_BYTES} bytes")
    try:
        frame = pd.read_csv(io.BytesIO(content), na_values=[".", "", "ND"])
    except (ValueError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise DataError(f"no CSV: {' '.join(str(error).split())[:200]}") from None
    if frame.empty or not len(frame.columns):
        raise DataError("the table has no rows")
    first = frame.columns[0]
    for name in (*(column for column in frame.columns if str(column).strip().lower() in DATES), first):
        times = (
            pd.to_datetime(frame[name], errors="coerce", utc=True)
            if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
            else None
        )
        if times is not None and times.notna().mean() > 0.98:
            frame = frame.assign(**{name: times.dt.tz_localize(None)}).dropna(subset=[name]).set_index(name)
            break
    else:
        if str(first).lower() in ("row", "id", "index"):
            frame = frame.set_index(first)
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    texts = [str(name) for name in frame.columns if numbers[name].isna().sum() > frame[name].isna().sum()]
    if texts:
        cell = frame[texts[0]][numbers[texts[0]].isna() & frame[texts[0]].notna()].iloc[0]
        raise DataError(f"column {texts[0]!r} holds what is no number, as {cell!r}")
    found: pd.DataFrame = numbers.astype(float)
    return found
