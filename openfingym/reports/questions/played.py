"""Runs of questions as they were played: the calls in each question, how it ended, and how its answer was scored.

What an agent called and how its questions ended is in the folder of its run, and may be shown to anybody. Scores of
parts of the questions follow from the hidden answers. They are computed here, from the hidden half of the task's
package on this machine, and only for runs whose receipt proves that a verifier that this machine has met discloses
every score exactly and without limit, to whoever owns the machine that has the answers. The reason: a part may be a
single question, which an agent chose by calling a tool in that one alone, and a folder may be forged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym import catalog, store
from openfingym.digests import canonical_json
from openfingym.errors import OpenFinGymError, StoreError
from openfingym.files.strange import parse_json, read_bytes
from openfingym.kinds.qa_contract import QaContract
from openfingym.packages.build import build, build_key, is_there
from openfingym.packages.package import BuiltPackage
from openfingym.reports.questions.hidden import LIMIT, HiddenAnswers, hidden_answers, withheld
from openfingym.reports.trading.replay import read_actions
from openfingym.results.run_folder import QUESTIONS
from openfingym.suites.breakdown import AnsweredCall, Breakdown
from openfingym.suites.suite import SuiteQuestion, UnreadableAnswerError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.results import RolloutResult
    from openfingym.suites.suite import AnswerForm, Scalar, Suite
    from openfingym.task import Task
    from openfingym.vault import Vault

    Numbers = NDArray[np.float64]

LONGEST = 60
"""Most characters of the name of a tool that are kept."""
UNKNOWN = "(no such tool)"
"""Name that stands for all tools that a task does not have, since an agent may call anything."""
REPEATED = "repeated_call"
"""Fault of a call that was answered, but had been made before in its question with the same arguments."""
ANSWERED = "answered"
"""State of a question that has an answer."""


@dataclass(frozen=True)
class CallMade:
    """A call of a tool, as it was made."""

    tool: str
    """Name of the tool, shortened; :data:`UNKNOWN` if the task is known not to have it."""
    arguments: str
    """Arguments of the call as canonical JSON."""
    fault: str | None
    """What was wrong with the call, in a word; None for a call that was answered."""
    attempt: int = 1
    """In which of several attempts at its question the call was made, from 1."""


@dataclass(frozen=True)
class PlayedQuestion:
    """A question as it was played."""

    question: int
    """Number of the question, from 1."""
    state: str
    """State in which it ended, such as ``answered``."""
    begun: bool
    """Whether the agent did anything in it."""
    actions: int
    """How many actions the agent took in it."""
    tags: tuple[str, ...]
    """Tags of the question, by which reports tell questions apart."""
    calls: tuple[CallMade, ...]
    """The calls of tools, in order."""
    attempts: tuple[object, ...] = ()
    """The answers of several attempts before the vote on them, as JSON, None for an attempt without an answer; empty if
    there was one attempt."""

    @property
    def tools(self) -> frozenset[str]:
        """Names of the tools that answered in it."""
        return frozenset(call.tool for call in self.calls if call.fault is None)


@dataclass(frozen=True, eq=False)
class PlayedRun:
    """A run of questions as it was played."""

    result: RolloutResult
    """The result of the run."""
    breakdown: Breakdown
    """What the suite tells its answers and calls apart by."""
    options: Mapping[str, Scalar]
    """The options of the task."""
    asked: tuple[PlayedQuestion, ...]
    """The questions, in order."""
    months: tuple[str, ...]
    """The month that each question is about, such as ``2024-02``; empty if the suite does not say."""
    hidden: HiddenAnswers | None
    """The answers; None if they are withheld."""
    withheld: str
    """Why there are no scores of parts; empty if there are."""
    failures: tuple[tuple[str, ...] | None, ...] = ()
    """The modes in which each wrong answer failed, None for a right one; empty if the suite does not tell failures
    apart, or if answers are withheld."""
    scores: Numbers | None = field(init=False)
    """The suite's score of each question, float64[questions]; None if the suite has none, or answers are withheld."""

    def __post_init__(self) -> None:
        score, hidden = self.breakdown.score, self.hidden
        scores = score(hidden.truths, hidden.given) if score is not None and hidden is not None else None
        object.__setattr__(self, "scores", scores)


def played_runs(results: Sequence[RolloutResult], *, with_hidden: bool = False) -> list[PlayedRun]:
    """The runs of questions among some results, without those that have no score.

    Args:
        results: the results that a report is about, with their folders.
        with_hidden: whether scores of parts are also computed for runs whose verifier limits what it discloses; for the
            eyes of its operator alone.
    """
    tasks: dict[str, _LocalTask | None] = {}
    runs = []
    for result in results:
        if result.path is None or result.state != "scored" or not (result.path / QUESTIONS).is_file():
            continue
        if result.task not in tasks:
            tasks[result.task] = _local_task(result.task, build_it=with_hidden)
        run = _played(result, tasks[result.task], with_hidden=with_hidden)
        runs += [] if run is None else [run]
    return runs


