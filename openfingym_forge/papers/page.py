"""Reading a page of HTML, as publishers and arXiv make them."""

from __future__ import annotations

import re
from typing import Any

from openfingym_forge.papers.blocks import Block
from openfingym_forge.papers.limits import HTML_BYTES, UnreadableError

# What stands around a paper on a page, or is a program.
_NOT_OF_THE_PAPER = ["script", "style", "nav", "footer", "aside", "noscript", "template", "iframe", "form", "svg"]
_BLOCKS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dt", "dd", "pre", "blockquote", "table", "figcaption"]
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0", re.IGNORECASE)


def blocks(content: bytes) -> list[Block]:
    """The blocks of a page, without what is hidden from its readers: text that only a program sees may be written to
    steer one.

    Raises:
        UnreadableError: the page is too large, or holds no text.
    """
    from bs4 import BeautifulSoup

    if len(content) > HTML_BYTES:
        raise UnreadableError(f"it is a page of {len(content) >> 20} MiB; at most {HTML_BYTES >> 20} are read")
    soup = BeautifulSoup(content, "lxml")
    for tag in soup.find_all(_NOT_OF_THE_PAPER):
        tag.decompose()
    for tag in soup.find_all(_is_hidden):
        # The list was made before: one inside another is gone with it.
        if not tag.decomposed:
            tag.decompose()
    for tag in soup.find_all("math"):
        tag.replace_with(f" {_formula(tag)} ")
    root = soup.find("article") or soup.find("main") or soup.body
    if root is None or not root.get_text(strip=True):
        raise UnreadableError("the page holds no text")
    made = [_block(tag) for tag in root.find_all(_BLOCKS) if not _is_inside(tag, root)]
    if not made:
        made = [Block("paragraph", root.get_text(" "))]
    if not any(block.kind == "title" for block in made) and soup.title:
        made.insert(0, Block("title", soup.title.get_text(" ")))
    return made


def _is_hidden(tag: Any) -> bool:
    return bool(tag.has_attr("hidden") or _HIDDEN.search(str(tag.get("style", ""))))


def _formula(tag: Any) -> str:
    """A formula in LaTeX, which arXiv's pages bring along; else the letters of its MathML."""
    annotation = tag.find("annotation", attrs={"encoding": "application/x-tex"})
    return str(tag.get("alttext") or (annotation.get_text() if annotation else tag.get_text(" ")))


def _is_inside(tag: Any, root: Any) -> bool:
    """Whether a tag stands in another one that is a block, whose text has its words already."""
    for parent in tag.parents:
        if parent is root:
            return False
        if parent.name in _BLOCKS:
            return True
    return False


def _block(tag: Any) -> Block:
    if tag.name == "h1":
        return Block("title", tag.get_text(" "))
    # The title is h1, so that sections begin with h2.
    if tag.name.startswith("h"):
        return Block("heading", tag.get_text(" "), int(tag.name[1]) - 1)
    if tag.name == "table":
        caption = tag.find("caption")
        figure = tag.find_parent("figure")
        caption = caption or (figure.find("figcaption") if figure else None)
        rows = tuple(
            tuple(cell.get_text(" ") for cell in row.find_all(["td", "th"], recursive=False))
            for row in tag.find_all("tr")
        )
        return Block("table", caption.get_text(" ") if caption else "", rows=rows)
    if tag.name == "figcaption" and (figure := tag.find_parent("figure")) and figure.find("table"):
        return Block("paragraph", "")  # stands with its table
    # No space between letters and what is set apart only by its font: "<i>n</i>-day".
    return Block("paragraph", re.sub(r"\s+", " ", tag.get_text() if not tag.find("br") else tag.get_text(" ")))
