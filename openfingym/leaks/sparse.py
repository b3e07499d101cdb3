"""Hidden labels in sparse features of nodes, which are kept as compressed rows in several files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.leaks.labels import SEPARATION, Labels, auroc_columns

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DENSE_LIMIT = 256
"""Most columns that are made dense to be ranked; those whose presence tells most of the labels."""


def search_sparse(folder: Path, labels: Labels) -> str | None:
    """Say which column of sparse features separates the hidden classes; None if none does.

    A matrix is known by its files: ``X_indptr.npy``, ``X_indices.npy`` and ``X_values.npy`` or ``X_data.npy``; or the
    members ``indptr``, ``indices`` and ``data`` of an ``.npz``.

    Args:
        folder: the folder of the package's public half.
        labels: the hidden labels of the task's nodes.
    """
    if not labels.separable:
        return None
    for name, indptr, indices, values in _matrices(folder):
        # Without node numbers, the rows of the matrix must be the hidden rows, in their order.
        rows = labels.ids if labels.ids is not None else np.arange(len(labels.values))
        if len(indptr) - 1 <= int(rows.max()) or (labels.ids is None and len(indptr) - 1 != len(rows)):
            continue
        column = _separating_column(indptr, indices, values, rows, labels.values)
        if column is not None:
            return f"{name} (column {column[0]} separates the hidden classes, AUROC {column[1]:.4f})"
    return None


def _matrices(folder: Path) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Name, row bounds, column numbers and values of every sparse matrix in a folder."""
    for path in sorted(folder.rglob("*_indptr.npy")):
        stem = path.name.removesuffix("_indptr.npy")
        indices = path.with_name(f"{stem}_indices.npy")
        values = next(
            (file for ending in ("values", "data") if (file := path.with_name(f"{stem}_{ending}.npy")).is_file()), None
        )
        if indices.is_file() and values is not None:
            arrays = [np.load(file, mmap_mode="r", allow_pickle=False) for file in (path, indices, values)]
            yield path.relative_to(folder).as_posix(), arrays[0], arrays[1], arrays[2]
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path, allow_pickle=False) as archive:
            if {"indptr", "indices", "data"} <= set(archive.files):
                yield path.relative_to(folder).as_posix(), archive["indptr"], archive["indices"], archive["data"]


def _separating_column(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    rows: NDArray[np.int64],
    labels: NDArray[np.uint8],
) -> tuple[int | str, float] | None:
    """The column that separates the classes, or the count or sum of a row's entries, with its AUROC; None if none does.

    Args:
        indptr: where the entries of each row begin, int[rows + 1].
        indices: column of each entry.
        values: value of each entry.
        rows: the row of each hidden label.
        labels: the hidden labels of the task's nodes.
    """
    counts = (indptr[rows + 1] - indptr[rows]).astype(np.int64)
    # For each entry of these rows: its row, counted among them, and its position among all entries.
    owner = np.repeat(np.arange(len(rows)), counts)
    place = np.repeat(
        indptr[rows].astype(np.int64) - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts
    ) + np.arange(counts.sum())
    column, value = np.asarray(indices)[place].astype(np.int64), np.asarray(values)[place].astype(np.float64)
    whole = np.column_stack([counts, np.bincount(owner, weights=value, minlength=len(rows))])
    for name, score in zip(("count of entries", "sum of entries"), auroc_columns(whole, labels), strict=True):
        if abs(score - 0.5) >= SEPARATION - 0.5:
            return name, float(score)
    width = int(column.max(initial=0)) + 1
    with_anomaly = np.bincount(column, weights=labels[owner], minlength=width) / labels.sum()
    without = np.bincount(column, weights=1 - labels[owner], minlength=width) / (len(labels) - labels.sum())
    # How well the presence of an entry separates, or else how often both classes have one: only there can values tell
    # more than their presence.
    promise = np.maximum(np.abs(with_anomaly - without), np.minimum(with_anomaly, without))
    chosen = np.argsort(-promise, kind="stable")[:DENSE_LIMIT]
    position = np.full(width, -1)
    position[chosen] = np.arange(len(chosen))
    kept = position[column] >= 0
    dense = np.zeros((len(rows), len(chosen)))
    dense[owner[kept], position[column[kept]]] = value[kept]
    scores = auroc_columns(dense, labels)
    best = int(np.argmax(np.abs(scores - 0.5)))
    return (int(chosen[best]), float(scores[best])) if abs(scores[best] - 0.5) >= SEPARATION - 0.5 else None
