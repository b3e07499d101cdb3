"""The layouts in which files of graph benchmarks hold a graph, and a reader of each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.graphs import Graph, SparseRows, undirected
from openfingym.data.graphs.features import take_rows
from openfingym.data.sources.cells import unzip
from openfingym.data.sources.graph_files import (
    adjacency_edges,
    feature_matrix,
    label_vector,
    read_dat,
    read_mat,
    read_npy,
    read_sparse_npz,
    whole_numbers,
)
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GraphFile:
    """What a published file holds: a graph whose relations are still apart, with labels or with classes."""

    relations: Mapping[str, NDArray[np.int64]]
    """Edges by relation, int64[2, m] each, in the form of :class:`openfingym.data.graphs.Graph`."""
    features: NDArray[np.float64] | SparseRows
    """Features of the nodes, one row for each; sparse where the file is."""
    labels: NDArray[np.int8] | None = None
    """int8[n], 1 for an anomaly; None where the publisher labels no anomalies."""
    classes: NDArray[np.int64] | None = None
    """int64[n], the class of each node where that is not an anomaly label (a research area, a genre); else None."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.features.shape[0])

    def without_isolated(self, relation: str) -> tuple[GraphFile, int]:
        """A copy with one relation and the nodes that have an edge in it, renumbered in their old order; and how many
        nodes were left out.
        """
        edges = self.relations[relation]
        keep = np.unique(edges)
        cut = GraphFile(
            {relation: np.searchsorted(keep, edges)},
            take_rows(self.features, keep),
            None if self.labels is None else self.labels[keep],
            None if self.classes is None else self.classes[keep],
        )
        return cut, self.nodes - len(keep)

    def to_graph(self, where: str) -> Graph:
        """The graph of all relations together, each edge once.

        Raises:
            DataError: no anomalies are labelled, or the parts make no graph.
        """
        if self.labels is None:
            raise DataError(f"{where}: the file labels no anomalies")
        try:
            return Graph(
                undirected(np.concatenate(list(self.relations.values()), axis=1), self.nodes),
                self.features,
                self.labels,
            )
        except DataError as error:
            raise DataError(f"{where}: {error}") from error


@dataclass(frozen=True)
class MatLayout:
    """Names of a graph's parts in a MATLAB file."""

    relations: Mapping[str, str]
    """Name of the variable of each adjacency matrix, and the name of the relation."""
    features: str
    """Name of the variable of the features."""
    label: str
    """Name of the variable of the labels or classes."""
    labels_anomalies: bool
    """Whether that variable marks anomalies; otherwise it holds classes."""


FRAUD_AMAZON = MatLayout(
    {"net_upu": "upu", "net_usu": "usu", "net_uvu": "uvu"}, "features", "label", labels_anomalies=True
)
FRAUD_YELP = MatLayout(
    {"net_rur": "rur", "net_rtr": "rtr", "net_rsr": "rsr"}, "features", "label", labels_anomalies=True
)
"""Dou et al. (2020), as DGL publishes them."""
NETWORK = MatLayout({"Network": "network"}, "Attributes", "Label", labels_anomalies=True)
NETWORK_SHORT = MatLayout({"A": "network"}, "X", "gnd", labels_anomalies=True)
"""Files of the one-network anomaly benchmarks (BlogCatalog and others; also one-network versions of Amazon and
YelpChi)."""
HAN_DBLP = MatLayout({"net_APA": "apa", "net_APCPA": "apcpa"}, "features", "label", labels_anomalies=False)
HAN_IMDB = MatLayout({"MAM": "mam", "MDM": "mdm"}, "feature", "label", labels_anomalies=False)
"""Files of Wang et al. (2019), which have classes and no anomalies."""
INJECTED = MatLayout({"adj1": "first", "adj2": "second"}, "feature", "label", labels_anomalies=True)
"""Files of Zheng et al. (2025): DBLP or IMDB after their injection of anomalies."""


AUTHOR, PAPER, CONFERENCE = 0, 1, 3
"""Types of nodes in the files of DBLP; 2 is a term."""


def graph_from_mat(content: bytes, layouts: Sequence[MatLayout], where: str) -> GraphFile:
    """Read a MATLAB file by the first layout whose variables it has.

    Args:
        content: content of the file.
        layouts: layouts that the file may have.
        where: name of the file in error messages.

    Raises:
        DataError: the file has the variables of no layout, or they do not fit together.
    """
    known = {name for layout in layouts for name in (*layout.relations, layout.features, layout.label)}
    parts = read_mat(content, where, known)
    for layout in layouts:
        if {*layout.relations, layout.features, layout.label} <= parts.keys():
            return _assemble(parts, layout, where)
    expected = " or ".join(", ".join((*layout.relations, layout.features, layout.label)) for layout in layouts)
    raise DataError(
        f"{where}: expected the variables {expected}; of these the file has {', '.join(sorted(parts)) or 'none'}"
    )


def _assemble(parts: Mapping[str, Any], layout: MatLayout, where: str) -> GraphFile:
    features = feature_matrix(parts[layout.features], where)
    nodes = features.shape[0]
    labels = label_vector(parts[layout.label], nodes, where)
    relations = {name: adjacency_edges(parts[key], nodes, f"{where}, {key}") for key, name in layout.relations.items()}
    if layout.labels_anomalies:
        return GraphFile(relations, features, labels=_binary(labels, where))
    return GraphFile(relations, features, classes=labels)


