"""From a rollout's last accepted submission to its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import VerifierError
from openfingym_verifier.probing import looks_like_probing
from openfingym_verifier.rollout import utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.rollout import Rollout
    from openfingym_verifier.truth import HiddenTask


def final_result(rollout: Rollout, ledger: Ledger, now_ns: int) -> dict[str, object]:
    """Score the private fold. A pure function of what the ledger holds, ``now_ns`` aside.

    Returns:
        The result document without ``log_head``.

    Raises:
        Problem: ``task-unavailable``.
        VerifierError: the ledger lost the submission.
    """
    task = rollout.hidden_task()
    scored: dict[str, object]
    flags: list[str] = []
    if rollout.accepted == 0:
        last = f"; the last refusal was {rollout.last_refusal}" if rollout.last_refusal else ""
        reason = f"no submission was accepted ({rollout.rejected} refused{last})"
        scored = {"state": "rejected", "reason": reason, "total": None, "metrics": {}}
    else:
        payload = ledger.payload(rollout.id, rollout.accepted)
        if payload is None:
            raise VerifierError(f"rollout {rollout.id}: submission {rollout.accepted} is missing from the ledger")
        score = task.private_score(_values(payload, task))
        scored = {"state": "scored", "reason": None, "total": score.total, "metrics": score.metrics}
        if rollout.accepted > 2 and looks_like_probing(_public_folds(rollout, ledger, task)):
            flags.append("probing")
    return {
        "rollout_id": rollout.id,
        "task": task.name,
        "task_digest": task.manifest.digest,
        "data_kind": task.manifest.data_kind,
        **scored,
        "naive_total": task.naive_total,
        "submissions_accepted": rollout.accepted,
        "submissions_rejected": rollout.rejected,
        "budget": rollout.row.budget,
        "flags": flags,
        "created_at": utc(rollout.row.created_ns),
        "finalized_at": utc(now_ns),
    }


def _public_folds(rollout: Rollout, ledger: Ledger, task: HiddenTask) -> Iterator[NDArray[np.float64]]:
    for payload in ledger.payloads(rollout.id):
        yield _values(payload, task)[: task.manifest.n_public]


def _values(payload: bytes, task: HiddenTask) -> NDArray[np.float64]:
    return np.frombuffer(payload, "<f8").reshape(task.shape)
