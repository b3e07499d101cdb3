"""Documents that a verifier answers with, for the verifier that writes them and the client that reads them.

Fields that a verifier of an earlier version leaves out have defaults. Times are texts in ISO 8601 and UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from openfingym.results import SplitName
from openfingym.results.result import Disclosure, PolicyName, SeasonKind, TapeKind
from openfingym.task import DataKind


@dataclass(frozen=True)
class RolloutTicket:
    """A new rollout and its token."""

    rollout_id: str
    task: str
    """Name of the task."""
    task_digest: str
    """Digest of the build of the task that the verifier scores."""
    token: str
    """Bearer token of the rollout; it goes to the gate, and never into the sandbox."""
    expires_at: str
    """When the token expires."""
    budget: int
    """Number of submissions that may be accepted, or of private episodes that may be played."""
    tape: TapeKind = "given"
    """Which hidden data the rollout has; see :mod:`openfingym.packages.tapes`."""
    split: SplitName = "test"
    """Whether the rollout is on the task as it is, or on an instance; see :mod:`openfingym.instances`."""
    instance: int | None = None
    """Which instance of the split; None on the test split."""
    questions: str | None = None
    """Which of its task's questions the rollout is asked, such as ``1-10``; None for all, and where there are none."""
    begun: int = 0
    """Number of private episodes that were begun before this token was made; all of them, where the rollout has its
    result."""


@dataclass(frozen=True)
class SubmissionFeedback:
    """The answer to an accepted submission: losses on the public fold, lower is better."""

    submission: int
    """Number of the submission, from 1."""
    total: float | None
    """Total loss, clipped and rounded; None where feedback is withheld because enough was disclosed about this task."""
    metrics: dict[str, float]
    """Each loss by name, clipped and rounded; empty where feedback is withheld."""
    remaining: int
    """Number of submissions that may still be accepted."""


@dataclass(frozen=True)
class PublicFeedback:
    """Metrics on the public fold, each in its own direction, and the total loss, all clipped and rounded."""

    total: float | None
    """Total loss; None where the participant has had all the feedback that a season allows."""
    metrics: dict[str, float]
    """Each metric by name; empty where there is no total."""


@dataclass(frozen=True)
class PastSubmission:
    """An accepted submission and its feedback so far."""

    submission: int
    """Number of the submission, from 1."""
    feedback: PublicFeedback | None
    """Feedback on the submission; None between accepting and scoring, where the verifier was killed in that moment."""


@dataclass(frozen=True)
class RolloutStatus:
    """The state of a rollout, as the operator sees it."""

    rollout_id: str
    task: str
    task_digest: str
    agent: str | None
    seed: int | None
    state: Literal["open", "expired", "scored", "rejected", "held", "deferred", "void"]
    """``open`` until the rollout is ended, or ``expired`` where its token ran out before; else how it ended, or
    ``held`` where that is not told yet."""
    budget: int
    """Number of submissions that may be accepted, or of private episodes that may be played."""
    remaining: int
    """How much of the budget is left."""
    submissions: tuple[PastSubmission, ...]
    """Accepted submissions, in order."""
    submissions_accepted: int
    """Number of accepted submissions; of a sequential task, private episodes begun."""
    submissions_rejected: int
    """Number of refused submissions; of a sequential task, actions refused."""
    last_refusal: str | None
    """``slug: detail`` of the latest refused submission; None where none was refused."""
    created_at: str
    expires_at: str
    finalized_at: str | None
    """When the rollout was ended; None while it is open."""
    tape: TapeKind = "given"
    """Which hidden data the rollout has; see :mod:`openfingym.packages.tapes`."""
    principal: str = ""
    """Whose rollout it is: ``local``, ``operator``, or a participant's name."""
    season: str = ""
    """Season in which the rollout was begun."""
    split: SplitName = "test"
    """Whether the rollout is on the task as it is, or on an instance."""
    instance: int | None = None
    """Which instance of the split; None on the test split."""
    questions: str | None = None
    """Which of its task's questions the rollout is asked, such as ``1-10``; None for all, and where there are none."""


