"""What both kinds of a user's own command have in common: its environment, and what is kept of its standard error."""

from __future__ import annotations

import os
from collections.abc import Mapping

WITHHELD = frozenset({"OPENFINGYM_ADMIN_TOKEN"})
"""Environment variables that no agent is given."""
SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Parts of names of environment variables whose values are struck out of what is kept."""
SHORTEST_SECRET = 8
"""Fewest characters of a value that is struck out: shorter ones, such as "true", would go out of every text."""
LONGEST_LINE = 300
"""Most characters of a line that an error quotes."""


def own_environment() -> dict[str, str]:
    """The environment of a command: the user's, without what would let it act as the verifier's operator."""
    return {name: value for name, value in os.environ.items() if name not in WITHHELD}


class KeptOutput:
    """The beginning and the end of what a process writes: a traceback says last what went wrong."""

    def __init__(self, most_bytes: int) -> None:
        """Keep at most so many bytes, half of them of the end."""
        self._half = most_bytes // 2
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0

    def add(self, part: bytes) -> None:
        """Take in what was written next."""
        room = self._half - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        if over := max(0, len(self._tail) - self._half):
            self._dropped += over
            del self._tail[:over]

    def text(self) -> str:
        """What is kept, and how much was left out; bytes that are no UTF-8 are replaced."""
        gap = f"\n[{self._dropped} bytes left out]\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


def without_secrets(text: str, environment: Mapping[str, str] | None = None) -> str:
    """A text without the values of environment variables that are secrets by their names.

    Args:
        text: what a command wrote.
        environment: the variables; None for those of this process.
    """
    for name, value in (os.environ if environment is None else environment).items():
        if len(value) >= SHORTEST_SECRET and any(part in name.upper() for part in SECRETS):
            text = text.replace(value, "***")
    return text


def last_line(text: str) -> str:
    """The last line of what a command wrote, cut to what a message has room for; empty if it wrote nothing.

    Characters that do something to a terminal are left out.
    """
    lines = text.strip().splitlines()
    return "".join(filter(str.isprintable, lines[-1].strip()[:LONGEST_LINE])) if lines else ""


def ended_with(status: int, errors: str) -> str:
    """How a command ended that failed: its status, and the last line of its standard error."""
    said = last_line(errors)
    return f"the command ended with status {status}" + (f" ({said})" if said else "")
