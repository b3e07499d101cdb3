"""Text written by others, made safe to print: control characters would be commands to a terminal."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("\r\n?")


def printable(text: str) -> str:
    """A text whose control characters, line ends and tabs aside, are shown as escapes.

    So are marks that turn the writing around, and halves of characters, which no terminal takes.
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), _BREAKS.sub("\n", text))


def one_line(text: str, longest: int) -> str:
    """A text on one line of at most so many characters."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else text[: longest - 1] + "…"
