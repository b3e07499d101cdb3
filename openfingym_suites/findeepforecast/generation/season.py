"""A season: how many problems each week is to have, and a week's problems from both generators, with what was refused.

The plan of a season says how many problems there are of each quadrant in each market. Each week takes a share of what
is still wanted: of recurrent problems in proportion to what calendars, as they are known at the generation, have for
it and for the weeks to come; of non-recurrent ones the same number in each week that is left, since nobody knows what
news there will be. So the later weeks make up for what a week could not fill, or for a week that was missed; what the
last one cannot fill is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openfingym.errors import UsageError
from openfingym.questions.question import moment_ns
from openfingym_suites.findeepforecast.generation.protocols import (
    DrawnProblems,
    NonRecurrentGenerator,
    RecurrentGenerator,
    Stratum,
    Week,
)
from openfingym_suites.findeepforecast.generation.quotas import QUADRANTS, TABLE_17
from openfingym_suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym_suites.findeepforecast.generation.sampling import evenly, shares
from openfingym_suites.findeepforecast.problem import ECONOMIES, Figure, ForecastProblem, Track
from openfingym_suites.findeepforecast.world.known import KnownWorld

KNOWN, EARLY, ORDER, ASKED, TWICE, UNWANTED = (
    "truth known at generation",
    "truth expected before the deadline",
    "other times than the week's",
    "asked before in the season",
    "asked twice in the week",
    "more than was wanted",
)
"""Rules by which a problem is refused, whichever generator made it."""
ANY = 1000
"""How many events of a stratum are wanted in a week without a plan: as many as a ledger takes at once."""


@dataclass(frozen=True)
class SeasonPlan:
    """The plan of a season."""

    weeks: tuple[Week, ...]
    """All weeks of the season, in their order."""
    seed: int = 0
    """Seed of what generators draw."""
    quotas: Mapping[Stratum, int] | None = field(default_factory=lambda: TABLE_17)
    """How many problems of each stratum the whole season wants, none of strata that are not here; None for all that
    there are.
    """
    recurrent: RecurrentGenerator = field(default_factory=CalendarGenerator)
    """The generator of recurrent problems."""
    non_recurrent: NonRecurrentGenerator | None = None
    """The generator of non-recurrent problems; None if there is none."""
    tracks: tuple[Track, ...] = ("recurrent", "non-recurrent")
    """The tracks that are generated."""

    def week(self, name: str) -> Week:
        """A week by its name.

        Raises:
            UsageError: the season has none of that name.
        """
        for week in self.weeks:
            if week.name == name:
                return week
        raise UsageError(f"the season has no week {name}; it has {self.weeks[0].name} to {self.weeks[-1].name}")


@dataclass(frozen=True)
class Generated:
    """The problems of a week, and how they came about."""

    problems: tuple[ForecastProblem, ...]
    """In the order of their keys."""
    wanted: Mapping[Stratum, int]
    """How many problems of each stratum the week was to have."""
    refused: Mapping[str, int]
    """How many candidates were refused, by the rule that they broke."""
    short: Mapping[Stratum, int]
    """How many problems of each stratum are lacking; later weeks make up for them, but for those of the last week."""

    def summary(self) -> dict[str, object]:
        """The result as JSON, without the problems."""
        made = Counter(Stratum(problem.quadrant, problem.market) for problem in self.problems)
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
        week: one of the season's weeks.
        asked: the season's earlier problems: the stratum of each by its key.
    """
    wanted = wanted_of(season, world, week, asked)
    drawn = [_of_generator(season.recurrent, season, world, week, wanted, asked, "recurrent ")]
    if season.non_recurrent is not None:
        drawn.append(_of_generator(season.non_recurrent, season, world, week, wanted, asked, "non-recurrent "))
    refused = Counter[str]()
    for part in drawn:
        refused.update(part.refused)
    problems: dict[str, ForecastProblem] = {}
    made = Counter[Stratum]()
    # Generators may be anybody's: what they give is checked here, whoever they are.
    for problem in (problem for part in drawn for problem in part.problems):
        stratum = Stratum(problem.quadrant, problem.market)
        rule = _broken(world, week, problem)
        if rule is None and problem.key in asked:
            rule = ASKED
        elif rule is None and problem.key in problems:
            rule = TWICE
        elif rule is None and made[stratum] >= wanted.get(stratum, 0):
            rule = UNWANTED
        if rule is not None:
            refused[rule] += 1
            continue
        made[stratum] += 1
        problems[problem.key] = problem
    ordered = tuple(problems[key] for key in sorted(problems))
    return Generated(ordered, wanted, refused, _short(season, week, asked, wanted, made))


