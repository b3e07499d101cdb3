"""Building one instance of a task: a package like any other, byte for byte the same whoever builds it.

Every random draw follows from the digest of the task's package, the split and the index, so that a verifier and a
process that runs an agent build the same instance without exchanging anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from openfingym.errors import TaskError, UsageError
from openfingym.instances.source import InstanceSource
from openfingym.kinds import kind_of
from openfingym.kinds.instances import InstanceSplit
from openfingym.packages.build import write_material
from openfingym.packages.package import BuiltPackage
from openfingym.store import writing

if TYPE_CHECKING:
    from numpy.random import Generator

    from openfingym.results import SplitName

INSTANCE_COUNT: Final = 10_000
"""Number of instances that a task has in each split."""
SPLITS: Final[tuple[InstanceSplit, ...]] = get_args(InstanceSplit)


def build_instance(
    package: BuiltPackage | InstanceSource, split: InstanceSplit, index: int, folder: Path
) -> BuiltPackage:
    """Build an instance.

    Args:
        package: the built package of the task, or its source of instances; only the public half is read.
        split: which part of the training data the instance is cut from: ``train`` or ``validation``.
        index: number of the instance in its split, from 0 and below :data:`INSTANCE_COUNT`.
        folder: an existing folder, in which ``public`` and ``truth`` are made; they must not exist.

    Raises:
        UsageError: there is no such instance, or tasks of this kind have none.
        StoreError: the package is damaged, or the folder cannot be written.
        TaskError: the kind made an instance that does not fit its task.
    """
    require_instance(split, index)
    source = package if isinstance(package, InstanceSource) else InstanceSource.of(package)
    digest = source.package.manifest.digest
    task = source.data.task
    instance = kind_of(task).instance(source.data, split, generator_of(digest, split, index))
    task, written = source.with_contract(instance.contract)
    # Simulated data must not be passed off as real, nor the other way round.
    if instance.material.info.kind != source.data.info.kind:
        raise TaskError(f"{task.name}: an instance has {instance.material.info.kind} data, {source.data.info.kind} its "
                        "task", path=task.config_path)  # fmt: skip
    public, truth = folder / "public", folder / "truth"
    try:
        with writing(folder):
            manifest = write_material(task, instance.material, written, public, truth)
    except BaseException:
        for half in (public, truth):
            with contextlib.suppress(OSError):
                shutil.rmtree(half)
        raise
    built = BuiltPackage(public, truth)
    # Fills the cached properties of a frozen dataclass: reading both files again would take as long as making the
    # arrays.
    vars(built).update(manifest=manifest, task=replace(task, folder=public, real=False))
    return built


def require_instance(split: str, index: int) -> None:
    """Check that a split has instances, and one of a number.

    Args:
        split: name of the split.
        index: number of the instance.

    Raises:
        UsageError: the split has no instances, or none of this number.
    """
    if split not in SPLITS:
        raise UsageError(f"no instances are of the split {split!r}; it is one of {', '.join(SPLITS)}")
    # True is an int in Python, and would be instance 1.
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < INSTANCE_COUNT:
        raise UsageError(f"no instance {index!r}; they are numbered from 0 to {INSTANCE_COUNT - 1}")


def place_of(split: SplitName, index: int | None) -> tuple[InstanceSplit, int] | None:
    """The split and the number of an instance; None for a task as it is, which has no number.

    Raises:
        UsageError: there is no such instance.
    """
    if split == "test":
        if index is not None:
            raise UsageError("the split test is the task as it is; leave out the instance, or name another split")
        return None
    if index is None:
        raise UsageError(f"the split {split!r} has many instances; say which, from 0 to {INSTANCE_COUNT - 1}")
    require_instance(split, index)
    return split, index


def generator_of(digest: str, split: InstanceSplit, index: int) -> Generator:
    """The random generator from which everything about an instance is drawn.

    Args:
        digest: digest of the task's package.
        split: split of the instance.
        index: number of the instance in its split.
    """
    # Hashed, so that neighbouring numbers have unrelated seeds. PCG64 by name: NumPy may change its default generator.
    text = f"openfingym.instance {digest} {split} {index}"
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest())))
