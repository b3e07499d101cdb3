"""An author's graph: from files in any form to one that a task package holds.

Nodes are numbered anew, in an order that tells nothing. Files are often sorted, by label or by time, and the number
of a node would then tell its label. The order is drawn from a digest of all that was read, labels included, so that
the same files give the same package, and whoever lacks the labels cannot undo it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import require_printable
from openfingym.data.graphs import Graph, SparseRows, graph_arrays, graph_from_arrays
from openfingym.data.graphs.features import take_rows
from openfingym.data.graphs.motifs import GraphSet
from openfingym.data.own.cells import Cells, examples, read_cells
from openfingym.data.own.graph_forms import TRUTH, Parts, read_parts
from openfingym.data.processes.draws import permutation, stream
from openfingym.data.sources.graph_files import read_npz, simple_edges
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Features = NDArray[np.float64] | SparseRows

STORED = "graph.npz"
"""Name of the file in which a task package holds its own graph."""
NAMES = "nodes.csv"
"""Name of the file beside it with the author's name of each node; no package that agents see holds it."""


@dataclass(frozen=True, eq=False)
class OwnGraph:
    """A graph as its author brought it, with nodes numbered anew."""

    graph: Graph
    names: tuple[str, ...]
    """The author's name of each node, by its number."""
    features: tuple[str, ...]
    """Names of the features; empty where the file has none."""
    notes: tuple[str, ...]
    """What was done or left out, for people to read."""


def read_own_graph(path: Path, labels: Path | None = None, features: Path | None = None) -> OwnGraph:
    """Read an author's graph.

    Args:
        path: file with the edges, in one of the forms of :mod:`openfingym.data.own.graph_forms`.
        labels: file with a table of nodes and 0/1 labels, in place of those in ``path``; None where ``path`` has them.
        features: file with a table of nodes and features, in place of those in ``path``; None for no such file.

    Raises:
        UsageError: a file cannot be opened, or no form has its ending.
        DataError: a file is malformed, nodes lack a label or features, or the parts make no graph.
    """
    stated = None if labels is None else read_labels(labels, "node")
    parts = read_parts(path, set() if stated is None else set(stated))
    names, given = _labels_of(parts, stated)
    number = {name: place for place, name in enumerate(names)}
    places = _places(parts, number, str(labels))
    pairs = places[parts.pairs]
    edges = simple_edges(pairs, len(names))
    notes = [*parts.notes, *_merged(pairs, edges)]
    matrix, columns = _features_of(parts, places, features, number)
    if matrix is None:
        degrees = np.bincount(edges.ravel(), minlength=len(names)).astype(np.float64)
        matrix, columns = degrees[:, None], ("degree",)
        notes.append("no features were given: a node's only feature is its degree")
    try:
        graph = Graph(edges, matrix, given)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    _refuse_labels(graph.features, graph.labels, columns, str(features or path))
    require_printable((*names, *columns), str(path))
    # Last, since the order is drawn from the digest of all that was read.
    order = hidden_order(graph.digest, names)
    return OwnGraph(renumbered(graph, order), tuple(names[i] for i in order), columns, tuple(notes))


def stored_bytes(items: Graph | GraphSet) -> bytes:
    """The file of a task package that holds a graph or a set of graphs; equal graphs give equal bytes."""
    from openfingym.data.graphs import graph_set_arrays

    file = io.BytesIO()
    # Both functions return arrays alone.
    arrays = graph_arrays(items) if isinstance(items, Graph) else graph_set_arrays(items)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read_stored(content: bytes, where: str) -> Graph | GraphSet:
    """Read a graph, or a set of graphs, that :func:`stored_bytes` wrote.

    Raises:
        DataError: the file is damaged, or holds no valid graph.
    """
    try:
        return graph_from_arrays(read_npz(content, where))
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def read_labels(path: Path, item: str) -> dict[str, int]:
    """Labels by name, from a table whose first column is the name and whose last is 0 or 1.

    Args:
        path: the author's file, with a header or without.
        item: what a label is of, ``node`` or ``graph``, for messages.

    Raises:
        DataError: a label is neither 0 nor 1, or a name occurs twice.
    """
    cells = read_cells(path)
    if cells.width < 2:
        raise DataError(f"{path}: one column; expected two, the {item} and its label")
    last = cells.width - 1
    # A header has no 0 or 1 where the labels are.
    first = 0 if cells.header()[last].lower() in TRUTH else 1
    names, texts = cells.column(0, first), [text.lower() for text in cells.column(last, first)]
    for place, text in enumerate(texts):
        if text not in TRUTH:
            found = examples(dict.fromkeys(texts))
            raise DataError(
                f"{path}, row {place + first + 1}: the label of {item} {names[place]!r} is {text!r}; expected 1 for an "
                f"anomaly (or class 1) and 0 for anything else. The last column has {found}; leave out a {item} whose "
                "label nobody knows"
            )
    _require_once(names, cells, first, item)
    return {name: TRUTH[text] for name, text in zip(names, texts, strict=True)}


def hidden_order(digest: str, names: Sequence[str]) -> NDArray[np.int64]:
    """A permutation, int64[n], that nobody can work out who lacks the items' labels.

    Args:
        digest: hex SHA-256 over everything that was read, labels included.
        names: the author's names of the items.
    """
    secret = hashlib.sha256("\n".join(("order", digest, *names)).encode()).hexdigest()
    return permutation(stream(int(secret, 16)), len(names))


