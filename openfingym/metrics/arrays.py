"""What every metric asks of its arrays, and the error when they do not comply.

The error says whose fault it is: :class:`~openfingym.errors.DataError` where the truth, which is
ours, is at fault or makes a metric undefined; :class:`~openfingym.errors.UsageError` where the
answer is. Nothing here repairs a value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import DataError, OpenFinGymError, UsageError


class MissingPackageError(UsageError):
    """A metric rests on a package that is not installed; nobody's answer is at fault."""


Numbers = NDArray[Any]
"""An array of any real number type; scored as float64."""


class Checked(np.ndarray[Any, np.dtype[np.float64]]):
    """A view of float64 values that were found to be finite, so that no metric searches them again."""

    def __array_wrap__(self, array: Numbers, context: object = None, return_scalar: bool = False) -> Any:
        """Results of arithmetic are ordinary arrays, which are searched again: they may have overflowed."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


def checked(values: NDArray[np.float64]) -> Checked:
    """A view of values that the caller has found finite; it must not be written to."""
    return values.view(Checked)


def known(name: str, values: Numbers, ndim: int | None = None, *, scan: bool = True) -> NDArray[np.float64]:
    """An array of ours as float64: the truth, training windows, labels.

    Args:
        name: name of the array in error messages.
        values: the array; anything else is refused.
        ndim: number of axes that it must have; None for any.
        scan: whether to look for values that are not finite; False where the caller finds them on the way.

    Raises:
        DataError: the array is empty, not numeric, not finite or has another number of axes.
    """
    return _float64(name, values, ndim, scan, DataError)


def answer(name: str, values: Numbers, ndim: int | None = None, *, scan: bool = True) -> NDArray[np.float64]:
    """An array of the agent's as float64; the arguments are those of :func:`known`.

    Raises:
        UsageError: the array is empty, not numeric, not finite or has another number of axes.
    """
    return _float64(name, values, ndim, scan, UsageError)


def pair(y_true: Numbers, y_pred: Numbers, *, scan: bool = True) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A truth and a prediction of one shape, as float64; ``scan`` as in :func:`known`.

    Raises:
        DataError: the truth is at fault.
        UsageError: the prediction is at fault, or its shape differs.
    """
    truth, prediction = known("y_true", y_true, scan=scan), answer("y_pred", y_pred, scan=scan)
    same_shape("y_pred", prediction, truth.shape)
    return truth, prediction


def windows(real: Numbers, fake: Numbers, *, scan: bool = True) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Real windows [n, t, d] and generated ones [m, t, d] of the same length and channels, as float64; ``scan`` as in
    :func:`known`.

    Raises:
        DataError: the real windows are at fault.
        UsageError: the generated windows are at fault.
    """
    ours, theirs = known("real", real, 3, scan=scan), answer("fake", fake, 3, scan=scan)
    if theirs.shape[1:] != ours.shape[1:]:
        raise UsageError(
            f"fake windows have [steps, channels] = {list(theirs.shape[1:])}, expected {list(ours.shape[1:])}"
        )
    return ours, theirs


def same_shape(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Raise UsageError unless ``values`` has the shape."""
    if values.shape != shape:
        raise UsageError(f"{name} has shape {values.shape}, expected {shape}")


def in_unit_interval(name: str, value: float) -> None:
    """Raise UsageError unless 0 < value < 1."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{name} must be between 0 and 1, found {value}")


def number(name: str, value: float) -> float:
    """A result as a Python float.

    Args:
        name: name of the result in the error message.
        value: the result, computed from finite arrays.

    Raises:
        UsageError: the result is not finite, which from finite arrays means that it is beyond float64.
    """
    result = float(value)
    if not math.isfinite(result):
        raise UsageError(f"{name} is too large for float64; the values must be of a plausible size")
    return result


def first(mask: NDArray[np.bool_]) -> str:
    """Position of the first true cell as text, such as ``[0, 3, 1]``."""
    return str([int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)])


def all_finite(values: NDArray[Any]) -> bool:
    """Whether no cell is NaN or infinite."""
    return bool(np.isfinite(values).all())


def _float64(
    name: str, values: Numbers, ndim: int | None, scan: bool, error: type[OpenFinGymError]
) -> NDArray[np.float64]:
    # Text that looks like numbers, dates, masks and objects are refused, and not converted: see the module.
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        raise error(f"{name} must be an array of real numbers, found {getattr(values, 'dtype', type(values).__name__)}")
    if ndim is not None and values.ndim != ndim:
        raise error(f"{name} must have {ndim} axes, found shape {values.shape}")
    if values.size == 0:
        raise error(f"{name} is empty: shape {values.shape}")
    # Converted first: a long double beyond float64 becomes infinite here, and is refused like any other infinity.
    with np.errstate(over="ignore"):
        numbers = np.asarray(values, dtype=np.float64)
    if scan and not isinstance(values, Checked) and not all_finite(numbers):
        raise error(f"{name}{first(~np.isfinite(numbers))} is not a finite number")
    return numbers
