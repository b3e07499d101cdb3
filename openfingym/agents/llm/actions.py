"""What a model wants to do next, from what it wrote: actions of ReAct, or the tags of thinking models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_CODE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_FINAL = re.compile(r"final\s+answer\**\s*:", re.IGNORECASE)
_LABEL = re.compile(r"^[ \t]*[-*]*[ \t]*\"?Action\"?\**[ \t]*:\**", re.IGNORECASE | re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*\**\"?Observation\"?\**[ \t]*:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Action:
    """What is to be done."""

    kind: Literal["call", "code", "answer"]
    """A line with a call of the API, a block of Python, or the final answer."""
    text: str


def react_action(text: str) -> Action | None:
    """The first action of a message of ReAct; None if there is none.

    What a model makes up of an observation, and everything behind it, does not count. An answer is one wherever it
    stands in the action; a message without a label is an action whole.
    """
    label = _LABEL.search(text)
    action = text[label.end() :] if label else text
    made_up = _OBSERVATION.search(action)
    again = _LABEL.search(action)
    ends = [found.start() for found in (made_up, again) if found]
    action = action[: min(ends)] if ends else action
    if _FINAL.search(action):
        return Action("answer", action.strip())
    if code := _CODE.search(action):
        written = code.group(1).strip("\n")
        # One call in a code fence is a call for who may make no other, and a program for who may write one.
        return Action("code", written) if written.strip() else None
    line = action.strip()
    return Action("call", line) if line and (label or "(" in line) else None


def tagged_action(text: str) -> Action | None:
    """The next action of a thinking model: its first ``<function_call>``, or its ``<answer>`` if that comes first; None
    if there is neither. A closing tag may be missing, since generation stops there.
    """
    found = re.search(r"<(function_call|answer)>(.*?)(?:</\1>|\Z)", text, re.DOTALL)
    if found is None or not found.group(2).strip():
        return None
    if found.group(1) == "answer":
        return Action("answer", f"<answer>{found.group(2)}</answer>")
    return Action("call", found.group(2).strip())
