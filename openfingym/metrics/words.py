"""Answers in words, each decided by rule against its reference (:mod:`openfingym.answers`).

A row is a question: of the truth a packed :class:`~openfingym.answers.Reference`, of the answer its packed text, in
which nothing but zeros is an empty answer. An answer counts where a rule finds it right; what no rule can tell counts
as not right here, and may be judged besides.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import partial

import numpy as np

from openfingym.answers import Reference, decide, unpack_rows
from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known, same_shape
from openfingym.metrics.record import Metric


def decided_accuracy(y_true: Numbers, y_pred: Numbers) -> float:
    """Share of the rows whose answer a rule finds right."""
    _, right = _right(y_true, y_pred)
    return float(np.mean(right))


def grouped_accuracy(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean over groups of the accuracy in each, where the references state groups within groups: of subsets with three
    tiers each, the mean of the subsets, each of which is the plain mean of its tiers, however many rows they have.
    """
    references, right = _right(y_true, y_pred)
    return _mean([reference.group for reference in references], right)


def references_of(y_true: Numbers) -> list[Reference]:
    """The references of a truth, float64[rows, width].

    Raises:
        DataError: a row holds none.
    """
    truth = known("y_true", y_true, 2)
    try:
        return [_reference(text) for text in unpack_rows(truth)]
    except UsageError as error:
        raise DataError(f"y_true holds no references: {error}") from error


def _right(y_true: Numbers, y_pred: Numbers) -> tuple[list[Reference], list[bool]]:
    references = references_of(y_true)
    given = answer("y_pred", y_pred, 2)
    same_shape("y_pred", given, y_true.shape)
    texts = unpack_rows(given)
    return references, [decide(one, text).outcome == "right" for one, text in zip(references, texts, strict=True)]


@functools.lru_cache(maxsize=4096)
def _reference(text: str) -> Reference:
    return Reference.from_json(text)


def _mean(groups: Sequence[tuple[str, ...]], right: Sequence[bool]) -> float:
    if not any(groups):
        return float(np.mean(right))
    within: dict[str, tuple[list[tuple[str, ...]], list[bool]]] = {}
    for group, hit in zip(groups, right, strict=True):
        rests, hits = within.setdefault(group[0] if group else "", ([], []))
        rests.append(group[1:])
        hits.append(hit)
    return float(np.mean([_mean(rests, hits) for rests, hits in within.values()]))


_words = partial(Metric, problem="words", unit="none", range=(0.0, 1.0), direction="higher", optimum=1.0)
_PAPER = "Hu et al. 2025 (FinSearchComp)"
METRICS = (
    _words(
        "decided_accuracy",
        decided_accuracy,
        description="share of the answers in words that a rule finds right",
        source=f"{_PAPER}, section 3.3 and appendix D",
        differs="by rule alone, where the paper asks a model; what no rule can tell is not right",
    ),
    _words(
        "grouped_accuracy",
        grouped_accuracy,
        description="mean over subsets of the mean over their tiers of decided_accuracy",
        source=f"{_PAPER}, Table 5",
        differs="by rule alone, where the paper asks a model; what no rule can tell is not right",
    ),
)
