"""Bodies of requests, and of answers to agents; answers to clients are in :mod:`openfingym.verifiers.answers`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from openfingym.instances import INSTANCE_COUNT
from openfingym.results import SplitName
from openfingym.results.result import SeasonKind
from openfingym.task import DataKind
from openfingym.verifiers.answers import PastSubmission, PublicFeedback
from openfingym.verifiers.routes import MOST_AGENTS
from openfingym_verifier.rollouts.creation import DEFAULT_TTL_S

MAX_TTL_S = 366 * 24 * 3600.0
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hex."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewSession(_Document):
    """Which session a rollout is to have; see :class:`openfingym.market.session.terms.SessionOrder`."""

    venue: Literal["simulated", "real"] = "simulated"
    duration_s: Annotated[int, Field(ge=1, le=86_400)] | None = None
    """Seconds that the session lasts; null for the task's own length."""
    tape: Annotated[str, Field(max_length=4096)] | None = None
    """Path of an earlier session's tape on the verifier's machine; for the operator alone."""


class NewRolloutQuestions(_Document):
    """Which questions a rollout is asked; see :class:`openfingym.kinds.asking.QuestionsOrder`."""

    clock: Literal["simulated", "real"] = "simulated"
    names: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=1000)] = []


class NewRollout(_Document):
    """Body of ``POST /v1/rollouts``."""

    task: Annotated[str, Field(min_length=1, max_length=200)]
    agent: Annotated[str, Field(max_length=200)] | None = None
    agent_digest: Digest | None = None
    """Digest of the agent: its program, weights and configuration, but not its seed. By it a strict verifier knows
    whether the agent was there before its party was first shown the hidden data."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    ttl_s: Annotated[float, Field(gt=0.0, le=MAX_TTL_S)] = DEFAULT_TTL_S
    """Seconds until the rollout's token expires."""
    fresh: bool = False
    """Whether hidden data other than the package's own is wanted, where the task can have any."""
    session: NewSession | None = None
    """The session that the private episode is to be, of a task about a live market; null to play the episode on the
    package's own bars."""
    questions: NewRolloutQuestions | Annotated[str, Field(max_length=40)] | None = None
    """The questions to ask, of a task about what has not happened yet; or, as ``1-10``, which of the package's own that
    count are asked, of a task that asks one by one. Null to ask all of the package's own."""
    split: SplitName = "test"
    """``test`` for the task as it is; else an instance, cut from its training data, which goes neither with ``fresh``
    nor with a session or questions."""
    instance: Annotated[int, Field(ge=0, lt=INSTANCE_COUNT)] | None = None
    """Number of the instance within its split; null on the task as it is."""


class NewAgents(_Document):
    """Body of ``POST /v1/agents``."""

    digests: Annotated[list[Digest], Field(min_length=1, max_length=MOST_AGENTS)]
    """Digests of agents, as their rollouts will state them."""


class FiledAgents(_Document):
    """Answer to agents that were filed."""

    filed: int
    """How many of them had not been filed before."""


class NewToken(_Document):
    """Body of ``POST /v1/rollouts/{rollout_id}/token``."""

    ttl_s: Annotated[float, Field(gt=0.0, le=MAX_TTL_S)] = DEFAULT_TTL_S
    """Seconds until the token expires; the rollout is open for as long."""


class NewParticipant(_Document):
    """Body of ``POST /v1/participants``."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    organisation: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """The organisation that the participant belongs to, whose keys are one party; null for a party of its own."""


class NewKey(_Document):
    """A participant's key, which is shown this once."""

    name: str
    key: str


class NewSeason(_Document):
    """Body of ``POST /v1/season``."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    kind: SeasonKind = "sealed"
    """Whether anything of the private fold is told before the close."""
    reuse: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=1000)] = []
    """Names of tasks whose hidden data are used again, although an earlier season has told of them."""


class NewEntry(_Document):
    """Body of ``POST /v1/rollouts/{rollout_id}/entry``."""

    primary: bool = False
    """Whether it is to be the primary entry, which is ranked; the first one is anyway."""


class SubmissionAnswer(_Document):
    """Answer to an accepted submission."""

    submission: int
    """Counts the rollout's accepted submissions, from 1."""
    state: Literal["scored"]
    fold: Literal["public"]
    feedback: PublicFeedback
    remaining: int
    """Submissions that may still be accepted."""


class NewEpisode(_Document):
    """Body of ``POST /v1/episodes``."""

    fold: Literal["private", "public"] = "private"
    """``public`` episodes are for practice; each private one is played once, in order of time, and scored."""


class NewStep(_Document):
    """Body of ``POST /v1/steps``."""

    episode: int
    """Number of the latest episode, as its start was answered."""
    step: int
    """One more than the latest step; the latest step again, with the same action, repeats its answer."""
    action: Any
    """The action, of the form that the task's instruction states; null does nothing."""


class StepAnswer(_Document):
    """The observation after an action, or before the first one. Numbers that are not finite are null."""

    episode: int
    """Counts the episodes that the rollout has begun, from 1."""
    fold: Literal["private", "public"]
    number: int
    """Position of the episode in the fold, from 0."""
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
    submissions: tuple[PastSubmission, ...]
    expires_at: str
    episode: int | None = None
    """Number of the latest episode, from 1; null before the first, and of a task without episodes."""
    step: int | None = None
    """Number of actions taken in the latest episode so far."""
    practice_left: int | None = None
    """Walks through the public fold that may still be begun; null of a task that is not walked through."""
    windows_left: int | None = None
    """Windows of the private fold without an answer; null once the rollout has ended, and of a task that is not walked
    through."""


class MetricDocument(_Document):
    """A metric, its weight in the total, and which way is better."""

    name: str
    weight: float
    direction: Literal["lower", "higher"]


class TaskLimits(_Document):
    """Limits on submissions and on their feedback."""

    max_body_bytes: int
    requests_per_minute: float
    burst: int
    feedback_digits: int
    feedback_clip: float


class TaskContract(_Document):
    """What a submission to the token's task must be; what ``contract.json`` of its package has too is taken from there
    (:func:`openfingym.packages.build.describe`).
    """

    task: str
    task_digest: str
    data_kind: DataKind
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
    """Answer of the health check: a rollout could be created and written now."""

    status: Literal["ok"]
    tasks: int


class ProblemDocument(_Document):
    """A problem document as RFC 9457 defines it."""

    type: str
    title: str
    status: int
    detail: str
