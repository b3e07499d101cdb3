"""Searching public arrays for hidden runs, block by block, and judging whether chance explains what is found.

A run of b bits turns up by chance in one of N places with a probability of at most N 2^-b, so that the number of hidden
windows found in an honest array is at most Poisson distributed with the sum of these as its mean. An array is reported
if so many windows or more would be found by chance with a probability below ``CHANCE``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.findings import Found
from openfingym.leaks.fingerprints import FingerprintTable, run_hashes, shape_symbols, sieved, value_symbols

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANCE = 1e-9
"""Largest probability that one search of an honest array reports it; a package needs some hundred searches."""
BLOCK = 1 << 17
"""Values that are compared at a time: few enough for the processor's cache."""
SLAB = 1 << 13
"""Neighbouring values of the inner axes that are read at a time if those axes are long."""
MARGINS = (4.0, -math.log2(CHANCE) + 1.0)
"""Bits beyond chance that a run must tell to count: few, so that many weak runs suffice, or as many as a single strong
run needs."""


def search_array(array: NDArray[np.generic], tables: Sequence[FingerprintTable]) -> Iterator[Found]:
    """Search a numeric array for hidden values, and report each source of them once.

    Runs are looked for in memory order and along every axis. An array that is mapped from a file is read in blocks, and
    takes a few MB of memory.

    Args:
        array: array of any shape and of a real numeric type.
        tables: fingerprints of the hidden values to look for.
    """
    if not tables or not array.size:
        return
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        # In the order of the file, which costs nothing: the transpose is a view.
        array = array.T
    places = array.size * array.ndim
    tables = [table for table in tables if len(table.hashes) and _telling(table, places)]
    if not tables:
        return
    reported: set[str] = set()
    # Runs found so far, over all blocks: many weak ones add up.
    met = [np.zeros(len(table.hashes), dtype=np.bool_) for table in tables]
    for block in _blocks(array, max(table.span for table in tables)):
        for number, table in enumerate(tables):
            if block.shape[1] < table.span:
                continue
            hashes = _meet(block, table)
            if not len(hashes):
                continue
            met[number] |= np.isin(table.hashes, hashes)
            for finding in judge(table, met[number], places):
                if finding.what not in reported:
                    reported.add(finding.what)
                    yield finding


def judge(table: FingerprintTable, found: NDArray[np.bool_], places: int) -> Iterator[Found]:
    """Findings for the runs that were found, unless chance explains them.

    Args:
        table: the runs that were looked for.
        found: whether each run was found, bool[runs].
        places: number of places in the public array at which a run could have been found.
    """
    from scipy.special import gammainc

    for source in np.unique(table.source[found]):
        own = table.source == source
        for margin in MARGINS:
            strong = own & (table.bits >= math.log2(places) + math.log2(np.count_nonzero(own)) + margin)
            windows = np.unique(table.window[strong & found])
            if not len(windows):
                continue
            # gammainc(k, mean) is the probability that a Poisson variable is k or more.
            expected = places * float(np.exp2(-table.bits[strong]).sum())
            if gammainc(len(windows), expected) < CHANCE:
                channels = np.unique(table.channel[strong & found])
                channel = int(channels[0]) if len(channels) == 1 and channels[0] >= 0 else None
                more = f"{len(windows)} hidden window{'s' * (len(windows) > 1)} so far"
                what = f"{table.span} values as in {table.names[int(source)]}, {_grid(table)}"
                yield Found(what, int(windows[0]), channel, more)
                break


def _telling(table: FingerprintTable, places: int) -> bool:
    """Whether any run tells enough for an array with ``places`` places."""
    return table.beyond >= math.log2(places) + MARGINS[0]


def _grid(table: FingerprintTable) -> str:
    """How closely values are compared, in words."""
    if table.kind == "shapes":
        return "up to shift and scale"
    decimals = math.log10(table.scale)
    return f"equal to {decimals:g} decimals" if decimals.is_integer() else f"equal to within {0.5 / table.scale:.1e}"


def _meet(block: NDArray[np.float64], table: FingerprintTable) -> NDArray[np.uint64]:
    """Hashes of the hidden runs that are in a block, each confirmed by a second hash."""
    symbols = (value_symbols if table.kind == "values" else shape_symbols)(block, table.scale)
    hashes = run_hashes(symbols, table.length)
    # A table of bits first: nearly all hashes fail there, and a binary search is slow in large tables.
    maybe = sieved(hashes.reshape(-1), table)
    candidates = hashes.reshape(-1)[maybe]
    if not len(maybe):
        return candidates
    place = np.searchsorted(table.hashes, candidates).clip(max=len(table.hashes) - 1)
    same = table.hashes[place] == candidates
    if not same.any():
        return candidates[:0]
    outer, time, inner = np.unravel_index(maybe[same], hashes.shape)
    runs = symbols[outer[:, None], time[:, None] + np.arange(table.length), inner[:, None]]
    # In arrays of billions of places two runs may have the same 64-bit hash by chance, but not a second hash as well.
    confirmed = run_hashes(runs, table.length, "check")[:, 0] == table.checks[place[same]]
    return np.unique(candidates[same][confirmed])


def _blocks(array: NDArray[np.generic], span: int) -> Iterator[NDArray[np.float64]]:
    """Parts float64[a, t, b] of an array with runs along axis 1: in memory order, and along each axis but the last."""
    yield from _pieces(array.reshape(1, -1, 1), span)
    for axis in range(array.ndim - 1):
        before, inside = math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1 :])
        if array.shape[axis] >= 3 and inside > 1:
            yield from _pieces(array.reshape(before, array.shape[axis], inside), span)


def _pieces(view: NDArray[np.generic], span: int) -> Iterator[NDArray[np.float64]]:
    """Parts of [a, t, b] that fit into the cache; they overlap along axis 1, so that no run of ``span`` is cut."""
    before, length, inside = view.shape
    wide = min(inside, SLAB)
    if length * inside <= BLOCK:
        deep = max(1, BLOCK // (length * inside))
        for a in range(0, before, deep):
            yield np.ascontiguousarray(view[a : a + deep], dtype=np.float64)
        return
    long = max(BLOCK // wide, 2 * span)
    for a in range(before):
        for b in range(0, inside, wide):
            for t in range(0, max(length - span + 1, 1), long):
                yield np.ascontiguousarray(view[a : a + 1, t : t + long + span - 1, b : b + wide], dtype=np.float64)
