"""How much a run of hidden values tells, in bits: whether it is a fingerprint, or common in honest data.

A value of a pegged currency, a yield quoted to two decimals, a day without volume: such values recur honestly, and a
public array that repeats them has leaked nothing. So a symbol (a value, a step between values, a shape) is worth
``-log2`` of its probability, which is estimated from the hidden values themselves, always on the high side:

* a symbol seen more than once has its frequency;
* a symbol seen once has the share that Chao's lower bound on the number of unseen kinds leaves to it,
  ``2 (f2 + 1) / (n f1)``, where f1 of n symbols are of kinds seen once and f2 kinds are seen twice: few singletons, or
  many pairs, mean a coarse lattice, on which the next coincidence is near;
* a symbol that recurs within its own window has at least its frequency there: quiet stretches repeat themselves more
  than the whole series does;
* a symbol that follows the same one more than once has at least its frequency after that one: a series that jumps up
  from zero falls back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def bits(
    symbols: NDArray[np.float64],
    neighbourhood: NDArray[np.int64] | None = None,
    previous: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The information of each symbol.

    Args:
        symbols: symbols of one source, float64[n].
        neighbourhood: the window that each belongs to, int64[n]; None to leave windows out of account.
        previous: the symbol before each, float64[n], NaN where there is none; None to leave it out of account.

    Returns:
        Bits, float64[n], at least 0.
    """
    n = symbols.size
    if not n:
        return np.zeros(0)
    kinds, counts = np.unique(symbols, return_counts=True)
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    chance: NDArray[np.float64] = np.full(n, min(1.0 / n, 2.0 * (twice + 1) / (n * max(once, 1))))
    # A symbol that occurs once occurs at most once in every group too: only the others have frequencies.
    often, counts = kinds[counts > 1], counts[counts > 1]
    if len(often):
        place = np.searchsorted(often, symbols).clip(max=len(often) - 1)
        same = np.flatnonzero((often[place] == symbols) | (np.isnan(often[place]) & np.isnan(symbols)))
        kind = place[same]
        chance[same] = counts[kind] / n
        for groups in (neighbourhood, previous):
            if groups is not None:
                chance[same] = np.maximum(chance[same], _within(kind, same, groups))
    told: NDArray[np.float64] = -np.log2(chance)
    return told


def _within(kind: NDArray[np.int64], same: NDArray[np.int64], groups: NDArray[np.generic]) -> NDArray[np.float64]:
    """The frequency of symbols in their groups; 0 for a symbol that occurs there once, or has no group.

    Args:
        kind: number of the kind of each symbol that occurs more than once, int64[k].
        same: position of each of these symbols, int64[k].
        groups: group of each position, [n]; NaN for none.
    """
    names, sizes = np.unique(groups, return_counts=True, equal_nan=False)
    group = np.searchsorted(names, groups[same])
    _, which, counts = np.unique(kind * (len(names) + 1) + group, return_inverse=True, return_counts=True)
    # NaN is not equal to itself.
    known = groups[same] == groups[same]
    return np.where((counts[which] > 1) & known, counts[which] / sizes[group.clip(max=len(sizes) - 1)], 0.0)


def row_kinds(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """A number for each row of float64[n, d], equal for equal rows; float64[n]."""
    _, kind = np.unique(rows + 0.0, axis=0, return_inverse=True)
    return kind.reshape(-1).astype(np.float64)
