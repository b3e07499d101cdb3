"""A suite of questions: who asks what, which tools there are, and how an answer is read.

A question is asked as of a time. Its tools answer from a snapshot of the world that is opened at that time, in a
process of the host's, so that a program in a container has nothing to break out of.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from openfingym.errors import OpenFinGymError
from openfingym.suites.asking import Approach, Prompt, most_frequent, plain_call, plain_prompt
from openfingym.suites.breakdown import Breakdown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.data.dataset import DatasetInfo
    from openfingym.suites.catalogue import CatalogueEntry
    from openfingym.vault import Vault

Scalar = str | int | float


class UnreadableAnswerError(OpenFinGymError):
    """An answer cannot be parsed; the message says what was found and what is expected."""


@dataclass(frozen=True)
class SuiteQuestion:
    """One question, as it is put to an agent."""

    id: str
    """Unique in its suite."""
    text: str
    as_of: str
    """UTC, ISO 8601: no tool shows what became known later."""
    query: Mapping[str, Scalar]
    """The question as data, for programs and for the suite's own tools; nothing of its answer is in it."""
    tags: tuple[str, ...] = ()
    """By which results are broken down, such as ``2024-02``."""

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> SuiteQuestion:
        """What :meth:`to_json` wrote."""
        found = json.loads(text)
        return cls(**{**found, "tags": tuple(found["tags"])})


@dataclass(frozen=True, eq=False)
class QuestionSet:
    """The questions of a task with their answers, in three parts."""

    info: DatasetInfo
    snapshot: str
    """Digest of the snapshot that truth and tools come from."""
    train: tuple[SuiteQuestion, ...]
    public: tuple[SuiteQuestion, ...]
    private: tuple[SuiteQuestion, ...]
    truths: NDArray[np.float64]
    """float64[train + public + private, numbers of an answer]."""

    @property
    def questions(self) -> tuple[SuiteQuestion, ...]:
        """All of them, in the order of :attr:`truths`."""
        return (*self.train, *self.public, *self.private)


@dataclass(frozen=True)
class SuiteTool:
    """A function that an agent may call to look something up."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of its arguments: an object."""


@dataclass(frozen=True)
class Observation:
    """What a call of a tool is answered."""

    text: str
    """For an agent to read; of a bad call it says what was expected."""
    valid: bool = True
    """Whether the call was one: a tool that there is, with arguments that it takes."""
    value: object = None
    """The answer as JSON, for programs; None for a bad call."""


Lookup = Callable[[str, Mapping[str, object]], Observation]
"""Calls a tool by its name with its arguments. Never raises for what an agent sends."""


@dataclass(frozen=True)
class AnswerForm:
    """What an answer is, and how it becomes numbers."""

    labels: tuple[str, ...]
    """Names of the numbers, such as codes of relations."""
    expected: str
    """What an agent is told of the form of an answer."""
    read: Callable[[object], NDArray[np.float64]]
    """float64[numbers] of an answer, a text or a JSON value; raises :class:`UnreadableAnswerError`."""
    write: Callable[[NDArray[np.float64]], object]
    """An answer, as a JSON value, that is read as these numbers; of a truth, the best one."""


@dataclass(frozen=True)
class SuiteClient:
    """A suite's tools as a Python module, which programs in a container find beside ``interface``."""

    module: str
    """What is imported, such as ``mirai_api``."""
    source: str
    """Its text: the standard library alone, calling ``interface.exchange(tool, arguments)``."""


Retrieval = Generator[tuple[str, Mapping[str, object]], Observation, object]
"""Asks for one call of a tool after the other, is sent what each is answered, and returns what was found."""


@dataclass(frozen=True)
class Asking:
    """Who asks the questions of a task."""

    suite: Suite
    options: Mapping[str, Scalar]
    """What the task chose."""
    attempts: int = 1
    """How often a question may be attempted."""


