"""The kind ``nodes``: score the nodes of one graph for anomalies, some of whose labels are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openfingym.errors import TaskError, UsageError
from openfingym.kinds.forging import Forging
from openfingym.kinds.labels.kind import (
    GENERATORS,
    Divided,
    LabelsContract,
    ScoresKind,
    divided,
    divided_material,
    exchanged_labels,
)
from openfingym.kinds.labels.own import own_graph, own_key, own_kind, start_from_graph
from openfingym.kinds.labels.skillless import of_nodes
from openfingym.kinds.material import Array, Brief, Material, Reader
from openfingym.kinds.real_forms import required_form
from openfingym.kinds.start import Given, Start
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.graphs import Graph
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.plots.plot import Plot
    from openfingym.task import DataKind, Spec, Task


class NodesContract(LabelsContract):
    """An anomaly score for each hidden node of one graph: a submission is [nodes]."""

    kind: Literal["nodes"]


START = Start(
    data="the bundled graph 'cert'; `openfingym data list` shows the others",
    description="Score the nodes of a simulated graph for anomalies.",
    asks="Score the users of an organisation, linked by the mail they send, for anomalies.",
    asset_class="graph",
    frequency="none",
    panel="users, linked by mail",
    dataset="cert",
    own="or your own graph: openfingym task new NAME --kind nodes --from EDGES --labels LABELS",
    split=None,
    contract="""train = 0.4                  # share of the labels that agents see
public = 0.2                 # share behind the public fold; the rest is behind the private one
unit = "anomaly score"
low = -1e6
high = 1e6
""",
    metrics=(("auroc", 0.5), ("recall_at_k", 0.5)),
)


class NodesKind(ScoresKind):
    """One graph, some of whose nodes are to be scored."""

    contract = NodesContract
    start = START
    forging = Forging()
    load_train = ("train_nodes", "train_labels")
    load_test = ("test_nodes",)
    numbers = "test_nodes"
    replaces_own = False

    def data_kind(self, task: Task) -> DataKind:
        """``real`` for the published graph with ``--real``, ``simulated`` for the bundled one; of an own graph what its
        author states.
        """
        if task.spec.dataset.file is not None:
            return own_kind(task)
        return "real" if task.real else "simulated"

    def source_key(self, task: Task) -> str:
        """A value that changes whenever the graph does."""
        if task.spec.dataset.file is not None:
            return own_key(task)
        return self.load(task).info.sha256 if task.real else f"{task.spec.dataset.name}:{GENERATORS}"

    def load(self, task: Task) -> Divided[Graph]:
        """The graph and the split of its labels."""
        from openfingym.data.loaded_graphs import PUBLISHED, load_graph
        from openfingym.data.pulled import source_of

        if task.spec.dataset.file is not None:
            return own_graph(task)
        name = str(task.spec.dataset.name)
        if task.real and name in PUBLISHED:
            # A task may state its source itself, and then another graph than the one that it names.
            stated = required_form(task)[1].source
            if source_of(stated) != source_of(PUBLISHED[name]):
                raise TaskError(
                    f"{stated} is not the published {name} graph; that is {PUBLISHED[name]}",
                    path=task.config_path,
                    key="dataset.pulled.source",
                )
        loaded = load_graph(name, real=task.real)
        return divided(loaded.graph, loaded.info, task.spec.contract)

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's graph."""
        return start_from_graph(self.start, given)

    def renewed(self, task: Task, seed: int) -> Divided[Graph]:
        """Always raises: the labels of a graph belong together, and known ones would change along with hidden ones."""
        raise UsageError(
            f"{task.name}: the hidden labels of one graph cannot be drawn anew beside those that are known"
        )

    def shape(self, task: Task, source: Divided[Graph]) -> Material:
        """The whole graph is public, and the labels of its nodes are divided."""
        from openfingym.data.graphs import graph_arrays

        graph, info = source.items, source.info
        return divided_material(
            task.spec.contract,
            source,
            graph_arrays(graph),
            item="node",
            recipe=(
                f"dataset {info.name}: {info.kind}, {info.source}",
                f"size: {graph.nodes} nodes, {graph.edge_count} undirected edges, {graph.features.shape[1]} features",
                f"anomalies: {graph.anomaly_rate:.1%} of the nodes",
                "edges once each, smaller node first, no self-loops; features as they are",
                *info.prepared,
            ),
            counts={"n_nodes": graph.nodes, "n_edges": graph.edge_count},
        )

    def scramble(self, task: Task, source: Divided[Graph], generator: np.random.Generator) -> Divided[Graph]:
        """The same graph and split, with the labels of each fold exchanged among its nodes."""
        from openfingym.data.graphs import Graph

        graph = source.items
        return replace(source, items=Graph(graph.edges, graph.features, exchanged_labels(source, generator)))

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the nodes with known labels; see :mod:`openfingym.kinds.labels.training`."""
        from openfingym.kinds.labels.training import nodes_instance

        contract = data.task.spec.contract
        assert isinstance(contract, LabelsContract)
        return nodes_instance(data, contract, split, generator)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Scores that take no account of features and edges."""
        return of_nodes(contract, read, shape, generator)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset({"isolation-forest", "degree", "graph-smooth"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Shares of anomalies, and the distribution of degrees."""
        from openfingym.kinds.labels.plots import node_plots

        return node_plots(read, hidden, counts[0])

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        facts = material.facts
        rows = (
            ("nodes", str(facts["n_nodes"])),
            ("undirected edges", str(facts["n_edges"])),
            (
                "features of a node",
                f"{facts['n_features']}{', sparse' if 'graph_features_indptr' in material.public else ''}",
            ),
            ("nodes with a known label", str(material.n_train)),
            ("nodes to score", str(material.shape[0])),
        )
        note = (
            "Edges and features of all nodes are known; the labels of the nodes to score are not. A higher score means "
            "more anomalous."
        )
        usage = f"""\
graph = interface.load_graph()  # .edges int64 (2, m), .features (n, f): an array, or sparse rows (see Graph)
nodes, labels = interface.load_train()  # int64 ({material.n_train},) each; 1 is an anomaly
test = interface.load_test_inputs()  # int64 ({material.shape[0]},), the nodes to score
feedback = interface.submit(scores)  # scores: float64 {material.shape}, one for each of test"""
        return Brief(rows, note, usage)


KIND = NodesKind()
