"""Losses adjusted for what was asked: the effects of forecasters and questions, together.

The model is loss = forecaster + question + noise, fitted by least squares with a dummy of every forecaster and every
question (two-way fixed effects, as ForecastBench publishes them). Who answered easy questions alone has a low mean and
no lower effect. Question effects are eliminated, which leaves one equation a forecaster however many questions there are:
they are sums over blocks, so that a bootstrap replicate costs no more than their sum.

Whoever takes part in a round is asked all of its questions. One that it leaves out counts as the naive forecast of it
(0.5, or the price as it was; where there is none, the mean of those who answered), so that nobody gains by answering
what it finds easy. All questions of a round have then the same forecasters, and a round enters the model as one
question with as many votes, which is the same fit.

Forecasters are only compared where a chain of common questions connects them: others differ by a number that no data
tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.reading import Forecasts
    from openfingym.reports.forecasts.sums import Blocks

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


MOST_SETS = 50_000
"""Questions at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Normal:
    """The equations of forecasters, a part for each block in which one of them was asked something; with A forecasters and T blocks."""

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


def normal_equations(found: Forecasts, forecasters: Places, blocks: Blocks) -> Normal:
    """The equations of some forecasters.

    Args:
        found: forecasts of one track, of all forecasters.
        forecasters: int64[A], places of those who are compared.
        blocks: the blocks of the questions.
    """
    questions = len(blocks.codes)
    filled = _left_out(found, questions)
    scored = np.bincount(found.question, minlength=questions) > 0
    # Of a round, what is asked is a set; a question of no round is one of its own.
    first = np.full(len(blocks.names), questions, dtype=np.int64)
    np.minimum.at(first, blocks.codes, np.arange(questions))
    sets = np.where(blocks.round, first[blocks.codes], np.arange(questions))
    size = np.bincount(sets[scored], minlength=questions).astype(np.float64)
    base = np.bincount(sets[scored], weights=filled[scored], minlength=questions)

    place = np.full(len(found.forecasters), -1, dtype=np.int64)
    place[forecasters] = np.arange(len(forecasters))
    who = place[found.forecaster]
    mine = np.flatnonzero(who >= 0)
    block = blocks.codes[found.question[mine]]
    mine = mine[np.argsort(block, kind="stable")]
    who, question = who[mine], found.question[mine]
    excess = found.weight[mine] * (found.loss[mine] - filled[question])
    ends = np.cumsum(np.bincount(block, minlength=len(blocks.names)))
    parts = []
    for end, begin in zip(ends, [0, *ends[:-1]], strict=True):
        asked, local = np.unique(sets[question[begin:end]], return_inverse=True)
        part: tuple[Any, ...] = _of_sets(np.zeros((len(forecasters), 0)), np.zeros((len(forecasters), 0)), np.zeros(0))
        for start in range(0, len(asked), MOST_SETS):
            some = asked[start : start + MOST_SETS]
            rows = np.flatnonzero((local >= start) & (local < start + MOST_SETS)) + begin
            cell = who[rows] * len(some) + local[rows - begin] - start
            shape = (len(forecasters), len(some))
            there = (np.bincount(cell, minlength=shape[0] * shape[1]) > 0).reshape(shape)
            loss = np.bincount(cell, weights=excess[rows], minlength=shape[0] * shape[1]).reshape(shape)
            more = _of_sets(there.astype(np.float64), (loss + base[some]) / size[some], size[some])
            part = tuple(one + other for one, other in zip(part, more, strict=True))
        parts.append(part)
    # Blocks in which none of them was asked anything are none of theirs.
    parts = [part for part in parts if part[4] > 0.0]
    return Normal(*(np.array(values) for values in zip(*parts, strict=True)))


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
    left, groups = set(np.flatnonzero(linked.diagonal()).tolist()), []
    while left:
        reached = np.zeros(len(linked), dtype=np.bool_)
        reached[min(left)] = True
        while (more := linked[reached].any(axis=0)).sum() > reached.sum():
            reached = more
        groups.append(np.flatnonzero(reached))
        left -= set(groups[-1].tolist())
    return sorted(groups, key=len, reverse=True)


def adjusted(equations: Normal, counts: Floats | None = None) -> Floats:
    """What each forecaster would lose on all questions: its effect, and the mean of the questions' effects.

    Args:
        equations: of forecasters who are connected.
        counts: float64[T], how often each block counts; once by default.

    Returns:
        float64[A]; NaN of who was asked nothing in the blocks that count, and of all where the others are not
        connected by what is left.
    """
    times = np.ones(len(equations.loss)) if counts is None else counts
    matrix = np.tensordot(times, equations.matrix, 1)
    groups = components(np.tensordot(times, equations.common, 1))
    found = np.full(len(matrix), np.nan)
    if len(groups) != 1:
        return found
    kept = groups[0]
    # The effects are known but for a constant; any will do, since the questions' effects take it off again.
    level = float(matrix.diagonal().mean()) or 1.0
    effects = np.linalg.solve(matrix[np.ix_(kept, kept)] + level, (times @ equations.right)[kept])
    of_questions = float(times @ equations.loss) - float((times @ equations.share)[kept] @ effects)
    found[kept] = effects + of_questions / float(times @ equations.questions)
    return found
