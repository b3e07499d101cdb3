"""Windows of public numbers against blocks of hidden ones."""

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
"""Bits beyond those of the number of pairs compared: 2^-12 of a false alarm a file of data like the hidden ones."""
STRIDES = (2, 3, 4)
STRIDED = 4000
"""Numbers of a stream of which every second, third and so on is looked at by itself."""
WORK = 4_000_000_000
"""Products of a public and a hidden number that are worth a file's bytes that may only be numbers."""
WRITTEN = 4
"""Times this that numbers are worth which are written as such."""
BATCH = 1 << 14
"""Numbers that are compared before the next ones are."""
PIECE = 1 << 22
"""Numbers of a comparison held at a time."""


@dataclass(frozen=True)
class Match:
    """A public window that is a hidden block."""

    how: str
    """What it is written in."""
    array: str
    """The hidden array."""
    reading: str
    row: int
    channel: int
    """-1 for all of them."""
    length: int
    bits: float


def matches(streams: Iterable[Stream], blocks: Sequence[HiddenBlocks]) -> Iterator[Match]:
    """Public windows that are hidden blocks, beyond chance; the surest of each length and form.

    What is written as numbers is compared first, and then, as far as ``WORK`` goes, what may only be numbers.
    """
    cut = sorted(streams, key=lambda one: (not one.written, one.unlikely))
    work = sum(len(group.directions) * group.length for group in blocks)
    for batch in _batches(cut, WORK // max(work, 1)):
        for length in sorted({group.length for group in blocks}):
            values, owner = _windows(batch, length)
            for form in dict.fromkeys(group.form.public for group in blocks if group.length == length):
                groups = [group for group in blocks if group.length == length and group.form.public is form]
                yield from _met(values, owner, batch, groups) if len(owner) else ()


def _windows(streams: Sequence[Stream], length: int) -> tuple[Floats, NDArray[np.int64]]:
    """Numbers float64[m] of all the streams that are long enough, one after the other, and the stream of the window of
    each of the m - length + 1 starts: -1 where the window reaches into the next stream.
    """
    fitting = [number for number, stream in enumerate(streams) if len(stream.values) >= length]
    if not fitting:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    owner = [np.full(len(streams[number].values), number) for number in fitting]
    for one in owner:
        one[len(one) - length + 1 :] = -1
    return np.concatenate([streams[number].values for number in fitting]), np.concatenate(owner)[: 1 - length]


def _met(
    values: Floats, owner: NDArray[np.int64], streams: Sequence[Stream], groups: Sequence[HiddenBlocks]
) -> Iterator[Match]:
    """The surest match of each group; they are all of one length, and windows are looked at in one form by all of
    them.
    """
    form, length = groups[0].form, groups[0].length
    count = math.log2(np.count_nonzero(owner >= 0))
    sought = [_Sought.of(group, count + math.log2(len(group.directions)) + MARGIN) for group in groups]
    sought = [one for one in sought if len(one.chosen)]
    best: dict[int, tuple[int, int, float]] = {}
    step = max(PIECE // max(length, *(len(one.chosen) for one in sought)), 1) if sought else len(owner)
    for start in range(0, len(owner) if sought else 0, step):
        piece = values[start : start + step + length - 1]
        public = form.sliding(piece, length)
        for number, one in enumerate(sought):
            cosines = one.directions @ public
            np.abs(cosines, out=cosines)
            if cosines.max() < one.least:
                continue
            columns, windows = np.nonzero(cosines >= one.limit[:, None])
            inside = owner[start + windows] >= 0
            for window, column in sorted(zip(windows[inside].tolist(), columns[inside].tolist(), strict=True)):
                exact = directed(form.public(piece[None, window : window + length]))[0]
                bits = _bits(exact, one.group, int(one.chosen[column]))
                if bits >= one.needed and bits > best.get(number, (0, 0, 0.0))[2]:
                    best[number] = start + window, int(one.chosen[column]), bits
    for number, (window, block, bits) in best.items():
        group = sought[number].group
        row, channel = group.place[block].tolist()
        array, reading = group.readings[group.reading[block]]
        yield Match(streams[owner[window]].how, array, reading, row, channel, length, bits)


@dataclass(frozen=True, eq=False)
class _Sought:
    """The blocks of a group that can tell enough."""

    group: HiddenBlocks
    chosen: NDArray[np.int64]
    directions: NDArray[np.float32]
    """float32[chosen, length]"""
    limit: NDArray[np.float32]
    """float32[chosen]: the cosines from which on they may."""
    least: float
    needed: float
    """How much is enough, in bits."""

    @classmethod
    def of(cls, group: HiddenBlocks, needed: float) -> _Sought:
        chosen = np.flatnonzero(group.told[:, -1] >= needed)
        sine = ERRORS[np.argmax(group.told[chosen] >= needed, axis=1)]
        # Single precision is made up for.
        limit = (np.sqrt(1.0 - sine**2) - 4e-6).astype(np.float32)
        return cls(group, chosen, group.coarse[chosen], limit, float(limit.min(initial=1.0)), needed)


def _batches(streams: Sequence[Stream], most: int) -> Iterator[list[Stream]]:
    """Some streams at a time, until ``most`` numbers were seen, and ``WRITTEN`` times as many of those written as
    numbers.
    """
    batch: list[Stream] = []
    held = seen = 0
    for stream in streams:
        left = most * (WRITTEN if stream.written else 1) - seen
        if left < SHORTEST:
            continue
        if batch and held + len(stream.values) > BATCH:
            yield batch
            batch, held = [], 0
        batch.append(replace(stream, values=stream.values[:left]))
        held += len(stream.values)
        seen += len(stream.values)
    if batch:
        yield batch


def strided(stream: Stream, strides: Iterable[int] = ()) -> Iterator[Stream]:
    """A stream, and every second, third and so on of its numbers where others may stand between them."""
    values = np.where(np.isfinite(stream.values) & (np.abs(stream.values) < 1e30), stream.values, 0.0)
    yield replace(stream, values=values)
    if stream.single and len(values) <= STRIDED:
        for stride in sorted({*STRIDES, *strides}):
            for offset in range(stride):
                yield replace(
                    stream,
                    how=f"{stream.how}{', ' if stream.how else ''}one number in {stride}",
                    values=values[offset::stride],
                )


def _bits(public: Floats, group: HiddenBlocks, block: int) -> float:
    direction = group.directions[block]
    error = float(np.sqrt(((public - float(public @ direction) * direction) ** 2).sum()))
    # Between two errors that are known, the larger one counts.
    known = int(np.searchsorted(-ERRORS, -error, side="right")) - 1
    return float(group.told[block, known]) if known >= 0 else 0.0
