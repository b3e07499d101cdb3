"""What the JSON routes take and give, as the OpenAPI description states it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from openfingym_verifier.service import DEFAULT_TTL_S

MAX_TTL_S = 366 * 24 * 3600.0
State = Literal["scored", "rejected", "held"]
Tape = Literal["given", "fresh", "twin"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewRollout(_Document):
    """Body of ``POST /v1/rollouts``."""

    task: Annotated[str, Field(min_length=1, max_length=200)]
    agent: Annotated[str, Field(max_length=200)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    ttl_s: Annotated[float, Field(gt=0.0, le=MAX_TTL_S)] = DEFAULT_TTL_S
    """Seconds until the token expires."""
    fresh: bool = False
    """Whether hidden data other than the package's own is wanted, where the task can have any."""


class Ticket(_Document):
    """A new rollout and its token, which is shown this once."""

    rollout_id: str
    task: str
    task_digest: str
    token: str
    expires_at: str
    budget: int
    tape: Tape
    """Which hidden data the rollout has: the package's own, drawn for it, or resampled from real bars."""


class NewParticipant(_Document):
    """Body of ``POST /v1/participants``."""

    name: Annotated[str, Field(min_length=1, max_length=63)]


class NewKey(_Document):
    """A participant's key, which is shown this once."""

    name: str
    key: str


class ParticipantDocument(_Document):
    """Somebody who was given a key."""

    name: str
    created_at: str
    revoked_at: str | None


class NewSeason(_Document):
    """Body of ``POST /v1/season``."""

    name: Annotated[str, Field(min_length=1, max_length=63)]


class SeasonDocument(_Document):
    """A season."""

    name: str
    opened_at: str
    closed_at: str | None


class FeedbackDocument(_Document):
    """Public-fold metrics, each in its own direction, and the total loss, clipped and rounded."""

    total: float | None
    """None, with no metrics, where the participant has had all the feedback that a season allows."""
    metrics: dict[str, float]


class PastSubmissionDocument(_Document):
    """An accepted submission."""

    submission: int
    feedback: FeedbackDocument | None


class SubmissionAnswer(_Document):
    """Answer to an accepted submission."""

    submission: int
    state: Literal["scored"]
    fold: Literal["public"]
    feedback: FeedbackDocument
    remaining: int


class NewEpisode(_Document):
    """Body of ``POST /v1/episodes``."""

    fold: Literal["private", "public"] = "private"
    """``public`` episodes are for practice; each private one is played once, in order of time, and scored."""


class NewStep(_Document):
    """Body of ``POST /v1/steps``."""

    episode: int
    """The latest, as its start was answered."""
    step: int
    """One more than the latest; the latest again, with the same action, repeats its answer."""
    action: Any
    """As the task's instruction states; null does nothing."""


class StepAnswer(_Document):
    """What an action led to, or what is seen before the first. Numbers that are not finite are null."""

    episode: int
    """Counts the episodes that the rollout has begun, from 1."""
    fold: Literal["private", "public"]
    number: int
    """Position in the fold, from 0."""
    episodes_left: int
    """Private episodes not yet begun."""
    step: int
    """Actions taken so far."""
    observation: dict[str, Any]
    reward: float | None
    terminated: bool
    """The episode has reached an end of its own."""
    truncated: bool
    """The episode has reached its last row."""
    info: dict[str, Any]


class RolloutView(_Document):
    """A rollout as its agent may see it."""

    state: Literal["open", "finished"]
    budget: int
    """Submissions that may be accepted, or private episodes that may be played."""
    remaining: int
    submissions: list[PastSubmissionDocument]
    expires_at: str


class RolloutStatusDocument(_Document):
    """A rollout as the operator sees it."""

    rollout_id: str
    task: str
    task_digest: str
    principal: str
    season: str
    agent: str | None
    seed: int | None
    tape: Tape
    state: Literal["open", "expired", "scored", "rejected"]
    budget: int
    remaining: int
    submissions: list[PastSubmissionDocument]
    submissions_accepted: int
    submissions_rejected: int
    last_refusal: str | None
    created_at: str
    expires_at: str
    finalized_at: str | None


class Result(_Document):
    """The final result; metrics are of the private fold, each in its own direction."""

    rollout_id: str
    task: str
    task_digest: str
    data_kind: Literal["real", "simulated", "specified"]
    tape: Tape
    """Which hidden data it was scored on, as was the baseline."""
    state: State
    reason: str | None
    total: float | None
    """The source paper's weighted loss; lower is better."""
    relative_total: float | None
    """Geometric mean of each metric's loss relative to the baseline's; lower is better, 1 is the baseline. Ranks."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of the relative total, for what other hidden rows of the same market would have given. None where nothing can
    be said, as in results from before there were intervals."""
    relative_standard_error: float | None = None
    """Of the logarithm of the relative total, paired with the baseline."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of the total."""
    total_standard_error: float | None = None
    standard_errors: dict[str, float] = {}
    """Of each metric by name, in its unit."""
    metrics: dict[str, float]
    baseline: str
    baseline_total: float
    baseline_metrics: dict[str, float]
    submissions_accepted: int
    """Of a sequential task, private episodes begun."""
    submissions_rejected: int
    """Of a sequential task, actions refused."""
    budget: int
    """Of a sequential task, its private episodes."""
    flags: list[str]
    principal: str
    """Whose rollout it is: ``local``, ``operator``, or a participant's name."""
    season: str
    policy: Literal["local", "strict"]
    """What its principal is told about the hidden data, over all of its rollouts."""
    disclosure: Literal["full", "rounded", "held"]
    """How much of the result this is: all, no finer than the sampling error, or nothing before the season is closed."""
    salt: str | None
    """Of the digest in the log; None for a participant."""
    log_head: str
    created_at: str
    finalized_at: str


class LogRowDocument(_Document):
    """A row of the hash-chained log."""

    seq: int
    entry: dict[str, object]
    prev_hash: str
    hash: str


class TaskSummary(_Document):
    """A task this verifier holds."""

    name: str
    version: str
    digest: str
    data_kind: Literal["real", "simulated", "specified"]
    submission_shape: tuple[int, ...]
    budget: int
    baseline: str
    baseline_total: float | None
    """None while nobody has needed it: where scoring is heavy, it takes seconds."""


class MetricDocument(_Document):
    """A metric, its weight in the total, and which way is better."""

    name: str
    weight: float
    direction: Literal["lower", "higher"]


class TaskLimits(_Document):
    """What the interface allows."""

    max_body_bytes: int
    requests_per_minute: float
    burst: int
    feedback_digits: int
    feedback_clip: float


class TaskContract(_Document):
    """What a submission to the token's task must be."""

    task: str
    task_digest: str
    data_kind: Literal["real", "simulated", "specified"]
    kind: str
    submission_shape: tuple[int, ...]
    submission_axes: tuple[str, ...]
    dtype: Literal["float64"]
    labels: tuple[str, ...]
    lookback: int
    horizon: int
    n_public: int
    n_private: int
    value_semantics: str | None
    unit: str
    low: float
    high: float
    metrics: list[MetricDocument]
    budget: int
    limits: TaskLimits
    media_types: tuple[str, ...]


class Health(_Document):
    """A rollout could be created and written now."""

    status: Literal["ok"]
    tasks: int


class ProblemDocument(_Document):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
