"""The contract of forecasting tasks."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from openfingym.metrics.semantics import ValueSemantics
from openfingym.task.contracts import Contract, Family, PositiveInt, as_tuple


class ForecastContract(Contract):
    """Windows of a panel: from ``lookback`` rows, predict the next ones.

    A submission is [windows, steps, targets].
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"
    has_period: ClassVar[bool] = True

    kind: Literal["forecast"]
    lookback: PositiveInt
    """Rows of input that a window shows."""
    horizon: PositiveInt
    """Rows of target that a window has, directly after the inputs."""
    horizons: tuple[PositiveInt, ...] = ()
    """Steps ahead that are predicted, increasing and ending with ``horizon``; empty for every step."""
    targets: tuple[str, ...] = ()
    """Channels that are predicted, in the dataset's order; empty for all."""
    value_semantics: ValueSemantics
    """What the values are: returns, prices, yields, volatilities, or a mixture."""
    pooled: bool = False
    """Whether every channel of a window is a window of its own, with one channel: for panels of similar series."""
    graph_window: PositiveInt | None = None
    """Rows from which the correlation and the spillover graph of every window are computed; None for no graphs."""

    _lists = field_validator("horizons", "targets", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.horizons and (list(self.horizons) != sorted(set(self.horizons)) or self.horizons[-1] != self.horizon):
            raise ValueError(
                f"horizons must increase and end with horizon = {self.horizon}, found {list(self.horizons)}"
            )
        if self.pooled and (self.horizon != 1 or self.targets or self.graph_window):
            raise ValueError("pooled needs horizon = 1 and goes neither with targets nor with graph_window")
        if self.graph_window is not None and self.value_semantics != "realised_vol":
            raise ValueError("graph_window goes with value_semantics = 'realised_vol'")
        return self

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps ahead that are predicted, from 1."""
        return self.horizons or tuple(range(1, self.horizon + 1))
