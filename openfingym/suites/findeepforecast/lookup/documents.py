"""Documents: searching news, releases and filings, and reading one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError, shown
from openfingym.suites.findeepforecast.lookup.world import SearchedWorld
from openfingym.suites.lookups import plain, snippet
from openfingym.vault.search import words

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.world.known import Document

DOCUMENT_CHARACTERS = 6_000
"""Characters of a part of a document that is read at once."""
DEFAULT_RESULTS = 8
LATEST_DAYS = 120
"""How far back the latest documents of a subject are looked for."""


def search_news(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``search_news``."""
    query, asked, limit = (arguments[name] for name in ("query", "subject", "limit"))
    assert query is None or isinstance(query, str)
    most = limit if isinstance(limit, int) else DEFAULT_RESULTS
    subject = _subject(searched, str(asked)) if asked is not None else None
    world = searched.world
    if query is not None:
        found = list(world.search(query, most, subject))
    elif subject is None:
        raise BadCallError("search_news needs the argument query: words to look for; or subject, for its latest news.")
    else:
        since = world.as_of - timedelta(days=LATEST_DAYS)
        # The end is left out of what is asked for, and what became known at this very time is known.
        recent = world.news(since, world.as_of + timedelta(microseconds=1))
        found = [one for one in reversed(recent) if one.subject == subject][:most]
    asked_for = words(query or "")
    results = [{**_about(one), "snippet": snippet(one.body, asked_for)} for one in found]
    answer: dict[str, object] = {"results": results}
    if not found:
        answer["note"] = "no document was found; try other words, or fewer conditions"
    return answer


def _subject(searched: SearchedWorld, asked: str) -> str:
    """What documents are about: a company, or of a series its economy."""
    subject = searched.subject_or_place(asked)
    return searched.series[subject].economy if subject in searched.series else subject


def _about(one: Document) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "source": one.source,
        "official": one.official,
        "published": plain(one.at),
        "subject": one.subject,
    }


def open_document(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``open_document``."""
    name, part = arguments["id"], arguments["part"]
    assert isinstance(name, str)
    number = part if isinstance(part, int) else 1
    found = searched.world.document(name)
    if found is None:
        raise BadCallError(f"There is no document {shown(name)}; give an id from the results of search_news.")
    parts = max(-(-len(found.body) // DOCUMENT_CHARACTERS), 1)
    if number > parts:
        raise BadCallError(f"part must be from 1 to {parts}, of which this document has no more; received {number}.")
    start = (number - 1) * DOCUMENT_CHARACTERS
    return {**_about(found), "part": number, "parts": parts, "text": found.body[start : start + DOCUMENT_CHARACTERS]}
