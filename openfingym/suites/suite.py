"""A suite of questions: what is asked, which tools there are, and how an answer is read.

A question is asked as of a time. Its tools answer from a snapshot of the world that is opened as of that time. They run
in a process of the host, so that a program in a container holds nothing of what became known later.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.suites.asking import Approach, Prompt, most_frequent, plain_call, plain_prompt
from openfingym.suites.breakdown import Breakdown
from openfingym.task.exposure import Exposure, between

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.data.dataset import DatasetInfo
    from openfingym.suites.catalogue import CatalogueEntry
    from openfingym.suites.example import Example
    from openfingym.vault import Vault

Scalar = str | int | float
UNDATED = "2100-01-01T00:00:00+00:00"
"""Time as of which a question is asked that states none: everything that is known may be looked up."""


class UnreadableAnswerError(OpenFinGymError):
    """An answer cannot be parsed; the message says what was found and what is expected."""


@dataclass(frozen=True)
class SuiteQuestion:
    """One question, as it is put to an agent."""

    id: str
    """Id of the question, unique in its suite."""
    text: str
    as_of: str
    """Time as of which it is asked, UTC, ISO 8601: no tool shows what became known later."""
    query: Mapping[str, Scalar]
    """The question as data, for programs and for the suite's own tools; nothing of its answer is in it."""
    tags: tuple[str, ...] = ()
    """Tags by which results are broken down, such as ``2024-02``."""

    @property
    def moment(self) -> datetime:
        """The time as of which it is asked.

        Raises:
            DataError: it is no time in ISO 8601.
        """
        try:
            moment = datetime.fromisoformat(self.as_of)
        except ValueError as error:
            raise DataError(
                f"question {self.id!r} is asked as of {self.as_of[:40]!r}; expected a time in ISO 8601, such as "
                "2025-08-01T20:00:00+00:00"
            ) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def to_json(self) -> str:
        """The question as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> SuiteQuestion:
        """The question that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "tags": tuple(fields["tags"])})


@dataclass(frozen=True, eq=False)
class QuestionSet:
    """The questions of a task with their answers, in three parts.

    They are asked in this order, with tools that look up what was known as of each one's time. So these times may not
    decrease: tools of an earlier question would know what became of one that is still to be answered.

    Raises:
        DataError: a question to ask is as of an earlier time than one before it, or a question to train on as of a
            later time than the first that counts.
    """

    info: DatasetInfo
    """What is known of the data that the questions are about."""
    snapshot: str
    """Digest of the snapshot that the answers and the tools come from."""
    train: tuple[SuiteQuestion, ...]
    """Questions to train on, whose answers are public."""
    public: tuple[SuiteQuestion, ...]
    """Questions of the public fold, on which feedback is given."""
    private: tuple[SuiteQuestion, ...]
    """Questions of the private fold, which score."""
    truths: NDArray[np.float64]
    """float64[train + public + private, numbers of an answer]: the true answers."""
    world: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    """Files of the snapshot by name, as :func:`openfingym.vault.held.held` returns them, where it is of this set alone;
    empty where :meth:`Suite.vault` finds it."""

    def __post_init__(self) -> None:
        require_order(self.train, (*self.public, *self.private), len(self.public))

    @property
    def questions(self) -> tuple[SuiteQuestion, ...]:
        """All questions, in the order of :attr:`truths`."""
        return (*self.train, *self.public, *self.private)


def require_order(train: Sequence[SuiteQuestion], asked: Sequence[SuiteQuestion], n_public: int) -> None:
    """Check that questions are asked in the order of their times.

    Args:
        train: questions whose answers are public.
        asked: questions that are asked, in order: those to practise on, then those that count.
        n_public: how many of them are to practise on.

    Raises:
        DataError: a question is as of an earlier time than the one before it, or a question to train on is as of a
            later time than the first that counts.
    """
    for place, (before, after) in enumerate(pairwise(asked), 1):
        if after.moment < before.moment:
            raise DataError(
                f"question {place + 1} of {len(asked)} ({after.id!r}) is asked as of {after.as_of}, and question "
                f"{place} ({before.id!r}) before it as of {before.as_of}, whose tools may know the answer; sort the "
                "questions to practise on, and those that count, by their times"
            )
    if train and asked[n_public:]:
        latest, first = max(train, key=lambda question: question.moment), asked[n_public]
        if latest.moment > first.moment:
            raise DataError(
                f"the training question {latest.id!r} is asked as of {latest.as_of}, after the first question that "
                f"counts ({first.id!r}, {first.as_of}); train on earlier questions"
            )


