"""Stage ``prove``: a package is checked, attacked and run; what it stood is kept with the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openfingym.checks.check import check_task
from openfingym.errors import TaskError
from openfingym.forge.assembly.stage import FOLDER
from openfingym.forge.proving.probes import contamination, probes, reason_of
from openfingym.forge.proving.trials import trials
from openfingym.forge.stage import CandidateTask, RejectionReason, StageResult
from openfingym.packages.build import build
from openfingym.task import Task

if TYPE_CHECKING:
    from openfingym.forge.stage import StageState

OURS = "machinery"
"""Code of what failed by our fault, and is tried again."""


class ProveStage:
    """Proves the package in ``task/``; installs nothing."""

    name = "prove"

    def __init__(self, backend: str = "inline") -> None:
        """With a backend for the programs of the trials, which are the library's own."""
        self.backend = backend

    def run(self, candidate: CandidateTask) -> StageResult:
        """Check, attack and run the package; the first of these that it does not stand ends it."""
        try:
            task = Task.read(candidate.folder / FOLDER)
        except TaskError as error:
            return _ended([RejectionReason(OURS, f"the assembled task cannot be read: {error}")], {})
        return prove(task, self.backend)


def prove(task: Task, backend: str = "inline") -> StageResult:
    """What a task stands: ``task check`` with answers without skill, attacks, and runs through gate and verifier.

    Args:
        task: the task, by its folder.
        backend: how programs are isolated.

    Raises:
        BackendUnavailableError: no such backend works here.
    """
    report = check_task(task, adversarial=True)
    facts: dict[str, object] = {"checks": {one.name: one.detail for one in report.findings}}
    failed = [reason_of(one) for one in report.findings if not one.passed]
    if failed:
        return _ended(failed, facts)
    package = build(task)
    hidden = package.read_truth()
    found = list(probes(task, package, hidden))
    if found:
        return _ended(found, facts)
    ran = trials(package, hidden, backend)
    facts |= {"trials": ran.to_dict(), "digest": package.manifest.digest, "contamination": contamination(package)}
    return _ended(ran.reasons, facts)


def _ended(reasons: Sequence[RejectionReason], facts: Mapping[str, object]) -> StageResult:
    state: StageState = "passed"
    if reasons:
        state = "failed" if any(one.code == OURS for one in reasons) else "refused"
    return StageResult("prove", state, tuple(reasons), facts=facts)
