"""The season of the task: the problems of its ten weeks with their truths, and those of the weeks before to learn from.

They follow from the vault, the seed and this program, take some time to generate, and so are kept in the store beside
the vault. Nothing of the weeks before the season was unknown when its first question was asked.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym import store
from openfingym.digests import sha256_of, sha256_of_json
from openfingym.errors import DataError
from openfingym.files.whole import write_json
from openfingym.questions.question import DAY_NS, moment_ns
from openfingym.suites.findeepforecast.generation.events import EventGenerator
from openfingym.suites.findeepforecast.generation.protocols import Stratum, Week
from openfingym.suites.findeepforecast.generation.quotas import TABLE_17
from openfingym.suites.findeepforecast.generation.season import SeasonPlan, compose
from openfingym.suites.findeepforecast.problem import Event, Figure, ForecastProblem
from openfingym.suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym.suites.findeepforecast.world.opening import open_world
from openfingym.vault.writer import VAULTS

if TYPE_CHECKING:
    from openfingym.vault import Vault

START = date(2025, 10, 27)
"""Monday of the first week."""
WEEKS, EARLIER_WEEKS = 10, 4
THURSDAY, SUNDAY = timedelta(days=3), timedelta(days=6)
"""Of the generation, at 08:00, and of the deadline, at 23:59, both in Singapore, which has no summer time."""
OFFSET = timedelta(hours=8)
AFTERWARDS = datetime(2100, 1, 1, tzinfo=UTC)
VOID_AFTER_NS = 14 * DAY_NS
"""How long after its evaluation a problem waits for its truth."""
PRACTICE = 5
"""Of the earlier problems, each of so many is to practise on, and the others come with answers."""
_PROGRAM = ("generation", "taxonomy", "truth")
_KEPT = "problems"


@dataclass(frozen=True)
class SettledProblem:
    """A problem with what became of it."""

    problem: ForecastProblem
    truth: float
    """Of a figure its first print, of an event 1 if it happened and else 0."""
    known_ns: int
    """When that was known."""
    week: str
    """ISO week in which it was generated."""


@dataclass(frozen=True)
class SeasonParts:
    """What the task asks, and what it is learnt from."""

    private: tuple[SettledProblem, ...]
    """The season."""
    public: tuple[SettledProblem, ...]
    train: tuple[SettledProblem, ...]
    void: int
    """Problems of the season that had no truth in time, or before their deadline."""


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
    """The problems of the season, and of the weeks before it: kept from an earlier time, or generated.

    Args:
        vault: the simulated world.
        seed: seed of what is drawn.

    Raises:
        StoreError: the store cannot be written.
    """
    name = f".{_KEPT}-{recipe_of(vault.digest, seed)[:16]}.json"
    file = store.home() / VAULTS / vault.name / name
    if file.is_file():
        try:
            return _parts(json.loads(file.read_bytes()))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{file} is damaged ({error}); delete it, and it is made anew") from error
    found = generate_parts(vault, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, _document(found), sync=False)
    return found


def generate_parts(
    vault: Vault, seed: int = 0, *, start: date = START, weeks: int = WEEKS, quotas: Mapping[Stratum, int] = TABLE_17
) -> SeasonParts:
    """The problems of the season, and of the weeks before it, generated.

    Args:
        vault: the simulated world.
        seed: seed of what is drawn.
        start: Monday of the first week.
        weeks: weeks of the season.
        quotas: problems of the season by stratum.
    """
    season = tuple(week_of(start + timedelta(weeks=number)) for number in range(weeks))
    earlier = tuple(week_of(start + timedelta(weeks=number)) for number in range(-EARLIER_WEEKS, 0))
    share = {one: -(-count * EARLIER_WEEKS // weeks) for one, count in quotas.items()}
    asked = list(_problems(vault, season, quotas, seed))
    settled = list(_settled(vault, asked))
    # An answer to learn from was known when the first question that counts was asked.
    first = season[0].generated_ns
    past = [one for one in _settled(vault, _problems(vault, earlier, share, seed)) if one.known_ns < first]
    past.sort(key=_shuffled)
    return SeasonParts(
        private=tuple(sorted(settled, key=_shuffled)),
        public=tuple(past[::PRACTICE]),
        train=tuple(one for place, one in enumerate(past) if place % PRACTICE),
        void=len(asked) - len(settled),
    )


def _problems(
    vault: Vault, weeks: Sequence[Week], quotas: Mapping[Stratum, int], seed: int
) -> Iterator[tuple[ForecastProblem, str]]:
    """Problems with the names of their weeks."""
    season = SeasonPlan(weeks=tuple(weeks), seed=seed, quotas=quotas, non_recurrent=EventGenerator())
    asked: dict[str, Stratum] = {}
    for week in weeks:
        found = compose(season, open_world(vault, _moment(week.generated_ns)), week, asked)
        asked |= {one.key: Stratum(one.quadrant, one.market) for one in found.problems}
        yield from ((one, week.name) for one in found.problems)


def _settled(vault: Vault, asked: Iterable[tuple[ForecastProblem, str]]) -> Iterator[SettledProblem]:
    """Those that have a truth in time, with it."""
    extractor, world = RecordedTruth(), open_world(vault, AFTERWARDS)
    for problem, week in asked:
        found = extractor.extract(world, problem.about, problem.deadline_ns)
        if found.status != "resolved" or found.provider_ns is None or not isinstance(found.truth, float):
            continue
        if found.provider_ns <= evaluation_ns(problem) + VOID_AFTER_NS:
            yield SettledProblem(problem, found.truth, found.provider_ns, week)


def evaluation_ns(problem: ForecastProblem) -> int:
    """The first Monday 09:00 in Singapore after its truth is expected."""
    settled = _moment(problem.settled_ns) + OFFSET
    monday = datetime(settled.year, settled.month, settled.day, 9, tzinfo=UTC) - timedelta(days=settled.weekday())
    return moment_ns((monday if monday >= settled else monday + timedelta(days=7)) - OFFSET)


def recipe_of(digest: str, seed: int) -> str:
    """What decides the problems: the vault, the seed and the program."""
    suite = Path(str(resources.files("openfingym.suites.findeepforecast")))
    parts = [suite / "seasons.py", suite / "problem.py"]
    for folder in _PROGRAM:
        parts += sorted(path for path in (suite / folder).rglob("*") if path.suffix in {".py", ".tsv", ".json"})
    program = {path.relative_to(suite).as_posix(): sha256_of(path.read_bytes()) for path in parts}
    return sha256_of_json({"vault": digest, "seed": seed, "program": program})


def _shuffled(one: SettledProblem) -> str:
    """An order in which any range has all quadrants, markets and weeks; by the key alone."""
    return sha256_of(f"{one.week}/{one.problem.key}".encode())


def _moment(time_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)


def _document(parts: SeasonParts) -> dict[str, Any]:
    found: dict[str, Any] = {"void": parts.void}
    for name in ("private", "public", "train"):
        found[name] = [_plain(one) for one in getattr(parts, name)]
    return found


def _plain(one: SettledProblem) -> dict[str, Any]:
    stated = {field.name: getattr(one.problem, field.name) for field in fields(one.problem) if field.name != "about"}
    told = asdict(one.problem.about)
    about = {name: value.isoformat() if isinstance(value, date) else value for name, value in told.items()}
    details = None if one.problem.details is None else dict(one.problem.details)
    kept = {"truth": one.truth, "known_ns": one.known_ns, "week": one.week}
    return {"problem": stated | {"details": details}, "about": about, **kept}


def _parts(document: Mapping[str, Any]) -> SeasonParts:
    read = {name: tuple(_problem(one) for one in document[name]) for name in ("private", "public", "train")}
    return SeasonParts(**read, void=document["void"])


def _problem(one: Mapping[str, Any]) -> SettledProblem:
    about = dict(one["about"])
    made: Figure | Event
    if "period" in about:
        made = Figure(**{**about, "period": date.fromisoformat(about["period"])})
    else:
        made = Event(**{**about, "by": date.fromisoformat(about["by"])})
    return SettledProblem(ForecastProblem(**one["problem"], about=made), one["truth"], one["known_ns"], one["week"])


@functools.lru_cache(maxsize=2)
def parts_of(vault: Vault) -> SeasonParts:
    """The same as :func:`season_parts`, once a process."""
    return season_parts(vault)
