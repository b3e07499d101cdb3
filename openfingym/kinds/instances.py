"""Instances: tasks of the same form, cut from a task's training data, on which agents are trained.

An instance has training data and hidden parts of its own, all of them cut from the training data of the task. An agent
that trains on instances has seen nothing of what the task is scored on.

The rule of the two splits. A part of the training data is *reserved* for what ``validation`` hides:

| data | reserved |
|---|---|
| rows, windows and bars in time; paths of a process | the last fifth |
| windows of a panel to generate | the last third |
| nodes, and graphs of an author's own | a fifth of each class, the last ones in a fixed order |
| the simulated curves, questions and graphs, all of which is drawn anew | seeds that have another first bit |

An instance of ``train`` has nothing reserved in it. One of ``validation`` hides reserved data alone, and trains on what
comes before, or on what is not reserved. So nothing that it hides is in any instance of ``train``, shown or hidden.

Choices are made from the raw bits of the generator, which NumPy promises never to change; how its methods, such as
``integers``, use these bits may change with any version.
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
"""Split of an instance. What is hidden in one of ``validation`` is in none of ``train``, shown or hidden."""
RESERVED = 5
"""One part in so many of the training data is reserved for what ``validation`` hides."""
FRESH_SEEDS = 256
"""Most bits that seeds of packages and of fresh tapes have; seeds of instances have more, and so are never the same."""
_ORDER_SEED = 20261123

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The training data of a built package, from which instances of its task are cut."""

    task: Task
    """The task of the package."""
    read: Reader
    """Reads a public array, given its name, read-only. Inputs of the task's hidden items must not be used."""
    facts: Mapping[str, Any]
    """Content of ``contract.json`` of the package."""
    info: DatasetInfo
    """Provenance of the data, which is that of the instance too."""
    digest: str
    """Hex SHA-256 of the data that the package was built from."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A task of the same form on other rows."""

    material: Material
    """The arrays of the instance's package, and the facts about them."""
    contract: Mapping[str, object] = field(default_factory=dict)
    """Values of the contract, by key, in which the instance differs from its task, such as a shorter ``horizon``."""


def with_contract(task: Task, changes: Mapping[str, object]) -> Task:
    """The task with other values in its contract, as the package of an instance states them.

    Args:
        task: the task that the instance is cut from.
        changes: the new values by key of the contract.

    Raises:
        ValueError: the contract would contradict itself, or the rest of ``task.toml``.
    """
    spec, file = task.spec, task.file
    # model_copy does not validate, so the contract is made anew, and compared with the rest of the file.
    contract = type(spec.contract).model_validate({**spec.contract.model_dump(), **changes})
    changed = spec.model_copy(update={"contract": contract})
    contract.agree(changed)
    metadata = file.metadata.model_copy(update={"openfingym": changed})
    return replace(task, file=file.model_copy(update={"metadata": metadata}))


def too_little(task: Task, found: str, needed: str) -> UsageError:
    """The error for a task that has too little training data for an instance.

    Args:
        task: the task that the instance was to be cut from.
        found: how much training data there is, as a phrase.
        needed: how much an instance needs, as a phrase.
    """
    return UsageError(
        f"{task.name}: its training data has {found}, but an instance of the task needs {needed}. Train on another "
        "task, or give this one a larger share of training"
    )


def origin(data: TrainingData, part: str) -> tuple[str, ...]:
    """The first steps of an instance's recipe: where its data come from, and which part of the training data they are.

    Args:
        data: the training data of the task.
        part: the part that the instance is cut from, as a phrase.
    """
    info = data.info
    return (f"dataset {info.name}: {info.kind}, {info.source}", f"an instance of {data.task.name}: {part}")


def first_reserved(items: int) -> int:
    """Position of the first reserved item among ``items`` items in order of time, or of :func:`fixed_order`."""
    return items - items // RESERVED


def fixed_order(items: int) -> NDArray[np.int64]:
    """An order of items that have no time, int64[items], the same each time; the last ones in it are reserved."""
    from openfingym.data.processes.draws import permutation, stream

    return permutation(stream(_ORDER_SEED, items), items)


def fresh_seed(split: InstanceSplit, generator: np.random.Generator) -> int:
    """A seed of a simulator that no package, no fresh tape and no instance of the other split can have."""
    # In binary, 10 or 11 and then 256 bits: longer than any other seed, and different between the splits.
    first = (2 if split == "train" else 3) << FRESH_SEEDS
    return first | (_raw(generator) << 64) | _raw(generator)


def below(generator: np.random.Generator, count: int) -> int:
    """A random number from 0 to ``count - 1``."""
    # The remainder of 64 bits is uniform up to count / 2**64, which is nothing for the counts here.
    return _raw(generator) % count


def between(generator: np.random.Generator, low: int, high: int) -> int:
    """A random number from ``low`` to ``high``, both included; ``low`` if ``high`` is below it."""
    return low + below(generator, max(high - low, 0) + 1)


def order_of(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """A random order of ``count`` items, int64[count]."""
    # Sorting random keys gives every order with the same probability.
    keys: NDArray[np.uint64] = np.asarray(generator.bit_generator.random_raw(count), dtype=np.uint64)
    return np.argsort(keys, kind="stable").astype(np.int64)


def some_of(
    generator: np.random.Generator, items: Sequence[T], fewest: int, most: int | None = None
) -> tuple[list[int], list[T]]:
    """Some of a list of items, drawn at random and kept in their order.

    Args:
        generator: random generator that number and items are drawn from.
        items: the items to draw from.
        fewest: the fewest items to draw, at least one, if there are so many.
        most: the most items to draw; None for all.

    Returns:
        The positions of the drawn items, and the items.
    """
    most = len(items) if most is None else min(most, len(items))
    count = between(generator, min(max(fewest, 1), most), most)
    places = sorted(order_of(generator, len(items))[:count].tolist())
    return places, [items[place] for place in places]


def _raw(generator: np.random.Generator) -> int:
    return int(generator.bit_generator.random_raw())
