"""Parsing a submission: the request, and the array its body becomes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of
from openfingym.errors import VerifierError
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.submissions.parsing import read_submission

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.errors import SubmissionError
    from openfingym_verifier.scoring.truth import HiddenTask

logger = logging.getLogger(__name__)

LIGHT_BYTES = 256 * 1024
"""Up to this many bytes of float64 are parsed and scored within a millisecond: less than it takes to involve another
thread."""


@dataclass(frozen=True)
class Submission:
    """One request to score something, body apart."""

    media_type: str
    """Without parameters, in lower case."""
    idempotency_key: str | None
    read_body: Callable[[int], Awaitable[bytes]]
    """Reads the body, refusing more than the given number of bytes."""


@dataclass(frozen=True)
class Parsed:
    """A submission that passed every check."""

    values: NDArray[np.float64]
    """float64 of the task's shape, finite and in range."""
    payload: memoryview
    """The bytes of ``values``."""
    payload_digest: str
    """Hex SHA-256 of these bytes."""
    body_digest: str | None
    """Hex SHA-256 of the body as it came; None for a request without an idempotency key, which will not need it."""


def parse(submission: Submission, body: bytes, task: HiddenTask) -> Parsed:
    """Read and check a body: the one place where bytes of an agent become an array, and every failure is a refusal.

    Args:
        submission: the request that the body came with.
        body: the body, at most ``task.max_body_bytes`` long.
        task: the task that is answered.

    Raises:
        Problem: the submission is refused; ``slug`` says why.
        VerifierError: no process to decode the body in can be started.
    """
    try:
        values = read_submission(submission.media_type, body, task)
    except (Problem, VerifierError):
        raise
    # Whatever else the bytes set off is theirs: as an error of ours it would buy the agent a second try.
    except Exception:
        logger.exception(
            "a body of %s was refused for a reason that nobody had thought of", submission.media_type[:100]
        )
        raise Problem("malformed-submission", f"The body cannot be read as {submission.media_type[:100]}.") from None
    payload = values.data.cast("B")
    body_digest = None if submission.idempotency_key is None else sha256_of(body)
    return Parsed(values, payload, sha256_of(payload), body_digest)


def refusal(error: SubmissionError) -> Problem:
    """The problem an agent is told when its answer has the right shape but is refused, or has no score."""
    return Problem(error.problem if error.problem in REFUSALS else "out-of-range", str(error))
