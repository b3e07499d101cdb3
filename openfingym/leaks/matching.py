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
            windows, owner = _windows(batch, length)
            for form in dict.fromkeys(group.form.public for group in blocks if group.length == length):
                groups = [group for group in blocks if group.length == length and group.form.public is form]
                yield from _met(windows, owner, batch, groups) if len(owner) else ()


def _windows(streams: Sequence[Stream], length: int) -> tuple[Floats, NDArray[np.int64]]:
    """Windows float64[n, length] of all the streams that are long enough, and the stream of each."""
    fitting = [number for number, stream in enumerate(streams) if len(stream.values) >= length]
    if not fitting:
        return np.zeros((0, length)), np.zeros(0, dtype=np.int64)
    windows = np.concatenate(
        [np.lib.stride_tricks.sliding_window_view(streams[number].values, length) for number in fitting]
    )
    return windows, np.repeat(fitting, [len(streams[number].values) - length + 1 for number in fitting])


def _met(
    windows: Floats, owner: NDArray[np.int64], streams: Sequence[Stream], groups: Sequence[HiddenBlocks]
) -> Iterator[Match]:
    """The surest match of each group; they are all of one length, and windows are looked at in one form by all of
    them.
    """
    best: dict[int, tuple[int, int, float]] = {}
    limits = [_limit(group, math.log2(len(windows)) + math.log2(len(group.directions)) + MARGIN) for group in groups]
    step = max(PIECE // max(windows.shape[1], *(len(group.directions) for group in groups)), 1)
    for start in range(0, len(windows), step):
        public = directed(groups[0].form.public(windows[start : start + step]))
        coarse = public.astype(np.float32)
        for number, (group, (chosen, limit, needed)) in enumerate(zip(groups, limits, strict=True)):
            close = np.abs(coarse @ group.coarse[chosen].T) >= limit
            for window, column in np.argwhere(close) if close.any() else ():
                bits = _bits(public[window], group, int(chosen[column]))
                if bits >= needed and bits > best.get(number, (0, 0, 0.0))[2]:
                    best[number] = start + int(window), int(chosen[column]), bits
    for number, (window, block, bits) in best.items():
        row, channel = groups[number].place[block].tolist()
        array, reading = groups[number].readings[groups[number].reading[block]]
        yield Match(streams[owner[window]].how, array, reading, row, channel, groups[number].length, bits)


def _limit(group: HiddenBlocks, needed: float) -> tuple[NDArray[np.int64], Floats, float]:
    """(blocks that can tell so much, the cosines from which on they may, how much)."""
    chosen = np.flatnonzero(group.told[:, -1] >= needed)
    sine = ERRORS[np.argmax(group.told[chosen] >= needed, axis=1)]
    # Single precision is made up for.
    return chosen, (np.sqrt(1.0 - sine**2) - 4e-6).astype(np.float32), needed


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
