"""Questions of FinDeepForecast: a season about a world, whose calendars and news are read as of each generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.digests import canonical_json
from openfingym.errors import UsageError
from openfingym.questions.question import LATEST_NS, TOLERANCES, Question, moment_at
from openfingym.rounds.forecaster import QuestionWithTools
from openfingym.rounds.generator import Options, Round
from openfingym.task.contracts import PositiveInt, as_tuple
from openfingym_suites.findeepforecast.asking import MARK, problem_of, query_of, text_of
from openfingym_suites.findeepforecast.generation.finding import (
    CALENDARS,
    FILINGS,
    NEWS,
    find_non_recurrent,
    find_recurrent,
)
from openfingym_suites.findeepforecast.generation.protocols import RecurrentGenerator, Stratum, Week
from openfingym_suites.findeepforecast.generation.proving import WeekProof, prove_week
from openfingym_suites.findeepforecast.generation.quotas import QUADRANTS, TABLE_17
from openfingym_suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym_suites.findeepforecast.generation.season import Generated, SeasonPlan, compose
from openfingym_suites.findeepforecast.problem import ECONOMIES, Figure, ForecastProblem
from openfingym_suites.findeepforecast.suite import SUITE, number_of, suite_question
from openfingym_suites.findeepforecast.tools import lookup_in
from openfingym_suites.findeepforecast.truth.provider import RECORDED_WORLD, SIMULATED_WORLD
from openfingym_suites.findeepforecast.world.known import KnownWorld
from openfingym_suites.findeepforecast.world.opening import find_vault, is_simulated, open_world, vault_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NonNegativeInt = Annotated[int, Field(ge=0)]
Quotas = Literal["table-17", "all"] | dict[str, dict[str, NonNegativeInt]]
MOST = 1000
"""Most questions of a week: no more are asked in one transaction."""
FIGURE_RULES = (
    "Decided by the figure as it is published first; restatements and revisions decide nothing. Void if it is known "
    "before the deadline, or if there is none within two weeks after the evaluation."
)
EVENT_RULES = "Decided by whether it happened by the day that the question names, by the record of the world."


class FinDeepForecastOptions(Options):
    """Options of the generator ``findeepforecast``."""

    category: str = "findeepforecast"
    """Category of the source; each of its questions has its quadrant as its category."""
    market: str = "all"
    """Market of the source; each of its questions has its economy as its market."""
    vault: str = "findeepforecast"
    """The world that is asked about: the name of a vault, with ``@`` and a digest for a certain snapshot of it. Without
    a digest, the snapshot that this version makes when the season begins, which later weeks keep to."""
    seed: NonNegativeInt = 0
    """The number from which every random choice of problems follows."""
    tracks: tuple[Literal["recurrent", "non-recurrent"], ...] = ("recurrent", "non-recurrent")
    """The tracks that are asked: figures that are published regularly, and events."""
    quotas: Quotas = "table-17"
    """How many questions the whole season has in each quadrant and market; ``table-17`` for the paper's numbers,
    ``all`` for as many as there are."""
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    """Largest share of the companies of a market that report in a week that is asked about."""
    metrics: PositiveInt = 12
    """Most figures of one report that are asked for."""
    home: str = "US"
    """The market to which series of no single economy are assigned."""
    recurrent: str = CALENDARS
    """Name of the generator of recurrent problems."""
    events: str = ""
    """Name of the generator of problems about events; empty for ``news`` of a made-up world, and ``filings`` of the
    real past."""

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
        """The simulated clock for a made-up world, and the replayed clock for the real past."""
        return frozenset({"simulated" if self.is_simulated else "replayed"})

    @property
    def event_generator(self) -> str:
        """Name of the generator of problems about events."""
        return self.events or (NEWS if self.is_simulated else FILINGS)

    @property
    def plan(self) -> dict[Stratum, int] | None:
        """How many questions the season has in each stratum; None for as many as there are."""
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
    """Asks about the problems of a season, week by week."""

    options = FinDeepForecastOptions

    def make(self, one: Round, options: FinDeepForecastOptions) -> list[Question]:
        """See :class:`~openfingym.rounds.generator.Generator`."""
        # Questions name their vault with its digest: whoever proves or resolves them reads the same world.
        earlier = one.earlier()
        vault = find_vault(pinned(options, earlier))
        name = vault_name(vault)
        made = generated(one, options, open_world(vault, moment_at(one.now_ns)), earlier)
        one.say({"vault": name, **made.summary()})
        return [question_of(one, problem, name) for problem in made.problems[:MOST]]

    def problem(self, question: Question) -> ForecastProblem:
        """The problem from which a question of this generator was made."""
        return problem_of(question)

    def world(self, options: FinDeepForecastOptions, as_of: datetime, vault: str = "") -> KnownWorld:
        """The world that a source asks about, as of a time.

        Args:
            options: options of the source, as the definition of the series states them.
            as_of: the time, with its time zone; nothing that became known after it is seen.
            vault: name of the vault that the questions of a season state; empty for the vault of the options.
        """
        return open_world(find_vault(vault or options.vault), as_of)

    def with_tools(self, question: Question, world: KnownWorld, as_of: datetime) -> QuestionWithTools:
        """A question with the suite's tools on a world.

        Args:
            question: the question, one of this generator's.
            world: the world as of the time of answering.
            as_of: the time of answering, with its time zone.
        """
        problem = problem_of(question)
        asked = suite_question(problem, as_of)
        # The suite marks all of its questions as simulated; of one about the real world that would be false.
        if not world.simulated:
            asked = replace(asked, text=asked.text.removeprefix(MARK))

        # An answer is its canonical text as bytes, and not a number.
        def numbers(answer: NDArray[np.float64]) -> tuple[float] | None:
            number = number_of(answer, problem)
            return None if number is None else (number,)

        return QuestionWithTools(SUITE, asked, lookup_in(world), world.simulated, numbers)

    def prove(self, one: Round, options: FinDeepForecastOptions, asked: Sequence[Question]) -> WeekProof:
        """Generate a round again on a copy of its vault that ends with its generation, and compare byte for byte.

        Args:
            one: the round as it was: with the time at which its questions were made, and what was asked before it.
            options: options of the source that asked, as the definition of the series states them.
            asked: the questions that the source asked in the round, in their order in the ledger; at least one.

        Raises:
            UsageError: this machine does not have the vault that the questions name.
            StoreError: the copy of the vault cannot be written.
        """
        name, earlier = str(asked[0].query["vault"]), one.earlier()
        # A tick may come later than planned, and then knew more: the moment that its questions state is what counts.
        again = replace(one, now_ns=asked[0].generated_ns)

        def generate(world: KnownWorld) -> list[bytes]:
            # Cut off as in `make`, which asks no more.
            problems = generated(again, options, world, earlier).problems[:MOST]
            return [canonical_json(question_of(again, problem, name).to_dict()) for problem in problems]

        recorded = [canonical_json(question.to_dict()) for question in asked]
        return prove_week(find_vault(name), one.times.week, again.now_ns, recorded, generate)


def generated(one: Round, options: FinDeepForecastOptions, world: KnownWorld, earlier: Sequence[Question]) -> Generated:
    """Generate the problems of a round, with a record of how they came about.

    Args:
        one: the round that is being generated.
        options: options of the source.
        world: the world as it was known when the round was generated.
        earlier: the questions that the source asked in earlier rounds, which are not asked again.
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
    # The id of a question ends with the key of its problem.
    asked = {question.id.rpartition("/")[2]: Stratum(question.category, question.market) for question in earlier}
    return compose(season, world, week, asked)


