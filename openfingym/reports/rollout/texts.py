"""Blocks of text on a page that a model, a program or a stranger wrote: code is coloured, and long texts are folded.

Colours are CSS classes that ``rollout.css`` defines; every character of a text is escaped by Jinja or by Pygments.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.files.strange import parse_json

if TYPE_CHECKING:
    from markupsafe import Markup

    from openfingym.trajectory.record import ToolUse

FOLDED_LINES = 24
"""Most lines of a text that is not folded."""
FOLDED_CHARACTERS = 4_000
"""Most characters of a text that is not folded."""
LONGEST = 200_000
"""Most characters of one text that a page shows."""
COLOURED = 100_000
"""Most characters of code that is coloured, which takes a second for a megabyte."""
FENCE = re.compile(r"```([\w+-]*)[ \t]*")
"""A line that begins or ends code in Markdown, with the name of its language."""
LANGUAGES = {"python": "python", "py": "python", "": "python", "json": "json", "bash": "bash", "sh": "bash"}
"""Lexers of Pygments by the language that a fence names; code in other languages is not coloured."""
SHORT = 60
"""Most characters of an argument that stands beside the name of its tool."""


@dataclass(frozen=True)
class TextBlock:
    """A text as the page shows it."""

    text: str | Markup
    """The text; markup if it is code in colours."""
    code: bool
    """Whether its spaces matter, as in code and in output."""
    lines: int
    """How many lines it has."""
    folded: bool = False
    """Whether it is folded, since it is long."""
    left_out: int = 0
    """How many characters at its end are not shown."""


def text_block(text: str, language: str | None = None, *, code: bool = True) -> TextBlock:
    """Make one block of a text.

    Args:
        text: the text that the block shows.
        language: name of the Pygments lexer that colours it; None for no colours.
        code: whether its spaces matter.
    """
    text = text.strip("\n")
    shown = text[:LONGEST]
    lines = shown.count("\n") + 1
    folded = lines > FOLDED_LINES or len(shown) > FOLDED_CHARACTERS
    return TextBlock(_coloured(shown, language) if language else shown, code, lines, folded, len(text) - len(shown))


def text_blocks(text: str) -> list[TextBlock]:
    """Make blocks of what a model wrote: its words, and the code between fences."""
    # Line by line: a pattern over the whole text would search for the end of each fence again, which takes quadratic
    # time in a text of fences.
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.split("\n"):
        fence, inside = FENCE.fullmatch(line), pieces[-1][0] is not None
        if fence and not (inside and fence[1]):
            pieces.append((None if inside else fence[1].lower(), []))
        else:
            pieces[-1][1].append(line)
    return [
        text_block("\n".join(lines), LANGUAGES.get(fence or "") if fence is not None else None, code=fence is not None)
        for fence, lines in pieces
        if "".join(lines).strip()
    ]


def arguments(call: ToolUse) -> tuple[str, list[TextBlock]]:
    """The short arguments of a call in one line, and the long ones as blocks.

    Arguments that are not a JSON object, which a model may write as well, are one block.
    """
    try:
        values = parse_json(call.arguments or "{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return "", [text_block(call.arguments)]
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    long = [key for key, text in texts.items() if "\n" in text or len(text) > SHORT]
    path = texts.get("path", "")
    beside = ", ".join(f"{key}={text}" for key, text in texts.items() if key not in long)
    return beside, [text_block(texts[key], _language(key, path)) for key in long]


def _language(key: str, path: str) -> str | None:
    """The language of an argument of this name, in a call that is about the file at ``path``."""
    if key == "code" or path.endswith(".py"):
        return "python"
    return "json" if path.endswith(".json") else None


def _coloured(text: str, language: str) -> str | Markup:
    """Code in colours, unless it is too long for that."""
    if len(text) > COLOURED:
        return text
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    # Pygments escapes what it colours.
    return Markup(highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="p-")))  # noqa: S704