def renumbered(graph: Graph, order: NDArray[np.int64]) -> Graph:
    """The graph with node ``order[i]`` as its node i."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Graph(simple_edges(place[graph.edges], graph.nodes), take_rows(graph.features, order), graph.labels[order])


def names_csv(item: str, names: Sequence[str]) -> str:
    """A CSV table of the items' numbers and the author's names of them."""
    import csv

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([item, "name"])
    rows.writerows(enumerate(names))
    return text.getvalue()


def read_features(path: Path, number: dict[str, int], item: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Features from a table whose first column is a name.

    Args:
        path: the author's file, with a header or without.
        number: the number of each item by its name; every one of them must have a row.
        item: what a row is of, such as ``node``, for messages.

    Returns:
        (features, float64[items, features], in the order of the numbers; their names, empty without a header).

    Raises:
        DataError: an item is missing, unknown or there twice, or a cell is no number.
    """
    cells = read_cells(path)
    if cells.width < 2:
        raise DataError(f"{path}: one column; expected the {item} and its features")
    head = cells.header()
    first = 0 if head[0] in number else 1
    names = cells.column(0, first)
    _require_once(names, cells, first, item)
    if unknown := [name for name in names if name not in number]:
        raise DataError(f"{path}: features of {item}s that have no label: {examples(unknown)}; remove them")
    present = set(names)
    if missing := [name for name in number if name not in present]:
        raise DataError(f"{path}: {item}s without features: {examples(missing)}")
    values = cells.numbers(range(1, cells.width), first)
    out = np.empty_like(values)
    out[[number[name] for name in names]] = values
    return out, tuple(head[1:]) if first else ()


def _labels_of(parts: Parts, stated: dict[str, int] | None) -> tuple[list[str], NDArray[np.int8]]:
    """Names of all nodes, and the label of each."""
    if stated is not None:
        return list(stated), np.array(list(stated.values()), dtype=np.int8)
    if parts.labels is None:
        raise DataError(f"{parts.where}: says nothing of labels; give --labels FILE, a table of nodes and 0 or 1")
    classes = np.unique(parts.labels).tolist()
    if classes != [0, 1]:
        raise DataError(
            f"{parts.where}: labels are {', '.join(map(str, classes[:8]))}; expected both 0 (normal) and 1 (anomaly). "
            "Give --labels FILE, a table of nodes and 0 or 1, to say which are anomalies"
        )
    names = parts.names or [str(node) for node in range(parts.nodes or 0)]
    return names, parts.labels.astype(np.int8)


def _places(parts: Parts, number: dict[str, int], labels: str) -> NDArray[np.int64]:
    """The number of each node of the file, in the file's order, int64[nodes of the file]."""
    names = parts.names or [str(node) for node in range(parts.nodes or 0)]
    if unknown := [name for name in names if name not in number]:
        raise DataError(
            f"{parts.where}: {len(unknown)} nodes have no label in {labels}: {examples(unknown)}; label them, or leave "
            "them and their edges out"
        )
    return np.array([number[name] for name in names], dtype=np.int64)


def _features_of(
    parts: Parts, places: NDArray[np.int64], path: Path | None, number: dict[str, int]
) -> tuple[Features | None, tuple[str, ...]]:
    if path is not None:
        return read_features(path, number, "node")
    if parts.features is None:
        return None, ()
    if len(places) != len(number):
        present = set(places.tolist())
        missing = [name for name, place in number.items() if place not in present]
        raise DataError(f"{parts.where}: labelled nodes that are not there, and have no features: {examples(missing)}")
    order = np.empty(len(places), dtype=np.int64)
    order[places] = np.arange(len(places))
    return take_rows(parts.features, order), parts.feature_names


def _refuse_labels(matrix: Features, labels: NDArray[np.int8], columns: tuple[str, ...], where: str) -> None:
    """Refuse a feature that is constant in either class and differs between the two: it is the label itself."""
    places = np.arange(matrix.shape[1])
    if isinstance(matrix, SparseRows):
        # Only a column with as many stored values as one class has nodes, or all, can be the label: few of thousands.
        anomalies, nodes = int(labels.sum()), len(labels)
        stored = np.bincount(matrix.indices, minlength=matrix.columns)
        places = np.flatnonzero(np.isin(stored, (anomalies, nodes - anomalies, nodes)))
        owner = np.repeat(np.arange(matrix.rows), np.diff(matrix.indptr))
    for place in places:
        if isinstance(matrix, SparseRows):
            chosen, values = matrix.indices == place, np.zeros(matrix.rows)
            values[owner[chosen]] = matrix.values[chosen]
        else:
            values = matrix[:, place]
        ones, others = values[labels == 1], values[labels == 0]
        if np.ptp(ones) == 0.0 == np.ptp(others) and ones[0] != others[0]:
            name = repr(columns[place]) if columns else f"{place + 1}"
            raise DataError(f"{where}: feature {name} is the label under another name; leave it out")


def _merged(pairs: NDArray[np.int64], edges: NDArray[np.int64]) -> list[str]:
    """Notes on the pairs of the file that are no edge of their own."""
    loops = int((pairs[0] == pairs[1]).sum())
    again = pairs.shape[1] - loops - edges.shape[1]
    notes = [f"{loops} edges from a node to itself left out"] if loops else []
    return notes + ([f"{again} edges merged with their reverse or repetition"] if again else [])


def _require_once(names: list[str], cells: Cells, first: int, item: str) -> None:
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if name in seen:
            raise DataError(
                f"{cells.where}, row {place + first + 1}: {item} {name!r} is in row {seen[name] + first + 1} already"
            )
        seen[name] = place
