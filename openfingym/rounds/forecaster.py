"""Forecasters: what answers the questions of a round (FinDeepForecast's Forecasting Agent).

A :class:`Forecaster` is given the open questions of a week at once, and says of each what it has to say. There are
three ways to be one: a program of a few lines (:class:`ForecastProgram`), an agent that asks a language model, and a
command of a participant's own. What a forecaster says is kept word by word; the answer alone goes to the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from openfingym.errors import OpenFinGymError, SubmissionError, UsageError
from openfingym.plugins import entry_points
from openfingym.questions.answer import read_answer
from openfingym.rounds.references import answer_document

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.rounds.generator import Options
    from openfingym.suites.findeepforecast.problem import ForecastProblem
    from openfingym.suites.findeepforecast.world.known import KnownWorld

ENTRY_POINT_GROUP = "openfingym.forecasters"
OWN = {
    "seasonal": "openfingym.suites.findeepforecast.forecasting.seasonal",
    "consensus": "openfingym.suites.findeepforecast.forecasting.consensus",
}
"""Programs of the library by name, each ``PROGRAM`` of its module."""
PROGRAM: Mapping[str, Any] = MappingProxyType({"method": "program"})
"""What is on record of an answer that a program gave."""
SINGLE = frozenset({"probability", "value"})
"""Forms of questions whose answer is one number."""

State = Literal["sent", "declined", "unparsed", "late", "refused", "error"]
"""``sent``: there is an answer; ``declined``: it has nothing to say; ``unparsed``: what it said is no answer; ``late``:
its time was over; ``refused``: the verifier took none any more. All but the first count as missing. ``error``: a
failure of ours or of a service's, after which it is asked again."""


@dataclass(frozen=True)
class Said:
    """What a forecaster said of a question."""

    question: str
    """The question's id."""
    state: State
    answer: Mapping[str, Any] | None = None
    """As :func:`openfingym.questions.read_answer` takes it; of ``sent`` alone."""
    reason: str = ""
    """Why there is no answer."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """What it rests on, as JSON: ``method``, ``model``, ``endpoint``, ``cutoff``, ``prompt_tokens``,
    ``completion_tokens``, ``cost_usd``, ``seconds``, ``raw`` and ``conversation``, where there are such."""


@dataclass(frozen=True)
class QuestionInContext:
    """A question, with what it is about."""

    question: Question
    problem: ForecastProblem | None = None
    """What it was made from; None where its generator does not say."""
    world: KnownWorld | None = None
    """The world as of the time of answering; None where its generator knows none."""
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Latest answers of the week's other forecasters, by their names; for those who use them alone."""


@dataclass(frozen=True)
class Batch:
    """The questions of a week that a forecaster has not spoken of yet."""

    asked: Sequence[QuestionInContext]
    as_of: datetime
    """Time of answering, by the clock of the series; UTC."""
    keep: Callable[[Said], None]
    """Keeps what was said of a question, at once and for good; from any thread."""
    over: Callable[[], bool] = lambda: False
    """Whether its time is over: what is not said by then is late."""


class Forecaster(Protocol):
    """Answers questions, a week's at a time."""

    @property
    def name(self) -> str:
        """Its name in the ledger, with its settings and its model."""

    @property
    def version(self) -> str:
        """Its version in the ledger."""

    @property
    def uses_others(self) -> bool:
        """Whether it is asked after the others, and told what they said."""

    def forecast(self, batch: Batch) -> None:
        """Say something of every question, by ``batch.keep``.

        Raises:
            OpenFinGymError: a failure of ours or of a service's; what was not said by then is asked again later.
        """


class ForecastProgram(Protocol):
    """A forecaster in a few lines: a number for a problem."""

    name: str
    version: str
    uses_others: bool

    def forecast(self, problem: ForecastProblem, world: KnownWorld, others: Mapping[str, float]) -> float | None:
        """The value in the unit that is asked for, or the probability; None where it has nothing to say.

        Args:
            problem: the figure or the event that is asked about.
            world: the world as of the time of answering.
            others: what the other forecasters of the week said, by their names; empty unless ``uses_others``.
        """


