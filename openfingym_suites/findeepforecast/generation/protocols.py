"""The protocols of the two agents that generate problems, and what they take and give."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from openfingym.questions.question import DAY_NS
from openfingym_suites.findeepforecast.problem import ForecastProblem, Horizon
from openfingym_suites.findeepforecast.world.known import KnownWorld

WEEK_DAYS, MONTH_DAYS = 10, 45
"""The most days from the generation to the expected truth for the horizons of a week and of a month."""


@dataclass(frozen=True)
class Week:
    """A week of a season. Times are nanoseconds since the epoch."""

    name: str
    """ISO week of its generation, such as ``2025-W44``."""
    generated_ns: int
    """When its questions are generated (t_g)."""
    deadline_ns: int
    """Until when they may be answered (t_d)."""
    ends_ns: int
    """The deadline of the week after: reports that are scheduled between the two are asked for in this week."""

    def horizon(self, expected_ns: int) -> Horizon:
        """How far the expected truth is from the generation: a week (up to 10 days), a month (up to 45), or a quarter.

        Args:
            expected_ns: when the truth is expected to be known, in nanoseconds since the epoch.
        """
        ahead_ns = expected_ns - self.generated_ns
        if ahead_ns <= WEEK_DAYS * DAY_NS:
            return "week"
        return "month" if ahead_ns <= MONTH_DAYS * DAY_NS else "quarter"


@dataclass(frozen=True, order=True)
class Stratum:
    """A cell of the season's plan: a quadrant in a market.

    Example:
        >>> str(Stratum("recurrent macro", "JP"))
        'recurrent macro JP'
    """

    quadrant: str
    """Track and level, such as ``recurrent macro``."""
    market: str
    """Code of the economy, or ``GLOBAL``."""

    def __str__(self) -> str:
        return f"{self.quadrant} {self.market}"


@dataclass(frozen=True)
class DrawnProblems:
    """The problems that a generator made for a week, and what it refused."""

    problems: tuple[ForecastProblem, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many candidates were refused, by the rule that they broke."""


class RecurrentGenerator(Protocol):
    """Generates problems about disclosures that are scheduled in calendars."""

    def capacity(self, world: KnownWorld, week: Week, asked: Collection[str], seed: int) -> Mapping[Stratum, int]:
        """How many problems of each stratum could be made in a week, the present one or a later one, by the calendars.

        Args:
            world: what is known when the present week is generated.
            week: the week that the number is for.
            asked: keys of the season's earlier problems, which are not made again.
            seed: seed of the season.
        """

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """As many problems as are wanted of each stratum, or fewer if there are not so many.

        Args:
            world: what is known when the week is generated.
            week: the week that asks.
            wanted: how many problems of each stratum are wanted; strata of the other track are passed over.
            asked: keys of the season's earlier problems, which are not made again.
            seed: seed of the season.
        """


class NonRecurrentGenerator(Protocol):
    """Generates problems about events that are in no calendar."""

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :meth:`RecurrentGenerator.generate`.

        A problem about the same event has the same key in any week, by which the season knows what it has asked.
        """
