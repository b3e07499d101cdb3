"""Choosing the runs of hidden values to look for: how long, on which grid, and how much each tells."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.dimension import quotation_step, run_bits
from openfingym.leaks.fingerprints import (
    FingerprintRuns,
    FingerprintTable,
    Kind,
    make_table,
    run_hashes,
    shape_symbols,
    value_symbols,
)
from openfingym.leaks.information import bits, row_kinds
from openfingym.leaks.sequences import STRETCH, Sequences, sequences, thinned, three_axes, transformed

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTHS = (6, 8, 12, 16, 24)
"""Lengths of a run in symbols, of which the shortest that tells enough is taken; a shorter sequence is one run."""
DECIMALS = (4, 6)
"""Decimals of the coarser grids of values: those to which files usually round."""
FINE_BITS = 20
"""Bits of a typical value that the finest grid of values keeps; float32 keeps 24."""
SHAPE_SCALES = (2.0**9, 2.0**14, 2.0**20, 2.0**26)
"""Points of the grids of shapes, coarse to fine, in an interval of 1; shapes are between -1 and 1."""
SPARE_BITS = 12.0
"""Bits that a run must tell beyond those of the number of places where it could occur by chance."""
SMALL_BITS = 22.0
"""Number of public values, as a power of two, up to which a second, finer grid of shapes is affordable."""
FACTORS = (-1.0, 100.0, 0.01)
"""Factors by which values are often written: negated, in percent, from percent."""
SHAPE_SHARE = 0.7
"""Share of the bits of a shape that counts, because neighbouring shapes have a step in common."""
NEAR_CONSTANT = 4
"""Symbols from which on a run can be nearly constant."""
RUN_LIMIT = 60_000
"""Most runs of one way to read a hidden array, spread evenly over its windows."""


@dataclass(frozen=True, eq=False)
class _Reading:
    """One source on one grid."""

    kind: Kind
    scale: float
    """Points of the grid in a unit."""
    source: Sequences
    """The sequences of hidden values."""
    symbols: NDArray[np.float64]
    """Grid points of the sequences, float64[k, symbols]."""
    told: NDArray[np.float64]
    """Bits that the run from each start tells, float64[k, starts]."""
    length: int
    """Symbols of a run."""
    enough: bool
    """Whether at least half of the runs tell more than chance could match."""


def build_tables(truths: Mapping[str, NDArray[np.generic]], public_values: int) -> list[FingerprintTable]:
    """Fingerprints of every hidden array.

    Args:
        truths: hidden float arrays of one to four axes, by name; constant ones have no fingerprint.
        public_values: about how many values the public half holds; the more, the longer runs must be.
    """
    groups: dict[tuple[Kind, float, int], list[FingerprintRuns]] = defaultdict(list)
    public_bits = math.log2(max(public_values, 2))
    for name, array in truths.items():
        truth = three_axes(array)
        if truth.size < 3 or np.ptp(truth) == 0.0:
            continue
        for reading in _readings(truth, public_bits):
            runs = _runs(reading)
            if len(runs.hashes):
                groups[reading.kind, reading.scale, reading.length].append(replace(runs, name=f"{name}, {runs.name}"))
    return [make_table(*key, runs) for key, runs in groups.items()]


def _readings(truth: NDArray[np.float64], public_bits: float) -> Iterator[_Reading]:
    """Every source, on the coarsest grid that tells its runs apart, and on one finer grid if that is affordable."""
    sources = [thinned(source) for source in sequences(truth)]
    # The shapes of quoted curves tell too little, so that their values are looked for with the usual factors.
    quoted = [source for source in sources if source.across and quotation_step(source.values)]
    factors = [source.view(f"times {factor:g}", factor * source.values) for source in quoted for factor in FACTORS]
    grids = _value_scales(truth)
    for scale in _telling("values", grids, sources, public_bits, keep=2):
        yield from _all("values", scale, [*sources, *factors], public_bits)
    views = [view for source in sources for view in transformed(source)]
    plain = [view for view in views if view.name.endswith(", rescaled") and "reversed" not in view.name]
    for scale in _telling("shapes", SHAPE_SCALES, plain, public_bits, keep=2 if public_bits < SMALL_BITS else 1):
        yield from _all("shapes", scale, views, public_bits)


def _telling(
    kind: Kind, scales: Sequence[float], sources: list[Sequences], public_bits: float, keep: int
) -> Sequence[float]:
    """The coarsest grid on which a source tells enough, and finer ones, ``keep`` in all; the finest if none does."""
    for number, scale in enumerate(scales):
        if any(reading.enough for reading in _all(kind, scale, sources, public_bits)):
            return scales[number : number + keep]
    return scales[-1:]


def _value_scales(truth: NDArray[np.float64]) -> list[float]:
    """Grids of values, from coarse to fine, as the number of grid points in a unit."""
    sizes = np.sqrt(np.mean(truth**2, axis=(0, 1)))
    typical = float(np.median(sizes[sizes > 0.0]))
    fine = 2.0 ** (FINE_BITS - math.ceil(math.log2(typical)))
    coarser = [10.0**decimals for decimals in DECIMALS if 10.0**decimals < fine]
    return [*coarser, fine]


def _all(kind: Kind, scale: float, sources: Iterable[Sequences], public_bits: float) -> Iterator[_Reading]:
    """Each source with runs of the shortest length that tells enough, or of the longest one if none does."""
    for source in sources:
        # A shape takes two steps, and so three values.
        available = source.values.shape[1] - (2 if kind == "shapes" else 0)
        if available < (1 if kind == "shapes" and source.row > 1 else 2):
            continue
        if kind == "values" and source.row > 1:
            lengths = [min(3 * source.row, available)]
        else:
            lengths = [length for length in LENGTHS if length <= available] or [available]
        symbols = value_symbols(source.values, scale) if kind == "values" else shape_symbols(source.values, scale)
        step = quotation_step(source.values) * scale if source.across else 0.0
        if kind == "shapes" and step:
            # Shapes of quoted curves are ratios of small integers, of which there are few.
            continue
        first, later = _step_bits(kind, symbols, source, scale)
        for length in lengths:
            told = _run_bits(kind, source, first, later, length)
            needed = public_bits + math.log2(told.size) + SPARE_BITS
            if source.across and (float(np.median(told)) >= needed or length == lengths[-1]):
                told = np.minimum(told, run_bits(symbols, length, max(step, 1.0)))
            enough = float(np.median(told)) >= needed
            if enough or length == lengths[-1]:
                yield _Reading(kind, scale, source, np.ascontiguousarray(symbols), told, length, enough)
                break


def _step_bits(
    kind: Kind, symbols: NDArray[np.float64], source: Sequences, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bits of each symbol by itself, and of each step from one to the next; where whole rows belong together, a symbol
    is a row. For shapes, which are made of steps, the second is that of the symbols.
    """
    if kind == "shapes":
        return np.zeros(symbols.shape), _pooled(symbols, source)
    if source.row == 1:
        first = _pooled(symbols, source)
        # A step tells no more than the value that it leads to: a common value tells little, whatever came before.
        return first, np.minimum(_pooled(np.rint(np.diff(source.values, axis=1) * scale) + 0.0, source), first[:, 1:])
    # Whole rows are symbols: their channels may move together, and would be counted several times one by one.
    k, d = len(symbols), source.row
    steps = np.rint(np.diff(source.values.reshape(k, -1, d), axis=1) * scale)
    h = steps.shape[1] + 1
    first = bits(row_kinds(symbols.reshape(-1, d))).reshape(k, h)
    later = bits(row_kinds(steps.reshape(-1, d)), np.repeat(np.arange(k), h - 1)).reshape(k, h - 1)
    return first, np.minimum(later, first[:, 1:])