def _short(
    season: SeasonPlan,
    week: Week,
    asked: Mapping[str, Stratum],
    wanted: Mapping[Stratum, int],
    made: Mapping[Stratum, int],
) -> dict[Stratum, int]:
    """How many problems of each stratum are lacking: of the week, or after the last week of the whole season."""
    if season.quotas is None:
        return {}
    missing = {stratum: count - made.get(stratum, 0) for stratum, count in wanted.items()}
    if week == season.weeks[-1]:
        before = Counter(asked.values())
        missing = {
            stratum: quota - before[stratum] - made.get(stratum, 0) for stratum, quota in _quotas(season, {}).items()
        }
    return {stratum: count for stratum, count in missing.items() if count > 0}


def wanted_of(season: SeasonPlan, world: KnownWorld, week: Week, asked: Mapping[str, Stratum]) -> dict[Stratum, int]:
    """How many problems of each stratum a week is to have; the arguments are those of :func:`compose`."""
    before = Counter(asked.values())
    place = season.weeks.index(week)
    ahead = season.weeks[place:] if season.quotas is not None else (week,)
    capacities = [season.recurrent.capacity(world, later, asked, season.seed) for later in ahead]
    if season.quotas is None:
        return _quotas(season, capacities[0])
    wanted = {}
    for stratum, quota in _quotas(season, {}).items():
        # The first part is this week's; later weeks compute theirs anew, from what is still missing then.
        left = max(quota - before[stratum], 0)
        if stratum.quadrant.startswith("recurrent"):
            wanted[stratum] = shares(left, [capacity.get(stratum, 0) for capacity in capacities])[0]
        else:
            wanted[stratum] = evenly(left, len(ahead))[0]
    return wanted


def _quotas(season: SeasonPlan, capacity: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """How many problems of each stratum are wanted of the season's tracks.

    Args:
        season: the plan of the season.
        capacity: how many recurrent problems there can be, all of which are wanted if there are no quotas.
    """
    tracks = [track for track in season.tracks if track == "recurrent" or season.non_recurrent is not None]
    if season.quotas is None:
        events = (Stratum(quadrant, market) for quadrant in QUADRANTS[2:] for market in (*ECONOMIES, "GLOBAL"))
        recurrent = dict(capacity) if "recurrent" in tracks else {}
        return recurrent | dict.fromkeys(events if "non-recurrent" in tracks else (), ANY)
    return {stratum: count for stratum, count in season.quotas.items() if stratum.quadrant.partition(" ")[0] in tracks}


def _of_generator(
    generator: RecurrentGenerator | NonRecurrentGenerator,
    season: SeasonPlan,
    world: KnownWorld,
    week: Week,
    wanted: Mapping[Stratum, int],
    asked: Mapping[str, Stratum],
    track: str,
) -> DrawnProblems:
    """What a generator makes of the strata of its own track, whose name ends with a space."""
    own = {stratum: count for stratum, count in wanted.items() if stratum.quadrant.startswith(track) and count}
    return generator.generate(world, week, own, asked, season.seed)


def _broken(world: KnownWorld, week: Week, problem: ForecastProblem) -> str | None:
    """The rule about times that a problem breaks; None if it breaks none."""
    if (problem.generated_ns, problem.deadline_ns) != (week.generated_ns, week.deadline_ns):
        return ORDER
    if not problem.generated_ns < problem.deadline_ns < problem.settled_ns:
        return EARLY
    about = problem.about
    if isinstance(about, Figure):
        if world.first_print(about) is not None:
            return KNOWN
        # A problem may state another time than the calendar has.
        scheduled = world.scheduled(about)
        if scheduled is not None and moment_ns(scheduled.at) <= week.deadline_ns:
            return EARLY
    elif world.ruling(about) is not None:
        return KNOWN
    return None


def counted(problems: Sequence[ForecastProblem]) -> dict[str, Stratum]:
    """The stratum of each problem by its key, as :func:`compose` takes the season's earlier ones."""
    return {problem.key: Stratum(problem.quadrant, problem.market) for problem in problems}
