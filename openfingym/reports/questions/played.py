"""A run of questions as it was played: what was called in each, how it ended, and what its answer was worth.

What an agent called and how its questions ended is in its run's folder, and may be shown to anybody. Scores of parts
of the questions follow from the hidden answers. They are computed here, from the truth half of the task's package on
this machine, and only of runs of which a verifier that this machine has met proves that it told every score exactly
and without limit, to whoever owns the machine on which the answers lie: a part may be a single question, which its
agent chose by calling a tool in that one alone, and a folder may be made up.
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
from openfingym.results import QUESTIONS
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
"""Bytes that a file of a run may have."""
SAME = 1e-9
"""How far apart two computations of one score may be."""
LONGEST = 60
"""Characters of the name of a tool that are kept."""
UNKNOWN = "(no such tool)"
"""Name of all tools that a task does not have: an agent may call whatever it likes."""
REPEATED = "repeated_call"
"""What a call is that was answered and had been made before in its question, with the same arguments."""
ANSWERED = "answered"


@dataclass(frozen=True)
class CallMade:
    """A call of a tool."""

    tool: str
    """Any text, where there is no such tool."""
    arguments: str
    """As canonical JSON."""
    fault: str | None
    """What was wrong with it, in a word; None for a call that was answered."""
    attempt: int = 1
    """Which of several attempts at its question it was made in."""


@dataclass(frozen=True)
class PlayedQuestion:
    """A question as it was played."""

    question: int
    """Counted from 1."""
    state: str
    begun: bool
    actions: int
    tags: tuple[str, ...]
    calls: tuple[CallMade, ...]
    attempts: tuple[object, ...] = ()
    """What several attempts at it came to before they were voted on, as JSON; None of one without an answer."""

    @property
    def tools(self) -> frozenset[str]:
        """Tools that answered in it."""
        return frozenset(call.tool for call in self.calls if call.fault is None)


@dataclass(frozen=True, eq=False)
class Hidden:
    """Everything that scores of a run's questions are made of, for whoever holds the answers."""

    truths: Numbers
    """float64[questions, numbers]."""
    given: Numbers
    """float64[questions, numbers]: 0 where there was no answer."""
    samples: Numbers | None = None
    """float64[attempts, questions, numbers], where all questions were attempted as often: before they were voted on."""


@dataclass(frozen=True, eq=False)
class PlayedRun:
    """A run of questions."""

    result: RolloutResult
    breakdown: Breakdown
    options: Mapping[str, Scalar]
    asked: tuple[PlayedQuestion, ...]
    months: tuple[str, ...]
    """Month that each question is about, such as ``2024-02``; empty where the suite does not say."""
    hidden: Hidden | None
    withheld: str
    """Why there are no scores of parts; empty where there are."""
    failures: tuple[tuple[str, ...] | None, ...] = ()
    """What each wrong answer looks like, None for a right one; empty where the suite does not tell, or scores are
    withheld."""
    scores: Numbers | None = field(init=False)
    """float64[questions]: the suite's score of each."""

    def __post_init__(self) -> None:
        score, known = self.breakdown.score, self.hidden
        found = score(known.truths, known.given) if score is not None and known is not None else None
        object.__setattr__(self, "scores", found)


def played_runs(results: Sequence[RolloutResult], *, with_hidden: bool = False) -> list[PlayedRun]:
    """The runs of questions among some results; those without a score are left out.

    Args:
        results: any results, with their folders.
        with_hidden: whether scores of parts are computed of runs too whose verifier rations what it tells, for its
            operator's own eyes.
    """
    tasks: dict[str, _TaskHere | None] = {}
    found = []
    for result in results:
        if result.path is None or result.state != "scored" or not (result.path / QUESTIONS).is_file():
            continue
        if result.task not in tasks:
            tasks[result.task] = _known(result.task, build_it=with_hidden)
        run = _played(result, tasks[result.task], with_hidden=with_hidden)
        found += [] if run is None else [run]
    return found


@dataclass(frozen=True, eq=False)
class _TaskHere:
    """A task of questions on this machine."""

    contract: QaContract
    package: BuiltPackage | None


def _known(name: str, *, build_it: bool) -> _TaskHere | None:
    """A task by its name; None where this machine has none of questions under it."""
    try:
        task = catalog.load_task(name)
        if not isinstance(task.spec.contract, QaContract):
            return None
        return _TaskHere(task.spec.contract, build(task) if build_it else _built(task))
    except OpenFinGymError:
        return None


def _built(task: Task) -> BuiltPackage | None:
    """The package of a task, where it is in the store."""
    public, truth = store.package_folders(task.name, build_key(task))
    there = is_there(public / "package.json") and is_there(truth / "truth.json")
    return BuiltPackage(public, truth) if there else None


