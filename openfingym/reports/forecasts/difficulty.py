"""Losses adjusted for the difficulty of questions: effects of forecasters and of questions, fitted together.

The model is loss = forecaster + question + noise, fitted by least squares with a dummy of every forecaster and every
question (two-way fixed effects, as ForecastBench publishes them). A forecaster that answered easy questions alone has
a low mean loss, but no lower effect. Question effects are eliminated, which leaves one equation for each forecaster,
however many questions there are; it is a sum over blocks, so that a bootstrap replicate costs no more than adding them
up.

A forecaster that answers anything in a round takes part in it, and is asked all of its questions. A question that it
leaves out counts as the naive forecast (0.5, or the price as it was; if there is none, the mean of those who answered),
so that nobody gains by answering only what is easy. Then all questions of a round have the same forecasters, and a
round enters the model as one question with as many votes, which is the same fit.

Forecasters are only compared if a chain of common questions connects them: otherwise their effects differ by a constant
that no data determine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import Forecasts
    from openfingym.reports.forecasts.sums import QuestionBlocks

    Floats = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]


MOST_SETS = 50_000
"""Most questions that are added up at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The normal equations for the effects of A forecasters, in a part for each of T blocks in which one of them was
    asked something.
    """

    matrix: Floats
    """Matrix of the equations, float64[T, A, A]."""
    right: Floats
    """Right side of the equations, float64[T, A]."""
    share: Floats
    """Weight with which each forecaster's effect is subtracted from the sum of question effects, float64[T, A]."""
    loss: Floats
    """Sum over questions of the mean loss, float64[T]."""
    questions: Floats
    """Number of questions, float64[T]."""
    difference: Floats
    """Sum of the loss of one forecaster minus that of another over the questions that both were asked,
    float64[T, A, A]."""
    common: Floats
    """Number of questions that both were asked, float64[T, A, A]; on the diagonal, of those that one was asked."""


def normal_equations(
    forecasts: Forecasts, compared: Places, blocks: QuestionBlocks, attended: NDArray[np.bool_]
) -> NormalEquations:
    """Set up the equations of the forecasters that are compared.

    Args:
        forecasts: the forecasts of one track, of all forecasters.
        compared: indices of the forecasters that are compared, int64[A].
        blocks: the blocks of the questions.
        attended: whether each forecaster takes part in each round, by the code of the round, bool[forecasters, rounds].
    """
    questions = len(blocks.codes)
    filled = _left_out(forecasts, questions)
    scored = np.bincount(forecasts.question, minlength=questions) > 0
    place = np.full(len(forecasts.forecasters), -1, dtype=np.int64)
    place[compared] = np.arange(len(compared))
    # Their forecasts, sorted by block, so that each block has a stretch of them.
    mine = np.flatnonzero(place[forecasts.forecaster] >= 0)
    mine = mine[np.argsort(blocks.codes[forecasts.question[mine]], kind="stable")]
    who, question = place[forecasts.forecaster[mine]], forecasts.question[mine]
    loss = forecasts.weight[mine] * forecasts.loss[mine]
    # In a round, a forecaster loses what counts for leaving all its questions out, plus the excess of its forecasts.
    excess = loss - forecasts.weight[mine] * filled[question]
    size = np.bincount(blocks.codes[scored], minlength=len(blocks.names)).astype(np.float64)
    base = np.bincount(blocks.codes[scored], weights=filled[scored], minlength=len(blocks.names))
    ends = np.cumsum(np.bincount(blocks.codes[question], minlength=len(blocks.names)))
    parts = []
    for block, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if blocks.rounds[block] >= 0:
            there = attended[compared, blocks.rounds[block]]
            lost = np.bincount(who[begin:end], weights=excess[begin:end], minlength=len(compared)) + base[block]
            if size[block] and there.any():
                parts.append(_of_sets(there[:, None] * 1.0, lost[:, None] / size[block], size[block : block + 1]))
        elif end > begin:
            parts.append(_of_week(who[begin:end], question[begin:end], loss[begin:end], len(compared)))
    return NormalEquations(*(np.array(values) for values in zip(*parts, strict=True)))


