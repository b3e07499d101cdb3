"""A paper as the forge reads it: its text, its sections and its tables, and where in the text something stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PaperForm = Literal["pdf", "html", "latex", "text"]


@dataclass(frozen=True)
class PaperSection:
    """A stretch of a paper's text below one heading."""

    title: str
    """Heading with its number, as ``3.2 Data``; ``Abstract`` for the abstract."""
    level: int
    """1 for a section, 2 for a subsection, and so on."""
    start: int
    """Offset of the heading's first character in the paper's text."""
    end: int
    """Offset behind its last character, before the next section of any level."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    caption: str
    rows: tuple[tuple[str, ...], ...]
    """Cells as texts, the header first."""
    start: int
    """Offset in the paper's text at which its caption or first cell stands."""


@dataclass(frozen=True)
class Paper:
    """One paper."""

    key: str
    """Name of its folder: kebab-case of its title's first words, and eight digits of its digest."""
    title: str
    abstract: str
    text: str
    """The whole text in reading order, normalised: lines joined to paragraphs, one blank line between two."""
    sections: tuple[PaperSection, ...]
    tables: tuple[PaperTable, ...]
    language: str
    """ISO 639-1 code of the language of the text, ``en`` for English; ``und`` where it cannot be told."""
    form: PaperForm
    origin: str
    """Path or address it was read from, as its user gave it."""
    digest: str
    """SHA-256 of the file's bytes, in hexadecimal digits."""
    text_digest: str
    """SHA-256 of the text's letters and digits in lower case: equal for one paper in two forms."""
    licence: str = ""
    """Licence that the paper states for itself; empty where it states none."""
    arxiv_id: str = ""

    def section_at(self, offset: int) -> str:
        """Title of the innermost section at an offset of the text; empty before the first."""
        found = [section for section in self.sections if section.start <= offset < section.end]
        return max(found, key=lambda section: section.level).title if found else ""
