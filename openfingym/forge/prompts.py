"""Prompts of the forge: files of Jinja2, material between marks that it cannot forge, and answers in JSON.

A prompt is ``prompts/NAME.md`` in the room of its stage. Its first line is ``Task: forge/NAME@VERSION``. Whatever comes
from outside (a paper, a script, a table) goes through :func:`fence`, which the templates have as a filter::

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

    from openfingym.forge.stage import ForgeAsking, Role

TRIES = 3
"""How often a model is asked for one answer before it is malformed."""
LONGEST_SHOWN = 20_000
"""Characters of an answer that the prompt after it repeats."""
_SHOWN = 12
"""Complaints that one prompt repeats."""
_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
Found = TypeVar("Found")


class AnswerError(ValueError):
    """An answer will not do; its text says what is wrong and what is expected, one complaint a line."""


@dataclass(frozen=True)
class ForgeAnswer(Generic[Found]):
    """What a model gave within its tries."""

    found: Found | None
    """What was read; None where no answer would do."""
    complaints: tuple[str, ...]
    """What was wrong with each answer that would not do, in order."""

    @property
    def why(self) -> str:
        """Why nothing was found, in words."""
        last = self.complaints[-1] if self.complaints else "none"
        return f"no usable answer in {len(self.complaints)} tries; the last: {last}"


def fence(text: str, label: str) -> str:
    """A text between two marks that it cannot hold: they are named by its own digest. The same text gives the same
    marks, so that an answer that was kept is found again.

    Args:
        text: material from outside.
        label: what the text is, in capitals, such as ``PAPER``.
    """
    mark = hashlib.sha256(f"{label}\n{text}".encode()).hexdigest()[:32]
    return f"<<<BEGIN {label} {mark}>>>\n{text}\n<<<END {label} {mark}>>>"


def render(room: str, name: str, **values: object) -> str:
    """A prompt of a room.

    Args:
        room: the package whose folder ``prompts`` has it, as ``openfingym.forge.extraction``.
        name: name of the file, without its ending.
        values: what it is filled in with.
    """
    return _environment(room).get_template(f"{name}.md").render(**values).strip() + "\n"


@cache
def _environment(room: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(  # noqa: S701 - prompts are no markup
        loader=PackageLoader(room, "prompts"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["fence"] = fence
    return made


def read_answer(answer: str) -> object:
    """The JSON value of an answer: all of it, its last fenced block, or what stands between its outermost braces.

    Raises:
        AnswerError: there is none.
    """
    tried = [answer.strip(), *reversed(_BLOCK.findall(answer))]
    for opening, closing in ("{}", "[]"):
        first, last = answer.find(opening), answer.rfind(closing)
        if 0 <= first < last:
            tried.append(answer[first : last + 1])
    problem = "it is empty"
    for text in tried:
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
            problem = str(error)
        else:
            return found
    raise AnswerError(f"the answer is no JSON ({problem}); answer with one JSON value and nothing else")


def of_json(read: Callable[[object], Found]) -> Callable[[str], Found]:
    """Reads answers in JSON: what is given the JSON value, as a function of the whole answer."""
    return lambda answer: read(read_answer(answer))


def ask_for(
    asking: ForgeAsking, role: Role, purpose: str, prompt: str, read: Callable[[str], Found], tries: int = TRIES
) -> ForgeAnswer[Found]:
    """Ask for an answer; where it will not do, say what is wrong and ask again.

    Args:
        asking: the models.
        role: who is asked.
        purpose: what is asked for, as in the journal.
        prompt: what is asked first.
        read: makes of the answer what is wanted, or raises :class:`AnswerError`; see :func:`of_json`.
        tries: how often to ask.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
    """
    complaints: list[str] = []
    said = prompt
    for _ in range(tries):
        answer = asking.ask(role, purpose, said)
        try:
            return ForgeAnswer(read(answer), tuple(complaints))
        except AnswerError as error:
            complaints.append(str(error))
            said = _again(prompt, answer, str(error), len(complaints))
    return ForgeAnswer(None, tuple(complaints))


def _again(prompt: str, answer: str, complaint: str, number: int) -> str:
    """The same prompt with what was wrong with the last answer to it."""
    lines = complaint.splitlines()
    left_out = [f"- and {len(lines) - _SHOWN} more of the kind"] if len(lines) > _SHOWN else []
    listed = "\n".join([*(f"- {line}" for line in lines[:_SHOWN]), *left_out])
    shown = answer if len(answer) <= LONGEST_SHOWN else f"{answer[:LONGEST_SHOWN]}\n(and more)"
    return (
        f"{prompt}\nYour answer number {number} will not do. It was:\n{fence(shown, 'ANSWER')}\n"
        f"What is wrong with it:\n{fence(listed, 'COMPLAINTS')}\nAnswer the whole again, mended.\n"
    )
