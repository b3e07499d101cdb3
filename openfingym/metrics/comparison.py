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
class Comparison:
    """Everything a loss may look at. Derived quantities are computed on first use and kept."""

    y_true: NDArray[np.float64]
    """float64[n, h, d], the realised values."""
    y_pred: NDArray[np.float64]
    """float64[n, h, d], the predicted values."""
    last_value: NDArray[np.float64]
    """float64[n, d], the last row of each window's inputs."""
    semantics: ValueSemantics
    """What the values are."""
    periods_per_year: float = 1.0
    """P of the Sharpe ratio; 1 leaves it per period."""
    tail_level: float = 0.05
    """Level of VaR and ES, in (0, 1)."""

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """y_pred - y_true, float64[n, h, d]."""
        with np.errstate(over="ignore"):
            return self.y_pred - self.y_true

    @cached_property
    def true_returns(self) -> NDArray[np.float64]:
        """Returns along the realised paths, float64[d, n * h].

        Raises:
            DataError: the truth has no returns, such as a price that is not positive.
        """
        try:
            return path_returns(self.y_true, self.last_value, self.semantics)
        except UsageError as error:
            raise DataError(f"the realised values: {error}") from None

    @cached_property
    def pred_returns(self) -> NDArray[np.float64]:
        """Returns along the predicted paths, float64[d, n * h].

        Raises:
            SubmissionError: a predicted price is not positive, or a return overflows.
        """
        # The truth comes first: its last values are shared, and a fault in them is not the agent's.
        _ = self.true_returns
        try:
            return path_returns(self.y_pred, self.last_value, self.semantics)
        except UsageError as error:
            raise SubmissionError(f"the predicted values: {error}", problem="out-of-range") from None

    @cached_property
    def sharpes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sharpe ratio of each asset, realised and predicted, float64[d] each."""
        return sharpe_ratio(self.true_returns, self.periods_per_year), sharpe_ratio(self.pred_returns, self.periods_per_year)

    @cached_property
    def true_tail(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(VaR, ES) of each asset's realised returns, float64[d] each."""
        return tail_risk(self.true_returns, self.tail_level)

    @cached_property
    def pred_tail(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(VaR, ES) of each asset's predicted returns, float64[d] each."""
        return tail_risk(self.pred_returns, self.tail_level)
