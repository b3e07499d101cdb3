"""The times in an author's table: which columns have them, and what they are."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.data.csvfile import YEARS
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

SURELY_DATES = frozenset({"date", "time", "datetime", "timestamp"})
"""Names of a column that holds nothing but times, in lower case."""
VENDORS = frozenset(
    {"date_time", "ts", "unix", "unix timestamp", "epoch", "open_time", "open time", "opentime", "window_start",
     "ts_event", "snapped_at", "close_time", "close time"}
)  # fmt: skip
"""Names that vendors give to columns of times, in lower case, and others perhaps to something else."""
DATES = SURELY_DATES | {"day", "month", "period"}
"""Names of a column of dates, in lower case."""
DATE = re.compile(r"\d{4}-\d\d")
"""How a date begins: year and month."""
DAY = re.compile(r"\d{4}-\d\d-\d\d|(19|20)\d{6}|\d{4}[./]\d\d[./]\d\d")
"""A day whose year stands first, as it stands in a column beside the time of day."""
CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?|\d{4}|\d{6}")
"""A time of day, as it stands in a column beside the date."""
EPOCHS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of Unix times, and how many of each are in a second."""
EPOCH_S = (10**8, 4_102_444_800)
"""Unix seconds that numbers are taken for: 1973 to 2100. No two units overlap."""
_ZONED = re.compile(r"[T ]\d\d:?\d\d.*(Z|UTC|GMT|[+-]\d\d(:?\d\d)?)\s*$", re.IGNORECASE)
_TIMED = re.compile(r"\d[T ](?!00:?00(:?00(\.0+)?)?\s*$)\d\d")
_POINTED = re.compile(r"(\d{4})([./])(\d\d)\2(\d\d)(?!\d)")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00(:00(\.0+)?)?[+-]\d\d:?\d\d")
_ZONE = re.compile(r"\s*(UTC|GMT|Z)$", re.IGNORECASE)


class Times(NamedTuple):
    """The times of an author's rows."""

    at: pd.DatetimeIndex | None
    """UTC, without a time zone of their own, to the nanosecond; None where the rows have none."""
    rest: pd.DataFrame
    """The other columns."""
    steps: tuple[str, ...]
    """What was done to come by them, for people to read."""


def take_times(frame: pd.DataFrame, path: Path, *, by_place: bool = False) -> Times:
    """Take the times out of a table: a date and a time of day in two columns are joined, Unix times are read, and what
    else holds times is left out.

    Args:
        frame: the columns of the table.
        path: path of the file, for messages.
        by_place: whether a first column without numbers holds times, whatever it is called.

    Raises:
        DataError: the times cannot be read; see :func:`dates_of`.
    """
    names = [str(name) for name in frame.columns]
    steps: list[str] = []
    pair = _date_and_clock(frame)
    if pair is not None:
        date, clock = pair
        joined = frame[date].map(_day_text) + "T" + frame[clock].map(_clock_text)
        at, steps = dates_of(joined.rename(date), path), [f"columns {date!r} and {clock!r} joined"]
        if _lacks_zone(joined):
            steps.append("times state no zone and are read as UTC")
        rest = frame.drop(columns=list(pair))
    else:
        stated = date_column(frame)
        if stated is None and by_place and names:
            # A first column that is no number is taken for dates, and one of Unix times for these.
            first = names[0]
            stated = first if not _numeric(frame[first]) or epoch_unit(frame[first]) else None
        if stated is None:
            return Times(None, frame, ())
        unit = epoch_unit(frame[stated])
        if unit is not None:
            steps.append(f"column {stated!r} read as Unix time in {unit}")
        elif _at_midnight(frame[stated]):
            steps.append(f"midnights of column {stated!r}, each of its own zone, read as dates")
        elif _lacks_zone(frame[stated]):
            steps.append("times state no zone and are read as UTC")
        at, rest = dates_of(frame[stated], path), frame.drop(columns=stated)
    more = [str(name) for name in rest.columns if _is_another_time(rest[name])]
    if more:
        steps.append(f"columns left out, which hold times: {', '.join(more)}")
    return Times(at, rest.drop(columns=more), tuple(steps))


def date_column(frame: pd.DataFrame) -> str | None:
    """Name of the column of times: one that is called so, else the first whose first cell looks like a date; None for
    none.
    """
    names = [str(name) for name in frame.columns]
    dated = [name for name in names if frame[name].dtype.kind == "M" or DATE.match(str(frame[name].iloc[0]).strip())]
    # A column 'month' or 'day' may hold the number of the month or day as well.
    called = [
        name
        for name in names
        if name.lower() in SURELY_DATES
        or (name.lower() in DATES and name in dated)
        or (name.lower() in VENDORS and (name in dated or epoch_unit(frame[name])))
    ]
    # Where several are called so, as in "unix,date", the one that a person can read.
    called.sort(key=lambda name: name not in dated)
    return next(iter([*called, *dated]), None)


