"""Reading a PDF: words with their places become lines, columns, paragraphs, headings and tables."""

from __future__ import annotations

import io
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from openfingym_forge.papers.blocks import Block, joined
from openfingym_forge.papers.limits import PAGES, UnreadableError

_CAPTION = re.compile(r"^table\s+([0-9]+|[IVX]+)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^(\d+(?:\.\d+)*)\.?\s")
_NO_END = re.compile(r"[^.:?!]$")
"""The end of a text within a sentence."""
_GUTTER_POINTS = 9
"""Least room between two columns, in points: LaTeX leaves 10 where nobody says more, and less stands between words."""


@dataclass(frozen=True)
class PageLine:
    """Words that stand beside each other in one column."""

    words: tuple[dict[str, Any], ...]
    """Words as pdfplumber gives them, with places in points from the top left corner."""
    page: int
    """Number of the page, from 0."""
    column: int
    """1 for the left and 2 for the right of two columns; 0 for what stands across both, or on a page of one."""

    @property
    def text(self) -> str:
        """The words with one blank between two."""
        return " ".join(word["text"] for word in self.words)

    @property
    def top(self) -> float:
        """Distance from the top of the page, in points."""
        return float(min(word["top"] for word in self.words))

    @property
    def size(self) -> float:
        """Size of the line's largest letters, in points."""
        return float(max(word["size"] for word in self.words))

    @property
    def bold(self) -> bool:
        """Whether all words are bold; a PDF says so by the names of its fonts alone."""
        return all(re.search(r"bold|black|heavy|cmbx|-medi", word["fontname"], re.IGNORECASE) for word in self.words)

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as cells of a table: its words, divided where there is more room than between words."""
        cells = [[self.words[0]["text"]]]
        for before, word in pairwise(self.words):
            # Nearly the size of the letters; a blank is a third of it, and somewhat more where a line is justified.
            if word["x0"] - before["x1"] > 0.95 * word["size"]:
                cells.append([])
            cells[-1].append(word["text"])
        return tuple(" ".join(cell) for cell in cells)


def blocks(content: bytes) -> list[Block]:
    """The blocks of a PDF.

    Raises:
        UnreadableError: the PDF is damaged, encrypted, too long, or holds no text.
    """
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect

    pages: list[tuple[list[dict[str, Any]], float]] = []
    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > PAGES:
                raise UnreadableError(f"it has {len(document.pages):,} pages; at most {PAGES} are read")
            for page in document.pages:
                words = page.extract_words(extra_attrs=["fontname", "size"], x_tolerance=1.5)
                pages.append(([word for word in words if word["text"].strip()], float(page.width)))
                # Frees the page's objects, which else stay in memory until the last page is read.
                page.close()
    except UnreadableError:
        raise
    # The parser raises whatever a damaged file brings about.
    except Exception as error:
        if isinstance(error, PDFPasswordIncorrect) or "PasswordIncorrect" in repr(error):
            raise UnreadableError("it is encrypted; give a copy that opens without a password") from None
        # The parser gives its own name to whatever happens in it.
        if isinstance(error.__cause__ or error.__context__ or error, MemoryError | RecursionError):
            raise UnreadableError("reading it takes more memory than is allowed") from None
        raise UnreadableError(f"it is no PDF that can be read ({type(error).__name__})") from None
    # The fullest page tells how many columns there are: one with little text but a table looks like two.
    fullest = max(pages, key=lambda page: len(page[0]), default=([], 0.0))
    gutter = _gutter(_rows(fullest[0]), fullest[1])
    lines = _without_margins(
        [line for number, (words, _) in enumerate(pages) for line in _lines(words, gutter, number)]
    )
    if sum(len(line.text) for line in lines) < 20:
        raise UnreadableError("its pages hold no text, as of a scan; give a copy with text, or its source")
    return _blocks(lines)


def _rows(words: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Words by the height at which they stand, from top to bottom, and from left to right in each row."""
    rows: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda word: (word["bottom"], word["x0"])):
        # Not at the same height exactly: indices, and words of another size, stand a little above or below.
        if rows and word["bottom"] - rows[-1][0]["bottom"] < 0.4 * word["size"]:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word["x0"]) for row in rows]


def _lines(words: list[dict[str, Any]], gutter: float | None, page: int) -> list[PageLine]:
    """Lines of a page in reading order. A line across both columns ends what stands above it in either: first the left
    column of that, then the right one.

    Args:
        words: words of the page, in any order.
        gutter: distance in points of the middle of the gutter from the left; None for a page of one column.
        page: number of the page, from 0.
    """
    rows = _rows(words)
    if gutter is None:
        return [PageLine(tuple(row), page, 0) for row in rows]
    lines: list[PageLine] = []
    # Words of both columns since the last line across them.
    band: list[dict[str, Any]] = []

    def columns() -> list[PageLine]:
        # Made into rows once more, since lines of the two columns need not stand at the same heights.
        sides = ([w for w in band if w["x1"] <= gutter], [w for w in band if w["x1"] > gutter])
        return [PageLine(tuple(row), page, column) for column, side in enumerate(sides, 1) for row in _rows(side)]

    for row in rows:
        if _room(row, gutter) < _GUTTER_POINTS:
            lines += [*columns(), PageLine(tuple(row), page, 0)]
            band = []
        else:
            band += row
    return lines + columns()


