"""What a kind makes of a task's data: the arrays of a package, the facts of its instruction, and the folds to score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openfingym.data import DatasetInfo
    from openfingym.metrics import Truth
    from openfingym.metrics.semantics import ValueSemantics
    from openfingym.task.scoring import Scoring

Array = NDArray[Any]
Reader = Callable[[str], Array]
"""Given the name of a public array, returns the array, read-only."""


@dataclass(frozen=True)
class Blocks:
    """An array too large to hold in memory twice, made block by block along its first axis, and each time the same."""

    shape: tuple[int, ...]
    """Shape of the whole array."""
    make: Callable[[], Iterable[NDArray[np.float64]]]
    """Makes the blocks in order; can be called any number of times."""

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter(self.make())


@dataclass(frozen=True, eq=False)
class Material:
    """The data of a built package: its arrays, public and hidden, and everything that is said about them."""

    info: DatasetInfo
    """Provenance of the data."""
    dataset_digest: str
    """Hex SHA-256 of the data that the arrays were made from."""
    public: Mapping[str, Array | Blocks]
    """Arrays that an agent sees, by name."""
    axes: Mapping[str, tuple[str, ...]]
    """Meaning of each axis of each public array, and of each hidden one that a window shows, by the array's name."""
    hidden: Mapping[str, Array]
    """Arrays that only the verifier sees, by name; items of the public fold first, then those of the private one."""
    n_train: int
    """Number of training items."""
    n_public: int
    """Number of hidden items in the public fold."""
    n_private: int
    """Number of hidden items in the private fold."""
    shape: tuple[int, ...]
    """Shape of a submission."""
    submission_axes: tuple[str, ...]
    """Meaning of each axis of a submission."""
    labels: tuple[str, ...]
    """Names along the last axis of a submission, in order; one name for a submission with a single axis."""
    recipe: tuple[str, ...]
    """Every step from the dataset to the arrays, in order, as sentences."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Further entries of ``contract.json``, which programs read, as plain values."""


@dataclass(frozen=True)
class Brief:
    """The parts of an instruction that depend on the kind."""

    facts: tuple[tuple[str, str], ...]
    """Rows of the table of facts: name and value."""
    note: str
    """What an agent should know about the hidden part, in a sentence or two."""
    usage: str
    """Lines of Python that load the data and submit."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of the hidden items, ready to score a submission. It can be pickled."""

    rows: slice
    """The rows of a submission that this fold scores."""
    truth: Truth
    """What the metrics compare a submission with."""
    known: Mapping[str, Array] = field(default_factory=dict)
    """Public arrays that complete an answer, such as the contexts of generated futures."""


def metric_options(semantics: ValueSemantics, scoring: Scoring) -> dict[str, object]:
    """What metrics of time series need beside arrays: what the values are, and settings of the scoring table."""
    return {
        "semantics": semantics,
        "periods_per_year": scoring.periods_per_year,
        "tail_level": scoring.tail_level,
    }
