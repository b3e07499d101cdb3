"""Node features: dense rows, or sparse ones in compressed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix by rows (CSR): row i has values[k] in column indices[k] for indptr[i] <= k < indptr[i + 1].

    Columns of a row increase; no stored value is zero. The arrays are read-only.

    Raises:
        DataError: the parts do not make such a matrix; the row and column at fault are named.
    """

    indptr: NDArray[np.int64]
    """int64[rows + 1], where each row begins among the stored values, and their number."""
    indices: NDArray[np.int32]
    """int32[stored], the column of each stored value."""
    values: NDArray[np.float64]
    """float64[stored], finite and not zero."""
    columns: int
    """Number of columns."""

    def __post_init__(self) -> None:
        for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("values", np.float64)):
            object.__setattr__(self, name, plain(getattr(self, name), np.dtype(dtype), 1, f"features.{name}"))
        self._check_extent()
        rows = np.repeat(np.arange(self.rows), np.diff(self.indptr))
        outside = (self.indices < 0) | (self.indices >= self.columns)
        if outside.any():
            k = int(outside.argmax())
            raise DataError(f"features, row {rows[k]}: column {self.indices[k]} is outside 0 .. {self.columns - 1}")
        backward = (np.diff(self.indices) <= 0) & (np.diff(rows) == 0)
        if backward.any():
            k = int(backward.argmax()) + 1
            raise DataError(
                f"features, row {rows[k]}: column {self.indices[k]} follows {self.indices[k - 1]}; columns of a row "
                "must increase"
            )
        wrong = ~np.isfinite(self.values) | (self.values == 0.0)
        if wrong.any():
            k = int(wrong.argmax())
            raise DataError(
                f"features, row {rows[k]}, column {self.indices[k]}: {self.values[k]}; stored values must be finite "
                "and not zero"
            )

    def _check_extent(self) -> None:
        if self.indptr.size == 0 or self.indptr[0] != 0:
            raise DataError("features.indptr must start with 0 and have one entry more than there are rows")
        falls = np.diff(self.indptr) < 0
        if falls.any():
            raise DataError(f"features, row {int(falls.argmax())}: indptr falls; it must never")
        if not self.indptr[-1] == self.indices.size == self.values.size:
            raise DataError(
                f"features: indptr ends at {self.indptr[-1]}, but there are {self.indices.size} indices and "
                f"{self.values.size} values"
            )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.columns

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def dense(self, start: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """Rows ``start`` to ``stop`` as float64[rows, columns]."""
        bounds = self.indptr[start : None if stop is None else stop + 1]
        out = np.zeros((len(bounds) - 1, self.columns))
        stored = slice(bounds[0], bounds[-1])
        out[np.repeat(np.arange(len(out)), np.diff(bounds)), self.indices[stored]] = self.values[stored]
        return out

    def take(self, rows: NDArray[np.int64]) -> SparseRows:
        """The rows at these positions, in that order."""
        # For every value of the new rows, its place among the stored ones: where its row begins, and how far in it is.
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        stored = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return SparseRows(indptr, self.indices[stored], self.values[stored], self.columns)

    def with_rows(self, rows: NDArray[np.int64], dense: NDArray[np.float64]) -> SparseRows:
        """A copy with other values in ``rows``, float64[len(rows), columns]."""
        # Stored values of the other rows and the new ones together, sorted by the key of their cell.
        owner = np.repeat(np.arange(self.rows), np.diff(self.indptr))
        kept = ~np.isin(owner, rows)
        place, column = np.nonzero(dense)
        keys = np.concatenate([owner[kept] * self.columns + self.indices[kept], rows[place] * self.columns + column])
        order = np.argsort(keys)
        counts = np.bincount(keys // self.columns, minlength=self.rows)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        values = np.concatenate([self.values[kept], dense[place, column]])[order]
        return SparseRows(indptr, (keys[order] % self.columns).astype(np.int32), values, self.columns)


def take_rows(features: SparseRows | NDArray[np.float64], rows: NDArray[np.int64]) -> SparseRows | NDArray[np.float64]:
    """The rows at these positions: sparse of sparse features, dense of dense ones."""
    return features.take(rows) if isinstance(features, SparseRows) else features[rows]


def plain(array: NDArray[np.generic], dtype: np.dtype[np.generic], ndim: int, what: str) -> NDArray[np.generic]:
    """A read-only, contiguous copy of an array in a type.

    Args:
        array: numbers of any type that fit into ``dtype``; no floats where that is of integers.
        dtype: type of the copy.
        ndim: number of dimensions that the array must have.
        what: what the array is, for messages.

    Raises:
        DataError: it has another number of dimensions, or values that the type cannot hold.
    """
    source = np.asarray(array)
    if source.ndim != ndim:
        raise DataError(f"{what}: expected {ndim} dimensions, found shape {source.shape}")
    if source.dtype.kind not in "iufb" or (dtype.kind == "i" and source.dtype.kind == "f"):
        raise DataError(f"{what}: expected {dtype}, found {source.dtype}")
    # A view would make the caller's own array read-only, or leave it able to change ours.
    own: NDArray[np.generic] = np.array(source, dtype=dtype, order="C", copy=True)
    # A number that is too large for the type wraps around without an error.
    if dtype.kind == "i" and not np.array_equal(own, source):
        raise DataError(f"{what}: a value does not fit {dtype}")
    own.flags.writeable = False
    return own
