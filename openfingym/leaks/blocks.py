"""Blocks of hidden values as directions, and how much a copy of one tells.

Numbers less their mean, over their size, are a point on a sphere, which is the same for every shift and scale. The sine
of the angle between a public window and a hidden block is the error of the copy relative to the size of the block's
values. What a copy with this error tells is bounded by :mod:`openfingym.leaks.telling`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.known import Known, coarse_told, known_before, lattice, most_told
from openfingym.leaks.readings import ALONG, FORMS, ORDERS, TRANSFORMS, AxisOrder, Floats, Form
from openfingym.leaks.sequences import three_axes
from openfingym.leaks.telling import NEEDED, told_by

LENGTHS = (12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
"""Lengths of a block in values, of which the shortest that tells enough is taken."""
LONGEST = 4096
"""Most values of a whole row, or of a whole fold, that is looked for in another order."""
ROWS = 2000
"""Most blocks of one reading."""
HIDDEN = 200_000
"""Most hidden values of one array that are looked for; of a larger array, some windows."""
PIECES = 8
"""Number of places from which these windows are taken."""
VALUES = 1 << 15
"""Most values of all blocks of one reading whose blocks hold several rows each."""


@dataclass(frozen=True, eq=False)
class HiddenBlocks:
    """All blocks of one form and length; arrays are parallel."""

    form: Form
    """The form in which blocks are compared."""
    length: int
    """Number of values of a block."""
    directions: Floats
    """The blocks, float64[k, length], each of mean 0 and size 1."""
    told: Floats
    """Bits that a copy with each of :data:`openfingym.leaks.telling.ERRORS` tells, float64[k, errors]."""
    place: NDArray[np.int64]
    """Hidden row in which each block begins, and its channel (-1 for all), int64[k, 2]."""
    reading: NDArray[np.int64]
    """Position of each block's reading in ``readings``, int64[k]."""
    readings: tuple[tuple[str, str], ...]
    """Name of the hidden array and reading in words."""

    @cached_property
    def coarse(self) -> NDArray[np.float32]:
        """The directions in single precision."""
        return self.directions.astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks of one reading; arrays as in :class:`HiddenBlocks`."""

    form: Form
    reading: str
    """The reading in words."""
    directions: Floats
    told: Floats
    place: NDArray[np.int64]


def hidden_blocks(truths: Mapping[str, NDArray[np.generic]], folds: tuple[int, ...] = ()) -> list[HiddenBlocks]:
    """The blocks of every hidden array, under each reading that tells enough.

    Args:
        truths: hidden float arrays of one to four axes, by name.
        folds: number of rows of each fold, in the order of the folds; each fold is also looked for as a whole, in any
            order.
    """
    groups: dict[tuple[str, int], list[tuple[str, _Part]]] = defaultdict(list)
    for name, array in truths.items():
        truth = three_axes(array)
        if truth.size >= LENGTHS[0] and np.isfinite(truth).all() and np.ptp(truth) > 0.0:
            for part in _parts(truth, folds):
                groups[part.form.name, part.directions.shape[1]].append((name, part))
    return [_joined(parts, length) for (_, length), parts in groups.items()]


def _joined(parts: list[tuple[str, _Part]], length: int) -> HiddenBlocks:
    """Put blocks of several readings, with the names of their arrays, into one group without repetitions."""
    directions = np.concatenate([part.directions for _, part in parts])
    # Several readings may give the same block, as ranks of values and of their logarithms do: it is kept once.
    _, first = np.unique(_marks(directions), return_index=True)
    kept = np.sort(first[directions[first].any(axis=1)])
    return HiddenBlocks(
        parts[0][1].form, length,
        directions[kept],
        np.concatenate([part.told for _, part in parts])[kept],
        np.concatenate([part.place for _, part in parts])[kept],
        np.concatenate([np.full(len(part.directions), i) for i, (_, part) in enumerate(parts)])[kept],
        tuple((name, part.reading) for name, part in parts),
    )  # fmt: skip


def _marks(directions: Floats) -> Floats:
    """A number for each direction, equal for equal ones: a random projection, rounded."""
    marks: Floats = np.round(directions @ np.random.default_rng(0).standard_normal(directions.shape[1]), 9)
    return marks


def _thinned(windows: int, each: int) -> NDArray[np.int64]:
    """Numbers of the windows that are looked for: all of ``windows``, or neighbours at evenly spread places.

    Args:
        windows: number of hidden windows.
        each: number of values of a window.
    """
    most = max(HIDDEN // max(each, 1), PIECES)
    if windows <= most:
        return np.arange(windows)
    begins = np.linspace(0, windows - most // PIECES, PIECES).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(most // PIECES))


def _parts(truth: Floats, folds: tuple[int, ...]) -> Iterator[_Part]:
    """The blocks of a hidden array float64[windows, time, channels], under each reading that tells enough."""
    kept = _thinned(len(truth), truth[0].size)
    truth = np.ascontiguousarray(truth[kept])
    several = truth.shape[1] > 1
    earlier, step = known_before(truth), lattice(truth)
    most = most_told(truth, earlier)
    for name, transform in TRANSFORMS.items():
        possible = transform.possible(truth) & transform.possible(earlier)
        if (transform.along and not several) or not possible.any():
            continue
        number = kept[possible]
        values, before = transform.make(truth[possible]), transform.make(earlier[possible])
        # The error that quoting leaves: that of a uniform distribution over a step, as the transform stretches it.
        least = np.full(
            len(values), 1.0 if transform.coarse else step * _middle(transform.slope(truth[possible]))
        ) / np.sqrt(12.0)
        # Differences have one time less than the values that they are made from.
        cells = most[possible][:, most.shape[1] - values.shape[1] :]
        if transform.coarse:
            cells = np.minimum(cells, coarse_told(values))
        for along, change in (ALONG if not name else {"": ALONG[""]}).items():
            for order in ORDERS:
                if order.rare and (name or along):
                    continue
                rows = np.ascontiguousarray(change(order.rows(values)))
                quoted = np.full(len(rows), np.median(least)) if order.channels else least
                limit = np.ascontiguousarray(order.rows(cells)[:, -rows.shape[1] :])
                known = Known(
                    rows,
                    np.ascontiguousarray(change(order.rows(before))),
                    quoted[:, None].repeat(rows.shape[1], axis=1),
                    limit,
                )
                title = ", ".join(part for part in (name, along, order.name) if part)
                for form in FORMS:
                    if not (form.name and (transform.coarse or (transform.monotone and form.ranks))):
                        yield from _cut(known, number, values.shape[2], order, form, title)
        if not transform.coarse:
            quoted = least[:, None, None] * np.ones(values.shape)
            yield from _folds(Known(values, before, quoted, cells), number, folds or (int(kept[-1]) + 1,), name)


def _middle(slope: Floats) -> Floats:
    """The geometric mean of each window's slopes: the side of a cell that keeps its volume."""
    with np.errstate(divide="ignore"):
        middle: Floats = np.exp(np.log(np.abs(slope)).reshape(len(slope), -1).mean(axis=1))
    return middle


