"""What a verifier asks of a worker process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_verifier.scoring.parts import Part
    from openfingym_verifier.scoring.truth import Action, Grader


@dataclass(frozen=True, eq=False)
class ScoringJob:
    """A request to a worker to score one array."""

    task: str
    """Identity of the task on its tape."""
    action: Action
    """``public`` checks first; ``baseline`` scores the baseline on the private fold."""
    values: Any
    """float64 of the task's submission shape; None for the baseline."""
    grader: Grader | None
    """The grader of the task, sent with the first job of that identity; None for later jobs."""
    part: Part | None = None
    """Which part of the score is wanted; None for all of it."""
    forget: tuple[str, ...] = ()
    """Identities whose graders are to be dropped: no job will have them any more, or one brings the grader again."""


@dataclass(frozen=True)
class PreparationJob:
    """A request to a worker to prepare metrics ahead of the first score: to import and compile what they need."""

    metrics: tuple[str, ...]
    """Names of the metrics."""
