"""Scores for whole graphs, of which some labels are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.kinds.material import Array, Brief, Material, Reader
from openfingym.kinds.nodes import GENERATORS, SPLIT_SEED, graph_axes
from openfingym.kinds.panels import no_real_data
from openfingym.kinds.scores import LabelsContract, ScoresKind
from openfingym.kinds.skillless.scores import of_graphs
from openfingym.kinds.start import Start
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo
    from openfingym.data.graphs import GraphSet, LabelSplit
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
    """Graphs of a set to score."""

    contract = GraphsContract
    start = START
    load_train = ("train_graphs", "train_labels")
    load_test = ("test_graphs",)

    def data_kind(self, task: Task) -> DataKind:
        """Specified: the source paper defines the set."""
        return "specified"

    def source_key(self, task: Task) -> str:
        """A value that changes with the set."""
        return f"{task.spec.dataset.name}:{GENERATORS}"

    def load(self, task: Task) -> DividedSet:
        """The graphs and the split of their labels."""
        from openfingym.data.graphs import stratified_split
        from openfingym.data.loaded_graphs import load_graph_set

        if task.real:
            raise no_real_data(task)
        contract, loaded = _contract(task.spec.contract), load_graph_set(str(task.spec.dataset.name))
        return DividedSet(
            loaded.graphs,
            loaded.info,
            stratified_split(loaded.graphs.labels, SPLIT_SEED, contract.train, contract.public),
        )

    def renewable(self, task: Task) -> bool:
        """Always: the set is drawn from its specification."""
        return not task.real

    def renewed(self, task: Task, seed: int) -> DividedSet:
        """The same training graphs; of each fold the labels are exchanged among its graphs, which are drawn anew."""
        from openfingym.data.graphs.motifs import redraw
        from openfingym.data.processes.draws import permutation, stream

        usual = self.load(task)
        labels = usual.graphs.labels.copy()
        for place, part in enumerate((usual.split.public, usual.split.private)):
            labels[part] = labels[part][permutation(stream(seed, place), len(part))]
        hidden = np.concatenate([usual.split.public, usual.split.private])
        return replace(usual, graphs=redraw(usual.graphs, hidden, labels[hidden], seed))

    def shape(self, task: Task, source: DividedSet) -> Material:
        """All graphs are public; the labels are divided."""
        from openfingym.data.graphs import graph_set_arrays

        contract, graphs, info, split = _contract(task.spec.contract), source.graphs, source.info, source.split
        hidden = np.concatenate([split.public, split.private])
        public: dict[str, Array] = {
            f"graph_{name}": array for name, array in graph_set_arrays(graphs).items() if name != "labels"
        }
        public |= {
            "train_graphs": split.train,
            "train_labels": graphs.labels[split.train].astype(np.int64),
            "test_graphs": hidden,
        }
        count = len(graphs.labels)
        return Material(
            info=info,
            dataset_digest=graphs.digest,
            public=public,
            axes=graph_axes(public),
            hidden={"labels": graphs.labels[hidden].astype(np.int64)},
            n_train=len(split.train),
            n_public=len(split.public),
            n_private=len(split.private),
            shape=(len(hidden),),
            submission_axes=("graph",),
            labels=("score",),
            recipe=(
                (
                    f"dataset {info.name}: {info.kind}, {count} graphs, {int(graphs.offsets[-1])} nodes in all, "
                    f"{info.source}"
                ),
                (
                    f"labels at random within each class: {contract.train:.0%} known, {contract.public:.0%} public, "
                    "the "
                    "rest private"
                ),
            ),
            facts={
                "lookback": 0,
                "horizon": 1,
                "channels": [f"feature_{i}" for i in range(graphs.features.shape[1])],
                "n_graphs": count,
                "n_features": int(graphs.features.shape[1]),
            },
        )

    def scramble(self, task: Task, source: DividedSet, generator: np.random.Generator) -> None:
        """None: a graph of this set is made from its label, which is what makes the label worth finding."""
        return

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Scores that do not look at the graphs."""
        return of_graphs(contract, read, shape, generator)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Programs for this kind."""
        return frozenset({"graph-smooth"})

    def brief(self, task: Task, material: Material) -> Brief:
        """What is asked, in numbers."""
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
graphs, labels = interface.load_train()  # list of {material.n_train} graphs (.edges int64 (2, m), .features), int64 labels
test = interface.load_test_inputs()  # list of {material.shape[0]} graphs
feedback = interface.submit(scores)  # scores: float64 {material.shape}, one for each of test"""  # noqa: E501
        return Brief(rows, note, usage)


@dataclass(frozen=True, eq=False)
class DividedSet:
    """Graphs with all their labels, and who may see which."""

    graphs: GraphSet
    info: DatasetInfo
    split: LabelSplit


def _contract(contract: Contract) -> GraphsContract:
    assert isinstance(contract, GraphsContract)
    return contract


KIND = GraphsKind()
