"""What the kinds ``nodes`` and ``graphs`` share: labels divided at random, and one score for each item to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from openfingym.kinds.kind import Kind
from openfingym.kinds.material import Array, Fold, Material, Reader
from openfingym.task.contracts import Contract, Family, Fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo
    from openfingym.data.graphs import Graph, GraphSet, LabelSplit
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Spec


class LabelsContract(Contract):
    """Base class of contracts about labels, which are divided at random within each class."""

    family: ClassVar[Family] = "fraud"
    baseline: ClassVar[str] = "random"
    has_split: ClassVar[bool | None] = False

    train: Fraction = 0.4
    """Share of the labels that agents see."""
    public: Fraction = 0.2
    """Share of the labels in the public fold; the rest is in the private one."""

    def agree(self, spec: Spec) -> None:
        """Check as every contract does, and that there is no table ``split``; see :meth:`Contract.agree`."""
        # Before the general check, whose message would not say where the shares are stated.
        if spec.split is not None:
            raise ValueError("split: labels of a graph are split by contract.train and contract.public; remove it")
        super().agree(spec)


SPLIT_SEED = 20260629
"""Seed of the split of the labels of bundled graphs."""
GENERATORS = 1
"""To be raised by whoever changes a simulator so that it makes other graphs."""

Items = TypeVar("Items", "Graph", "GraphSet")


@dataclass(frozen=True, eq=False)
class Divided(Generic[Items]):
    """A graph, or a set of graphs, with all its labels, divided into known, public and private ones."""

    items: Items
    """The graph, whose items are its nodes, or the set, whose items are its graphs."""
    info: DatasetInfo
    """Provenance of the data."""
    split: LabelSplit
    """Positions of the items whose labels are known, public and private."""


def divided(items: Items, info: DatasetInfo, contract: Contract, seed: int = SPLIT_SEED) -> Divided[Items]:
    """Divide the labels of a graph, or of a set of graphs, in the shares of a contract.

    Args:
        items: the graph or the set, with all labels.
        info: provenance of the data.
        contract: the contract of the task.
        seed: seed from which the split is drawn.
    """
    from openfingym.data.graphs import stratified_split

    own = _contract(contract)
    return Divided(items, info, stratified_split(items.labels, seed, own.train, own.public))


def exchanged_labels(source: Divided[Items], generator: np.random.Generator) -> NDArray[np.int8]:
    """All labels, with those of each fold exchanged among its items: noise with the same share of each class."""
    labels = source.items.labels.copy()
    for part in (source.split.public, source.split.private):
        labels[part] = generator.permutation(labels[part])
    return labels


def divided_material(
    contract: Contract,
    source: Divided[Items],
    arrays: Mapping[str, Array],
    *,
    item: str,
    recipe: tuple[str, ...],
    counts: Mapping[str, int],
) -> Material:
    """The material of a task about labels: the arrays of all items are public, and the labels are divided.

    Args:
        contract: the contract of the task.
        source: the items with all labels, and the split of these.
        arrays: arrays of the items, by name; ``labels`` among them is left out.
        item: what an item is called in the names of arrays and axes: ``node`` or ``graph``.
        recipe: the steps before the labels are divided, as sentences.
        counts: facts about the size of the data, for ``contract.json``.
    """
    own, items, split = _contract(contract), source.items, source.split
    hidden, features = np.concatenate([split.public, split.private]), int(items.features.shape[1])
    public: dict[str, Array] = {f"graph_{name}": array for name, array in arrays.items() if name != "labels"}
    public |= {
        f"train_{item}s": split.train,
        "train_labels": items.labels[split.train].astype(np.int64),
        f"test_{item}s": hidden,
    }
    axes = {"graph_edges": ("end", "edge"), "graph_features": ("node", "feature")}
    return Material(
        info=source.info,
        dataset_digest=items.digest,
        public=public,
        axes={name: axes.get(name, ("entry",)) for name in public},
        hidden={"labels": items.labels[hidden].astype(np.int64)},
        n_train=len(split.train),
        n_public=len(split.public),
        n_private=len(split.private),
        shape=(len(hidden),),
        submission_axes=(item,),
        labels=("score",),
        recipe=(
            *recipe,
            f"labels at random within each class: {own.train:.0%} known, {own.public:.0%} public, the rest private",
        ),
        facts={
            "lookback": 0,
            "horizon": 1,
            "channels": [f"feature_{i}" for i in range(features)],
            **counts,
            "n_features": features,
        },
    )


def _contract(contract: Contract) -> LabelsContract:
    assert isinstance(contract, LabelsContract)
    return contract


class ScoresKind(Kind):
    """A kind in which items are scored, some of whose labels are known."""

    ranks = True

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Uniformly random scores, the same each time."""
        # The seed follows from the shape alone, so that the baseline of a task is always the same.
        seed = int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:8])
        return np.random.default_rng(seed).uniform(contract.low, contract.high, shape)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden labels as scores."""
        return np.clip(np.asarray(hidden["labels"], dtype=np.float64), contract.low, contract.high)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The first items are the public fold, the others the private one."""
        from openfingym.metrics import Truth

        labels = np.asarray(hidden["labels"], dtype=np.int64)

        def fold(rows: slice) -> Fold:
            return Fold(rows, Truth({"labels": labels[rows]}, {}, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The scores."""
        return {"scores": values}

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """A bootstrap within each class: items of a class are exchangeable, and every replicate has both classes."""
        from openfingym.metrics.resampling import stratified_bootstrap

        return stratified_bootstrap(np.asarray(fold.truth.arrays["labels"]), fold.truth.seed)

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold and the submission restricted to the drawn items."""
        from openfingym.kinds.resampled import taken

        return taken(fold, values, units)

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden labels reversed: 1 for 0, and 0 for 1."""
        best = self.oracle(contract, hidden, shape)
        reversed_labels: NDArray[np.float64] = np.clip(best.max() - best, contract.low, contract.high)
        return reversed_labels

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """One label for each item."""
        return {"labels": shape}

    def known_targets(self, contract: Contract, read: Reader) -> None:
        """None, because a score is no forecast and has no unit."""
        return

    def compared(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The ranks of the scores, mean ranks for ties. Rescaling all scores changes no metric of rankings, and must
        not hide that one item went from the bottom to the top.
        """
        # The mean rank, from 0, of each group of equal scores.
        _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks: NDArray[np.float64] = (np.cumsum(counts) - 0.5 * (counts + 1))[group]
        return ranks
