"""Sets and rankings of codes, such as the relations of an event ontology with two levels.

A row is a question and a column a code: the first 20 are the first-level codes (CAMEO's roots 01 to 20, in this
order), the others second-level codes in any fixed order. The truth is 0 or 1. An answer is not negative: 0 stands for
a code that was not named, and of the others the higher stands before the lower in a ranking; to the metrics of sets
all named codes are alike. An answer's first level is what it names there, not what follows from its second level.
A row without a true code asks nothing, and is a :class:`~openfingym.errors.DataError`. Precision, recall and F1 are
means over rows (macro); an empty answer has 0 in all three.

Other items than codes, such as countries, have one level and any columns: the kind of question ``items``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known, same_shape
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Marks = NDArray[np.float64]

FIRST_LEVEL = 20
"""Number of first-level codes, which are the first columns."""
EPSILON = 1e-10
"""Added to every bin of both histograms before their divergence is computed."""
BINARY = (8, 12)
"""Number of first-level codes of mediation (01 to 08) and of conflict (09 to 20)."""
QUAD = (4, 4, 8, 4)
"""Number of first-level codes of verbal and of material cooperation, of verbal and of material conflict."""
TOP = 10
"""A code is a hit if fewer than this many others stand above it."""
VOTES = 2
"""Number of samples that must name a code, so that their vote names it."""


def set_precision(y_true: Numbers, y_pred: Numbers, level: int, first: int = FIRST_LEVEL) -> float:
    """Share of the named codes that are true, mean over rows; 0 for a row that names none.

    Args:
        y_true: whether each row has each code, 0 or 1, [rows, codes].
        y_pred: score of each code in each row, above 0 where it is named, [rows, codes].
        level: 1 or 2 for the codes of that level; 0 for all columns.
        first: number of first-level codes, which are the first columns.

    Raises:
        DataError: the truth is at fault, or a row has no true code of the level.
        UsageError: the answer is at fault.
    """
    hit, _, named = _counts(y_true, y_pred, level, int(first))
    return float(np.mean(hit / np.maximum(named, 1.0)))


def set_recall(y_true: Numbers, y_pred: Numbers, level: int, first: int = FIRST_LEVEL) -> float:
    """Share of the true codes of a level that are named, mean over rows. Naming all codes gives 1."""
    hit, true, _ = _counts(y_true, y_pred, level, int(first))
    return float(np.mean(hit / true))


def set_f1(y_true: Numbers, y_pred: Numbers, level: int, first: int = FIRST_LEVEL) -> float:
    """Harmonic mean of a row's precision and recall at a level, mean over rows; 0 for a row that names none."""
    hit, true, named = _counts(y_true, y_pred, level, int(first))
    return float(np.mean(2.0 * hit / (true + named)))


def class_divergence(y_true: Numbers, y_pred: Numbers, classes: int) -> float:
    """Kullback-Leibler divergence, in nats, of the classes of the named first-level codes from those of the true ones,
    mean over rows.

    Both histograms are divided by their sums, then :data:`EPSILON` is added to every bin and nothing divided again. So
    an answer that names no code has empty bins and costs up to 23, the most there is; a class that an answer leaves
    out costs 23 times its share.

    Args:
        y_true: whether each row has each code, 0 or 1, [rows, codes].
        y_pred: score of each code in each row, above 0 where it is named, [rows, codes].
        classes: number of classes: 2 for :data:`BINARY`, 4 for :data:`QUAD`.
    """
    truth, named = _marks(y_true, y_pred)
    # Codes of a class are side by side, so that sums from the first of one class to the first of the next count them.
    starts = np.cumsum((0, *{2: BINARY, 4: QUAD}[int(classes)][:-1]))
    true, guess = (np.add.reduceat(marks[:, :FIRST_LEVEL], starts, axis=1) for marks in (truth, named))
    _require_true(true.sum(axis=1), 1)
    # An empty answer is divided by 1 and not by 0: its bins stay empty.
    p, q = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0) + EPSILON for counts in (true, guess))
    return max(float((p * np.log(p / q)).sum(axis=1).mean()), 0.0)


