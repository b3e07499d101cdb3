"""Which instruments a task shows and hides, on which days, and which tasks therefore conflict.

A task *shows* the rows of its public files and those that its tools look up. It *hides* what its private fold asks for.
Whoever *plays* it is shown hidden windows and bars too, one after the other. All of it is derived from the data that
the task is built from, so that there is nothing to be kept up to date by hand.

Two tasks *conflict* if one shows what the other hides. Data that are drawn anew for each rollout, as those of
simulators are, do not count: nobody can have seen them elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from itertools import combinations
from typing import Any

Days = tuple[tuple[str, str], ...]
"""Intervals of days in order, each with its first and last day, both included, as ISO dates."""
ALWAYS: Days = (("0001-01-01", "9999-12-31"),)
"""The interval of what has no dates."""


@dataclass(frozen=True)
class Exposure:
    """What a task shows and hides: for each instrument the days."""

    shows: Mapping[str, Days]
    """Days that public files show of each instrument, or tools as of some question."""
    hides: Mapping[str, Days]
    """Days whose values the private fold asks for."""
    plays: Mapping[str, Days] = field(default_factory=dict)
    """Days that whoever plays the task is shown besides."""

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Exposure:
        """The exposure from plain values, as :meth:`to_dict` has them."""
        parts = (
            {name: tuple((first, last) for first, last in days) for name, days in stated[part].items()}
            for part in ("shows", "hides", "plays")
        )
        return cls(*parts)

    def to_dict(self) -> dict[str, Any]:
        """The exposure as plain values."""
        return asdict(self)


NOTHING = Exposure({}, {})


@dataclass(frozen=True)
class Conflict:
    """Two tasks of which one shows what the other hides."""

    tasks: tuple[str, str]
    """Names of the two tasks, sorted."""
    instruments: tuple[str, ...]
    """The instruments that are shown by one and hidden by the other."""
    days: tuple[str, str]
    """First and last day on which they are."""

    def __str__(self) -> str:
        named = ", ".join(self.instruments[:4])
        more = len(self.instruments) - 4
        since = "" if self.days == ALWAYS[0] else f", {self.days[0]} to {self.days[1]}"
        return f"{named}{f' and {more} more' if more > 0 else ''}{since}"


def conflicts(known: Mapping[str, Exposure | None]) -> list[Conflict]:
    """The pairs of tasks of which one shows what the other hides.

    Args:
        known: what tasks show and hide, by name; None for a task of which that is not known, which is left out.
    """
    return [found for pair in combinations(sorted(known), 2) if (found := _conflict(pair, known)) is not None]


def _conflict(pair: tuple[str, str], known: Mapping[str, Exposure | None]) -> Conflict | None:
    one, other = (known[name] for name in pair)
    if one is None or other is None:
        return None
    met = {
        name: common
        for showing, hiding in ((one, other), (other, one))
        for name, common in _met(showing.shows, hiding.hides).items()
    }
    if not met:
        return None
    return Conflict(
        pair, tuple(sorted(met)), (min(first for first, _ in met.values()), max(last for _, last in met.values()))
    )


def is_told(hidden: Exposure, played: Exposure) -> bool:
    """Whether whoever has played one task was shown something that another one hides.

    Args:
        hidden: exposure of the task that hides it.
        played: exposure of the task that was played.
    """
    return any(_met(shown, hidden.hides) for shown in (played.shows, played.plays))


def hide_the_same(one: Exposure, other: Exposure) -> bool:
    """Whether two tasks hide some days of an instrument alike."""
    return bool(_met(one.hides, other.hides))


def _met(shown: Mapping[str, Days], hidden: Mapping[str, Days]) -> dict[str, tuple[str, str]]:
    """The instruments of which days are shown that are hidden elsewhere, with the first and last such day."""
    found = {}
    for name in shown.keys() & hidden.keys():
        common = [
            (max(first, begin), min(last, end))
            for first, last in shown[name]
            for begin, end in hidden[name]
            if max(first, begin) <= min(last, end)
        ]
        if common:
            found[name] = common[0][0], common[-1][1]
    return found


def group_of(task: str, found: Iterable[Conflict]) -> tuple[str, ...]:
    """The conflict group of a task: it, and all tasks that conflict with it; empty if none does."""
    others = {name for conflict in found if task in conflict.tasks for name in conflict.tasks}
    return tuple(sorted(others))


def between(first: date, last: date) -> Days:
    """One interval of days."""
    return ((first.isoformat(), last.isoformat()),)
