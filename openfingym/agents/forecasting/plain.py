"""A question of any series as a suite of its own, without tools: for agents that answer from what they know."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import SubmissionError
from openfingym.questions.answer import read_answer
from openfingym.rounds.references import answer_document
from openfingym.suites.suite import (
    AnswerForm,
    Lookup,
    Observation,
    Suite,
    SuiteQuestion,
    SuiteTool,
    UnreadableAnswerError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from openfingym.questions.question import Question
    from openfingym.suites.suite import QuestionSet, Scalar
    from openfingym.vault import Vault

_OBJECT = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
"""A JSON object with objects one level deep in it, which is as deep as an answer goes."""
_EXAMPLES: Mapping[str, object] = {"probability": 0.3, "choice": "...", "value": 1.5}
_NO_TASK = "a question of a ledger belongs to no task: there is no set of questions, and nothing is scored here"


class PlainQuestion(Suite):
    """A suite of one question of a ledger, whose answer is the JSON object that the ledger takes.

    A forecaster asks it alone. What a suite does for a task, :meth:`questions`, :meth:`prior` and :meth:`skillless`, is
    refused.
    """

    name = "ledger"

    def __init__(self, question: Question) -> None:
        self._question = question

    def suite_question(self, as_of: str) -> SuiteQuestion:
        """The question as it is put to an agent.

        Args:
            as_of: time of answering, by the clock of the series; UTC, ISO 8601.
        """
        question = self._question
        rules = f"\nHow it is decided: {question.rules}" if question.rules else ""
        return SuiteQuestion(question.id, f"{question.text}{rules}", as_of, {})

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """The options as they are given: none of them has a meaning here."""
        return dict(given)

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:  # noqa: ARG002
        """The question's digest."""
        return self._question.digest

    def simulated(self, dataset: str) -> bool:  # noqa: ARG002
        """Whether the question is about a made-up world: its clock is not the real one, and it replays no real past."""
        return self._question.clock != "real" and not self._question.replayed

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """Refused: the question belongs to no task."""
        raise NotImplementedError(_NO_TASK)

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:  # noqa: ARG002
        """The answer as the ledger takes it."""
        question = self._question
        counts = {"probabilities": len(question.outcomes), "quantiles": len(question.levels), "interval": 2}
        return AnswerForm(
            labels=tuple(f"number {place}" for place in range(1, counts.get(question.form, 1) + 1)),
            expected=self._expected(),
            read=self._read,
            write=lambda numbers: answer_document(question, [float(number) for number in numbers]),
        )

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:  # noqa: ARG002
        """There are no tools."""
        return ()

    def vault(self, snapshot: str) -> Vault | None:  # noqa: ARG002
        """There is no vault, since no tool would look into it."""
        return None

    def lookup(
        self,
        vault: Vault | None,  # noqa: ARG002
        question: SuiteQuestion,  # noqa: ARG002
        options: Mapping[str, Scalar],  # noqa: ARG002
    ) -> Lookup:
        """A lookup that has no tool."""
        return lambda name, _: Observation(f"There is no tool {name[:60]!r}.", valid=False)

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """Refused: nothing is scored here."""
        raise NotImplementedError(_NO_TASK)

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Refused: nothing is scored here."""
        raise NotImplementedError(_NO_TASK)

    def _expected(self) -> str:
        question = self._question
        example: Any = _EXAMPLES.get(question.form, [1.0] * max(2, len(question.levels)))
        if question.form == "choice":
            example = question.outcomes[0]
        elif question.form == "probabilities":
            example = {name: round(1 / len(question.outcomes), 3) for name in question.outcomes}
        written = {question.form: example} | ({"unit": question.unit} if question.unit else {})
        return f"a JSON object such as {json.dumps(written, ensure_ascii=False)}, with your own numbers"

    def _read(self, answer: object) -> NDArray[np.float64]:
        try:
            return np.array(read_answer(self._question, self._document(answer)).values)
        except SubmissionError as error:
            raise UnreadableAnswerError(f"{error}.") from error

    def _document(self, answer: object) -> object:
        """The JSON object of an answer: the last one in a text; a number alone becomes one of the question's form."""
        if isinstance(answer, str):
            # The last: models repeat the example, or reason with other numbers, before they commit themselves.
            objects: Sequence[str] = _OBJECT.findall(answer)
            try:
                answer = json.loads(objects[-1] if objects else answer)
            except (ValueError, RecursionError):
                return answer
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            question = self._question
            return {question.form: answer} | ({"unit": question.unit} if question.unit else {})
        return answer
