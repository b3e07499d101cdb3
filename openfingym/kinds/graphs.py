"""Scores for whole graphs, of which some labels are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.material import Array, Brief, Material
from openfingym.kinds.nodes import GENERATORS, SPLIT_SEED, graph_axes
from openfingym.kinds.panels import no_real_data
from openfingym.kinds.scores import answer, check, folds, naive, oracle, resampled, resampling
from openfingym.kinds.skillless.scores import of_graphs as skillless
from openfingym.task.contracts import GraphsContract

if TYPE_CHECKING:
    from openfingym.data import DatasetInfo
    from openfingym.data.graphs import GraphSet, LabelSplit
    from openfingym.task import DataKind, Task
    from openfingym.task.contracts import Contract

__all__ = [
    "LOAD_TEST", "LOAD_TRAIN", "answer", "brief", "check", "data_kind", "folds", "load", "naive", "oracle", "renewable", "renewed",
    "resampled", "resampling",
    "scramble", "shape", "skillless", "source_key",
]  # fmt: skip

LOAD_TRAIN = ("train_graphs", "train_labels")
LOAD_TEST = ("test_graphs",)


def data_kind(task: Task) -> DataKind:
    """Specified: the source paper defines the set."""
    return "specified"


def source_key(task: Task) -> str:
    """A value that changes with the set."""
    return f"{task.spec.dataset.name}:{GENERATORS}"


@dataclass(frozen=True, eq=False)
class DividedSet:
    """Graphs with all their labels, and who may see which."""

    graphs: GraphSet
    info: DatasetInfo
    split: LabelSplit


def load(task: Task) -> DividedSet:
    """The graphs and the split of their labels."""
    from openfingym.data.graphs import stratified_split
    from openfingym.data.loaded_graphs import load_graph_set

    if task.real:
        raise no_real_data(task)
    contract, loaded = _contract(task.spec.contract), load_graph_set(str(task.spec.dataset.name))
    return DividedSet(loaded.graphs, loaded.info, stratified_split(loaded.graphs.labels, SPLIT_SEED, contract.train, contract.public))


def renewable(task: Task) -> bool:
    """Always: the set is drawn from its specification."""
    return not task.real


def renewed(task: Task, seed: int) -> DividedSet:
    """The same training graphs; of each fold the labels are exchanged among its graphs, which are drawn anew."""
    from openfingym.data.graphs.motifs import redraw
    from openfingym.data.processes.draws import permutation, stream

    usual = load(task)
    labels = usual.graphs.labels.copy()
    for place, part in enumerate((usual.split.public, usual.split.private)):
        labels[part] = labels[part][permutation(stream(seed, place), len(part))]
    hidden = np.concatenate([usual.split.public, usual.split.private])
    return replace(usual, graphs=redraw(usual.graphs, hidden, labels[hidden], seed))


def shape(task: Task, source: DividedSet) -> Material:
    """All graphs are public; the labels are divided."""
    from openfingym.data.graphs import graph_set_arrays

    contract, graphs, info, split = _contract(task.spec.contract), source.graphs, source.info, source.split
    hidden = np.concatenate([split.public, split.private])
    public: dict[str, Array] = {f"graph_{name}": array for name, array in graph_set_arrays(graphs).items() if name != "labels"}
    public |= {"train_graphs": split.train, "train_labels": graphs.labels[split.train].astype(np.int64), "test_graphs": hidden}
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
            f"dataset {info.name}: {info.kind}, {count} graphs, {int(graphs.offsets[-1])} nodes in all, {info.source}",
            f"labels at random within each class: {contract.train:.0%} known, {contract.public:.0%} public, the rest private",
        ),
        facts={
            "lookback": 0,
            "horizon": 1,
            "channels": [f"feature_{i}" for i in range(graphs.features.shape[1])],
            "n_graphs": count,
            "n_features": int(graphs.features.shape[1]),
        },
    )


def scramble(task: Task, source: DividedSet, generator: np.random.Generator) -> None:
    """None: a graph of this set is made from its label, which is what makes the label worth finding."""
    return


def brief(task: Task, material: Material) -> Brief:
    """What is asked, in numbers."""
    facts = material.facts
    rows = (
        ("graphs", str(facts["n_graphs"])),
        ("features of a node", str(facts["n_features"])),
        ("graphs with a known label", str(material.n_train)),
        ("graphs to score", str(material.shape[0])),
    )
    note = "All graphs are known; the labels of those to score are not. A score of 0.5 or more calls a graph positive."
    usage = f"""graphs, labels = interface.load_train()  # list of {material.n_train} graphs (.edges int64 (2, m), .features), int64 labels
test = interface.load_test_inputs()  # list of {material.shape[0]} graphs
feedback = interface.submit(scores)  # scores: float64 {material.shape}, one for each of test"""
    return Brief(rows, note, usage)


def _contract(contract: Contract) -> GraphsContract:
    assert isinstance(contract, GraphsContract)
    return contract