@dataclass(frozen=True)
class VerifiedResult:
    """A rollout's final result, from the private fold."""

    rollout_id: str
    task: str
    task_digest: str
    data_kind: DataKind
    state: Literal["scored", "rejected", "held", "deferred", "void"]
    """``held``: scored, but the score is not disclosed before the season is closed. ``deferred``: what was asked is not
    resolved yet. ``void``: too little of what was asked was ever resolved."""
    reason: str | None
    """Why the rollout was rejected, or is held; None where it was scored."""
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
    """Each metric of the baseline on the same fold."""
    submissions_accepted: int
    """Number of accepted submissions; of a sequential task, private episodes begun."""
    submissions_rejected: int
    """Number of refused submissions; of a sequential task, actions refused."""
    budget: int
    """Number of submissions that could be accepted, or of private episodes that could be played."""
    flags: tuple[str, ...]
    """``probing`` where the submissions look like an attempt to read the labels."""
    policy: PolicyName
    """How much is disclosed of the hidden data to the rollout's principal, over all of its rollouts."""
    season: str
    """Season in which the rollout was begun."""
    disclosure: Disclosure
    """How much of the private result is in this document."""
    log_head: str
    """Hash of the log's row of this result."""
    created_at: str
    finalized_at: str
    relative_interval: tuple[float, float] | None = None
    """95 % interval of the relative total; None where nothing can be said."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of the total; None where nothing can be said."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard error of each metric, in its unit; metrics whose error is not known are left out."""
    tape: TapeKind = "given"
    """Which hidden data answer and baseline were scored on; see :mod:`openfingym.packages.tapes`."""
    split: SplitName = "test"
    """Whether the rollout was on the task as it is; a result of another split is of an instance, and no score."""
    instance: int | None = None
    """Which instance of the split; None on the test split."""
    session: dict[str, str | int | bool | None] | None = None
    """The live session that was the private episode: its venue, whether that is simulated, its seconds, bars with
    missing trades, and the SHA-256 of its tape; None where there was no session."""
    questions: dict[str, str | int | bool] | str | None = None
    """The questions that were asked in place of the package's private ones: their clock, and how many were asked, are
    scored, void and open. A text such as ``1-10``: which of the package's own were asked, on which answer and baseline
    were scored. None where all of the package's own were asked."""
    relative_standard_error: float | None = None
    """Standard error of the logarithm of the relative total, paired with the baseline."""
    relative_sample: dict[str, float | int | list[float | None]] | None = None
    """The logarithm of the relative total on every replicate of the fold, as
    :meth:`openfingym.metrics.relative_sample.RelativeSample.to_dict` states it, by which reports compare two results in
    pairs; None where less than everything is disclosed, or nothing can be said."""
    total_standard_error: float | None = None
    """Standard error of the total."""
    principal: str = ""
    """Whose rollout it is: ``local``, ``operator``, or a participant's name."""
    salt: str | None = None
    """Salt in the digest of this result that the log holds; None where the result is held."""
    agent: str | None = None
    """Name of the agent, as whoever began the rollout stated it."""
    seed: int | None = None
    """Seed, as whoever began the rollout stated it."""
    agent_digest: str | None = None
    """Hex digest of the agent without its seed, as whoever began the rollout stated it."""
    shown_before: int = 0
    """In how many other rollouts its principal was shown the same hidden data before it ended."""
    replayed: bool = False
    """Whether its agent came into being after its principal was first shown the hidden data, as far as the verifier
    knows; never under the local policy."""
    ladder: dict[str, float | int | None] | None = None
    """What the ladder of a disclosing season says of the result: the ``rung`` that it was raised to, null where it was
    not, its ``top``, and how many ``answers`` it has given of at ``most``; None where it says nothing."""


@dataclass(frozen=True)
class Participant:
    """Somebody who was given a key to a verifier."""

    name: str
    created_at: str
    revoked_at: str | None
    """When the key was withdrawn; None while it is valid."""
    organisation: str | None = None
    """The organisation that it belongs to, whose keys are one party; None for a party of its own."""


@dataclass(frozen=True)
class LadderState:
    """How far the ladder of a task's fold was climbed in disclosing seasons."""

    task: str
    top: float
    """The highest rung that was told, as a relative total; 1 is the baseline."""
    answers: int
    """How many results of the fold were told in any way."""
    most: int
    """How many results the ladder answers in all."""


