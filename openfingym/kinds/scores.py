"""What the two fraud kinds share: one score an item, compared with 0/1 labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from openfingym.kinds.kind import Kind
from openfingym.kinds.material import Array, Fold, Reader
from openfingym.task.contracts import Contract, Family, Fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Spec


class LabelsContract(Contract):
    """What contracts about labels share, which are divided at random within each class."""

    family: ClassVar[Family] = "fraud"
    baseline: ClassVar[str] = "random"
    has_split: ClassVar[bool | None] = False

    train: Fraction = 0.4
    """Share of the labels that agents see."""
    public: Fraction = 0.2
    """Share behind the public fold; the rest is behind the private one."""

    def agree(self, spec: Spec) -> None:
        """As every contract, and no table of splits."""
        if spec.split is not None:
            raise ValueError("split: labels of a graph are split by contract.train and contract.public; remove it")
        super().agree(spec)


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
        return tuple(Fold(rows, Truth({"labels": labels[rows]}, {}, seed)) for rows in parts)  # type: ignore[return-value]  # two

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
