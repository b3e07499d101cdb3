"""Forecasters: what answers the questions of a round.

A :class:`Forecaster` is given the open questions of a week together, and answers or declines each. There are three ways
to be one: a program of a few lines (:class:`ForecastProgram`), an agent that asks a language model, and a command of a
participant's own. What a forecaster says is recorded word by word; the answer alone goes to the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from openfingym.errors import OpenFinGymError, SubmissionError, UsageError
from openfingym.plugins import Plugins, is_own
from openfingym.questions.answer import read_answer
from openfingym.rounds.references import answer_document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.questions.question import Question
    from openfingym.results import Isolation
    from openfingym.rounds.generator import Options
    from openfingym.suites.suite import Lookup, Suite, SuiteQuestion

ENTRY_POINT_GROUP = "openfingym.forecasters"
_PROGRAMS = Plugins("forecaster", ENTRY_POINT_GROUP, {})
PROGRAM: Mapping[str, Any] = MappingProxyType({"method": "program"})
"""The record of an answer that a program gave."""
SINGLE = frozenset({"probability", "value"})
"""Forms of questions whose answer is one number."""

State = Literal["sent", "declined", "unparsed", "late", "refused", "error"]
"""``sent``: there is an answer; ``declined``: the forecaster has none; ``unparsed``: what it said cannot be read as an
answer; ``late``: its time was over; ``refused``: the verifier takes no forecast of the question any more. All but the
first count as missing. ``error``: an infrastructure error, after which the question is asked again."""


@dataclass(frozen=True)
class Said:
    """What a forecaster said of one question: an answer, or why there is none."""

    question: str
    """The id of the question."""
    state: State
    """Whether there is an answer, and if not, what happened."""
    answer: Mapping[str, Any] | None = None
    """The answer as :func:`openfingym.questions.answer.read_answer` takes it; None unless the state is ``sent``."""
    reason: str = ""
    """Why there is no answer; empty if there is one."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """How the answer came about, as JSON, with those of these keys that apply: ``method``, ``model``, ``endpoint``,
    ``cutoff``, ``prompt_tokens``, ``completion_tokens``, ``cost_usd``, ``seconds``, ``raw`` and ``conversation``."""


@dataclass(frozen=True)
class QuestionWithTools:
    """A question of a round as a suite asks it, with the suite's tools."""

    suite: Suite
    """The suite whose prompts, tools and form of answer are used."""
    question: SuiteQuestion
    """The question, as it is put to an agent."""
    lookup: Lookup
    """Calls the suite's tools, opened as of the time of answering."""
    simulated: bool
    """Whether the world that is asked about is made up, which the prompt then says."""
    numbers: Callable[[NDArray[np.float64]], Sequence[float] | None] = list
    """The numbers of the ledger's answer from those of the suite's, float64[numbers]; None if they say none."""


@dataclass(frozen=True)
class QuestionInContext:
    """A question, with what a forecaster may know about it."""

    question: Question
    """The question as it was asked."""
    problem: Any = None
    """The problem from which the question was made, as its generator has it; None if it does not say."""
    world: Any = None
    """The world as of the time of answering, as its generator has it; None if it has none."""
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The latest answers of the week's other forecasters, by their names; empty unless the forecaster uses them."""
    with_tools: Callable[[datetime], QuestionWithTools] | None = None
    """The question with tools as of a time; None if its generator has none."""


@dataclass(frozen=True)
class Batch:
    """The questions of a week that a forecaster has neither answered nor declined yet."""

    asked: Sequence[QuestionInContext]
    """The questions, each with its context."""
    as_of: datetime
    """The time of answering by the clock of the series, in UTC."""
    keep: Callable[[Said], None]
    """Records what was said of a question, before it returns; it may be called from any thread."""
    over: Callable[[], bool] = lambda: False
    """Whether the forecaster's time is over: a question that has no answer by then is late."""


class Forecaster(Protocol):
    """Answers the questions of a series, those of one week at a time."""

    @property
    def name(self) -> str:
        """Name of the forecaster in the ledger, with its settings and its model."""

    @property
    def version(self) -> str:
        """Version of the forecaster in the ledger."""

    @property
    def uses_others(self) -> bool:
        """Whether the forecaster is asked after the others, and shown what they answered."""

    @property
    def isolation(self) -> Isolation:
        """What of the forecaster runs in isolation; only this library's are asked (:func:`isolation_of`)."""

    def forecast(self, batch: Batch) -> None:
        """Answer or decline every question, by ``batch.keep``.

        Raises:
            OpenFinGymError: an infrastructure error; the questions that are left are asked again later.
        """


