"""Totals: the source paper's own, under their names, and the scale-free one that ranks.

The paper adds metrics of unlike scale, so that one term can be 98 % of a total, and does not say
how a higher-is-better metric enters. Its totals are kept for comparison, with that decided here:
a metric with an upper bound b (R2, accuracy) enters as b - value, one without (Sharpe ratio,
t statistic) as minus its clipped value.

The scale-free total, which ranks, divides each metric by that of a named naive baseline and takes the
weighted geometric mean: 1 is as good as the baseline, 0.5 twice as good, whatever the units. It is made
of proper metrics only: a gap of pooled risk statistics can be closed by adding noise to a forecast, and
a Sharpe ratio is the same for a thousandth of the position, so neither can say who is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.metrics.record import Metric
from openfingym.metrics.registry import find_metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST_RATIO, LARGEST_RATIO = 0.01, 100.0
"""A ratio to the baseline is held between these, so that no single term, however perfect, decides a total."""


@dataclass(frozen=True)
class Family:
    """One of the paper's ways to make a total of metrics."""

    name: str
    description: str
    weights: Mapping[str, float]
    """Weight of each metric; empty where the terms are whatever metrics the task names, with equal weight."""
    total: bool = False
    """Whether terms of equal weight are added up instead of averaged."""


def _even(*names: str) -> Mapping[str, float]:
    return MappingProxyType({name: 1.0 / len(names) for name in names})


_F1 = {"mae": 0.35, "rmse": 0.25, "delta_sharpe": 0.20, "delta_var": 0.10, "delta_es": 0.10}
_F6 = {"mse": 0.35, "r2_zero": 0.25, "dm_zero": 0.20, "long_short_sharpe": 0.20}
_F7 = {
    "r2_oos": 0.30,
    "directional_accuracy": 0.20,
    "direction_macro_f1": 0.15,
    "long_short_sharpe": 0.20,
    "long_short_drawdown": 0.10,
    "long_short_worst_period": 0.05,
}
_ALL = (
    Family("F1", "panel forecasts: error and the gaps of three risk statistics", MappingProxyType(_F1)),
    Family("F2", "Treasury curves: mean of three errors", _even("mse", "rmse", "mae")),
    Family("F3", "exchange rates, OHLCV: mean of two errors", _even("rmse", "mae")),
    Family("F4", "volatility graph: error averaged over horizons", _even("mafe")),
    Family("F5", "stock index: RMSE over the mean size of the truth", _even("nrmse")),
    Family("F6", "excess returns of a stock panel", MappingProxyType(_F6)),
    Family(
        "F7",
        "daily excess returns, with the economic value of trading them; fractions, where the paper has percent",
        MappingProxyType(_F7),
    ),
    Family(
        "F8",
        "yield curves with intervals: mean of four terms, scaled here by the truth's size, its range and by 1",
        _even("relative_mse", "relative_mae", "coverage_gap", "nmpiw"),
    ),
    Family("F9", "generation: mean of the task's metrics", MappingProxyType({})),
    Family("F10", "generation: sum of the task's metrics", MappingProxyType({}), total=True),
)
FAMILIES: Mapping[str, Family] = MappingProxyType({family.name: family for family in _ALL})
"""The paper's families by name."""


def paper_total(family: str, values: Mapping[str, float]) -> float:
    """The paper's total, lower is better.

    Args:
        family: name of the paper's family, ``F1`` to ``F10``.
        values: result of each metric, by name; exactly the family's metrics, or any for F9 and F10.

    Raises:
        UsageError: the family or a metric is unknown, or a metric is missing or not finite.
    """
    known = FAMILIES.get(family)
    if known is None:
        raise UsageError(f"unknown family {family!r}; known: {', '.join(FAMILIES)}")
    weights = dict(known.weights) or dict.fromkeys(values, 1.0 if known.total else 1.0 / max(len(values), 1))
    if not weights or set(weights) != set(values):
        raise UsageError(
            f"{family} is a total of {', '.join(weights) or 'at least one metric'}; found {', '.join(values) or 'none'}"
        )
    return math.fsum(weight * loss_term(name, values[name]) for name, weight in weights.items())


def loss_term(name: str, value: float) -> float:
    """A metric as it enters a paper's total: lower is better, clipped where its record says so.

    Raises:
        UsageError: the metric is unknown or the value is not finite.
    """
    return as_loss(find_metric(name), value)


def as_loss(metric: Metric, value: float) -> float:
    """A metric as it enters a paper's total, as :func:`loss_term`, by its record.

    Raises:
        UsageError: the value is not finite.
    """
    if not math.isfinite(value):
        raise UsageError(f"{metric.name} is {value}; a metric that failed is an error, not a term of a total")
    inside = metric.clipped(value)
    if metric.direction == "lower":
        return inside
    # Higher is better: the distance from the best result, where there is one.
    return metric.range[1] - inside if math.isfinite(metric.range[1]) else -inside


