"""The kind ``graphs``: score whole graphs, some of whose labels are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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
from openfingym.kinds.labels.own import own_graphs, own_key, own_kind, start_from_graphs
from openfingym.kinds.labels.skillless import of_graphs
from openfingym.kinds.material import Array, Brief, Material, Reader
from openfingym.kinds.real_forms import required_form
from openfingym.kinds.start import Given, Start
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.graphs import GraphSet
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.plots.plot import Plot
    from openfingym.task import DataKind, Spec, Task


class GraphsContract(LabelsContract):
    """A score for each hidden graph of a set, higher for class 1: a submission is [graphs]."""

    kind: Literal["graphs"]


START = Start(
    data="the bundled set 'ba2motifs'",
    description="Tell graphs with a house from graphs with a five-cycle.",
    asks="Score each graph: higher where it holds a house, lower where it holds a five-cycle.",
    asset_class="graph",
    frequency="none",
    panel="random trees with a motif attached",
    dataset="ba2motifs",
    split=None,
    contract="""train = 0.4                  # share of the labels that agents see
public = 0.2                 # share behind the public fold; the rest is behind the private one
unit = "probability of class 1"
low = 0.0
high = 1.0
""",
    metrics=(("auroc", 1.0),),
)


class GraphsKind(ScoresKind):
    """A set of graphs, some of which are to be scored."""

    contract = GraphsContract
    start = START
    forging = Forging()
    load_train = ("train_graphs", "train_labels")
    load_test = ("test_graphs",)
    takes_pulled = False

    def data_kind(self, task: Task) -> DataKind:
        """``specified``, since the source paper defines the bundled set; of an own set what its author states."""
        if task.spec.dataset.file is not None:
            return own_kind(task)
        return "specified"

    def source_key(self, task: Task) -> str:
        """A value that changes whenever the set does."""
        if task.spec.dataset.file is not None:
            return own_key(task)
        return f"{task.spec.dataset.name}:{GENERATORS}"

    def load(self, task: Task) -> Divided[GraphSet]:
        """The graphs and the split of their labels."""
        from openfingym.data.loaded_graphs import load_graph_set

        if task.spec.dataset.file is not None:
            return own_graphs(task)
        if task.real:
            # Raises, as there is no real form of a set that is synthetic by definition.
            required_form(task)
        loaded = load_graph_set(str(task.spec.dataset.name))
        return divided(loaded.graphs, loaded.info, task.spec.contract)

    def renewable(self, task: Task) -> bool:
        """Whether the set is drawn from its specification, as all but an author's own are."""
        return not task.real and task.spec.dataset.file is None

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's graphs."""
        return start_from_graphs(self.start, given)

    def renewed(self, task: Task, seed: int) -> Divided[GraphSet]:
        """The same training graphs; in each fold, labels change places at random, and a new graph is drawn for each."""
        from openfingym.data.graphs.motifs import redraw
        from openfingym.data.processes.draws import permutation, stream

        if not self.renewable(task):
            return super().renewed(task, seed)  # type: ignore[no-any-return]  # it raises
        # Exchanged and not drawn, so that each fold keeps its number of either class.
        usual = self.load(task)
        labels = usual.items.labels.copy()
        for place, part in enumerate((usual.split.public, usual.split.private)):
            labels[part] = labels[part][permutation(stream(seed, place), len(part))]
        hidden = np.concatenate([usual.split.public, usual.split.private])
        return replace(usual, items=redraw(usual.items, hidden, labels[hidden], seed))

    def shape(self, task: Task, source: Divided[GraphSet]) -> Material:
        """All graphs are public, and their labels are divided."""
        from openfingym.data.graphs import graph_set_arrays

        graphs, info = source.items, source.info
        count = len(graphs.labels)
        size = f"{count} graphs, {int(graphs.offsets[-1])} nodes in all"
        return divided_material(
            task.spec.contract,
            source,
            graph_set_arrays(graphs),
            item="graph",
            recipe=(f"dataset {info.name}: {info.kind}, {size}, {info.source}", *info.prepared),
            counts={"n_graphs": count},
        )

    def scramble(
        self, task: Task, source: Divided[GraphSet], generator: np.random.Generator
    ) -> Divided[GraphSet] | None:
        """The author's graphs with the labels of each fold exchanged among them; None for the bundled set, where every
        graph is made from its label, so that other labels need other graphs.
        """
        if task.spec.dataset.file is None:
            return None
        return replace(source, items=replace(source.items, labels=exchanged_labels(source, generator)))

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on graphs that are drawn anew, or on some of an author's own with known labels; see
        :mod:`openfingym.kinds.labels.training`.
        """
        from openfingym.kinds.labels.training import drawn_graphs_instance, graphs_instance

        contract = data.task.spec.contract
        assert isinstance(contract, LabelsContract)
        make = drawn_graphs_instance if self.renewable(data.task) else graphs_instance
        return make(data, contract, split, generator)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Scores that take no account of the graphs."""
        return of_graphs(contract, read, shape, generator)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset({"graph-smooth"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Shares of the classes, and distributions of degrees and sizes."""
        from openfingym.kinds.labels.plots import graph_plots

        return graph_plots(read, hidden, counts[0])

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        facts = material.facts
        rows = (
            ("graphs", str(facts["n_graphs"])),
            ("features of a node", str(facts["n_features"])),
            ("graphs with a known label", str(material.n_train)),
            ("graphs to score", str(material.shape[0])),
        )
        note = (
            "All graphs are known; the labels of those to score are not. A score of 0.5 or more calls a graph positive."
        )
        usage = f"""\
graphs, labels = interface.load_train()  # list of {material.n_train} graphs (.edges int64 (2, m), .features), \
int64 labels
test = interface.load_test_inputs()  # list of {material.shape[0]} graphs
feedback = interface.submit(scores)  # scores: float64 {material.shape}, one for each of test"""
        return Brief(rows, note, usage)


KIND = GraphsKind()
