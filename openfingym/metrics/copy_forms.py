"""Normal forms of windows, in which a copy stays near its source whatever was done to it.

A copy may be disguised: mirrored, scaled, turned, moved or mixed. Each disguise leaves something as it was, and that is
what is compared:

- *Pieces*: each channel of each quarter or eighth of a window as a direction, whose sign does not count. It stays the
  same when a window, a channel or a piece is mirrored about any centre, is scaled, or has a constant or a line added.
- *Grams*: the products of rows of a window, summed over channels. They do not change when channels are exchanged or
  turned; of channels decorrelated over all windows, they do not change under any one invertible map of the channels.
  Long ones are sketched (Johnson and Lindenstrauss 1984) by random quadratic forms.
- *Stretches*: four fifths of a window, at every place, against the first and the last four fifths of another; a few
  channels are enough.
- *Cells*: all numbers of a window as one vector, in which a mean of two windows is a sum of two vectors.

Windows of values that wander, such as prices, are compared by the steps between their rows. A jump at a joint would
drown the piece it falls in, so there the pieces are centred by their medians and their few largest steps are cut.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SHORT, LONG = 16, 48
"""Numbers of steps: a window of fewer than the first is one piece, since its quarters would look alike; a window of
the second or more has eight pieces instead of four."""
SHIFT_PARTS = 5
"""A copy is found if it was shifted by no more than one such part of a window."""
STRETCH_NUMBERS = 128
"""Number of cells that a stretch is compared by, about; it has as many channels as make them."""
SKETCH = 128
"""Number of random forms by which a longer Gram is sketched."""
SMALL_CELLS = 64
"""Most cells of a window that is decorrelated cell by cell, where there are enough windows to estimate how."""
SMALLEST = 1e-70
"""Smallest second moment that is divided by, so that windows without any step give numbers too."""
FAR = 1e6
"""Deviations from the mean window at which a value is held: beyond, it is as far from training as it can be."""


@dataclass(frozen=True, eq=False)
class Norm:
    """How the windows of a task are brought into normal form."""

    centre: NDArray[np.float64]
    """The mean training window, [t, d], which is subtracted."""
    scale: NDArray[np.float64]
    """Deviation of each channel, [d], by which is divided."""
    wandering: bool
    """Whether steps between rows are compared instead of rows."""
    whitening: Floats
    """Matrix that decorrelates the channels of training windows, [d, d]."""
    size: Floats
    """Root mean square of the steps of each channel in training, [d]."""
    cells: Floats
    """Matrix that decorrelates the cells of short windows, [steps d, steps d]; [0, 0] for long windows."""
    forms: Floats
    """Two factors of each random quadratic form of a sketch, [2, 128, steps]; [2, 0, steps] where Grams are short."""
    channels: NDArray[np.intp]
    """Positions of the channels that stretches are compared by."""

    @property
    def steps(self) -> int:
        """Number of rows of a window in the form in which it is compared."""
        return len(self.centre) - int(self.wandering)

    @property
    def shift(self) -> int:
        """Number of rows by which a copy may be moved."""
        return len(self.centre) // SHIFT_PARTS

    @property
    def cuts(self) -> list[slice]:
        """The eighths or quarters of a window, or its whole."""
        parts = 1 if self.steps < SHORT else 4 if self.steps < LONG else 8
        edges = [round(self.steps * part / parts) for part in range(parts + 1)]
        # A joint of two pieces is a step of neither.
        gap = int(self.robust)
        return [slice(begin, end - gap) for begin, end in itertools.pairwise(edges)]

    @property
    def centred(self) -> bool:
        """Whether pieces are centred, since mirroring about another centre leaves a constant in them."""
        return not self.wandering or self.steps >= SHORT

    @property
    def robust(self) -> bool:
        """Whether pieces are centred by medians and their largest steps cut, since joints leave jumps."""
        return self.wandering and self.steps >= SHORT

    def rows(self, windows: NDArray[np.floating]) -> Floats:
        """Windows [n, t, d] less the mean window, in deviations."""
        # Held at FAR, so that absurd values do not overflow single precision when they are squared.
        with np.errstate(over="ignore", invalid="ignore"):
            ready: Floats = np.clip((windows - self.centre) / self.scale, -FAR, FAR).astype(np.float32)
        return ready

    def steps_of(self, rows: Floats) -> Floats:
        """Rows in deviations, or the steps between them where values wander, [n, steps, d]."""
        return np.diff(rows, axis=1) if self.wandering else rows

    def pieces(self, steps: Floats) -> list[tuple[Floats, Floats]]:
        """Directions [d, n, l] of each piece, and how many channels of each window have one."""
        return [directions(steps[:, cut], self.centred, self.robust) for cut in self.cuts]

    def stretch(self, steps: Floats, start: int) -> tuple[Floats, Floats]:
        """Directions and counts, as :meth:`pieces`, of the stretch that begins at a step, in the chosen channels."""
        part = steps[:, start : start + self.steps - self.shift, self.channels]
        return directions(part, self.centred, self.robust)

    def grams(self, steps: Floats, whitening: Floats) -> tuple[Floats, Floats]:
        """Grams of decorrelated channels, and of channels of unit length: [n, p] each."""
        own, _ = directions(steps, self.centred, robust=False)
        return self._gram(steps @ whitening), self._gram(own.transpose(1, 2, 0))

    def _gram(self, steps: Floats) -> Floats:
        """The Gram of each window's rows, scaled to unit length of the window, or a sketch of it, [n, p]."""
        length = np.sqrt(np.einsum("ntd,ntd->n", steps, steps, optimize=True))[:, None, None]
        unit = np.divide(steps, length, out=np.zeros_like(steps), where=length > 0.0)
        left, right = self.forms
        if len(left):
            # For each form a sum over channels of (left . channel) (right . channel).
            made: Floats = ((left @ unit) * (right @ unit)).sum(axis=2) / math.sqrt(len(left))
            return made
        first, second = np.triu_indices(self.steps)
        whole = np.matmul(unit, unit.transpose(0, 2, 1))[:, first, second]
        # Off the diagonal every product stands for two, so that distances are those of the full matrices.
        exact: Floats = whole * np.where(first == second, 1.0, math.sqrt(2.0)).astype(np.float32)
        return exact

    def vectors(self, steps: Floats, size: Floats) -> Floats:
        """All cells of each window as one unit vector, [n, c]; ``size`` is the root mean square of each channel."""
        flat = (steps / size).reshape(len(steps), -1)
        if len(self.cells):
            flat = flat @ self.cells
        return _unit(flat, axis=1)


