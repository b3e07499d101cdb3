"""Retrieval for a question: the latest events of the pair in both directions, and the articles that fit it best.

As in D.5.1 of the paper: the latest 30 events by the rule *pair, undirected* of GPT-NeoX-ICL, and the best 15 articles
by BM25. Both are looked up by the tools of the question, so that they are on record like any other call.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.classes import CAMEOCode, Date, Event, ISOCode, NewsArticle
from openfingym_suites.mirai.question import ObjectQuestion, RelationQuestion

if TYPE_CHECKING:
    from openfingym.suites.suite import Retrieval, SuiteQuestion

RETRIEVES = ("events", "news", "both")
"""What can be retrieved: events, news articles, or both."""
LONGEST_CONTENT = 1_500
"""How many characters of an article's text are given with the question."""


@dataclass(frozen=True)
class Retrieved:
    """What was retrieved for a question."""

    events: tuple[Event, ...] | None
    """The latest events first; None if events were not looked for."""
    articles: tuple[NewsArticle, ...] | None
    """The best article first; None if articles were not looked for."""


def asked(question: SuiteQuestion) -> RelationQuestion | ObjectQuestion:
    """A question of the suite as data; one without a tail asks for countries."""
    query = {key: str(value) for key, value in question.query.items()}
    day, today = date.fromisoformat(query["date"]), date.fromisoformat(query["today"])
    if "tail" in query:
        return RelationQuestion(day, query["head"], query["tail"], today)
    return ObjectQuestion(day, query["head"], query["relation"], today)


def retrieval(question: SuiteQuestion, what: str, calls: int) -> Retrieval:
    """The latest 30 events of the pair in both directions, and the 15 articles that fit the question best.

    For a question for countries, the events are those of its country and relation. It is a generator: it yields calls
    of tools, is sent their answers, and returns what was retrieved.

    Args:
        question: the question that is asked.
        what: what to retrieve, one of :data:`RETRIEVES`.
        calls: the most calls of tools that may be made.
    """
    query = asked(question)
    events: tuple[Event, ...] | None = None
    articles: tuple[NewsArticle, ...] | None = None
    if what in {"events", "both"} and calls > 0:
        answer = yield "get_events", _about(query)
        calls -= 1
        # A refused call has no value; then there are no events to give.
        rows = answer.value if isinstance(answer.value, list) else []
        events = tuple(Event(Date(day), ISOCode(head), CAMEOCode(code), ISOCode(to)) for day, head, code, to in rows)
    if what in {"news", "both"} and calls > 0:
        answer = yield "get_news_articles", {"text_description": _in_words(query)}
        calls -= 1
        titles = answer.value if isinstance(answer.value, list) else []
        known: list[NewsArticle] = []
        # Titles come by one call, and each text by one more.
        for day, title in titles[: max(calls, 0)]:
            answer = yield "browse_news_article", {"date": day, "title": title}
            # Day and title stand before the first empty line of the answer.
            text = str(answer.value or "").partition("\n\n")[2]
            known.append(NewsArticle(Date(day), title, text[:LONGEST_CONTENT], []))
        articles = tuple(known)
    return Retrieved(events, articles)


def _about(query: RelationQuestion | ObjectQuestion) -> dict[str, object]:
    """Arguments of get_events for what is asked about."""
    if isinstance(query, RelationQuestion):
        # Both countries on both sides are both directions: no event is of a country with itself.
        pair = [query.head, query.tail]
        return {"head_entities": pair, "tail_entities": pair}
    return {"head_entities": [query.head], "relations": [query.relation]}


def _in_words(query: RelationQuestion | ObjectQuestion) -> str:
    """The question as the text to search articles for, with a question mark for what is asked."""
    head = taxonomy.country(query.head).name
    if isinstance(query, RelationQuestion):
        return f"({query.day}, {head}, ?, {taxonomy.country(query.tail).name})"
    return f"({query.day}, {head}, {taxonomy.relation(query.relation).name}, ?)"