def relative_loss(name: str, value: float) -> float:
    """A metric as a loss that is never negative, the numerator and denominator of a ratio to a baseline.

    Lower-is-better: the distance from its smallest value. With an upper bound b: b - value.
    Higher-is-better without bound: exp(-value), so that a Sharpe ratio one higher divides the loss by e.
    """
    metric = find_metric(name)
    if metric.direction == "lower":
        if not math.isfinite(metric.range[0]):
            raise UsageError(f"{name} has no smallest value, so it has no ratio to a baseline")
        return as_loss(metric, value) - metric.range[0]
    if math.isfinite(metric.range[1]):
        return as_loss(metric, value)
    # Ratios are held within 100, so that nothing is lost by holding the loss where exp would overflow.
    return math.exp(min(as_loss(metric, value), 700.0))


def relative_weight(metric: Metric, weight: float, stated: float | None = None) -> float:
    """Weight of a metric in the relative total of a scoring table.

    Args:
        metric: record of the metric.
        weight: weight of the metric in the paper's total.
        stated: relative weight that the table states; None where it states none.

    Returns:
        ``stated``; without it ``weight``, or 0 for a metric that is a diagnostic or not proper.

    Raises:
        UsageError: the table gives a positive relative weight to a metric that cannot rank.
    """
    if stated is None:
        return weight if metric.ranks else 0.0
    if stated > 0.0 and not metric.ranks:
        why = "is a diagnostic" if metric.diagnostic else "is not proper: an answer without skill may score best in it"
        raise UsageError(
            f"{metric.name} {why}, so its relative_weight must be 0, found {stated:g}; it is reported all the same"
        )
    return stated


def relative_losses(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Many results of one metric as losses, as :func:`relative_loss`; NaN stays NaN.

    Raises:
        UsageError: the metric has no smallest value, so that it has no ratio to a baseline.
    """
    import numpy as np

    metric = find_metric(name)
    if metric.direction == "lower" and not math.isfinite(metric.range[0]):
        raise UsageError(f"{name} has no smallest value, so it has no ratio to a baseline")
    inside = losses(metric, values)
    if metric.direction == "lower":
        return inside - metric.range[0]
    return inside if math.isfinite(metric.range[1]) else np.asarray(np.exp(np.minimum(inside, 700.0)))


def smallest_loss(metric: Metric) -> float:
    """The smallest loss that :func:`as_loss` can give for a metric; minus infinity where nothing bounds it."""
    best = metric.clipped(metric.range[0] if metric.direction == "lower" else metric.range[1])
    return as_loss(metric, best) if math.isfinite(best) else -math.inf


def losses(metric: Metric, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Many results of one metric as losses, as :func:`as_loss`; NaN stays NaN."""
    inside = values if metric.clip is None else values.clip(*metric.clip)
    if metric.direction == "lower":
        return inside
    return metric.range[1] - inside if math.isfinite(metric.range[1]) else -inside


def log_ratios(loss: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the ratios that :func:`relative_total` averages, for many pairs of losses; NaN stays NaN."""
    import numpy as np

    # Not ``base > 0``, of which a NaN would be left out and take the value for a perfect baseline.
    ratio = np.divide(loss, base, out=np.where(loss <= 0.0, 1.0, LARGEST_RATIO), where=~(base <= 0.0))
    return np.asarray(np.log(ratio.clip(SMALLEST_RATIO, LARGEST_RATIO)))


def relative_total(
    values: Mapping[str, float], baseline: Mapping[str, float], weights: Mapping[str, float] | None = None
) -> float:
    """Weighted geometric mean of each metric's loss relative to a baseline's; lower is better, 1 is the baseline.

    Each ratio is held within [0.01, 100]. Where the baseline's loss is 0, the ratio is 1 if the
    value's is 0 too and 100 otherwise.

    Args:
        values: result of each metric, by name.
        baseline: result of each metric for the baseline, on the same truth.
        weights: weights of each metric, not negative; None for equal ones.

    Returns:
        A number in [0.01, 100].

    Raises:
        UsageError: the names differ, a value is not finite, or no weight is positive.
    """
    shares = dict.fromkeys(values, 1.0) if weights is None else dict(weights)
    if set(values) != set(baseline) or set(values) != set(shares):
        raise UsageError(
            f"values, baseline and weights must name the same metrics, found {sorted(values)}, {sorted(baseline)}, "
            f"{sorted(shares)}"
        )
    # Written so that a weight of NaN, of which every comparison is false, is refused too.
    total = math.fsum(shares.values())
    if not all(share >= 0.0 for share in shares.values()) or not 0.0 < total < math.inf:
        raise UsageError("weights must not be negative, and one must be positive")
    logs = [
        share * math.log(_ratio(relative_loss(n, values[n]), relative_loss(n, baseline[n])))
        for n, share in shares.items()
    ]
    return math.exp(math.fsum(logs) / total)


def _ratio(loss: float, base: float) -> float:
    """A loss relative to the baseline's, within its bounds."""
    # Beside a perfect baseline, a loss is as good as it, or as bad as counts.
    if base <= 0.0:
        return 1.0 if loss <= 0.0 else LARGEST_RATIO
    return min(max(loss / base, SMALLEST_RATIO), LARGEST_RATIO)
