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
    _, kind, counts = np.unique(symbols, return_inverse=True, return_counts=True)
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    single = min(1.0 / n, 2.0 * (twice + 1) / (n * max(once, 1)))
    chance = np.where(counts == 1, single, counts / n)[kind]
    if neighbourhood is not None:
        chance = np.maximum(chance, _within(kind.astype(np.int64), np.unique(neighbourhood, return_inverse=True)[1]))
    if previous is not None:
        known = np.flatnonzero(~np.isnan(previous))
        before = np.unique(previous[known], return_inverse=True)[1]
        chance[known] = np.maximum(chance[known], _within(kind[known].astype(np.int64), before))
    return -np.log2(chance)


def _within(kind: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """The frequency of each symbol in its group, 0 where it is there once."""
    sizes = np.bincount(group)
    _, which, counts = np.unique(kind * len(sizes) + group, return_inverse=True, return_counts=True)
    return np.where(counts[which] > 1, counts[which] / sizes[group], 0.0)


def row_kinds(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """One number a row, equal for equal rows: float64[n] from float64[n, d]."""
    _, kind = np.unique(rows + 0.0, axis=0, return_inverse=True)
    return kind.reshape(-1).astype(np.float64)
