"""Programs in a model's answer."""

from __future__ import annotations

import re

_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?P<mark>[\w+-]*)[^\n]*\n(?P<body>.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
PYTHON = frozenset({"python", "python3", "py"})


def blocks(text: str) -> list[str]:
    """Fenced blocks of Python in order; unmarked ones where none is marked. A last block may lack its end."""
    found = [(match["mark"].lower(), match["body"]) for match in _BLOCK.finditer(text)]
    marked = [body for mark, body in found if mark in PYTHON]
    return [body for body in marked or [body for mark, body in found if not mark] if body.strip()]


def first_block(text: str) -> str | None:
    """The first program: what follows it was written before its output was seen."""
    return next(iter(blocks(text)), None)


def longest_block(text: str) -> str | None:
    """The program among remarks and examples."""
    return max(blocks(text), key=len, default=None)
