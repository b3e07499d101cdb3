"""The season of the task: the problems of its ten weeks with their truths, and those of the weeks before to learn from.

They follow from the vault, the seed and this program. Since generating them takes a while, they are kept in the store
beside the vault. All answers of the weeks before the season were known when its first question was asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from openfingym import store
from openfingym.digests import sha256_of, sha256_of_json
from openfingym.errors import DataError
from openfingym.files.whole import write_json
from openfingym.questions.question import DAY_NS, moment_at, moment_ns
from openfingym.vault.writer import VAULTS
from openfingym_suites.findeepforecast.generation.events import EventGenerator
from openfingym_suites.findeepforecast.generation.protocols import Stratum, Week
from openfingym_suites.findeepforecast.generation.quotas import TABLE_17
from openfingym_suites.findeepforecast.generation.season import SeasonPlan, compose
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym_suites.findeepforecast.world.opening import open_world

if TYPE_CHECKING:
    from openfingym.vault import Vault

START = date(2025, 10, 27)
"""Monday of the first week."""
WEEKS, EARLIER_WEEKS = 10, 4
"""How many weeks the season has, and how many before it there are to learn from."""
THURSDAY, SUNDAY = timedelta(days=3), timedelta(days=6)
"""Days after Monday of the generation, at 08:00, and of the deadline, at 23:59, both in Singapore."""
OFFSET = timedelta(hours=8)
"""Time of Singapore ahead of UTC; there is no summer time."""
AFTERWARDS = datetime(2100, 1, 1, tzinfo=UTC)
"""A time as of which everything of the world is known."""
VOID_AFTER_NS = 14 * DAY_NS
"""How long after its evaluation a problem waits for its truth, in nanoseconds."""
PRACTICE = 5
"""One in so many of the earlier problems is for practice; the others come with answers."""
SPARE = 40
"""In a world of one rollout, one problem more than wanted is generated for each stratum, and one for so many."""
VERSION = 2
"""Version of what generates and settles the problems: raised by whoever makes other ones of the same vault and seed."""
_FILE_PREFIX = "problems"
"""Beginning of the name of the file in the store."""


@dataclass(frozen=True)
class SettledProblem:
    """A problem with its truth."""

    problem: ForecastProblem
    truth: float
    """The first print of a figure, in its unit; for an event, 1 if it happened and 0 if not."""
    known_ns: int
    """When the truth became known, in nanoseconds since the epoch."""
    week: str
    """ISO week in which it was generated, such as ``2025-W44``."""


@dataclass(frozen=True)
class SeasonParts:
    """The problems that the task asks, and those to learn from."""

    private: tuple[SettledProblem, ...]
    """The problems of the season, which score."""
    public: tuple[SettledProblem, ...]
    """Problems of the weeks before, for practice."""
    train: tuple[SettledProblem, ...]
    """Problems of the weeks before that are given with their answers."""
    void: int
    """How many problems of the season had no truth in time, or had it before their deadline."""


def week_of(monday: date) -> Week:
    """The week that begins with a Monday."""
    midnight = datetime(monday.year, monday.month, monday.day, tzinfo=UTC) - OFFSET
    deadline = midnight + SUNDAY + timedelta(hours=23, minutes=59)
    year, number, _ = monday.isocalendar()
    return Week(
        f"{year}-W{number:02d}",
        moment_ns(midnight + THURSDAY + timedelta(hours=8)),
        moment_ns(deadline),
        moment_ns(deadline + timedelta(days=7)),
    )


def season_parts(vault: Vault, seed: int = 0) -> SeasonParts:
    """The problems of the season and of the weeks before it: from the store, or generated and put there.

    Args:
        vault: the vault of the simulated world.
        seed: seed of what generators draw.

    Raises:
        DataError: the file in the store is damaged.
        StoreError: the store cannot be written.
    """
    name = f".{_FILE_PREFIX}-{recipe_of(vault.digest, seed)[:16]}.json"
    file = store.home() / VAULTS / vault.name / name
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        # Without waiting for the disk: what a power cut damages can be generated again.
        write_json(file, _document(generate_parts(vault, seed)), sync=False)
    # Read in any case: the file has names in order, and a question states its details in the order that they have.
    try:
        return _parts(json.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} is damaged ({error}); delete it, and it is made anew") from error


def generate_parts(
    vault: Vault, seed: int = 0, *, start: date = START, weeks: int = WEEKS, quotas: Mapping[Stratum, int] = TABLE_17
) -> SeasonParts:
    """Generate the problems of the season and of the weeks before it.

    Args:
        vault: the vault of the simulated world.
        seed: seed of what generators draw.
        start: Monday of the first week.
        weeks: how many weeks the season has.
        quotas: how many problems of each stratum the season wants.
    """
    season = tuple(week_of(start + timedelta(weeks=number)) for number in range(weeks))
    earlier = tuple(week_of(start + timedelta(weeks=number)) for number in range(-EARLIER_WEEKS, 0))
    # As many a week as in the season, rounded up.
    share = {stratum: -(-count * EARLIER_WEEKS // weeks) for stratum, count in quotas.items()}
    asked = list(_problems(vault, season, quotas, seed))
    counted = list(_settled(vault, asked))
    # An answer to learn from was known when the first question that counts was asked.
    first = season[0].generated_ns
    earlier_settled = _settled(vault, _problems(vault, earlier, share, seed))
    past = [settled for settled in earlier_settled if settled.known_ns < first]
    past.sort(key=_shuffled)
    return SeasonParts(
        private=tuple(sorted(counted, key=_asked)),
        public=tuple(sorted(past[::PRACTICE], key=_asked)),
        train=tuple(settled for place, settled in enumerate(past) if place % PRACTICE),
        void=len(asked) - len(counted),
    )


def own_parts(vault: Vault, like: SeasonParts) -> SeasonParts | None:
    """The problems of the season in a world of one rollout: as many of each stratum as in another world.

    A few more are generated than are wanted, since some are void. Which of them are asked follows from their keys, and
    not from what became of them. Those to practise on are all of one week, and none is to learn from: the answers that
    come with the task are about the world that all know.

    Args:
        vault: the vault of the rollout's world.
        like: the parts in the other world, whose numbers of problems are taken.

    Returns:
        The parts; None if this world has too few problems that are not void.
    """
    season = tuple(week_of(START + timedelta(weeks=number)) for number in range(WEEKS))
    quotas = {stratum: count + 1 + count // SPARE for stratum, count in TABLE_17.items()}
    settled = sorted(_settled(vault, _problems(vault, season, quotas, 0)), key=_shuffled)
    # First what each stratum has of its own, then of whatever is left for what some stratum lacks.
    left = Counter(_stratum(each) for each in like.private)
    own: list[SettledProblem] = []
    others: list[SettledProblem] = []
    for each in settled:
        chosen = own if left[_stratum(each)] > 0 else others
        left[_stratum(each)] -= 1
        chosen.append(each)
    private = (own + others)[: len(like.private)]
    week = week_of(START - timedelta(weeks=EARLIER_WEEKS))
    # Twice a week's share: of four weeks' problems, a good half is decided before the season.
    share = {stratum: -(-2 * count // WEEKS) for stratum, count in TABLE_17.items()}
    first = season[0].generated_ns
    past = [each for each in _settled(vault, _problems(vault, (week,), share, 0)) if each.known_ns < first]
    public = sorted(past, key=_shuffled)[: len(like.public)]
    if len(private) < len(like.private) or len(public) < len(like.public):
        return None
    return SeasonParts(
        private=tuple(sorted(private, key=_asked)), public=tuple(sorted(public, key=_asked)), train=(), void=0
    )


def _stratum(settled: SettledProblem) -> Stratum:
    return Stratum(settled.problem.quadrant, settled.problem.market)


def _problems(
    vault: Vault, weeks: Sequence[Week], quotas: Mapping[Stratum, int], seed: int
) -> Iterator[tuple[ForecastProblem, str]]:
    """The problems of some weeks, each with the name of its week; as of each week, only what was known then is used."""
    season = SeasonPlan(weeks=tuple(weeks), seed=seed, quotas=quotas, non_recurrent=EventGenerator())
    asked: dict[str, Stratum] = {}
    for week in weeks:
        generated = compose(season, open_world(vault, moment_at(week.generated_ns)), week, asked)
        asked |= {problem.key: Stratum(problem.quadrant, problem.market) for problem in generated.problems}
        yield from ((problem, week.name) for problem in generated.problems)


def _settled(vault: Vault, asked: Iterable[tuple[ForecastProblem, str]]) -> Iterator[SettledProblem]:
    """The problems that have a truth in time, with it; the others are void, as in the ledger."""
    extractor, world = RecordedTruth(), open_world(vault, AFTERWARDS)
    for problem, week in asked:
        answer = extractor.extract(world, problem.about, problem.deadline_ns)
        if answer.status != "resolved" or answer.provider_ns is None or not isinstance(answer.truth, float):
            continue
        if answer.provider_ns <= evaluation_ns(problem) + VOID_AFTER_NS:
            yield SettledProblem(problem, answer.truth, answer.provider_ns, week)


def evaluation_ns(problem: ForecastProblem) -> int:
    """When a problem is evaluated: the first Monday 09:00 in Singapore from when its truth is expected, in nanoseconds
    since the epoch.
    """
    # In the time of Singapore, although it is labelled UTC.
    settled = moment_at(problem.settled_ns) + OFFSET
    monday = datetime(settled.year, settled.month, settled.day, 9, tzinfo=UTC) - timedelta(days=settled.weekday())
    return moment_ns((monday if monday >= settled else monday + timedelta(days=7)) - OFFSET)


def recipe_of(digest: str, seed: int) -> str:
    """Hex SHA-256 of what decides the problems: the vault, the seed and the version of what generates them.

    Args:
        digest: what stands for the vault, such as its digest.
        seed: seed of what generators draw.
    """
    return sha256_of_json({"vault": digest, "seed": seed, "version": VERSION})


def _asked(settled: SettledProblem) -> tuple[int, str]:
    """A key to sort by deadline, so that no problem is asked after the truth of another could be looked up."""
    return settled.problem.deadline_ns, _shuffled(settled)


def _shuffled(settled: SettledProblem) -> str:
    """A key to sort by, with which any range of a week's problems has all quadrants and markets."""
    return sha256_of(f"{settled.week}/{settled.problem.key}".encode())


