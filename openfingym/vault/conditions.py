"""Conditions on columns: a value, a list of values of which one must be had, ``None`` for missing, or a range."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from openfingym.errors import UsageError

Value = str | bool | int | float | date | datetime | None
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = EPOCH.toordinal()
_WHOLE = {"INTEGER": 31, "BIGINT": 63}
"""Bits of a whole number without its sign, by the type of its column."""


@dataclass(frozen=True)
class Between:
    """A range, both ends included. A missing value is in no range."""

    low: Value = None
    """Lowest value; None where there is no lower end."""
    high: Value = None
    """Highest value; None where there is no upper end."""


Condition = Value | Sequence[Value] | Between
Where = Mapping[str, Condition]
"""Conditions by the name of the column. A list fulfils a condition if one of its elements does."""


def instant(value: datetime | str) -> datetime:
    """A time that has a time zone, as UTC.

    Raises:
        UsageError: it is no time, or has no time zone.
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, datetime) and time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{value!r} is no time with a zone; give one such as 2024-01-31T14:00:00+00:00")


def microseconds(time: datetime) -> int:
    """Whole microseconds from the beginning of 1970, UTC, to a time that has a time zone."""
    # Division of durations is exact, where timestamp() would round to a float.
    return (time - EPOCH) // timedelta(microseconds=1)


def number_of(kind: str, value: Value, where: str) -> int | float:
    """The number that stands for a value in a column of numbers, days or times.

    Args:
        kind: type of the column.
        value: the value; a day or a time may be a text as ISO 8601.
        where: names of table and column, for the message.

    Raises:
        UsageError: the column holds no such values.
    """
    if kind == "TIMESTAMP" and isinstance(value, (str, datetime)):
        return microseconds(instant(value))
    if kind == "DATE" and isinstance(value, (str, date)) and not isinstance(value, datetime):
        return _day(value, where) - EPOCH_DAY
    if kind == "BOOLEAN" and isinstance(value, bool):
        return int(value)
    # A bool is an int to Python. The bound keeps out NaN and infinity, and whole numbers that no float can hold.
    if isinstance(value, (int, float, np.integer)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        if kind == "DOUBLE":
            return float(value)
        if kind in _WHOLE and value == int(value) and -(2 ** _WHOLE[kind]) < value < 2 ** _WHOLE[kind]:
            return int(value)
    raise UsageError(f"{where} is {kind}; {value!r} is no such value")


def text_of(value: Value, where: str) -> str:
    """A value of a column of text.

    Raises:
        UsageError: it is no text.
    """
    if isinstance(value, str):
        return value
    raise UsageError(f"{where} is VARCHAR; {value!r} is no text")


def _day(value: str | date, where: str) -> int:
    try:
        return (date.fromisoformat(value) if isinstance(value, str) else value).toordinal()
    except ValueError:
        raise UsageError(f"{where} is DATE; {value!r} is no day such as 2024-01-31") from None
