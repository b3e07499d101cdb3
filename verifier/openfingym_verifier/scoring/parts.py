"""A heavy score in parts that several workers compute at once: a rollout waits for the longest, not for their sum.

The parts of a public score are the check of the submission and the metrics; those of a private one are the metrics on
the fold, and those on its replicates, a few replicates a part; of a walk there is a check too. Each part computes what
the whole would, so that the joined score is the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from openfingym.metrics.sampling_error import Replicates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.scoring.truth import Action, Grader

Part = Literal["check", "fold"] | tuple[int, int]
"""``check`` refuses what cannot be accepted, ``fold`` scores the fold, a pair is the first and the end of some of its
replicates."""

PARTS_A_WORKER = 2
"""More than one, so that a worker whose parts are quick takes over some of another's; each costs sending the array."""


def parts_of(grader: Grader, action: Action, workers: int) -> tuple[Part, ...]:
    """The parts of a score, in the order in which their failures count.

    Args:
        grader: the grader of the task on its tape.
        action: which score is wanted; see :class:`~openfingym_verifier.scoring.jobs.ScoringJob`.
        workers: number of workers that may compute parts at once.
    """
    if action == "public":
        return "check", "fold"
    checks: tuple[Part, ...] = ("check",) if action == "private" and grader.walks else ()
    design = grader.design
    if design is None:
        return (*checks, "fold")
    count = len(design.draws)
    # Where all replicates can be drawn at once, some metrics are computed on them by one product.
    pieces = 1 if design.units_are_rows else min(count, PARTS_A_WORKER * workers)
    ends = [count * piece // pieces for piece in range(pieces + 1)]
    return (*checks, "fold", *pairwise(ends))


def compute_part(grader: Grader, action: Action, part: Part, values: NDArray[np.float64]) -> dict[str, object]:
    """Compute a part, as JSON values.

    Args:
        grader: the grader of the task on its tape.
        action: which score it is a part of.
        part: one of :func:`parts_of`.
        values: float64 of the task's submission shape.

    Raises:
        SubmissionError: the values are refused, or cannot be scored.
    """
    from openfingym_verifier.scoring.kept_scores import score_document

    if part == "check":
        grader.check_fold(values, action)
        return {}
    if part == "fold":
        return score_document(grader.public_score(values) if action == "public" else grader.private_fold_score(values))
    return grader.private_replicates(values, slice(*part)).to_dict()


def joined(parts: Sequence[Part], answers: Sequence[Mapping[str, Any]]) -> Score:
    """The score whose parts gave these answers, in the same order."""
    from openfingym_verifier.scoring.kept_scores import read_score

    score = read_score(answers[parts.index("fold")])
    pieces = [Replicates.from_dict(answer) for part, answer in zip(parts, answers, strict=True) if type(part) is tuple]
    return replace(score, replicates=Replicates.joined(pieces)) if pieces else score
