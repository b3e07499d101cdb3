"""The contract of tasks about the questions of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import model_validator

from openfingym.errors import UsageError
from openfingym.suites.registry import find_suite
from openfingym.task.contracts import Contract, Family, PositiveInt

if TYPE_CHECKING:
    from openfingym.suites.suite import AnswerForm, Scalar, Suite, SuiteClient, SuiteTool


class QaContract(Contract):
    """Questions of a suite. A submission is [questions, 1 + numbers of an answer]: how each ended, and its answer."""

    family: ClassVar[Family] = "questions"
    baseline: ClassVar[str] = "naive"
    has_split: ClassVar[bool | None] = False

    kind: Literal["qa"]
    suite: str
    """Name of the suite that asks the questions."""
    options: Mapping[str, str | int | float] = {}
    """Options of the suite that the task chooses, such as a month and a horizon."""
    steps: PositiveInt = 20
    """Most actions that may be taken on a question."""
    invalid: PositiveInt = 3
    """Number of invalid actions in a row that ends a question."""
    repeated: PositiveInt = 3
    """How often the same call may be made."""
    attempts: PositiveInt = 10
    """How often a question may be attempted before it is answered, as self-consistency does. The limits above are those
    of an attempt."""
    hindsight: bool = False
    """Whether tools ignore when things became known, and so show what was to come: an experiment, as all its results
    say."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        try:
            find_suite(self.suite).options(self.options)
        except UsageError as error:
            raise ValueError(f"suite: {error}") from error
        return self

    @property
    def chosen(self) -> Mapping[str, Scalar]:
        """All options of the suite, with its defaults where the task does not choose."""
        return self.asked_by.options(self.options)

    @property
    def asked_by(self) -> Suite:
        """The suite that asks the questions."""
        return find_suite(self.suite)

    @property
    def form(self) -> AnswerForm:
        """The form of an answer."""
        return self.asked_by.form(self.chosen)

    @property
    def client(self) -> SuiteClient | None:
        """The suite's tools as a module for programs; None if it has none."""
        return self.asked_by.client(self.chosen)

    @property
    def tools(self) -> tuple[SuiteTool, ...]:
        """The tools that agents may call."""
        return self.asked_by.tools(self.chosen)


def qa_contract(contract: Contract) -> QaContract:
    """The contract, narrowed to one about questions of a suite."""
    assert isinstance(contract, QaContract)
    return contract
