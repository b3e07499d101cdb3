"""Figures of sets of forecasts: of each forecaster, and of each on part of the questions."""

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
"""Categories, markets and weeks that are told apart: those with most forecasts, of weeks the latest."""
OTHERS = "others"


@dataclass(frozen=True)
class Figures:
    """The figures of a set of forecasts; those of nothing are None."""

    questions: float
    loss: float
    """Mean of the track's loss, over the questions that were answered."""
    accuracy: float | None
    judged: float
    """Questions whose forecasts are correct or false."""
    log_score: float | None
    """Mean of -ln of the probability of what came, with probabilities moved into [0.001, 0.999]."""
    skill: float | None
    """1 less the loss over the naive forecast's, where there is one."""
    market_skill: float | None
    """1 less the loss over the market's, where it showed something."""


@dataclass(frozen=True)
class Slice:
    """The figures of one forecaster on part of the questions."""

    dimension: str
    """One of ``category``, ``market``, ``horizon`` and ``week``."""
    value: str
    forecaster: ForecasterId
    figures: Figures


def figures_of(sums: Sums, code: NDArray[np.integer[Any]], size: int) -> list[Figures | None]:
    """Figures by a code of each cell; None of codes without a forecast."""

    def total(values: Floats) -> list[float]:
        found: list[float] = np.bincount(code, weights=values, minlength=size).tolist()
        return found

    def over(part: list[float], whole: list[float]) -> list[float | None]:
        return [one / of if of > 0.0 else None for one, of in zip(part, whole, strict=True)]

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


def _less(ratio_of: float | None) -> float | None:
    return None if ratio_of is None else 1.0 - ratio_of


def slices_of(sums: Sums, found: Forecasts, ranked: NDArray[np.intp]) -> Iterator[Slice]:
    """The figures of those who are ranked, by each dimension; what there is too much of is put together."""
    place = np.full(len(found.forecasters), -1)
    place[ranked] = np.arange(len(ranked))
    mine = place[sums.forecaster] >= 0
    for dimension in DIMENSIONS:
        coded = getattr(found.questions, dimension)
        codes = sums.codes(dimension)
        weight = np.bincount(codes, weights=sums.count, minlength=len(coded.names))
        there = np.flatnonzero(weight)
        kept = there[-MOST_VALUES:] if dimension == "week" else there[np.argsort(-weight[there], kind="stable")]
        kept = kept[:MOST_VALUES]
        if dimension == "horizon":
            kept = np.sort(kept)
        number = np.full(len(coded.names), len(kept))
        number[kept] = np.arange(len(kept))
        names = [*(coded.names[one] for one in kept), OTHERS]
        code = np.where(mine, place[sums.forecaster] * len(names) + number[codes], len(ranked) * len(names))
        for cell, figures in enumerate(figures_of(sums, code, len(ranked) * len(names) + 1)[:-1]):
            if figures is not None:
                who, value = divmod(cell, len(names))
                yield Slice(dimension, names[value], found.forecasters[ranked[who]], figures)
