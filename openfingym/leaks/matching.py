"""Comparing windows of public numbers with blocks of hidden values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.blocks import HiddenBlocks
from openfingym.leaks.readings import Floats
from openfingym.leaks.streams import SHORTEST, Stream
from openfingym.leaks.telling import ERRORS, directed

MARGIN = 12.0
"""Bits that a match must tell beyond those of the number of pairs compared: a false alarm in one of 2^12 files whose
data are like the hidden ones."""
STRIDES = (2, 3, 4)
"""Distances at which the numbers of a long row are also read by themselves."""
STRIDED = 4000
"""Most numbers of a stream that is read at such distances."""
WORK = 4_000_000_000
"""Most products of a public and a hidden number that are computed for bytes of a file that may be numbers."""
WRITTEN = 4
"""How many times as many are computed for numbers that are written as such."""
BATCH = 1 << 14
"""Numbers of streams that are compared at a time."""
PIECE = 1 << 22
"""Most numbers of windows that are taken at a time."""
TILE = 256
"""Blocks, and windows, that are compared at a time: their products fit the processor's cache."""


@dataclass(frozen=True)
class Match:
    """A public window that is a copy of a hidden block."""

    how: str
    """Encoding of the window, in words; empty for numbers as such."""
    array: str
    """Name of the hidden array."""
    reading: str
    """What was made of the hidden values, in words; empty for the values as they are."""
    row: int
    """Hidden row in which the block begins."""
    channel: int
    """Channel of the block; -1 for all of them."""
    length: int
    """Number of values of the block."""
    bits: float
    """Information that a copy with the error of the window tells."""


def matches(streams: Iterable[Stream], blocks: Sequence[HiddenBlocks]) -> Iterator[Match]:
    """Public windows that are copies of hidden blocks beyond chance; the surest of each length and form.

    Numbers that are written as such are compared first, and then, as far as ``WORK`` allows, bytes that may be numbers.

    Args:
        streams: sequences of numbers that a public file may hold.
        blocks: groups of hidden blocks of one form and length each.
    """
    ordered = sorted(streams, key=lambda stream: (not stream.written, stream.unlikely))
    work = sum(len(group.directions) * group.length for group in blocks)
    for batch in _batches(ordered, WORK // max(work, 1)):
        for length in sorted({group.length for group in blocks}):
            values, owner = _windows(batch, length)
            for form in dict.fromkeys(group.form.public for group in blocks if group.length == length):
                groups = [group for group in blocks if group.length == length and group.form.public is form]
                yield from _met(values, owner, batch, groups) if len(owner) else ()


def _windows(streams: Sequence[Stream], length: int) -> tuple[Floats, NDArray[np.int64]]:
    """The numbers of all streams that are long enough, one after the other, float64[m]; and the stream of the window
    from each of the m - length + 1 starts, -1 if the window reaches into the next stream.
    """
    fitting = [number for number, stream in enumerate(streams) if len(stream.values) >= length]
    if not fitting:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    owner = [np.full(len(streams[number].values), number) for number in fitting]
    for numbers in owner:
        numbers[len(numbers) - length + 1 :] = -1
    return np.concatenate([streams[number].values for number in fitting]), np.concatenate(owner)[: 1 - length]


def _met(
    values: Floats, owner: NDArray[np.int64], streams: Sequence[Stream], groups: Sequence[HiddenBlocks]
) -> Iterator[Match]:
    """The surest match of each group of blocks.

    Args:
        values: the numbers of all streams, float64[m].
        owner: the stream of the window of each start; -1 if there is none.
        streams: the streams that these numbers come from.
        groups: groups of blocks of one length, which see windows in one form.
    """
    form, length = groups[0].form, groups[0].length
    # A match must tell more than the number of pairs of a window and a block, by MARGIN bits.
    count = math.log2(np.count_nonzero(owner >= 0))
    candidates = [_Candidates.of(group, count + math.log2(len(group.directions)) + MARGIN) for group in groups]
    candidates = [blocks for blocks in candidates if len(blocks.chosen)]
    best: dict[int, tuple[int, int, float]] = {}
    step = max(PIECE // length, 1)
    for start in range(0, len(owner) if candidates else 0, step):
        piece = values[start : start + step + length - 1]
        public = form.sliding(piece, length)
        for number, blocks in enumerate(candidates):
            # All pairs in single precision; the few that may match again in double precision.
            windows, columns = blocks.near(public)
            inside = owner[start + windows] >= 0
            for window, column in sorted(zip(windows[inside].tolist(), columns[inside].tolist(), strict=True)):
                exact = directed(form.public(piece[None, window : window + length]))[0]
                bits = _bits(exact, blocks.group, int(blocks.chosen[column]))
                if bits >= blocks.needed and bits > best.get(number, (0, 0, 0.0))[2]:
                    best[number] = start + window, int(blocks.chosen[column]), bits
    for number, (window, block, bits) in best.items():
        group = candidates[number].group
        row, channel = group.place[block].tolist()
        array, reading = group.readings[group.reading[block]]
        yield Match(streams[owner[window]].how, array, reading, row, channel, length, bits)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The blocks of a group of which a copy can tell enough."""

    group: HiddenBlocks
    """The group of blocks."""
    chosen: NDArray[np.int64]
    """Numbers of these blocks in the group, int64[chosen]."""
    directions: NDArray[np.float32]
    """Directions of these blocks, float32[chosen, length]."""
    limit: NDArray[np.float32]
    """Cosine of the angle between window and block from which on a copy may tell enough, float32[chosen]."""
    least: float
    """The least of these cosines."""
    needed: float
    """Bits that are enough."""

    def near(self, public: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Windows that may be copies, and the block of each, int64[pairs] both.

        Args:
            public: directions of windows, float32[length, windows].
        """
        windows, columns = [], []
        cosines = np.empty(TILE * TILE, np.float32)  # once: it stays in the processor's cache
        for column in range(0, len(self.directions), TILE):
            directions, limit = self.directions[column : column + TILE], self.limit[column : column + TILE, None]
            for window in range(0, public.shape[1], TILE):
                of = public[:, window : window + TILE]
                tile = cosines[: len(directions) * of.shape[1]].reshape(len(directions), -1)
                np.matmul(directions, of, out=tile)
                if tile.max() < self.least and tile.min() > -self.least:
                    continue
                found = np.nonzero(np.abs(tile) >= limit)
                columns.append(found[0] + column)
                windows.append(found[1] + window)
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *windows]), np.concatenate([none, *columns])

    @classmethod
    def of(cls, group: HiddenBlocks, needed: float) -> _Candidates:
        chosen = np.flatnonzero(group.told[:, -1] >= needed)
        # The largest error with which a copy of a block tells enough, which is the sine of its angle.
        sine = ERRORS[np.argmax(group.told[chosen] >= needed, axis=1)]
        # A little lower, for the rounding errors of single precision.
        limit = (np.sqrt(1.0 - sine**2) - 4e-6).astype(np.float32)
        return cls(group, chosen, group.coarse[chosen], limit, float(limit.min(initial=1.0)), needed)


