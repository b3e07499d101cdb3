"""From a rollout's last accepted submission, or its episodes, to its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym_verifier.probing import compared_values, looks_like_probing
from openfingym_verifier.rollout import utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.rollout import Rollout
    from openfingym_verifier.truth import HiddenTask


def final_result(rollout: Rollout, outcome: Score | str, baseline: Score, flags: list[str], now_ns: int) -> dict[str, object]:
    """The result document without ``log_head``.

    Args:
        rollout: the rollout.
        outcome: private score of its last accepted submission or of its episodes, or why there is none.
        baseline: private score of the task's baseline.
        flags: what its submissions look like; see :func:`flags_of`.
        now_ns: Unix time of the end.

    Raises:
        Problem: ``task-unavailable``.
    """
    task = rollout.hidden_task()
    return {
        "rollout_id": rollout.id,
        "task": task.name,
        "task_digest": task.manifest.digest,
        "data_kind": task.manifest.data_kind,
        **(_rejected(outcome) if isinstance(outcome, str) else _scored(task, outcome, baseline)),
        "baseline": task.spec.scoring.baseline,
        "baseline_total": baseline.total,
        "baseline_metrics": baseline.metrics,
        "submissions_accepted": rollout.accepted,
        "submissions_rejected": rollout.rejected,
        "budget": rollout.row.budget,
        "flags": flags,
        "created_at": utc(rollout.row.created_ns),
        "finalized_at": utc(now_ns),
    }


def nothing_accepted(rollout: Rollout) -> str:
    """Why a rollout without an accepted submission, or without a private episode, has no score."""
    last = f"; the last refusal was {rollout.last_refusal}" if rollout.last_refusal else ""
    if rollout.hidden_task().sequential:
        return f"no private episode was begun ({rollout.rejected} actions refused{last})"
    return f"no submission was accepted ({rollout.rejected} refused{last})"


def flags_of(rollout: Rollout, ledger: Ledger) -> list[str]:
    """What the series of accepted submissions looks like: ``probing``, or nothing in particular."""
    task = rollout.hidden_task()
    probing = not task.sequential and rollout.accepted > 2 and looks_like_probing(_compared(rollout, ledger, task))
    return ["probing"] if probing else []


def stored_values(payload: bytes, task: HiddenTask) -> NDArray[np.float64]:
    """The values of a submission as the ledger keeps them."""
    return np.frombuffer(payload, "<f8").reshape(task.shape)


def _scored(task: HiddenTask, score: Score, baseline: Score) -> dict[str, object]:
    error = task.sampling_error(score, baseline)
    return {
        "state": "scored",
        "reason": None,
        "total": score.total,
        "relative_total": task.relative_total(score, baseline),
        "metrics": score.metrics,
        "relative_interval": error.relative_interval,
        "total_interval": error.total_interval,
        "standard_errors": error.standard_errors,
    }


def _rejected(reason: str) -> dict[str, object]:
    intervals: dict[str, object] = {"relative_interval": None, "total_interval": None, "standard_errors": {}}
    return {"state": "rejected", "reason": reason, "total": None, "relative_total": None, "metrics": {}, **intervals}


def _compared(rollout: Rollout, ledger: Ledger, task: HiddenTask) -> Iterator[NDArray[np.float64]]:
    for payload in ledger.payloads(rollout.id):
        values = compared_values(task.spec.contract, stored_values(payload, task)[task.grader.public.rows])
        if values is not None:
            yield values
