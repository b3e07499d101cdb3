"""Blocks of hidden values as directions, and how much it tells to come near one.

Numbers less their mean, over their size, are a point on a sphere: the same for every shift and scale. A public window
lies at the sine of its angle from a hidden block, which is the error of the copy over the size of the block's values.
What a copy with that error tells is bounded by :mod:`openfingym.leaks.telling`.
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
"""Values of a block, the shortest that tells enough."""
LONGEST = 4096
"""Values of a whole row, or of a whole fold in another order, at most."""
ROWS = 2000
"""Blocks of one reading, at most."""
HIDDEN = 200_000
"""Hidden values of one array that are looked for; of more, some windows."""
PIECES = 8
VALUES = 1 << 15
"""Values of the blocks of one reading that hold several rows each, at most."""


@dataclass(frozen=True, eq=False)
class HiddenBlocks:
    """All blocks of one form and length; arrays are parallel."""

    form: Form
    length: int
    directions: Floats
    """float64[k, length], each of mean 0 and size 1."""
    told: Floats
    """float64[k, errors], bits of a copy with each of the errors of :mod:`openfingym.leaks.telling`."""
    place: NDArray[np.int64]
    """int64[k, 2]: the hidden row it begins in and its channel, -1 for all."""
    reading: NDArray[np.int64]
    """int64[k]: index into ``readings``."""
    readings: tuple[tuple[str, str], ...]
    """(hidden array, how its values are read)."""

    @cached_property
    def coarse(self) -> NDArray[np.float32]:
        """The directions in single precision."""
        return self.directions.astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks of one reading."""

    form: Form
    reading: str
    directions: Floats
    told: Floats
    place: NDArray[np.int64]


def hidden_blocks(truths: Mapping[str, NDArray[np.generic]], folds: tuple[int, ...] = ()) -> list[HiddenBlocks]:
    """The blocks of every hidden array, under each reading that tells enough.

    Args:
        truths: float arrays of one to four axes.
        folds: how many rows each fold has, in their order; each is looked for as a whole in another order.
    """
    groups: dict[tuple[str, int], list[tuple[str, _Part]]] = defaultdict(list)
    for name, array in truths.items():
        truth = three_axes(array)
        if truth.size >= LENGTHS[0] and np.isfinite(truth).all() and np.ptp(truth) > 0.0:
            for part in _parts(truth, folds):
                groups[part.form.name, part.directions.shape[1]].append((name, part))
    return [_joined(parts, length) for (_, length), parts in groups.items()]


def _joined(parts: list[tuple[str, _Part]], length: int) -> HiddenBlocks:
    directions = np.concatenate([part.directions for _, part in parts])
    # Readings that come to the same, as the ranks of values and of their logarithms do, are one.
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
    """A number for each direction, the same for equal ones."""
    marks: Floats = np.round(directions @ np.random.default_rng(0).standard_normal(directions.shape[1]), 9)
    return marks


def _thinned(windows: int, each: int) -> NDArray[np.int64]:
    """The numbers of the windows that are looked for: all of them, or pieces of neighbours, evenly spread."""
    most = max(HIDDEN // max(each, 1), PIECES)
    if windows <= most:
        return np.arange(windows)
    begins = np.linspace(0, windows - most // PIECES, PIECES).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(most // PIECES))


def _parts(truth: Floats, folds: tuple[int, ...]) -> Iterator[_Part]:
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
        least = np.full(
            len(values), 1.0 if transform.coarse else step * _middle(transform.slope(truth[possible]))
        ) / np.sqrt(12.0)
        # What is made along time has a row less where it is made of steps.
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
    """Blocks of rows float64[k, n], in the lengths at which some and then most of them tell enough."""
    k, n = rows.hidden.shape
    reading = ", ".join(part for part in (title, form.name) if part)
    if form.whole and not (LENGTHS[0] <= n <= LONGEST and order is ORDERS[0]):
        return
    longest = min(n if order.channels else k * n, LENGTHS[-1])
    lengths = [n] if form.whole else sorted({length for length in (*LENGTHS, n) if LENGTHS[0] <= length <= longest})
    most = False
    for length in lengths:
        # Where a part of a row tells enough, so does the whole of it if it is copied less well.
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
            # What several windows have in common, a public one may have too.
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
    """Whole folds, and whole channels of them, in another order; of windows float64[windows, time, channels] with their
    numbers.
    """
    ends = np.cumsum((0, *folds)).tolist()
    channels = values.hidden.shape[2]
    for begin, end in sorted({(0, ends[-1]), *pairwise(ends)}):
        windows = np.flatnonzero((number >= begin) & (number < end))
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
