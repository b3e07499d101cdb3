"""What a handler reads from a prompt of the forge, and the form of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openfingym.models.testing.conversation import CompletionRequest, Reply

_TASK = re.compile(r"^Task: (forge/[a-z0-9][a-z0-9/_-]*)@(\d+)\s*$")
_FENCED = re.compile(
    r"^<<<BEGIN (?P<label>[A-Z][A-Z0-9 _-]*?) (?P<mark>[0-9a-f]{32})>>>\n(?P<text>.*?)"
    r"\n<<<END (?P=label) (?P=mark)>>>$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Fenced:
    """Material between two marks, such as the text of a paper."""

    label: str
    """What the material is, in capitals, such as ``PAPER``."""
    text: str


def task_name(prompt: str) -> str | None:
    """``forge/NAME`` of a prompt's first line; None where it is no prompt of the forge."""
    match = _TASK.match(prompt.lstrip().partition("\n")[0])
    return match.group(1) if match else None


def prompt_of(request: CompletionRequest) -> str:
    """The last message that is a prompt of the forge; the last message of all, where none is."""
    told = [message.content for message in request.messages if message.role in {"user", "system"}]
    return next((text for text in reversed(told) if task_name(text)), request.last)


def fenced(prompt: str) -> tuple[Fenced, ...]:
    """All material between marks, in order."""
    # Marks in the material are part of it: an end mark counts only with the random number of its beginning.
    return tuple(Fenced(match["label"], match["text"]) for match in _FENCED.finditer(prompt))


def fenced_text(prompt: str, label: str = "PAPER") -> str:
    """The material of one label, its parts joined by blank lines; empty where there is none."""
    return "\n\n".join(part.text for part in fenced(prompt) if part.label == label)


def outside(prompt: str) -> str:
    """What the prompt itself asks: in the place of each material stands its label in brackets."""
    return _FENCED.sub(lambda match: f"[{match['label']}]", prompt)


def answer_json(value: Mapping[str, object] | Sequence[object]) -> Reply:
    """An answer that is one JSON value in a fenced block, as models write it."""
    return Reply(f"```json\n{json.dumps(value, indent=1, ensure_ascii=False)}\n```")
