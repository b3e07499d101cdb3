"""The schedule of a series: when each round is generated, is due, is resolved and published.

A schedule is written in local times of one zone, and gives moments, which summer time moves as it moves the people who
live by that zone's clocks. A local time that is skipped in spring means the time an hour later, and one that occurs
twice in autumn means the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Self

from pydantic import BeforeValidator, Field

from openfingym.questions.question import moment_ns
from openfingym.task.contracts import Section

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SKEW_DAYS = 2
"""Most days between a local date and the UTC date of its moments, with room for a zone that skips a day."""
_WRITTEN = re.compile(r"([A-Za-z]+) (\d\d):(\d\d)")


@dataclass(frozen=True)
class WeeklyTime:
    """A local time of the week, such as ``Sunday 23:59``."""

    weekday: int
    """The day of the week, 0 for Monday to 6 for Sunday."""
    time: time
    """The local time of that day."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a time of the week such as ``Thursday 08:00``.

        Raises:
            ValueError: the value is not a text of this form.
        """
        match = _WRITTEN.fullmatch(text.strip()) if isinstance(text, str) else None
        day = match[1].capitalize() if match else ""
        if not match or day not in WEEKDAYS or int(match[2]) > 23 or int(match[3]) > 59:
            raise ValueError(f"expected a day of the week and a time, such as 'Thursday 08:00'; found {text!r}")
        return cls(WEEKDAYS.index(day), time(int(match[2]), int(match[3])))

    def __str__(self) -> str:
        return f"{WEEKDAYS[self.weekday]} {self.time:%H:%M}"

    def first(self, zone: tzinfo, after_ns: int, *, inclusive: bool = False) -> int:
        """The first moment of this time of the week after another moment.

        Args:
            zone: the time zone in which the time of the week is meant.
            after_ns: the other moment, in nanoseconds since the epoch.
            inclusive: whether the other moment itself may be the first one.

        Returns:
            The moment in nanoseconds since the epoch.
        """
        return next(moment for _, moment in self.dated(zone, after_ns + (not inclusive)))

    def dated(self, zone: tzinfo, since_ns: int) -> Iterator[tuple[date, int]]:
        """Every moment of this time of the week from ``since_ns`` on, without end: its local date, and the moment in
        nanoseconds since the epoch.
        """
        # Begin early enough for every zone; the days before `since_ns` are passed over below.
        day = _utc(since_ns).astimezone(zone).date() - timedelta(days=_SKEW_DAYS)
        day += timedelta(days=(self.weekday - day.weekday()) % 7)
        while True:
            moment = moment_ns(datetime.combine(day, self.time, tzinfo=zone))
            if moment >= since_ns:
                yield day, moment
            day += timedelta(days=7)


def _parsed(value: object) -> WeeklyTime:
    return value if isinstance(value, WeeklyTime) else WeeklyTime.parse(value)


At = Annotated[WeeklyTime, BeforeValidator(_parsed)]
"""A time of the week, which a definition states as text."""


@dataclass(frozen=True)
class RoundTimes:
    """The moments of a round in nanoseconds since the epoch, each of them after the one before."""

    week: str
    """The ISO week in which the round is generated, such as ``2026-W48``."""
    generated_ns: int
    """The moment from which on the round is generated (t_g)."""
    deadline_ns: int
    """The moment before which its questions must be answered (t_d)."""
    resolved_ns: int
    """The moment at which truths are asked for the first time."""
    published_ns: int
    """The moment at which the report with these truths is published."""


class Schedule(Section):
    """``[schedule]``: four times of the week, in the zone of the series."""

    generate: At
    """When a round is generated."""
    deadline: At
    """When a round takes no more answers: the first such time after its generation."""
    resolve: At
    """When truths are asked for: the first such time after the deadline, and every week thereafter."""
    publish: At
    """When the report is published: the first such time after the resolution, or the same moment."""
    void_after_days: Annotated[int, Field(gt=0, le=366)] = 14
    """Days after its evaluation time at which a question without a truth is void."""

    def rounds(self, zone: tzinfo, since_ns: int, until_ns: int) -> Iterator[RoundTimes]:
        """Every round that is generated between two moments, both included, in order.

        Args:
            zone: the time zone of the series.
            since_ns: the earlier moment, in nanoseconds since the epoch.
            until_ns: the later moment, in nanoseconds since the epoch.
        """
        for day, generated in self.generate.dated(zone, since_ns):
            if generated > until_ns:
                return
            deadline = self.deadline.first(zone, generated)
            resolved = self.resolve.first(zone, deadline)
            published = self.publish.first(zone, resolved, inclusive=True)
            yield RoundTimes(week_of(day), generated, deadline, resolved, published)

    def evaluation(self, zone: tzinfo, deadline_ns: int, settled_ns: int) -> int:
        """When a question is resolved: at the first resolution after its deadline at which its truth is there.

        Args:
            zone: the time zone of the series.
            deadline_ns: the deadline of the question, in nanoseconds since the epoch.
            settled_ns: the moment from which on there is a truth, in nanoseconds since the epoch.

        Returns:
            The moment in nanoseconds since the epoch.
        """
        # At `settled_ns` itself the truth is there, but at the deadline itself a question is not yet resolved.
        return self.resolve.first(zone, max(settled_ns - 1, deadline_ns))

    def moments(self, zone: tzinfo, after_ns: int, until_ns: int) -> list[int]:
        """Every moment at which something is due, later than ``after_ns`` and not later than ``until_ns``, in order."""
        moments = set()
        for at in (self.generate, self.deadline, self.resolve, self.publish):
            for _, moment in at.dated(zone, after_ns + 1):
                if moment > until_ns:
                    break
                moments.add(moment)
        return sorted(moments)


def week_of(day: date) -> str:
    """The ISO week of a date, such as ``2026-W48``."""
    # The year of the week, which around New Year is not always that of the date.
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def _utc(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 10**9, UTC)
