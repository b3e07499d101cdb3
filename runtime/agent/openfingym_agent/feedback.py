"""What the verifier answers to a submission, or to a walk for practice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Feedback:
    """The result of a submission, or of a walk for practice, on the public fold, clipped and rounded."""

    submission: int
    """Number of the submission, or of the walk, from 1."""
    total: float
    """Weighted loss; lower is better. NaN if feedback is withheld, because enough was disclosed about this task."""
    metrics: dict[str, float]
    """Each metric by its name, in its own direction (see ``contract["metrics"]``); empty if feedback is withheld."""
    remaining: int
    """Submissions, or walks for practice, that are left."""

    @classmethod
    def of(cls, submission: int, document: dict[str, Any], remaining: int) -> Feedback:
        """Read what the verifier says."""
        return cls(
            submission=submission,
            total=math.nan if document["total"] is None else float(document["total"]),
            metrics={name: float(value) for name, value in document["metrics"].items()},
            remaining=remaining,
        )

    def __str__(self) -> str:
        if math.isnan(self.total):
            return f"submission {self.submission}: accepted, feedback withheld; {self.remaining} left"
        shown = ", ".join(f"{name} {value:g}" for name, value in self.metrics.items())
        return f"submission {self.submission}: public loss {self.total:g} ({shown}); {self.remaining} left"
