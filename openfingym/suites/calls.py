"""Calls of tools: the arguments that a tool takes, and how JSON from an agent becomes checked values.

Whatever an agent sends, nothing but :class:`BadCallError` is raised, whose message says what was expected.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from openfingym.errors import UsageError

LONGEST_ARGUMENTS = 100_000
"""Most characters of the arguments of a call, as JSON."""


class BadCallError(UsageError):
    """A call that cannot be answered; the message says what was expected."""


@dataclass(frozen=True)
class ToolParameter:
    """An argument that a tool takes.

    Attributes:
        name: name of the argument.
        type: its type: ``text``, ``date``, ``integer`` or ``choice``.
        about: what the argument means, in words for the agent.
        required: whether a call must have it.
        longest: most characters of a text.
        low: least value of an integer.
        high: greatest value of an integer.
        choices: values of a choice, the default first.
    """

    name: str
    type: str
    about: str
    required: bool = False
    longest: int = 200
    low: int = 1
    high: int = 1
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, object]:
        """The argument as JSON schema."""
        match self.type:
            case "integer":
                return {"type": "integer", "minimum": self.low, "maximum": self.high, "description": self.about}
            case "choice":
                return {"type": "string", "enum": list(self.choices), "description": self.about}
            case "date":
                return {"type": "string", "description": f"{self.about}, as YYYY-MM-DD"}
        return {"type": "string", "maxLength": self.longest, "description": self.about}


@dataclass(frozen=True)
class LookupTool:
    """A tool that looks something up."""

    name: str
    about: str
    """What it answers, in words for the agent."""
    parameters: tuple[ToolParameter, ...]
    """The arguments that it takes."""

    @property
    def schema(self) -> dict[str, object]:
        """Its arguments as JSON schema."""
        return {
            "type": "object",
            "properties": {each.name: each.schema for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }


def decoded(tool: LookupTool, given: str | Mapping[str, object], today: date | None) -> dict[str, object]:
    """The checked arguments of a call by name; those that are missing or null are None, or the default of a choice.

    Args:
        tool: the tool that is called.
        given: the arguments that the agent sent, by name, as JSON text or parsed.
        today: the last day that may be asked for; None for no limit.

    Raises:
        BadCallError: an argument is missing or unknown, or its value is not of its type.
    """
    values = _parsed(tool, given)
    known = [parameter.name for parameter in tool.parameters]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise BadCallError(f"{tool.name} has no argument {shown(name)}{hint} It takes {', '.join(known)}.")
    arguments: dict[str, object] = {}
    for parameter in tool.parameters:
        value = values.get(parameter.name)
        if value is None:
            if parameter.required:
                raise BadCallError(f"{tool.name} needs the argument {parameter.name}: {parameter.about}.")
            arguments[parameter.name] = parameter.choices[0] if parameter.type == "choice" else None
        else:
            arguments[parameter.name] = _DECODERS[parameter.type](value, parameter, today)
    return arguments


def shown(value: object) -> str:
    """A value as Python writes it, cut to 80 characters: messages must not grow with what an agent sends."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def as_python(node: ast.expr) -> str:
    """An expression as Python text, for a message."""
    # A long chain of operators or attributes can be parsed and yet be too deep to be written again.
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return "an expression"


def _parsed(tool: LookupTool, given: str | Mapping[str, object]) -> Mapping[str, object]:
    expected = (
        f"The arguments of {tool.name} must be a JSON object by name: {', '.join(p.name for p in tool.parameters)}"
    )
    if isinstance(given, str):
        if len(given) > LONGEST_ARGUMENTS:
            raise BadCallError(f"{expected}; received {len(given)} characters, at most {LONGEST_ARGUMENTS}.")
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            raise BadCallError(f"{expected}; received {shown(given)}.") from None
    if not isinstance(given, Mapping):
        raise BadCallError(f"{expected}; received {shown(given)}.")
    return given


def _text(value: object, parameter: ToolParameter, _today: date | None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadCallError(f"{parameter.name} must be a text, {parameter.about}; received {shown(value)}.")
    if len(value) > parameter.longest:
        raise BadCallError(
            f"{parameter.name} must have at most {parameter.longest} characters; received {len(value)}. Ask for less."
        )
    # JSON can escape half of a surrogate pair, which no UTF-8 can write: it would break whatever stores the text.
    if any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise BadCallError(f"{parameter.name} must be Unicode text; received {shown(value)}.")
    return value.strip()


def _date(value: object, parameter: ToolParameter, today: date | None) -> date:
    try:
        # fromisoformat() takes other forms of ISO 8601 too, such as 20240131 and 2024-W05-3.
        if not isinstance(value, str) or len(value.strip()) != len("2024-01-31"):
            raise ValueError
        day = date.fromisoformat(value.strip())
    except ValueError:
        raise BadCallError(
            f"{parameter.name} must be a day that exists, as YYYY-MM-DD; received {shown(value)}."
        ) from None
    if today is not None and day > today:
        raise BadCallError(f"{parameter.name} must be on or before {today}, which is today; received {day}.")
    return day


def _integer(value: object, parameter: ToolParameter, _today: date | None) -> int:
    # Some models write 3.0 for 3.
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not parameter.low <= value <= parameter.high:
        raise BadCallError(
            f"{parameter.name} must be a whole number from {parameter.low} to {parameter.high}; "
            f"received {shown(value)}."
        )
    return value


def _choice(value: object, parameter: ToolParameter, _today: date | None) -> str:
    if not isinstance(value, str) or value not in parameter.choices:
        raise BadCallError(f"{parameter.name} must be one of {', '.join(parameter.choices)}; received {shown(value)}.")
    return value


_DECODERS = {"text": _text, "date": _date, "integer": _integer, "choice": _choice}
