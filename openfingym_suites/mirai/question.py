"""Questions of the suite as data: for the relations of a pair, or for the countries of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class RelationQuestion:
    """Which relations there will be from one country to another on a day."""

    day: date
    """The day that is asked about."""
    head: str
    """ISO 3166-1 alpha-3 code of the country that acts."""
    tail: str
    """ISO 3166-1 alpha-3 code of the country that is acted upon."""
    today: date
    """The current date: the last day of which anything is known."""

    @property
    def horizon(self) -> int:
        """Days from the current date to the day that is asked about."""
        return (self.day - self.today).days


@dataclass(frozen=True)
class ObjectQuestion:
    """Towards which countries one country will take a relation on a day."""

    day: date
    """The day that is asked about."""
    head: str
    """ISO 3166-1 alpha-3 code of the country that acts."""
    relation: str
    """Second-level CAMEO code of the relation."""
    today: date
    """The current date: the last day of which anything is known."""
