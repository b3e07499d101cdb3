"""The tools for documents: searching news, releases and filings, and reading one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError, shown
from openfingym.suites.lookups import plain, snippet
from openfingym.vault.search import words
from openfingym_suites.findeepforecast.lookup.world import SearchedWorld

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.world.known import Document

DOCUMENT_CHARACTERS = 6_000
"""How many characters of a document are one part, which is read at once."""
DEFAULT_RESULTS = 8
"""How many results a search gives if no limit is asked for."""
LATEST_DAYS = 120
"""How many days back the latest documents about a subject are looked for."""


def search_news(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``search_news``, as JSON.

    Args:
        searched: the world as of the time of the question.
        arguments: the checked arguments of the call.
    """
    query, asked, limit = (arguments[name] for name in ("query", "subject", "limit"))
    assert query is None or isinstance(query, str)
    most = limit if isinstance(limit, int) else DEFAULT_RESULTS
    subject = _subject(searched, str(asked)) if asked is not None else None
    world = searched.world
    if query is not None:
        documents = list(world.search(query, most, subject))
    elif subject is None:
        raise BadCallError("search_news needs the argument query: words to look for; or subject, for its latest news.")
    else:
        since = world.as_of - timedelta(days=LATEST_DAYS)
        # The end of a span is not in it, but what became known at this very time is known.
        recent = world.news(since, world.as_of + timedelta(microseconds=1))
        documents = [document for document in reversed(recent) if document.subject == subject][:most]
    asked_for = words(query or "")
    results = [{**_about(document), "snippet": snippet(document.body, asked_for)} for document in documents]
    answer: dict[str, object] = {"results": results}
    if not documents:
        answer["note"] = "no document was found; try other words, or fewer conditions"
    return answer


def _subject(searched: SearchedWorld, asked: str) -> str:
    """The subject by which documents are filed: a company, or an economy, also that of a series."""
    subject = searched.subject_or_place(asked)
    return searched.series[subject].economy if subject in searched.series else subject


def _about(document: Document) -> dict[str, object]:
    """What an agent is shown of a document beside its text."""
    return {
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "official": document.official,
        "published": plain(document.at),
        "subject": document.subject,
    }


def open_document(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``open_document``, as JSON.

    Args:
        searched: the world as of the time of the question.
        arguments: the checked arguments of the call.
    """
    name, part = arguments["id"], arguments["part"]
    assert isinstance(name, str)
    number = part if isinstance(part, int) else 1
    document = searched.world.document(name)
    if document is None:
        raise BadCallError(f"There is no document {shown(name)}; give an id from the results of search_news.")
    # Rounded up; an empty document has one part too.
    parts = max(-(-len(document.body) // DOCUMENT_CHARACTERS), 1)
    if number > parts:
        raise BadCallError(f"part must be from 1 to {parts}, of which this document has no more; received {number}.")
    start = (number - 1) * DOCUMENT_CHARACTERS
    text = document.body[start : start + DOCUMENT_CHARACTERS]
    return {**_about(document), "part": number, "parts": parts, "text": text}
