"""Finding a quotation in a paper's text: whitespace, hyphens and the bars of tables are forgiven, words are not."""

from __future__ import annotations

import unicodedata
from functools import cached_property

from openfingym.forge.blueprint import Quotation
from openfingym.forge.paper import Paper

LEAST = 2
"""Letters and digits of a quotation."""
LONGEST = 1200
"""Characters of a quotation: more is a copy of the paper."""
_FORGIVEN = set("-‐‑­|&\\")
_SAME = str.maketrans("‘’“”–—−", "''\"\"---")


def quotation_at(paper: Paper, start: int, end: int) -> Quotation:
    """What stands in a stretch of a paper's text, from one offset to before another."""
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
            quote: the words.
            before: offset of the text by which they must have ended; None for anywhere.
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
            if before is not None and end > before:
                return None
            if self._whole_words(start, end):
                return quotation_at(self.paper, start, end)
            at = letters.find(wanted, at + 1)
        return None

    def _whole_words(self, start: int, end: int) -> bool:
        text = self.paper.text
        begun = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
        cut = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
        # A number cut at its point is another number.
        return not (begun or cut or _cuts_number(text, start, end))


def _cuts_number(text: str, start: int, end: int) -> bool:
    before = text[max(start - 2, 0) : start + 1]
    after = text[end - 1 : end + 2]
    return any(
        len(part) == 3 and part[0].isdigit() and part[1] in ".," and part[2].isdigit() for part in (before, after)
    )


def _bare(text: str) -> tuple[str, list[int]]:
    letters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).translate(_SAME):
            if not letter.isspace() and letter not in _FORGIVEN:
                letters.append(letter)
                offsets.append(offset)
    return "".join(letters), offsets