def _cut(
    rows: Known, number: NDArray[np.int64], channels: int, order: AxisOrder, form: Form, title: str
) -> Iterator[_Part]:
    """Blocks of rows, of the shortest length at which some of them tell enough, up to one at which most do.

    Args:
        rows: the rows of hidden values in one order, float64[k, n].
        number: number of the hidden window of each row, or of the first one if rows are channels.
        channels: number of channels of the hidden array.
        order: the order of the axes.
        form: the form in which blocks are compared.
        title: the reading in words, without the form.
    """
    k, n = rows.hidden.shape
    reading = ", ".join(part for part in (title, form.name) if part)
    if form.whole and not (LENGTHS[0] <= n <= LONGEST and order is ORDERS[0]):
        return
    longest = min(n if order.channels else k * n, LENGTHS[-1])
    lengths = [n] if form.whole else sorted({length for length in (*LENGTHS, n) if LENGTHS[0] <= length <= longest})
    most = False
    for length in lengths:
        # Most blocks tell enough: longer ones only as whole rows, which tell enough if they are copied less well, too.
        if most and length != n:
            continue
        if order.channels:
            begins = (np.arange(k)[:, None] * n + np.arange(0, n - length + 1, max(length // 2, 1))).reshape(-1)
        elif length <= n:
            begins = np.arange(k) * n
        else:
            begins = np.arange(0, k * n - length + 1, n * max(length // n // 2, 1))
        begins = begins[:: -(-len(begins) // (ROWS if length <= n and not order.channels else VALUES // length))]
        told = told_by(form, rows.at(begins[:, None] + np.arange(length)), rows if length > n else None)
        enough = told.bits[:, -1] >= NEEDED
        if len(enough):
            # A block that several hidden windows share may be in honest data too.
            _, which, often = np.unique(_marks(told.directions), return_inverse=True, return_counts=True)
            enough &= often[which] == 1
        if enough.any():
            row = begins[enough] // n
            everywhere = np.full_like(row, -1 if channels > 1 else 0)
            place = np.column_stack(
                [np.full_like(row, number[0]), row] if order.channels else [number[row], everywhere]
            )
            yield _Part(form, reading, told.directions[enough], told.bits[enough], place)
        most = most or told.most
        if most and length >= n:
            return


def _folds(values: Known, number: NDArray[np.int64], folds: tuple[int, ...], title: str) -> Iterator[_Part]:
    """Whole folds, and whole channels of them, in another order.

    Args:
        values: the hidden values, float64[windows, time, channels].
        number: number of each hidden window.
        folds: number of windows of each fold, in the order of the folds.
        title: the reading in words, without rows and form.
    """
    ends = np.cumsum((0, *folds)).tolist()
    channels = values.hidden.shape[2]
    for begin, end in sorted({(0, ends[-1]), *pairwise(ends)}):
        windows = np.flatnonzero((number >= begin) & (number < end))
        # A fold of which some windows are left out cannot be compared as a whole.
        if len(windows) < end - begin:
            continue
        for channel in (-1, *range(channels if channels > 1 else 0)):
            places = np.arange(values.hidden.size).reshape(values.hidden.shape)[windows]
            rows = values.at((places if channel < 0 else places[:, :, channel]).reshape(1, -1))
            for form in FORMS:
                if form.whole and LENGTHS[0] <= rows.hidden.shape[1] <= LONGEST:
                    told = told_by(form, rows)
                    if len(told.bits) and told.bits[0, -1] >= NEEDED:
                        reading = ", ".join(part for part in (title, f"rows {begin} to {end - 1}", form.name) if part)
                        yield _Part(form, reading, told.directions, told.bits, np.array([[begin, channel]]))
