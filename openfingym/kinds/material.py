"""What a kind makes of a task's data, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openfingym.data import DatasetInfo
    from openfingym.metrics import Truth
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.contracts import Contract
    from openfingym.task.episodes import Episode

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


class Kind(Protocol):
    """A module of this package. ``Source`` is whatever its ``load`` returns, and nobody else's business."""

    LOAD_TRAIN: tuple[str, ...]
    """Public arrays that ``interface.load_train()`` returns."""
    LOAD_TEST: tuple[str, ...]
    """Public arrays that ``interface.load_test_inputs()`` returns."""

    def data_kind(self, task: Task) -> DataKind:
        """What the task's data is, without loading it."""

    def source_key(self, task: Task) -> str:
        """A value that changes whenever :meth:`load` would give something else; cheap."""

    def load(self, task: Task) -> Any:
        """The task's data, before anything is hidden.

        Raises:
            DataError: it is missing or damaged.
            TaskError: the task asks for what it does not hold.
        """

    def shape(self, task: Task, source: Any) -> Material:
        """Cut, split and hide."""

    def renewable(self, task: Task) -> bool:
        """Whether what is hidden can be drawn anew: it comes from a simulator of ours, and training does not depend on it."""

    def renewed(self, task: Task, seed: int) -> Any:
        """The task's data with everything hidden drawn anew from the law of what follows training; only where :meth:`renewable`.

        :meth:`shape` makes of it the same training arrays, and arrays of the same shapes.

        Args:
            task: the task.
            seed: not negative, of any size; the same seed gives the same data.
        """

    def scramble(self, task: Task, source: Any, generator: np.random.Generator) -> Any | None:
        """The same data with every hidden value replaced by noise, from which :meth:`shape` must make the same
        public arrays; None where the hidden values are what the public data is made from, as in generated graphs.
        """

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The submission of the baseline that the relative total divides by."""

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Submissions without skill, by name. None may rank better than the baseline; see :mod:`openfingym.kinds.skillless`."""

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The best possible submission."""

    def folds(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int) -> tuple[Fold, Fold]:
        """The public and the private fold, of ``counts`` rows.

        Raises:
            DataError: the truth makes a metric undefined.
        """

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse what shape and range cannot, before a submission is accepted; ``values`` is a whole submission, the fold the public one.

        Raises:
            SubmissionError: names the position or the reason.
        """

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The arrays of an answer by the names that metrics use, from the fold's rows of a submission."""

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """How the fold is drawn again, for standard errors: what is drawn as a whole, and how; None where there is too little of it."""

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold, and its rows of a submission, made of some of its units alone.

        Args:
            contract: the task's.
            fold: as for :meth:`resampling`.
            values: float64, the fold's rows of a submission.
            units: one of the draws of :meth:`resampling`.
        """

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told about this kind."""


class SequentialKind(Kind, Protocol):
    """A kind whose hidden rows are shown one at a time, in episodes.

    A fold's rows of a submission are the outcomes of its episodes, so ``n_public`` and ``n_private`` of a package
    count episodes. Axis 1 of a submission has at least as many entries as an episode has steps. The reader
    given to :meth:`~Kind.naive` and :meth:`~Kind.skillless` knows the hidden arrays as well.
    """

    SEQUENTIAL: bool
    """True; a kind without this attribute is answered in one array."""

    def episode(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Episode:
        """A fresh episode.

        Args:
            spec: the task's.
            read: public arrays by name.
            hidden: hidden arrays by name.
            number: counts all hidden episodes in order of time, from 0: those of the public fold, then those of the private one.
        """

    def twin(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], seed: int) -> dict[str, Array]:
        """Hidden arrays like ``hidden``, resampled from the training rows; for data that no simulator makes."""

    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterable[object]:
        """The best action of each step of an episode, as JSON values."""
