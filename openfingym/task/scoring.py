"""The scoring table of a task: metrics, their weights, and the baseline that the relative total divides by."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.task.contracts import Fraction, Section, as_tuple

WEIGHT_TOLERANCE = 1e-6
"""How far a sum of weights or shares may be from 1: fractions such as 1/3 are written as decimals, 0.333333333."""


class WeightedMetric(Section):
    """One ``[[metadata.openfingym.scoring.metrics]]``: a metric of the reward bank and its weights."""

    name: str
    """Name of the metric, as :mod:`openfingym.metrics.registry` knows it."""
    weight: float = Field(ge=0.0, le=1.0)
    """Weight in the paper's total; 0 to report the metric only."""
    relative_weight: Annotated[float, Field(ge=0.0)] | None = None
    """Weight in the relative total; ``weight`` if None. For a metric that is a diagnostic or not proper it is 0, and no
    other value is allowed."""
    on: Literal["path", "future"] = "path"
    """For generation given a context: whether context and future are compared together, or futures alone."""


class Scoring(Section):
    """``[metadata.openfingym.scoring]``: two totals of the same metrics, both lower is better.

    ``total`` is the source paper's, a weighted sum. The *relative* total is the weighted geometric mean of
    each proper metric's loss relative to a naive baseline's; it ranks.
    """

    family: str | None = None
    """The paper's scoring family, F1 to F10; the weights must be its own. None for an aggregation of the author's."""
    baseline: str
    """Baseline of the relative total, that of the task's kind: the naive forecast (``naive``); independent Gaussian
    draws, of values or of increments (``gaussian``); ``random`` scores; equal weights held to the end
    (``buy-and-hold``)."""
    metrics: tuple[WeightedMetric, ...] = Field(min_length=1)
    periods_per_year: float = Field(default=1.0, gt=0.0)
    """Annualisation factor P of the Sharpe ratio (its square root is applied); 1 leaves it per period."""
    tail_level: Fraction = 0.05
    """Level of Value-at-Risk and Expected Shortfall."""

    _lists = field_validator("metrics", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _weights(self) -> Self:
        from openfingym.errors import UsageError
        from openfingym.metrics.aggregation import FAMILIES, relative_weight
        from openfingym.metrics.registry import find_metric

        names = [metric.name for metric in self.metrics]
        # Whether any metric counts in the relative total, by which tasks rank.
        ranks = False
        for metric in self.metrics:
            try:
                share = relative_weight(find_metric(metric.name), metric.weight, metric.relative_weight)
            except UsageError as error:
                raise ValueError(str(error)) from None
            ranks = ranks or share > 0.0
        if len(set(names)) < len(names):
            raise ValueError("a metric is listed twice")
        weights = {metric.name: metric.weight for metric in self.metrics if metric.weight > 0.0}
        if not weights or not ranks:
            raise ValueError(
                "a metric that is proper and no diagnostic needs a weight above 0, or nothing would be scored or ranked"
            )
        if self.family is not None:
            if self.family not in FAMILIES:
                raise ValueError(f"unknown family {self.family!r}; known: {', '.join(FAMILIES)}")
            family = FAMILIES[self.family]
            # A family without weights of its own takes any metrics: it adds them up (`total`) or averages them.
            wanted = dict(family.weights) or dict.fromkeys(weights, 1.0 if family.total else 1.0 / len(weights))
            if weights.keys() != wanted.keys() or any(abs(weights[name] - wanted[name]) > 1e-4 for name in weights):
                shown = ", ".join(f"{name} {weight:.4g}" for name, weight in wanted.items())
                raise ValueError(f"the weights of {self.family} are {shown}")
        elif abs(sum(weights.values()) - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"weights must add up to 1, found {sum(weights.values()):.6g}")
        return self
