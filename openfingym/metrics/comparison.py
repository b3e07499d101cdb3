"""A forecast beside the truth, with what several losses share computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.metrics.risk import path_returns, sharpe_ratio, tail_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task import ValueSemantics


@dataclass(frozen=True)
class Realised:
    """What really happened: the same for every forecast of it, so it is checked and summarised once.

    Raises:
        DataError: the realised or last values are at fault.
    """

    y_true: NDArray[np.float64]
    """float64[n, h, d], the realised values."""
    last_value: NDArray[np.float64]
    """float64[n, d], the last row of each window's inputs."""
    semantics: ValueSemantics
    """What the values are."""
    periods_per_year: float = 1.0
    """P of the Sharpe ratio; 1 leaves it per period."""
    tail_level: float = 0.05
    """Level of VaR and ES, in (0, 1)."""

    def __post_init__(self) -> None:
        y_true, last_value = self.y_true, self.last_value
        if y_true.ndim != 3 or y_true.size == 0:
            raise DataError(f"the realised values must be [windows, horizon, channels] and not empty, found {y_true.shape}")
        if last_value.shape != (y_true.shape[0], y_true.shape[2]):
            raise DataError(f"the last values must have shape {(y_true.shape[0], y_true.shape[2])}, found {last_value.shape}")
        for name, ours in (("realised", y_true), ("last", last_value)):
            if ours.dtype != np.float64 or not np.isfinite(ours).all():
                raise DataError(f"the {name} values must be finite float64, found {ours.dtype} or a value that is not finite")

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """Returns along the realised paths, float64[d, n * h].

        Raises:
            DataError: the truth has no returns, such as a price that is not positive.
        """
        try:
            return path_returns(self.y_true, self.last_value, self.semantics)
        except UsageError as error:
            raise DataError(f"the realised values: {error}") from None

    @cached_property
    def sharpe(self) -> NDArray[np.float64]:
        """Sharpe ratio of each asset, float64[d]."""
        return sharpe_ratio(self.returns, self.periods_per_year)

    @cached_property
    def tail(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(VaR, ES) of each asset's returns, float64[d] each."""
        return tail_risk(self.returns, self.tail_level)


@dataclass(frozen=True)
class Comparison:
    """Everything a loss may look at. Derived quantities are computed on first use and kept."""

    realised: Realised
    """The truth."""
    y_pred: NDArray[np.float64]
    """float64[n, h, d], the predicted values."""

    @property
    def y_true(self) -> NDArray[np.float64]:
        """float64[n, h, d], the realised values."""
        return self.realised.y_true

    @property
    def last_value(self) -> NDArray[np.float64]:
        """float64[n, d], the last row of each window's inputs."""
        return self.realised.last_value

    @property
    def semantics(self) -> ValueSemantics:
        """What the values are."""
        return self.realised.semantics

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """y_pred - y_true, float64[n, h, d]."""
        with np.errstate(over="ignore"):
            return self.y_pred - self.y_true

    @cached_property
    def pred_returns(self) -> NDArray[np.float64]:
        """Returns along the predicted paths, float64[d, n * h].

        Raises:
            SubmissionError: a predicted price is not positive, or a return overflows.
        """
        # The truth comes first: its last values are shared, and a fault in them is not the agent's.
        _ = self.realised.returns
        try:
            return path_returns(self.y_pred, self.last_value, self.semantics)
        except UsageError as error:
            raise SubmissionError(f"the predicted values: {error}", problem="out-of-range") from None

    @cached_property
    def pred_sharpe(self) -> NDArray[np.float64]:
        """Sharpe ratio of each asset's predicted returns, float64[d]."""
        return sharpe_ratio(self.pred_returns, self.realised.periods_per_year)

    @cached_property
    def pred_tail(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(VaR, ES) of each asset's predicted returns, float64[d] each."""
        return tail_risk(self.pred_returns, self.realised.tail_level)
