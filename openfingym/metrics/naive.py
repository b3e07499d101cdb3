"""The naive forecast, which every agent should beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.semantics import ValueSemantics

LEVELS = ("price_level", "yield_level", "realised_vol", "mixed")
"""Semantics whose next value is best guessed by the last one."""


def naive_forecast(inputs: NDArray[np.float64], horizon: int, semantics: ValueSemantics) -> NDArray[np.float64]:
    """Zero returns, or the last value of each channel repeated: the random-walk forecast.

    Args:
        inputs: values that each window shows, float64[n, lookback, d], in the unit in which the task is scored.
        horizon: number of steps to predict, at least 1.
        semantics: what the values are, such as returns or prices.

    Returns:
        float64[n, horizon, d], C-contiguous and writable.

    Raises:
        UsageError: inputs are not three-dimensional or show no row, the horizon is below 1, or there are no such
            semantics.
    """
    if inputs.ndim != 3 or inputs.shape[1] == 0:
        raise UsageError(f"inputs must have shape [windows, lookback, channels], found {inputs.shape}")
    if horizon < 1:
        raise UsageError(f"the horizon must be at least 1, found {horizon}")
    n, _, d = inputs.shape
    if semantics == "log_return":
        return np.zeros((n, horizon, d))
    if semantics not in LEVELS:
        raise UsageError(f"unknown value semantics {semantics!r}; known: log_return, {', '.join(LEVELS)}")
    return np.repeat(np.asarray(inputs[:, -1:, :], dtype=np.float64), horizon, axis=1)
