"""All windows of a sequence as directions, in single precision, to be compared with many hidden blocks at a time.

What two neighbouring windows have in common is worked out once: all arrays have a row for each place in a window and a
column for each window, so that every step runs along the sequence, however short the windows are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Directions = NDArray[np.float32]

STILL = 1e-9
"""Size of what moves in a window, over its largest value, up to which nothing does."""


def in_order(values: Floats, length: int) -> Directions:
    """The windows of float64[n] less their means, over their sizes: float32[length, n - length + 1].

    A window in which nothing moves is zero.
    """
    places = _places(values, length)
    return _directions(places - places.mean(axis=0), values)


def as_ranks(values: Floats, length: int) -> Directions:
    """As :func:`in_order`, of the ranks within each window, the mean of them where values are equal."""
    count = len(values) - length + 1
    # Twice the rank is the number of values below, and of those that are not above, other than the value itself.
    doubled = np.empty((length, count), dtype=np.int16)
    first = values[:length]
    rising = np.sort(first)
    doubled[:, 0] = np.searchsorted(rising, first) + np.searchsorted(rising, first, side="right") - 1
    last = values[length - 1 :]
    doubled[-1, 1:] = 0
    for place in range(length - 1):
        doubled[-1, 1:] += _below(values[place + 1 : place + count], last[1:])
    gone, come = values[: count - 1], values[length:]
    for place in range(length - 2, -1, -1):
        # From one window to the next one value goes, one comes, and all others move up by a place.
        here = values[place + 1 : place + count]
        np.subtract(doubled[place + 1, :-1], _below(gone, here), out=doubled[place, 1:])
        doubled[place, 1:] += _below(come, here)
    centred = doubled.astype(np.float32)
    centred -= np.float32(length - 1)
    return _over(centred, np.sqrt(np.einsum("ij,ij->j", centred, centred, dtype=np.float64)))


def in_rising_order(values: Floats, length: int) -> Directions:
    """As :func:`in_order`, of the values of each window in rising order."""
    rising: Directions = np.sort(np.ascontiguousarray(in_order(values, length).T), axis=1).T
    return rising


def _places(values: Floats, length: int) -> Floats:
    """float64[length, n - length + 1]: the values at each place of the windows."""
    return np.lib.stride_tricks.sliding_window_view(values, len(values) - length + 1)


def _below(one: Floats, other: Floats) -> NDArray[np.int8]:
    """2 where a value is below the other, 1 where it is equal, else 0."""
    below: NDArray[np.int8] = np.less(one, other).view(np.int8) + np.less_equal(one, other).view(np.int8)
    return below


def _directions(centred: Floats, values: Floats) -> Directions:
    size = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    largest = _places(np.abs(values), len(centred)).max(axis=0)
    return _over(centred, np.where(size > STILL * largest, size, 0.0))


def _over(centred: NDArray[np.floating], size: Floats) -> Directions:
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    directions: Directions = np.multiply(centred, scale, out=np.empty_like(centred, np.float32), casting="same_kind")
    return directions