def _document(parts: SeasonParts) -> dict[str, Any]:
    """The problems as JSON, for the file in the store."""
    document: dict[str, Any] = {"void": parts.void}
    for name in ("private", "public", "train"):
        document[name] = [_plain(settled) for settled in getattr(parts, name)]
    return document


def _plain(settled: SettledProblem) -> dict[str, Any]:
    problem = settled.problem
    stated = {field.name: getattr(problem, field.name) for field in fields(problem) if field.name != "about"}
    attributes = asdict(problem.about)
    about = {name: value.isoformat() if isinstance(value, date) else value for name, value in attributes.items()}
    details = None if problem.details is None else dict(problem.details)
    truth = {"truth": settled.truth, "known_ns": settled.known_ns, "week": settled.week}
    return {"problem": stated | {"details": details}, "about": about, **truth}


def _parts(document: Mapping[str, Any]) -> SeasonParts:
    """The problems from JSON, as :func:`_document` made it."""
    read = {name: tuple(_problem(entry) for entry in document[name]) for name in ("private", "public", "train")}
    return SeasonParts(**read, void=document["void"])


def _problem(entry: Mapping[str, Any]) -> SettledProblem:
    attributes = dict(entry["about"])
    about: Figure | ForecastEvent
    # Only a figure has a period.
    if "period" in attributes:
        about = Figure(**{**attributes, "period": date.fromisoformat(attributes["period"])})
    else:
        about = ForecastEvent(**{**attributes, "by": date.fromisoformat(attributes["by"])})
    problem = ForecastProblem(**entry["problem"], about=about)
    return SettledProblem(problem, entry["truth"], entry["known_ns"], entry["week"])
