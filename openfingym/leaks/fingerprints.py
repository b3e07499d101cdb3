"""Hidden runs as sets of 64-bit hashes, and the symbols that public and hidden values share.

Values are compared on a grid. The coarsest grid that still tells the runs apart serves for copies
stored exactly, as float32 or rounded; one finer grid backs it. Shapes do not depend on shift or
scale: two successive steps a, b of a sequence become ``b sign(a) / (|a| + |b|)``, in [-1, 1], which
is the same for standardised, negated, percent or otherwise linearly mapped copies.
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
"""Leading bits of a hash, and bits after those, by which nearly all public runs are sorted out: the first sieve fits a
core's cache."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ROLL = {"hash": np.uint64(0xD6E8FEB86659FD93), "check": np.uint64(0xA0761D6478BD642F)}


@dataclass(frozen=True, eq=False)
class FingerprintTable:
    """Runs of one kind, scale and length; all arrays are parallel, in the order of ``hashes``."""

    kind: Kind
    scale: float
    length: int
    hashes: NDArray[np.uint64]
    checks: NDArray[np.uint64]
    """A second hash, compared where the first one is met."""
    bits: NDArray[np.float64]
    window: NDArray[np.int64]
    channel: NDArray[np.int64]
    """-1 where a run is of several channels."""
    source: NDArray[np.int64]
    """Index into ``names``."""
    names: tuple[str, ...]
    sieves: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    """Whether any hash has these bits; see :func:`sieved`."""

    @cached_property
    def beyond(self) -> float:
        """Bits of the run that tells most, less those of the number of runs of its source."""
        return float((self.bits - np.log2(np.bincount(self.source))[self.source]).max(initial=-np.inf))

    @property
    def span(self) -> int:
        """Values that a run covers."""
        return self.length + (2 if self.kind == "shapes" else 0)


@dataclass(frozen=True, eq=False)
class FingerprintRuns:
    """Runs of one source, in parallel arrays; see :class:`FingerprintTable`."""

    name: str
    hashes: NDArray[np.uint64]
    checks: NDArray[np.uint64]
    bits: NDArray[np.float64]
    window: NDArray[np.int64]
    channel: NDArray[np.int64]


def value_symbols(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The nearest grid point of each value; 0.0 is added so that a negative zero equals a positive one."""
    symbols = values * scale
    np.rint(symbols, out=symbols)
    symbols += 0.0
    return symbols


def shape_symbols(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Shapes along axis 1, which becomes two shorter; 0 where nothing moves."""
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
    """Hashes of all runs of ``length`` symbols along axis 1 of float64[a, t, ...]: uint64[a, t - length + 1, ...]."""
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
    size = SIEVE_BITS[level]
    before = sum(SIEVE_BITS[:level])
    return ((hashes << np.uint64(before)) >> np.uint64(64 - size)).view(np.int64)


def sieved(hashes: NDArray[np.uint64], table: FingerprintTable) -> NDArray[np.int64]:
    """Places among flat ``hashes`` that may be in the table: all that are, and about one in a hundred that are not."""
    maybe = np.flatnonzero(table.sieves[0][_sieve_places(hashes, 0)])
    return maybe[table.sieves[1][_sieve_places(hashes[maybe], 1)]]


def make_table(kind: Kind, scale: float, length: int, groups: list[FingerprintRuns]) -> FingerprintTable:
    """The runs of several sources in one table."""
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