def _batches(streams: Sequence[Stream], most: int) -> Iterator[list[Stream]]:
    """Some streams at a time, up to ``most`` numbers in all, or ``WRITTEN`` times as many that are written as such."""
    batch: list[Stream] = []
    held = seen = 0
    for stream in streams:
        left = most * (WRITTEN if stream.written else 1) - seen
        if left < SHORTEST:
            continue
        if batch and held + len(stream.values) > BATCH:
            yield batch
            batch, held = [], 0
        batch.append(stream if len(stream.values) <= left else replace(stream, values=stream.values[:left]))
        held += len(stream.values)
        seen += len(stream.values)
    if batch:
        yield batch


def strided(stream: Stream, strides: Iterable[int] = ()) -> Iterator[Stream]:
    """A stream, and every second, third and so on of its numbers, if those of a table may follow one another in it.

    Args:
        stream: the sequence of numbers to read.
        strides: distances to read it at, beside :data:`STRIDES`.
    """
    values, usable = stream.values, np.abs(stream.values) < 1e30
    if not usable.all():
        values = np.where(usable, values, 0.0)
        stream = replace(stream, values=values)
    yield stream
    if stream.single and len(values) <= STRIDED:
        for stride in sorted({*STRIDES, *strides}):
            for offset in range(stride):
                yield replace(
                    stream,
                    how=f"{stream.how}{', ' if stream.how else ''}one number in {stride}",
                    values=values[offset::stride],
                )


def _bits(public: Floats, group: HiddenBlocks, block: int) -> float:
    """What a public window tells as a copy of a block, in bits."""
    direction = group.directions[block]
    # The sine of the angle, computed as the length of the rest: 1 - cos^2 would cancel for close copies.
    error = float(np.sqrt(((public - float(public @ direction) * direction) ** 2).sum()))
    # Of the errors for which it is known what a copy tells, the next larger one counts.
    known = int(np.searchsorted(-ERRORS, -error, side="right")) - 1
    return float(group.told[block, known]) if known >= 0 else 0.0
