"""Problem documents (RFC 9457): everything the verifier may answer instead of what was asked for.

A problem's text may speak of the request and of the public contract, never of labels, paths or
the inside of the program.
"""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from openfingym.errors import StoreError, VerifierError
from openfingym.verifiers.routes import PROBLEM

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """The HTTP status and title shared by all problems of one slug."""

    status: int
    title: str


KINDS: Mapping[str, ProblemKind] = {
    "bad-request": ProblemKind(400, "The request cannot be understood"),
    "unauthorized": ProblemKind(401, "A valid bearer token is needed"),
    "forbidden": ProblemKind(403, "This token does not open this door"),
    "not-found": ProblemKind(404, "There is nothing here"),
    "method-not-allowed": ProblemKind(405, "This address does not take that method"),
    "request-timeout": ProblemKind(408, "The body took too long to arrive"),
    "budget-exhausted": ProblemKind(409, "Every submission or practice episode of this rollout has been used"),
    "episodes-exhausted": ProblemKind(409, "Every private episode of this rollout has been begun"),
    "episode-over": ProblemKind(409, "This episode has ended"),
    "out-of-step": ProblemKind(409, "Another step is expected"),
    "wrong-interface": ProblemKind(409, "This task is answered another way"),
    "rollout-finished": ProblemKind(409, "This rollout is finished"),
    "storage-exhausted": ProblemKind(409, "Everything that this participant may have stored is stored"),
    "idempotency-conflict": ProblemKind(409, "This was asked before with another content"),
    "conflicting-task": ProblemKind(409, "A task that conflicts with this one was entered"),
    "name-taken": ProblemKind(409, "This name is taken"),
    "deadline-passed": ProblemKind(409, "The deadline has passed"),
    "truth-known": ProblemKind(409, "The truth of this question is known"),
    "not-due": ProblemKind(409, "The evaluation time has not come"),
    "clock-backwards": ProblemKind(409, "A clock moves forward alone"),
    "season-closed": ProblemKind(409, "The season is closed"),
    "season-open": ProblemKind(409, "The season is still open"),
    "fold-retired": ProblemKind(409, "The hidden data of this task were told at the close of a season"),
    "entries-exhausted": ProblemKind(409, "No other rollout can be entered"),
    "too-late": ProblemKind(409, "It is too late for this"),
    "payload-too-large": ProblemKind(413, "The body is too large"),
    "unsupported-media-type": ProblemKind(415, "This media type is not accepted"),
    "malformed-request": ProblemKind(422, "A field of the request is wrong"),
    "malformed-submission": ProblemKind(422, "The body is not what its media type says"),
    "wrong-shape": ProblemKind(422, "The predictions have a wrong shape"),
    "wrong-dtype": ProblemKind(422, "The predictions have a wrong type"),
    "not-finite": ProblemKind(422, "A prediction is not a finite number"),
    "out-of-range": ProblemKind(422, "A prediction is outside the admissible range"),
    "wrong-unit": ProblemKind(422, "The answer is in another unit"),
    "malformed-action": ProblemKind(422, "The action is not of the form the task states"),
    "unscorable": ProblemKind(422, "No score can be computed from the predictions"),
    "memorised": ProblemKind(422, "Too many generated windows are training windows"),
    "too-many-rollouts": ProblemKind(429, "Too many rollouts are open"),
    "too-many-connections": ProblemKind(429, "Too many WebSockets are open"),
    "rate-limited": ProblemKind(429, "Too many requests"),
    "internal": ProblemKind(500, "The verifier failed, and does not know why"),
    "unavailable": ProblemKind(503, "The verifier cannot do this now; this says nothing about the request"),
    "task-unavailable": ProblemKind(503, "This verifier no longer holds the rollout's task"),
}

REFUSALS = frozenset(
    slug for slug, kind in KINDS.items() if kind.status in {413, 415, 422} and slug != "malformed-request"
)
"""Problems of a submission's content: recorded against the rollout, free of budget."""


class Problem(Exception):  # noqa: N818 - an RFC 9457 problem, not a failure of the program
    """An answer other than the one asked for.

    Attributes:
        slug: identifier of the problem, a key of :data:`KINDS`.
        detail: one or two sentences for the caller.
        retry_after_s: seconds after which a repetition makes sense; None where it never does.
        close: whether the connection is of no further use, because the body of the request was not read.
    """

    def __init__(self, slug: str, detail: str, *, retry_after_s: float | None = None, close: bool = False) -> None:
        super().__init__(detail)
        self.slug = slug
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.close = close

    @property
    def kind(self) -> ProblemKind:
        """The status and title that belong to the slug."""
        return KINDS[self.slug]

    @property
    def document(self) -> dict[str, object]:
        """The problem document."""
        return {
            "type": f"{PROBLEM}{self.slug}",
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
        }

    def response(self, extra_headers: Mapping[str, str] | None = None) -> Response:
        """The problem as an HTTP response."""
        headers = dict(extra_headers or {})
        # Whole seconds, as HTTP has it; rounded up, or the repetition would come too early.
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.kind.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.close:
            headers["Connection"] = "close"
        return Response(json.dumps(self.document), status_code=self.kind.status, headers=headers, media_type=MEDIA_TYPE)


INTERNAL = Problem("internal", "The failure was recorded on the verifier's side.", close=True)
"""The answer to a failure that nobody has thought of. It does not show whose fault it is, so that it excuses no
agent."""
UNAVAILABLE = Problem("unavailable", "The failure was recorded on the verifier's side; try again later.", close=True)
"""The answer to a failure that is known to be ours: the disk, a process, or a score that a valid submission does not
get either."""

FULL = Problem("unavailable", "The verifier's disk is full. Free some space, then try again.", close=True)
"""The answer where SQLite finds the disk full, which whoever waits for the verifier can do something about."""


def of_failure(error: Exception) -> Problem:
    """The problem that a caller is told of when our machinery failed."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return FULL
    return UNAVAILABLE if isinstance(error, StoreError | VerifierError | sqlite3.OperationalError) else INTERNAL
