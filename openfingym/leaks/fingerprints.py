"""Hidden runs as sets of 64-bit hashes, and the symbols by which public and hidden values are compared.

Values are compared on a grid. The coarsest grid that still tells the runs apart serves for copies that are stored
exactly, as float32 or rounded; a finer grid supports it. Shapes do not depend on shift or scale: two successive steps
a, b of a sequence become ``b sign(a) / (|a| + |b|)``, in [-1, 1], which is the same for standardised, negated or
otherwise linearly mapped copies, and for copies in percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["values", "shapes"]

SIEVE_BITS = (20, 22)
"""Number of leading bits of a hash, and of the bits after these, by which two tables of bits rule out nearly all public
runs. The first table fits into a core's cache."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, rounded to an odd number, which mixes the bits of a symbol."""
_ROLL = {"hash": np.uint64(0xD6E8FEB86659FD93), "check": np.uint64(0xA0761D6478BD642F)}
"""Odd multipliers of two independent polynomial hashes."""


@dataclass(frozen=True, eq=False)
class FingerprintTable:
    """Runs of one kind, scale and length; all arrays are parallel, in the order of ``hashes``."""

    kind: Kind
    """Whether symbols are values or shapes."""
    scale: float
    """Points of the grid in a unit."""
    length: int
    """Number of symbols of a run."""
    hashes: NDArray[np.uint64]
    """Hash of each run, sorted."""
    checks: NDArray[np.uint64]
    """Second hash of each run, compared where the first one is found."""
    bits: NDArray[np.float64]
    """Information of each run."""
    window: NDArray[np.int64]
    """Hidden window of each run."""
    channel: NDArray[np.int64]
    """Channel of each run; -1 for a run of several channels."""
    source: NDArray[np.int64]
    """Source of each run, as a position in ``names``."""
    names: tuple[str, ...]
    """Names of the sources: hidden array and reading."""
    sieves: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    """Tables of bits: whether any hash has these bits; see :func:`sieved`."""

    @cached_property
    def beyond(self) -> float:
        """The most bits that a run tells, less those of the number of runs of its source."""
        return float((self.bits - np.log2(np.bincount(self.source))[self.source]).max(initial=-np.inf))

    @property
    def span(self) -> int:
        """Number of values that a run covers."""
        return self.length + (2 if self.kind == "shapes" else 0)


@dataclass(frozen=True, eq=False)
class FingerprintRuns:
    """Runs of one source, in parallel arrays, which are those of :class:`FingerprintTable`."""

    name: str
    """Name of the source."""
    hashes: NDArray[np.uint64]
    checks: NDArray[np.uint64]
    bits: NDArray[np.float64]
    window: NDArray[np.int64]
    channel: NDArray[np.int64]


def value_symbols(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The nearest grid point of each value."""
    symbols = values * scale
    np.rint(symbols, out=symbols)
    # Makes a negative zero positive: symbols are hashed by their bits.
    symbols += 0.0
    return symbols


def shape_symbols(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Shapes along axis 1, which becomes two entries shorter, on a grid; 0 for constant values."""
    # In place as far as possible: this runs over every public array.
    steps = np.diff(values, axis=1)
    before, after = steps[:, :-1], steps[:, 1:]
    sign = before * after
    sign += 0.0
    size = np.abs(steps)
    symbols = np.copysign(size[:, 1:], sign, out=sign)
    total = size[:, :-1] + size[:, 1:]
    total[total == 0.0] = 1.0
    symbols /= total
    return value_symbols(symbols, scale)


def run_hashes(symbols: NDArray[np.float64], length: int, roll: str = "hash") -> NDArray[np.uint64]:
    """Hashes of all runs of some symbols along axis 1.

    Args:
        symbols: the symbols, float64[a, t, ...].
        length: number of symbols in a run.
        roll: which of two independent hashes: ``hash`` or ``check``.

    Returns:
        uint64[a, t - length + 1, ...].
    """
    # Mix the bits of each symbol, then a polynomial in these codes, for all runs at once; products wrap at 2^64.
    codes = symbols.view(np.uint64)
    codes = codes ^ (codes >> np.uint64(32))
    codes *= _MIX
    codes ^= codes >> np.uint64(29)
    count = symbols.shape[1] - length + 1
    hashes = codes[:, :count].copy()
    for k in range(1, length):
        hashes *= _ROLL[roll]
        hashes += codes[:, k : k + count]
    return hashes


def _sieve_places(hashes: NDArray[np.uint64], level: int) -> NDArray[np.int64]:
    """The bits of hashes that one of the two tables looks at, as a position in it."""
    size = SIEVE_BITS[level]
    before = sum(SIEVE_BITS[:level])
    return ((hashes << np.uint64(before)) >> np.uint64(64 - size)).view(np.int64)


def sieved(hashes: NDArray[np.uint64], table: FingerprintTable) -> NDArray[np.int64]:
    """Positions of flat ``hashes`` that may be in the table: all that are, and about one in a hundred of the others."""
    maybe = np.flatnonzero(table.sieves[0][_sieve_places(hashes, 0)])
    return maybe[table.sieves[1][_sieve_places(hashes[maybe], 1)]]


def make_table(kind: Kind, scale: float, length: int, groups: list[FingerprintRuns]) -> FingerprintTable:
    """Put the runs of several sources into one table.

    Args:
        kind: whether symbols are values or shapes.
        scale: points of the grid in a unit.
        length: number of symbols of a run.
        groups: the runs of each source.
    """
    hashes = np.concatenate([runs.hashes for runs in groups])
    order = np.argsort(hashes, kind="stable")
    sieves = (np.zeros(1 << SIEVE_BITS[0], dtype=np.bool_), np.zeros(1 << SIEVE_BITS[1], dtype=np.bool_))
    for level, sieve in enumerate(sieves):
        sieve[_sieve_places(hashes, level)] = True
    return FingerprintTable(
        kind, scale, length,
        hashes[order],
        np.concatenate([runs.checks for runs in groups])[order],
        np.concatenate([runs.bits for runs in groups])[order],
        np.concatenate([runs.window for runs in groups])[order],
        np.concatenate([runs.channel for runs in groups])[order],
        np.concatenate([np.full(len(runs.hashes), i) for i, runs in enumerate(groups)])[order],
        tuple(runs.name for runs in groups),
        sieves,
    )  # fmt: skip
