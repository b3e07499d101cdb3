"""Python programs in the text of a model's answer, as fenced code blocks of Markdown."""

from __future__ import annotations

import re

_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?P<mark>[\w+-]*)[^\n]*\n(?P<body>.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
PYTHON = frozenset({"python", "python3", "py"})
"""Marks of a fence, in lower case, that say that its block is Python."""


def blocks(text: str) -> list[str]:
    """Fenced blocks of Python in order; unmarked ones where none is marked. A last block may lack its end."""
    fenced = [(match["mark"].lower(), match["body"]) for match in _BLOCK.finditer(text)]
    marked = [body for mark, body in fenced if mark in PYTHON]
    return [body for body in marked or [body for mark, body in fenced if not mark] if body.strip()]


def first_block(text: str) -> str | None:
    """The first program; later ones were written before the output of the first was seen. None if there is none."""
    return next(iter(blocks(text)), None)


def longest_block(text: str) -> str | None:
    """The longest program, which is taken for the answer among remarks and examples; None if there is none."""
    return max(blocks(text), key=len, default=None)
