"""Text written by others, made safe to print: control characters would be commands to a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

# In order: C0 without tab and line feed, DEL and C1; marks and overrides of direction with the line separators among
# them; isolates; surrogates.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("\r\n?")


def printable(text: str) -> str:
    """A text whose control characters, except line ends and tabs, are shown as escapes.

    So are marks that change the direction of writing, which could make a text look like another one, and lone
    surrogates, which no terminal can print.
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), _BREAKS.sub("\n", text))


def one_line(text: str, longest: int) -> str:
    """A text made printable and put on one line.

    Args:
        text: the text, whose runs of white space become single spaces.
        longest: the most characters of the line; a longer one ends with an ellipsis.
    """
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a line, as :func:`click.echo` does, with all that would be a command to a terminal shown as an escape.

    Args:
        text: what is printed; the names and words in it may be anybody's.
        err: whether to print to the standard error stream.
        nl: whether to end the line.
    """
    click.echo(printable(str(text)), err=err, nl=nl)


def say_oddities(sentences: Iterable[str]) -> None:
    """Print what is odd about data, a line each; see :func:`openfingym.data.plausibility.oddities`."""
    for sentence in sentences:
        say(f"  odd: {sentence}")
