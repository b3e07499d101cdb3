"""What the ledger holds, row by row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.kinds.question_range import QuestionRange
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.policy import LOCAL_USER

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from openfingym.results import SplitName
    from openfingym.results.result import Disclosure, PolicyName, SeasonKind, TapeKind
    from openfingym.task.episodes import FoldName
    from openfingym.task.exposure import Exposure

FIRST_SEASON = "1"


@dataclass(frozen=True)
class RolloutRow:
    """A rollout as stored."""

    id: str
    task: str
    task_digest: str
    agent: str | None
    seed: int | None
    budget: int
    """Submissions that may be accepted; of a sequential task, its private episodes."""
    created_ns: int
    expires_ns: int
    accepted: int
    """Submissions accepted, or private episodes begun."""
    rejected: int
    """Submissions or actions refused."""
    last_refusal: str | None
    """``slug: detail`` of the latest of them."""
    bucket: Bucket
    """State of the rate limit on the rollout's requests."""
    result: dict[str, object] | None
    """The result as it was computed, once there is one; of a deferred rollout the deferred one."""
    principal: str = LOCAL_USER
    """Name of the principal to whom the rollout belongs."""
    season: str = FIRST_SEASON
    """Name of the season in which the rollout was begun."""
    policy: PolicyName = "local"
    """Name of the policy under which the rollout was begun."""
    disclosure: Disclosure = "full"
    """How much of the result the rollout's principal is told."""
    tape: TapeKind = "given"
    """Kind of the tape; its seed follows from the rollout's id and the key of tapes."""
    tape_commitment: str | None = None
    """Hex SHA-256 that the seed of the tape must have; None for a given tape."""
    session: dict[str, object] | None = None
    """The order of the live session that the private episode is; None for an episode on a tape. See
    :mod:`openfingym_verifier.episodes.sessions`."""
    questions: dict[str, object] | None = None
    """The order of the questions that are asked in the place of the private rows; None for the package's own rows. See
    :mod:`openfingym_verifier.rollouts.deferral`."""
    settled: dict[str, object] | None = None
    """The final result of a deferred rollout, once its questions are resolved."""
    split: SplitName = "test"
    """``test`` for a rollout on the task as it is; else it is on an instance, cut from the task's training data."""
    instance: int | None = None
    """Number of the instance within its split; None on the task as it is."""
    question_range: str | None = None
    """Which of the package's questions the rollout is asked, such as ``1-10``; None for all."""
    agent_digest: str | None = None
    """Hex digest of the agent, its seed left out, as its caller states it; None where it does not."""
    hidden_digest: str | None = None
    """Hex digest of the hidden arrays of a given tape; None of other tapes, sessions and instances."""
    instruments: tuple[str, ...] = ()
    """The instruments of which these arrays hide days; empty where there is no digest, or that cannot be told."""

    @property
    def shared(self) -> bool:
        """Whether other rollouts have the same hidden data."""
        return self.tape == "given" and self.session is None

    def told_of(self, fold: FoldName) -> tuple[str, ...]:
        """By what is counted that something was told of a fold of its hidden data.

        It is the name of its task, since a package that is built again over much the same labels has another digest,
        and that digest, since a task may have another name. Of the private fold, of which all parties together are told
        little, it is every instrument as well: all tasks on one hide it on the same days.
        """
        known = (self.task,) if self.hidden_digest is None else (self.task, self.hidden_digest)
        return (*known, *self.instruments) if fold == "private" else known

    @property
    def asked(self) -> QuestionRange | None:
        """Which of the package's questions the rollout is asked; None for all."""
        return None if self.question_range is None else QuestionRange.parse(self.question_range)


@dataclass(frozen=True)
class SeasonRecord:
    """A season: a period at whose end all that was entered in it is told."""

    name: str
    opened_ns: int
    """Unix time in nanoseconds at which the season began."""
    closed_ns: int | None
    """Unix time in nanoseconds at which it ended; None while it is open."""
    kind: SeasonKind = "sealed"
    """Whether anything of the private fold is told before the close."""
    reused: tuple[str, ...] = ()
    """Names of the tasks whose hidden data the operator uses again, although an earlier season has told of them."""


@dataclass(frozen=True)
class Climbed:
    """How far the ladder of a fold was climbed."""

    of: str
    """One of the names by which it is known (:meth:`RolloutRow.told_of`)."""
    told: int
    """How many results of the fold were told in any way."""
    top: float | None
    """The top of the ladder; None where no ladder has answered."""


@dataclass(frozen=True)
class EntryRow:
    """A rollout that was entered in its season."""

    rollout_id: str
    task: str
    """Name of the task."""
    principal: str
    """Name of the principal whose entry it is."""
    primary: bool
    """Whether it is the one that is ranked."""
    filed_ns: int
    """Unix time in nanoseconds at which it was entered."""


@dataclass(frozen=True)
class RetiredFold:
    """Hidden data that a season has told of at its close."""

    fold: str
    """SHA-256 of the hidden arrays, or the task's digest where these were not at hand."""
    task: str
    """Name of the task."""
    season: str
    """Name of the season."""
    task_digest: str | None = None
    """Digest of the task, by which the ledger knows what it shows and hides; None in older ledgers."""


@dataclass(frozen=True)
class Playing:
    """What a principal has played of one task, in one or more rollouts."""

    task: str
    """Name of the task."""
    hidden_digest: str | None
    """Digest of its hidden data; None in older ledgers."""
    exposure: Exposure | None
    """What it shows and hides; None where that is not known."""
    rollouts: int
    """In how many rollouts it was played."""
    first_ns: int
    """Unix time in nanoseconds at which the first of them began to show hidden data, or was created."""


@dataclass(frozen=True)
class Disclosures:
    """How often a principal was told something about the hidden data of a task."""

    principal: str
    """Name of the principal."""
    of: str
    """One of the names by which they are known (:meth:`RolloutRow.told_of`)."""
    fold: FoldName
    count: int


@dataclass(frozen=True)
class SubmissionRow:
    """An accepted submission as stored, without its values."""

    n: int
    """Counts the rollout's accepted submissions, from 1."""
    idempotency_key: str | None
    """Key under which the same request may be sent again; None for a request without one."""
    body_digest: str | None
    """Hex SHA-256 of the body as it came, which a repetition must have; None without a key."""
    feedback: dict[str, object] | None
    """Feedback on the submission; None where the process ended between accepting and scoring."""


@dataclass(frozen=True)
class EpisodeRow:
    """An episode that a rollout has begun."""

    n: int
    """Counts the rollout's episodes, from 1."""
    fold: FoldName
    number: int
    """Position of the episode in the fold, from 0."""
    idempotency_key: str | None
    """Key under which the same start may be requested again; None for a request without one."""


def rollout_row(row: sqlite3.Row | Mapping[str, Any]) -> RolloutRow:
    """A rollout, from its row of the table ``rollouts``."""
    fields = dict(row)
    bucket = Bucket(fields.pop("bucket_tokens"), fields.pop("bucket_ns"))
    for name in ("result", "session", "questions", "settled"):
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    fields["instruments"] = tuple(json.loads(fields["instruments"]))
    return RolloutRow(**fields, bucket=bucket)


def submission_row(row: sqlite3.Row) -> SubmissionRow:
    """A submission, from its row of the table ``submissions``."""
    feedback = row["feedback"]
    return SubmissionRow(
        row["n"], row["idempotency_key"], row["body_digest"], None if feedback is None else json.loads(feedback)
    )
