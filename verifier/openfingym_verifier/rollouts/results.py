"""The result of a rollout, from its last accepted submission or its episodes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.results.result import INTERVALS
from openfingym_verifier.clock import utc
from openfingym_verifier.disclosure.past_showings import ShownBefore

if TYPE_CHECKING:
    from openfingym.metrics import Score
    from openfingym.metrics.sampling_error import SamplingError
    from openfingym.results import State
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask


NOT_SHOWN = ShownBefore()
"""Of a rollout whose party was shown nothing of it before."""


@dataclass(frozen=True)
class ComparedScore:
    """A private score beside the baseline's, and its sampling error."""

    score: Score
    relative: float
    """The relative total: lower is better, 1 is the baseline."""
    error: SamplingError


def compare_with_baseline(task: HiddenTask, score: Score, baseline: Score) -> ComparedScore:
    """Set a private score in relation to the private score of the task's baseline; both with their replicates."""
    return ComparedScore(score, task.relative_total(score, baseline), task.sampling_error(score, baseline))


def final_result(
    rollout: Rollout,
    outcome: ComparedScore | str | tuple[State, str],
    baseline: Score | None,
    flags: list[str],
    now_ns: int,
    session: dict[str, object] | None = None,
    questions: dict[str, object] | None = None,
    shown: ShownBefore = NOT_SHOWN,
) -> dict[str, object]:
    """The result document without ``log_head``.

    Args:
        rollout: the rollout that is finalized.
        outcome: the score of the rollout's last accepted submission or its episodes, beside the baseline's; the reason
            why the rollout is rejected; or another state, and the reason.
        baseline: private score of the task's baseline; None where there is none yet.
        flags: flags raised by the rollout's submissions; see :mod:`openfingym_verifier.disclosure.watch`.
        now_ns: Unix time in nanoseconds at which the rollout ended.
        session: what is to be said of the rollout's live session; None where it had none.
        questions: what is to be said of the questions that the rollout was asked in the place of the package's; None
            where it had the package's.
        shown: what the rollout's party had been shown of its hidden data before.

    Raises:
        Problem: ``task-unavailable``: the task was rebuilt or removed since the rollout began.
    """
    task = rollout.hidden_task()
    return {
        "rollout_id": rollout.id,
        "task": task.name,
        "task_digest": rollout.row.task_digest,
        "data_kind": task.manifest.data_kind if questions is None or questions["simulated"] else "real",
        "tape": rollout.row.tape,
        "split": rollout.row.split,
        "instance": rollout.row.instance,
        "agent": rollout.row.agent,
        "agent_digest": rollout.row.agent_digest,
        "shown_before": shown.shown_before,
        "replayed": shown.replayed,
        "seed": rollout.row.seed,
        **(scored_fields(outcome) if isinstance(outcome, ComparedScore) else _unscored(outcome)),
        # Results on instances are compared with nothing, and a training run has thousands of them.
        **({} if rollout.row.split == "test" else {"relative_sample": None}),
        "baseline": task.spec.scoring.baseline,
        "baseline_total": None if baseline is None else baseline.total,
        "baseline_metrics": {} if baseline is None else baseline.metrics,
        "submissions_accepted": rollout.accepted,
        "submissions_rejected": rollout.rejected,
        "budget": rollout.row.budget,
        "flags": flags,
        "principal": rollout.row.principal,
        "season": rollout.row.season,
        "policy": rollout.row.policy,
        "disclosure": "full",
        **({} if session is None else {"session": session}),
        **({} if questions is None else {"questions": questions}),
        **({} if rollout.row.question_range is None else {"questions": rollout.row.question_range}),
        # With it nobody can try out which labels would give the digest that the log shows.
        "salt": secrets.token_hex(16),
        "created_at": utc(rollout.row.created_ns),
        "finalized_at": utc(now_ns),
    }


def nothing_accepted(rollout: Rollout) -> str:
    """The reason why a rollout without an accepted submission, or without a private episode, has no score."""
    last = f"; the last refusal was {rollout.last_refusal}" if rollout.last_refusal else ""
    if rollout.hidden_task().walk is not None:
        return f"no window of the private fold was asked for ({rollout.rejected} answers refused{last})"
    if rollout.hidden_task().sequential:
        return f"no private episode was begun ({rollout.rejected} actions refused{last})"
    return f"no submission was accepted ({rollout.rejected} refused{last})"


def scored_fields(compared: ComparedScore) -> dict[str, object]:
    """What a result says of a score."""
    error = compared.error
    return {
        "state": "scored",
        "reason": None,
        "total": compared.score.total,
        "relative_total": compared.relative,
        "metrics": compared.score.metrics,
        "relative_interval": error.relative_interval,
        "relative_standard_error": error.relative_standard_error,
        "relative_sample": None if error.relative_sample is None else error.relative_sample.to_dict(),
        "total_interval": error.total_interval,
        "total_standard_error": error.total_standard_error,
        "standard_errors": error.standard_errors,
    }


def _unscored(outcome: str | tuple[State, str]) -> dict[str, object]:
    """What a result says where there is no score: every figure is there, and null."""
    state, reason = ("rejected", outcome) if isinstance(outcome, str) else outcome
    figures = ("total", "relative_total", "relative_standard_error", "relative_sample", "total_standard_error")
    nothing = dict.fromkeys((*figures, *INTERVALS))
    return {"state": state, "reason": reason, **nothing, "metrics": {}, "standard_errors": {}}