@dataclass(frozen=True, eq=False)
class _LocalTask:
    """A task of questions as this machine has it."""

    contract: QaContract
    """The contract of the task."""
    package: BuiltPackage | None
    """The package of the task; None if it is not built here."""


def _local_task(name: str, *, build_it: bool) -> _LocalTask | None:
    """The task of questions of this name on this machine; None if there is none."""
    try:
        task = catalog.load_task(name)
        if not isinstance(task.spec.contract, QaContract):
            return None
        return _LocalTask(task.spec.contract, build(task) if build_it else _built(task))
    except OpenFinGymError:
        return None


def _built(task: Task) -> BuiltPackage | None:
    """The package of a task, if it is in the store."""
    public, truth = store.package_folders(task.name, build_key(task))
    there = is_there(public / "package.json") and is_there(truth / "truth.json")
    return BuiltPackage(public, truth) if there else None


def _played(result: RolloutResult, task: _LocalTask | None, *, with_hidden: bool) -> PlayedRun | None:
    """A run as it was played; None if its folder cannot be read, or does not fit its task."""
    assert result.path is not None
    try:
        rows, actions = _rows(result.path), read_actions(result.path)
    except StoreError:
        return None
    if task is not None and result.tape != "given":
        return _of_own_world(result, task.contract, rows, actions)
    package = task.package if task is not None else None
    same = package is not None and package.manifest.digest == result.task_digest
    # Without the package, calls and states of questions are known, and nothing that follows from their texts.
    if task is None or package is None or not same:
        why = "the package that they were asked from is not on this machine"
        breakdown = Breakdown() if task is None else _breakdown(task.contract)
        options = {} if task is None else task.contract.chosen
        asked = tuple(_asked(row, actions, None, Breakdown(), None) for row in rows)
        return PlayedRun(result, breakdown, options, asked, (), None, why)
    suite, options = task.contract.asked_by, task.contract.chosen
    breakdown, manifest = _breakdown(task.contract), package.manifest
    texts = package.array("test_questions")
    try:
        questions = [SuiteQuestion.from_json(str(texts[manifest.n_public + row["question"] - 1])) for row in rows]
    except IndexError:
        return None
    vault = _vault(suite, str(package.array("snapshot")[0])) if actions else None
    tools = frozenset(tool.name for tool in task.contract.tools)
    asked = tuple(
        _asked(row, actions, question, breakdown, vault, tools) for row, question in zip(rows, questions, strict=True)
    )
    months = _months(breakdown, questions)
    hidden, why = None, "" if with_hidden else withheld(result.path)
    if not why:
        hidden, why = hidden_answers(result, package, [row["question"] - 1 for row in rows])
    if hidden is not None:
        hidden = replace(hidden, samples=_samples(asked, task.contract.form))
    return PlayedRun(
        result, breakdown, options, asked, months, hidden, why, _failures(breakdown, questions, asked, hidden)
    )


def _of_own_world(
    result: RolloutResult,
    contract: QaContract,
    rows: Sequence[Mapping[str, Any]],
    actions: Mapping[int, Sequence[object]],
) -> PlayedRun:
    """A run on questions about a world of its own: what its rows say of them, and nothing that follows from answers."""
    breakdown, tools = _breakdown(contract), frozenset(tool.name for tool in contract.tools)
    asked: list[PlayedQuestion] = []
    months: list[str] = []
    for row in rows:
        # Of a question that was never begun nothing is kept; and a stranger's folder may have anything in its place.
        try:
            question = _question(row)
            months += _months(breakdown, [question])
            asked.append(_asked(row, actions, question, breakdown, None, tools))
        except (KeyError, ValueError, TypeError, AttributeError, OpenFinGymError):
            asked.append(_asked(row, actions, None, breakdown, None, tools))
    why = "they were asked about a world of the rollout's own, which nobody keeps"
    known = tuple(months) if len(months) == len(rows) else ()
    return PlayedRun(result, breakdown, contract.chosen, tuple(asked), known, None, why)


def _question(row: Mapping[str, Any]) -> SuiteQuestion:
    """The question that a row has as data, without its text; raises a KeyError, or another error, if it has none."""
    question = SuiteQuestion(str(row["id"]), "", str(row["as_of"]), dict(row["query"]), tuple(map(str, row["tags"])))
    question.moment  # noqa: B018 - raises if it is no time
    return question


