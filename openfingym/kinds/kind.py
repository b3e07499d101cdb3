"""The abstract base class of kinds of task; the registry holds one instance of each kind.

Everything that the library asks about a kind is a member here, so that no other module compares its name. A class has
its contract and all abstract methods; the rest has a default that is right for a forecast-like task, answered in one
array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openfingym.errors import UsageError
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.pictures import histogram
from openfingym.task.known_kinds import kind_of_contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.forging import Forging
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.interpolation import Ends
    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.kinds.plots.plot import Plot
    from openfingym.kinds.start import Given, Start
    from openfingym.metrics.resampling import Resampling
    from openfingym.suites.suite import Asking, SuiteTool
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.contracts import Contract
    from openfingym.task.episodes import Step, SteppedEpisode


class Kind(ABC):
    """One kind of task, without state. ``Source`` is whatever ``load`` returns; only the kind itself looks into it."""

    contract: ClassVar[type[Contract]]
    """Class of its contracts, which has its name, family and baseline as well."""
    start: ClassVar[Start]
    """What ``openfingym task new`` writes."""
    forging: ClassVar[Forging | None] = None
    """How a paper becomes a task of this kind; None for a kind that the forge makes no tasks of."""
    load_train: ClassVar[tuple[str, str]]
    """Public arrays that ``interface.load_train()`` returns: what is known, and its answers."""
    load_test: ClassVar[tuple[str, ...]]
    """The public array that ``interface.load_test_inputs()`` returns; none for a task that is stepped through."""
    interface: ClassVar[str] = "interface.py"
    """Template of the module that an agent's program imports, in ``openfingym/packages/templates``."""
    deferred: ClassVar[bool] = False
    """Whether private rows can be asked when a rollout is created, before their outcome is known; see
    :mod:`openfingym.kinds.asking`."""
    environment: ClassVar[str] = "openfingym.envs.batch:BatchEnv"
    """What :func:`openfingym.make` calls with the task and the caller's options, as ``module:name``; of a sequential
    kind with ``split``, too. It returns a Gymnasium environment."""
    vector_environment: ClassVar[str | None] = None
    """What :func:`openfingym.make_vec` calls with the task, ``num_envs`` and the caller's options; None for a kind that
    has none."""
    reference_version: ClassVar[int] = 1
    """Version of the reference, raised whenever :meth:`naive` gives another answer to the same data."""
    heavy: ClassVar[bool] = False
    """Whether scoring keeps a core busy for long, whatever the metrics."""
    always_scores: ClassVar[bool] = False
    """Whether every answer of the right shape and range has a value in every metric that measures errors."""
    drawn: ClassVar[bool] = False
    """Whether answers are draws from a law, of which none is about a hidden item: they are as large as what they
    imitate, may repeat each other by chance, and come as near to perfect as luck has it."""
    is_record: ClassVar[bool] = False
    """Whether what is scored is an account that the verifier keeps: it is held to no range, and its foresight shows in
    its timing."""
    ranks: ClassVar[bool] = False
    """Whether :meth:`compared` gives ranks."""
    structured: ClassVar[bool] = False
    """Whether the numbers of an answer have neighbours, such as steps of a horizon, channels or maturities."""
    bounded: ClassVar[str] = "number"
    """What ``low`` and ``high`` of the contract are limits of."""
    takes_pulled: ClassVar[bool] = True
    """Whether a task may state real data in ``dataset.pulled``, which then takes the place of its own."""
    naive_program: ClassVar[str | None] = None
    """Text of the program that agent ``naive`` runs: it submits what :meth:`naive` gives, by the task's interface. None
    for a kind of the library, all of which one program knows; without it, another kind cannot be run with ``naive``.
    """
    numbers: ClassVar[str | None] = None
    """Public array by whose numbers hidden items are known; None where they are known by their place alone."""

    @property
    def name(self) -> str:
        """Name of the kind, as ``task.toml`` has it."""
        return kind_of_contract(self.contract)

    def modules(self, contract: Contract) -> Mapping[str, str]:
        """Modules that programs find beside ``interface``, by name, each with its text."""
        return {}

    @abstractmethod
    def data_kind(self, task: Task) -> DataKind:
        """What the task's data is, without loading it."""

    @abstractmethod
    def source_key(self, task: Task) -> str:
        """A value that changes whenever :meth:`load` would give something else; cheap."""

    @abstractmethod
    def load(self, task: Task) -> Any:
        """The task's data, before anything is hidden.

        Raises:
            DataError: it is missing or damaged.
            TaskError: the task asks for what it does not hold.
        """

    @abstractmethod
    def shape(self, task: Task, source: Any) -> Material:
        """Cut the data into training, public and private parts, and say what of them is hidden."""

    def start_from(self, given: Given) -> Start:
        """What ``openfingym task new`` writes for data of the author's own; ``start`` where it writes none.

        Args:
            given: the author's files, and what was said of them.

        Raises:
            UsageError: this kind has no such scaffold, or cannot use what is given.
            DataError: a file is malformed.
        """
        raise UsageError(f"--from: {self.name} tasks cannot start from files of your own; leave it out")

    def renewable(self, task: Task) -> bool:
        """Whether what is hidden can be drawn anew: it comes from a simulator of ours, and training does not depend on
        it.
        """
        return False

    def renewed(self, task: Task, seed: int) -> Any:
        """The task's data with everything hidden drawn anew from the law of what follows training; only where
        :meth:`renewable`.

        :meth:`shape` makes of it the same training arrays, and arrays of the same shapes.

        Args:
            task: the task whose hidden data is drawn anew.
            seed: not negative, of any size; the same seed gives the same data.
        """
        raise UsageError(f"{task.name}: hidden data of {self.name} tasks cannot be drawn anew")

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """A task of the same form, cut from the training data of a task; see :mod:`openfingym.kinds.instances`.

        Args:
            data: what the task gives to train on.
            split: what the instance is for. Hidden parts of ``validation`` are in no instance of ``train``.
            generator: decides which rows, channels and lengths the instance has; the same state gives the same
                instance, byte by byte.

        Raises:
            UsageError: this kind has no instances, or the task has too little training data for one.
        """
        raise UsageError(f"{data.task.name}: {self.name} tasks have no instances to train on")

    @abstractmethod
    def scramble(self, task: Task, source: Any, generator: np.random.Generator) -> Any | None:
        """The same data with every hidden value replaced by noise, from which :meth:`shape` must make the same
        public arrays; None where the hidden values are what the public data is made from, as in generated graphs.
        """

    @abstractmethod
    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The submission of the baseline that the relative total divides by."""

    @abstractmethod
    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Submissions without skill, by name. None may rank better than the baseline; see
        :mod:`openfingym.kinds.skillless`.
        """

    @abstractmethod
    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The best possible submission."""

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """A submission that the baseline must beat: uniform noise over the admissible range."""
        return np.random.default_rng(0).uniform(contract.low, contract.high, shape)

    @abstractmethod
    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The public and the private fold, of ``counts`` rows.

        Raises:
            DataError: the truth makes a metric undefined.
        """

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse what shape and range cannot, before a submission is accepted; ``values`` is a whole submission, the
        fold the public one.

        Raises:
            SubmissionError: names the position or the reason.
        """
        return

    @abstractmethod
    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The arrays of an answer by the names that metrics use, from the fold's rows of a submission."""

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """How the fold is drawn again, for standard errors: what is drawn as a whole, and how; None where there is too
        little of it.
        """
        return None

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold, and its rows of a submission, made of some of its units alone; units are rows unless a kind says
        otherwise.

        Args:
            contract: the contract of the task.
            fold: the fold, as :meth:`resampling` was given it.
            values: float64, the fold's rows of a submission.
            units: one of the draws of :meth:`resampling`.
        """
        from openfingym.kinds.resampled import taken

        return taken(fold, values, units)

    @abstractmethod
    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told about this kind."""

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """What of an answer is worth looking at, from what was submitted and what is public; by default, how often
        values occur.
        """
        return histogram(answer.values)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the built-in programs, beside ``naive``, that are for a task of this kind."""
        return frozenset()

    def channels(self, task: Task) -> int | None:
        """Series of a panel or of a generated window, symbols of bars, for the catalogue and without loading data; None
        for others.
        """
        return None

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """Shape of each hidden array, from what is public.

        Args:
            shape: shape of a submission.
            n_test: number of hidden items, those of both folds.
        """
        return {"targets": shape}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64] | None:
        """The time of each row of a table of answers, all axes but the last as rows, datetime64[ns][rows]; None where
        there is none.
        """
        return None

    def of_the_past(self, contract: Contract) -> bool:
        """Whether what is asked was known already, so that a perfect answer is skill and no sign of foresight."""
        return False

    def ends(self, contract: Contract, read: Reader) -> Ends | None:
        """Both ends of hidden stretches, where public inputs show them; None where they do not."""
        return None

    def known_targets(self, contract: Contract, read: Reader) -> Array | None:
        """Training targets that a plausible answer is about as large as, with one column for each label of a submission
        on the last axis; None where an answer is no forecast.
        """
        return np.asarray(read(self.load_train[1]))

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """What the author of a task is shown of its data, hidden values included, as plain data of plots; by default
        how often each answer occurs in training and in either fold.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            counts: hidden items of the public and of the private fold.
            facts: ``contract.json``.
        """
        from openfingym.kinds.plots.plot import answer_plots

        best = self.oracle(spec.contract, hidden, tuple(facts["submission_shape"]))
        return answer_plots(read(self.load_train[1]), best, counts)

    def compared(self, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """A fold's rows of a submission as one that probes for labels would have to change them; None where there is
        nothing to probe.

        What metrics do not look at must not be in it, or noise there would hide a probe.
        """
        return values


class SequentialKind(Kind):
    """A kind whose hidden rows are shown one at a time, in episodes.

    A fold's rows of a submission are the outcomes of its episodes, so ``n_public`` and ``n_private`` of a package
    count episodes. Axis 1 of a submission has at least as many entries as an episode has steps. The reader
    given to :meth:`~Kind.naive` and :meth:`~Kind.skillless` knows the hidden arrays as well.
    """

    load_test: ClassVar[tuple[str, ...]] = ()
    interface: ClassVar[str] = "interface_steps.py"
    live: ClassVar[bool] = False
    """Whether the private episode can be a session on a live market; see :mod:`openfingym.kinds.live`."""
    has_twins: ClassVar[bool] = True
    """Whether :meth:`twin` can resample what no simulator makes."""
    shows_outcomes: ClassVar[bool] = True
    """Whether who plays an episode is shown what it is worth; otherwise its score discloses hidden data, and is
    rationed as that of a batch task."""
    slow_steps: ClassVar[bool] = False
    """Whether a step may take milliseconds, such as a query, so that it is taken off the verifier's event loop."""

    @abstractmethod
    def episode(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> SteppedEpisode:
        """A fresh episode.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            number: counts all hidden episodes in order of time, from 0: those of the public fold, then those of the
                private one.
        """

    @abstractmethod
    def twin(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], seed: int) -> dict[str, Array]:
        """Hidden arrays like ``hidden``, resampled from the training rows; for data that no simulator makes."""

    @abstractmethod
    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterable[object]:
        """The best action of each step of an episode, as JSON values."""

    @abstractmethod
    def steps(self, contract: Contract) -> int:
        """Actions that an episode takes."""

    def symbols(self, contract: Contract) -> tuple[str, ...]:
        """Names of the columns of ``bars`` in an observation, for people and models; none where observations have no
        bars.
        """
        return ()

    def lookups(self, contract: Contract) -> tuple[SuiteTool, ...] | None:
        """Tools of the questions that episodes are, which a model may be offered as its own; None where an episode is
        no question.
        """
        return None

    def asking(self, contract: Contract) -> Asking | None:
        """Who asks the questions that episodes are; None where an episode is no question."""
        return None

    def question_row(
        self, contract: Contract, read: Reader, number: int, outcome: NDArray[np.float64]
    ) -> Mapping[str, object]:
        """What is kept of a question beside the score, for reports to break down by: its ``id``, its ``tags`` and the
        ``state`` in which it ended; nothing of its truth.

        Args:
            contract: the contract of the task, whose episodes are questions.
            read: reads a public array, given its name.
            number: number of the episode, as in :meth:`episode`.
            outcome: what the episode came to, as it follows from the answer of its agent.
        """
        raise NotImplementedError(f"a {self.name} task asks no questions")

    def check_shown(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Sequence[Step], before: Step | None
    ) -> None:
        """Check that an episode as it was played shows hidden rows in the order of time, each at its own origin.

        Args:
            contract: the contract of the task.
            hidden: the hidden arrays of the task, by name.
            number: number of the episode, as in :meth:`episode`.
            shown: the observations of the episode, from its start on.
            before: the last observation of the episode before it in the same fold; None for the first episode.

        Raises:
            TaskError: a row is shown too early, skipped, or another than it says.
        """
        return

    @abstractmethod
    def later_changed(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Step
    ) -> Mapping[str, Array]:
        """The hidden arrays with other values in all rows of the episode behind the newest one that ``shown`` may
        depend on.
        """
