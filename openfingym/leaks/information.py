"""How much a run of hidden values tells, in bits: what makes it a fingerprint and not a commonplace.

A value of a pegged currency, a yield quoted to two decimals, a day without volume: such values
recur honestly, and a public array that repeats them has leaked nothing. So a symbol (a value, a
step between values, a shape) is worth ``-log2`` of its probability, and that probability is taken
from the hidden set itself, always on the high side:

* a symbol seen more than once has its frequency;
* a symbol seen once has the share that Chao's lower bound on the number of unseen kinds leaves
  it, ``2 (f2 + 1) / (n f1)`` with f1 kinds seen once and f2 seen twice in n: few singletons, or many
  pairs, mean a coarse lattice on which the next collision is near;
* a symbol that recurs within its own window has at least its frequency there: quiet stretches
  repeat themselves more than the whole series does;
* a symbol that follows the same one more than once has at least its frequency after that one: what
  jumps up from zero falls back to it.
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
        symbols: float64[n], drawn from one source.
        neighbourhood: int64[n], the window each belongs to, or None where there is none.
        previous: float64[n], the symbol before each, NaN where there is none.

    Returns:
        float64[n], bits, at least 0.
    """
    n = symbols.size
    if not n:
        return np.zeros(0)
    kinds, counts = np.unique(symbols, return_counts=True)
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    chance: NDArray[np.float64] = np.full(n, min(1.0 / n, 2.0 * (twice + 1) / (n * max(once, 1))))
    # What is met once is met once in every group as well: only the others have frequencies.
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
    """The frequency of symbols in their groups, 0 where they are there once or there is none.

    Args:
        kind: int64[k], of each symbol that is met more than once.
        same: int64[k], where each of them stands.
        groups: [n], the group at each place, NaN where there is none.
    """
    names, sizes = np.unique(groups, return_counts=True, equal_nan=False)
    group = np.searchsorted(names, groups[same])
    _, which, counts = np.unique(kind * (len(names) + 1) + group, return_inverse=True, return_counts=True)
    known = groups[same] == groups[same]
    return np.where((counts[which] > 1) & known, counts[which] / sizes[group.clip(max=len(sizes) - 1)], 0.0)


def row_kinds(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """One number a row, equal for equal rows: float64[n] from float64[n, d]."""
    _, kind = np.unique(rows + 0.0, axis=0, return_inverse=True)
    return kind.reshape(-1).astype(np.float64)