class Suite(ABC):
    """A suite of questions, without state. Options are what a task of it chooses, such as a month and a horizon."""

    name: ClassVar[str]
    programs: ClassVar[frozenset[str]] = frozenset()
    """Names of the built-in programs that answer its questions."""
    of_the_past: ClassVar[bool] = False
    """Whether it asks what was known when it asked, so that a perfect answer is skill and no sign of foresight."""
    retrieves: ClassVar[tuple[str, ...]] = ()
    """What can be retrieved for a question, by name."""
    has_dictionary: ClassVar[bool] = False
    """Whether there is a dictionary of the codes of answers."""

    @abstractmethod
    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """The options of a task, with defaults for those it does not state.

        Raises:
            ValueError: there is no such option, or it has another value; names it.
        """

    @abstractmethod
    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        """A value that changes whenever :meth:`questions` would give others; cheap."""

    @abstractmethod
    def simulated(self, dataset: str) -> bool:
        """Whether the world that is asked about is made up; without loading it."""

    @abstractmethod
    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """The questions of a task, the same everywhere.

        Args:
            dataset: name of a snapshot of the vault.
            options: what :meth:`options` gave.

        Raises:
            DataError: the snapshot is not on this machine; says how to get it.
        """

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """All questions that the suite keeps, those that count first; none where it makes them for each task."""
        return ()

    @abstractmethod
    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:
        """What an answer to a question of a task is."""

    def question_form(
        self,
        question: SuiteQuestion,  # noqa: ARG002 - the same for all questions, unless overridden
        options: Mapping[str, Scalar],
    ) -> AnswerForm:
        """What an answer to one question is, with the same numbers as :meth:`form`; override where questions differ in
        what they expect.
        """
        return self.form(options)

    @abstractmethod
    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The tools that agents of a task have; none where they are to answer from what they know."""

    def subsets(self, options: Mapping[str, Scalar]) -> Mapping[str, tuple[str, ...]]:
        """Subsets of the tools that an agent may be held to, each by its name; ``full`` and ``none`` always."""
        return {"full": tuple(tool.name for tool in self.tools(options)), "none": ()}

    def forms(self, options: Mapping[str, Scalar]) -> Mapping[str, AnswerForm]:
        """Forms in which an agent may be asked for its answer, the usual one first. What each of them writes is read by
        :meth:`form`.
        """
        return {"plain": self.form(options)}

    def retrieval(self, question: SuiteQuestion, what: str, options: Mapping[str, Scalar], calls: int) -> Retrieval:
        """Look up, by the tools, what is given with a question.

        Args:
            question: the question.
            what: one of :attr:`retrieves`.
            options: what :meth:`options` gave.
            calls: how many calls it may make.
        """
        raise NotImplementedError(
            f"the suite {self.name!r} retrieves nothing: {question.id}, {what}, {options}, {calls}"
        )

    def prompt(
        self, question: SuiteQuestion, way: Approach, options: Mapping[str, Scalar], found: object = None
    ) -> Prompt:
        """What a model is sent first.

        Args:
            question: what is asked.
            way: how it is to be answered.
            options: what :meth:`options` gave.
            found: what :meth:`retrieval` returned; None where nothing was looked for.
        """
        allowed = self.subsets(options)[way.tools]
        tools = [tool for tool in self.tools(options) if tool.name in allowed]
        client = self.client(options)
        form = self.forms(options)[way.answer] if way.answer else self.question_form(question, options)
        return plain_prompt(question, way, tools, form, client.source if client and tools else "", found)

    def read_call(self, text: str, options: Mapping[str, Scalar]) -> tuple[str, dict[str, object]]:
        """The tool that a line of text calls, and its arguments by name.

        Raises:
            UnreadableCallError: it is no call; says what was expected.
        """
        return plain_call(text, self.tools(options))

    def vote(self, answers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """One answer from the answers of several attempts, at least one."""
        return most_frequent(answers)

    def client(self, options: Mapping[str, Scalar]) -> SuiteClient | None:  # noqa: ARG002 - a suite may have one
        """The tools as Python objects, where the suite has such a module; programs can do without."""
        return None

    @abstractmethod
    def vault(self, snapshot: str) -> Vault | None:
        """The vault that tools look things up in; None for a suite without one.

        Args:
            snapshot: digest of the snapshot, which must be the one that the truth came from.

        Raises:
            DataError: the snapshot is not on this machine.
        """

    @abstractmethod
    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The tools, opened on a vault as of a question's time.

        Args:
            vault: what :meth:`vault` gave, or a copy of it from which everything later was deleted.
            question: the question that is asked.
            options: what :meth:`options` gave.
        """

    @abstractmethod
    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """The baseline: an answer to each of so many questions that looks at none of them.

        Args:
            truths: float64[n, numbers], the answers to the training questions.
            rows: how many answers are wanted.
        """

    @abstractmethod
    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Other answers that look at no question, by name, float64[rows, numbers]; none may score better than
        :meth:`prior`.
        """

    def breakdown(self, options: Mapping[str, Scalar]) -> Breakdown:  # noqa: ARG002 - a suite may state nothing
        """What reports say of a task beyond its scores; by default nothing of its own."""
        return Breakdown()
