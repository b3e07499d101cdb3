"""Certifying that a rollout's lookups saw nothing of the future, by repeating them on a truncated vault.

The verifier's record of a rollout has every call of a tool. Each call is made twice again: on the vault as of the time
of its question, and on a copy that holds nothing that became known later. If no answer differs, nothing that the agent
was shown can be from after its question's time.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import catalog
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.kinds.qa_contract import QaContract
from openfingym.packages.build import build
from openfingym.reports.trading.replay import read_actions
from openfingym.results.run_folder import RESULT
from openfingym.suites.suite import SuiteQuestion
from openfingym.vault.truncated import Truncations
from openfingym.verifiers.backing import read_sound_run

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class Difference:
    """A call that has another answer without later knowledge."""

    question: str
    """Id of the question in which the call was made."""
    tool: str
    """Name of the tool."""
    arguments: str
    """Arguments of the call, shortened."""


@dataclass(frozen=True)
class Certificate:
    """The result of repeating the lookups of one rollout."""

    rollout: str
    """Id of the rollout."""
    task: str
    """Name of its task."""
    snapshot: str
    """The snapshot of the vault that its tools looked things up in."""
    questions: int
    """How many questions a tool was called in."""
    calls: int
    """How many calls were repeated."""
    differences: tuple[Difference, ...]
    """The calls that have another answer without later knowledge."""
    hindsight: bool = False
    """Whether its tools ignored when things became known, as an experiment: then nothing was repeated, and nothing is
    certified."""

    @property
    def holds(self) -> bool:
        """Whether every call was repeated with the same answer."""
        return not self.differences and not self.hindsight

    def to_dict(self) -> dict[str, object]:
        """The certificate as JSON."""
        return {
            "rollout": self.rollout,
            "task": self.task,
            "snapshot": self.snapshot,
            "questions": self.questions,
            "calls": self.calls,
            "hindsight": self.hindsight,
            "same": self.holds,
            "differences": [vars(difference) for difference in self.differences],
        }


def certify(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Certificate:
    """Repeat the lookups of a rollout.

    Args:
        folder: folder of the rollout.
        progress: receives a line of text before each step.

    Raises:
        UsageError: the task of the rollout has no tools, or has another build than the one that was run.
        StoreError: the folder is not a run, or its record cannot be read.
        DataError: the vault is not on this machine.
    """
    result = read_sound_run(folder)
    package = _package_of(result)
    contract = package.task.spec.contract
    assert isinstance(contract, QaContract)
    suite, options, snapshot = contract.asked_by, contract.chosen, str(package.array("snapshot")[0])
    if contract.hindsight:
        return Certificate(result.rollout_id, result.task, snapshot, 0, 0, (), hindsight=True)
    vault = suite.vault(snapshot)
    if vault is None:
        raise UsageError(f"the suite {suite.name!r} has no vault, so that there is nothing to repeat its lookups on")
    # A rollout is scored on the private questions, which come after the public ones.
    texts = package.array("test_questions")[package.manifest.n_public :]
    asked: dict[str, list[tuple[SuiteQuestion, list[dict[str, object]]]]] = defaultdict(list)
    recorded = read_actions(folder)
    if len(recorded) != result.submissions_accepted or not all(0 <= number < len(texts) for number in recorded):
        raise StoreError(
            f"{folder}: the record of actions is of {len(recorded)} questions, expected one of each of the "
            f"{result.submissions_accepted} that the verifier closed; it is damaged, or was edited"
        )
    for number, actions in recorded.items():
        question = SuiteQuestion.from_json(str(texts[number]))
        calls = [action for action in actions if isinstance(action, dict) and "tool" in action]
        if not all(isinstance(call.get("arguments", {}), dict) for call in calls):
            raise StoreError(f"{folder}: a call of question {question.id} has arguments that are no JSON object")
        if calls:
            asked[question.as_of].append((question, calls))
    differences, count = [], 0
    # Questions of one time share a copy. Each copy is deleted before the next: it may be as large as the vault.
    with tempfile.TemporaryDirectory(prefix="ofg-truncated-") as scratch, Truncations(vault, scratch) as copies:
        for place, (time, questions) in enumerate(sorted(asked.items()), 1):
            progress(f"{place}/{len(asked)}: {len(questions)} questions as of {time}")
            with tempfile.TemporaryDirectory(dir=scratch) as copy:
                truncated = copies.at(time, Path(copy) / "vault")
                for question, calls in questions:
                    whole, early = (suite.lookup(source, question, options) for source in (vault, truncated))
                    for call in calls:
                        name, arguments = str(call["tool"]), call.get("arguments", {})
                        assert isinstance(arguments, dict)  # checked above
                        count += 1
                        if whole(name, arguments) != early(name, arguments):
                            differences.append(Difference(question.id, name, str(arguments)[:500]))
    questions_with_calls = sum(map(len, asked.values()))
    return Certificate(result.rollout_id, result.task, snapshot, questions_with_calls, count, tuple(differences))


def rollouts_in(run: Path) -> list[Path]:
    """The folders of the rollouts of a run; of a single rollout, the folder itself.

    Raises:
        UsageError: there is no rollout in the folder.
    """
    if (run / RESULT).is_file():
        return [run]
    # A run of several tasks has a folder for each.
    folders = sorted(path.parent for depth in ("*", "*/*") for path in run.glob(f"{depth}/{RESULT}"))
    if not folders:
        raise UsageError(f"{run}: no rollout is in this folder; name one of a run, or that of a whole run")
    return folders


def _package_of(result: RolloutResult) -> BuiltPackage:
    """The package of a rollout's task, built here; it must be the one that was run.

    Raises:
        UsageError: it is not, or the lookups were on other data than the package's.
    """
    if result.tape != "given":
        raise UsageError(
            f"run {result.rollout_id} was on {result.tape} hidden data, which nobody keeps; only lookups on the "
            "package's own can be repeated"
        )
    task = catalog.load_task(result.task)
    if not isinstance(task.spec.contract, QaContract):
        raise UsageError(f"{result.task!r} has no tools that look things up; certify a run of questions with tools")
    try:
        package = build(task)
    except OpenFinGymError as error:
        raise UsageError(f"{result.task!r} cannot be built here: {error}") from error
    if package.manifest.digest != result.task_digest:
        raise UsageError(
            f"run {result.rollout_id} was made with another build of {result.task!r} ({result.task_digest[:16]}) than "
            "there is here; use the version of openfingym, and the vault, that made it"
        )
    return package