@dataclass(frozen=True)
class SuiteTool:
    """A function that an agent may call to look something up."""

    name: str
    description: str
    """What it does, in words for the agent."""
    parameters: Mapping[str, object]
    """JSON schema of its arguments, which are an object."""


@dataclass(frozen=True)
class Observation:
    """The answer to a call of a tool."""

    text: str
    """The answer for an agent to read; for a bad call it says what was expected."""
    valid: bool = True
    """Whether the call was a good one: of a tool that exists, with arguments that it takes."""
    value: object = None
    """The answer as a JSON value, for programs; None for a bad call."""


Lookup = Callable[[str, Mapping[str, object]], Observation]
"""Calls a tool by its name with its arguments. Nothing that an agent sends makes it raise an error."""


@dataclass(frozen=True)
class AnswerForm:
    """The form of an answer, and how it becomes numbers."""

    labels: tuple[str, ...]
    """Names of the numbers of an answer, such as codes of relations."""
    expected: str
    """What an agent is told about the form of an answer."""
    read: Callable[[object], NDArray[np.float64]]
    """Turns an answer, a text or a JSON value, into float64[numbers]; raises :class:`UnreadableAnswerError`."""
    write: Callable[[NDArray[np.float64]], object]
    """Turns numbers into an answer, as a JSON value, that is read as these numbers; of a true answer, the best one."""


@dataclass(frozen=True)
class SuiteClient:
    """A suite's tools as a Python module, which programs in a container find beside ``interface``."""

    module: str
    """Name under which it is imported, such as ``events_api``."""
    source: str
    """Its source, which uses the standard library alone and calls ``interface.exchange(tool, arguments)``."""


Retrieval = Generator[tuple[str, Mapping[str, object]], Observation, object]
"""Yields one call of a tool after another, is sent the answer to each, and returns what was retrieved."""


@dataclass(frozen=True)
class Asking:
    """The suite that asks the questions of a task, and what the task chose."""

    suite: Suite
    options: Mapping[str, Scalar]
    """Options of the suite that the task chose."""
    attempts: int = 1
    """How often a question may be attempted."""


