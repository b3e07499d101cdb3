"""Findings of a search: which hidden values, where, and in which file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """Hidden values in public data, or public data in which hidden values may be."""

    what: str
    """Which hidden array was found and in which reading, or what else is wrong, as a phrase; the same for all rows of a
    channel, since waivers name it."""
    row: int | None = None
    """The first hidden row that was found; None if that is not known."""
    channel: int | None = None
    """The channel that was found; None for several, or if that is not known."""
    more: str = ""
    """How much was found, as a phrase."""

    def within(self, how: str) -> Found:
        """This finding, in something that is encoded: the encoding ``how`` is put before the phrase."""
        return Found(f"{how}, {self.what}", self.row, self.channel, self.more) if how else self


@dataclass(frozen=True)
class Leak:
    """A finding in a file."""

    file: str
    """Path of the file below the public half, followed by the path of a member if the file is an archive."""
    found: Found
    """What was found in it."""
    channels: Sequence[str] = ()
    """Names of the channels; empty if they have none."""

    @property
    def finding(self) -> str:
        """The text that a waiver must state: what was found and its channel, without the row."""
        number = self.found.channel
        if number is None:
            return self.found.what
        name = f" ({self.channels[number]})" if number < len(self.channels) else ""
        return f"{self.found.what}, channel {number}{name}"

    def __str__(self) -> str:
        row = "" if self.found.row is None else f", hidden row {self.found.row}"
        return f"{self.file}: {self.finding}{row}" + (f" ({self.found.more})" if self.found.more else "")
