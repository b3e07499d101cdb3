"""Questions of any series, as a suite without tools asks them: for agents that answer from what they know."""

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
_EXAMPLES: Mapping[str, object] = {"probability": 0.3, "choice": "...", "value": 1.5}


class PlainQuestion(Suite):
    """One question of a ledger, whose answer is the JSON object that the ledger takes."""

    name = "ledger"

    def __init__(self, question: Question) -> None:
        self._question = question

    def suite_question(self, as_of: str) -> SuiteQuestion:
        """The question as it is put to an agent."""
        one = self._question
        rules = f"\nHow it is decided: {one.rules}" if one.rules else ""
        return SuiteQuestion(one.id, f"{one.text}{rules}", as_of, {})

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """None."""
        return dict(given)

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:  # noqa: ARG002
        """The question's digest."""
        return self._question.digest

    def simulated(self, dataset: str) -> bool:  # noqa: ARG002
        """Whether its clock is simulated."""
        return self._question.clock != "real" and not self._question.replayed

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """None: it is asked by a ledger, and in no task."""
        raise NotImplementedError

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:  # noqa: ARG002
        """The answer as the ledger takes it."""
        one = self._question
        count = {"probabilities": len(one.outcomes), "quantiles": len(one.levels), "interval": 2}.get(one.form, 1)
        return AnswerForm(
            labels=tuple(f"number {place}" for place in range(1, count + 1)),
            expected=self._expected(),
            read=self._read,
            write=lambda numbers: answer_document(one, [float(number) for number in numbers]),
        )

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:  # noqa: ARG002
        """None."""
        return ()

    def vault(self, snapshot: str) -> Vault | None:  # noqa: ARG002
        """None."""
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
        """None: nothing is scored here."""
        raise NotImplementedError

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """None: nothing is scored here."""
        raise NotImplementedError

    def _expected(self) -> str:
        one = self._question
        example: Any = _EXAMPLES.get(one.form, [1.0] * max(2, len(one.levels)))
        if one.form == "choice":
            example = one.outcomes[0]
        elif one.form == "probabilities":
            example = {name: round(1 / len(one.outcomes), 3) for name in one.outcomes}
        written = {one.form: example} | ({"unit": one.unit} if one.unit else {})
        return f"a JSON object such as {json.dumps(written, ensure_ascii=False)}, with your own numbers"

    def _read(self, answer: object) -> NDArray[np.float64]:
        try:
            return np.array(read_answer(self._question, self._document(answer)).values)
        except SubmissionError as error:
            raise UnreadableAnswerError(f"{error}.") from error

    def _document(self, answer: object) -> object:
        """The JSON object in a text: the last one that there is; a bare number is one of the question's form."""
        if isinstance(answer, str):
            found: Sequence[str] = _OBJECT.findall(answer)
            try:
                answer = json.loads(found[-1] if found else answer)
            except (ValueError, RecursionError):
                return answer
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            one = self._question
            return {one.form: answer} | ({"unit": one.unit} if one.unit else {})
        return answer