class Suite(ABC):
    """A suite of questions, without state.

    Its options are what a task chooses, such as a month and a horizon. Most methods take them as ``options``: all of
    them by name, as :meth:`options` returned them.
    """

    name: ClassVar[str]
    programs: ClassVar[frozenset[str]] = frozenset()
    """Names of the built-in programs that answer its questions."""
    of_the_past: ClassVar[bool] = False
    """Whether it asks what was known when it asked, so that a perfect answer is skill and no sign of foresight."""
    retrieves: ClassVar[tuple[str, ...]] = ()
    """Names of what can be retrieved for a question with :meth:`retrieval`."""
    example: ClassVar[Example | None] = None
    """A task that ``openfingym task new --kind qa`` may start from; None if the suite states none."""
    has_dictionary: ClassVar[bool] = False
    """Whether the suite has a dictionary of the codes of answers."""

    @abstractmethod
    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """All options of a task, with defaults for those that it does not state.

        Args:
            given: the options that the task states, by name.

        Raises:
            ValueError: an option does not exist, or its value is none that it may have; the message names it.
        """

    @abstractmethod
    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        """A value that is cheap to get, and changes whenever :meth:`questions` would return other questions."""

    @abstractmethod
    def simulated(self, dataset: str) -> bool:
        """Whether the world that is asked about is made up; without loading that world."""

    @abstractmethod
    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """The questions of a task, the same everywhere.

        Args:
            dataset: name of the snapshot that the questions are about.
            options: options of the task, as :meth:`options` returned them.

        Raises:
            DataError: the snapshot is not on this machine; the message says how to get it.
        """

    def renewable(self, dataset: str) -> bool:  # noqa: ARG002 - a suite that can draw its world anew overrides this
        """Whether :meth:`renewed` can draw the world anew; without loading that world."""
        return False

    def renewed(
        self,
        dataset: str,
        options: Mapping[str, Scalar],  # noqa: ARG002 - a suite that can draw its world anew overrides this
        seed: int,  # noqa: ARG002 - as above
    ) -> QuestionSet:
        """As many questions about a world that is drawn anew: from its first day on, or from a time on that is not
        after the first question to ask. :attr:`QuestionSet.train` stays as it is.

        Only called if the world is :meth:`renewable`.

        Args:
            dataset: name of the snapshot that the questions of the task are about.
            options: options of the task, as :meth:`options` returned them.
            seed: seed of the draw, not negative, of any size; the same seed gives the same world.
        """
        raise UsageError(f"the suite {self.name!r} cannot draw the world {dataset!r} anew")

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """All questions that the suite has, those that count first; none if it makes them for each task."""
        return ()

    @abstractmethod
    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:
        """The form of an answer to a question of a task."""

    def question_form(
        self,
        question: SuiteQuestion,  # noqa: ARG002 - the same for all questions, unless overridden
        options: Mapping[str, Scalar],
    ) -> AnswerForm:
        """The form of an answer to one question, with the same numbers as :meth:`form`. A suite overrides it if its
        questions expect different things.
        """
        return self.form(options)

    @abstractmethod
    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The tools that agents of a task have; none if they are to answer from what they know."""

    def subsets(self, options: Mapping[str, Scalar]) -> Mapping[str, tuple[str, ...]]:
        """Subsets of the tools to which an agent can be limited, as names of tools by name of the subset; ``full`` and
        ``none`` always exist.
        """
        return {"full": tuple(tool.name for tool in self.tools(options)), "none": ()}

    def forms(self, options: Mapping[str, Scalar]) -> Mapping[str, AnswerForm]:
        """Forms in which an agent can be asked for its answer, by name, the usual one first. An answer in any of them
        is read by :meth:`form`.
        """
        return {"plain": self.form(options)}

    def retrieval(
        self,
        question: SuiteQuestion,
        what: str,
        options: Mapping[str, Scalar],  # noqa: ARG002 - a suite that retrieves something overrides this
        calls: int,  # noqa: ARG002 - as above
    ) -> Retrieval:
        """Look up, with the tools, what a model is given with a question. A suite that names something in
        :attr:`retrieves` overrides it.

        Args:
            question: the question that is asked.
            what: name of what is retrieved, one of :attr:`retrieves`.
            options: options of the task, as :meth:`options` returned them.
            calls: most calls that it may make.

        Raises:
            UsageError: the suite retrieves nothing.
        """
        raise UsageError(f"the suite {self.name!r} retrieves nothing; found {what!r}, for the question {question.id}")

    def prompt(
        self, question: SuiteQuestion, way: Approach, options: Mapping[str, Scalar], found: object = None
    ) -> Prompt:
        """The messages that a model is sent first.

        Args:
            question: the question that is asked.
            way: the way in which the model is to come to an answer.
            options: options of the task, as :meth:`options` returned them.
            found: what :meth:`retrieval` returned; None where nothing was looked for.
        """
        # Blocks of code get the module of tools with its source; a model without tools is not shown it.
        allowed = self.subsets(options)[way.tools]
        tools = [tool for tool in self.tools(options) if tool.name in allowed]
        client = self.client(options)
        form = self.forms(options)[way.answer] if way.answer else self.question_form(question, options)
        return plain_prompt(question, way, tools, form, client.source if client and tools else "", found)

    def read_call(self, text: str, options: Mapping[str, Scalar]) -> tuple[str, dict[str, object]]:
        """The tool that a line of text calls, and its arguments by name.

        Args:
            text: the line, as a model wrote it.
            options: options of the task, as :meth:`options` returned them.

        Raises:
            UnreadableCallError: the line is no call; the message says what was expected.
        """
        return plain_call(text, self.tools(options))

    def vote(self, answers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """One answer from those of several attempts, float64[numbers] each; there is at least one."""
        return most_frequent(answers)

    def client(self, options: Mapping[str, Scalar]) -> SuiteClient | None:  # noqa: ARG002 - a suite may have one
        """The module that has the tools as Python objects; None for a suite without one, whose programs use
        ``interface`` alone.
        """
        return None

    @abstractmethod
    def vault(self, snapshot: str) -> Vault | None:
        """The vault that the tools look things up in; None for a suite without one.

        Args:
            snapshot: digest of the snapshot, which must be the one that the true answers came from.

        Raises:
            DataError: the snapshot is not on this machine.
        """

    @abstractmethod
    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The tools, opened on a vault as of a question's time.

        Args:
            vault: the vault that :meth:`vault` returned, or a copy of it from which everything later was deleted.
            question: the question that is asked.
            options: options of the task, as :meth:`options` returned them.
        """

    @abstractmethod
    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """The baseline: an answer to each of so many questions that looks at none of them, float64[rows, numbers].

        Args:
            truths: float64[n, numbers], the true answers to the questions to train on.
            rows: number of answers that are wanted.
        """

    @abstractmethod
    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Other answers that look at no question, by name, float64[rows, numbers] each; none of them may score better
        than :meth:`prior`.

        Args:
            truths: float64[n, numbers], the true answers to the questions to train on.
            rows: number of answers of each kind that are wanted.
            generator: source of randomness for answers that are drawn.
        """

    def exposure(self, dataset: str, options: Mapping[str, Scalar]) -> Exposure:
        """What its tools show and its questions hide, of the world that is asked about.

        Args:
            dataset: name of the snapshot that the questions are about.
            options: options of the task, as :meth:`options` returned them.
        """
        found = self.questions(dataset, options)
        asked = [question.moment.date() for question in (*found.public, *found.private)]
        # What is asked as of a time lies after it, and nobody but the suite knows how far.
        hides = {} if self.of_the_past else {self.searched(dataset): between(asked[0], date.max)}
        return Exposure({self.searched(dataset): between(date.min, asked[-1])} if self.tools(options) else {}, hides)

    def serves(self, options: Mapping[str, Scalar]) -> tuple[str, ...]:  # noqa: ARG002 - a suite may serve some
        """Names of the library's datasets whose rows its tools look up."""
        return ()

    def searched(self, dataset: str) -> str:
        """A name of the world that its tools search."""
        return f"world {dataset} of {self.name}"

    def revealing(
        self,
        question: SuiteQuestion,  # noqa: ARG002 - a suite with tools says what to call
        options: Mapping[str, Scalar],  # noqa: ARG002 - as above
    ) -> Sequence[tuple[str, Mapping[str, object]]]:
        """Calls of tools, each a name with arguments, whose answers tell the truth of a question once it is known;
        none if the suite does not say. ``openfingym task check`` makes them while the question is unanswered.
        """
        return ()

    def reveals(
        self,
        question: SuiteQuestion,
        truth: NDArray[np.float64],  # noqa: ARG002 - a suite that states calls overrides this
        replies: Sequence[Observation],  # noqa: ARG002 - as above
    ) -> bool:
        """Whether the answers to the calls of :meth:`revealing` tell the truth. A suite that states calls overrides it.

        Args:
            question: the question whose truth is looked for.
            truth: float64[numbers], its true answer.
            replies: the answers to the calls, in their order.
        """
        raise UsageError(f"the suite {self.name!r} states calls for {question.id}, and not how to read them")

    def breakdown(self, options: Mapping[str, Scalar]) -> Breakdown:  # noqa: ARG002 - a suite may state nothing
        """What reports say of a task beyond its scores; nothing, unless a suite overrides it."""
        return Breakdown()
