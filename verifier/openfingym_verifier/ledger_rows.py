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

    from openfingym.results import Disclosure, PolicyName, SplitName, TapeKind
    from openfingym.task.episodes import FoldName

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
    result: dict[str, object] | None
    """The final result, once there is one, as it was computed."""
    principal: str = LOCAL_USER
    """Name of the principal to whom the rollout belongs."""
    season: str = FIRST_SEASON
    """Name of the season in which the rollout was begun."""
    policy: PolicyName = "local"
    """Under which it was begun."""
    disclosure: Disclosure = "full"
    """How much of the result its principal is told."""
    tape: TapeKind = "given"
    """Kind of the tape; its seed follows from the rollout's id and the key of tapes."""
    tape_commitment: str | None = None
    """SHA-256 that the seed must have; None of a given tape."""
    session: dict[str, object] | None = None
    """The session that its private episode is; None where it is played on a tape. See
    :mod:`openfingym_verifier.sessions`."""
    questions: dict[str, object] | None = None
    """The questions that are asked in the place of its private rows; None where it has the package's. See
    :mod:`openfingym_verifier.deferral`."""
    settled: dict[str, object] | None = None
    """The result once those are resolved, which takes the place of a deferred one."""
    split: SplitName = "test"
    """``test`` on the task as it is; else on an instance, cut from its training data."""
    instance: int | None = None
    """Which instance of the split; None on the task as it is."""
    question_range: str | None = None
    """Which of its task's questions it is asked, such as ``1-10``; None for all."""

    @property
    def asked(self) -> QuestionRange | None:
        """The questions of its task that it is asked, of a rollout that is not asked all."""
        return None if self.question_range is None else QuestionRange.parse(self.question_range)


@dataclass(frozen=True)
class SeasonRecord:
    """A season: a period over which what participants are told is added up."""

    name: str
    opened_ns: int
    closed_ns: int | None


@dataclass(frozen=True)
class Disclosures:
    """How often a principal was told something about the hidden data of a task."""

    principal: str
    task: str
    """Name of the task, since a package built again over the same labels has another digest."""
    fold: FoldName
    count: int


@dataclass(frozen=True)
class SubmissionRow:
    """An accepted submission as stored, without its values."""

    n: int
    idempotency_key: str | None
    body_digest: str | None
    feedback: dict[str, object] | None
    """None where the process ended between accepting and scoring."""


@dataclass(frozen=True)
class EpisodeRow:
    """An episode that a rollout has begun."""

    n: int
    """Counts the rollout's episodes, from 1."""
    fold: FoldName
    number: int
    """Its position in the fold, from 0."""
    idempotency_key: str | None


def rollout_row(row: sqlite3.Row) -> RolloutRow:
    """A rollout of its row of the table."""
    fields = dict(row)
    bucket = Bucket(fields.pop("bucket_tokens"), fields.pop("bucket_ns"))
    for name in ("result", "session", "questions", "settled"):
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    return RolloutRow(**fields, bucket=bucket)


def submission_row(row: sqlite3.Row) -> SubmissionRow:
    """A submission of its row of the table."""
    feedback = row["feedback"]
    return SubmissionRow(
        row["n"], row["idempotency_key"], row["body_digest"], None if feedback is None else json.loads(feedback)
    )
