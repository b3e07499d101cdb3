"""Ranking and classification of rare positives, such as fraud.

``labels`` are 0 or 1 and belong to the truth: without both classes nothing is defined, and
:class:`~openfingym.errors.DataError` says so (scikit-learn 1.6 and later return NaN for AUROC).
``scores`` are any finite numbers, higher for more suspicious.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError
from openfingym.metrics.arrays import Numbers, answer, known, same_shape
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

THRESHOLD = 0.5
"""Operating point of the threshold metrics: a score of at least this is called positive."""


def auroc(labels: Numbers, scores: Numbers) -> float:
    """Probability that a positive outranks a negative, where a tie counts half. Higher is better.

    Constant scores give 0.5.

    Args:
        labels: 0 or 1 of each row, [n], both among them.
        scores: score of each row, [n], higher for more suspicious.

    Raises:
        DataError: the labels are other numbers, or of one class.
        UsageError: the scores are at fault.
    """
    y, s = _checked(labels, scores)
    order = np.argsort(s)
    ranked = s[order]
    # Groups of equal scores: the last row of each, its size, and its positives.
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), s.size - 1)
    counts = np.diff(last, prepend=-1)
    positives = np.diff(np.cumsum(y[order])[last], prepend=0)
    # A positive outranks every negative of the groups below it, and half of those of its own.
    negatives = counts - positives
    below = np.cumsum(negatives) - negatives
    wins = float(np.dot(positives, below + 0.5 * negatives))
    total = int(positives.sum())
    return wins / (total * (s.size - total))


def average_precision(labels: Numbers, scores: Numbers) -> float:
    """Sum over distinct thresholds of the gain in recall times the precision (AUPRC, without interpolation). Higher is
    better.
    """
    y, s = _checked(labels, scores)
    order = np.argsort(-s, kind="stable")
    ranked = s[order]
    # Rows with one score are one threshold, so the order of ties cannot matter.
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), s.size - 1)
    hits = np.cumsum(y[order])[last]
    gained = np.diff(hits, prepend=0)
    return float(np.dot(gained, hits / (last + 1.0)) / hits[-1])


def recall_at_k(labels: Numbers, scores: Numbers) -> float:
    """Share of positives among the K highest scores, K the number of positives; equal scores go to the lower index.

    With K fixed by the truth it cannot be won by calling everything positive. Higher is better.
    """
    y, s = _checked(labels, scores)
    # The K-th highest score; everything above it is among the first K, and of those equal to it the lowest indices.
    k = int(np.count_nonzero(y))
    cut = np.partition(s, s.size - k)[s.size - k]
    above = s > cut
    room = k - int(np.count_nonzero(above))
    at_cut = np.flatnonzero(s == cut)[:room]
    return float((np.count_nonzero(y[above]) + np.count_nonzero(y[at_cut])) / k)


def recall(labels: Numbers, scores: Numbers, threshold: float = THRESHOLD) -> float:
    """Share of positives with a score of at least the threshold. Calling everything positive gives 1."""
    hit, _, positives = _counts(labels, scores, threshold)
    return hit / positives


def precision(labels: Numbers, scores: Numbers, threshold: float = THRESHOLD) -> float:
    """Share of positives among the scores of at least the threshold; 0 where there is none."""
    hit, called, _ = _counts(labels, scores, threshold)
    return hit / called if called else 0.0


def f1(labels: Numbers, scores: Numbers, threshold: float = THRESHOLD) -> float:
    """Harmonic mean of precision and recall at the threshold; 0 where nothing is called positive."""
    hit, called, positives = _counts(labels, scores, threshold)
    return 2.0 * hit / (called + positives)


def _counts(labels: Numbers, scores: Numbers, threshold: float) -> tuple[int, int, int]:
    """Number of true positives, of rows called positive, and of positives."""
    y, s = _checked(labels, scores)
    called = s >= threshold
    return int(np.count_nonzero(called & y)), int(np.count_nonzero(called)), int(np.count_nonzero(y))


def _checked(labels: Numbers, scores: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows are positive, bool[n], and their scores, float64[n]."""
    y = known("labels", labels, 1)
    positive = y == 1.0
    if not (positive | (y == 0.0)).all():
        raise DataError("labels must be 0 or 1")
    if positive.all() or not positive.any():
        raise DataError(f"all {y.size} labels are of one class; ranking needs both")
    s = answer("scores", scores, 1)
    same_shape("scores", s, y.shape)
    return positive, s


_SOURCE = "OpenFinGym (arXiv 2606.26350), Table 9"
_ranking = partial(
    Metric, problem="ranking", unit="none", range=(0.0, 1.0), direction="higher", optimum=1.0, minimum_rows=2
)
_at_threshold = partial(_ranking, source=_SOURCE, parameters={"threshold": THRESHOLD}, proper=False)
METRICS = (
    _ranking("auroc", auroc, description="probability that a positive outranks a negative", source=_SOURCE),
    _ranking(
        "average_precision",
        average_precision,
        description="area under precision and recall",
        source="Zheng et al. 2025, AUPRC",
    ),
    _ranking(
        "recall_at_k",
        recall_at_k,
        description="share of positives among the K highest scores, K positives",
        source=_SOURCE,
        differs="at the K highest scores, where the paper's threshold can be met by calling everything positive",
    ),
    _at_threshold("recall", recall, description="share of positives scoring at least 0.5", diagnostic=True),
    _at_threshold(
        "precision", precision, description="share of positives among scores of at least 0.5", diagnostic=True
    ),
    _at_threshold("f1", f1, description="harmonic mean of precision and recall at 0.5"),
)
