"""Instances of tasks about labels of nodes or graphs: some of the items whose labels the task shows, and nothing else.

An instance of a nodes task is the subgraph of the chosen nodes: it has no edge, feature or label of any other node.
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
from openfingym.kinds.labels.kind import Divided, LabelsContract, divided_material

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.data.graphs import SparseRows
    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.material import Array

FEWEST = (2, 1, 3)
"""Fewest items of each class in the training, the public and the private part of an instance."""
DRAWN_GRAPHS = (50, 90)
"""Fewest and most graphs of each class that are drawn for an instance of the bundled set."""
MOST = 4000
"""Most items of an instance."""


def nodes_instance(
    data: TrainingData, contract: LabelsContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a nodes task; see :meth:`openfingym.kinds.kind.Kind.instance`."""
    from openfingym.data.graphs import Graph, graph_arrays
    from openfingym.data.graphs.features import take_rows

    nodes, labels = np.asarray(data.read("train_nodes")), np.asarray(data.read("train_labels"))
    chosen, parts = _chosen(data, contract, labels, split, generator)
    features = _features(data)
    edges = _edges_among(data, nodes[chosen], features.shape[0])
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
    from openfingym.data.graphs import GraphSet, graph_set_arrays
    from openfingym.data.graphs.features import take_rows

    graphs, labels = np.asarray(data.read("train_graphs")), np.asarray(data.read("train_labels"))
    chosen, parts = _chosen(data, contract, labels, split, generator)
    # The nodes of a graph have consecutive numbers, from its offset on. Those of the chosen graphs, one graph after the
    # other, get new consecutive numbers.
    bounds, features = np.asarray(data.read("graph_offsets")), _features(data)
    sizes = np.diff(bounds)[graphs[chosen]]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    nodes = np.repeat(bounds[graphs[chosen]] - offsets[:-1], sizes) + np.arange(offsets[-1])
    edges = _edges_among(data, nodes, int(bounds[-1]))
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
    """An instance of a graphs task on the bundled set: all graphs are drawn anew, with seeds that differ between the
    splits.
    """
    from openfingym.data.graphs import ba_2motifs, graph_set_arrays, stratified_split

    items = ba_2motifs(fresh_seed(split, generator), 2 * between(generator, *DRAWN_GRAPHS))
    # No order of items is needed as in `_chosen`: the simulator puts them in a random one.
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


def _edges_among(data: TrainingData, nodes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The edges between some nodes of a package, with the nodes numbered anew; int64[2, edges].

    Args:
        data: the training data of the task.
        nodes: numbers of the nodes in the package, in the order of their new numbers.
        count: number of all nodes of the package.
    """
    from openfingym.data.graphs import undirected

    number = np.full(count, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    edges = number[np.asarray(data.read("graph_edges"))]
    return undirected(edges[:, (edges >= 0).all(axis=0)], len(nodes))


def _features(data: TrainingData) -> SparseRows | NDArray[np.float64]:
    """Features of all nodes of the package, one row for each, dense or sparse as the package holds them."""
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
    """The items of an instance in a random order, as positions among those with known labels, and its three parts, as
    positions among the chosen items.
    """
    parts = _parts(data, contract, labels, split, generator)
    chosen = np.concatenate(parts)
    # By their order, a policy could recognise items from one instance to the next, and remember their labels.
    chosen = chosen[order_of(generator, len(chosen))]
    return chosen, LabelSplit(*(np.flatnonzero(np.isin(chosen, part)).astype(np.int64) for part in parts))


def _parts(
    data: TrainingData,
    contract: LabelsContract,
    labels: NDArray[np.int64],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], ...]:
    """The items of the training, the public and the private part, as positions among those with known labels.

    Each class is divided by itself, in the shares of the task's contract. ``validation`` hides only items of the
    reserved fifth, which are the last ones in a fixed order of each class.

    Raises:
        UsageError: a class has too few items.
    """
    hidden_share = 1.0 - contract.train
    # The share of the available items that the instance has.
    size = between(generator, 50, 100) / 100.0
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    for kind in (0, 1):
        members = np.flatnonzero(labels == kind)
        members = members[fixed_order(len(members))]
        shown, reserved = np.split(members, [first_reserved(len(members))])
        # Of a large task, each class has its share of the most items that an instance may have.
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
        # The hidden items in two folds, and the training items above, in the ratios of the contract.
        cut = round(len(hidden) * contract.public / hidden_share)
        for part, piece, fewest in zip(parts, (train, hidden[:cut], hidden[cut:]), FEWEST, strict=True):
            if len(piece) < fewest:
                raise too_little(data.task, f"{len(members)} labels {kind}", "about 25 of each")
            part.append(piece)
    return tuple(np.sort(np.concatenate(part)) for part in parts)
