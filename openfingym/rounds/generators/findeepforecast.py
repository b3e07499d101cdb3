"""Questions of FinDeepForecast: a season about a world, whose calendars and news are read as of each generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.digests import canonical_json
from openfingym.errors import UsageError
from openfingym.questions.question import TOLERANCES, Question, moment_at
from openfingym.rounds.generator import Options, Round
from openfingym.suites.findeepforecast.asking import problem_of, query_of, text_of
from openfingym.suites.findeepforecast.generation.finding import (
    CALENDARS,
    FILINGS,
    NEWS,
    find_non_recurrent,
    find_recurrent,
)
from openfingym.suites.findeepforecast.generation.protocols import RecurrentGenerator, Stratum, Week
from openfingym.suites.findeepforecast.generation.proving import WeekProof, prove_week
from openfingym.suites.findeepforecast.generation.quotas import QUADRANTS, TABLE_17
from openfingym.suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym.suites.findeepforecast.generation.season import Generated, SeasonPlan, compose
from openfingym.suites.findeepforecast.problem import ECONOMIES, Figure, ForecastProblem
from openfingym.suites.findeepforecast.truth.provider import RECORDED_WORLD, SIMULATED_WORLD
from openfingym.suites.findeepforecast.world.known import KnownWorld
from openfingym.suites.findeepforecast.world.opening import find_vault, is_simulated, open_world, vault_name
from openfingym.task.contracts import PositiveInt, as_tuple

NonNegativeInt = Annotated[int, Field(ge=0)]
Quotas = Literal["table-17", "all"] | dict[str, dict[str, NonNegativeInt]]
MOST = 1000
"""Questions of a week at most: a ledger takes as many at once."""
FIGURE_RULES = (
    "Decided by the figure as it is published first; restatements and revisions decide nothing. Void if it is known "
    "before the deadline, or if there is none within two weeks after the evaluation."
)
EVENT_RULES = "Decided by whether it happened by the day that the question names, by the record of the world."


class FinDeepForecastOptions(Options):
    """Options of the generator ``findeepforecast``."""

    category: str = "findeepforecast"
    """Of the source; its questions have their quadrant for a category."""
    market: str = "all"
    """Of the source; its questions have their economy for a market."""
    vault: str = "findeepforecast"
    """World that is asked about: the name of a vault, with ``@`` and its digest for a certain one; else the one that
    this version makes when the season begins, which the later weeks keep to."""
    seed: NonNegativeInt = 0
    tracks: tuple[Literal["recurrent", "non-recurrent"], ...] = ("recurrent", "non-recurrent")
    quotas: Quotas = "table-17"
    """Questions of the whole season by quadrant and market; ``table-17`` for the paper's, ``all`` for all there are."""
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    """Of the companies of a market that report in a week, how many are asked about at most."""
    metrics: PositiveInt = 12
    """Figures of a report that are asked for at most."""
    home: str = "US"
    """Market in which series of no single economy are asked."""
    recurrent: str = CALENDARS
    """Name of the generator of recurrent problems."""
    events: str = ""
    """Name of the generator of problems about events; by default ``news`` of a made-up world, ``filings`` of the real
    past."""

    _lists = field_validator("tracks", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        try:
            is_simulated(self.vault)
        except UsageError as error:
            raise ValueError(f"vault: {error}") from None
        if isinstance(self.quotas, dict):
            for quadrant, markets in self.quotas.items():
                if quadrant not in QUADRANTS or (unknown := markets.keys() - {*ECONOMIES, "GLOBAL"}):
                    found = quadrant if quadrant not in QUADRANTS else sorted(unknown)[0]
                    expected = QUADRANTS if quadrant not in QUADRANTS else (*ECONOMIES, "GLOBAL")
                    raise ValueError(f"quotas: there is no {found!r}; expected {', '.join(expected)}")
        return self

    @property
    def is_simulated(self) -> bool:
        """Whether the world is made up."""
        return is_simulated(self.vault)

    @property
    def clocks(self) -> frozenset[str]:
        """A made-up world is asked about by a simulated clock, the real past by one that replays it."""
        return frozenset({"simulated" if self.is_simulated else "replayed"})

    @property
    def event_generator(self) -> str:
        """Name of the generator of problems about events."""
        return self.events or (NEWS if self.is_simulated else FILINGS)

    @property
    def plan(self) -> dict[Stratum, int] | None:
        """The quotas of the season's strata; None for all there are."""
        if self.quotas == "all":
            return None
        if isinstance(self.quotas, str):
            return dict(TABLE_17)
        return {
            Stratum(quadrant, market): count
            for quadrant, markets in self.quotas.items()
            for market, count in markets.items()
        }


class FinDeepForecastGenerator:
    """Asks a week's problems of a season."""

    options = FinDeepForecastOptions

    def make(self, one: Round, options: FinDeepForecastOptions) -> list[Question]:
        """See :class:`~openfingym.rounds.generator.Generator`."""
        earlier = one.earlier()
        vault = find_vault(pinned(options, earlier))
        name = vault_name(vault)
        made = generated(one, options, open_world(vault, moment_at(one.now_ns)), earlier)
        one.say({"vault": name, **made.summary()})
        return [question_of(one, problem, name) for problem in made.problems[:MOST]]

    def problem(self, question: Question) -> ForecastProblem:
        """The problem that a question of this generator was made from."""
        return problem_of(question)

    def world(self, options: FinDeepForecastOptions, as_of: datetime, vault: str = "") -> KnownWorld:
        """The world that a source asks about, as of a time.

        Args:
            options: options of the source, as the definition of the series states them.
            as_of: the time, with its time zone; nothing that became known after it is seen.
            vault: the vault that its questions name, which a season keeps to; empty for that of the options.
        """
        return open_world(find_vault(vault or options.vault), as_of)

    def prove(self, one: Round, options: FinDeepForecastOptions, asked: Sequence[Question]) -> WeekProof:
        """Generate a round again on a copy of its vault that ends with its generation, and compare byte for byte.

        Args:
            one: the round as it was: with the time at which its questions were made, and what was asked before it.
            options: options of the source that asked, as the definition of the series states them.
            asked: its questions of this source, in their order, as the ledger has them; at least one.

        Raises:
            UsageError: this machine does not have their vault.
            StoreError: the copy cannot be written.
        """
        name, earlier = str(asked[0].query["vault"]), one.earlier()
        again = replace(one, now_ns=asked[0].generated_ns)

        def generate(world: KnownWorld) -> list[bytes]:
            made = generated(again, options, world, earlier).problems[:MOST]
            return [canonical_json(question_of(again, problem, name).to_dict()) for problem in made]

        said = [canonical_json(question.to_dict()) for question in asked]
        return prove_week(find_vault(name), one.times.week, again.now_ns, said, generate)


def generated(one: Round, options: FinDeepForecastOptions, world: KnownWorld, earlier: Sequence[Question]) -> Generated:
    """The problems of a round, and how they came about.

    Args:
        one: the round that asks.
        options: options of the round's source.
        world: what was known when the round was generated.
        earlier: what the source asked in earlier rounds.
    """
    weeks = weeks_of(one, options)
    week = next(week for week in weeks if week.name == one.times.week)
    season = SeasonPlan(
        weeks,
        options.seed,
        options.plan,
        _recurrent(options),
        find_non_recurrent(options.event_generator) if "non-recurrent" in options.tracks else None,
        options.tracks,
    )
    asked = {question.id.rpartition("/")[2]: Stratum(question.category, question.market) for question in earlier}
    return compose(season, world, week, asked)


def _recurrent(options: FinDeepForecastOptions) -> RecurrentGenerator:
    if options.recurrent == CALENDARS:
        return CalendarGenerator(options.share, options.metrics, options.home)
    return find_recurrent(options.recurrent)


def pinned(options: FinDeepForecastOptions, earlier: Sequence[Question]) -> str:
    """The name of the vault that a season is about: that of its first questions, once there are some.

    Raises:
        UsageError: the definition names another one by now.
    """
    if not earlier:
        return options.vault
    found = str(earlier[0].query["vault"])
    if not found.startswith(options.vault):
        raise UsageError(
            f"the season began with the vault {found[:40]}, and the definition names {options.vault[:40]} by now; put "
            "the first into the definition, or begin a series of another name"
        )
    return found


def weeks_of(one: Round, options: FinDeepForecastOptions) -> tuple[Week, ...]:
    """The weeks of a season, from the start of its series on; this one with the time at which it is generated.

    Raises:
        UsageError: the series does not say where it starts, or how many weeks it has.
    """
    series = one.series
    planned = options.plan is not None
    if series.start_ns is None or (planned and series.weeks is None):
        raise UsageError(
            f"{series.name}: a season of findeepforecast needs start and weeks in its definition, over which its "
            "questions are spread; or quotas = 'all'"
        )
    found = []
    for times in series.rounds(series.start_ns, 2**62 if planned else one.times.generated_ns):
        now_ns = one.now_ns if times.week == one.times.week else times.generated_ns
        ends_ns = series.schedule.deadline.first(series.zone, times.deadline_ns)
        found.append(Week(times.week, now_ns, times.deadline_ns, ends_ns))
    return tuple(found)


def question_of(one: Round, problem: ForecastProblem, vault: str) -> Question:
    """The question of a problem.

    Args:
        one: the round that asks the question.
        problem: what the question is made from.
        vault: name of its world's vault, with the digest.
    """
    simulated = is_simulated(vault)
    figure = isinstance(problem.about, Figure)
    close = "" if problem.measure is None else f" Correct within {100 * TOLERANCES[problem.measure]:g} %, exclusive."
    return one.question(
        problem.key,
        text=text_of(problem, simulated=simulated),
        form="value" if figure else "probability",
        settled_ns=problem.settled_ns,
        provider=SIMULATED_WORLD if simulated else RECORDED_WORLD,
        query=query_of(problem, vault),
        unit=problem.unit if figure else "",
        measure=problem.measure if figure else None,
        category=problem.quadrant,
        market=problem.market,
        rules=FIGURE_RULES + close if figure else EVENT_RULES,
    )


GENERATOR = FinDeepForecastGenerator()
