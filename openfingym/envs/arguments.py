"""What callers give to environments: actions that are arrays of numbers, and seeds and options of ``reset``."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping

import numpy as np
from numpy import ma
from numpy.typing import NDArray

from openfingym.errors import UsageError

MOST_SEED = 2**63 - 1
"""Largest seed that a verifier records with a rollout."""
FLOAT64: np.dtype[np.float64] = np.dtype(np.float64)
"""The type of numbers that is calculated with; NumPy would make it from ``np.float64`` at every step."""
_FLOAT32 = np.dtype(np.float32)
_NO_NUMBERS = {"c": "complex numbers", "M": "dates", "m": "spans of time", "V": "records"}
"""Kinds of NumPy's types that it would turn into float64, with what they hold."""


def real_numbers(action: object) -> NDArray[np.float64]:
    """An action as an array of real numbers, float64, C-contiguous.

    Args:
        action: an array, or anything that NumPy makes one of.

    Raises:
        ValueError: NumPy makes no array of real numbers of it, or values of it are masked; the message says why.
    """
    # The usual cases, in which nothing needs a look: a step of a trading environment is short. Types are compared by
    # identity, which takes a tenth of the time; one that is equal but not identical takes the long way.
    if type(action) is np.ndarray and (action.dtype is FLOAT64 or action.dtype is _FLOAT32):
        return np.asarray(action, FLOAT64, "C")
    try:
        array = np.asanyarray(action)
        if array.dtype.kind in _NO_NUMBERS:
            raise ValueError(f"an array of {_NO_NUMBERS[array.dtype.kind]}, {array.dtype}")
        # NumPy would take the values behind the mask, which nobody means.
        if isinstance(array, ma.MaskedArray) and ma.is_masked(array):
            raise ValueError("a masked array, some of whose values are masked")
        return np.asarray(array, FLOAT64, "C")
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error


def require_recordable(seed: int | None) -> None:
    """Refuse a seed that a verifier cannot record; what is no seed for Gymnasium either, Gymnasium refuses.

    Args:
        seed: the seed of a ``reset``; None for none.

    Raises:
        UsageError: the seed is too large.
    """
    if isinstance(seed, int) and seed > MOST_SEED:
        raise UsageError(
            f"seed is {reprlib.repr(seed)}; expected a whole number from 0 to 2^63 - 1, since the verifier records it"
        )


def options_of(options: object) -> dict[str, object]:
    """The options of a ``reset``, in a dict that the caller does not have.

    Raises:
        UsageError: they are no dict.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise UsageError(f"options are {reprlib.repr(options)}; expected a dict of values by name, or None")
    return dict(options)