@runtime_checkable
class KnowsWorld(Protocol):
    """A generator that says what its questions are about."""

    def problem(self, question: Question) -> ForecastProblem:
        """What a question of its own was made from."""

    def world(self, options: Options, as_of: datetime, vault: str = "") -> KnownWorld:
        """The world that a source asks about, as of a time.

        Args:
            options: options of the source, as the definition of the series states them.
            as_of: the time, with its time zone; nothing that became known after it is seen.
            vault: the vault that its questions name, which a season keeps to; empty for that of the options.
        """


@dataclass(frozen=True)
class ProgramForecaster:
    """A program, as a forecaster."""

    program: ForecastProgram

    @property
    def name(self) -> str:
        """The program's."""
        return self.program.name

    @property
    def version(self) -> str:
        """The program's."""
        return self.program.version

    @property
    def uses_others(self) -> bool:
        """As the program says."""
        return self.program.uses_others

    def forecast(self, batch: Batch) -> None:
        """See :class:`Forecaster`."""
        for asked in batch.asked:
            if batch.over():
                batch.keep(Said(asked.question.id, "late", reason="its time was over", record=PROGRAM))
                continue
            batch.keep(self._said(asked))

    def _said(self, asked: QuestionInContext) -> Said:
        question = asked.question
        if asked.problem is None or asked.world is None or question.form not in SINGLE:
            return Said(question.id, "declined", reason="it says nothing of such questions", record=PROGRAM)
        others = {name: float(answer[question.form]) for name, answer in asked.others.items()}
        started = time.monotonic()
        try:
            number = self.program.forecast(asked.problem, asked.world, others)
        except OpenFinGymError:
            raise
        except Exception as error:  # a stranger's code
            raise UsageError(
                f"the program {self.name!r} failed at {question.id}: {type(error).__name__}: {error}"
            ) from error
        record = {**PROGRAM, "seconds": round(time.monotonic() - started, 4)}
        if number is None:
            return Said(question.id, "declined", reason="it has nothing to say", record=record)
        return said_of(question, answer_document(question, (float(number),)), record)


def said_of(question: Question, answer: object, record: Mapping[str, Any] | None = None) -> Said:
    """What was said of a question, by the answer that was given: one that is none is ``unparsed``."""
    try:
        read = read_answer(question, answer)
    except SubmissionError as error:
        return Said(question.id, "unparsed", reason=str(error), record=record or {})
    return Said(question.id, "sent", read.document, record=record or {})


def program_names() -> list[str]:
    """Names of the programs that are forecasters."""
    return sorted({*OWN, *(entry.name for entry in entry_points(ENTRY_POINT_GROUP))})


def find_program(name: str) -> ProgramForecaster:
    """A program by its name.

    Raises:
        UsageError: there is none of that name, or what is there is none.
    """
    found = {entry.name: entry for entry in entry_points(ENTRY_POINT_GROUP)}
    if name in OWN:
        entry = EntryPoint(name, f"{OWN[name]}:PROGRAM", ENTRY_POINT_GROUP)
    elif name in found:
        entry = found[name]
    else:
        raise UsageError(f"there is no forecaster {name!r}; programs are {', '.join(program_names())}")
    try:
        program = entry.load()
    except Exception as error:  # whatever a stranger's module may raise
        raise UsageError(f"the forecaster {name!r} cannot be loaded from {entry.value!r} ({error})") from error
    lacking = [one for one in ("name", "version", "uses_others", "forecast") if not hasattr(program, one)]
    if lacking:
        raise UsageError(f"the forecaster {name!r} of {entry.value!r} has no {lacking[0]!r}; see ForecastProgram")
    return ProgramForecaster(program)
