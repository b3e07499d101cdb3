"""A rollout in memory, and its status documents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.clock import utc
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.events import Rejected

if TYPE_CHECKING:
    from openfingym.results.result import Disclosure
    from openfingym_verifier.episodes.play import EpisodeProgress
    from openfingym_verifier.ledger.rows import RolloutRow, SubmissionRow
    from openfingym_verifier.scoring.truth import HiddenTask


@dataclass
class Rollout:
    """A rollout's state, as the ledger holds it and beside it. Changed on the event loop's thread only."""

    row: RolloutRow
    """The row as it was when loaded, but for its expiry; the fields below are current."""
    task: HiddenTask | None
    """The task on its given tape, which an instance is cut from; None where this verifier does not hold it as it was
    when the rollout began."""
    bucket: Bucket
    """State of the rate limit on the rollout's requests."""
    feedback: list[dict[str, object] | None]
    """One entry for each accepted submission; None for one without feedback yet, and for the outcomes of episodes."""
    by_key: dict[str, tuple[str, int]]
    """Idempotency key to digest of the body and number of the submission."""
    accepted: int
    """Submissions accepted so far, or private episodes begun."""
    rejected: int
    """Submissions or actions refused so far."""
    last_refusal: str | None
    """``slug: detail`` of the latest refusal."""
    result: dict[str, object] | None
    """The result as it was computed, the final one of a deferred rollout once there is one; None before the end."""
    disclosure: Disclosure
    """How much of the result its principal is told."""
    progress: EpisodeProgress | None = None
    """Episodes of a sequential task that have been played; None where they have to be read from the ledger."""
    writing: list[asyncio.Future[object]] = field(default_factory=list)
    """Writes of steps that were answered before they are on the disk."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever changes the rollout: submissions, steps and the end come one after the other."""

    @classmethod
    def restore(cls, row: RolloutRow, submissions: list[SubmissionRow], task: HiddenTask | None) -> Rollout:
        """A rollout as the ledger remembers it.

        Args:
            row: the rollout's row in the ledger.
            submissions: its accepted submissions, in order.
            task: the task of that name, as this verifier holds it; None where it holds none.
        """
        # A rollout must not go on over other labels than those it began with. An instance is compared with its digest
        # when it is built.
        if task is not None and row.split == "test" and task.manifest.digest != row.task_digest:
            task = None
        keys = {s.idempotency_key: (s.body_digest or "", s.n) for s in submissions if s.idempotency_key is not None}
        feedback = [s.feedback for s in submissions]
        return cls(
            row,
            task,
            row.bucket,
            feedback,
            keys,
            row.accepted,
            row.rejected,
            row.last_refusal,
            # The final result takes the place of the deferred one.
            row.settled or row.result,
            row.disclosure,
        )

    @property
    def id(self) -> str:
        """Id of the rollout, which is a part of its token."""
        return self.row.id

    @property
    def remaining(self) -> int:
        """Submissions that may still be accepted, or private episodes not yet begun."""
        return self.row.budget - self.accepted

    def hidden_task(self) -> HiddenTask:
        """The task of the rollout, with its hidden data.

        Raises:
            Problem: ``task-unavailable``: the task was rebuilt or removed since the rollout began.
        """
        if self.task is None:
            raise Problem(
                "task-unavailable", "The task was rebuilt or removed since this rollout began; create a new rollout."
            )
        return self.task

    def require_open(self) -> None:
        """Check that the rollout still takes submissions.

        Raises:
            Problem: ``rollout-finished``: the rollout has a result.
        """
        if self.result is not None:
            raise Problem(
                "rollout-finished", "The rollout has its final result; nothing is taken any more.", close=True
            )

    def require_unexpired(self, now_ns: int) -> None:
        """Check that the rollout's token is still valid, since it may expire while a body or a turn is waited for.

        Raises:
            Problem: ``unauthorized``: the token has expired.
        """
        if now_ns >= self.row.expires_ns:
            raise Problem("unauthorized", "The token has expired; create a new rollout.", close=True)

    def require_budget(self) -> None:
        """Check that another submission may be accepted.

        Raises:
            Problem: ``budget-exhausted``: no submission is left.
        """
        if self.remaining <= 0:
            raise Problem(
                "budget-exhausted", f"All {self.row.budget} submissions of this rollout have been accepted.", close=True
            )

    def take_token(self, now_ns: int, what: str = "submissions") -> None:
        """Take one token of the rate limit, for a submission or a refused action.

        Args:
            now_ns: present Unix time in nanoseconds.
            what: name of what is limited, for the message.

        Raises:
            Problem: ``rate-limited``: there is none yet; ``retry_after_s`` says when there will be.
        """
        rules = self.hidden_task().spec.verification
        self.bucket, wait_s = take(self.bucket, Rate(rules.requests_per_minute / 60.0, rules.burst), now_ns)
        if wait_s > 0.0:
            detail = (
                f"At most {rules.requests_per_minute:g} {what} a minute after a burst of {rules.burst}; wait "
                f"{wait_s:.1f} s."
            )
            raise Problem("rate-limited", detail, retry_after_s=wait_s, close=True)

    def refused(self, problem: Problem, now_ns: int) -> Rejected:
        """Count a refusal, and return the event to write about it."""
        self.rejected += 1
        self.last_refusal = f"{problem.slug}: {problem.detail}"
        return Rejected(self.id, now_ns, problem.slug, problem.detail, self.bucket)

    def agent_status(self) -> dict[str, object]:
        """The status that the agent may know: nothing of the private fold."""
        return {
            "state": "open" if self.result is None else "finished",
            "budget": self.row.budget,
            "remaining": self.remaining,
            "submissions": [{"submission": n, "feedback": feedback} for n, feedback in enumerate(self.feedback, 1)],
            "expires_at": utc(self.row.expires_ns),
        }

    def owner_status(self, now_ns: int, *, operator: bool) -> dict[str, object]:
        """The status that the operator, or the participant who owns the rollout, may know.

        Args:
            now_ns: present Unix time in nanoseconds.
            operator: whether the operator asks, who may know how a result ended that is held.
        """
        state = "expired" if now_ns >= self.row.expires_ns else "open"
        if self.result is not None:
            state = "held" if self.disclosure == "held" and not operator else str(self.result["state"])
        return {
            **self.agent_status(),
            "rollout_id": self.id,
            "task": self.row.task,
            "task_digest": self.row.task_digest,
            "principal": self.row.principal,
            "season": self.row.season,
            "agent": self.row.agent,
            "seed": self.row.seed,
            "tape": self.row.tape,
            "split": self.row.split,
            "instance": self.row.instance,
            "questions": self.row.question_range,
            "state": state,
            "submissions_accepted": self.accepted,
            "submissions_rejected": self.rejected,
            "last_refusal": self.last_refusal,
            "created_at": utc(self.row.created_ns),
            "finalized_at": None if self.result is None else self.result["finalized_at"],
        }
