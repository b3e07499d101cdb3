"""Instances: what a kind makes of a task's training data so that an agent can be trained on it.

An instance is a task of the same form, with training data and hidden parts of its own, all of them cut from what the
task gives to train on. Who trains on instances has seen nothing of what the task is scored on.

The rule of the two splits. A part of the training data is *reserved* for what ``validation`` hides:

| data | reserved |
|---|---|
| rows, windows and bars in time; paths of a process | the last fifth |
| windows of a panel to generate | the last third |
| nodes, and graphs of an author's own | a fifth of each class, the last ones in a fixed order |
| the simulated curves, questions and graphs, all of which is drawn anew | seeds that have another first bit |

An instance of ``train`` has nothing reserved in it. One of ``validation`` hides reserved data alone, and trains on what
comes before, or on what is not reserved. So nothing that it hides is in any instance of ``train``, shown or hidden.

Choices are made from the raw bits of the generator, which NumPy promises to stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo
    from openfingym.kinds.material import Material, Reader
    from openfingym.task import Task

InstanceSplit = Literal["train", "validation"]
"""What an instance is for. What is hidden in one of ``validation`` is in none of ``train``, shown or hidden."""
RESERVED = 5
"""One part of so many of the training data is for what ``validation`` hides."""
FRESH_SEEDS = 256
"""Seeds of instances have more bits than this, which those of packages and of fresh tapes have at most."""
_ORDER_SEED = 20261123

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What the built package of a task gives to train on, from which its instances are cut."""

    task: Task
    read: Reader
    """A public array by its name, read-only. Rows that the task hides, and inputs of hidden rows, must not be used."""
    facts: Mapping[str, Any]
    """``contract.json`` of the package."""
    info: DatasetInfo
    """Provenance of the data, which is that of the instance."""
    digest: str
    """Hex SHA-256 that stands for the data, from which the package was built."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A task of the same form on other rows."""

    material: Material
    """What the package of the instance holds of its data."""
    contract: Mapping[str, object] = field(default_factory=dict)
    """Keys of the contract in which the instance differs from its task, such as a shorter ``horizon``."""


def with_contract(task: Task, changes: Mapping[str, object]) -> Task:
    """The task with other values of some keys of its contract, as the package of an instance states them.

    Raises:
        ValueError: the contract would contradict itself, or the rest of the file.
    """
    spec, file = task.spec, task.file
    contract = type(spec.contract).model_validate({**spec.contract.model_dump(), **changes})
    changed = spec.model_copy(update={"contract": contract})
    contract.agree(changed)
    metadata = file.metadata.model_copy(update={"openfingym": changed})
    return replace(task, file=file.model_copy(update={"metadata": metadata}))


def too_little(task: Task, found: str, needed: str) -> UsageError:
    """What is said of a task that has too little training data for an instance."""
    return UsageError(
        f"{task.name}: its training data has {found}, but an instance of the task needs {needed}. Train on another "
        "task, or give this one a larger share of training"
    )


def origin(data: TrainingData, part: str) -> tuple[str, ...]:
    """The first steps of an instance's recipe: where its data is from, and which part of the training data it is."""
    info = data.info
    return (f"dataset {info.name}: {info.kind}, {info.source}", f"an instance of {data.task.name}: {part}")


def first_reserved(items: int) -> int:
    """The first of so many items in time, or in the order of :func:`fixed_order`, that is reserved."""
    return items - items // RESERVED


def fixed_order(items: int) -> NDArray[np.int64]:
    """An order of items without time, int64[items], the same each time; what comes last in it is reserved."""
    from openfingym.data.processes.draws import permutation, stream

    return permutation(stream(_ORDER_SEED, items), items)


def fresh_seed(split: InstanceSplit, generator: np.random.Generator) -> int:
    """A seed of a simulator that no package, no fresh tape and no instance of the other split has."""
    first = (2 if split == "train" else 3) << FRESH_SEEDS
    return first | (_raw(generator) << 64) | _raw(generator)


def below(generator: np.random.Generator, count: int) -> int:
    """A number from 0 to ``count - 1``."""
    return _raw(generator) % count


def between(generator: np.random.Generator, low: int, high: int) -> int:
    """A number from ``low`` to ``high``, both included; ``low`` where there is none."""
    return low + below(generator, max(high - low, 0) + 1)


def order_of(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """A random order of so many items, int64[count]."""
    keys: NDArray[np.uint64] = np.asarray(generator.bit_generator.random_raw(count), dtype=np.uint64)
    return np.argsort(keys, kind="stable").astype(np.int64)


def some_of(
    generator: np.random.Generator, items: Sequence[T], fewest: int, most: int | None = None
) -> tuple[list[int], list[T]]:
    """From ``fewest`` to ``most`` of the items, or to all of them, in their order: their places, and themselves."""
    most = len(items) if most is None else min(most, len(items))
    count = between(generator, min(max(fewest, 1), most), most)
    places = sorted(order_of(generator, len(items))[:count].tolist())
    return places, [items[place] for place in places]


def _raw(generator: np.random.Generator) -> int:
    return int(generator.bit_generator.random_raw())
