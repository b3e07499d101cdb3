"""Documents that a verifier answers with, for the verifier that writes them and the client that reads them.

Fields that a verifier of an earlier version leaves out have defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from openfingym.results import Disclosure, PolicyName, SplitName, TapeKind
from openfingym.task import DataKind


@dataclass(frozen=True)
class RolloutTicket:
    """A new rollout and its token."""

    rollout_id: str
    task: str
    task_digest: str
    token: str
    """Bearer token of the rollout; goes to the gate, never into the sandbox."""
    expires_at: str
    """ISO 8601, UTC."""
    budget: int
    """Submissions that may be accepted, or private episodes that may be played."""
    tape: TapeKind = "given"
    """Which hidden data the rollout has; see :mod:`openfingym.packages.tapes`."""
    split: SplitName = "test"
    """Whether it is on the task as it is, or on an instance; see :mod:`openfingym.instances`."""
    instance: int | None = None
    """Which instance of the split."""
    questions: str | None = None
    """Which of its task's questions it is asked, such as ``1-10``; None for all, and where there are none."""
    begun: int = 0
    """Private episodes that were begun before this token was made; all of them, where the rollout has its result."""


@dataclass(frozen=True)
class SubmissionFeedback:
    """The answer to an accepted submission: losses of the public fold, lower is better."""

    submission: int
    """Number of the submission, from 1."""
    total: float | None
    """Clipped and rounded; None where feedback is withheld, since enough was told about this task."""
    metrics: dict[str, float]
    """Each loss by name, clipped and rounded; empty where feedback is withheld."""
    remaining: int
    """Submissions that may still be accepted."""


@dataclass(frozen=True)
class PublicFeedback:
    """Public-fold metrics, each in its own direction, and the total loss, clipped and rounded."""

    total: float | None
    """None, with no metrics, where the participant has had all the feedback that a season allows."""
    metrics: dict[str, float]


@dataclass(frozen=True)
class PastSubmission:
    """An accepted submission and its feedback so far."""

    submission: int
    feedback: PublicFeedback | None
    """None for the moment between accepting and scoring after a crash."""


@dataclass(frozen=True)
class RolloutStatus:
    """The state of a rollout, as the operator sees it."""

    rollout_id: str
    task: str
    task_digest: str
    agent: str | None
    seed: int | None
    state: Literal["open", "expired", "scored", "rejected", "deferred", "void"]
    budget: int
    remaining: int
    submissions: tuple[PastSubmission, ...]
    submissions_accepted: int
    submissions_rejected: int
    last_refusal: str | None
    """``slug: detail`` of the latest refused submission."""
    created_at: str
    expires_at: str
    finalized_at: str | None
    tape: TapeKind = "given"
    principal: str = ""
    """Whose rollout it is: ``local``, ``operator``, or a participant's name."""
    season: str = ""
    """Season in which it was begun."""
    split: SplitName = "test"
    instance: int | None = None
    questions: str | None = None
    """Which of its task's questions it is asked, such as ``1-10``."""


@dataclass(frozen=True)
class VerifiedResult:
    """A rollout's final result, from the private fold."""

    rollout_id: str
    task: str
    task_digest: str
    data_kind: DataKind
    state: Literal["scored", "rejected", "held", "deferred", "void"]
    """``held``: scored, and not told before the season is closed. ``deferred``: what was asked is not resolved yet;
    ``void``: too little of it ever was."""
    reason: str | None
    """Why it was rejected, or is held."""
    total: float | None
    """The source paper's weighted loss; lower is better."""
    relative_total: float | None
    """Geometric mean of each metric's loss relative to the baseline's; lower is better, 1 is the baseline."""
    metrics: dict[str, float]
    """Each metric, in its own direction."""
    baseline: str
    """Name of the baseline."""
    baseline_total: float | None
    """Total of the baseline on the same fold; None where there is none, or not yet."""
    baseline_metrics: dict[str, float]
    submissions_accepted: int
    """Number of accepted submissions; of a sequential task, private episodes begun."""
    submissions_rejected: int
    """Number of refused submissions; of a sequential task, actions refused."""
    budget: int
    flags: tuple[str, ...]
    """``probing`` where the submissions look like an attempt to read the labels."""
    policy: PolicyName
    """What its principal is told about the hidden data, over all of its rollouts."""
    season: str
    disclosure: Disclosure
    """How much of the result this is."""
    log_head: str
    """Hash of the log's row of this result."""
    created_at: str
    finalized_at: str
    relative_interval: tuple[float, float] | None = None
    """95 % interval of the relative total; None where nothing can be said."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of the total; None where nothing can be said."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard error of each metric, in its unit; without those of which nothing can be said."""
    tape: TapeKind = "given"
    """Which hidden data it was scored on, as was the baseline; see :mod:`openfingym.packages.tapes`."""
    split: SplitName = "test"
    """Whether it was on the task as it is; a result of another split is of an instance, and no score."""
    instance: int | None = None
    """Which instance of the split."""
    session: dict[str, str | int | bool | None] | None = None
    """What there is to say of the live session that its private episode was: its venue, whether that is simulated, its
    seconds, bars with missing trades, and the SHA-256 of its tape; None where it had none."""
    questions: dict[str, str | int | bool] | str | None = None
    """What there is to say of the questions that were asked in the place of the package's private ones: their clock,
    how many there are, are scored, void and open. A text such as ``1-10``: which of the package's own it was asked, on
    which it and the baseline were scored. None where it had all of these."""
    relative_standard_error: float | None = None
    """Standard error of the logarithm of the relative total, paired with the baseline."""
    total_standard_error: float | None = None
    principal: str = ""
    """Whose rollout it is: ``local``, ``operator``, or a participant's name."""
    salt: str | None = None
    """Salt of the digest in the log of what is told; None where the result is held."""
    agent: str | None = None
    """Name of the agent, as whoever began the rollout stated it."""
    seed: int | None = None
    """Seed, as whoever began the rollout stated it."""


@dataclass(frozen=True)
class Participant:
    """Somebody who was given a key to a verifier."""

    name: str
    created_at: str
    """ISO 8601, UTC."""
    revoked_at: str | None


@dataclass(frozen=True)
class Season:
    """A time over which a verifier adds up what participants are told."""

    name: str
    opened_at: str
    """ISO 8601, UTC."""
    closed_at: str | None


@dataclass(frozen=True)
class LogRow:
    """A row of the verifier's hash-chained log."""

    seq: int
    entry: dict[str, object]
    prev_hash: str
    hash: str


@dataclass(frozen=True)
class ReceiptLeaf:
    """An entry of the log in a receipt; see :mod:`openfingym.receipts.receipt`."""

    index: int
    entry: str
    proof: list[str]


@dataclass(frozen=True)
class ReceiptDocument:
    """A receipt; see :mod:`openfingym.receipts.receipt`."""

    format: int
    key: str
    checkpoint: str
    leaves: list[ReceiptLeaf]


@dataclass(frozen=True)
class HeldTask:
    """A task that a verifier holds."""

    name: str
    version: str
    digest: str
    data_kind: DataKind
    submission_shape: tuple[int, ...]
    budget: int
    baseline: str
    baseline_total: float | None
    """None while nobody has needed it: where scoring is heavy, it takes seconds."""


@dataclass(frozen=True)
class Load:
    """The load of a verifier."""

    open_rollouts: int
    """Rollouts without a result, those that nobody will end among them."""
    queued_writes: int
    """Writes of its ledger that wait for the disk."""
