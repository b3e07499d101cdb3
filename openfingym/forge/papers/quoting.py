"""Finding a quotation in a paper's text."""

from __future__ import annotations

import re

from openfingym.forge.blueprint import Quotation
from openfingym.forge.paper import Paper

LONGEST = 600


def quotation_at(paper: Paper, start: int, end: int) -> Quotation:
    """What stands in a stretch of the text."""
    return Quotation(quote=paper.text[start:end], section=paper.section_at(start), start=start)


def find_quotation(paper: Paper, quote: str, *, start: int = 0, end: int | None = None) -> Quotation | None:
    """The first place where a paper has these words, whatever the room between them; None where it has them nowhere.

    Args:
        paper: the paper.
        quote: the words.
        start: offset from which on they are looked for.
        end: offset before which they must end.
    """
    words = quote.split()
    if not words or len(quote) > LONGEST:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found = pattern.search(paper.text, start, len(paper.text) if end is None else end)
    return quotation_at(paper, *found.span()) if found else None
