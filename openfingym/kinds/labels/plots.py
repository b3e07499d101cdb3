"""Plots of labelled graphs: shares of each class, and distributions of degrees and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.plots.plot import PARTS, Distribution, Plot, Shares, parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array, Reader


def node_plots(read: Reader, hidden: Mapping[str, Array], n_public: int) -> Iterator[Plot]:
    """Shares of anomalies, and distributions of degrees by part and by class."""
    known, asked = np.asarray(read("train_nodes")), np.asarray(read("test_nodes"))
    labels = np.concatenate([read("train_labels"), hidden["labels"]])
    # `minlength` for nodes without an edge. Every node is in one of the three parts, which together are all nodes.
    degrees = np.bincount(np.asarray(read("graph_edges")).reshape(-1), minlength=len(known) + len(asked))
    yield _class_shares(read, hidden, n_public, "Share of anomalies among the nodes")
    logs = np.log10(1.0 + degrees)
    note = "log10(1 + degree); edges are public."
    yield Distribution("Degrees by part", parts_of(logs[known], logs[asked], n_public), note)
    yield Distribution("Degrees by class", _by_class(logs[np.concatenate([known, asked])], labels), note)


def graph_plots(read: Reader, hidden: Mapping[str, Array], n_public: int) -> Iterator[Plot]:
    """Shares of each class, and distributions of degrees and sizes of graphs by part and by class."""
    known, asked = np.asarray(read("train_graphs")), np.asarray(read("test_graphs"))
    offsets, edges = np.asarray(read("graph_offsets")), np.asarray(read("graph_edges"))
    labels, order = np.concatenate([read("train_labels"), hidden["labels"]]), np.concatenate([known, asked])
    yield _class_shares(read, hidden, n_public, "Share of graphs of class 1")
    degrees = np.bincount(edges.reshape(-1), minlength=int(offsets[-1])).astype(np.float64)
    counts = np.diff(offsets)
    assert (counts > 0).all(), "a graph has a node"
    # The graph of each node, and the label of each graph, by their numbers.
    graph_of = np.repeat(np.arange(len(counts)), counts)
    label_of = np.empty(len(counts), dtype=np.int64)
    label_of[order] = labels
    yield Distribution("Degrees of nodes by class", _by_class(degrees, label_of[graph_of]), "Edges are public.")
    # The maximum over the nodes of each graph, which begin at its offset; right only if no graph is empty, see above.
    highest = np.maximum.reduceat(degrees, offsets[:-1])
    yield Distribution("Highest degree of each graph by part", parts_of(highest[known], highest[asked], n_public))
    yield Distribution("Highest degree of each graph by class", _by_class(highest, label_of))
    sizes = np.bincount(graph_of[edges[0]], minlength=len(counts)).astype(np.float64)
    yield Distribution("Edges of each graph by class", _by_class(sizes, label_of))


def _class_shares(read: Reader, hidden: Mapping[str, Array], n_public: int, title: str) -> Shares:
    labels = parts_of(read("train_labels"), hidden["labels"], n_public)
    counts = "; ".join(f"{part}: {int(values.sum())} of {len(values)}" for part, values in labels.items())
    return Shares(title, {part: float(labels[part].mean()) for part in PARTS if part in labels}, f"{counts}.")


def _by_class(values: Array, labels: Array) -> dict[str, NDArray[np.float64]]:
    samples = {f"class {label}": np.asarray(values[labels == label], dtype=np.float64) for label in (0, 1)}
    return {name: sample for name, sample in samples.items() if len(sample)}