def _run_bits(
    kind: Kind, source: Sequences, first: NDArray[np.float64], later: NDArray[np.float64], length: int
) -> NDArray[np.float64]:
    """Bits of the run from each start: those of its first symbol, and of every step after it."""
    if kind == "shapes":
        return _sums(later, length) * SHAPE_SHARE
    steps = length // source.row - 1
    return first[:, : first.shape[1] - steps] + _sums(later, steps)


def _runs(reading: _Reading) -> FingerprintRuns:
    """Every run of a source that varies and occurs in one window only, with its information."""
    source, length, symbols = reading.source, reading.length, reading.symbols
    starts = reading.told.shape[1]
    chosen = np.arange(0, reading.told.size, reading.told.size // RUN_LIMIT + 1)
    sequence, start = chosen // starts, chosen % starts
    told = reading.told[sequence, start]
    start *= source.row if reading.kind == "values" else 1
    runs = symbols[sequence[:, None], start[:, None] + np.arange(length)]
    ordered = np.sort(runs, axis=1)
    distinct = 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    # A run tells nothing if more than half of it is one value, such as a peg with a jump: in sorted order, two symbols
    # that are half a run apart are equal.
    half = length // 2 + 1
    constant = (
        (ordered[:, half - 1 :] == ordered[:, : length - half + 1]).any(axis=1) if length >= NEAR_CONSTANT else False
    )
    varies = (distinct >= min(3 if reading.kind == "values" else 2, length)) & ~np.asarray(constant)
    runs, told = runs[varies], told[varies]
    hashes, checks = (run_hashes(runs, length, roll)[:, 0] for roll in ("hash", "check"))
    window = source.window[sequence[varies], start[varies]]
    single = _in_one_window(hashes, window)
    channel = source.pool[sequence[varies]] if source.single else np.full(len(window), -1)
    return FingerprintRuns(source.name, hashes[single], checks[single], told[single], window[single], channel[single])


def _in_one_window(hashes: NDArray[np.uint64], window: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each run occurs in one hidden window only: a run that two windows share may be in honest data too."""
    _, which = np.unique(hashes, return_inverse=True)
    lowest = np.full(len(hashes), np.iinfo(np.int64).max)
    highest = np.full(len(hashes), -1)
    np.minimum.at(lowest, which, window)
    np.maximum.at(highest, which, window)
    single: NDArray[np.bool_] = (lowest == highest)[which]
    return single


def _pooled(symbols: NDArray[np.float64], source: Sequences) -> NDArray[np.float64]:
    """Bits of each symbol among those of its own channel, or of its own position in a row."""
    k, length = symbols.shape
    # Symbols of one channel and position are a pool, from which probabilities are estimated.
    position = (
        np.arange(length) % source.row
        if source.row > 1
        else np.arange(length)
        if source.across
        else np.zeros(length, dtype=np.int64)
    )
    pools = source.pool[:, None] * (int(position.max(initial=0)) + 1) + position
    near = None if source.across else np.arange(k)[:, None] * (length // STRETCH + 1) + np.arange(length) // STRETCH
    previous = np.full((k, length), np.nan)
    previous[:, 1:] = symbols[:, :-1]
    told = np.zeros((k, length))
    order = np.argsort(pools, axis=None, kind="stable")
    _, begins = np.unique(pools.reshape(-1)[order], return_index=True)
    flat, local = symbols.reshape(-1), None if near is None else near.reshape(-1)
    for members in np.split(order, begins[1:]):
        told.reshape(-1)[members] = bits(
            flat[members], None if local is None else local[members], previous.reshape(-1)[members]
        )
    return told


def _sums(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Sums of ``count`` successive values along axis 1."""
    total = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    return total[:, count:] - total[:, : total.shape[1] - count]
