"""Stage ``prove``: a task is checked, attacked and run; what came of it is written down with the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openfingym.checks.check import check_task
from openfingym.errors import TaskError
from openfingym.packages.build import build
from openfingym.task import Task
from openfingym_forge.assembly.stage import FOLDER
from openfingym_forge.proving.probes import contamination, probes, reason_of
from openfingym_forge.proving.trials import trials
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult

if TYPE_CHECKING:
    from openfingym_forge.stage import StageState

OURS = "machinery"
"""Code of what failed through no fault of the paper, and is tried again."""


class ProveStage:
    """Proves the package in ``task/``; installs nothing."""

    name = "prove"

    def __init__(self, backend: str = "inline") -> None:
        """A stage that proves tasks.

        Args:
            backend: how the programs of the trials are isolated, which are the library's own: ``docker``, ``sandbox``
                or ``inline``.
        """
        self.backend = backend

    def run(self, candidate: CandidateTask) -> StageResult:
        """Check, attack and run the package, up to the first of these that it does not stand."""
        try:
            task = Task.read(candidate.folder / FOLDER)
        except TaskError as error:
            return _ended([RejectionReason(OURS, f"the assembled task cannot be read: {error}")], {})
        return prove(task, self.backend)


def prove(task: Task, backend: str = "inline") -> StageResult:
    """Prove a task: ``task check`` with answers without skill, attacks, and runs through gate and verifier.

    Args:
        task: the task, as it was read from its folder.
        backend: how the programs of the runs are isolated.

    Raises:
        BackendUnavailableError: no such backend works here.
    """
    report = check_task(task, adversarial=True)
    facts: dict[str, object] = {"checks": {finding.name: finding.detail for finding in report.findings}}
    failed = [reason_of(finding) for finding in report.findings if not finding.passed]
    # The cheapest first: a task that fails its checks is neither attacked nor run.
    if failed:
        return _ended(failed, facts)
    package = build(task)
    hidden = package.read_truth()
    given_away = list(probes(task, package, hidden))
    if given_away:
        return _ended(given_away, facts)
    ran = trials(package, hidden, backend)
    facts |= {"trials": ran.to_dict(), "digest": package.manifest.digest, "contamination": contamination(package)}
    return _ended(ran.reasons, facts)


def _ended(reasons: Sequence[RejectionReason], facts: Mapping[str, object]) -> StageResult:
    state: StageState = "passed"
    # One failure of ours makes the whole proof void, since the other reasons may be of its making.
    if reasons:
        state = "failed" if any(reason.code == OURS for reason in reasons) else "refused"
    return StageResult("prove", state, tuple(reasons), facts=facts)
