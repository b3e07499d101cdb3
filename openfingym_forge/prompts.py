"""Prompts of the forge: templates of Jinja2, material between marks that it cannot forge, and answers in JSON.

A prompt is ``prompts/NAME.md`` in the package of its stage. Its first line is ``Task: forge/NAME@VERSION``. Whatever
comes from outside (a paper, a script, a table) goes through :func:`fence`, which the templates have as a filter::

    {{ text | fence("PAPER") }}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from jinja2 import Environment

    from openfingym_forge.stage import ForgeAsking, Role

TRIES = 3
"""How often a model is asked for one answer before the answer counts as malformed."""
LONGEST_SHOWN = 20_000
"""Characters of a wrong answer that the next prompt repeats; a long one would take the room of the question."""
_SHOWN = 12
"""Complaints about a wrong answer that the next prompt lists."""
_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
Read = TypeVar("Read")
"""What is read from an answer."""


class AnswerError(ValueError):
    """An answer cannot be used; its text says what is wrong and what is expected, one complaint a line. The model is
    shown it.
    """


@dataclass(frozen=True)
class ForgeAnswer(Generic[Read]):
    """What a model gave within its tries."""

    value: Read | None
    """What was read from the answer; None where no answer could be used."""
    complaints: tuple[str, ...]
    """What was wrong with each answer that could not be used, in order."""

    @property
    def why(self) -> str:
        """Why there is no value, in words."""
        last = self.complaints[-1] if self.complaints else "none"
        return f"no usable answer in {len(self.complaints)} tries; the last: {last}"


def fence(text: str, label: str) -> str:
    """A text between two marks that it cannot contain: the marks hold the digest of the text itself.

    Args:
        text: material from outside, such as a paper, a script or an answer.
        label: what the text is, in capitals, such as ``PAPER``.
    """
    # A digest and no random number: the same prompt has to come again, or its recorded answer would not be found.
    mark = hashlib.sha256(f"{label}\n{text}".encode()).hexdigest()[:32]
    return f"<<<BEGIN {label} {mark}>>>\n{text}\n<<<END {label} {mark}>>>"


def render(room: str, name: str, **values: object) -> str:
    """A prompt, made from its template.

    Args:
        room: name of the package whose folder ``prompts`` holds the template, such as ``openfingym_forge.extraction``.
        name: name of the template's file, without its ending.
        values: what the template is filled in with.
    """
    return _environment(room).get_template(f"{name}.md").render(**values).strip() + "\n"


@cache
def _environment(room: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - prompts are no markup
        loader=PackageLoader(room, "prompts"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["fence"] = fence
    return environment


def read_answer(answer: str) -> object:
    """The JSON value of an answer: all of it, its last fenced block, or what stands between its outermost braces.

    Raises:
        AnswerError: the answer holds no JSON value.
    """
    candidates = [answer.strip(), *reversed(_BLOCK.findall(answer))]
    for opening, closing in ("{}", "[]"):
        first, last = answer.find(opening), answer.rfind(closing)
        if 0 <= first < last:
            candidates.append(answer[first : last + 1])
    problem = "it is empty"
    for text in candidates:
        try:
            value: object = json.loads(text)
        # Nested too deeply, or a number of more digits than Python converts, are errors of the model's as well.
        except (ValueError, RecursionError) as error:
            problem = str(error)
        else:
            return value
    raise AnswerError(f"the answer is no JSON ({problem}); answer with one JSON value and nothing else")


def of_json(read: Callable[[object], Read]) -> Callable[[str], Read]:
    """A reader of answers in JSON, from a function that reads their JSON value."""
    return lambda answer: read(read_answer(answer))


def ask_for(
    asking: ForgeAsking, role: Role, purpose: str, prompt: str, read: Callable[[str], Read], tries: int = TRIES
) -> ForgeAnswer[Read]:
    """Ask a model for an answer; if it cannot be used, say what is wrong with it and ask again.

    Args:
        asking: the models that may be asked.
        role: whether the generator or the reviewer is asked.
        purpose: what is asked for, as the journal has it.
        prompt: the prompt of the first try; later ones add the last answer and what is wrong with it.
        read: reads what is wanted from the text of an answer, such as a function that :func:`of_json` gives; raises
            :class:`AnswerError` for an answer that cannot be used.
        tries: the most times that the model is asked.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
    """
    complaints: list[str] = []
    current = prompt
    for _ in range(tries):
        answer = asking.ask(role, purpose, current)
        try:
            return ForgeAnswer(read(answer), tuple(complaints))
        except AnswerError as error:
            complaints.append(str(error))
            # Made from the first prompt and the last answer alone, so that prompts do not grow with the tries.
            current = _again(prompt, answer, str(error), len(complaints))
    return ForgeAnswer(None, tuple(complaints))


def _again(prompt: str, answer: str, complaint: str, number: int) -> str:
    """The same prompt with what was wrong with the last answer to it."""
    lines = complaint.splitlines()
    left_out = [f"- and {len(lines) - _SHOWN} more of the kind"] if len(lines) > _SHOWN else []
    listed = "\n".join([*(f"- {line}" for line in lines[:_SHOWN]), *left_out])
    shown = answer if len(answer) <= LONGEST_SHOWN else f"{answer[:LONGEST_SHOWN]}\n(and more)"
    # Both are fenced: an answer repeats words of the paper, and a complaint repeats words of the answer.
    return (
        f"{prompt}\nYour answer number {number} will not do. It was:\n{fence(shown, 'ANSWER')}\n"
        f"What is wrong with it:\n{fence(listed, 'COMPLAINTS')}\nAnswer the whole again, mended.\n"
    )