def filtered_reciprocal_rank(y_true: Numbers, y_pred: Numbers, first: int = FIRST_LEVEL) -> float:
    """Mean of 1 / rank over all true second-level codes, each ranked with the other true codes of its row taken out;
    they are the columns from ``first`` on.

    Equal scores share their mean rank, so the order of ties cannot matter; a code that was not named counts 0.
    """
    ranks, named = _filtered_ranks(y_true, y_pred, int(first))
    return float(np.mean(named / ranks))


def filtered_hits(y_true: Numbers, y_pred: Numbers, first: int = FIRST_LEVEL) -> float:
    """Share of all true second-level codes whose rank, that of :func:`filtered_reciprocal_rank`, is at most
    :data:`TOP`.
    """
    ranks, named = _filtered_ranks(y_true, y_pred, int(first))
    return float(np.mean(named * (ranks <= TOP)))


def first_reciprocal_rank(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean over rows of 1 / rank of the true second-level code that stands highest; 0 for a row that names none of
    them.
    """
    ranks, named = _first_ranks(y_true, y_pred)
    return float(np.mean(named / ranks))


def first_hits(y_true: Numbers, y_pred: Numbers) -> float:
    """Share of rows with a true second-level code among the first :data:`TOP`."""
    ranks, named = _first_ranks(y_true, y_pred)
    return float(np.mean(named * (ranks <= TOP)))


def best_f1(y_true: Numbers, samples: Numbers) -> float:
    """The best second-level F1 of a row's samples, mean over rows (F1, Max@K); more varied samples raise it."""
    truth, drawn = _sampled(y_true, samples)
    scores = [_f1(truth, drawn[:, :, k]) for k in range(drawn.shape[2])]
    return float(np.max(scores, axis=0).mean())


def voted_f1(y_true: Numbers, samples: Numbers, votes: float = VOTES) -> float:
    """Second-level F1 of the codes that at least ``votes`` of a row's samples name (of fewer samples, all), mean over
    rows.
    """
    truth, drawn = _sampled(y_true, samples)
    # Of a single sample, one vote is enough.
    agreed = drawn.sum(axis=2) >= min(votes, drawn.shape[2])
    return float(_f1(truth, agreed.astype(np.float64)).mean())


def _checked(y_true: Numbers, y_pred: Numbers, first: int = FIRST_LEVEL) -> tuple[Marks, Marks]:
    """Truth and answer as float64[rows, codes], after checking what every metric here asks of them."""
    truth = known("y_true", y_true, 2)
    if not ((truth == 0.0) | (truth == 1.0)).all():
        raise DataError("y_true must be 0 or 1 in every cell: whether a row has the code")
    if truth.shape[1] <= first:
        raise DataError(f"y_true has {truth.shape[1]} columns, expected {first} of first-level codes and more")
    scores = answer("y_pred", y_pred, 2)
    same_shape("y_pred", scores, truth.shape)
    if scores.min() < 0.0:
        raise UsageError("y_pred must not be negative; 0 stands for a code that was not named")
    return truth, scores


def _marks(y_true: Numbers, y_pred: Numbers, first: int = FIRST_LEVEL) -> tuple[Marks, Marks]:
    """The truth, and which codes are named, 0 or 1."""
    truth, scores = _checked(y_true, y_pred, first)
    return truth, (scores > 0.0).astype(np.float64)


def _counts(y_true: Numbers, y_pred: Numbers, level: int, first: int) -> tuple[Marks, Marks, Marks]:
    """Number of codes of each row that are both true and named, that are true, and that are named, float64[rows] each.

    Args:
        y_true: whether each row has each code, 0 or 1, [rows, codes].
        y_pred: score of each code in each row, above 0 where it is named, [rows, codes].
        level: 1 or 2 for the codes of that level; 0 for all columns.
        first: number of first-level codes, which are the first columns.
    """
    columns = (slice(None), slice(0, FIRST_LEVEL), slice(FIRST_LEVEL, None))[int(level)]
    truth, named = (marks[:, columns] for marks in _marks(y_true, y_pred, first))
    true = truth.sum(axis=1)
    _require_true(true, level)
    return (truth * named).sum(axis=1), true, named.sum(axis=1)


def _f1(truth: Marks, named: Marks) -> Marks:
    """F1 of each row at the second level."""
    truth, named = truth[:, FIRST_LEVEL:], named[:, FIRST_LEVEL:]
    scores: Marks = 2.0 * (truth * named).sum(axis=1) / (truth.sum(axis=1) + named.sum(axis=1))
    return scores


def _sampled(y_true: Numbers, samples: Numbers) -> tuple[Marks, Marks]:
    """The truth, and which codes each sample names, 0 or 1."""
    drawn = answer("samples", samples, 3)
    same_shape("samples", drawn, (*known("y_true", y_true, 2).shape, drawn.shape[2]))
    if drawn.min() < 0.0:
        raise UsageError("samples must not be negative; 0 stands for a code that was not named")
    truth, _ = _checked(y_true, drawn[:, :, 0])
    _require_true(truth[:, FIRST_LEVEL:].sum(axis=1), 2)
    return truth, (drawn > 0.0).astype(np.float64)


def _ranking(y_true: Numbers, y_pred: Numbers, first: int = FIRST_LEVEL) -> tuple[NDArray[np.bool_], Marks]:
    """The truth and the scores of the columns from ``first`` on: those of the second level."""
    truth, scores = (values[:, first:] for values in _checked(y_true, y_pred, first))
    _require_true(truth.sum(axis=1), 2 if first else 0)
    return truth == 1.0, scores


def _filtered_ranks(y_true: Numbers, y_pred: Numbers, first: int) -> tuple[Marks, NDArray[np.bool_]]:
    """Rank of every true code, and whether it was named, [true codes of all rows]."""
    truth, scores = _ranking(y_true, y_pred, first)
    ranks, named = [], []
    for true, row in zip(truth, scores, strict=True):
        # Against the codes that are not true alone; half of the ties stand before it on average.
        own, others = row[true][:, None], row[~true][None, :]
        ranks.append(1.0 + (others > own).sum(axis=1) + 0.5 * (others == own).sum(axis=1))
        named.append(row[true] > 0.0)
    return np.concatenate(ranks), np.concatenate(named)


def _first_ranks(y_true: Numbers, y_pred: Numbers) -> tuple[Marks, NDArray[np.bool_]]:
    """Rank of the true code that stands highest in each row, and whether it was named, [rows]."""
    truth, scores = _ranking(y_true, y_pred)
    best = np.where(truth, scores, 0.0).max(axis=1, keepdims=True)
    above = (~truth & (scores > best)).sum(axis=1)
    # Of wrong codes as high as it, each stands before all true ones of that height with chance 1 / (true ones + 1).
    tied = (~truth & (scores == best)).sum(axis=1) / ((truth & (scores == best)).sum(axis=1) + 1.0)
    return 1.0 + above + tied, best[:, 0] > 0.0


def _require_true(true: Marks, level: int) -> None:
    """Raise DataError unless every row has a true code, of which ``true`` has the number, [rows]."""
    if not true.all():
        at = f" of level {level}" if level else ""
        raise DataError(f"row {int(np.argmin(true > 0.0))} of y_true has no true code{at}")


_PAPER = "Ye et al. 2024 (MIRAI)"
_sets = partial(Metric, problem="codes", unit="none", range=(0.0, 1.0), direction="higher", optimum=1.0)
_sampling = partial(Metric, problem="code_samples", unit="none", range=(0.0, 1.0), direction="higher", optimum=1.0)
_items = partial(Metric, problem="items", unit="none", range=(0.0, 1.0), direction="higher", optimum=1.0)
_SUBJECTS = {1: ("first_level", "first-level codes"), 2: ("second_level", "second-level codes"), 0: ("set", "codes")}
METRICS = (
    *(
        metric
        for level, (name, subject) in _SUBJECTS.items()
        for metric in (
            _sets(
                f"{name}_precision",
                set_precision,
                description=f"share of the named {subject} that are true, mean over rows",
                source=f"{_PAPER}, section 2.2",
                parameters={"level": level},
                diagnostic=True,
                proper=False,
            ),
            _sets(
                f"{name}_recall",
                set_recall,
                description=f"share of the true {subject} that are named, mean over rows",
                source=f"{_PAPER}, section 2.2",
                parameters={"level": level},
                diagnostic=True,
                proper=False,
            ),
            _sets(
                f"{name}_f1",
                set_f1,
                description=f"harmonic mean of precision and recall of {subject}, mean over rows",
                source=f"{_PAPER}, section 2.2",
                parameters={"level": level},
            ),
        )
    ),
    *(
        Metric(
            f"{name}_kl",
            class_divergence,
            "codes",
            f"divergence of the named {name} classes from the true ones, mean over rows",
            "nats",
            f"{_PAPER}, section 2.2 (code)",
            range=(0.0, 25.0),
            parameters={"classes": classes},
            proper=False,
        )
        for name, classes in (("binary", 2), ("quad", 4))
    ),
    _sets(
        "filtered_mrr",
        filtered_reciprocal_rank,
        description="mean of 1 / rank of each true code without the other true ones",
        source=f"{_PAPER}, D.4.2; Han et al. 2021",
        differs="every true code counts, as in the filtered setting that the paper cites; its text has the first",
    ),
    _sets(
        "filtered_hits_at_10",
        filtered_hits,
        description="share of true codes with such a rank of at most 10",
        source=f"{_PAPER}, D.4.2; Han et al. 2021",
        differs="every true code counts, as in the filtered setting that the paper cites; its text has any of a row",
    ),
    _sets(
        "first_code_mrr",
        first_reciprocal_rank,
        description="mean over rows of 1 / rank of the highest true code",
        source=f"{_PAPER}, D.4.2",
    ),
    _sets(
        "first_code_hits_at_10",
        first_hits,
        description="share of rows with a true code among the first 10",
        source=f"{_PAPER}, D.4.2",
    ),
    _sampling(
        "second_level_f1_best",
        best_f1,
        description="best second-level F1 of a row's samples (Max@K), mean over rows",
        source=f"{_PAPER}, section 3.3",
        proper=False,
    ),
    _sampling(
        "second_level_f1_voted",
        voted_f1,
        description="second-level F1 of codes that two samples of a row name, mean over rows",
        source=f"{_PAPER}, section 3.3 (code)",
        parameters={"votes": VOTES},
        differs="at least two samples, as in the paper's code; its text has more than two",
    ),
    *(
        _items(
            f"item_{name}",
            function,
            description=described,
            source=f"{_PAPER}, section 2.2",
            parameters={"level": 0, "first": 0},
            diagnostic=name != "f1",
            proper=name == "f1",
        )
        for name, function, described in (
            ("precision", set_precision, "share of the named items that are true, mean over rows"),
            ("recall", set_recall, "share of the true items that are named, mean over rows"),
            ("f1", set_f1, "harmonic mean of precision and recall of items, mean over rows"),
        )
    ),
    *(
        _items(
            f"item_{name}",
            function,
            description=described,
            source=f"{_PAPER}, D.4.2; Han et al. 2021",
            parameters={"first": 0},
            differs="every true item counts, as in the filtered setting that the paper cites",
        )
        for name, function, described in (
            ("mrr", filtered_reciprocal_rank, "mean of 1 / rank of each true item without the other true ones"),
            ("hits_at_10", filtered_hits, "share of true items with such a rank of at most 10"),
        )
    ),
)
