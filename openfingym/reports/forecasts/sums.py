"""Sums of the losses of forecasts by forecaster and stratum, from which every figure of a report is computed.

A *stratum* is all questions of one category, market, horizon, week and block, so that figures by any of them are sums
over strata. A *block* is a round or, for questions of no round, the week of their deadline. Blocks are resampled as a
whole, since what happens in one affects all of its questions.
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
"""Probabilities are moved into [0.001, 0.999] for the log score, which is then at most 6.9. Otherwise a single event
that came although it was called impossible would make it infinite, whatever else was forecast."""
ROUNDING = 1e-9
"""Difference of probabilities that may be due to rounding alone."""
DIMENSIONS = ("category", "market", "horizon", "week")
"""By what reports show figures on parts of the questions."""


@dataclass(frozen=True, eq=False)
class QuestionBlocks:
    """The blocks of questions, in order of time."""

    names: tuple[str, ...]
    """Names of the rounds or weeks that the blocks are."""
    codes: Places
    """Index of the block of each question, int32[questions]."""
    rounds: Places
    """Code of the round that each block is, int32[blocks]; -1 for a week."""
    overlap: int
    """How many blocks begin from the beginning of one until a typical question of it is resolved, that one included."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the forecasts of each forecaster in each stratum, a *cell*. Attempts at one question count together as
    one forecast. Sums are float64[cells].
    """

    forecaster: Places
    """Index of the forecaster of each cell, int32[cells]."""
    stratum: Places
    """Index of the stratum of each cell, int32[cells]."""
    strata: Places
    """Codes of category, market, horizon, week and block of each stratum, int64[strata, 5]."""
    count: Floats
    """Number of forecasts."""
    loss: Floats
    """Sum of losses."""
    judged: Floats
    """Number of forecasts that count as correct or not."""
    correct: Floats
    """Number of correct forecasts."""
    naive_count: Floats
    """Number of forecasts of questions that have a naive forecast."""
    naive_loss: Floats
    """Sum of the losses of these naive forecasts."""
    with_naive: Floats
    """Sum of the losses of the forecasts of the same questions."""
    market_count: Floats
    """Number of forecasts of questions about which the market showed something."""
    market_loss: Floats
    """Sum of the losses of what the market showed."""
    with_market: Floats
    """Sum of the losses of the forecasts of the same questions."""
    log_count: Floats
    """Number of forecasts that are the probability of one event."""
    log_score: Floats
    """Sum of their log scores."""
    price_square: Floats
    """Sum of (p - m)^2 over events that came or did not, with p the forecast and m the probability that the market
    showed."""
    price_product: Floats
    """Sum of (p - m)(y - m) over the same events, with y 1 if the event came, else 0."""

    def codes(self, dimension: str) -> Places:
        """The code of each cell in one of :data:`DIMENSIONS` or in ``block``."""
        column: Places = self.strata[self.stratum, (*DIMENSIONS, "block").index(dimension)]
        return column


def blocks_of(questions: ScoredQuestions) -> QuestionBlocks:
    """Divide questions into blocks."""
    in_round = np.array([bool(name) for name in questions.round.names], dtype=np.bool_)[questions.round.codes]
    # Weeks are numbered after all rounds.
    block = np.where(in_round, questions.round.codes, len(questions.round.names) + questions.week.codes)
    kept, codes = np.unique(block, return_inverse=True)
    begin = np.full(len(kept), np.iinfo(np.int64).max)
    np.minimum.at(begin, codes, questions.deadline_ns)
    order = np.argsort(begin, kind="stable")
    names = [*questions.round.names, *questions.week.names]
    # The inverse of the order is the place of each block in it.
    codes = np.argsort(order)[codes]
    reached = np.searchsorted(begin[order], questions.evaluation_ns) - codes
    overlap = max(1, int(np.median(reached))) if len(codes) else 1
    rounds = np.where(kept < len(questions.round.names), kept, -1)[order]
    return QuestionBlocks(tuple(names[kept[place]] for place in order), codes, rounds, overlap)


def sums_of(forecasts: Forecasts, blocks: QuestionBlocks) -> Sums:
    """Add up forecasts by forecaster and stratum."""
    asked = forecasts.questions
    coded = (asked.category, asked.market, asked.horizon, asked.week)
    strata, stratum = _strata([*coded, blocks], len(asked.deadline_ns))
    cells, cell = _cells(forecasts, stratum, len(strata))

    def total(values: Floats) -> Floats:
        return cast("Floats", np.bincount(cell, weights=values, minlength=len(cells)))

    def paired(other: Floats) -> tuple[Floats, Floats, Floats]:
        there = np.isfinite(other)
        if there.all():
            return count, total(weight * other), loss
        return (
            total(weight * there),
            total(np.where(there, weight * other, 0.0)),
            total(weight * forecasts.loss * there),
        )

    weight, judged = forecasts.weight, np.isfinite(forecasts.correct)
    count, loss = total(weight), total(weight * forecasts.loss)
    events = is_event(forecasts)
    y = asked.truth[forecasts.question]
    p = np.clip(forecasts.p, SMALLEST, 1.0 - SMALLEST)
    with np.errstate(invalid="ignore"):
        log_score = np.where(events, -weight * (y * np.log(p) + (1.0 - y) * np.log1p(-p)), 0.0)
        # The ledger has the market's loss (m - y)^2, from which its probability m follows if y is 0 or 1.
        priced = events & ((y == 0.0) | (y == 1.0)) & np.isfinite(forecasts.market_loss)
        m = y + (1.0 - 2.0 * y) * np.sqrt(forecasts.market_loss)
        # A forecast that repeats the price differs from it by rounding, from which no weight should be estimated.
        beside = np.where(priced & (np.abs(forecasts.p - m) > ROUNDING), forecasts.p - m, 0.0)
        square = weight * beside * beside
        product = np.where(priced, weight * beside * (y - m), 0.0)
    return Sums(
        (cells // len(strata)).astype(np.int32) if len(strata) else cells.astype(np.int32),
        (cells % len(strata)).astype(np.int32) if len(strata) else cells.astype(np.int32),
        strata,
        count,
        loss,
        total(weight * judged),
        total(np.where(judged, weight * forecasts.correct, 0.0)),
        *paired(forecasts.naive_loss),
        *paired(forecasts.market_loss),
        total(weight * events),
        total(log_score),
        total(square),
        total(product),
    )


def is_event(forecasts: Forecasts) -> NDArray[np.bool_]:
    """Whether each forecast is the probability of one event, bool[forecasts]."""
    form = forecasts.questions.form
    probability = np.array([name == "probability" for name in form.names], dtype=np.bool_)
    return np.asarray(
        probability[form.codes[forecasts.question]] if len(form.names) else np.zeros(forecasts.count, np.bool_)
    )


def _strata(coded: list[Coded | QuestionBlocks], questions: int) -> tuple[Places, Places]:
    """The combinations of codes that occur, int64[strata, columns], and the index of each question's combination."""
    key = np.zeros(questions, dtype=np.int64)
    for column in coded:
        # Renumbered at each step, so that the key cannot outgrow 64 bits.
        _, key = np.unique(key * max(len(column.names), 1) + column.codes, return_inverse=True)
    kept, first, stratum = np.unique(key, return_index=True, return_inverse=True)
    strata = np.array([column.codes[first] for column in coded], dtype=np.int64).T.reshape(len(kept), len(coded))
    return strata, stratum.astype(np.int32)


def _cells(forecasts: Forecasts, stratum: Places, strata: int) -> tuple[Places, Places]:
    """The codes of the cells that hold forecasts (forecaster times strata plus stratum), and the index of each
    forecast's cell.
    """
    code = forecasts.forecaster * np.int64(strata) + stratum[forecasts.question]
    size = strata * len(forecasts.forecasters)
    # Counting is faster than sorting, unless few of all cells hold forecasts.
    if size > 4 * len(code) + 1000:
        cells, cell = np.unique(code, return_inverse=True)
        return cells, cell
    there = np.bincount(code, minlength=size) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[code]
