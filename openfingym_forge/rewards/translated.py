"""Translating a paper's formula into code, twice: by two prompts that know nothing of each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openfingym.metrics.record import ANSWERS, SHAPES, Problem
from openfingym_forge.asking import PaperJournal, code_in
from openfingym_forge.blueprint import MetricBlueprint
from openfingym_forge.prompts import AnswerError, ask_for, read_answer, render
from openfingym_forge.rewards.meaning import formula_of
from openfingym_forge.rewards.screened import screen
from openfingym_forge.stage import CandidateTask, Role

ROOM = "openfingym_forge.rewards"


@dataclass(frozen=True)
class Translation:
    """What came of a prompt to translate a formula."""

    code: str
    """Source of the function ``metric``; empty where there is none."""
    why: str = ""
    """Why there is no code."""
    malformed: bool = False
    """Whether no answer could be used; otherwise the model says that the formula does not say enough."""


def prompt_values(metric: MetricBlueprint, problem: Problem) -> dict[str, object]:
    """The values with which prompts about a metric are filled in.

    Args:
        metric: the metric as the paper states it.
        problem: the kind of question that it is asked on.
    """
    return {
        "called": metric.name,
        "formula": formula_of(metric),
        "direction": str(metric.direction.value or "not stated"),
        "unit": str(metric.unit.value or "not stated"),
        "arguments": ", ".join(SHAPES[problem]),
        "shapes": dict(SHAPES[problem]),
        "answers": ", ".join(ANSWERS[problem]),
    }


def translate(
    candidate: CandidateTask, metric: MetricBlueprint, problem: Problem, prompt: str, role: Role
) -> Translation:
    """The formula of a metric as a function ``metric`` of the arrays of a kind of question.

    Args:
        candidate: the paper, with the models that are asked.
        metric: the metric as the paper states it.
        problem: the kind of question that the metric is asked on.
        prompt: name of the prompt: ``metric-code`` asks for array operations, ``metric-code-again`` for loops.
        role: whether the generator or the reviewer is asked.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
    """
    text = render(ROOM, prompt, **prompt_values(metric, problem))
    answered = ask_for(candidate.asking, role, prompt, text, reader(problem))
    translation = answered.value
    if translation is None:
        return Translation("", answered.why, malformed=True)
    PaperJournal(candidate.folder).add_once(
        "translated", purpose=prompt, metric=metric.name, code=translation.code, why=translation.why
    )
    return translation


def reader(problem: Problem) -> Callable[[str], Translation]:
    """A reader of answers that hold code that may be run, or JSON that says why there is none.

    Args:
        problem: the kind of question, whose arrays are the arguments of the code.
    """

    def read(answer: str) -> Translation:
        if "```python" not in answer and '"cannot"' in answer:
            said = read_answer(answer)
            if not isinstance(said, dict) or not isinstance(said.get("cannot"), str):
                raise AnswerError('expected code, or {"cannot": "why"}')
            return Translation("", said["cannot"][:500])
        code = code_in(answer)
        if objection := screen(code, tuple(SHAPES[problem])):
            raise AnswerError(f"the code was not run: {objection}")
        return Translation(code)

    return read
