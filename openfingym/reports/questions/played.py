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
from openfingym.errors import OpenFinGymError, ReceiptError, StoreError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.kinds.qa_contract import QaContract
from openfingym.metrics import find_metric
from openfingym.packages.build import build, build_key, is_there
from openfingym.packages.package import BuiltPackage
from openfingym.reports.trading.replay import read_actions
from openfingym.results.run_folder import QUESTIONS
from openfingym.suites.breakdown import AnsweredCall, Breakdown
from openfingym.suites.suite import SuiteQuestion, UnreadableAnswerError
from openfingym.verifiers.receipt_check import check_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.results import RolloutResult
    from openfingym.suites.suite import AnswerForm, Scalar, Suite
    from openfingym.task import Task
    from openfingym.vault import Vault

    Numbers = NDArray[np.float64]

LIMIT = 256 * MEGABYTE
"""Most bytes of a file of a run."""
SAME = 1e-9
"""Largest difference between two computations of the same score."""
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
class HiddenAnswers:
    """The true and the given answers to the questions of a run, from which their scores are computed."""

    truths: Numbers
    """The true answers, float64[questions, numbers]."""
    given: Numbers
    """The answers of the agent, float64[questions, numbers]; 0 for a question without an answer."""
    samples: Numbers | None = None
    """The answers of each attempt before the vote on them, float64[attempts, questions, numbers]; None unless all
    questions were attempted equally often."""


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
    package = task.package if task is not None else None
    same = package is not None and package.manifest.digest == result.task_digest
    own = result.tape != "given"
    # Without the package, calls and states of questions are known, and nothing that follows from their texts.
    if task is None or package is None or not same or own:
        why = "the package that they were asked from is not on this machine"
        if own:
            why = "they were asked about a world of the rollout's own, which nobody keeps"
        breakdown = Breakdown() if task is None else task.contract.asked_by.breakdown(task.contract.chosen)
        options = {} if task is None else task.contract.chosen
        asked = tuple(_asked(row, actions, None, Breakdown(), None) for row in rows)
        return PlayedRun(result, breakdown, options, asked, (), None, why)
    suite, options = task.contract.asked_by, task.contract.chosen
    breakdown, manifest = suite.breakdown(options), package.manifest
    # With hindsight, a call about the future is answered, and has no fault.
    if task.contract.hindsight:
        breakdown = replace(breakdown, fault=None)
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
    months = tuple(f"{breakdown.day(question):%Y-%m}" for question in questions) if breakdown.day is not None else ()
    hidden, why = None, "" if with_hidden else _withheld(result.path)
    if not why:
        hidden, why = _hidden(result, package, [row["question"] - 1 for row in rows])
    if hidden is not None:
        hidden = replace(hidden, samples=_samples(asked, task.contract.form))
    return PlayedRun(
        result, breakdown, options, asked, months, hidden, why, _failures(breakdown, questions, asked, hidden)
    )


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


def _withheld(folder: Path) -> str:
    """Why scores of parts of a run may not be shown; empty if they may."""
    try:
        checked = check_run(folder)
    except (ReceiptError, StoreError):
        return "no receipt proves what is in its folder"
    # Anybody can sign a receipt with a key of their own.
    if not checked.key_pinned:
        return "its receipt is of a verifier that this machine has not met"
    disclosed = checked.verified.get("policy") == "local" and checked.verified.get("disclosure") == "full"
    return "" if disclosed else "its verifier rations what it tells of them"


def _hidden(result: RolloutResult, package: BuiltPackage, places: Sequence[int]) -> tuple[HiddenAnswers | None, str]:
    """The true and the given answers to questions, by their indices in the private fold; None with the reason if they
    cannot be used.
    """
    assert result.path is not None
    folder = result.path / "submissions"
    try:
        submissions = sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))
        outcomes = read_array(folder, submissions[-1].name, LIMIT)
    except (OSError, ValueError, IndexError):
        return None, "their answers are not in its folder"
    manifest = package.manifest
    if outcomes.shape != tuple(manifest.submission_shape) or not np.isfinite(outcomes).all():
        return None, "the answers in its folder are of another form"
    rows = manifest.n_public + np.asarray(places)
    truths = np.asarray(package.read_truth()["targets"], dtype=np.float64)
    # The first number of an outcome says how the question ended, the others are the answer.
    answers = HiddenAnswers(truths[rows], np.asarray(outcomes, dtype=np.float64)[rows, 1:])
    # A folder may be forged: its answers count only if they have the scores that its result states, to the last digit.
    # Otherwise, made-up answers would be scored question by question, which discloses the truths.
    scored = {name: metric_of(name, answers) for name in result.metrics}
    if not scored or any(abs(value - result.metrics[name]) > SAME for name, value in scored.items()):
        return None, "the answers in its folder do not have the scores that its result states"
    return answers, ""


def metric_of(name: str, hidden: HiddenAnswers) -> float:
    """A metric of the bank, computed from the numbers of all answers."""
    return find_metric(name).compute({"y_true": hidden.truths, "y_pred": hidden.given})
