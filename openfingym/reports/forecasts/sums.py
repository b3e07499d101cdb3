"""Sums of what forecasts lost, by forecaster and stratum, of which every figure of a report is made.

A *stratum* is all questions of one category, market, horizon, week and block, so that no figure needs the forecasts
again. A *block* is a round or, of questions of none, the week of their deadline: what is drawn as a whole, since what
happens in one happens to all of its questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import Coded, Forecasts, ScoredQuestions

    Floats = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]

SMALLEST = 0.001
"""Probabilities are moved into [0.001, 0.999] for the log score, which is then at most 6.9; of one question that was
called impossible it would be infinite, whatever else was forecast."""
ROUNDING = 1e-9
DIMENSIONS = ("category", "market", "horizon", "week")


@dataclass(frozen=True, eq=False)
class QuestionBlocks:
    """The blocks that questions are in, in order of time."""

    names: tuple[str, ...]
    codes: Places
    """int32[questions]"""
    rounds: Places
    """int32[blocks]: code of the round, whose questions all who take part in it are asked; -1 of weeks."""
    overlap: int
    """How many blocks begin before a typical question of one is resolved, and the block itself."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over forecasts; arrays are float64[cells], a cell being a forecaster and a stratum. Attempts at one question
    add up to one.
    """

    forecaster: Places
    stratum: Places
    strata: Places
    """int64[strata, 5]: category, market, horizon, week and block of each."""
    count: Floats
    loss: Floats
    judged: Floats
    """Number of forecasts that are correct or false."""
    correct: Floats
    naive_count: Floats
    naive_loss: Floats
    with_naive: Floats
    """Loss of the forecasts beside which there is a naive one; so of the next three with the market's."""
    market_count: Floats
    market_loss: Floats
    with_market: Floats
    log_count: Floats
    """Number of probabilities of one event."""
    log_score: Floats
    price_square: Floats
    """Sum of (p - m)^2 over events that came or did not, with m the probability that the market showed."""
    price_product: Floats
    """Sum of (p - m)(y - m)."""

    def codes(self, dimension: str) -> Places:
        """Of each cell, the code of one of :data:`DIMENSIONS` or of ``block``."""
        column: Places = self.strata[self.stratum, (*DIMENSIONS, "block").index(dimension)]
        return column


def blocks_of(questions: ScoredQuestions) -> QuestionBlocks:
    """The blocks of questions."""
    in_round = np.array([bool(name) for name in questions.round.names], dtype=np.bool_)[questions.round.codes]
    found = np.where(in_round, questions.round.codes, len(questions.round.names) + questions.week.codes)
    kept, codes = np.unique(found, return_inverse=True)
    begin = np.full(len(kept), np.iinfo(np.int64).max)
    np.minimum.at(begin, codes, questions.deadline_ns)
    order = np.argsort(begin, kind="stable")
    names = [*questions.round.names, *questions.week.names]
    codes = np.argsort(order)[codes]
    reached = np.searchsorted(begin[order], questions.evaluation_ns) - codes
    overlap = max(1, int(np.median(reached))) if len(codes) else 1
    rounds = np.where(kept < len(questions.round.names), kept, -1)[order]
    return QuestionBlocks(tuple(names[kept[one]] for one in order), codes, rounds, overlap)


def sums_of(found: Forecasts, blocks: QuestionBlocks) -> Sums:
    """Add up forecasts."""
    asked = found.questions
    coded = (asked.category, asked.market, asked.horizon, asked.week)
    strata, stratum = _strata([*coded, blocks], len(asked.deadline_ns))
    cells, cell = _cells(found, stratum, len(strata))

    def total(values: Floats) -> Floats:
        return cast("Floats", np.bincount(cell, weights=values, minlength=len(cells)))

    def paired(other: Floats) -> tuple[Floats, Floats, Floats]:
        there = np.isfinite(other)
        if there.all():
            return count, total(weight * other), loss
        return total(weight * there), total(np.where(there, weight * other, 0.0)), total(weight * found.loss * there)

    weight, judged = found.weight, np.isfinite(found.correct)
    count, loss = total(weight), total(weight * found.loss)
    events = is_event(found)
    y = asked.truth[found.question]
    p = np.clip(found.p, SMALLEST, 1.0 - SMALLEST)
    with np.errstate(invalid="ignore"):
        log_score = np.where(events, -weight * (y * np.log(p) + (1.0 - y) * np.log1p(-p)), 0.0)
        # The loss of the market's probability is (m - y)^2, from which m follows where y is 0 or 1.
        priced = events & ((y == 0.0) | (y == 1.0)) & np.isfinite(found.market_loss)
        m = y + (1.0 - 2.0 * y) * np.sqrt(found.market_loss)
        # A forecast that is the price differs from it by rounding.
        beside = np.where(priced & (np.abs(found.p - m) > ROUNDING), found.p - m, 0.0)
        square = weight * beside * beside
        product = np.where(priced, weight * beside * (y - m), 0.0)
    return Sums(
        (cells // len(strata)).astype(np.int32) if len(strata) else cells.astype(np.int32),
        (cells % len(strata)).astype(np.int32) if len(strata) else cells.astype(np.int32),
        strata,
        count,
        loss,
        total(weight * judged),
        total(np.where(judged, weight * found.correct, 0.0)),
        *paired(found.naive_loss),
        *paired(found.market_loss),
        total(weight * events),
        total(log_score),
        total(square),
        total(product),
    )


def is_event(found: Forecasts) -> NDArray[np.bool_]:
    """Whether a forecast is the probability of one event."""
    form = found.questions.form
    probability = np.array([name == "probability" for name in form.names], dtype=np.bool_)
    return np.asarray(probability[form.codes[found.question]] if len(form.names) else np.zeros(found.count, np.bool_))


def _strata(coded: list[Coded | QuestionBlocks], questions: int) -> tuple[Places, Places]:
    """The combinations of codes that there are, and which each question has."""
    key = np.zeros(questions, dtype=np.int64)
    for one in coded:
        # Renumbered at each step, so that the key cannot outgrow 64 bits.
        _, key = np.unique(key * max(len(one.names), 1) + one.codes, return_inverse=True)
    kept, first, stratum = np.unique(key, return_index=True, return_inverse=True)
    strata = np.array([one.codes[first] for one in coded], dtype=np.int64).T.reshape(len(kept), len(coded))
    return strata, stratum.astype(np.int32)


def _cells(found: Forecasts, stratum: Places, strata: int) -> tuple[Places, Places]:
    """Codes of the cells that hold forecasts (forecaster times strata plus stratum), and the place of each one's."""
    code = found.forecaster * np.int64(strata) + stratum[found.question]
    size = strata * len(found.forecasters)
    if size > 4 * len(code) + 1000:
        cells, cell = np.unique(code, return_inverse=True)
        return cells, cell
    there = np.bincount(code, minlength=size) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[code]
