"""What differs from one kind of task to the next; one module a kind.

Whatever the kind, a task has public arrays, hidden arrays, and one float64 array as the submission.
A kind's module says how they are made from the data (:meth:`Kind.load`, :meth:`Kind.shape`), how the
rows of a submission fall into a public and a private fold (:meth:`Kind.folds`), and which arrays the
metrics are given (:meth:`Kind.answer`).
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from openfingym.kinds.material import Array, Blocks, Brief, Fold, Kind, Material, SequentialKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Task
    from openfingym.task.contracts import Contract
    from openfingym.task.scoring import Scoring

__all__ = [
    "Array",
    "Blocks",
    "Brief",
    "Fold",
    "Kind",
    "Material",
    "SequentialKind",
    "is_sequential",
    "kind_named",
    "kind_of",
    "reference_version",
    "score_fold",
    "score_with_replicates",
    "sequential_kind",
]


def kind_of(task: Task) -> Kind:
    """The module of a task's kind."""
    return kind_named(task.spec.contract)


def kind_named(contract: Contract) -> Kind:
    """The module of a contract's kind."""
    return cast("Kind", importlib.import_module(f"openfingym.kinds.{contract.kind}"))


def reference_version(kind: str) -> int:
    """Version of a kind's reference: the answer of its ``naive`` to the same data, by which a relative total divides."""
    return int(getattr(importlib.import_module(f"openfingym.kinds.{kind}"), "REFERENCE_VERSION", 1))


def is_sequential(contract: Contract) -> bool:
    """Whether a task of this contract is stepped through, episode by episode, instead of answered in one array."""
    return bool(getattr(kind_named(contract), "SEQUENTIAL", False))


def sequential_kind(contract: Contract) -> SequentialKind:
    """The module of a sequential contract's kind; only where :func:`is_sequential` holds."""
    return cast("SequentialKind", kind_named(contract))


def score_with_replicates(
    contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64], design: Resampling | None
) -> Score:
    """:func:`score_fold`, and the metrics on every replicate of the fold, from which standard errors follow.

    Args:
        contract: the task's.
        scoring: the task's scoring table.
        fold: one of the task's two.
        submission: float64, of the task's submission shape.
        design: how the fold is drawn again, from :meth:`Kind.resampling`; None for no replicates.
    """
    from openfingym.kinds.resampled import replicates

    score = score_fold(contract, scoring, fold, submission)
    if design is None:
        return score
    return replace(score, replicates=replicates(kind_named(contract), contract, scoring, fold, submission, design))


def score_fold(contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64]) -> Score:
    """Score the rows of a whole submission that belong to ``fold``.

    Args:
        contract: the task's.
        scoring: the task's scoring table.
        fold: one of the task's two.
        submission: float64, of the task's submission shape.

    Raises:
        SubmissionError: the answer cannot be scored.
        DataError: the truth is at fault.
    """
    from openfingym.metrics import score

    answer = kind_named(contract).answer(contract, fold, submission[fold.rows])
    return score(scoring, fold.truth, answer)
