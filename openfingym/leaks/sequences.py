"""Hidden arrays as the one-dimensional sequences in which they may lie in a file.

An array of hidden values may have been written out in any order of its axes. Whatever that order
was, some axis runs contiguously or at a fixed stride, so that it is enough to look for runs along
time, along the channels of one row, over whole rows, and from window to window.
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
"""Positions of a long sequence that count as one neighbourhood."""
ROW_CHANNELS = 8
"""With more channels than this, a single channel or a part of one row is long enough to go by."""
LARGEST_EXPONENT = 50.0
VALUE_LIMIT = 400_000
"""Values kept of one way to read a hidden array."""
SHORTEST_PART = 32


@dataclass(frozen=True, eq=False)
class Sequences:
    """Hidden sequences of equal length, all read in the same direction."""

    name: str
    values: NDArray[np.float64]
    """float64[k, length]"""
    pool: NDArray[np.int64]
    """int64[k]: sequences with equal numbers are one source, such as a channel."""
    window: NDArray[np.int64]
    """int64[k, length]: the hidden window each value belongs to."""
    row: int = 1
    """Values that belong together: runs begin at multiples of this, and hold whole rows."""
    across: bool = False
    """Whether neighbours are channels of one row, whose steps are drawn position by position."""
    single: bool = False
    """Whether each sequence is of one channel, whose number is its ``pool``."""

    def view(self, name: str, values: NDArray[np.float64]) -> Sequences:
        """The same sequences after a transformation; shorter ones keep the windows of their first values."""
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
    """float64[windows, time, channels] from a hidden array of one to four axes; each missing one gets length 1."""
    values = np.asarray(truth, dtype=np.float64)
    if values.ndim <= 1:
        return values.reshape(-1, 1, 1)
    if values.ndim == 2:
        return values.reshape(len(values), 1, -1)
    return values.reshape(-1, *values.shape[-2:])


def sequences(truth: NDArray[np.float64]) -> Iterator[Sequences]:
    """Every way to read float64[n, h, d] that has at least three values in a sequence."""
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
    # A row that stands still from one time to the next is met on the public side without any leak.
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
    """At most about ``VALUE_LIMIT`` values of a source: fewer channels of each window, then a part of each sequence.

    Every window keeps at least one part, of ``SHORTEST_PART`` values or all it has.
    """
    k, length = source.values.shape
    channels = int(source.pool.max()) + 1
    step = min(-(-k * length // VALUE_LIMIT), channels)
    while math.gcd(step, channels) > 1 and step > 1:
        step -= 1
    chosen = np.arange(0, k, step)
    part = max(VALUE_LIMIT // len(chosen), SHORTEST_PART) // source.row * source.row
    part = max(part, min(3 * source.row, length))
    part = min(part, length)
    # Parts begin at other places from window to window.
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
    """What a careless author may have made of the values, up to shift and scale: no scan of its own is needed for
    those.
    """
    x = source.values
    yield source.view("rescaled", x)
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
