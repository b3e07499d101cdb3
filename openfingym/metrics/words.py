"""Answers in words, each decided by rule against its reference (:mod:`openfingym.answers`).

A row is a question. The truth has a packed :class:`~openfingym.answers.Reference` in it, the answer a packed text, and
nothing but zeros is an empty answer. An answer counts where a rule finds it right; an answer of which no rule can tell
counts as not right here, and may be judged besides.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known, same_shape
from openfingym.metrics.record import Metric, RowsDrawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.answers import Reference

# A whole answer of yes or no with a probability behind it; bounded, since an agent writes it.
_CHANCE = re.compile(r"(?:yes|no) (0|1|[01]?\.[0-9]{1,40})", re.IGNORECASE)


def decided_accuracy(y_true: Numbers, y_pred: Numbers) -> float:
    """Share of the rows whose answer a rule finds right."""
    _, right = _right(y_true, y_pred)
    return float(np.mean(right))


def _decided_by_row(y_true: Numbers, y_pred: Numbers) -> RowsDrawn:
    right = np.array(_right(y_true, y_pred)[1], dtype=np.bool_)
    return lambda rows: float(np.mean(right[rows]))


def grouped_accuracy(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean over groups of the accuracy in each group, where the references state groups, and groups within groups.

    With subsets of three tiers each, it is the mean over subsets, each of which has the plain mean of its tiers,
    however many rows they have.
    """
    references, right = _right(y_true, y_pred)
    return _mean([reference.group for reference in references], right)


def _grouped_by_row(y_true: Numbers, y_pred: Numbers) -> RowsDrawn:
    references, right = _right(y_true, y_pred)
    groups = [reference.group for reference in references]
    return lambda rows: _mean([groups[row] for row in rows], [right[row] for row in rows])


def forecast_brier(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean squared distance of the forecast from what happened (Brier score).

    For a question of yes or no it is the distance of the probability of a yes from 1 or 0: the answer states it as a
    number from 0 to 1 behind the first word, as in ``NO 0.2``, or it is 1 for a yes and 0 for a no. For any other
    question it is 0 where the answer is right and 1 where it is not. An answer that says neither yes nor no has a
    distance of 1.
    """
    return float(np.mean(_distances(y_true, y_pred)))


def _brier_by_row(y_true: Numbers, y_pred: Numbers) -> RowsDrawn:
    distances = _distances(y_true, y_pred)
    return lambda rows: float(np.mean(distances[rows]))


def _distances(y_true: Numbers, y_pred: Numbers) -> NDArray[np.float64]:
    """Squared distance of each row, float64[rows]; see :func:`forecast_brier`."""
    from openfingym.answers.packing import unpack_rows

    references, right = _right(y_true, y_pred)
    texts = unpack_rows(answer("y_pred", y_pred, 2))
    return np.array([_distance(*row) for row in zip(references, right, texts, strict=True)])


def _distance(reference: Reference, right: bool, text: str) -> float:
    if len(reference.parts) != 1 or reference.parts[0].type != "yes_no":
        return 0.0 if right else 1.0
    outcome = float(bool(reference.parts[0].value))
    if stated := _CHANCE.fullmatch(text):
        return (float(stated[1]) - outcome) ** 2
    return 0.0 if right else 1.0


def references_of(y_true: Numbers) -> list[Reference]:
    """The references that a truth holds.

    Args:
        y_true: packed references, float64[rows, width].

    Raises:
        DataError: a row holds none.
    """
    # Loaded on first use: every verifier loads this module, and few score words.
    from openfingym.answers.packing import unpack_rows

    truth = known("y_true", y_true, 2)
    try:
        return [_reference(text) for text in unpack_rows(truth)]
    except UsageError as error:
        raise DataError(f"y_true holds no references: {error}") from error


def _right(y_true: Numbers, y_pred: Numbers) -> tuple[list[Reference], list[bool]]:
    """The reference of each row, and whether a rule finds its answer right."""
    from openfingym.answers import decide
    from openfingym.answers.packing import unpack_rows

    references = references_of(y_true)
    answers = answer("y_pred", y_pred, 2)
    same_shape("y_pred", answers, y_true.shape)
    pairs = zip(references, unpack_rows(answers), strict=True)
    return references, [decide(reference, text).outcome == "right" for reference, text in pairs]


# Several metrics, and every submission, read the same references.
@functools.lru_cache(maxsize=4096)
def _reference(text: str) -> Reference:
    from openfingym.answers import Reference

    return Reference.from_json(text)


def _mean(groups: Sequence[tuple[str, ...]], right: Sequence[bool]) -> float:
    """Mean over groups of the mean within each, down to rows without a group.

    Args:
        groups: the group of each row, and its groups within that.
        right: whether the answer of each row is right.
    """
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
        by_row=_decided_by_row,
        description="share of the answers in words that a rule finds right",
        source=f"{_PAPER}, section 3.3 and appendix D",
        differs="by rule alone, where the paper asks a model; what no rule can tell is not right",
    ),
    _words(
        "grouped_accuracy",
        grouped_accuracy,
        by_row=_grouped_by_row,
        description="mean over subsets of the mean over their tiers of decided_accuracy",
        source=f"{_PAPER}, Table 5",
        differs="by rule alone, where the paper asks a model; what no rule can tell is not right",
    ),
    _words(
        "forecast_brier",
        forecast_brier,
        by_row=_brier_by_row,
        description="mean squared distance of the probability stated beside yes or no from what happened; of other "
        "answers 0 if right and 1 if not",
        source="Brier 1950, and Li et al. 2026 (FinDeepForecast), equation 1",
        range=(0.0, 1.0),
        direction="lower",
        optimum=0.0,
        differs="one number of both kinds of questions, where the paper has the accuracy alone",
    ),
)
