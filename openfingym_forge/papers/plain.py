"""Reading a paper that is plain text, with blank lines between its paragraphs."""

from __future__ import annotations

import re

from openfingym_forge.papers.blocks import Block, joined
from openfingym_forge.papers.limits import HTML_BYTES, UnreadableError

_NUMBERED = re.compile(r"^(?P<number>\d+(?:\.\d+)*)\.?\s+(?P<title>[A-Z][^.|]{1,80})$")
"""A heading with a number on a line of its own: ``3.2 Data``."""
_RUN_IN = re.compile(r"^(?P<heading>(?:\d+(?:\.\d+)*\.?\s+[A-Z][\w ,-]{2,50})|Abstract)\.\s+(?=\S)")
"""A heading that ends with a point, with the paragraph behind it on the same line: ``3 Data. We use ...``."""
_BARE = re.compile(r"^(abstract|introduction|conclusions?|references|data|results)$", re.IGNORECASE)
"""A heading without a number on a line of its own."""
_CAPTION = re.compile(r"^table\s+([0-9]+|[IVX]+)\b", re.IGNORECASE)
_RULE = re.compile(r"^[\s=+|-]+$")


def blocks(content: bytes) -> list[Block]:
    """The blocks of a text, the first of which is its title.

    Raises:
        UnreadableError: the text is too large, binary, or empty.
    """
    if len(content) > HTML_BYTES:
        raise UnreadableError(f"it is a text of {len(content) >> 20} MiB; at most {HTML_BYTES >> 20} are read")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if not text.strip():
        raise UnreadableError("it is empty")
    # A few odd signs are a slip of some program; more of them are no text.
    if "\0" in text or sum(not c.isprintable() and c not in "\n\r\t\f" for c in text) > 0.02 * len(text):
        raise UnreadableError("it is binary, and no text")
    parts = [part for part in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")) if part.strip()]
    made = [Block("title", " ".join(parts[0].split()))]
    known = text.lower()
    at = 1
    while at < len(parts):
        lines = parts[at].strip("\n").splitlines()
        following = parts[at + 1].strip("\n").splitlines() if at + 1 < len(parts) else []
        # The rows of a table stand below its caption, with or without a blank line between.
        if _CAPTION.match(lines[0].strip()) and (rows := _rows(lines[1:]) or _rows(following)):
            at += 1 if _rows(lines[1:]) else 2
            made.append(Block("table", lines[0].strip(), rows=rows))
            continue
        at += 1
        made += _text([line.strip() for line in lines], known)
    return made


def _rows(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """Rows of a table whose cells are separated by two spaces or a bar; none if the lines are no table."""
    kept = [line for line in lines if not _RULE.match(line)]
    rows = [tuple(cell for cell in re.split(r"\s*\|\s*|\s{2,}", line.strip().strip("|")) if cell) for line in kept]
    return tuple(rows) if len(rows) > 1 and all(len(row) > 1 for row in rows) else ()


def _text(lines: list[str], known: str) -> list[Block]:
    """The heading and the paragraph that a group of lines is.

    Args:
        lines: lines without a blank one between them.
        known: the whole text in lower case, by which divided words are made whole.
    """
    made = []
    if numbered := _NUMBERED.match(lines[0]):
        made.append(Block("heading", lines[0], numbered["number"].count(".") + 1))
    elif _BARE.match(lines[0]):
        made.append(Block("heading", lines[0]))
    else:
        words = joined(lines, known)
        if run_in := _RUN_IN.match(words):
            made.append(Block("heading", run_in["heading"]))
            words = words[run_in.end() :]
        return [*made, Block("paragraph", words)]
    return [*made, *([Block("paragraph", joined(lines[1:], known))] if lines[1:] else [])]
