"""What a model wants to do next, read from the text that it wrote: actions of ReAct, or the tags of thinking models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_CODE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_FINAL = re.compile(r"final\s+answer\**\s*:", re.IGNORECASE)
# Models write the labels of ReAct in bold, in quotes or as items of a list too.
_LABEL = re.compile(r"^[ \t]*[-*]*[ \t]*\"?Action\"?\**[ \t]*:\**", re.IGNORECASE | re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*\**\"?Observation\"?\**[ \t]*:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Action:
    """What is to be done next."""

    kind: Literal["call", "code", "answer"]
    """A line with a call of a tool, a block of Python, or the final answer."""
    text: str
    """The line, the block without its fence, or the answer."""


def react_action(text: str) -> Action | None:
    """The first action of a message of ReAct; None if there is none.

    An observation that the model made up itself does not count, nor does anything behind it. A final answer counts
    wherever it stands in the action; a message without a label is an action as a whole.
    """
    label = _LABEL.search(text)
    action = text[label.end() :] if label else text
    made_up = _OBSERVATION.search(action)
    again = _LABEL.search(action)
    ends = [match.start() for match in (made_up, again) if match]
    action = action[: min(ends)] if ends else action
    if _FINAL.search(action):
        return Action("answer", action.strip())
    if code := _CODE.search(action):
        written = code.group(1).strip("\n")
        # A fence may hold one call alone: where an agent calls by lines of text, this text is read as a line all the
        # same.
        return Action("code", written) if written.strip() else None
    line = action.strip()
    # Without a label, prose would be taken for a call; one has brackets at least.
    return Action("call", line) if line and (label or "(" in line) else None


def tagged_action(text: str) -> Action | None:
    """The next action of a thinking model: its first ``<function_call>``, or its ``<answer>`` if that comes first; None
    if there is neither. A closing tag may be missing, since generation stops there.
    """
    match = re.search(r"<(function_call|answer)>(.*?)(?:</\1>|\Z)", text, re.DOTALL)
    if match is None or not match.group(2).strip():
        return None
    if match.group(1) == "answer":
        return Action("answer", f"<answer>{match.group(2)}</answer>")
    return Action("call", match.group(2).strip())
