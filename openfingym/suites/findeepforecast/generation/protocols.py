"""What generates problems: the two agents of generation, and what they are told and give."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from openfingym.suites.findeepforecast.problem import ForecastProblem
from openfingym.suites.findeepforecast.world.known import KnownWorld


@dataclass(frozen=True)
class Week:
    """A week of a season. Times are nanoseconds since the epoch."""

    name: str
    """ISO week of its generation, such as ``2025-W44``."""
    generated_ns: int
    """t_g."""
    deadline_ns: int
    """t_d."""
    ends_ns: int
    """The deadline of the week after: reports that are scheduled between the two are asked for in this week."""


@dataclass(frozen=True, order=True)
class Stratum:
    """A cell of the season's plan: a quadrant in a market.

    Example:
        >>> str(Stratum("recurrent macro", "JP"))
        'recurrent macro JP'
    """

    quadrant: str
    market: str

    def __str__(self) -> str:
        return f"{self.quadrant} {self.market}"


@dataclass(frozen=True)
class DrawnProblems:
    """Problems of a week, and what was refused on the way."""

    problems: tuple[ForecastProblem, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    """Numbers of candidates by the rule that they broke."""


class RecurrentGenerator(Protocol):
    """Makes problems about what calendars have."""

    def capacity(self, world: KnownWorld, week: Week, asked: Collection[str], seed: int) -> Mapping[Stratum, int]:
        """How many problems could be made in a week, this one or a later one, as far as calendars say.

        Args:
            world: what is known when the present week is generated.
            week: the week that asks.
            asked: keys of the season's earlier problems, which are not made again.
            seed: seed of the season.
        """

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """As many problems as are wanted of each stratum, or fewer where there are no more.

        Args:
            world: what is known when the week is generated.
            week: the week that asks.
            wanted: how many of each stratum; of strata of other tracks nothing is made.
            asked: keys of the season's earlier problems, which are not made again.
            seed: seed of the season.
        """


class NonRecurrentGenerator(Protocol):
    """Makes problems about events that no calendar has."""

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """As :meth:`RecurrentGenerator.generate`. The key of a problem about the same event is the same in any week."""
