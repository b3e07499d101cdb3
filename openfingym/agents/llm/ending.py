"""How a rollout's conversation ended, and who caused it: the agent, the model or our machinery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EndName = Literal[
    "finished",
    "stopped",
    "turns",
    "tokens",
    "cost",
    "wall",
    "workspace",
    "failed",
    "cancelled",
    "no-progress",
    "refused",
    "silent",
    "no-program",
    "bad-calls",
    "endless",
]
"""
``finished``: the agent submitted, walked to the end, or played every episode. ``stopped``: it ended without an answer.
``turns``, ``tokens``, ``cost``, ``wall``: the limit that it reached. ``workspace``: its programs ended their container.
``failed``: its command failed. ``cancelled``: somebody ended it from outside. ``no-progress``: it only repeated what
had failed before. The others are the model's doing: ``refused``, it would not; ``silent``, its answers were empty;
``no-program``, they held no program or call; ``bad-calls``, they called tools that do not exist, or with arguments that
cannot be read; ``endless``, they were cut off.
"""

OF_THE_PROTOCOL = frozenset({"silent", "no-program", "bad-calls", "endless"})
"""Endings by answers of the model that were nothing that can be used."""


@dataclass(frozen=True)
class ConversationEnding:
    """The end of a conversation: how it came about, and why."""

    how: EndName
    detail: str
    """The reason for people, as one clause."""

    @property
    def boundary(self) -> Literal["agent", "model", "protocol"]:
        """The boundary at which the rollout failed, where there is no score."""
        if self.how == "refused":
            return "model"
        return "protocol" if self.how in OF_THE_PROTOCOL else "agent"


class Ended(Exception):  # noqa: N818  # no failure: it is how a session tells that it is over
    """The conversation is over. An agent lets this exception pass."""

    def __init__(self, how: EndName, detail: str) -> None:
        super().__init__(detail)
        self.ending = ConversationEnding(how, detail)