def _breakdown(contract: QaContract) -> Breakdown:
    """What the suite of a task tells its answers and calls apart by."""
    breakdown = contract.asked_by.breakdown(contract.chosen)
    # With hindsight, a call about the future is answered, and has no fault.
    return replace(breakdown, fault=None) if contract.hindsight else breakdown


def _months(breakdown: Breakdown, questions: Sequence[SuiteQuestion]) -> tuple[str, ...]:
    """The month that each question is about; none if the suite does not say."""
    return tuple(f"{breakdown.day(question):%Y-%m}" for question in questions) if breakdown.day is not None else ()


def _failures(
    breakdown: Breakdown,
    questions: Sequence[SuiteQuestion],
    asked: Sequence[PlayedQuestion],
    hidden: HiddenAnswers | None,
) -> tuple[tuple[str, ...] | None, ...]:
    """The modes in which each wrong answer failed, None for a right one; empty if that is not known."""
    if breakdown.failures is None or hidden is None:
        return ()
    calls = [
        tuple(AnsweredCall(call.tool, call.arguments) for call in question.calls if call.fault is None)
        for question in asked
    ]
    return tuple(map(breakdown.failures, questions, calls, hidden.truths, hidden.given))


def _rows(folder: Path) -> list[dict[str, Any]]:
    """How each question ended, from ``questions.jsonl`` in the folder of a run.

    Raises:
        StoreError: the file cannot be read, or has another form.
    """
    try:
        rows: list[Any] = [parse_json(line) for line in read_bytes(folder, QUESTIONS, LIMIT).decode().splitlines()]
        # Every value is tried once here, since the folder may be a stranger's.
        for row in rows:
            stated = row["question"] >= 1, str(row["state"]), bool(row["begun"]), int(row["actions"]), row["tags"]
            if not stated[0] or not isinstance(row["question"], int) or not isinstance(row["tags"], list):
                raise ValueError("a row has another form")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / QUESTIONS}: not a readable record of questions ({error})") from error
    return rows


def _asked(
    row: Mapping[str, Any],
    actions: Mapping[int, Sequence[object]],
    question: SuiteQuestion | None,
    breakdown: Breakdown,
    vault: Vault | None,
    tools: frozenset[str] | None = None,
) -> PlayedQuestion:
    """A question as it was played.

    Args:
        row: how it ended, a line of ``questions.jsonl``.
        actions: the actions of every question, by its index.
        question: the question as it was asked; None if the task's package is not here.
        breakdown: tells the faults of calls.
        vault: the vault from which tools answered; None if it is not here.
        tools: names of the task's tools; None if they are not known.
    """
    calls, attempt = [], 1
    for action in actions.get(row["question"] - 1, ()):
        if isinstance(action, dict) and isinstance(action.get("attempt"), int):
            attempt = action["attempt"]
        if not isinstance(action, dict) or not isinstance(action.get("tool"), str):
            continue
        tool, arguments = action["tool"], action.get("arguments", {})
        fault = None
        if breakdown.fault is not None and question is not None and isinstance(arguments, dict):
            fault = breakdown.fault(question, tool, arguments, vault)
        if tools is not None and tool not in tools:
            tool, fault = UNKNOWN, fault or "unknown_tool"
        calls.append(CallMade(tool[:LONGEST], canonical_json(arguments).decode(), fault, attempt))
    tags = tuple(map(str, row["tags"]))
    number, state, begun, taken = row["question"], str(row["state"]), bool(row["begun"]), int(row["actions"])
    # An attempt states the answer of the one before it, and the final answer that of the last one.
    attempts = tuple(
        action["before"]
        for action in actions.get(number - 1, ())
        if isinstance(action, dict) and "before" in action and action.get("attempt") != 1
    )
    return PlayedQuestion(number, state, begun, taken, tags, tuple(calls), attempts)


def _samples(asked: Sequence[PlayedQuestion], form: AnswerForm) -> Numbers | None:
    """The answers of each attempt at every question; None unless all questions were attempted equally often, and
    several times.
    """
    counts = {len(question.attempts) for question in asked}
    if len(counts) != 1 or counts == {0}:
        return None
    samples = np.zeros((counts.pop(), len(asked), len(form.labels)))
    for place, question in enumerate(asked):
        for number, answer in enumerate(question.attempts):
            # An answer that cannot be read counts as none.
            with contextlib.suppress(UnreadableAnswerError):
                samples[number, place] = 0.0 if answer is None else form.read(answer)
    return samples


def _vault(suite: Suite, snapshot: str) -> Vault | None:
    """The vault from which tools answered, if it is on this machine."""
    try:
        return suite.vault(snapshot)
    except OpenFinGymError:
        return None
