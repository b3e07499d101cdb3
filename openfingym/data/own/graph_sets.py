"""An author's set of graphs: a folder with a file a graph, or one table of edges with the graph of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import require_printable
from openfingym.data.graphs import GraphSet, SparseRows
from openfingym.data.own.cells import examples, read_cells
from openfingym.data.own.graph_forms import Parts, read_parts
from openfingym.data.own.graphs import hidden_order, read_labels
from openfingym.data.sources.graph_files import simple_edges
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = "graphs.csv"
"""Name of the file of a task package that has the author's name of each graph."""


@dataclass(frozen=True, eq=False)
class OwnGraphSet:
    """A set of graphs as its author brought it, in an order that tells nothing."""

    graphs: GraphSet
    names: tuple[str, ...]
    """The author's name of each graph, by its number."""
    notes: tuple[str, ...]
    """What was done to the author's graphs, for people to read."""


@dataclass(frozen=True, eq=False)
class _Graph:
    """One graph, its nodes numbered from 0."""

    nodes: int
    """Number of nodes."""
    pairs: NDArray[np.int64]
    """int64[2, m], the nodes that are joined, as the file has them."""
    features: NDArray[np.float64] | None
    """float64[nodes, features]; None where the file has none."""


def read_own_graphs(path: Path, labels: Path) -> OwnGraphSet:
    """Read an author's graphs.

    Args:
        path: a folder, of which every file is a graph called by its name without the ending; or a table whose columns
            are the graph, and the two nodes of each edge.
        labels: a table of graphs and labels, 0 or 1.

    Raises:
        UsageError: a file cannot be opened, or no form has its ending.
        DataError: a file is malformed, or graphs and labels do not belong together.
    """
    stated = read_labels(labels, "graph")
    by_name = _folder(path) if path.is_dir() else _table(path, set(stated))
    if unknown := [name for name in by_name if name not in stated]:
        raise DataError(f"{path}: graphs without a label in {labels}: {examples(unknown)}; label them or remove them")
    if missing := [name for name in stated if name not in by_name]:
        raise DataError(f"{labels}: labels of graphs that are not in {path}: {examples(missing)}")
    graphs = [by_name[name] for name in stated]
    notes = []
    features = [graph.features for graph in graphs if graph.features is not None]
    if not features:
        notes.append("no features were given: a node's only feature is its degree")
    elif len(features) < len(graphs) or len({matrix.shape[1] for matrix in features}) > 1:
        raise DataError(f"{path}: all graphs need equally many features of a node, or none")
    names = list(stated)
    require_printable(names, str(path))
    values = np.array(list(stated.values()), dtype=np.int8)
    # The order is drawn from all of the content, and then applied to it.
    order = hidden_order(_union(graphs, values).digest, names)
    return OwnGraphSet(_union([graphs[i] for i in order], values[order]), tuple(names[i] for i in order), tuple(notes))


def _union(graphs: list[_Graph], labels: NDArray[np.int8]) -> GraphSet:
    offsets = np.concatenate([[0], np.cumsum([graph.nodes for graph in graphs])]).astype(np.int64)
    pairs = np.concatenate([graph.pairs + first for graph, first in zip(graphs, offsets, strict=False)], axis=1)
    edges = simple_edges(pairs, int(offsets[-1]))
    if graphs[0].features is None:
        # A model needs some feature, and the degree says nothing that the edges do not.
        features = np.bincount(edges.ravel(), minlength=int(offsets[-1])).astype(np.float64)[:, None]
    else:
        features = np.concatenate([graph.features for graph in graphs if graph.features is not None])
    return GraphSet(edges, offsets, features, labels)


def _folder(path: Path) -> dict[str, _Graph]:
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise DataError(f"{path}: no file is in the folder; expected one a graph")
    graphs = {file.name.split(".")[0]: _graph_of(read_parts(file, set())) for file in files}
    if len(graphs) < len(files):
        raise DataError(f"{path}: {len(files)} files, but {len(graphs)} names without the ending; rename those alike")
    return graphs


def _graph_of(parts: Parts) -> _Graph:
    nodes = len(parts.names) if parts.names is not None else int(parts.nodes or 0)
    features = parts.features.dense() if isinstance(parts.features, SparseRows) else parts.features
    return _Graph(nodes, parts.pairs, features)


def _table(path: Path, known: set[str]) -> dict[str, _Graph]:
    cells = read_cells(path)
    if cells.width < 3:
        raise DataError(f"{path}: {cells.width} columns; expected three: the graph, and the two nodes of an edge")
    # Without a header, the first cell is the name of a graph that has a label.
    first = 0 if cells.header()[0] in known else 1
    rows: dict[str, list[tuple[str, str]]] = {}
    columns = [cells.column(place, first) for place in range(3)]
    for graph, a, b in zip(*columns, strict=True):
        rows.setdefault(graph, []).append((a, b))
    graphs = {}
    for graph, edges in rows.items():
        number = {name: place for place, name in enumerate(dict.fromkeys(name for edge in edges for name in edge))}
        pairs = np.array([(number[a], number[b]) for a, b in edges], dtype=np.int64).T
        graphs[graph] = _Graph(len(number), pairs, None)
    return graphs
