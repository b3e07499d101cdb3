"""What tests of instances need: training data of a task that is not built, instances, their bytes and packages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.digests import canonical_json
from openfingym.kinds import Kind, Material, is_sequential, kind_of, score_fold, walks
from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData, with_contract
from openfingym.kinds.material import Array
from openfingym.metrics import relative
from openfingym.packages import build
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from tests.openfingym.kinds.materials import array, made


def training_data(task: Task, material: Material | None = None) -> TrainingData:
    """What the package of the task would give to train on, in memory."""
    found = material or made(task)
    arrays = {name: array(values) for name, values in found.public.items()}
    facts = build.describe(task, replace(found, public=arrays), task.spec.panel)
    return TrainingData(task, arrays.__getitem__, facts, found.info, "0" * 64)


def instance_of(data: TrainingData, split: InstanceSplit, index: int) -> Instance:
    """The instance that the generator of an index makes."""
    seed = np.random.SeedSequence([index, split == "train"])
    return kind_of(data.task).instance(data, split, np.random.Generator(np.random.PCG64(seed)))


def bytes_of(instance: Instance) -> str:
    """A digest of everything in an instance."""
    digest, material = hashlib.sha256(), instance.material
    plain = {
        "contract": dict(instance.contract),
        "facts": dict(material.facts),
        "counts": [material.n_train, material.n_public, material.n_private],
        "said": [list(material.labels), list(material.recipe), list(material.shape)],
    }
    digest.update(canonical_json(plain))
    for name, values in sorted({**material.public, **material.hidden}.items()):
        one = np.ascontiguousarray(array(values))
        digest.update(f"{name} {one.dtype.str} {one.shape}".encode() + one.tobytes())
    return digest.hexdigest()


class Played:
    """An instance as a task, with what it is scored by."""

    def __init__(self, data: TrainingData, instance: Instance) -> None:
        self.material = instance.material
        self.task = with_contract(data.task, instance.contract)
        self.kind: Kind = kind_of(self.task)
        self.contract = self.task.spec.contract
        hidden = self.material.hidden if is_sequential(self.contract) or walks(self.contract) else {}
        self.arrays = {**{name: array(values) for name, values in self.material.public.items()}, **hidden}
        self.folds = self.kind.folds(
            self.task.spec, self.read, self.material.hidden, (self.material.n_public, self.material.n_private), 0
        )
        self.baseline = self.kind.naive(self.contract, self.read, self.material.shape)

    @cached_property
    def oracle(self) -> NDArray[np.float64]:
        """The answer of whoever knows what is hidden; of a market, it takes longer than all the rest."""
        return self.kind.oracle(self.contract, self.material.hidden, self.material.shape)

    def read(self, name: str) -> Array:
        return self.arrays[name]

    def relative(self, values: NDArray[np.float64], fold: int = 1) -> float:
        """Relative total of an answer on a fold."""
        scoring = self.task.spec.scoring
        self.kind.check(self.contract, self.folds[0], values)
        found, base = (
            score_fold(self.contract, scoring, self.folds[fold], answer).metrics for answer in (values, self.baseline)
        )
        return relative(scoring, found, base)

    def skillless(self, seed: int) -> Mapping[str, NDArray[np.float64]]:
        """Answers without skill, by name."""
        return self.kind.skillless(self.contract, self.read, self.material.shape, np.random.default_rng(seed))


def written(data: TrainingData, instance: Instance, folder: Path) -> BuiltPackage:
    """The package of an instance, written by what writes any package."""
    public, truth = folder / "public", folder / "truth"
    changed = _with_keys(data.task.config_path.read_text(), instance.contract)
    task = with_contract(data.task, instance.contract)
    author = data.task.instruction_path.read_text().strip()
    said = build.Written(changed.encode(), author, build._interface(task), task.spec.panel, "")
    build.write_material(task, instance.material, said, public, truth)
    return BuiltPackage(public, truth)


def _with_keys(text: str, keys: Mapping[str, Any]) -> str:
    """A ``task.toml`` with other values of some keys of its contract."""
    head, table = "[metadata.openfingym.contract]\n", {}
    before, after = text.split(head)
    body, rest = [*after.split("\n[", 1), ""][:2]
    for name, value in keys.items():
        said = f"{name} = {list(value) if isinstance(value, tuple) else value!r}".replace("'", '"')
        body, times = re.subn(rf"^{name} = .*$", said, body, flags=re.MULTILINE)
        table[name] = times
        body = body if times else f"{said}\n{body}"
    return f"{before}{head}{body}\n[{rest}"
