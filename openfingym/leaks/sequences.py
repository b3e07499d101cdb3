"""Hidden arrays as the one-dimensional sequences in which they may lie in a file.

An array of hidden values may have been written out in any order of its axes. Whatever the order, some axis runs
contiguously or at a fixed stride. So it is enough to look for runs along time, along the channels of one row, over
whole rows, and from window to window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

STRETCH = 64
"""Number of positions of a long sequence that are one neighbourhood."""
ROW_CHANNELS = 8
"""Most channels of an array whose whole rows are looked for; with more, a part of one row is long enough."""
LARGEST_EXPONENT = 50.0
"""Magnitude up to which exponentials are taken."""
VALUE_LIMIT = 400_000
"""About the most values of one way to read a hidden array."""
SHORTEST_PART = 32
"""Fewest values of a window that are kept, if it has so many."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Hidden sequences of equal length, all read in the same direction."""

    name: str
    """The direction, and what was computed from the values, in words."""
    values: NDArray[np.float64]
    """The sequences, float64[k, length]."""
    pool: NDArray[np.int64]
    """Number of the source of each sequence, such as its channel, int64[k]; sequences of one source are alike."""
    window: NDArray[np.int64]
    """Hidden window of each value, int64[k, length]."""
    row: int = 1
    """Number of values that belong together as a row: runs begin at multiples of it, and hold whole rows."""
    across: bool = False
    """Whether neighbours are channels of one row, whose steps have a distribution for each position."""
    single: bool = False
    """Whether each sequence is of one channel, whose number is its ``pool``."""

    def view(self, name: str, values: NDArray[np.float64]) -> Sequences:
        """The same sequences after a transformation; shorter ones keep the windows of the first values.

        Args:
            name: the transformation in words.
            values: the transformed sequences, float64[k, length].
        """
        return Sequences(
            f"{self.name}, {name}",
            values,
            self.pool,
            self.window[:, : values.shape[1]],
            self.row,
            self.across,
            self.single,
        )


def three_axes(truth: NDArray[np.generic]) -> NDArray[np.float64]:
    """A hidden array of one to four axes as float64[windows, time, channels]; missing axes have length 1."""
    values = np.asarray(truth, dtype=np.float64)
    if values.ndim <= 1:
        return values.reshape(-1, 1, 1)
    if values.ndim == 2:
        return values.reshape(len(values), 1, -1)
    return values.reshape(-1, *values.shape[-2:])


def sequences(truth: NDArray[np.float64]) -> Iterator[Sequences]:
    """All ways to read a hidden array as sequences of at least three values.

    Args:
        truth: the hidden array, float64[windows, time, channels].
    """
    n, h, d = truth.shape
    windows = np.arange(n)
    if h >= 3:
        values = np.ascontiguousarray(np.swapaxes(truth, 1, 2)).reshape(n * d, h)
        owner = np.repeat(windows, d)[:, None].repeat(h, axis=1)
        yield Sequences("consecutive times of a channel", values, np.tile(np.arange(d), n), owner, single=True)
    if h >= 2 and 2 <= d <= ROW_CHANNELS:
        owner = windows[:, None].repeat(h * d, axis=1)
        yield Sequences("consecutive rows", truth.reshape(n, h * d), np.zeros(n, dtype=np.int64), owner, row=d)
    if 2 <= h <= ROW_CHANNELS and d >= 2:
        owner = windows[:, None].repeat(h * d, axis=1)
        values = np.ascontiguousarray(np.swapaxes(truth, 1, 2)).reshape(n, h * d)
        yield Sequences("channel after channel", values, np.zeros(n, dtype=np.int64), owner, row=h)
    # If a row can stay the same from one time to the next, the last input row may honestly equal the first hidden one.
    still = h >= 2 and bool((np.diff(truth, axis=1) == 0.0).all(axis=2).any())
    if d >= 3 and not still:
        owner = np.repeat(windows, h)[:, None].repeat(d, axis=1)
        yield Sequences(
            "channels of a row", truth.reshape(n * h, d), np.zeros(n * h, dtype=np.int64), owner, across=True
        )
    if n >= 3:
        values = np.ascontiguousarray(np.moveaxis(truth, 0, -1)).reshape(h * d, n)
        owner = windows[None, :].repeat(h * d, axis=0)
        yield Sequences("consecutive windows", values, np.tile(np.arange(d), h), owner, single=True)


def thinned(source: Sequences) -> Sequences:
    """About ``VALUE_LIMIT`` values of a source at most: some channels of each window, and a part of each sequence.

    Every window keeps at least one part, of ``SHORTEST_PART`` values, or of all if it has fewer.
    """
    k, length = source.values.shape
    channels = int(source.pool.max()) + 1
    # Without a common divisor with the number of channels, so that the windows keep different ones.
    step = min(-(-k * length // VALUE_LIMIT), channels)
    while math.gcd(step, channels) > 1 and step > 1:
        step -= 1
    chosen = np.arange(0, k, step)
    part = max(VALUE_LIMIT // len(chosen), SHORTEST_PART) // source.row * source.row
    part = max(part, min(3 * source.row, length))
    part = min(part, length)
    # Parts begin at different positions from window to window; 7919 is a prime that scatters them.
    begin = (chosen * 7919) % ((length - part) // source.row + 1) * source.row
    place = begin[:, None] + np.arange(part)
    rows = chosen[:, None]
    return Sequences(
        source.name,
        source.values[rows, place],
        source.pool[chosen],
        source.window[rows, place],
        source.row,
        source.across,
        source.single,
    )


def transformed(source: Sequences) -> Iterator[Sequences]:
    """What a careless author may have computed from the values; shift and scale need no view, as shapes ignore them."""
    x = source.values
    yield source.view("rescaled", x)
    # Along rows of several channels, neighbours are not neighbours in time, which the others presume.
    if source.row > 1 or source.across:
        return
    yield source.view("reversed and rescaled", x[:, ::-1])
    yield source.view("cumulated", np.cumsum(x, axis=1))
    yield source.view("differenced", np.diff(x, axis=1))
    largest = float(np.abs(x).max(initial=0.0))
    if (x > 0.0).all():
        yield source.view("logarithm", np.log(x))
        yield source.view("log returns", np.diff(np.log(x), axis=1))
    if largest < LARGEST_EXPONENT:
        yield source.view("exponential", np.exp(x))
        path = np.cumsum(x, axis=1)
        if float(np.abs(path).max(initial=0.0)) < LARGEST_EXPONENT:
            yield source.view("compounded", np.exp(path))
