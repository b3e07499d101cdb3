"""Finding a quotation in a paper's text: whitespace, hyphens and the bars of tables are forgiven, words are not."""

from __future__ import annotations

import unicodedata
from functools import cached_property

from openfingym_forge.blueprint import Quotation
from openfingym_forge.paper import Paper

LEAST = 2
"""Letters and digits that a quotation must have: one alone stands in any text."""
LONGEST = 1200
"""Characters that a quotation may have: more is a copy of the paper."""
_FORGIVEN = set("-‐‑­|&\\")
"""Characters that are left out of a comparison: hyphens, the bars and signs between cells of tables, backslashes."""
_SAME = str.maketrans("‘’“”–—−", "''\"\"---")
"""Typographic quotation marks and dashes, which count as the plain ones."""


def quotation_at(paper: Paper, start: int, end: int) -> Quotation:
    """The quotation of a stretch of a paper's text.

    Args:
        paper: the paper that is quoted.
        start: offset of the stretch's first character.
        end: offset behind its last character.
    """
    return Quotation(quote=paper.text[start:end], section=paper.section_at(start), start=start)


class QuotedText:
    """A paper's text, in which quotations are looked up."""

    def __init__(self, paper: Paper) -> None:
        """The text of a paper."""
        self.paper = paper

    @cached_property
    def _letters(self) -> tuple[str, list[int]]:
        """The text without what is forgiven, and the offset of each of its characters."""
        return _bare(self.paper.text)

    def find(self, quote: str, *, before: int | None = None) -> Quotation | None:
        """The first place of the text that has these words; None where it has them nowhere.

        Args:
            quote: the words to look for.
            before: offset in the text behind which none of the words may stand; None for anywhere.
        """
        if not quote.strip() or len(quote) > LONGEST:
            return None
        wanted, _ = _bare(quote)
        if sum(letter.isalnum() for letter in wanted) < LEAST:
            return None
        letters, offsets = self._letters
        at = letters.find(wanted)
        while at >= 0:
            start, end = offsets[at], offsets[at + len(wanted) - 1] + 1
            # Matches come in order, so that every later one ends behind this one.
            if before is not None and end > before:
                return None
            if self._whole_words(start, end):
                return quotation_at(self.paper, start, end)
            at = letters.find(wanted, at + 1)
        return None

    def _whole_words(self, start: int, end: int) -> bool:
        """Whether a stretch of the text begins and ends where words or numbers do."""
        text = self.paper.text
        cut_before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
        cut_after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
        # A number cut at its point is another number.
        return not (cut_before or cut_after or _cuts_number(text, start, end))


def _cuts_number(text: str, start: int, end: int) -> bool:
    """Whether a stretch begins right behind, or ends right before, the point or comma inside of a number."""
    before = text[max(start - 2, 0) : start + 1]
    after = text[end - 1 : end + 2]
    return any(
        len(part) == 3 and part[0].isdigit() and part[1] in ".," and part[2].isdigit() for part in (before, after)
    )


def _bare(text: str) -> tuple[str, list[int]]:
    """The characters of a text that are compared, and the offset in the text of each of them."""
    letters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        # One at a time, so that a ligature that becomes several letters keeps its one place.
        for letter in unicodedata.normalize("NFKC", character).translate(_SAME):
            if not letter.isspace() and letter not in _FORGIVEN:
                letters.append(letter)
                offsets.append(offset)
    return "".join(letters), offsets
