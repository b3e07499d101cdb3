"""What the two fraud kinds share: labels divided at random, and one score an item, compared with 0/1 labels."""

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
    """Share behind the public fold; the rest is behind the private one."""

    def agree(self, spec: Spec) -> None:
        """Check like every contract, and that there is no table of splits."""
        if spec.split is not None:
            raise ValueError("split: labels of a graph are split by contract.train and contract.public; remove it")
        super().agree(spec)


SPLIT_SEED = 20260629
GENERATORS = 1
"""Raised whenever a simulated graph would come out otherwise."""

Items = TypeVar("Items", "Graph", "GraphSet")


@dataclass(frozen=True, eq=False)
class Divided(Generic[Items]):
    """A graph, or a set of graphs, with all its labels, and who may see which."""

    items: Items
    info: DatasetInfo
    split: LabelSplit


def divided(items: Items, info: DatasetInfo, contract: Contract, seed: int = SPLIT_SEED) -> Divided[Items]:
    """The items with the split of their labels that the contract asks for, drawn with ``seed``."""
    from openfingym.data.graphs import stratified_split

    own = _contract(contract)
    return Divided(items, info, stratified_split(items.labels, seed, own.train, own.public))


def divided_material(
    contract: Contract,
    source: Divided[Items],
    arrays: Mapping[str, Array],
    *,
    item: str,
    recipe: tuple[str, ...],
    counts: Mapping[str, int],
) -> Material:
    """The arrays of all items are public; the labels are divided.

    Args:
        contract: the task's.
        source: items and labels.
        arrays: arrays of the items, by name; ``labels`` among them are left out.
        item: one of them, as names of arrays and axes have it.
        recipe: the steps before the labels are divided.
        counts: facts about the size of the data.
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
    """A kind that scores items, of which some labels are known."""

    ranks = True

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Uniformly random scores, the same each time."""
        seed = int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:8])
        return np.random.default_rng(seed).uniform(contract.low, contract.high, shape)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The labels."""
        return np.clip(np.asarray(hidden["labels"], dtype=np.float64), contract.low, contract.high)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The first and the remaining items."""
        from openfingym.metrics import Truth

        labels = np.asarray(hidden["labels"], dtype=np.int64)
        parts = slice(counts[0]), slice(counts[0], sum(counts))
        # There are always two folds.
        return tuple(Fold(rows, Truth({"labels": labels[rows]}, {}, seed)) for rows in parts)  # type: ignore[return-value]

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The scores."""
        return {"scores": values}

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """Items are exchangeable within a class, and no replicate lacks one."""
        from openfingym.metrics.resampling import stratified_bootstrap

        return stratified_bootstrap(np.asarray(fold.truth.arrays["labels"]), fold.truth.seed)

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """These items."""
        from openfingym.kinds.resampled import taken

        return taken(fold, values, units)

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The labels turned around."""
        best = self.oracle(contract, hidden, shape)
        turned: NDArray[np.float64] = np.clip(best.max() - best, contract.low, contract.high)
        return turned

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """A label an item."""
        return {"labels": shape}

    def known_targets(self, contract: Contract, read: Reader) -> None:
        """None: a score has no unit."""
        return

    def compared(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ranks, ties sharing theirs: rescaling all scores, which changes no ranking, cannot hide that one item went
        from the bottom to the top.
        """
        _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks: NDArray[np.float64] = (np.cumsum(counts) - 0.5 * (counts + 1))[group]
        return ranks
