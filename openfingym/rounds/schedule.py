"""The schedule of a series: when each round is generated, is due, is resolved and published.

A schedule is written in local times of one zone, and gives moments: a clock that is set forward or back moves them as
it moves the people who keep to it. A time that a clock skips is meant as if it had not been set, and of one that it
shows twice the first is meant.
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
"""Days by which a local date and its moment may lie apart, with room for a zone that skips a day."""
_WRITTEN = re.compile(r"([A-Za-z]+) (\d\d):(\d\d)")


@dataclass(frozen=True)
class WeeklyTime:
    """A time of the week in some zone, such as ``Sunday 23:59``."""

    weekday: int
    """0 is Monday."""
    time: time

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read ``Thursday 08:00``.

        Raises:
            ValueError: it is of another form.
        """
        found = _WRITTEN.fullmatch(text.strip()) if isinstance(text, str) else None
        day = found[1].capitalize() if found else ""
        if not found or day not in WEEKDAYS or int(found[2]) > 23 or int(found[3]) > 59:
            raise ValueError(f"expected a day of the week and a time, such as 'Thursday 08:00'; found {text!r}")
        return cls(WEEKDAYS.index(day), time(int(found[2]), int(found[3])))

    def __str__(self) -> str:
        return f"{WEEKDAYS[self.weekday]} {self.time:%H:%M}"

    def first(self, zone: tzinfo, after_ns: int, *, inclusive: bool = False) -> int:
        """The first such moment after another, or at it where it is inclusive; in nanoseconds since the epoch."""
        return next(moment for _, moment in self.dated(zone, after_ns + (not inclusive)))

    def dated(self, zone: tzinfo, since_ns: int) -> Iterator[tuple[date, int]]:
        """Every such moment that is not before another, with the local date that names it, in order."""
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


@dataclass(frozen=True)
class RoundTimes:
    """When a round begins and ends, in nanoseconds since the epoch: each moment after the one before."""

    week: str
    """The ISO week in which it is generated, such as ``2026-W48``."""
    generated_ns: int
    """From which on it is generated (t_g)."""
    deadline_ns: int
    """Before which its questions must be answered (t_d)."""
    resolved_ns: int
    """The first time that truths are asked for."""
    published_ns: int
    """When the report with these truths is published."""


class Schedule(Section):
    """``[schedule]``: four times of the week, in the zone of the series."""

    generate: At
    deadline: At
    """The first such time after the generation."""
    resolve: At
    """The first such time after the deadline, and every week thereafter."""
    publish: At
    """The first such time after the resolution, or the same."""
    void_after_days: Annotated[int, Field(gt=0, le=366)] = 14
    """Days after its evaluation time at which a question without a truth is void."""

    def rounds(self, zone: tzinfo, since_ns: int, until_ns: int) -> Iterator[RoundTimes]:
        """Every round whose generation lies in a stretch of time, both ends included, in order."""
        for day, generated in self.generate.dated(zone, since_ns):
            if generated > until_ns:
                return
            deadline = self.deadline.first(zone, generated)
            resolved = self.resolve.first(zone, deadline)
            published = self.publish.first(zone, resolved, inclusive=True)
            yield RoundTimes(week_of(day), generated, deadline, resolved, published)

    def evaluation(self, zone: tzinfo, deadline_ns: int, settled_ns: int) -> int:
        """When a question is resolved whose truth is there at ``settled_ns``: the first resolution that is neither
        before that nor before the end of the answers.
        """
        return self.resolve.first(zone, max(settled_ns - 1, deadline_ns))

    def moments(self, zone: tzinfo, after_ns: int, until_ns: int) -> list[int]:
        """Every moment at which something is due, later than ``after_ns`` and not later than ``until_ns``, in order."""
        found = set()
        for at in (self.generate, self.deadline, self.resolve, self.publish):
            for _, moment in at.dated(zone, after_ns + 1):
                if moment > until_ns:
                    break
                found.add(moment)
        return sorted(found)


def week_of(day: date) -> str:
    """The ISO week of a date, such as ``2026-W48``."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def _utc(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 10**9, UTC)