def is_time(text: str) -> bool:
    """Whether a cell is a date or a time, and no number that could be something else."""
    return re.match(r"\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)|\d{8}(?:T| \d{6})$", text.strip()) is not None


def numbers_of(cells: pd.Series) -> NDArray[np.float64]:
    """The numbers of a column, float64[n]; NaN for what is none."""
    import pandas as pd

    return np.asarray(pd.to_numeric(cells, errors="coerce"), dtype=np.float64)


def epoch_unit(cells: pd.Series) -> str | None:
    """The unit of a column of Unix times, by its size; None if it is no such column.

    All cells must be whole numbers between 1973 and 2100 in one unit.
    """
    if cells.dtype.kind not in "iufO" and str(cells.dtype) not in {"str", "string"}:
        return None
    values = numbers_of(cells)
    if not len(values) or not np.isfinite(values).all() or (values != np.round(values)).any():
        return None
    low, high = float(values.min()), float(values.max())
    return next((unit for unit, of in EPOCHS.items() if EPOCH_S[0] * of <= low and high <= EPOCH_S[1] * of), None)


def dates_of(cells: pd.Series, path: Path) -> pd.DatetimeIndex:
    """The times of a column in UTC, without a time zone of their own, to the nanosecond.

    Raises:
        DataError: a cell is no ISO date or Unix time, or is outside :data:`~openfingym.data.csvfile.YEARS`.
    """
    import pandas as pd

    unit = epoch_unit(cells)
    if unit is not None:
        # By way of decimals: a float64 has no room for nanoseconds, and a text may be "1.6725312e18".
        whole = [int(Decimal(str(cell).strip())) for cell in cells]
        return pd.DatetimeIndex(np.array(whole, dtype=np.int64) * (10**9 // EPOCHS[unit])).as_unit("ns")
    if cells.dtype.kind in "iuf":
        raise DataError(f"{path}, column {cells.name!r}: numbers, not dates; write dates as 2024-01-31")
    texts = cells
    try:
        if cells.dtype.kind == "M":
            stamps = pd.to_datetime(cells, utc=True)
        else:
            plain = cells.astype(str).str.strip().str.replace(_ZONE, "Z", regex=True)
            if _at_midnight(cells):
                plain = plain.str.slice(0, 10)
            elif plain.str.fullmatch(r"(19|20)\d{6}T?").all():
                plain = plain.map(_day_text)
            # The year stands first, so that day and month cannot be mistaken.
            plain = plain.str.replace(_POINTED, r"\1-\3-\4", regex=True)
            # A number alone would be read as a year.
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


def _date_and_clock(frame: pd.DataFrame) -> tuple[str, str] | None:
    """Names of a column of dates alone, and of one with the time of day; None where they are not in two columns."""
    named = {str(name).lower(): str(name) for name in frame.columns}
    if not {"date", "time"} <= named.keys():
        return None
    date, clock = named["date"], named["time"]
    days, clocks = (frame[name].astype(str).str.strip() for name in (date, clock))
    is_day = days.str.fullmatch(DAY.pattern).all()
    return (date, clock) if is_day and clocks.str.fullmatch(CLOCK.pattern).all() else None


def _day_text(cell: object) -> str:
    """A day as ISO date; the year stands first, so that day and month cannot be mistaken."""
    digits = re.sub(r"\D", "", str(cell))
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"


def _clock_text(cell: object) -> str:
    """A time of day with colons."""
    text = str(cell).strip()
    if ":" not in text:
        text = ":".join(text[place : place + 2] for place in range(0, len(text), 2))
    return text.zfill(5) if text.count(":") == 1 else text if text[1] != ":" else f"0{text}"


def _at_midnight(cells: pd.Series) -> bool:
    """Whether all times are midnights with a zone: days of an exchange, and not moments."""
    return cells.dtype.kind == "O" and bool(cells.astype(str).str.strip().str.fullmatch(_MIDNIGHT.pattern).all())


def _lacks_zone(cells: pd.Series) -> bool:
    """Whether some times of a column have no zone; midnights are none, which are days."""
    if cells.dtype.kind == "M":
        return getattr(cells.dtype, "tz", None) is None and bool((cells != cells.dt.normalize()).any())
    return any(_TIMED.search(text) and not _ZONED.search(text) for text in map(str, cells))


def _is_another_time(cells: pd.Series) -> bool:
    """Whether a further column holds times: Unix times under a name of times, or dates under any."""
    if cells.dtype.kind == "M":
        return True
    if str(cells.name).lower() in SURELY_DATES | VENDORS and epoch_unit(cells) is not None:
        return True
    return cells.dtype.kind == "O" and is_time(str(cells.iloc[0])) and bool(cells.astype(str).map(is_time).all())


def _numeric(cells: pd.Series) -> bool:
    """Whether some cell of a column is a number, and none is anything else but a gap."""
    texts = cells.astype(str).str.strip()
    return bool((np.isfinite(numbers_of(cells)) | (texts == "").to_numpy() | cells.isna().to_numpy()).all())