def _binary(labels: NDArray[np.int64], where: str) -> NDArray[np.int8]:
    classes = np.unique(labels).tolist()
    if classes != [0, 1]:
        raise DataError(f"{where}: anomaly labels are {classes[:8]}, expected both 0 and 1")
    return labels.astype(np.int8)


def dblp_from_npz(content: bytes, where: str) -> GraphFile:
    """DBLP as Fu et al. (2020) publish it: one adjacency over authors, papers, terms and conferences.

    Authors are joined by a common paper (``apa``) and by a common conference (``apcpa``).

    Raises:
        DataError: a file is missing, damaged, or does not fit the others.
    """
    types = whole_numbers(read_npy(_member(content, "node_types.npy", where), where), f"{where}, node_types.npy")
    adjacency = read_sparse_npz(_member(content, "adjM.npz", where), f"{where}, adjM.npz")
    features = read_sparse_npz(_member(content, "features_0.npz", where), f"{where}, features_0.npz")
    labels = whole_numbers(read_npy(_member(content, "labels.npy", where), where), f"{where}, labels.npy")
    if adjacency.shape != (len(types), len(types)):
        raise DataError(f"{where}: an adjacency of shape {list(adjacency.shape)} for {len(types)} nodes")
    pairs = np.stack(adjacency.nonzero()).astype(np.int64)
    return _dblp(pairs, types, feature_matrix(features, where), labels, where)


def dblp_from_dat(content: bytes, where: str) -> GraphFile:
    """DBLP as the Heterogeneous Graph Benchmark (Lv et al. 2021) publishes it: ``node.dat``, ``link.dat``,
    ``label.dat``.

    Raises:
        DataError: a file is missing, damaged, or does not fit the others.
    """
    # Columns of the benchmark's files: node, name, type, features; source, target and more; node, name, type, label.
    # The labels for testing are in a file of their own, and all labels are wanted here.
    nodes = read_dat(_member(content, "node.dat", where), f"{where}, node.dat", columns=(0, 2, 3), minimum=3)
    links = read_dat(_member(content, "link.dat", where), f"{where}, link.dat", columns=(0, 1), minimum=3)
    stated = read_dat(_member(content, "label.dat", where), f"{where}, label.dat", columns=(0, 3), minimum=4)
    stated += read_dat(_member(content, "label.dat.test", where), f"{where}, label.dat.test", columns=(0, 3), minimum=4)
    try:
        numbers = np.array([int(node) for node, _, _ in nodes])
        types = np.array([int(kind) for _, kind, _ in nodes])
        authors = [cells for _, kind, cells in nodes if int(kind) == 0]
        features = np.array([[float(cell) for cell in cells.split(",")] for cells in authors])
        pairs = np.array([(int(source), int(target)) for source, target in links]).T
        labels = np.full(len(authors), -1, dtype=np.int64)
        for node, label in stated:
            labels[int(node)] = int(label)
    except (ValueError, IndexError) as error:
        raise DataError(f"{where}: a cell is not of the known form ({error}); the format has changed") from None
    if not (numbers == np.arange(len(nodes))).all() or not 0 <= pairs.min() <= pairs.max() < len(nodes):
        raise DataError(
            f"{where}: nodes are not numbered from 0 to {len(nodes) - 1} in order, or a link leads elsewhere"
        )
    if (labels < 0).any():
        raise DataError(f"{where}: author {int(np.flatnonzero(labels < 0)[0])} has no label")
    return _dblp(pairs, types, features, labels, where)


def _dblp(
    pairs: NDArray[np.int64],
    types: NDArray[np.int64],
    features: NDArray[np.float64] | SparseRows,
    labels: NDArray[np.int64],
    where: str,
) -> GraphFile:
    """Join authors over papers and over conferences, with sparse products."""
    sparse = importlib.import_module("scipy.sparse")
    authors, papers, conferences = (np.flatnonzero(types == kind) for kind in (AUTHOR, PAPER, CONFERENCE))
    if (
        features.shape[0] != len(authors)
        or labels.shape != (len(authors),)
        or (authors != np.arange(len(authors))).any()
    ):
        raise DataError(
            f"{where}: {len(authors)} authors, but features for {features.shape[0]} and labels for {len(labels)}"
        )
    # Links are published in one direction or both; here every one goes both ways.
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    linked = sparse.csr_array((np.ones(both.shape[1]), both), shape=(len(types), len(types)))
    # Who wrote what; then over the papers who appeared where. Two authors are joined where the products are not zero.
    by_paper = linked[authors][:, papers]
    by_conference = by_paper @ linked[papers][:, conferences]
    relations = {
        "apa": adjacency_edges(by_paper @ by_paper.T, len(authors), where),
        "apcpa": adjacency_edges(by_conference @ by_conference.T, len(authors), where),
    }
    return GraphFile(relations, features, classes=labels)


def _member(content: bytes, name: str, where: str) -> bytes:
    return unzip(content, where, lambda member: member == name)[1]