def _of_week(who: Places, question: Places, loss: Floats, forecasters: int) -> tuple[Any, ...]:
    """The parts of :class:`NormalEquations` for questions of no round, each of which is a set of its own."""
    asked, local = np.unique(question, return_inverse=True)
    whole: tuple[Any, ...] = ()
    for start in range(0, len(asked), MOST_SETS):
        rows = np.flatnonzero((local >= start) & (local < start + MOST_SETS))
        count = min(MOST_SETS, len(asked) - start)
        cell = who[rows] * count + local[rows] - start
        there = np.bincount(cell, minlength=forecasters * count).reshape(forecasters, count) > 0
        lost = np.bincount(cell, loss[rows], forecasters * count).reshape(forecasters, count).astype(np.float64)
        part = _of_sets(there.astype(np.float64), lost, np.ones(count))
        whole = tuple(before + more for before, more in zip(whole, part, strict=True)) if whole else part
    return whole


def _left_out(forecasts: Forecasts, questions: int) -> Floats:
    """The loss that counts for a forecaster that leaves a question out, float64[questions]: that of the naive forecast
    or, if there is none, the mean of those who answered.
    """
    priced = np.isfinite(forecasts.naive_loss)
    naive = np.bincount(forecasts.question, weights=np.where(priced, forecasts.naive_loss, 0.0), minlength=questions)
    times = np.bincount(forecasts.question, weights=priced.astype(np.float64), minlength=questions)
    mean = np.bincount(forecasts.question, weights=forecasts.loss, minlength=questions)
    count = np.bincount(forecasts.question, minlength=questions)
    return np.asarray(np.where(times > 0, naive / np.maximum(times, 1), mean / np.maximum(count, 1)))


def _of_sets(there: Floats, loss: Floats, votes: Floats) -> tuple[Floats, Floats, Floats, float, float, Floats, Floats]:
    """The parts of :class:`NormalEquations` for sets of questions.

    Args:
        there: 1 for each forecaster that was asked a set, else 0, float64[A, sets].
        loss: mean loss of each forecaster in each set, float64[A, sets].
        votes: number of questions of each set, float64[sets].
    """
    count = there.sum(axis=0)
    loss = there * loss
    mean = loss.sum(axis=0) / count
    share = there * (votes / count)
    common = (there * votes) @ there.T
    lost = (loss * votes) @ there.T
    return (
        np.diag(share @ count) - share @ there.T,
        (loss * votes).sum(axis=1) - (there * votes) @ mean,
        share.sum(axis=1),
        float(votes @ mean),
        float(votes.sum()),
        lost - lost.T,
        common,
    )


def components(common: Floats) -> list[Places]:
    """Groups of forecasters that common questions connect, the largest first, without those that were asked nothing.

    Args:
        common: number of questions that both were asked, float64[A, A].

    Returns:
        The indices of the forecasters of each group.
    """
    linked = common > 0.0
    if linked.all():
        return [np.arange(len(linked))]
    left, groups = set(np.flatnonzero(linked.diagonal()).tolist()), []
    while left:
        # From one forecaster to all that it shares a question with, until nobody is added.
        reached: NDArray[Any] = np.zeros(len(linked), dtype=np.bool_)
        reached[min(left)] = True
        while (more := np.asarray(linked[reached].any(axis=0))).sum() > reached.sum():
            reached = more
        groups.append(np.flatnonzero(reached))
        left -= set(groups[-1].tolist())
    return sorted(groups, key=len, reverse=True)


def drawn(equations: NormalEquations, counts: Floats) -> NormalEquations:
    """The equations of bootstrap replicates.

    Args:
        equations: the equations, with a part for each block.
        counts: how often each block is in each replicate, float64[replicates, blocks].

    Returns:
        Equations with a part for each replicate.
    """
    return NormalEquations(
        *(np.tensordot(counts, getattr(equations, entry.name), 1) for entry in fields(NormalEquations))
    )


def adjusted(equations: NormalEquations) -> Floats:
    """The mean loss that each forecaster would have on all questions: its effect plus the mean effect of the questions.

    Args:
        equations: normal equations of connected forecasters; each part is solved by itself.

    Returns:
        The losses, float64[T, A]: NaN for a forecaster that was asked nothing in a part, and for all if the others are
        not connected in it.
    """
    losses = np.full(equations.right.shape, np.nan)
    for part, matrix in enumerate(equations.matrix):
        groups = components(equations.common[part])
        if len(groups) == 1:
            kept = groups[0]
            # Effects are determined up to a constant, so that the matrix is singular along ones. To add a constant to
            # all its entries picks one solution; the choice cancels, since question effects change by the opposite.
            level = float(matrix.diagonal().mean()) or 1.0
            effects = np.linalg.solve(matrix[np.ix_(kept, kept)] + level, equations.right[part, kept])
            of_questions = equations.loss[part] - equations.share[part, kept] @ effects
            losses[part, kept] = effects + of_questions / equations.questions[part]
    return losses
