"""What the two fraud kinds share: one score an item, compared with 0/1 labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.material import Array, Fold, Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Spec
    from openfingym.task.contracts import Contract


def naive(contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Uniformly random scores, the same each time."""
    seed = int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:8])
    return np.random.default_rng(seed).uniform(contract.low, contract.high, shape)


def oracle(contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The labels."""
    return np.clip(np.asarray(hidden["labels"], dtype=np.float64), contract.low, contract.high)


def folds(spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int) -> tuple[Fold, Fold]:
    """The first and the remaining items."""
    from openfingym.metrics import Truth

    labels = np.asarray(hidden["labels"], dtype=np.int64)
    parts = slice(counts[0]), slice(counts[0], sum(counts))
    return tuple(Fold(rows, Truth({"labels": labels[rows]}, {}, seed)) for rows in parts)  # type: ignore[return-value]  # two


def check(contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
    """Nothing beyond shape and range: constant scores are an answer, worth an AUROC of one half."""


def answer(contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
    """The scores."""
    return {"scores": values}


def resampling(contract: Contract, fold: Fold) -> Resampling | None:
    """Items are exchangeable within a class, and no replicate lacks one."""
    from openfingym.metrics.resampling import stratified_bootstrap

    return stratified_bootstrap(np.asarray(fold.truth.arrays["labels"]), fold.truth.seed)


def resampled(contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]) -> tuple[Fold, NDArray[np.float64]]:
    """These items."""
    from openfingym.kinds.resampled import taken

    return taken(fold, values, units)
