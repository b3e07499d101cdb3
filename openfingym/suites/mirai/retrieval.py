"""What a question is given by retrieval: the latest events of the pair in both directions, and the articles that fit
the question best.

After D.5.1 of the paper: events by the rule *pair, undirected* of GPT-NeoX-ICL, the latest 30; articles by BM25, the
best 15. Both are looked up by the tools of the question, so that they are on record as any other call is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from openfingym.suites.mirai import taxonomy
from openfingym.suites.mirai.classes import CAMEOCode, Date, Event, ISOCode, NewsArticle
from openfingym.suites.mirai.question import ObjectQuestion, RelationQuestion

if TYPE_CHECKING:
    from openfingym.suites.suite import Retrieval, SuiteQuestion

RETRIEVES = ("events", "news", "both")
"""What can be looked for."""
LONGEST_CONTENT = 1_500
"""Characters of an article that are given."""


@dataclass(frozen=True)
class Retrieved:
    """What was found; None for what was not looked for."""

    events: tuple[Event, ...] | None
    articles: tuple[NewsArticle, ...] | None


def asked(question: SuiteQuestion) -> RelationQuestion | ObjectQuestion:
    """The question as data."""
    query = {key: str(value) for key, value in question.query.items()}
    day, today = date.fromisoformat(query["date"]), date.fromisoformat(query["today"])
    if "tail" in query:
        return RelationQuestion(day, query["head"], query["tail"], today)
    return ObjectQuestion(day, query["head"], query["relation"], today)


def retrieval(question: SuiteQuestion, what: str, calls: int) -> Retrieval:
    """The latest 30 events of the pair in both directions, and the 15 articles that fit the question best.

    Of a question for countries, the events are those of the country and the relation.

    Args:
        question: the question.
        what: one of :data:`RETRIEVES`.
        calls: how many calls of tools it may make.
    """
    query = asked(question)
    events: tuple[Event, ...] | None = None
    articles: tuple[NewsArticle, ...] | None = None
    if what in {"events", "both"} and calls > 0:
        answer = yield "get_events", _about(query)
        calls -= 1
        rows = answer.value if isinstance(answer.value, list) else []
        events = tuple(Event(Date(day), ISOCode(head), CAMEOCode(code), ISOCode(to)) for day, head, code, to in rows)
    if what in {"news", "both"} and calls > 0:
        answer = yield "get_news_articles", {"text_description": _in_words(query)}
        calls -= 1
        titles = answer.value if isinstance(answer.value, list) else []
        known: list[NewsArticle] = []
        for day, title in titles[: max(calls, 0)]:
            answer = yield "browse_news_article", {"date": day, "title": title}
            text = str(answer.value or "").partition("\n\n")[2]
            known.append(NewsArticle(Date(day), title, text[:LONGEST_CONTENT], []))
        articles = tuple(known)
    return Retrieved(events, articles)


def _about(query: RelationQuestion | ObjectQuestion) -> dict[str, object]:
    if isinstance(query, RelationQuestion):
        pair = [query.head, query.tail]
        return {"head_entities": pair, "tail_entities": pair}
    return {"head_entities": [query.head], "relations": [query.relation]}


def _in_words(query: RelationQuestion | ObjectQuestion) -> str:
    head = taxonomy.country(query.head).name
    if isinstance(query, RelationQuestion):
        return f"({query.day}, {head}, ?, {taxonomy.country(query.tail).name})"
    return f"({query.day}, {head}, {taxonomy.relation(query.relation).name}, ?)"
