"""Conditions on columns, and the values in them: a value, a list of values, ``None``, or a range."""

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


@dataclass(frozen=True)
class Between:
    """From ``low`` to ``high``, both included; ``None`` where a side is open. A missing value is in no range."""

    low: Value = None
    high: Value = None


Condition = Value | Sequence[Value] | Between
Where = Mapping[str, Condition]
"""A condition for each of some columns. A column of lists fulfils one that any of its elements does."""


def instant(value: datetime | str) -> datetime:
    """A time with its zone, as UTC.

    Raises:
        UsageError: it is no time, or has no zone.
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, datetime) and time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{value!r} is no time with a zone; give one such as 2024-01-31T14:00:00+00:00")


def microseconds(time: datetime) -> int:
    """Whole microseconds since 1970, of a time with a zone."""
    return (time - EPOCH) // timedelta(microseconds=1)


def number_of(kind: str, value: Value, where: str) -> int | float:
    """The number that stands for a value in a column of numbers, days or times.

    Args:
        kind: type of the column.
        value: a value; days and times as themselves or as ISO 8601.
        where: the column, for the message.

    Raises:
        UsageError: the column holds no such values.
    """
    if kind == "TIMESTAMP" and isinstance(value, (str, datetime)):
        return microseconds(instant(value))
    if kind == "DATE" and isinstance(value, (str, date)) and not isinstance(value, datetime):
        return _day(value, where) - EPOCH_DAY
    if kind == "BOOLEAN" and isinstance(value, bool):
        return int(value)
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
