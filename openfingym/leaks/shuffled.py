"""Hidden values in another order: a public column that has the values of a hidden one, in any order.

Runs are lost when rows are sorted differently or shuffled one by one; the set of values remains. If hidden values
hardly repeat, a public column of at most ``LARGEST`` times as many values is compared with theirs as a set. If they
repeat with a rate below ``REPEATED``, the lattice on which they lie has at least ten times as many points as there are
hidden values, so that a column drawn independently from it has at most 1 - exp(-0.4) = 33 % of them; ``SHARE`` is far
above that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.findings import Found
from openfingym.leaks.fingerprints import value_symbols
from openfingym.leaks.sequences import three_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST = 40
"""Fewest values of a hidden column that is looked for."""
LARGEST = 4
"""How many times as long as the hidden column a public one may be."""
REPEATED = 0.05
"""Largest share of the values of a hidden column that may repeat others."""
SHARE = 0.7
"""Share of the hidden values that a public column must have to be reported."""
COLUMN_LIMIT = 256
"""Most columns of an array that are compared one by one."""
VALUE_LIMIT = 4_000_000
"""Most values of a hidden column that is looked for."""
FACTORS = (1.0, -1.0, 0.01, 100.0)
"""Factors by which public values are multiplied before they are compared."""
KEPT_BITS = 20
"""Bits of a typical value that are compared; float32 keeps 24."""


@dataclass(frozen=True, eq=False)
class HiddenSets:
    """The columns of one hidden array whose values hardly repeat."""

    name: str
    """Name of the hidden array."""
    scale: float
    """Points of the grid in a unit."""
    values: NDArray[np.float64]
    """Distinct grid points of all columns, sorted."""
    owner: NDArray[np.int64]
    """Column of each of these points."""
    sizes: NDArray[np.int64]
    """Number of distinct grid points of each column; 0 for a column whose values repeat."""


def hidden_sets(truths: Mapping[str, NDArray[np.generic]]) -> list[HiddenSets]:
    """The columns of the hidden arrays as sets; arrays without a column that hardly repeats are left out."""
    sets = [_sets(name, three_axes(array)) for name, array in truths.items()]
    return [columns for columns in sets if columns is not None]


def _sets(name: str, truth: NDArray[np.float64]) -> HiddenSets | None:
    """The columns of one hidden array as sets; None if there are none to look for."""
    n = truth.shape[0] * truth.shape[1]
    sizes = np.sqrt(np.mean(truth**2, axis=(0, 1))) if truth.size else np.zeros(1)
    if not FEWEST <= n <= VALUE_LIMIT or not (sizes > 0.0).any():
        return None
    scale = float(2.0 ** (KEPT_BITS - np.ceil(np.log2(np.median(sizes[sizes > 0.0])))))
    columns = [
        np.unique(value_symbols(truth[:, :, i].reshape(-1), scale)) for i in range(min(truth.shape[2], COLUMN_LIMIT))
    ]
    # Values that repeat more would be met by chance: an empty column is never found.
    columns = [column if len(column) >= (1.0 - REPEATED) * n else column[:0] for column in columns]
    lengths = np.array([len(column) for column in columns])
    values, owner = np.concatenate(columns), np.repeat(np.arange(len(columns)), lengths)
    order = np.argsort(values, kind="stable")
    return HiddenSets(name, scale, values[order], owner[order], lengths) if len(values) else None


def search_sets(array: NDArray[np.generic], sets: Sequence[HiddenSets]) -> Iterator[Found]:
    """Hidden columns whose values a column of a public array has, in whatever order.

    Args:
        array: the public array whose columns are compared.
        sets: the columns of the hidden arrays.
    """
    for hidden in sets:
        longest = int(hidden.sizes.max())
        for column in _columns(array, SHARE * longest, LARGEST * longest):
            for factor in FACTORS:
                shared = _shared(hidden, value_symbols(column, hidden.scale * factor))
                share = shared / np.maximum(hidden.sizes, 1)
                best = int(np.argmax(share))
                if share[best] >= SHARE:
                    more = f"{shared[best]} of {hidden.sizes[best]} values"
                    yield Found(f"values of {hidden.name}, times {1 / factor:g}, in another order", None, best, more)


def _shared(hidden: HiddenSets, symbols: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of values of each hidden column that are among some symbols, int64[columns]."""
    # Between its left and its right position in the sorted values, a symbol covers all those that equal it.
    begins, ends = (np.searchsorted(hidden.values, symbols, side=side) for side in ("left", "right"))
    size = len(hidden.values) + 1
    met = np.cumsum(np.bincount(begins, minlength=size) - np.bincount(ends, minlength=size))[:-1] > 0
    return np.bincount(hidden.owner[met], minlength=len(hidden.sizes))


def _columns(array: NDArray[np.generic], shortest: float, longest: int) -> Iterator[NDArray[np.float64]]:
    """The whole array and each of its columns, as far as their lengths are in the range."""
    if shortest <= array.size <= longest:
        yield array.reshape(-1).astype(np.float64)
    if array.ndim > 1 and array.shape[-1] <= COLUMN_LIMIT and shortest <= array.size // array.shape[-1] <= longest:
        for column in range(array.shape[-1]):
            yield array[..., column].reshape(-1).astype(np.float64)
