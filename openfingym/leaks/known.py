"""Hidden values, and what anybody can know of them from the past."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.information import bits, row_kinds
from openfingym.leaks.readings import Floats

REPEATED = 0.98
"""Share of different values from which on values are taken to be unquoted."""
STRETCH = 64
"""Number of consecutive steps that are one neighbourhood."""
SAMPLE = 256
"""Most rows that stand for all of them."""


def lattice(values: Floats) -> float:
    """The step between quoted values, that is of the lattice on which they lie; 0 if values hardly repeat."""
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    gaps = gaps[gaps > 1e-9 * np.abs(distinct).max(initial=0.0)]
    return float(gaps.min()) if len(gaps) and len(distinct) < REPEATED * values.size else 0.0


def known_before(truth: Floats) -> Floats:
    """The best guess of hidden values float64[windows, time, channels] from the past, of the same shape.

    It is the first row of their own window, or the window before; for each channel the one that is closer.
    """
    before = np.concatenate([truth[:1], truth[:-1]])
    if truth.shape[1] == 1:
        return before
    first = np.repeat(truth[:, :1], truth.shape[1], axis=1)
    nearer = np.mean(np.abs(truth - before), axis=(0, 1)) < np.mean(np.abs(truth - first), axis=(0, 1))
    known: Floats = np.where(nearer, before, first)
    return known


def most_told(truth: Floats, earlier: Floats) -> Floats:
    """The most bits that each hidden value can tell, whatever is computed from it; float64[windows, time, channels].

    They are the information of its step from the value before, or of the value itself if that is less (see
    :mod:`openfingym.leaks.information`); and if all channels move together, the information of the whole row.

    Args:
        truth: the hidden values, float64[windows, time, channels].
        earlier: the best guess of them, from :func:`known_before`.
    """
    n, h, d = truth.shape
    # Steps are compared on a grid, so that rounding errors do not make equal ones different.
    rest = 1e-9 * max(float(np.abs(truth).max(initial=0.0)), 1e-300)
    along = np.diff(truth, axis=1, prepend=truth[:, :1])
    steps = np.where((np.abs(along) < np.abs(truth - earlier)), along, truth - earlier)
    stretch = np.arange(n * h) // STRETCH
    kinds = [np.rint(part / rest) + 0.0 for part in (steps, truth)]
    most = np.zeros(truth.shape)
    for channel in range(d):
        before = np.full((n, h), np.nan)
        before[:, 1:] = kinds[0][:, :-1, channel]
        told = [bits(part[:, :, channel].reshape(-1), stretch, before.reshape(-1)) for part in kinds]
        most[:, :, channel] = np.minimum(*told).reshape(n, h)
    together = most.sum(axis=2, keepdims=True)
    rows = bits(row_kinds(kinds[0].reshape(-1, d)), stretch).reshape(n, h, 1)
    # If all rows are different, it cannot be seen from them whether channels move together.
    rows = np.where(rows >= math.log2(rows.size) - 1.0, np.inf, rows)
    most *= np.minimum(1.0, rows / np.maximum(together, 1e-300))
    # A value that the best guess has right tells nothing.
    most[earlier == truth] = 0.0
    return most


def coarse_told(values: Floats) -> Floats:
    """Bits that each value tells if there are few different ones and the one before is known, of the same shape.

    A sign that stays the same for long tells little, however often it is repeated.

    Args:
        values: values of few kinds, such as signs, float64[windows, time, channels].
    """
    kinds, found = np.unique(values, return_inverse=True)
    codes = found.reshape(values.shape)
    told = np.empty(values.shape)
    for channel in range(values.shape[2]):
        now = codes[:, :, channel]
        first = np.bincount(now[:, 0], minlength=len(kinds))
        told[:, 0, channel] = np.log2(len(now) / first[now[:, 0]])
        pairs = now[:, :-1] * len(kinds) + now[:, 1:]
        often = np.bincount(pairs.reshape(-1), minlength=len(kinds) ** 2)
        told[:, 1:, channel] = np.log2(often.reshape(len(kinds), -1).sum(axis=1)[now[:, :-1]] / often[pairs])
    return told


@dataclass(frozen=True, eq=False)
class Known:
    """Hidden values in rows, float64[k, n], and what is known of them; all arrays have this shape."""

    hidden: Floats
    """The hidden values."""
    earlier: Floats
    """The best guess of them from the past."""
    least: Floats
    """The smallest error that a copy of each can have, because values are quoted."""
    most: Floats
    """The most bits that each can tell; see :func:`most_told`."""

    def at(self, places: NDArray[np.int64]) -> Known:
        """Blocks of values at some positions, int64[blocks, length], counted row after row."""
        return Known(
            self.hidden.reshape(-1)[places],
            self.earlier.reshape(-1)[places],
            self.least.reshape(-1)[places],
            self.most.reshape(-1)[places],
        )

    def some(self) -> Known:
        """At most ``SAMPLE`` of the rows, evenly spread; the same object if it has no more."""
        if len(self.hidden) <= SAMPLE:
            return self
        chosen = slice(None, None, -(-len(self.hidden) // SAMPLE))
        return Known(self.hidden[chosen], self.earlier[chosen], self.least[chosen], self.most[chosen])
