"""One story of a simulated world: who did what to whom on a day, and what others said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.suites.mirai.world.kinds import StoryKind


@dataclass(frozen=True)
class Act:
    """A relation between two countries on the day of its story; countries are numbers of the geography's."""

    head: int
    code: str
    tail: int


@dataclass(frozen=True)
class Announcement:
    """What is said about a day to come."""

    scheme: str
    day: int
    """Day of the world, from 0."""
    host: int
    """Country where it shall be."""


@dataclass
class DayStory:
    """A story of one day."""

    day: int
    kind: StoryKind
    actor: int
    target: int
    acts: tuple[Act, ...]
    """What the two did; the first is what the story is about."""
    topic: str
    importance: float
    """How much is made of it; 1 is usual."""
    notice: Announcement | None = None
    reactions: list[Act] = field(default_factory=list)
    """What others did on the same day because of it."""
    rumour: bool = False
    """Whether its articles tell of preparations for something worse."""

    @property
    def every_act(self) -> tuple[Act, ...]:
        """The acts of the two, and the reactions to them."""
        return (*self.acts, *self.reactions)
