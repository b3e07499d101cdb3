"""The hidden tasks: what the verifier knows and nobody else does, loaded once at start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import TaskError, VerifierError
from openfingym.metrics import LOSSES, Realised, naive_forecast, score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym.package import BuiltPackage, Manifest
    from openfingym.task import Spec

MIN_PRICE = 1e-12
"""Prices must stay above this, or their returns leave the range of float64."""
BODY_OVERHEAD_BYTES = 64 * 1024
BODY_BYTES_PER_CELL = 32
"""Room for one number as JSON text; binary formats need eight."""


@dataclass(frozen=True)
class HiddenTask:
    """A task with its labels."""

    manifest: Manifest
    spec: Spec
    public: Realised
    """The first ``n_public`` windows."""
    private: Realised
    """The remaining windows."""
    naive_total: float
    """Total of the naive forecast on the private fold."""

    @property
    def name(self) -> str:
        """Short name, such as ``treasury-forecast``."""
        return self.manifest.name

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a submission: (windows, horizon, channels)."""
        return self.manifest.submission_shape

    @property
    def cells(self) -> int:
        """Numbers in a submission."""
        n, h, d = self.shape
        return n * h * d

    @property
    def max_body_bytes(self) -> int:
        """Largest body read, and largest array unpacked, for one submission."""
        return BODY_OVERHEAD_BYTES + BODY_BYTES_PER_CELL * self.cells

    @property
    def low(self) -> float:
        """Smallest admissible prediction; positive where returns are taken of prices."""
        needs_returns = any("semantics" in LOSSES[metric.name].needs for metric in self.spec.scoring.metrics)
        prices = self.spec.contract.value_semantics == "price_level" and needs_returns
        return max(self.spec.contract.low, MIN_PRICE) if prices else self.spec.contract.low

    def public_score(self, values: NDArray[np.float64]) -> Score:
        """Score of the first ``n_public`` windows of a whole submission."""
        return score(self.spec.scoring, self.public, values[: self.manifest.n_public])

    def private_score(self, values: NDArray[np.float64]) -> Score:
        """Score of the remaining windows of a whole submission."""
        return score(self.spec.scoring, self.private, values[self.manifest.n_public :])


def load_tasks(packages: Sequence[BuiltPackage]) -> dict[str, HiddenTask]:
    """Read the truth of every package into memory; no file stays open.

    Raises:
        DigestMismatchError: a package is not what it was when it was built.
        StoreError: a package cannot be read.
        TaskError: two packages have one name.
        VerifierError: there is no package at all.
    """
    tasks: dict[str, HiddenTask] = {}
    for package in packages:
        task = _load(package)
        if task.name in tasks:
            raise TaskError(f"two packages are named {task.name!r}; a verifier serves one of each")
        tasks[task.name] = task
    if not tasks:
        raise VerifierError("no package given; a verifier without a task has nothing to do")
    return tasks


def _load(package: BuiltPackage) -> HiddenTask:
    targets = package.read_truth()
    manifest, spec = package.manifest, package.task.spec
    inputs = np.array(package.array("test_inputs"), dtype=np.float64)
    split = manifest.n_public
    last_value = np.ascontiguousarray(inputs[:, -1, :])
    for array in (targets, last_value):
        array.setflags(write=False)
    rules, semantics = spec.scoring, spec.contract.value_semantics
    public, private = (
        Realised(targets[fold], last_value[fold], semantics, rules.periods_per_year, rules.tail_level)
        for fold in (slice(None, split), slice(split, None))
    )
    naive = naive_forecast(inputs[split:], manifest.horizon, semantics)
    return HiddenTask(manifest, spec, public, private, score(rules, private, naive).total)