def _room(row: list[dict[str, Any]], x: float) -> float:
    """Width in points of the gap of a row around ``x``; infinite if nothing stands on one side of it, 0 if a word
    crosses it.
    """
    if any(word["x0"] < x < word["x1"] for word in row):
        return 0.0
    left = [word["x1"] for word in row if word["x1"] <= x]
    right = [word["x0"] for word in row if word["x0"] >= x]
    return float(min(right) - max(left)) if left and right else float("inf")


def _gutter(rows: list[list[dict[str, Any]]], width: float) -> float | None:
    """The middle of the room between two columns, in points from the left; None for a page of one column."""
    best: tuple[int, float] | None = None
    # Gutters lie near the middle: within 8 % of the page's width of it.
    for step in range(-20, 21):
        x = width * (0.5 + step * 0.004)
        rooms = [_room(row, x) for row in rows]
        free = sum(room >= _GUTTER_POINTS for room in rooms)
        left = sum(any(word["x1"] <= x for word in row) for row in rows)
        right = sum(any(word["x0"] >= x for word in row) for row in rows)
        # Titles, wide figures and formulas may cross it; most rows do not.
        fits = free >= 0.6 * len(rows) and left >= 5 and right >= 5
        # Rows with words on both sides: a page of short lines is free on the right as well.
        both = sum(_GUTTER_POINTS <= room < float("inf") for room in rooms)
        if fits and both >= 0.15 * len(rows) and (best is None or free > best[0]):
            best = (free, x)
    return best[1] if best else None


def _without_margins(lines: list[PageLine]) -> list[PageLine]:
    """Lines without page numbers, and without what stands at the same place of most pages: running heads and feet."""
    pages = 1 + max((line.page for line in lines), default=0)
    # Digits alike, since a running head may hold the number of its page.
    places = Counter((round(line.top), re.sub(r"\d+", "#", line.text)) for line in lines)
    last = {page: max(line.top for line in lines if line.page == page) for page in {line.page for line in lines}}
    return [
        line
        for line in lines
        if not (pages > 2 and places[round(line.top), re.sub(r"\d+", "#", line.text)] > pages / 2)
        and not (line.text.isdigit() and line.top == last[line.page])
    ]


def _blocks(lines: list[PageLine]) -> list[Block]:
    """The blocks that lines in reading order are."""
    # A PDF has no paragraphs: what they are is told by the usual size of letters and distance of lines.
    body = statistics.median(line.size for line in lines)
    known = " ".join(line.text for line in lines).lower()
    steps = [b.top - a.top for a, b in pairwise(lines) if 0 < b.top - a.top < 3 * body]
    leading = statistics.mode([round(step) for step in steps]) if steps else 1.2 * body
    made: list[Block] = []
    at = 0
    title_size = max((line.size for line in lines if line.page == 0), default=0.0)
    while at < len(lines):
        line = lines[at]
        if _CAPTION.match(line.text) and (end := _table_end(lines, at)):
            first = next(i for i in range(at, end) if len(lines[i].cells) > 1 and not _CAPTION.match(lines[i].text))
            caption = joined([each.text for each in lines[at:first]], known)
            made.append(Block("table", caption, rows=tuple(row.cells for row in lines[first:end])))
            at = end
            continue
        end = at + 1
        # The largest letters of the first page, if they are larger than those of the text.
        is_title = line.page == 0 and title_size > 1.15 * body and line.size >= title_size - 0.2
        while end < len(lines) and _goes_on(lines[end - 1], lines[end], leading) and not _starts_table(lines, end):
            end += 1
        text = joined([each.text for each in lines[at:end]], known)
        if is_title:
            made.append(Block("title", text))
        # A whole paragraph in bold is no heading.
        elif line.bold and len(text) < 120:
            number = _NUMBER.match(text)
            made.append(Block("heading", text, number[1].count(".") + 1 if number else 1))
        elif _is_rest(made, lines, at):
            made[-1] = Block("paragraph", joined([made[-1].text, text], known))
        else:
            made.append(Block("paragraph", text))
        at = end
    return made


def _goes_on(before: PageLine, line: PageLine, leading: float) -> bool:
    """Whether a line belongs to the same paragraph as the one before."""
    if (before.page, before.column) != (line.page, line.column) or before.bold != line.bold:
        return False
    # A step of somewhat more than usual, as where a line has an index, and never less than the letters need.
    return abs(before.size - line.size) < 0.6 and line.top - before.top < max(1.25 * leading, 1.35 * line.size)


def _is_rest(made: list[Block], lines: list[PageLine], at: int) -> bool:
    """Whether the line at ``at`` goes on with the last paragraph, behind the end of its column or page."""
    if not at or not made or made[-1].kind != "paragraph":
        return False
    before, line = lines[at - 1], lines[at]
    moved = before.page != line.page or (before.column == 1 and line.column == 2)
    return moved and abs(before.size - line.size) < 0.6 and bool(_NO_END.search(made[-1].text))


def _starts_table(lines: list[PageLine], at: int) -> bool:
    return bool(_CAPTION.match(lines[at].text)) and bool(_table_end(lines, at))


def _table_end(lines: list[PageLine], at: int) -> int:
    """Index behind the last row of the table whose caption begins at a line; 0 if there is no table of two rows."""
    # A caption may have several lines before the first row.
    first = next((i for i in range(at + 1, min(at + 5, len(lines))) if len(lines[i].cells) > 1), 0)
    end = first
    while first and end < len(lines) and len(lines[end].cells) > 1 and lines[end].column == lines[first].column:
        end += 1
    return end if end - first >= 2 else 0
