"""Kinds of task: forecasts, generation, trading and more; what differs from one to the next, in one file or folder
a kind.

Whatever the kind, a task has public arrays, hidden arrays, and one float64 array as the submission. A kind is a class
(:class:`Kind`) that says how these are made from the data (:meth:`Kind.load`, :meth:`Kind.shape`), how the rows of a
submission fall into a public and a private fold (:meth:`Kind.folds`), which arrays the metrics are given
(:meth:`Kind.answer`), and everything else in which kinds differ. :data:`KINDS` has an instance of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds.kind import Kind
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.sequential import SequentialKind
from openfingym.lazy import names_of
from openfingym.task.known_kinds import entry_of, known_kinds, load_kind, register_contract

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.kinds.forecast.kind import ForecastKind
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData, below, between, order_of, some_of
    from openfingym.kinds.panels import PanelKind
    from openfingym.kinds.real_forms import real_form
    from openfingym.kinds.start import Start
    from openfingym.kinds.walk import SHOWN, hidden_until_due, walk_usage
    from openfingym.metrics import Score
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Spec, Task
    from openfingym.task.contracts import Contract
    from openfingym.task.scoring import Scoring

__all__ = [
    "KINDS",
    "SHOWN",
    "Array",
    "Brief",
    "Fold",
    "ForecastContract",
    "ForecastKind",
    "Instance",
    "InstanceSplit",
    "Kind",
    "Material",
    "PanelKind",
    "Reader",
    "SequentialKind",
    "Start",
    "TrainingData",
    "below",
    "between",
    "hidden_until_due",
    "kind_of",
    "order_of",
    "real_form",
    "some_of",
    "walk_usage",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "SHOWN": "walk",
        "ForecastContract": "forecast.contract",
        "ForecastKind": "forecast.kind",
        "Instance": "instances",
        "InstanceSplit": "instances",
        "PanelKind": "panels",
        "Start": "start",
        "TrainingData": "instances",
        "below": "instances",
        "between": "instances",
        "hidden_until_due": "walk",
        "order_of": "instances",
        "real_form": "real_forms",
        "some_of": "instances",
        "walk_usage": "walk",
    },
)


class Kinds(Mapping[str, Kind]):
    """Kinds by name: those of the library, of installed distributions, and those registered in this process.

    A kind is loaded when it is first looked up, so that a command imports only the kinds that it needs.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Kind] = {}

    def register(self, kind: Kind) -> None:
        """Make a kind known in this process. A verifier is another process, and knows installed kinds only.

        Raises:
            UsageError: the object is no kind, or there is another kind of its name.
        """
        # The look-up loads a kind of this name that is installed or the library's own.
        if self.get(_checked(kind).name, kind) is not kind:
            raise UsageError(f"there is a kind {kind.name!r} already; choose another name")
        register_contract(kind)
        self._loaded[kind.name] = kind

    def __getitem__(self, name: str) -> Kind:
        if name not in self._loaded:
            entry = entry_of(name)
            if entry is None:
                raise KeyError(name)
            kind = _checked(load_kind(entry))
            # Before the kind is kept: an entry point whose kind has the name of another one fails here each time.
            register_contract(kind)
            self._loaded[name] = kind
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(known_kinds())

    def __len__(self) -> int:
        return len(known_kinds())


def _checked(kind: object) -> Kind:
    if not isinstance(kind, Kind):
        raise UsageError(f"expected an instance of a subclass of openfingym.kinds.Kind, found {kind!r}")
    return kind


KINDS = Kinds()
"""Every kind of task by its name."""


def kind_of(task: Task) -> Kind:
    """The kind of a task."""
    return kind_named(task.spec.contract)


def kind_named(contract: Contract) -> Kind:
    """The kind of a contract."""
    return KINDS[contract.kind]


def reference_version(kind: str) -> int:
    """Version of a kind's baseline: raised whenever its ``naive`` gives another answer to the same data."""
    return KINDS[kind].reference_version


def is_sequential(contract: Contract) -> bool:
    """Whether a task of this contract is stepped through, episode by episode, instead of answered by one array."""
    return isinstance(kind_named(contract), SequentialKind)


def walks(contract: Contract) -> bool:
    """Whether the hidden items of a task of this contract are shown in the order of time, each after those before it
    were answered.
    """
    return kind_named(contract).walks(contract)


def asks_questions(contract: Contract) -> bool:
    """Whether an episode of a task of this contract is a question, so that some of them can be asked alone."""
    kind = kind_named(contract)
    return isinstance(kind, SequentialKind) and kind.lookups(contract) is not None


def looks_ahead(contract: Contract) -> bool:
    """Whether a task of this contract is an experiment in which agents are shown what was not known yet."""
    return bool(getattr(contract, "hindsight", False))


def is_deferred(contract: Contract) -> bool:
    """Whether the private rows of a task of this contract can be asked before their outcome is known to anybody."""
    return kind_named(contract).deferred


def is_live(contract: Contract) -> bool:
    """Whether the private episode of a task of this contract can be a session on a live market."""
    kind = kind_named(contract)
    return isinstance(kind, SequentialKind) and kind.live


def sequential_kind(contract: Contract) -> SequentialKind:
    """The kind of a sequential contract.

    Raises:
        UsageError: a task of this contract has no episodes.
    """
    kind = kind_named(contract)
    if not isinstance(kind, SequentialKind):
        raise UsageError(f"a {kind.name} task has no episodes: it is answered by one array")
    return kind


def is_heavy(spec: Spec) -> bool:
    """Whether scoring an answer keeps a core of the verifier busy for seconds or longer."""
    from openfingym.metrics import find_metric

    return kind_named(spec.contract).heavy or any(find_metric(metric.name).heavy for metric in spec.scoring.metrics)


def score_with_replicates(
    contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64], design: Resampling | None
) -> Score:
    """Score as :func:`score_fold` does, with the metrics on every replicate of the fold, for standard errors.

    Args:
        contract: the contract of the task.
        scoring: the scoring table of the task.
        fold: the public or the private fold of the task.
        submission: float64, of the task's submission shape.
        design: how the fold is drawn again, from :meth:`Kind.resampling`; None for no replicates.
    """
    from openfingym.kinds.resampled import replicates

    score = score_fold(contract, scoring, fold, submission)
    if design is None:
        return score
    return replace(score, replicates=replicates(kind_named(contract), contract, scoring, fold, submission, design))


def score_fold(contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64]) -> Score:
    """Score the rows of a whole submission that belong to ``fold``.

    Args:
        contract: the contract of the task.
        scoring: the scoring table of the task.
        fold: the public or the private fold of the task.
        submission: float64, of the task's submission shape.

    Raises:
        SubmissionError: the submission cannot be scored.
        DataError: the truth makes a metric undefined.
    """
    from openfingym.metrics import score

    answer = kind_named(contract).answer(contract, fold, submission[fold.rows])
    return score(scoring, fold.truth, answer)
