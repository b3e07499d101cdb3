"""One story of a simulated world: who did what to whom on a day, and how other countries reacted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_suites.mirai.world.kinds import StoryKind


@dataclass(frozen=True)
class Act:
    """A relation between two countries on the day of its story; a country is its place in ``Geography.countries``."""

    head: int
    """The country that acts."""
    code: str
    """CAMEO code of the relation, at the second level."""
    tail: int
    """The country that is acted upon."""


@dataclass(frozen=True)
class Announcement:
    """What is said about something that is planned for a later day."""

    scheme: str
    """Name of the scheme, such as ``summit``, or ``gathering`` for the summit of an alliance."""
    day: int
    """The planned day, counted from 0 at the first day of the world."""
    host: int
    """The country where it shall take place."""


@dataclass
class DayStory:
    """A story of one day."""

    day: int
    """The day on which it happens, counted from 0 at the first day of the world; negative during the burn-in."""
    kind: StoryKind
    """The kind of story."""
    actor: int
    """The country that acts."""
    target: int
    """The country that is acted upon, and may answer."""
    acts: tuple[Act, ...]
    """What the two countries did; the first act is what the story is about."""
    topic: str
    """What the relations concern in it, one of the topics of :mod:`~openfingym_suites.mirai.world.kinds`."""
    importance: float
    """How much is written and said about it; 1 is usual."""
    notice: Announcement | None = None
    """What it announces for a later day; None if it announces nothing."""
    reactions: list[Act] = field(default_factory=list)
    """What other countries did on the same day because of it."""
    rumour: bool = False
    """Whether its articles report preparations for something worse."""

    @property
    def every_act(self) -> tuple[Act, ...]:
        """The acts of the two countries, and the reactions of others to them."""
        return (*self.acts, *self.reactions)
