"""Losses adjusted for what was asked: the effects of forecasters and questions, together.

The model is loss = forecaster + question + noise, fitted by least squares with a dummy of every forecaster and every
question (two-way fixed effects, as ForecastBench publishes them). Who answered easy questions alone has a low mean
and no lower effect. Question effects are eliminated, which leaves one equation a forecaster however many questions
there are; it is a sum over blocks, so that a bootstrap replicate costs no more than adding them up.

Whoever answers anything in a round takes part in it, and is asked all of its questions. One that it leaves out counts
as the naive forecast of it (0.5, or the price as it was; where there is none, the mean of those who answered), so that
nobody gains by answering what it finds easy. All questions of a round have then the same forecasters, and a round
enters the model as one question with as many votes, which is the same fit.

Forecasters are only compared where a chain of common questions connects them: others differ by a number that no data
tells.
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
"""Questions at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Normal:
    """The equations of A forecasters, a part for each of T blocks in which one of them was asked something."""

    matrix: Floats
    """float64[T, A, A]"""
    right: Floats
    """float64[T, A]"""
    share: Floats
    """float64[T, A]: what a forecaster's effect takes off the sum of question effects."""
    loss: Floats
    """float64[T]: sum over questions of the mean loss."""
    questions: Floats
    """float64[T]: number of questions."""
    difference: Floats
    """float64[T, A, A]: sum over the questions that both were asked of the loss of one less that of the other."""
    common: Floats
    """float64[T, A, A]: number of those; on the diagonal, of the questions that one was asked."""


def normal_equations(
    found: Forecasts, forecasters: Places, blocks: QuestionBlocks, attended: NDArray[np.bool_]
) -> Normal:
    """The equations of some forecasters.

    Args:
        found: forecasts of one track, of all forecasters.
        forecasters: int64[A], places of those who are compared.
        blocks: the blocks of the questions.
        attended: bool[forecasters, rounds], who takes part in which round, by its code.
    """
    questions = len(blocks.codes)
    filled = _left_out(found, questions)
    scored = np.bincount(found.question, minlength=questions) > 0
    place = np.full(len(found.forecasters), -1, dtype=np.int64)
    place[forecasters] = np.arange(len(forecasters))
    mine = np.flatnonzero(place[found.forecaster] >= 0)
    mine = mine[np.argsort(blocks.codes[found.question[mine]], kind="stable")]
    who, question = place[found.forecaster[mine]], found.question[mine]
    loss = found.weight[mine] * found.loss[mine]
    excess = loss - found.weight[mine] * filled[question]
    size = np.bincount(blocks.codes[scored], minlength=len(blocks.names)).astype(np.float64)
    base = np.bincount(blocks.codes[scored], weights=filled[scored], minlength=len(blocks.names))
    ends = np.cumsum(np.bincount(blocks.codes[question], minlength=len(blocks.names)))
    parts = []
    for block, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if blocks.rounds[block] >= 0:
            there = attended[forecasters, blocks.rounds[block]]
            lost = np.bincount(who[begin:end], weights=excess[begin:end], minlength=len(forecasters)) + base[block]
            if size[block] and there.any():
                parts.append(_of_sets(there[:, None] * 1.0, lost[:, None] / size[block], size[block : block + 1]))
        elif end > begin:
            parts.append(_of_week(who[begin:end], question[begin:end], loss[begin:end], len(forecasters)))
    return Normal(*(np.array(values) for values in zip(*parts, strict=True)))


def _of_week(who: Places, question: Places, loss: Floats, forecasters: int) -> tuple[Any, ...]:
    """The parts of questions of no round, each of which is a set of its own."""
    asked, local = np.unique(question, return_inverse=True)
    whole: tuple[Any, ...] = ()
    for start in range(0, len(asked), MOST_SETS):
        rows = np.flatnonzero((local >= start) & (local < start + MOST_SETS))
        count = min(MOST_SETS, len(asked) - start)
        cell = who[rows] * count + local[rows] - start
        there = np.bincount(cell, minlength=forecasters * count).reshape(forecasters, count) > 0
        lost = np.bincount(cell, loss[rows], forecasters * count).reshape(forecasters, count).astype(np.float64)
        part = _of_sets(there.astype(np.float64), lost, np.ones(count))
        whole = tuple(one + more for one, more in zip(whole, part, strict=True)) if whole else part
    return whole


def _left_out(found: Forecasts, questions: int) -> Floats:
    """float64[questions]: the loss that counts for whoever leaves a question out."""
    priced = np.isfinite(found.naive_loss)
    naive = np.bincount(found.question, weights=np.where(priced, found.naive_loss, 0.0), minlength=questions)
    times = np.bincount(found.question, weights=priced.astype(np.float64), minlength=questions)
    mean = np.bincount(found.question, weights=found.loss, minlength=questions)
    count = np.bincount(found.question, minlength=questions)
    return np.asarray(np.where(times > 0, naive / np.maximum(times, 1), mean / np.maximum(count, 1)))


def _of_sets(there: Floats, loss: Floats, votes: Floats) -> tuple[Floats, Floats, Floats, float, float, Floats, Floats]:
    """The parts of :class:`Normal` of some sets, from who was asked and lost what in each set: float64[A, sets]."""
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
    """Forecasters by who is connected with whom, the largest group first; without those who were asked nothing.

    Args:
        common: float64[A, A], number of questions that both were asked.
    """
    linked = common > 0.0
    if linked.all():
        return [np.arange(len(linked))]
    left, groups = set(np.flatnonzero(linked.diagonal()).tolist()), []
    while left:
        reached: NDArray[Any] = np.zeros(len(linked), dtype=np.bool_)
        reached[min(left)] = True
        while (more := np.asarray(linked[reached].any(axis=0))).sum() > reached.sum():
            reached = more
        groups.append(np.flatnonzero(reached))
        left -= set(groups[-1].tolist())
    return sorted(groups, key=len, reverse=True)


def drawn(equations: Normal, counts: Floats) -> Normal:
    """The equations of replicates, each in the place of a block.

    Args:
        equations: with a part for each block.
        counts: float64[replicates, blocks], how often each block is in each replicate.
    """
    return Normal(*(np.tensordot(counts, getattr(equations, one.name), 1) for one in fields(Normal)))


def adjusted(equations: Normal) -> Floats:
    """What each forecaster would lose on all questions: its effect, and the mean of the questions' effects.

    Args:
        equations: normal equations of forecasters who are connected; each part is solved for itself.

    Returns:
        float64[T, A]; NaN of who was asked nothing, and of all where the others are not connected.
    """
    found = np.full(equations.right.shape, np.nan)
    for part, matrix in enumerate(equations.matrix):
        groups = components(equations.common[part])
        if len(groups) == 1:
            kept = groups[0]
            # The effects are known but for a constant; any will do, since the questions' effects take it off again.
            level = float(matrix.diagonal().mean()) or 1.0
            effects = np.linalg.solve(matrix[np.ix_(kept, kept)] + level, equations.right[part, kept])
            of_questions = equations.loss[part] - equations.share[part, kept] @ effects
            found[part, kept] = effects + of_questions / equations.questions[part]
    return found
