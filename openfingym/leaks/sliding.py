"""All windows of a sequence as directions, in single precision, to be compared with many hidden blocks at a time.

Arrays have a row for each position in a window and a column for each window, so that every operation runs along the
whole sequence, however short the windows are, and what two neighbouring windows have in common is computed once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Directions = NDArray[np.float32]

STILL = 1e-9
"""Size of the variation in a window, relative to its largest value, up to which it is taken for rounding errors."""


def in_order(values: Floats, length: int) -> Directions:
    """The windows of float64[n], each less its mean and over its size: float32[length, n - length + 1].

    A constant window is zero.
    """
    places = _places(values, length)
    return _directions(places - places.mean(axis=0), values)


def as_ranks(values: Floats, length: int) -> Directions:
    """The ranks within each window as directions, in the form of :func:`in_order`; equal values get their mean rank."""
    count = len(values) - length + 1
    # Twice the rank is the number of values below plus that of values not above, without the value itself. So it is an
    # integer, and can be updated from one window to the next.
    doubled = np.empty((length, count), dtype=np.int16)
    # The first window is ranked by sorting, and the last value of every window by comparing it with all the others.
    first = values[:length]
    rising = np.sort(first)
    doubled[:, 0] = np.searchsorted(rising, first) + np.searchsorted(rising, first, side="right") - 1
    last = values[length - 1 :]
    doubled[-1, 1:] = 0
    for place in range(length - 1):
        doubled[-1, 1:] += _below(values[place + 1 : place + count], last[1:])
    gone, come = values[: count - 1], values[length:]
    for place in range(length - 2, -1, -1):
        # From one window to the next, one value leaves, one enters, and all others move up by one position.
        here = values[place + 1 : place + count]
        np.subtract(doubled[place + 1, :-1], _below(gone, here), out=doubled[place, 1:])
        doubled[place, 1:] += _below(come, here)
    centred = doubled.astype(np.float32)
    centred -= np.float32(length - 1)
    return _over(centred, np.sqrt(np.einsum("ij,ij->j", centred, centred, dtype=np.float64)))


def in_rising_order(values: Floats, length: int) -> Directions:
    """The values of each window in rising order as directions, in the form of :func:`in_order`."""
    rising: Directions = np.sort(np.ascontiguousarray(in_order(values, length).T), axis=1).T
    return rising


def _places(values: Floats, length: int) -> Floats:
    """The values at each position of the windows, float64[length, n - length + 1]; a view."""
    return np.lib.stride_tricks.sliding_window_view(values, len(values) - length + 1)


def _below(one: Floats, other: Floats) -> NDArray[np.int8]:
    """2 where a value of the first array is below that of the second, 1 where they are equal, else 0."""
    below: NDArray[np.int8] = np.less(one, other).view(np.int8) + np.less_equal(one, other).view(np.int8)
    return below


def _directions(centred: Floats, values: Floats) -> Directions:
    """Centred windows over their sizes; zero where only rounding errors vary."""
    size = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    largest = _places(np.abs(values), len(centred)).max(axis=0)
    return _over(centred, np.where(size > STILL * largest, size, 0.0))


def _over(centred: NDArray[np.floating], size: Floats) -> Directions:
    """Columns over their sizes, in single precision; zero where a size is zero."""
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    directions: Directions = np.multiply(centred, scale, out=np.empty_like(centred, np.float32), casting="same_kind")
    return directions
