"""Reading an article's web page: its title and its paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

_DROPPED = frozenset(
    {"script", "style", "noscript", "template", "nav", "footer", "aside", "form", "button", "figure", "svg", "iframe"}
)
"""Elements whose content is not the article's."""
_TEXT = frozenset({"p", "h2", "h3", "h4", "blockquote", "li"})
"""Elements that are paragraphs."""
_ALWAYS_OPEN = frozenset({"meta", "link", "br", "img", "hr", "input", "source", "wbr", "area", "base", "col", "embed"})
"""Elements that have no end tag."""
TITLE_CHARACTERS = 300
"""How many characters of a title are kept."""
_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"})
"""Codecs of Python that no page is written in; punycode takes time by the square of the length."""
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]{2,40})", re.IGNORECASE)


@dataclass(frozen=True)
class ArticlePage:
    """What is kept of a page."""

    title: str
    """The title that the page states for sharing (``og:title``), else that of its head."""
    text: str
    """The paragraphs, one on each line."""


def read_page(content: bytes) -> ArticlePage:
    """The title and the paragraphs of a page, whatever its markup is like."""
    parser = _Parser()
    parser.feed(_decoded(content))
    parser.close()
    paragraphs = [" ".join(paragraph.split()) for paragraph in parser.paragraphs]
    title = " ".join((parser.stated_title or parser.title).split())[:TITLE_CHARACTERS]
    return ArticlePage(title, "\n".join(paragraph for paragraph in paragraphs if paragraph))


def title_of_url(url: str) -> str:
    """A title made of an address, for want of a better one: the words of the longest part of its path."""
    parts = [unquote(part) for part in urlsplit(url).path.split("/")]
    words = [re.sub(r"\.[a-z]{2,5}$", "", part, flags=re.IGNORECASE) for part in parts]
    named = [" ".join(re.findall(r"[^\W\d_]{2,}", word)) for word in words]
    title = max(named, key=len, default="")
    return (title[:1].upper() + title[1:])[:TITLE_CHARACTERS] or urlsplit(url).netloc


class _Parser(HTMLParser):
    """Collects titles and paragraphs, whatever elements are open: real pages close few of them properly."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.stated_title = ""
        self.paragraphs: list[str] = []
        self._dropped: list[str] = []
        self._in_title = False
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ALWAYS_OPEN:
            if tag == "meta" and not self.stated_title and ("property", "og:title") in attrs:
                self.stated_title = dict(attrs).get("content") or ""
            return
        if tag in _DROPPED:
            self._dropped.append(tag)
        elif not self._dropped:
            self._in_title = tag == "title"
            if tag in _TEXT:
                self.paragraphs.append("")
                self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in self._dropped:
            # Dropped elements that were opened within it and never closed end with it, or no text would follow.
            del self._dropped[len(self._dropped) - 1 - self._dropped[::-1].index(tag) :]
        elif tag == "title":
            self._in_title = False
        elif tag in _TEXT:
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._in_title:
            self.title += data
        elif self._open:
            self.paragraphs[-1] += data


def _decoded(content: bytes) -> str:
    """A page as text: by the encoding that it states, else as UTF-8, else as what most other pages are in."""
    match = _CHARSET.search(content[:4096])
    stated = match[1].decode().lower().replace("-", "_") if match else "utf_8"
    for name in ("utf_8",) if stated in _NO_CHARSETS else (stated, "utf_8"):
        # What a page states may be the name of no encoding, or of another one than it is in.
        try:
            return content.decode(name)
        except (LookupError, UnicodeError):
            continue
    return content.decode("cp1252", "replace")
