"""A season: what is wanted of each week, and the problems of a week from both generators, with what was refused.

The plan of a season says how many problems there are of each quadrant in each market. Each week takes a share of what
is still wanted: of recurrent ones in proportion to what calendars have for it and the weeks to come, as they are known
at the generation; of non-recurrent ones the same in each week that is left, since nobody knows what news there will
be. What a week cannot fill, or what a missed week would have had, is so left to the later ones, and what the last one
cannot fill is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openfingym.errors import UsageError
from openfingym.questions.question import moment_ns
from openfingym.suites.findeepforecast.generation.protocols import (
    DrawnProblems,
    NonRecurrentGenerator,
    RecurrentGenerator,
    Stratum,
    Week,
)
from openfingym.suites.findeepforecast.generation.quotas import QUADRANTS, TABLE_17
from openfingym.suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym.suites.findeepforecast.generation.sampling import evenly, shares
from openfingym.suites.findeepforecast.problem import ECONOMIES, Figure, ForecastProblem, Track
from openfingym.suites.findeepforecast.world.known import KnownWorld

KNOWN, EARLY, ORDER, ASKED, TWICE, UNWANTED = (
    "truth known at generation",
    "truth expected before the deadline",
    "other times than the week's",
    "asked before in the season",
    "asked twice in the week",
    "more than was wanted",
)
"""Rules by which a problem is refused, whoever made it."""
ANY = 1000
"""Events of a stratum in a week, where there is no plan: as many as a ledger takes at once."""


@dataclass(frozen=True)
class SeasonPlan:
    """The plan of a season."""

    weeks: tuple[Week, ...]
    """All of them, in order."""
    seed: int = 0
    quotas: Mapping[Stratum, int] | None = field(default_factory=lambda: TABLE_17)
    """Problems wanted of each stratum in the whole season, and none of others; None for all that there are."""
    recurrent: RecurrentGenerator = field(default_factory=CalendarGenerator)
    non_recurrent: NonRecurrentGenerator | None = None
    """None where there are no such problems."""
    tracks: tuple[Track, ...] = ("recurrent", "non-recurrent")
    """Which are generated."""

    def week(self, name: str) -> Week:
        """A week by its name.

        Raises:
            UsageError: the season has none of that name.
        """
        for one in self.weeks:
            if one.name == name:
                return one
        raise UsageError(f"the season has no week {name}; it has {self.weeks[0].name} to {self.weeks[-1].name}")


@dataclass(frozen=True)
class Generated:
    """The problems of a week, and how they came about."""

    problems: tuple[ForecastProblem, ...]
    """In the order of their keys."""
    wanted: Mapping[Stratum, int]
    """What the week was to have."""
    refused: Mapping[str, int]
    """Numbers of candidates by the rule that they broke."""
    short: Mapping[Stratum, int]
    """What could not be filled: the next week takes it over, and of the last week the season lacks it."""

    def summary(self) -> dict[str, object]:
        """It as JSON, without the problems."""
        made = Counter(Stratum(one.quadrant, one.market) for one in self.problems)
        return {
            "wanted": {str(stratum): count for stratum, count in sorted(self.wanted.items()) if count},
            "made": {str(stratum): count for stratum, count in sorted(made.items())},
            "short": {str(stratum): count for stratum, count in sorted(self.short.items()) if count},
            "refused": dict(sorted(self.refused.items())),
        }


def compose(season: SeasonPlan, world: KnownWorld, week: Week, asked: Mapping[str, Stratum]) -> Generated:
    """The problems of a week.

    Args:
        season: the plan of the season.
        world: what is known when the week is generated.
        week: one of the season's.
        asked: the season's earlier problems: the stratum of each by its key.
    """
    wanted = wanted_of(season, world, week, asked)
    drawn = [_of_generator(season.recurrent, season, world, week, wanted, asked, "recurrent ")]
    if season.non_recurrent is not None:
        drawn.append(_of_generator(season.non_recurrent, season, world, week, wanted, asked, "non-recurrent "))
    refused = Counter[str]()
    for one in drawn:
        refused.update(one.refused)
    problems: dict[str, ForecastProblem] = {}
    made = Counter[Stratum]()
    for problem in (problem for one in drawn for problem in one.problems):
        stratum = Stratum(problem.quadrant, problem.market)
        rule = _broken(world, week, problem) or (
            ASKED
            if problem.key in asked
            else TWICE
            if problem.key in problems
            else UNWANTED
            if made[stratum] >= wanted.get(stratum, 0)
            else None
        )
        if rule is not None:
            refused[rule] += 1
            continue
        made[stratum] += 1
        problems[problem.key] = problem
    short = {stratum: count - made[stratum] for stratum, count in wanted.items() if count > made[stratum]}
    if season.quotas is None:
        short = {}
    elif week == season.weeks[-1]:
        before = Counter(asked.values())
        left = {stratum: quota - before[stratum] - made[stratum] for stratum, quota in _quotas(season, {}).items()}
        short = {stratum: count for stratum, count in left.items() if count > 0}
    return Generated(tuple(problems[key] for key in sorted(problems)), wanted, refused, short)


def wanted_of(season: SeasonPlan, world: KnownWorld, week: Week, asked: Mapping[str, Stratum]) -> dict[Stratum, int]:
    """How many problems of each stratum a week is to have; arguments as of :func:`compose`."""
    before = Counter(asked.values())
    place = season.weeks.index(week)
    ahead = season.weeks[place:] if season.quotas is not None else (week,)
    capacities = [season.recurrent.capacity(world, one, asked, season.seed) for one in ahead]
    found = {}
    if season.quotas is None:
        return _quotas(season, capacities[0])
    for stratum, quota in _quotas(season, {}).items():
        left = max(quota - before[stratum], 0)
        if stratum.quadrant.startswith("recurrent"):
            found[stratum] = shares(left, [one.get(stratum, 0) for one in capacities])[0]
        else:
            found[stratum] = evenly(left, len(ahead))[0]
    return found


def _quotas(season: SeasonPlan, there: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """What is wanted of the season's tracks; without a plan all that calendars have, and any number of events."""
    tracks = [one for one in season.tracks if one == "recurrent" or season.non_recurrent is not None]
    if season.quotas is None:
        events = (Stratum(one, market) for one in QUADRANTS[2:] for market in (*ECONOMIES, "GLOBAL"))
        found = dict(there) if "recurrent" in tracks else {}
        return found | dict.fromkeys(events if "non-recurrent" in tracks else (), ANY)
    return {one: count for one, count in season.quotas.items() if one.quadrant.partition(" ")[0] in tracks}


