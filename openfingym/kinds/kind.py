"""The abstract base class of kinds of task; the registry holds one instance of each kind.

Everything in which kinds differ is a member here, so that no other module compares a kind's name. A kind states its
contract and implements the abstract methods; the other members have defaults that fit a task which is answered in one
array, at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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
    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.kinds.plots.plot import Plot
    from openfingym.kinds.start import Given, Start
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.contracts import Contract


class Kind(ABC):
    """One kind of task, without state. Only the kind itself looks into what its :meth:`load` returns."""

    contract: ClassVar[type[Contract]]
    """Class of the contracts of this kind; it also states the kind's name, family and baseline."""
    start: ClassVar[Start]
    """The scaffold that ``openfingym task new`` writes."""
    forging: ClassVar[Forging | None] = None
    """How a paper becomes a task of this kind; None for a kind of which the forge makes no tasks."""
    load_train: ClassVar[tuple[str, str]]
    """Names of the public arrays that ``interface.load_train()`` returns: inputs, and their answers."""
    load_test: ClassVar[tuple[str, ...]] = ()
    """Name of the public array that ``interface.load_test_inputs()`` returns; empty for a kind that is stepped through
    or always walked through, whose hidden items are not shown at once."""
    interface: ClassVar[str] = "interface.py"
    """Template of the module that an agent's program imports, in ``openfingym/packages/templates``."""
    deferred: ClassVar[bool] = False
    """Whether private rows can be asked when a rollout is created, before their outcome is known; see
    :mod:`openfingym.kinds.questions.asking`."""
    environment: ClassVar[str] = "openfingym.envs.batch:BatchEnv"
    """What :func:`openfingym.make` calls, as ``module:name``, to make a Gymnasium environment: with the task and the
    caller's options, and for a sequential kind also with ``split``."""
    vector_environment: ClassVar[str | None] = None
    """What :func:`openfingym.make_vec` calls with the task, ``num_envs`` and the caller's options; None for a kind that
    has no vectorised environment."""
    reference_version: ClassVar[int] = 1
    """Version of the baseline; to be raised by whoever changes :meth:`naive` so that it answers otherwise."""
    heavy: ClassVar[bool] = False
    """Whether scoring keeps a core busy for long, whatever the metrics."""
    partly_known: ClassVar[bool] = False
    """Whether hidden targets may be NaN, where nobody knows the truth, and are then not scored."""
    always_scores: ClassVar[bool] = False
    """Whether every answer of the right shape and range has a value in every metric that measures errors."""
    drawn: ClassVar[bool] = False
    """Whether answers are draws from a distribution, none of which is about a hidden item. Such answers are as large as
    the data that they imitate, may repeat each other by chance, and come as close to perfect as luck has it."""
    is_record: ClassVar[bool] = False
    """Whether the record of an account is scored, which the verifier keeps. A record has no admissible range, and
    foresight shows in its timing."""
    ranks: ClassVar[bool] = False
    """Whether :meth:`compared` returns ranks."""
    structured: ClassVar[bool] = False
    """Whether the numbers of an answer have neighbours, such as steps of a horizon, channels or maturities."""
    bounded: ClassVar[str] = "number"
    """What ``low`` and ``high`` of the contract are limits of, as a noun."""
    takes_pulled: ClassVar[bool] = True
    """Whether a task may state real data in ``dataset.pulled``, which then takes the place of its own."""
    replaces_own: ClassVar[bool] = True
    """Whether pulled data may also take the place of a file of the author's."""
    naive_program: ClassVar[str | None] = None
    """Text of the program that the agent ``naive`` runs: it submits what :meth:`naive` returns, through the task's
    interface. None for a kind of the library that the common program knows; another kind without it cannot be run with
    ``naive``."""
    numbers: ClassVar[str | None] = None
    """Name of the public array of numbers by which hidden items are known; None if they are known by position only."""

    @property
    def name(self) -> str:
        """Name of the kind, as ``task.toml`` states it."""
        return kind_of_contract(self.contract)

    def interface_of(self, contract: Contract) -> str:
        """Template of the module that an agent's program imports, for a task of a contract; see :attr:`interface`."""
        return self.interface

    def environment_of(self, contract: Contract) -> str:
        """What makes the Gymnasium environment of a task of a contract; see :attr:`environment`."""
        return self.environment

    def modules(self, contract: Contract) -> Mapping[str, str]:
        """Texts of the modules that programs can import beside ``interface``, by the modules' names."""
        return {}

    @abstractmethod
    def data_kind(self, task: Task) -> DataKind:
        """The kind of the task's data, without loading it."""

    @abstractmethod
    def source_key(self, task: Task) -> str:
        """A value that changes whenever :meth:`load` would return other data; it should be quick to compute."""

    @abstractmethod
    def load(self, task: Task) -> Any:
        """The task's data, before anything is hidden.

        Raises:
            DataError: the data are missing or damaged.
            TaskError: the task asks for something that its data do not hold.
        """

    @abstractmethod
    def shape(self, task: Task, source: Any) -> Material:
        """Divide the data into training, public and private parts, and these into public and hidden arrays.

        Args:
            task: the task that the data are for.
            source: the task's data, as :meth:`load` returns them.
        """

    def start_from(self, given: Given) -> Start:
        """The scaffold that ``openfingym task new`` writes for an author's own data.

        Args:
            given: the author's files, and how they are to be read.

        Raises:
            UsageError: this kind has no such scaffold, or cannot use files of this form.
            DataError: a file is malformed.
        """
        raise UsageError(f"--from: {self.name} tasks cannot start from files of your own; leave it out")

    def renewable(self, task: Task) -> bool:
        """Whether the hidden data can be drawn anew: they come from a simulator of ours, and training data do not
        depend on them.
        """
        return False

    def renewed(self, task: Task, seed: int) -> Any:
        """The task's data, with everything hidden drawn anew from the distribution of what follows the training data.

        Only called if the task is :meth:`renewable`. From the result :meth:`shape` makes the same training arrays, and
        other arrays of the same shapes.

        Args:
            task: the task whose hidden data is drawn anew.
            seed: seed of the draw, not negative, of any size; the same seed gives the same data.
        """
        raise UsageError(f"{task.name}: hidden data of {self.name} tasks cannot be drawn anew")

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """A task of the same form, cut from the training data of a task; see :mod:`openfingym.kinds.instances`.

        Args:
            data: the training data of the task.
            split: split of the instance. Hidden parts of ``validation`` are in no instance of ``train``.
            generator: random generator from which rows, channels and lengths of the instance are drawn; the same state
                gives the same instance, byte by byte.

        Raises:
            UsageError: this kind has no instances, or the task has too little training data for one.
        """
        raise UsageError(f"{data.task.name}: {self.name} tasks have no instances to train on")

    @abstractmethod
    def scramble(self, task: Task, source: Any, generator: np.random.Generator) -> Any | None:
        """The same data with every hidden value replaced by noise, from which :meth:`shape` must make the same public
        arrays; None if the public data are made from the hidden values, as in generated graphs.

        Args:
            task: the task that the data are for.
            source: the task's data, as :meth:`load` returns them.
            generator: random generator that the noise is drawn from.
        """

    @abstractmethod
    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The submission of the baseline, whose losses the relative total divides by.

        Args:
            contract: the contract of the task.
            read: reads a public array, given its name; for a task that is stepped or walked through also a hidden one.
            shape: shape of a submission.
        """

    @abstractmethod
    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Submissions without skill, by name. None of them may rank better than the baseline; see
        :mod:`openfingym.kinds.skillless`.
        """

    @abstractmethod
    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The best possible submission, from the hidden arrays."""

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """A submission that the baseline must beat; by default uniform noise over the admissible range."""
        return np.random.default_rng(0).uniform(contract.low, contract.high, shape)

    @abstractmethod
    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The public and the private fold, ready to score submissions.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            counts: hidden items of the public and of the private fold.
            seed: seed of metrics that draw random numbers, and of replicates.

        Raises:
            DataError: the truth makes a metric undefined.
        """

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse a submission for reasons other than shape and range, before it is accepted.

        Args:
            contract: the contract of the task.
            fold: the public fold, so that a refusal tells nothing of the private one.
            values: a whole submission; of a task that is walked through, its part for a window that is answered, and
                once all are, its part for a fold.

        Raises:
            SubmissionError: the submission is not admissible; the message names the position or the reason.
        """
        return

    @abstractmethod
    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The arrays of an answer by the names that metrics use, from the fold's rows of a submission."""

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """How the fold is drawn again for standard errors, and which rows are drawn together as a unit; None if the
        fold is too small.
        """
        return None

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold, and its rows of a submission, made of some of the fold's units; by default a unit is a row.

        Args:
            contract: the contract of the task.
            fold: the fold, as :meth:`resampling` was given it.
            values: the fold's rows of a submission, float64.
            units: numbers of the units, one of the draws of :meth:`resampling`; int64[any number].
        """
        from openfingym.kinds.resampled import taken

        return taken(fold, values, units)

    def walks(self, contract: Contract) -> bool:
        """Whether hidden items have a time, so that they are shown in its order; see :mod:`openfingym.kinds.walk`."""
        return False

    def due(self, contract: Contract, read: Reader) -> Array:
        """The time at which each hidden item is to be answered, [items], in the order of a submission; only asked where
        a task :meth:`walks`.

        Args:
            contract: the contract of the task.
            read: reads a public or a hidden array, given its name.
        """
        raise NotImplementedError(f"hidden items of a {self.name} task have no time")

    @abstractmethod
    def brief(self, task: Task, material: Material) -> Brief:
        """The parts of a task's instruction that depend on the kind."""

    def rules(self, contract: Contract) -> str:
        """What :meth:`check` refuses beyond what :meth:`brief` says, in Markdown: agents are told it with the
        instruction, and no package holds it, so that its digest stays when a rule is put more clearly.
        """
        return ""

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """Pictures of an answer, from the submission and public data; by default a histogram of its values."""
        return histogram(answer.values)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the built-in programs, beside ``naive``, that fit a task of this kind."""
        return frozenset()

    def channels(self, task: Task) -> int | None:
        """Number of series of a panel or of a generated window, or of symbols of bars, for the catalogue and without
        loading data; None for other data.
        """
        return None

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """Shape of each hidden array, by name, from what is public.

        Args:
            shape: shape of a submission.
            n_test: number of hidden items, those of both folds.
        """
        return {"targets": shape}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64] | None:
        """The time that each row of a submission is about, with all axes but the last taken as rows;
        datetime64[ns][rows]. None if rows have no time.
        """
        return None

    def of_the_past(self, contract: Contract) -> bool:
        """Whether the answers were known already when they were asked for, so that a perfect answer shows skill, and is
        no sign of foresight.
        """
        return False

    def known_targets(self, contract: Contract, read: Reader) -> Array | None:
        """Training targets of about the size of a plausible answer, with a column for each label of a submission on the
        last axis; None if an answer is no forecast.
        """
        return np.asarray(read(self.load_train[1]))

    def oddities(self, task: Task) -> tuple[str, ...]:
        """What is odd about the task's values in time, a sentence each, for its author alone: hidden rows count too.

        By default nothing, as for graphs, whose values are not in time.
        """
        return ()

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Plots of a task's data for its author, hidden values included; by default the distribution of answers in
        training and in both folds.

        Args:
            spec: the specification of the task.
            read: reads a public array, given its name.
            hidden: the hidden arrays of the task, by name.
            counts: hidden items of the public and of the private fold.
            facts: content of ``contract.json``.
        """
        from openfingym.kinds.plots.plot import answer_plots

        best = self.oracle(spec.contract, hidden, tuple(facts["submission_shape"]))
        return answer_plots(read(self.load_train[1]), best, counts)

    def compared(self, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """A fold's rows of a submission in a form in which submissions of one agent are compared, to find probes.

        A probe changes a few numbers from one submission to the next, and learns labels from the change of the score.
        Whatever metrics do not depend on must be left out, or noise in it would hide a probe.

        Returns:
            The rows in that form; None if there is nothing to probe.
        """
        return values
