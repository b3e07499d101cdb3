"""Hidden values, and what is known of them without looking."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.information import bits, row_kinds
from openfingym.leaks.readings import Floats

REPEATED = 0.98
"""Share of the values that are different where none are quoted alike."""
STRETCH = 64
"""Steps in a row that count as one neighbourhood."""
SAMPLE = 256
"""Rows that stand for all of them, at most."""


def lattice(values: Floats) -> float:
    """The step of the lattice that repeated values lie on, 0 if they hardly repeat."""
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    gaps = gaps[gaps > 1e-9 * np.abs(distinct).max(initial=0.0)]
    return float(gaps.min()) if len(gaps) and len(distinct) < REPEATED * values.size else 0.0


def known_before(truth: Floats) -> Floats:
    """What hidden values float64[windows, time, channels] are taken to be by whoever does not know them.

    That is at best the first row of their own window, or the window before; whichever is nearer, for each channel.
    """
    before = np.concatenate([truth[:1], truth[:-1]])
    if truth.shape[1] == 1:
        return before
    first = np.repeat(truth[:, :1], truth.shape[1], axis=1)
    nearer = np.mean(np.abs(truth - before), axis=(0, 1)) < np.mean(np.abs(truth - first), axis=(0, 1))
    known: Floats = np.where(nearer, before, first)
    return known


def most_told(truth: Floats, earlier: Floats) -> Floats:
    """Bits that each hidden value tells at most, whatever is made of it: float64[windows, time, channels].

    The information of its step from the value before, or of the value itself if that is less (see
    :mod:`openfingym.leaks.information`); and if all channels move together, that of the whole row.
    """
    n, h, d = truth.shape
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
    # Rows of which none is like another say nothing about how channels move together.
    rows = np.where(rows >= math.log2(rows.size) - 1.0, np.inf, rows)
    most *= np.minimum(1.0, rows / np.maximum(together, 1e-300))
    most[earlier == truth] = 0.0
    return most


def coarse_told(values: Floats) -> Floats:
    """Bits that each of a few different values tells whoever knows the one before it: float64[windows, time, channels].

    A sign that is kept for long tells little, however often it stands there.
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
    """Hidden values float64[k, n] and what is known of them."""

    hidden: Floats
    earlier: Floats
    """What they are taken to be without them."""
    least: Floats
    """The smallest error of each that there is: what quoting it leaves open."""
    most: Floats
    """Bits that each tells at most; see :func:`most_told`."""

    def at(self, places: NDArray[np.int64]) -> Known:
        """Those at places int64[blocks, length], counted row after row."""
        return Known(
            self.hidden.reshape(-1)[places],
            self.earlier.reshape(-1)[places],
            self.least.reshape(-1)[places],
            self.most.reshape(-1)[places],
        )

    def some(self) -> Known:
        """``SAMPLE`` of the rows at most; itself where it has no more."""
        if len(self.hidden) <= SAMPLE:
            return self
        chosen = slice(None, None, -(-len(self.hidden) // SAMPLE))
        return Known(self.hidden[chosen], self.earlier[chosen], self.least[chosen], self.most[chosen])