class ForecastProgram(Protocol):
    """A forecaster in a few lines, which gives a number for each problem."""

    name: str
    version: str
    uses_others: bool

    def forecast(self, problem: Any, world: Any, others: Mapping[str, float]) -> float | None:
        """The forecast value in the unit that is asked for, or the probability; None to decline.

        Args:
            problem: what is asked about, as the generator of the question has it.
            world: the world as of the time of answering, as the generator of the question has it.
            others: what the other forecasters of the week said, by their names; empty unless ``uses_others``.
        """


@runtime_checkable
class KnowsWorld(Protocol):
    """A generator that says what its questions are about."""

    def problem(self, question: Question) -> Any:
        """The problem from which a question of this generator was made."""

    def world(self, options: Options, as_of: datetime, vault: str = "") -> Any:
        """The world that a source asks about, as of a time.

        Args:
            options: options of the source, as the definition of the series states them.
            as_of: the time, with its time zone; nothing that became known after it is seen.
            vault: name of the vault that the questions of a season state; empty for the vault of the options.
        """


@runtime_checkable
class AsksWithTools(Protocol):
    """A generator whose questions an agent may answer with the tools of a suite."""

    def with_tools(self, question: Question, world: Any, as_of: datetime) -> QuestionWithTools:
        """A question with tools that look things up in the world.

        Args:
            question: the question, one of this generator's.
            world: what :meth:`KnowsWorld.world` returned for the source of the question.
            as_of: the time of answering, with its time zone.
        """


@dataclass(frozen=True)
class ProgramForecaster:
    """A forecaster that asks a program for each question."""

    program: ForecastProgram
    """The program to ask."""

    @property
    def name(self) -> str:
        """Name of the program, and of the forecaster in the ledger."""
        return self.program.name

    @property
    def version(self) -> str:
        """Version of the program, and of the forecaster in the ledger."""
        return self.program.version

    @property
    def uses_others(self) -> bool:
        """Whether the program uses what the other forecasters answered."""
        return self.program.uses_others

    @property
    def isolation(self) -> Isolation:
        """``none`` of a program of this library; any other has the rights of the user."""
        return "none" if is_own(self.program) else "outside"

    def forecast(self, batch: Batch) -> None:
        """See :class:`Forecaster`."""
        for asked in batch.asked:
            if batch.over():
                batch.keep(Said(asked.question.id, "late", reason="its time was over", record=PROGRAM))
                continue
            batch.keep(self._said(asked))

    def _said(self, asked: QuestionInContext) -> Said:
        """Ask the program for one question."""
        question = asked.question
        if asked.problem is None or asked.world is None or question.form not in SINGLE:
            return Said(question.id, "declined", reason="it says nothing of such questions", record=PROGRAM)
        others = {name: float(answer[question.form]) for name, answer in asked.others.items()}
        started = time.monotonic()
        try:
            number = self.program.forecast(asked.problem, asked.world, others)
        # An infrastructure error, such as of the world's vault: the questions are asked again later.
        except OpenFinGymError:
            raise
        # A program is a stranger's code, which may raise anything.
        except Exception as error:
            raise UsageError(
                f"the program {self.name!r} failed at {question.id}: {type(error).__name__}: {error}"
            ) from error
        record = {**PROGRAM, "seconds": round(time.monotonic() - started, 4)}
        if number is None:
            return Said(question.id, "declined", reason="it has nothing to say", record=record)
        return said_of(question, answer_document(question, (float(number),)), record)


def said_of(question: Question, answer: object, record: Mapping[str, Any] | None = None) -> Said:
    """Check the answer that a forecaster gave to a question.

    Args:
        question: the question that was asked.
        answer: the answer, which may be anything.
        record: how the answer came about, as JSON; None if nothing is on record.

    Returns:
        What the forecaster said: ``sent`` with the answer, or ``unparsed`` if it is not one.
    """
    try:
        read = read_answer(question, answer)
    except SubmissionError as error:
        return Said(question.id, "unparsed", reason=str(error), record=record or {})
    return Said(question.id, "sent", read.document, record=record or {})


def isolation_of(forecaster: Forecaster) -> Isolation:
    """What of a forecaster runs in isolation, as whoever plays the series states it; no verifier can know it.

    A forecaster of another package, or of a caller's, has the rights of the user, whatever it says of itself.
    """
    return forecaster.isolation if is_own(forecaster) else "outside"


def program_names() -> list[str]:
    """The names of the programs that are forecasters, of installed packages."""
    return sorted(_PROGRAMS.names())


def find_program(name: str) -> ProgramForecaster:
    """The forecaster of the program of this name.

    Raises:
        UsageError: there is no program of this name, or it cannot be loaded, or lacks a member of
            :class:`ForecastProgram`.
    """
    program = _PROGRAMS.load(name)
    lacking = [member for member in ("name", "version", "uses_others", "forecast") if not hasattr(program, member)]
    if lacking:
        raise UsageError(f"the forecaster {name!r} has no {lacking[0]!r}; see ForecastProgram")
    return ProgramForecaster(cast("ForecastProgram", program))
