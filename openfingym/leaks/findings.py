"""Findings of a search: which hidden values, where, and in which file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Hidden values in something public, or something that may hide them."""

    what: str
    """Which hidden array, and what was made of it; or what else is wrong. The same for all rows of a channel."""
    row: int | None = None
    """The first hidden row of it that was met."""
    channel: int | None = None
    """The only channel it is about."""
    more: str = ""
    """How much was found."""

    def within(self, how: str) -> Found:
        """This finding, as found in something that is written in ``how``."""
        return Found(f"{how}, {self.what}", self.row, self.channel, self.more) if how else self


@dataclass(frozen=True)
class Leak:
    """What was found in a file."""

    file: str
    """Path below the public half; members of an archive after it."""
    found: Found
    channels: Sequence[str] = ()
    """Names of the channels, if they have any."""

    @property
    def finding(self) -> str:
        """The text that a waiver has to name: the finding and its channel, without the row."""
        number = self.found.channel
        if number is None:
            return self.found.what
        name = f" ({self.channels[number]})" if number < len(self.channels) else ""
        return f"{self.found.what}, channel {number}{name}"

    def __str__(self) -> str:
        row = "" if self.found.row is None else f", hidden row {self.found.row}"
        return f"{self.file}: {self.finding}{row}" + (f" ({self.found.more})" if self.found.more else "")
