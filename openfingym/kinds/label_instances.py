"""Instances of tasks about labels of nodes or graphs: some of those whose labels the task shows, and nothing else.

Of one graph, an instance is the graph between the chosen nodes: no edge, feature or label of any other node is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.split import LabelSplit
from openfingym.kinds.instances import (
    Instance,
    below,
    between,
    first_reserved,
    fixed_order,
    fresh_seed,
    order_of,
    origin,
    too_little,
)
from openfingym.kinds.scores import Divided, LabelsContract, divided_material

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.data.graphs import SparseRows
    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.material import Array

FEWEST = (2, 1, 3)
"""Items of a class that the training, the public and the private part of an instance have at least."""
DRAWN_GRAPHS = (50, 90)
"""Graphs of each class that are drawn for an instance, at least and at most."""
MOST = 4000
"""Items of an instance at most."""


def nodes_instance(
    data: TrainingData, contract: LabelsContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a nodes task; see :meth:`openfingym.kinds.kind.Kind.instance`."""
    from openfingym.data.graphs import Graph, graph_arrays, undirected
    from openfingym.data.graphs.features import take_rows

    nodes, labels = np.asarray(data.read("train_nodes")), np.asarray(data.read("train_labels"))
    chosen, parts = _chosen(data, contract, labels, split, generator)
    features = _features(data)
    number = np.full(features.shape[0], -1, dtype=np.int64)
    number[nodes[chosen]] = np.arange(len(chosen))
    edges = number[np.asarray(data.read("graph_edges"))]
    edges = undirected(edges[:, (edges >= 0).all(axis=0)], len(chosen))
    if not edges.shape[1]:
        raise too_little(data.task, "no edge between nodes with a known label", "one edge at least")
    graph = Graph(edges, take_rows(features, nodes[chosen]), labels[chosen].astype(np.int8))
    return Instance(
        divided_material(
            contract,
            Divided(graph, data.info, parts),
            graph_arrays(graph),
            item="node",
            recipe=origin(data, "the graph between some of the nodes with known labels"),
            counts={"n_nodes": graph.nodes, "n_edges": graph.edge_count},
        )
    )


def graphs_instance(
    data: TrainingData, contract: LabelsContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a graphs task; see :meth:`openfingym.kinds.kind.Kind.instance`."""
    from openfingym.data.graphs import GraphSet, graph_set_arrays, undirected
    from openfingym.data.graphs.features import take_rows

    graphs, labels = np.asarray(data.read("train_graphs")), np.asarray(data.read("train_labels"))
    chosen, parts = _chosen(data, contract, labels, split, generator)
    bounds, features = np.asarray(data.read("graph_offsets")), _features(data)
    sizes = np.diff(bounds)[graphs[chosen]]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    nodes = np.repeat(bounds[graphs[chosen]] - offsets[:-1], sizes) + np.arange(offsets[-1])
    number = np.full(int(bounds[-1]), -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    edges = number[np.asarray(data.read("graph_edges"))]
    edges = undirected(edges[:, (edges >= 0).all(axis=0)], len(nodes))
    items = GraphSet(edges, offsets, take_rows(features, nodes), labels[chosen].astype(np.int8))
    return Instance(
        divided_material(
            contract,
            Divided(items, data.info, parts),
            graph_set_arrays(items),
            item="graph",
            recipe=origin(data, "some of the graphs with known labels"),
            counts={"n_graphs": len(chosen)},
        )
    )


def drawn_graphs_instance(
    data: TrainingData, contract: LabelsContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a graphs task on the bundled set, of which all graphs are drawn anew, with seeds that differ
    between the splits.
    """
    from openfingym.data.graphs import ba_2motifs, graph_set_arrays, stratified_split

    items = ba_2motifs(fresh_seed(split, generator), 2 * between(generator, *DRAWN_GRAPHS))
    # The set's own order is random.
    parts = stratified_split(items.labels, below(generator, 1 << 32), contract.train, contract.public)
    return Instance(
        divided_material(
            contract,
            Divided(items, data.info, parts),
            graph_set_arrays(items),
            item="graph",
            recipe=origin(data, "graphs drawn anew"),
            counts={"n_graphs": len(items.labels)},
        )
    )


def _features(data: TrainingData) -> SparseRows | NDArray[np.float64]:
    """One row a node, as the package has them."""
    from openfingym.data.graphs import SparseRows

    if "graph_features_indptr" not in data.facts["arrays"]:
        return data.read("graph_features")
    parts: Mapping[str, Array] = {
        name: data.read(f"graph_features_{name}") for name in ("indptr", "indices", "values", "shape")
    }
    return SparseRows(parts["indptr"], parts["indices"], parts["values"], int(parts["shape"][1]))


def _chosen(
    data: TrainingData,
    contract: LabelsContract,
    labels: NDArray[np.int64],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], LabelSplit]:
    """The items of an instance in a random order, as places among those with known labels, and its parts, as places
    among the chosen items.
    """
    parts = _parts(data, contract, labels, split, generator)
    chosen = np.concatenate(parts)
    # By their numbers in the task, a policy could tell items again from one instance to the next.
    chosen = chosen[order_of(generator, len(chosen))]
    return chosen, LabelSplit(*(np.flatnonzero(np.isin(chosen, part)).astype(np.int64) for part in parts))


def _parts(
    data: TrainingData,
    contract: LabelsContract,
    labels: NDArray[np.int64],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], ...]:
    """Places, among the items with known labels, of those of the training, the public and the private part.

    Each class is divided by itself, in the shares of the task's contract. What ``validation`` hides is the reserved
    fifth, from a fixed order of each class.

    Raises:
        UsageError: a class has too few items.
    """
    hidden_share = 1.0 - contract.train
    size = between(generator, 50, 100) / 100.0
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    for kind in (0, 1):
        members = np.flatnonzero(labels == kind)
        members = members[fixed_order(len(members))]
        shown, reserved = np.split(members, [first_reserved(len(members))])
        most = MOST * len(members) / len(labels)
        if split == "train":
            count = round(min(size * len(shown), most))
            pool = shown[order_of(generator, len(shown))][:count]
            train, hidden = np.split(pool, [round(contract.train * count)])
        else:
            hidden = reserved[order_of(generator, len(reserved))]
            hidden = hidden[: round(min(max(size, 0.75) * len(hidden), most * hidden_share))]
            train = shown[order_of(generator, len(shown))]
            train = train[: round(len(hidden) * contract.train / hidden_share)]
        cut = round(len(hidden) * contract.public / hidden_share)
        for part, piece, fewest in zip(parts, (train, hidden[:cut], hidden[cut:]), FEWEST, strict=True):
            if len(piece) < fewest:
                raise too_little(data.task, f"{len(members)} labels {kind}", "about 25 of each")
            part.append(piece)
    return tuple(np.sort(np.concatenate(part)) for part in parts)
