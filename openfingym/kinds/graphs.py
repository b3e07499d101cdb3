"""Scores for whole graphs, of which some labels are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.contracts import GraphsContract
from openfingym.kinds.material import Array, Brief, Material
from openfingym.kinds.nodes import GENERATORS, SPLIT_SEED, graph_axes
from openfingym.kinds.panels import no_real_data
from openfingym.kinds.scores import answer, check, folds, naive, oracle, resampled, resampling
from openfingym.kinds.skillless.scores import of_graphs as skillless

if TYPE_CHECKING:
    from openfingym.contracts import Contract
    from openfingym.data.graphs import LoadedGraphSet
    from openfingym.task import DataKind, Task

__all__ = [
    "LOAD_TEST", "LOAD_TRAIN", "answer", "brief", "check", "data_kind", "folds", "load", "naive", "oracle", "resampled", "resampling",
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


def load(task: Task) -> LoadedGraphSet:
    """The graphs with all their labels."""
    from openfingym.data.graphs import load_graph_set

    if task.real:
        raise no_real_data(task)
    return load_graph_set(str(task.spec.dataset.name))


def shape(task: Task, source: LoadedGraphSet) -> Material:
    """All graphs are public; the labels are divided."""
    from openfingym.data.graphs import graph_set_arrays, stratified_split

    contract, graphs, info = _contract(task.spec.contract), source.graphs, source.info
    split = stratified_split(graphs.labels, SPLIT_SEED, contract.train, contract.public)
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


def scramble(task: Task, source: LoadedGraphSet, generator: np.random.Generator) -> None:
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
