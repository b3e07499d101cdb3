"""The contract of tasks about curves."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import field_validator

from openfingym.task.contracts import Contract, Family, Fraction, PositiveInt


class CurvesContract(Contract):
    """Whole curves of several countries: from ``lookback`` months, predict the next with an interval.

    A submission is [windows, 3, maturities]: lower, central, upper.
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["curves"]
    lookback: PositiveInt
    """Months of input that a window shows."""
    horizon: Literal[1] = 1
    """Months that are predicted."""
    value_semantics: Literal["yield_level"] = "yield_level"
    """What the values are, as ``contract.json`` states it."""
    coverage: Fraction = 0.95
    """Share of the values that should lie within the interval, as agents are told: that of the interval metrics."""

    @field_validator("coverage")
    @classmethod
    def _as_scored(cls, coverage: float) -> float:
        from openfingym.metrics.interval import TARGET

        # The metrics and the baseline are for this one: agents must not be told another.
        if coverage != TARGET:
            raise ValueError(f"found {coverage}; interval metrics score a coverage of {TARGET}: state that, or nothing")
        return coverage