def _played(result: RolloutResult, known: _TaskHere | None, *, with_hidden: bool) -> PlayedRun | None:
    assert result.path is not None
    try:
        rows, actions = _rows(result.path), read_actions(result.path)
    except StoreError:
        return None
    package = known.package if known is not None else None
    same = package is not None and package.manifest.digest == result.task_digest
    if known is None or package is None or not same:
        why = "the package that they were asked from is not on this machine"
        breakdown = Breakdown() if known is None else known.contract.asked_by.breakdown(known.contract.chosen)
        options = {} if known is None else known.contract.chosen
        asked = tuple(_asked(row, actions, None, Breakdown(), None) for row in rows)
        return PlayedRun(result, breakdown, options, asked, (), None, why)
    suite, options = known.contract.asked_by, known.contract.chosen
    breakdown, manifest = suite.breakdown(options), package.manifest
    if known.contract.hindsight:
        breakdown = replace(breakdown, fault=None)  # what was to come may be asked for
    texts = package.array("test_questions")
    try:
        questions = [SuiteQuestion.from_json(str(texts[manifest.n_public + row["question"] - 1])) for row in rows]
    except IndexError:
        return None
    vault = _vault(suite, str(package.array("snapshot")[0])) if actions else None
    tools = frozenset(tool.name for tool in known.contract.tools)
    asked = tuple(
        _asked(row, actions, question, breakdown, vault, tools) for row, question in zip(rows, questions, strict=True)
    )
    months = tuple(f"{breakdown.day(one):%Y-%m}" for one in questions) if breakdown.day is not None else ()
    hidden, why = None, "" if with_hidden else _untold(result.path)
    if not why:
        hidden, why = _hidden(result, package, [row["question"] - 1 for row in rows])
    if hidden is not None:
        hidden = replace(hidden, samples=_samples(asked, known.contract.form))
    return PlayedRun(
        result, breakdown, options, asked, months, hidden, why, _failures(breakdown, questions, asked, hidden)
    )


def _failures(
    breakdown: Breakdown, questions: Sequence[SuiteQuestion], asked: Sequence[PlayedQuestion], hidden: Hidden | None
) -> tuple[tuple[str, ...] | None, ...]:
    """What each wrong answer looks like."""
    if breakdown.failures is None or hidden is None:
        return ()
    calls = [
        tuple(AnsweredCall(call.tool, call.arguments) for call in one.calls if call.fault is None) for one in asked
    ]
    return tuple(map(breakdown.failures, questions, calls, hidden.truths, hidden.given))


def _rows(folder: Path) -> list[dict[str, Any]]:
    """How each question ended, as ``questions.jsonl`` has it.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        found: list[Any] = [parse_json(line) for line in read_bytes(folder, QUESTIONS, LIMIT).decode().splitlines()]
        for row in found:
            stated = row["question"] >= 1, str(row["state"]), bool(row["begun"]), int(row["actions"]), row["tags"]
            if not stated[0] or not isinstance(row["question"], int) or not isinstance(row["tags"], list):
                raise ValueError("a row has another form")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / QUESTIONS}: not a readable record of questions ({error})") from error
    return found


def _asked(
    row: Mapping[str, Any],
    actions: Mapping[int, Sequence[object]],
    question: SuiteQuestion | None,
    breakdown: Breakdown,
    vault: Vault | None,
    tools: frozenset[str] | None = None,
) -> PlayedQuestion:
    """A question from its row and its actions; ``tools`` are those of its task, where that is known."""
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
    # An attempt states what the one before it came to, and the answer what the last one did.
    attempts = tuple(
        action["before"]
        for action in actions.get(number - 1, ())
        if isinstance(action, dict) and "before" in action and action.get("attempt") != 1
    )
    return PlayedQuestion(number, state, begun, taken, tags, tuple(calls), attempts)


def _samples(asked: Sequence[PlayedQuestion], form: AnswerForm) -> Numbers | None:
    """The answers of the attempts at every question; None where they were not all attempted as often, or once."""
    counts = {len(one.attempts) for one in asked}
    if len(counts) != 1 or counts == {0}:
        return None
    found = np.zeros((counts.pop(), len(asked), len(form.labels)))
    for place, one in enumerate(asked):
        for number, answer in enumerate(one.attempts):
            # An answer that cannot be read counts as none.
            with contextlib.suppress(UnreadableAnswerError):
                found[number, place] = 0.0 if answer is None else form.read(answer)
    return found


def _vault(suite: Suite, snapshot: str) -> Vault | None:
    """The vault that tools answered from, where it is on this machine."""
    try:
        return suite.vault(snapshot)
    except OpenFinGymError:
        return None


def _untold(folder: Path) -> str:
    """Why scores of parts of a run may not be told; empty where they may."""
    try:
        checked = check_run(folder)
    except (ReceiptError, StoreError):
        return "no receipt proves what is in its folder"
    if not checked.key_pinned:
        return "its receipt is of a verifier that this machine has not met"
    told = checked.verified.get("policy") == "local" and checked.verified.get("disclosure") == "full"
    return "" if told else "its verifier rations what it tells of them"


def _hidden(result: RolloutResult, package: BuiltPackage, places: Sequence[int]) -> tuple[Hidden | None, str]:
    """The true and the given answers to some questions, by their places in the private fold.

    A folder may be anybody's: the scores of what is in it are, to the last digit, those that its result states.
    """
    assert result.path is not None
    folder = result.path / "submissions"
    try:
        kept = sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))
        outcomes = read_array(folder, kept[-1].name, LIMIT)
    except (OSError, ValueError, IndexError):
        return None, "their answers are not in its folder"
    manifest = package.manifest
    if outcomes.shape != tuple(manifest.submission_shape) or not np.isfinite(outcomes).all():
        return None, "the answers in its folder are of another form"
    rows = manifest.n_public + np.asarray(places)
    truths = np.asarray(package.read_truth()["targets"], dtype=np.float64)
    found = Hidden(truths[rows], np.asarray(outcomes, dtype=np.float64)[rows, 1:])
    scored = {name: metric_of(name, found) for name in result.metrics}
    if not scored or any(abs(value - result.metrics[name]) > SAME for name, value in scored.items()):
        return None, "the answers in its folder do not have the scores that its result states"
    return found, ""


def metric_of(name: str, hidden: Hidden) -> float:
    """A metric of the bank, of the numbers of all answers."""
    return find_metric(name).compute({"y_true": hidden.truths, "y_pred": hidden.given})
