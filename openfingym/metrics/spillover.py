"""Diebold-Yilmaz volatility spillovers: an input graph of the volatility task, not a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError
from openfingym.metrics.arrays import Numbers, known

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Spillover:
    """A table of spillovers between series."""

    table: NDArray[np.float64]
    """Share of the forecast-error variance of series i (row) that is due to series j, float64[d, d]; rows sum to 1."""
    total: float
    """Part of all forecast-error variance that comes from other series, in percent from 0 to 100."""


def spillover(series: Numbers, lags: int = 2, horizon: int = 10) -> Spillover:
    """Generalised forecast-error variance decomposition of a vector autoregression (Diebold and Yilmaz 2012).

    theta_ij = sum_h (Phi_h S)_ij^2 / S_jj / sum_h (Phi_h S Phi_h')_ii for h = 0..horizon - 1, rows
    scaled to 1; the VAR has an intercept, is fitted by least squares, and S has the usual
    correction for degrees of freedom. The order of the channels does not matter.

    Args:
        series: values of d series in order of time, [n, d], d >= 2.
        lags: order of the vector autoregression.
        horizon: number of steps ahead that the variance is decomposed for.

    Raises:
        DataError: there are too few rows for so many coefficients, the channels are linearly dependent, or one is
            predicted without error.
    """
    x = known("series", series, 2)
    n, d = x.shape
    freedom = n - lags - (1 + lags * d)
    if d < 2 or lags < 1 or horizon < 1 or freedom < 1:
        raise DataError(f"a VAR of {lags} lags and {d} channels cannot be fitted to {n} rows")
    # Fit the autoregression by least squares.
    design = np.concatenate([np.ones((n - lags, 1)), *(x[lags - k : n - k] for k in range(1, lags + 1))], axis=1)
    coefficients, _, rank, _ = np.linalg.lstsq(design, x[lags:], rcond=None)
    if rank < design.shape[1]:
        raise DataError("the channels are linearly dependent; a VAR of them is not identified")
    residuals = x[lags:] - design @ coefficients
    covariance = residuals.T @ residuals / freedom
    # Its moving-average matrices Phi_h: the response to a shock h steps ago.
    steps = coefficients[1:].reshape(lags, d, d).transpose(0, 2, 1)
    responses = [np.eye(d)]
    for h in range(1, horizon):
        responses.append(sum((responses[h - 1 - k] @ steps[k] for k in range(min(lags, h))), np.zeros((d, d))))
    # Shares of variance, whose rows need not sum to 1 since shocks are correlated; they are scaled so that they do.
    impact = np.stack(responses) @ covariance
    own = np.einsum("hij,hij->i", impact, np.stack(responses))
    if not (own > 0.0).all():
        raise DataError("a channel is predicted without error; its variance cannot be decomposed")
    theta = (impact**2).sum(axis=0) / np.diagonal(covariance) / own[:, None]
    table = theta / theta.sum(axis=1, keepdims=True)
    return Spillover(table, float(100.0 * (table.sum() - np.trace(table)) / d))
