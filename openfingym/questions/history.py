"""Resolved histories: questions, their outcomes and forecasts of a past season, read from files.

A file is JSON Lines, or one JSON object that holds such objects in a list (``questions``, ``resolutions``,
``forecasts``); either may be packed, as ``.json.gz``. A line is of this library or of ForecastBench, whose public sets
are told by their field names:

============  =======================================================================================================
question      ``Question.to_dict``, with times as integers or in ISO 8601; and ``truth``, or ``void`` with the reason,
              ``source``, and ``reference``, what a market showed when it was made
forecast      ``question``, ``answer``, ``agent``, ``version`` and ``at``, when it was made
ForecastBench questions (``id``, ``source``, ``question``, ``resolution_dates`` ...), resolutions (``id``, ``source``,
              ``resolution_date``, ``resolved_to``, ``resolved``), forecasts (``id``, ``source``, ``forecast``)
============  =======================================================================================================

All of it is checked before any of it is used. Truths are recorded ones: they come out on a simulated clock alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openfingym.errors import DataError, OpenFinGymError, SubmissionError, UsageError
from openfingym.files.strange import parse_json
from openfingym.questions.answer import read_answer
from openfingym.questions.forecastbench import BenchAsked, BenchForecast, BenchQuestion, BenchResolution, BenchSet
from openfingym.questions.provider import RECORDED
from openfingym.questions.question import REAL_CLOCK, Question, moment_ns
from openfingym.questions.scoring import check_truth

BENCH_FORECAST = frozenset({"forecast", "source"})
"""Fields by which a forecast of a ForecastBench set is known."""
LISTS = ("questions", "resolutions", "forecasts")
"""Fields of a whole set that hold its objects."""
ENVELOPE = ("forecast_due_date", "question_set", "model", "organization")
"""Fields of a whole set that apply to each of its objects."""
TIMES = {"generated": "generated_ns", "deadline": "deadline_ns", "evaluation": "evaluation_ns"}
"""Names that a file may use for the times of a question, and those of the question's fields."""
BEFORE_NS = 1_000_000_000
"""How long before the deadline a forecast is replayed whose own time is not known, nanoseconds."""
MOST_UNPACKED = 256 * 2**20
"""Most bytes that a packed file may unpack to."""
OWN_TRUTH = ("truth", "void", "source", "reference", "available")
"""Fields beside a question that state its truth."""


@dataclass(frozen=True)
class PastForecast:
    """A forecast of a past season."""

    question: str
    """Id of the question."""
    answer: Mapping[str, Any]
    """The answer, as :func:`openfingym.questions.answer.read_answer` takes it."""
    agent: str
    """Name of the agent that made it."""
    version: str
    """Version of the agent; empty where none is stated."""
    at_ns: int
    """When the forecast is made again, by the clock of the replay, nanoseconds since the epoch."""


@dataclass
class PastSeason:
    """A past season: questions, their truths and forecasts, all of them checked."""

    questions: list[Question] = field(default_factory=list)
    truths: list[dict[str, Any]] = field(default_factory=list)
    """Truths as :func:`openfingym_verifier.questions.recorded.record` reads them, each with its ``question``'s id; a
    question without one waits for it."""
    forecasts: list[PastForecast] = field(default_factory=list)
    unasked: int = 0
    """Number of resolutions that are of none of the questions, and were left out."""

    @property
    def waiting(self) -> int:
        """Number of questions whose truth the files do not have yet."""
        known = {truth["question"] for truth in self.truths}
        return sum(question.provider == RECORDED and question.id not in known for question in self.questions)


def read_history(paths: Sequence[Path], *, clock: str, agent: str = "") -> PastSeason:
    """Read a past season, whole.

    Args:
        paths: paths of the files, in any order.
        clock: name of the simulated clock on which the season is replayed.
        agent: name of the agent for forecasts that name none.

    Raises:
        UsageError: a file cannot be read, or a line is no such object or contradicts itself or another one; the message
            names file and line.
    """
    reader = _Reader(clock, agent)
    for path in paths:
        for where, document in _objects(path):
            try:
                reader.add(document)
            except (OpenFinGymError, TypeError, ValueError, KeyError, OverflowError) as error:
                # The text of a KeyError is the key alone.
                why = f"has no {error}" if isinstance(error, KeyError) else str(error)
                raise UsageError(f"{where}: {why}") from None
    return reader.finish()


