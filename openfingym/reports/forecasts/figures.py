"""Figures on sets of forecasts: of each forecaster, on all questions and on parts of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.reports.forecasts.sums import DIMENSIONS, Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId, Forecasts

    Floats = NDArray[np.float64]

MOST_VALUES = 60
"""Most categories, markets and weeks that are told apart: those with most forecasts, or the latest weeks."""
OTHERS = "others"
"""Name of the part of all others."""


@dataclass(frozen=True)
class Figures:
    """The figures on a set of forecasts; a figure that nothing is known for is None."""

    questions: float
    """Number of questions that were answered."""
    loss: float
    """Mean of the track's loss over these questions."""
    accuracy: float | None
    """Share of correct forecasts among those that are correct or not."""
    judged: float
    """Number of forecasts that count as correct or not."""
    log_score: float | None
    """Mean of -ln of the probability of what came, with probabilities moved into [0.001, 0.999]."""
    skill: float | None
    """1 minus the loss over that of the naive forecast, on questions that have one."""
    market_skill: float | None
    """1 minus the loss over that of the market, on questions about which it showed something."""


@dataclass(frozen=True)
class Slice:
    """The figures of one forecaster on a part of the questions."""

    dimension: str
    """By what the questions are divided: ``category``, ``market``, ``horizon`` or ``week``."""
    value: str
    """Name of the part."""
    forecaster: ForecasterId
    """The forecaster."""
    figures: Figures
    """Its figures on this part."""


def figures_of(sums: Sums, code: NDArray[np.integer[Any]], size: int) -> list[Figures | None]:
    """Figures on groups of cells.

    Args:
        sums: sums over forecasts, by cell.
        code: index of the group of each cell.
        size: how many groups there are.

    Returns:
        The figures of each group; None for a group without forecasts.
    """

    def total(values: Floats) -> list[float]:
        totals: list[float] = np.bincount(code, weights=values, minlength=size).tolist()
        return totals

    def over(part: list[float], whole: list[float]) -> list[float | None]:
        return [above / below if below > 0.0 else None for above, below in zip(part, whole, strict=True)]

    count, loss, judged = total(sums.count), total(sums.loss), total(sums.judged)
    accuracy = over(total(sums.correct), judged)
    log_score = over(total(sums.log_score), total(sums.log_count))
    skill = over(total(sums.with_naive), total(sums.naive_loss))
    market = over(total(sums.with_market), total(sums.market_loss))
    return [
        Figures(n, lost / n, right, of, log, _less(naive), _less(price)) if n > 0.0 else None
        for n, lost, right, of, log, naive, price in zip(
            count, loss, accuracy, judged, log_score, skill, market, strict=True
        )
    ]


def _less(ratio: float | None) -> float | None:
    """1 minus a ratio."""
    return None if ratio is None else 1.0 - ratio


def slices_of(sums: Sums, forecasts: Forecasts, ranked: NDArray[np.intp]) -> Iterator[Slice]:
    """The figures of ranked forecasters on the parts of each dimension; beyond :data:`MOST_VALUES`, parts are joined.

    Args:
        sums: sums over forecasts, by cell.
        forecasts: the forecasts of one track.
        ranked: indices of the ranked forecasters.
    """
    place = np.full(len(forecasts.forecasters), -1)
    place[ranked] = np.arange(len(ranked))
    mine = place[sums.forecaster] >= 0
    for dimension in DIMENSIONS:
        coded = getattr(forecasts.questions, dimension)
        codes = sums.codes(dimension)
        weight = np.bincount(codes, weights=sums.count, minlength=len(coded.names))
        there = np.flatnonzero(weight)
        kept = there[-MOST_VALUES:] if dimension == "week" else there[np.argsort(-weight[there], kind="stable")]
        kept = kept[:MOST_VALUES]
        if dimension == "horizon":
            kept = np.sort(kept)
        # What is not kept has the number of the last part, the others.
        number = np.full(len(coded.names), len(kept))
        number[kept] = np.arange(len(kept))
        names = [*(coded.names[index] for index in kept), OTHERS]
        # The last group, which is left out, has the cells of forecasters that are not ranked.
        code = np.where(mine, place[sums.forecaster] * len(names) + number[codes], len(ranked) * len(names))
        for cell, figures in enumerate(figures_of(sums, code, len(ranked) * len(names) + 1)[:-1]):
            if figures is not None:
                who, value = divmod(cell, len(names))
                yield Slice(dimension, names[value], forecasts.forecasters[ranked[who]], figures)
