"""What a handler takes out of a prompt of the forge, and how it answers."""

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
    """Material between two marks, as the text of a paper."""

    label: str
    """What it is, in capitals: ``PAPER``."""
    text: str


def task_name(prompt: str) -> str | None:
    """``forge/NAME`` of a prompt's first line; None where it is no prompt of the forge."""
    found = _TASK.match(prompt.lstrip().partition("\n")[0])
    return found.group(1) if found else None


def prompt_of(request: CompletionRequest) -> str:
    """The last message that is a prompt of the forge, else the last one."""
    told = [message.content for message in request.messages if message.role in {"user", "system"}]
    return next((text for text in reversed(told) if task_name(text)), request.last)


def fenced(prompt: str) -> tuple[Fenced, ...]:
    """All material between marks, in order. Marks inside such material are part of it."""
    return tuple(Fenced(found["label"], found["text"]) for found in _FENCED.finditer(prompt))


def fenced_text(prompt: str, label: str = "PAPER") -> str:
    """Material of one label; parts of one label are joined by a blank line; empty where there is none."""
    return "\n\n".join(part.text for part in fenced(prompt) if part.label == label)


def outside(prompt: str) -> str:
    """The prompt without the material, each stretch of which leaves its label in brackets: what was asked."""
    return _FENCED.sub(lambda found: f"[{found['label']}]", prompt)


def answer_json(value: Mapping[str, object] | Sequence[object]) -> Reply:
    """An answer that is one JSON value in a fenced block, as models write it."""
    return Reply(f"```json\n{json.dumps(value, indent=1, ensure_ascii=False)}\n```")