def read_questions(path: Path, now_ns: int) -> list[Question]:
    """Questions that are to be asked now, by the real clock: lines as in a history, without truths.

    Args:
        path: path of the file.
        now_ns: the time, nanoseconds since the epoch, after which every deadline must be.

    Raises:
        UsageError: a line is no such question, has a truth, or its deadline has passed; the message names the line.
    """
    questions: dict[str, Question] = {}
    for where, document in _objects(path):
        try:
            if "form" not in document or document.get("clock", REAL_CLOCK) != REAL_CLOCK:
                raise UsageError("no question by the real clock; expected one with a form and a provider")
            if known := [name for name in (*OWN_TRUTH, "answer") if name in document]:
                raise UsageError(f"has {known[0]!r}; a question is asked before anybody knows, see `ledger import`")
            question = Question.from_dict(_with_times(document))
            if question.deadline_ns <= now_ns:
                raise UsageError(f"the deadline of {question.id} has passed; expected one in the future")
            if questions.setdefault(question.id, question) is not question:
                raise UsageError(f"a question before has the id {question.id}")
        except (OpenFinGymError, TypeError, ValueError) as error:
            raise UsageError(f"{where}: {error}") from None
    if not questions:
        raise UsageError(f"{path}: there is no question in it")
    return list(questions.values())


