"""A run's lookups, repeated on a vault from which everything later was deleted.

The verifier's record of a rollout has every call of a tool. Each is made twice again: on the vault as of its question's
time, and on a copy that holds nothing that became known later. If no answer differs, nothing that an agent was shown
can have come from behind its question's time.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import catalog
from openfingym.errors import OpenFinGymError, UsageError
from openfingym.kinds.qa_contract import QaContract
from openfingym.packages.build import build
from openfingym.reports.trading.replay import read_actions
from openfingym.results.run_folder import RESULT, read_run
from openfingym.suites.suite import SuiteQuestion
from openfingym.vault.truncated import Truncations

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class Difference:
    """A call that was answered otherwise without later knowledge."""

    question: str
    tool: str
    arguments: str


@dataclass(frozen=True)
class Certificate:
    """What came of repeating the lookups of one rollout."""

    rollout: str
    task: str
    snapshot: str
    questions: int
    """Questions in which a tool was called."""
    calls: int
    differences: tuple[Difference, ...]
    hindsight: bool = False
    """Whether its tools ignored when things became known, as an experiment: then nothing was repeated, and nothing is
    certified."""

    @property
    def holds(self) -> bool:
        """Whether every answer was the same."""
        return not self.differences and not self.hindsight

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "rollout": self.rollout,
            "task": self.task,
            "snapshot": self.snapshot,
            "questions": self.questions,
            "calls": self.calls,
            "hindsight": self.hindsight,
            "same": self.holds,
            "differences": [vars(one) for one in self.differences],
        }


def certify(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Certificate:
    """Repeat the lookups of a rollout; see the module.

    Args:
        folder: folder of the rollout.
        progress: told what is being done.

    Raises:
        UsageError: the rollout is of a task without tools, or its task was built anew since.
        StoreError: the folder is no run, or its record cannot be read.
        DataError: the vault is not on this machine.
    """
    result = read_run(folder)
    package = _package_of(result)
    contract = package.task.spec.contract
    assert isinstance(contract, QaContract)
    suite, options, snapshot = contract.asked_by, contract.chosen, str(package.array("snapshot")[0])
    if contract.hindsight:
        return Certificate(result.rollout_id, result.task, snapshot, 0, 0, (), hindsight=True)
    vault = suite.vault(snapshot)
    if vault is None:
        raise UsageError(f"the suite {suite.name!r} has no vault, so that there is nothing to repeat its lookups on")
    texts = package.array("test_questions")[package.manifest.n_public :]
    asked: dict[str, list[tuple[SuiteQuestion, list[dict[str, object]]]]] = defaultdict(list)
    for number, actions in read_actions(folder).items():
        question = SuiteQuestion.from_json(str(texts[number]))
        calls = [action for action in actions if isinstance(action, dict) and "tool" in action]
        if calls:
            asked[question.as_of].append((question, calls))
    differences, count = [], 0
    with tempfile.TemporaryDirectory(prefix="ofg-truncated-") as scratch, Truncations(vault, scratch) as copies:
        for place, (time, questions) in enumerate(sorted(asked.items()), 1):
            progress(f"{place}/{len(asked)}: {len(questions)} questions as of {time}")
            with tempfile.TemporaryDirectory(dir=scratch) as copy:
                truncated = copies.at(time, Path(copy) / "vault")
                for question, calls in questions:
                    whole, early = (suite.lookup(one, question, options) for one in (vault, truncated))
                    for call in calls:
                        name, arguments = str(call["tool"]), call.get("arguments", {})
                        assert isinstance(arguments, dict)
                        count += 1
                        if whole(name, arguments) != early(name, arguments):
                            differences.append(Difference(question.id, name, str(arguments)[:500]))
    questions_with_calls = sum(map(len, asked.values()))
    return Certificate(result.rollout_id, result.task, snapshot, questions_with_calls, count, tuple(differences))


def rollouts_in(run: Path) -> list[Path]:
    """Folders of rollouts: the folder itself if it is one, else those in it.

    Raises:
        UsageError: there is none.
    """
    if (run / RESULT).is_file():
        return [run]
    # Of a run, they are in a folder for each task.
    found = sorted(path.parent for depth in ("*", "*/*") for path in run.glob(f"{depth}/{RESULT}"))
    if not found:
        raise UsageError(f"{run}: no rollout is in this folder; name one of a run, or that of a whole run")
    return found


def _package_of(result: RolloutResult) -> BuiltPackage:
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