def _recurrent(options: FinDeepForecastOptions) -> RecurrentGenerator:
    """The generator of recurrent problems; that of calendars takes its settings from the options."""
    if options.recurrent == CALENDARS:
        return CalendarGenerator(options.share, options.metrics, options.home)
    return find_recurrent(options.recurrent)


def pinned(options: FinDeepForecastOptions, earlier: Sequence[Question]) -> str:
    """The name of the vault that a season is about: that of its first questions, if there are some already.

    Args:
        options: options of the source, as the definition of the series states them.
        earlier: the questions that the source asked in earlier rounds.

    Raises:
        UsageError: the definition names a vault other than that with which the season began.
    """
    if not earlier:
        return options.vault
    vault = str(earlier[0].query["vault"])
    # The definition may name the vault without its digest.
    if not vault.startswith(options.vault):
        raise UsageError(
            f"the season began with the vault {vault[:40]}, and the definition names {options.vault[:40]} by now; put "
            "the first into the definition, or begin a series of another name"
        )
    return vault


def weeks_of(one: Round, options: FinDeepForecastOptions) -> tuple[Week, ...]:
    """The weeks of the season of a round, from the start of its series on.

    They reach to the end of the season if its quotas have to be spread over it, else to the round.

    Args:
        one: the round that is being generated.
        options: options of the source, as the definition of the series states them.

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
    weeks = []
    for times in series.rounds(series.start_ns, LATEST_NS if planned else one.times.generated_ns):
        # This round is generated when its tick comes, the others as planned.
        now_ns = one.now_ns if times.week == one.times.week else times.generated_ns
        ends_ns = series.schedule.deadline.first(series.zone, times.deadline_ns)
        weeks.append(Week(times.week, now_ns, times.deadline_ns, ends_ns))
    return tuple(weeks)


def question_of(one: Round, problem: ForecastProblem, vault: str) -> Question:
    """The question that asks about a problem.

    Args:
        one: the round that asks the question.
        problem: the problem from which the question is made.
        vault: name of the vault of its world, with the digest.
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
