"""A paper as the forge reads it: its text, its sections and its tables, each with its place in the text.

Every place is an offset in :attr:`Paper.text`, counted in characters from 0, so that a quotation can be checked against
the text without searching for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PaperForm = Literal["pdf", "html", "latex", "text"]
"""What a paper's file is written in."""


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
    """Offset behind the section's last character, where the next section of any level begins."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    caption: str
    """Empty where the table has none."""
    rows: tuple[tuple[str, ...], ...]
    """Cells as texts, the header first."""
    start: int
    """Offset in the paper's text at which its caption or first cell stands."""


@dataclass(frozen=True)
class Paper:
    """One paper."""

    key: str
    """Name of the paper's folder: the first words of its title in kebab-case, and eight digits of its digest."""
    title: str
    abstract: str
    """Empty where none was found."""
    text: str
    """The whole text in reading order, normalised: lines joined to paragraphs, one blank line between two."""
    sections: tuple[PaperSection, ...]
    tables: tuple[PaperTable, ...]
    language: str
    """ISO 639-1 code of the language of the text, ``en`` for English; ``und`` where it cannot be told."""
    form: PaperForm
    origin: str
    """Path or address that the paper was read from, as its user gave it."""
    digest: str
    """SHA-256 of the file's bytes, in hexadecimal digits."""
    text_digest: str
    """SHA-256 of the text's letters and digits in lower case: equal for one paper in two forms."""
    licence: str = ""
    """Licence that the paper states for itself; empty where it states none."""
    arxiv_id: str = ""
    """Number at arXiv, with the version where it is known; empty for a paper from elsewhere."""

    def section_at(self, offset: int) -> str:
        """Title of the innermost section at an offset of the text; empty before the first section."""
        around = [section for section in self.sections if section.start <= offset < section.end]
        return max(around, key=lambda section: section.level).title if around else ""