def _with_times(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a question of this library, with its times as nanoseconds and without its truth."""
    rest = {TIMES.get(name, name): value for name, value in document.items() if name not in OWN_TRUTH}
    return rest | {name: _time(rest[name]) for name in TIMES.values() if name in rest}


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a file, with its place for messages."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            from openfingym.data.csvfile import unpacked

            content = unpacked(content, path, MOST_UNPACKED)
        text = content.decode()
    except DataError as error:
        raise UsageError(str(error)) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    # A file of lines is told by its first one, which is a document by itself; one of one line by its lack of lists.
    whole = _parsed(text) if len(lines) == 1 or (lines and _parsed(lines[0][1]) is None) else None
    if isinstance(whole, dict) and any(isinstance(whole.get(name), list) for name in LISTS):
        common = {name: whole[name] for name in ENVELOPE if name in whole}
        for name in LISTS:
            for number, item in enumerate(whole.get(name) or (), 1):
                if not isinstance(item, dict):
                    raise UsageError(f"{path}: {name} {number} is no object")
                yield f"{path}: {name} {number}", common | item
        return
    for number, line in lines:
        try:
            document = parse_json(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: not JSON ({error}); expected an object a line") from None
        if not isinstance(document, dict):
            raise UsageError(f"{path}:{number}: {type(document).__name__}, expected an object a line")
        yield f"{path}:{number}", document


def _parsed(text: str) -> object:
    """The value of a JSON document; None if it is none."""
    try:
        return parse_json(text)
    except ValueError:
        return None


class _Reader:
    """Collects the objects of all files; they fit together only once all are read."""

    def __init__(self, clock: str, agent: str) -> None:
        self._clock = clock
        self._agent = agent
        self._questions: dict[str, Question] = {}
        self._truths: dict[str, dict[str, Any]] = {}
        self._forecasts: list[tuple[str, Mapping[str, Any], str, str, int | None]] = []
        self._bench: list[BenchQuestion] = []
        self._resolutions: list[BenchResolution] = []
        self._bench_forecasts: list[BenchForecast] = []

    def add(self, document: dict[str, Any]) -> None:
        """Take one object, and tell by its fields what it is.

        Raises:
            UsageError: it is none of the known kinds, or contradicts itself or an earlier one.
        """
        if "resolved_to" in document:
            self._resolutions.append(BenchResolution.read(document))
        elif "freeze_datetime" in document:
            self._bench.append(BenchQuestion.read(document))
        elif document.keys() >= BENCH_FORECAST:
            self._bench_forecasts.append(BenchForecast.read(document, self._agent))
        elif "answer" in document:
            at = document.get("at")
            agent = str(document.get("agent") or self._agent)
            if not agent:
                raise UsageError("a forecast names no agent; name one with --agent")
            stated = str(document["question"]), document["answer"], agent, str(document.get("version", ""))
            self._forecasts.append((*stated, None if at is None else _time(at)))
        elif "form" in document:
            self._add_question(document)
        else:
            raise UsageError(
                f"an object with {', '.join(sorted(map(str, document))[:8])} is no question, resolution or forecast"
            )

    def _add_question(self, document: dict[str, Any]) -> None:
        question = Question.from_dict({"provider": RECORDED, **_with_times(document), "clock": self._clock})
        self._keep(question)
        if question.provider == RECORDED:
            available = _time(document["available"]) if "available" in document else question.evaluation_ns
            self._add_truth(question, {**document, "available_ns": available, "reason": document.get("void", "")})

    def _keep(self, question: Question) -> None:
        # The same question may be in several files; another one of its id may not.
        if self._questions.setdefault(question.id, question) != question:
            raise UsageError(f"another question before has the id {question.id}")

    def _add_truth(self, question: Question, stated: Mapping[str, Any]) -> None:
        truth = stated.get("truth")
        if truth is not None:
            check_truth(question, truth)
        elif not stated["reason"]:
            raise UsageError(f"question {question.id} has neither a truth nor void, the reason why it has none")
        kept = {"question": question.id, "available_ns": stated["available_ns"], "truth": truth}
        kept |= {"reason": str(stated["reason"]), "source": str(stated.get("source", ""))}
        self._truths[question.id] = kept | {"reference": stated.get("reference")}

    def finish(self) -> PastSeason:
        """Join forecasts and resolutions with their questions.

        Raises:
            UsageError: a resolution or a forecast belongs to no question, or there is no question.
        """
        asked: dict[tuple[str, str, str, str], list[BenchAsked]] = {}
        bench_set = BenchSet(self._bench, self._resolutions)
        for one in bench_set.asked(self._clock):
            self._keep(one.question)
            if one.truth is not None:
                self._add_truth(one.question, one.truth)
            # A forecast of a market is one for every date at which the resolution set looks at it.
            for date in ("", one.date):
                asked.setdefault((one.bench.source, one.bench.key, one.direction, date), []).append(one)
        stated = list(self._forecasts)
        for forecast in self._bench_forecasts:
            key = forecast.source, forecast.key, forecast.direction, forecast.resolution_date
            ids = [one.question.id for one in asked.get(key, ()) if forecast.due_date in {"", one.bench.due_date}]
            if not ids:
                raise UsageError(
                    f"a forecast is of {forecast.source} {forecast.key} {forecast.resolution_date}, which nothing asks"
                )
            stated += [(id_, {"probability": forecast.probability}, forecast.agent, "", None) for id_ in ids]
        forecasts = [self._forecast(*parts) for parts in stated]
        if not self._questions:
            raise UsageError("there is no question in what was given")
        return PastSeason(
            list(self._questions.values()), list(self._truths.values()), forecasts, unasked=bench_set.unasked
        )

    def _forecast(
        self, name: str, answer: Mapping[str, Any], agent: str, version: str, at_ns: int | None
    ) -> PastForecast:
        question = self._questions.get(name)
        if question is None:
            raise UsageError(f"a forecast is of the question {name[:80]}, which nothing asks")
        try:
            read_answer(question, answer)
        except SubmissionError as error:
            raise UsageError(f"a forecast by {agent}: {error}") from None
        at_ns = max(question.deadline_ns - BEFORE_NS, question.generated_ns) if at_ns is None else at_ns
        if not question.generated_ns <= at_ns < question.deadline_ns:
            raise UsageError(f"a forecast of {name} by {agent} was made before its question, or after its deadline")
        return PastForecast(name, answer, agent, version, at_ns)


def _time(value: object) -> int:
    """A time as a file states it, nanoseconds or ISO 8601, as nanoseconds since the epoch."""
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise UsageError(f"{str(value)[:40]!r} is no time; expected ISO 8601 with a time zone, or nanoseconds")
    return moment_ns(value)