@dataclass(frozen=True)
class Season:
    """A time at whose end a verifier tells what was entered in it."""

    name: str
    opened_at: str
    closed_at: str | None
    """When the season was closed; None while it is open."""
    kind: SeasonKind = "disclosing"
    """Whether anything of the private fold is told before the close."""
    reused: tuple[str, ...] = ()
    """Tasks whose hidden data are used again, although an earlier season has told of them."""
    retired: tuple[str, ...] = ()
    """Tasks of the verifier that participants cannot play in it, since their hidden data were told."""
    primary_entries: int = 0
    """How many primary entries there are, all tasks together, over which its verdicts are adjusted."""
    ladder_bits: float = 0.0
    """How many bits a ladder tells of its fold at most, in all its answers together; 0 of a sealed season."""
    ladders: tuple[LadderState, ...] = ()
    """The ladders of a disclosing season; none of a sealed one."""


@dataclass(frozen=True)
class SeasonEntry:
    """A rollout that is entered in its season."""

    rollout_id: str
    primary: bool
    """Whether it is the primary entry of its participant and task."""


@dataclass(frozen=True)
class BoardRow:
    """An entry on the board of a season."""

    task: str
    principal: str
    """The participant or organisation whose entry it is."""
    agent: str | None
    rollout_id: str
    primary: bool
    """Whether it is ranked; of the other entries it is told how they did, and nothing is said of them."""
    state: str
    """How it ended, ``open`` where it had not."""
    relative_total: float | None
    """The relative total, rounded towards the baseline by two standard errors; None without a score."""
    flags: tuple[str, ...]
    p_holm: float | None
    """p-value adjusted for all primary entries, rounded up; None where it is not below 5 %."""
    q: float | None
    """The false discovery rate at which it is found, rounded up; None where that is not below 5 %."""
    verdict: Literal["better", "not told apart"] | None
    """``better`` than the baseline where the adjusted p-value is below 5 %; None of what is not ranked."""
    replayed: bool = False
    """Whether its agent may have known the hidden data from an earlier rollout of its party; it is not ranked then."""


@dataclass(frozen=True)
class Board:
    """What everybody is told of a season when it is closed."""

    season: str
    kind: SeasonKind
    opened_at: str
    closed_at: str
    primary_entries: int
    """How many primary entries there were, for which p-values are adjusted."""
    reused: tuple[str, ...]
    """Tasks whose hidden data an earlier season had told of."""
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True)
class LogRow:
    """A row of the verifier's hash-chained log."""

    seq: int
    """Number of the row, from 1."""
    entry: dict[str, object]
    """What happened, as plain values."""
    prev_hash: str
    """Hash of the row before."""
    hash: str
    """Hash of this row, over the one before and the entry."""


@dataclass(frozen=True)
class ReceiptLeaf:
    """An entry of the log in a receipt; see :mod:`openfingym.receipts.receipt`."""

    index: int
    """Place of the entry in the log, from 0."""
    entry: str
    """The entry, as the log holds it."""
    proof: list[str]
    """Hashes that lead from the entry to the root of the checkpoint."""


@dataclass(frozen=True)
class ReceiptDocument:
    """A receipt; see :mod:`openfingym.receipts.receipt`."""

    format: int
    """Version of the form of receipts."""
    key: str
    """Public key of the log, with the log's name."""
    checkpoint: str
    """Signed note of the checkpoint."""
    leaves: list[ReceiptLeaf]
    """The entries, in the order of the log."""


@dataclass(frozen=True)
class HeldTask:
    """A task that a verifier holds."""

    name: str
    version: str
    digest: str
    """Digest of the build that the verifier scores."""
    data_kind: DataKind
    submission_shape: tuple[int, ...]
    budget: int
    """Number of submissions of a rollout that may be accepted, or of practice episodes that may be played."""
    baseline: str
    """Name of the baseline."""
    baseline_total: float | None
    """Total of the baseline on the private fold; None until it is first needed, since it may take seconds."""


@dataclass(frozen=True)
class Load:
    """The load of a verifier."""

    open_rollouts: int
    """Number of rollouts without a result, including those that nobody will end."""
    queued_writes: int
    """Number of writes to its ledger that wait for the disk."""