def _of_generator(
    generator: RecurrentGenerator | NonRecurrentGenerator,
    season: SeasonPlan,
    world: KnownWorld,
    week: Week,
    wanted: Mapping[Stratum, int],
    asked: Mapping[str, Stratum],
    track: str,
) -> DrawnProblems:
    own = {stratum: count for stratum, count in wanted.items() if stratum.quadrant.startswith(track) and count}
    return generator.generate(world, week, own, asked, season.seed)


def _broken(world: KnownWorld, week: Week, problem: ForecastProblem) -> str | None:
    """The rule of time that a problem breaks."""
    if (problem.generated_ns, problem.deadline_ns) != (week.generated_ns, week.deadline_ns):
        return ORDER
    if not problem.generated_ns < problem.deadline_ns < problem.settled_ns:
        return EARLY
    about = problem.about
    if isinstance(about, Figure):
        if world.first_print(about) is not None:
            return KNOWN
        scheduled = world.scheduled(about)
        if scheduled is not None and moment_ns(scheduled.at) <= week.deadline_ns:
            return EARLY
    elif world.ruling(about) is not None:
        return KNOWN
    return None


def counted(problems: Sequence[ForecastProblem]) -> dict[str, Stratum]:
    """Problems as the season's earlier ones, for :func:`compose`."""
    return {one.key: Stratum(one.quadrant, one.market) for one in problems}