def size_of(steps: Floats) -> Floats:
    """Root mean square of each channel of steps [n, l, d], [d]; 1 for a channel that is 0 throughout."""
    size = np.sqrt(np.einsum("ntd,ntd->d", steps, steps, optimize=True) / max(1, steps.shape[0] * steps.shape[1]))
    return np.where(size > 0.0, size, 1.0).astype(np.float32)


def whitening_of(cells: Floats, ridge: float = 1e-5) -> Floats:
    """The symmetric root of the inverse second moment of [n, c], eigenvalues not below ``ridge`` of the largest."""
    cells = cells.astype(np.float64)
    values, vectors = np.linalg.eigh(cells.T @ cells / len(cells))
    values = np.maximum(values, ridge * values[-1])
    root: Floats = ((vectors / np.sqrt(np.maximum(values, SMALLEST))) @ vectors.T).astype(np.float32)
    return root


def directions(steps: Floats, centred: bool, robust: bool) -> tuple[Floats, Floats]:
    """Each channel of [n, l, d] as a unit vector, [d, n, l], and how many of a window's channels have one, [n].

    Args:
        steps: the steps that are compared, [n, l, d].
        centred: whether the mean of each window and channel, or the median where ``robust``, is subtracted.
        robust: whether steps are cut at four times their median size.
    """
    if centred:
        steps = steps - (np.median(steps, axis=1, keepdims=True) if robust else steps.mean(axis=1, keepdims=True))
    if robust:
        limit = 4.0 * np.median(np.abs(steps), axis=1, keepdims=True)
        limit = np.where(limit > 0.0, limit, np.inf)
        steps = np.clip(steps, -limit, limit)
    length = np.sqrt(np.einsum("nld,nld->nd", steps, steps))[:, None]
    # A channel that hardly moves has no direction: what is left of it is rounding.
    alive = length > 1e-4 * math.sqrt(steps.shape[1])
    unit = np.divide(steps, length, out=np.zeros_like(steps), where=alive)
    return np.ascontiguousarray(unit.transpose(2, 0, 1)), np.maximum(alive[:, 0].sum(axis=1), 1).astype(np.float32)


def agreement(queries: Floats, others: Floats) -> Floats:
    """Sum over channels of the squared cosine of each two windows, float32[n, m], of directions [d, n, l] and [d, m,
    l].
    """
    return _summed(queries, others, np.square)


def part_agreement(queries: Floats, others: Floats) -> Floats:
    """Cosine of each two windows with the sign of every channel free: float32[n, m], of [n, l, d] and [m, l, d]."""
    left, right = (
        np.ascontiguousarray(_unit(part, axis=(1, 2)).transpose(2, 0, 1), np.float32) for part in (queries, others)
    )
    return _summed(left, right, np.abs)


def _summed(queries: Floats, others: Floats, form: np.ufunc) -> Floats:
    """Sum over channels of a form of the inner product of each two windows, of [d, n, l] and [d, m, l]."""
    out = np.empty((queries.shape[1], others.shape[1]), np.float32)
    product = np.empty_like(out)  # once: new pages for every product cost more than the product
    for channel, (query, other) in enumerate(zip(queries, others, strict=True)):
        into = product if channel else out
        np.matmul(query, other.T, out=into)
        form(into, out=into)
        if channel:
            out += into
    return out


def run_agreement(queries: Floats, others: Floats) -> Floats:
    """Squared cosine of each two windows as single vectors: float32[n, m], of [n, l, d] and [m, l, d]."""
    left, right = (_unit(part, axis=(1, 2)).reshape(len(part), -1) for part in (queries, others))
    squared: Floats = (left @ right.T) ** 2
    return squared


def gaps(queries: Floats, others: Floats) -> Floats:
    """Squared Euclidean distances of rows, float32[n, m]."""
    product = queries @ others.T
    product *= -2.0
    product += np.einsum("ij,ij->i", queries, queries)[:, None]
    product += np.einsum("ij,ij->i", others, others)
    positive: Floats = np.maximum(product, 0.0, out=product)
    return positive


def _unit(rows: Floats, axis: int | tuple[int, ...]) -> Floats:
    """The rows scaled to unit length along some axes; what is 0 stays so."""
    length = np.sqrt((rows * rows).sum(axis=axis, keepdims=True))
    unit: Floats = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0.0)
    return unit
