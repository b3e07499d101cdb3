"""One fold's truth, and a forecast beside it, with what several metrics share computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.metrics.arrays import all_finite, checked, known
from openfingym.metrics.risk import path_returns, sharpe_ratio, tail_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.semantics import ValueSemantics

UNKNOWN = "unknown"
"""Name of the array of a truth that says which cells are unknown."""
PERIODS_PER_YEAR = 1.0
"""Default of the task's option: it leaves a Sharpe ratio per period."""
TAIL_LEVEL = 0.05
"""Default of the task's option: the tail probability of VaR and ES."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of one fold of a task: what every answer to it is compared with.

    Checked and summarised on first use, and kept: the truth side of a metric is computed once for any number of
    answers. A pickle holds the fields alone.
    """

    arrays: Mapping[str, NDArray[Any] | float]
    """The verifier's arrays by the names under which metrics take them; with ``future.`` before its name, an array is
    for metrics on futures alone."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The task's options by name: ``semantics``, ``periods_per_year``, ``tail_level``."""
    seed: int = 0
    """Seed of stochastic metrics. The task fixes it, so that an answer sent twice scores the same."""

    def __getstate__(self) -> dict[str, object]:
        # Without what was computed, which would be most of the bytes sent to another process.
        return {"arrays": dict(self.arrays), "options": dict(self.options), "seed": self.seed}

    @cached_property
    def views(self) -> Mapping[str, NDArray[Any] | float]:
        """The arrays as metrics get them: those of finite float64 are not searched again for each answer."""
        return {name: checked(values) if _sound(values) else values for name, values in self.arrays.items()}

    @cached_property
    def y_true(self) -> NDArray[np.float64]:
        """The realised values as float64.

        Raises:
            DataError: there are none, or they are not finite numbers.
        """
        return known("y_true", cast("NDArray[Any]", self._array("y_true")))

    @cached_property
    def unknown(self) -> NDArray[np.bool_] | None:
        """Cells whose realised value nobody knows, bool of the shape of ``y_true``, which holds no meaning there; None
        where all are known.
        """
        cells = self.arrays.get(UNKNOWN)
        return cells if isinstance(cells, np.ndarray) and cells.any() else None

    @cached_property
    def cells(self) -> Truth:
        """The known cells alone, in a row; for metrics that take all cells alike.

        Raises:
            DataError: no cell is known.
        """
        return self._part(~self._unknown(), "value")

    @cached_property
    def whole(self) -> Truth:
        """The windows alone of which every cell is known.

        Raises:
            DataError: there is none.
        """
        return self._part(self.known_windows, "window")

    @property
    def known_windows(self) -> NDArray[np.bool_]:
        """Windows of which every cell is known, bool[n]."""
        unknown = self._unknown()
        return np.asarray(~unknown.reshape(len(unknown), -1).any(axis=1))

    def _unknown(self) -> NDArray[np.bool_]:
        assert self.unknown is not None, "asked for where some cells are unknown"
        return self.unknown

    def _part(self, kept: NDArray[np.bool_], what: str) -> Truth:
        """A truth of some cells or windows; of the former, arrays that have none are left out."""
        if not kept.any():
            raise DataError(f"no {what} of the truth is known, so that none can be scored")
        arrays = {
            name: taken(values, kept) if isinstance(values, np.ndarray) else values
            for name, values in self.arrays.items()
            if name != UNKNOWN and (not isinstance(values, np.ndarray) or values.shape[: kept.ndim] == kept.shape)
        }
        return Truth(arrays, self.options, self.seed)

    @cached_property
    def last_value(self) -> NDArray[np.float64]:
        """The last row of each window's inputs, float64[n, d].

        Raises:
            DataError: the realised values are not [n, h, d], or the last values do not fit them.
        """
        if self.y_true.ndim != 3:
            raise DataError(f"the realised values must be [windows, horizon, channels], found {self.y_true.shape}")
        last = known("last_value", cast("NDArray[Any]", self._array("last_value")))
        shape = (self.y_true.shape[0], self.y_true.shape[2])
        if last.shape != shape:
            raise DataError(f"the last values must have shape {shape}, found {last.shape}")
        return last

    @property
    def semantics(self) -> ValueSemantics:
        """What the values are, such as returns or prices, as the truth's options say.

        Raises:
            DataError: the truth's options do not say what the values are.
        """
        if "semantics" not in self.options:
            raise DataError("the truth's options do not say what the values are; 'semantics' is missing")
        return cast("ValueSemantics", self.options["semantics"])

    @property
    def periods_per_year(self) -> float:
        """Number of periods a year, by which the Sharpe ratio is annualised; 1 leaves it per period."""
        return cast("float", self.options.get("periods_per_year", PERIODS_PER_YEAR))

    @property
    def tail_level(self) -> float:
        """Tail probability of VaR and ES, in (0, 1)."""
        return cast("float", self.options.get("tail_level", TAIL_LEVEL))

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """Returns along the realised paths, float64[d, n * h].

        Raises:
            DataError: the truth has no returns, such as a price that is not positive.
        """
        last_value = self.last_value
        try:
            return path_returns(self.y_true, last_value, self.semantics)
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

    def _array(self, name: str) -> NDArray[Any] | float:
        if name not in self.arrays:
            raise DataError(f"the truth has no {name}; it has {', '.join(self.arrays) or 'nothing'}")
        return self.views[name]


def taken(values: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """The cells or windows of an array that are kept, as an ordinary array."""
    return np.ascontiguousarray(np.asarray(values)[kept])


def _sound(values: object) -> TypeGuard[NDArray[np.float64]]:
    """Whether an array holds finite float64 values."""
    return isinstance(values, np.ndarray) and values.dtype == np.float64 and all_finite(values)


@dataclass(frozen=True, eq=False)
class ForecastComparison:
    """A forecast beside the truth. Derived quantities are computed on first use and kept."""

    truth: Truth
    """The truth, which has ``y_true``, and ``last_value`` where returns are computed."""
    y_pred: NDArray[np.float64]
    """The predicted values, finite and of the shape of ``y_true``."""

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """The error y_pred - y_true of every cell."""
        with np.errstate(over="ignore"):
            return np.subtract(self.y_pred, self.truth.y_true)

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """Returns along the predicted paths, float64[d, n * h].

        Raises:
            SubmissionError: a predicted price is not positive, or a return overflows.
        """
        # The truth comes first: its last values are shared, and a fault in them is not the agent's.
        _ = self.truth.returns
        try:
            return path_returns(self.y_pred, self.truth.last_value, self.truth.semantics)
        except UsageError as error:
            raise SubmissionError(f"the predicted values: {error}", problem="out-of-range") from None

    @cached_property
    def sharpe(self) -> NDArray[np.float64]:
        """Sharpe ratio of each asset's predicted returns, float64[d]."""
        return sharpe_ratio(self.returns, self.truth.periods_per_year)

    @cached_property
    def tail(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(VaR, ES) of each asset's predicted returns, float64[d] each."""
        return tail_risk(self.returns, self.truth.tail_level)
