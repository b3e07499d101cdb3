"""A question of the suite as data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class RelationQuestion:
    """Which relations there will be from one country to another on a day."""

    day: date
    """The day that is asked about."""
    head: str
    """ISO 3166-1 alpha-3 code of who acts."""
    tail: str
    """The same of whom it is done to."""
    today: date
    """The current date: the last day of which anything is known."""

    @property
    def horizon(self) -> int:
        """Days from the current date to the day that is asked about."""
        return (self.day - self.today).days


@dataclass(frozen=True)
class ObjectQuestion:
    """With which countries one country will have a relation on a day."""

    day: date
    """The day that is asked about."""
    head: str
    """ISO 3166-1 alpha-3 code of who acts."""
    relation: str
    """Second-level code of what is done."""
    today: date
    """The current date: the last day of which anything is known."""
