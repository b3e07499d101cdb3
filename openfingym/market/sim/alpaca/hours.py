"""The trading hours of stocks at a local Alpaca venue."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from openfingym.errors import VenueError
from openfingym.market.ticks import SECOND

NEW_YORK = ZoneInfo("America/New_York")


def _moment(day: date, at: time) -> int:
    return int(datetime.combine(day, at, NEW_YORK).timestamp()) * SECOND


def midnight(day: date) -> int:
    """When a day begins in New York, in nanoseconds since the epoch."""
    return _moment(day, time())


def day_of(at: int) -> date:
    """The day of New York that holds a time."""
    return datetime.fromtimestamp(at // SECOND, UTC).astimezone(NEW_YORK).date()


def local(at: int) -> datetime:
    """A time in New York, to the microsecond."""
    whole, rest = divmod(at, SECOND)
    return (datetime.fromtimestamp(whole, UTC) + timedelta(microseconds=rest // 1000)).astimezone(NEW_YORK)


class MarketHours:
    """The times at which stocks trade; crypto always does.

    Args:
        intervals: (open, close) in nanoseconds of the exchange's clock, in their order; None for always open.

    Raises:
        VenueError: the intervals are not in order, or overlap.
    """

    def __init__(self, intervals: Sequence[tuple[int, int]] | None = None) -> None:
        self.intervals = None if intervals is None else [(int(begin), int(end)) for begin, end in intervals]
        self._edges = [edge for interval in self.intervals or () for edge in interval]
        if any(after <= before for before, after in zip(self._edges, self._edges[1:], strict=False)):
            raise VenueError(
                f"market hours of {self._edges[:6]} ... are not in order: expected (open, close) pairs, each close "
                "after its open and before the next open"
            )

    @classmethod
    def regular(cls, first: date, last: date, *, holidays: Collection[date] = ()) -> MarketHours:
        """Half past nine to four in New York, on the weekdays of a span of days.

        Args:
            first: the first day of the span.
            last: the last day of the span, itself included.
            holidays: days on which stocks do not trade.
        """
        days = (first + timedelta(days=number) for number in range((last - first).days + 1))
        return cls(
            [
                (_moment(day, time(9, 30)), _moment(day, time(16)))
                for day in days
                if day.weekday() < 5 and day not in holidays
            ]
        )

    def open(self, at: int) -> bool:
        """Whether stocks trade at a time, in nanoseconds."""
        # Edges are opens and closes in turn: after an odd number of them it is open.
        return self.intervals is None or bisect_right(self._edges, at) % 2 == 1

    def clock(self, at: int) -> dict[str, Any]:
        """The answer of ``/v2/clock``. Where the market never closes, days end and begin at midnight; after the last
        interval, the next times are None.
        """
        if self.intervals is None:
            following = local(midnight(day_of(at) + timedelta(days=1))).isoformat()
            edges: list[str | None] = [following, following]
        else:
            place = bisect_right(self._edges, at)
            ahead = [local(edge).isoformat() for edge in self._edges[place : place + 2]]
            edges = [*ahead, None, None][:2]
            if not self.open(at):
                edges.reverse()
        return {
            "timestamp": local(at).isoformat(),
            "is_open": self.open(at),
            "next_open": edges[1],
            "next_close": edges[0],
        }

    def calendar(self, first: date, last: date) -> list[dict[str, str]]:
        """The answer of ``/v2/calendar`` for these days."""
        if self.intervals is None:
            days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
            return [_day(day, "00:00", "23:59") for day in days]
        return [
            _day(day_of(begin), f"{local(begin):%H:%M}", f"{local(end):%H:%M}")
            for begin, end in self.intervals
            if first <= day_of(begin) <= last
        ]


def _day(day: date, begin: str, end: str) -> dict[str, str]:
    return {
        "date": day.isoformat(),
        "open": begin,
        "close": end,
        "session_open": begin.replace(":", ""),
        "session_close": end.replace(":", ""),
        "settlement_date": day.isoformat(),
    }
