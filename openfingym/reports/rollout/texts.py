"""Texts that a model, a program or a stranger wrote, as blocks of a page: code in colours, long ones folded.

Colours are classes that ``rollout.css`` knows; every character of a text is escaped by Jinja or by Pygments.
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
"""Lines from which a text is folded."""
FOLDED_CHARACTERS = 4_000
LONGEST = 200_000
"""Characters of one text that a page shows."""
COLOURED = 100_000
"""Characters up to which code is in colours, which takes a second a megabyte."""
FENCE = re.compile(r"```([\w+-]*)[ \t]*")
LANGUAGES = {"python": "python", "py": "python", "": "python", "json": "json", "bash": "bash", "sh": "bash"}
"""Lexers of Pygments by what stands behind a fence; other code has no colours."""
SHORT = 60
"""Characters of an argument that stands beside the name of its tool."""


@dataclass(frozen=True)
class Block:
    """A text as the page shows it."""

    text: str | Markup
    """Markup where it is code in colours."""
    code: bool
    """Whether its spaces matter, as in code and in output."""
    lines: int
    folded: bool = False
    left_out: int = 0
    """Characters at the end that are not shown."""


def block(text: str, language: str | None = None, *, code: bool = True) -> Block:
    """A text as one block; code where a language is named."""
    text = text.strip("\n")
    shown = text[:LONGEST]
    lines = shown.count("\n") + 1
    folded = lines > FOLDED_LINES or len(shown) > FOLDED_CHARACTERS
    return Block(_coloured(shown, language) if language else shown, code, lines, folded, len(text) - len(shown))


def blocks(text: str) -> list[Block]:
    """What a model wrote: its words, and the code between fences."""
    # Line by line: a pattern over the whole text would look for the end of each fence again and again.
    pieces: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.split("\n"):
        fence, inside = FENCE.fullmatch(line), pieces[-1][0] is not None
        if fence and not (inside and fence[1]):
            pieces.append((None if inside else fence[1].lower(), []))
        else:
            pieces[-1][1].append(line)
    return [
        block("\n".join(lines), LANGUAGES.get(fence or "") if fence is not None else None, code=fence is not None)
        for fence, lines in pieces
        if "".join(lines).strip()
    ]


def arguments(call: ToolUse) -> tuple[str, list[Block]]:
    """The short arguments of a call on one line, and the long ones as blocks."""
    try:
        given = parse_json(call.arguments or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return "", [block(call.arguments)]
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    long = [key for key, text in texts.items() if "\n" in text or len(text) > SHORT]
    path = texts.get("path", "")
    beside = ", ".join(f"{key}={text}" for key, text in texts.items() if key not in long)
    return beside, [block(texts[key], _language(key, path)) for key in long]


def _language(key: str, path: str) -> str | None:
    """The language of an argument: a program's by its name, a file's by its path."""
    if key == "code" or path.endswith(".py"):
        return "python"
    return "json" if path.endswith(".json") else None


def _coloured(text: str, language: str) -> str | Markup:
    if len(text) > COLOURED:
        return text
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    # Pygments escapes what it colours.
    return Markup(highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="p-")))  # noqa: S704
