"""What a kind makes of a task's data, and what it is scored with."""

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
"""A public array by its name, read-only."""


@dataclass(frozen=True)
class Blocks:
    """An array too large to hold twice, made block by block along its first axis. Equal each time it is made."""

    shape: tuple[int, ...]
    make: Callable[[], Iterable[NDArray[np.float64]]]

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter(self.make())


@dataclass(frozen=True, eq=False)
class Material:
    """Everything a built package holds of its data."""

    info: DatasetInfo
    dataset_digest: str
    """Hex SHA-256 of what the arrays were made from."""
    public: Mapping[str, Array | Blocks]
    """Arrays an agent sees, by name."""
    axes: Mapping[str, tuple[str, ...]]
    """Meaning of the axes of each public array."""
    hidden: Mapping[str, Array]
    """Arrays the verifier alone sees, by name."""
    n_train: int
    n_public: int
    n_private: int
    shape: tuple[int, ...]
    """Shape of a submission."""
    submission_axes: tuple[str, ...]
    labels: tuple[str, ...]
    """Names along the last axis of a submission, in order; one for a submission with a single axis."""
    recipe: tuple[str, ...]
    """Every step from the dataset to the arrays, in order, for people."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What else a program should know; goes into ``contract.json``."""


@dataclass(frozen=True)
class Brief:
    """The parts of an instruction that depend on the kind."""

    facts: tuple[tuple[str, str], ...]
    """Rows of the table of facts."""
    note: str
    """What to know about the hidden part, in a sentence or two."""
    usage: str
    """Python lines that load the data and submit."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of the hidden set, ready to be compared with. Can be pickled."""

    rows: slice
    """Rows of a submission that it scores."""
    truth: Truth
    """What the metrics compare with."""
    known: Mapping[str, Array] = field(default_factory=dict)
    """Public arrays that complete an answer, such as the contexts of generated futures."""


def metric_options(semantics: ValueSemantics, scoring: Scoring) -> dict[str, object]:
    """What metrics of values in time are told beside arrays: what the values are, and the task's scoring."""
    return {
        "semantics": semantics,
        "periods_per_year": scoring.periods_per_year,
        "tail_level": scoring.tail_level,
    }
