"""Blocks of a paper in reading order, as the readers of all its forms give them, and the text that is made of them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from openfingym_forge.paper import PaperSection, PaperTable

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b-\x1f\x7f]")
"""Soft hyphens, marks of width and direction, control characters: what nobody who reads the page sees."""
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_LETTERS = re.compile(r"[^\W_]+")
_ABSTRACT = re.compile(r"^abstract\b\W*", re.IGNORECASE)
_BETWEEN = "\n\n"
"""What stands between two paragraphs of a paper's text."""


@dataclass(frozen=True)
class Block:
    """A title, a heading, a paragraph or a table."""

    kind: Literal["title", "heading", "paragraph", "table"]
    text: str
    """The words; those of a table are its caption."""
    level: int = 1
    """Depth of a heading: 1 for a section, 2 for a subsection."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Cells of a table, row by row."""


@dataclass(frozen=True)
class Composed:
    """A paper's text with what is known of its parts."""

    title: str
    abstract: str
    text: str
    sections: tuple[PaperSection, ...]
    tables: tuple[PaperTable, ...]


def tidy(text: str) -> str:
    """A text with one space wherever there was white space, without ligatures and without what is invisible."""
    plain = _LIGATURES.sub(lambda ligature: unicodedata.normalize("NFKC", ligature[0]), text)
    return " ".join(_INVISIBLE.sub("", plain).split())


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case: equal for one paper in two forms."""
    return "".join(_LETTERS.findall(unicodedata.normalize("NFKC", text).lower()))


def compose(blocks: list[Block]) -> Composed:
    """The text of blocks, one blank line between two. A table is its caption and a line for each row, with `` | ``
    between its cells.

    Returns:
        The text with its sections and tables, whose places are offsets in it.
    """
    title, length = "", 0
    headings: list[tuple[str, int, int]] = []
    tables: list[PaperTable] = []
    # Joined once at the end: a text that grows by one paragraph at a time is copied each time, which takes hours for a
    # file of a million short ones.
    paragraphs: list[str] = []
    for block in blocks:
        words = tidy(block.text)
        rows = tuple(tuple(tidy(cell) for cell in row) for row in block.rows)
        shown = "\n".join([*([words] if words else []), *(" | ".join(row) for row in rows)])
        if not shown:
            continue
        start = length + len(_BETWEEN) if paragraphs else 0
        paragraphs.append(shown)
        length = start + len(shown)
        if block.kind == "title" and not title:
            title = words
        elif block.kind == "heading":
            headings.append((words, block.level, start))
        elif block.kind == "table":
            tables.append(PaperTable(words, rows, start))
    text = _BETWEEN.join(paragraphs)
    ends = [start for _, _, start in headings[1:]] + [len(text)] * bool(headings)
    sections = tuple(PaperSection(*heading, end) for heading, end in zip(headings, ends, strict=True))
    return Composed(title, _abstract(text, sections), text, sections, tuple(tables))


def _abstract(text: str, sections: tuple[PaperSection, ...]) -> str:
    """The abstract: the section of that name, else a paragraph that begins with the word; empty where there is none."""
    for section in sections:
        if _ABSTRACT.match(section.title):
            return text[section.start + len(section.title) : section.end].strip()
    for paragraph in text.split(_BETWEEN, 12)[:12]:
        if found := _ABSTRACT.match(paragraph):
            return paragraph[found.end() :]
    return ""


def joined(lines: list[str], known: str) -> str:
    """Lines of a paragraph as one; a word that was divided at the end of a line is made whole.

    Args:
        lines: lines of the paragraph, in order.
        known: all text of the paper, in lower case: a hyphen belongs to its word if the word stands with it elsewhere.
    """
    text = ""
    for line in lines:
        # The end of the text alone: a search of the whole for each line takes too long for a long paragraph.
        left = re.search(r"(\w+)-$", text[-80:])
        right = re.match(r"[a-z]+", line)
        if left and right:
            keeps_hyphen = f"{left[1]}-{right[0]}".lower() in known
            text = (text if keeps_hyphen else text[:-1]) + line
        else:
            text = f"{text} {line}" if text else line
    return text
