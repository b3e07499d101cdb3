"""What a question is given by retrieval: the latest events of the pair in both directions, and the articles that fit
the question best.

After D.5.1 of the paper: events by the rule *pair, undirected* of GPT-NeoX-ICL, the latest 30; articles by BM25, the
best 15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.suites.mirai import taxonomy
from openfingym.suites.mirai.api import EventApi
from openfingym.suites.mirai.classes import Date, Event, ISOCode, NewsArticle
from openfingym.suites.mirai.functions import MOST_ARTICLES

if TYPE_CHECKING:
    from datetime import date

    from openfingym.vault import View

LONGEST_CONTENT = 1_500
"""Characters of an article that are given."""


@dataclass(frozen=True)
class Retrieved:
    """What was found; None for what was not looked for."""

    events: tuple[Event, ...] | None
    articles: tuple[NewsArticle, ...] | None


def retrieve(view: View, day: date, head: str, tail: str, *, events: bool = True, news: bool = True) -> Retrieved:
    """Events and articles for the question which relations there will be between two countries on a day.

    Args:
        view: what was known at the time of the question.
        day: the day that is asked about.
        head: ISO 3166-1 alpha-3 code of who acts.
        tail: the same of whom it is done to.
        events: whether to look for events.
        news: whether to look for articles.
    """
    pair = [ISOCode(head), ISOCode(tail)]
    found = tuple(EventApi(view).get_events(head_entities=pair, tail_entities=pair)) if events else None
    return Retrieved(found, _articles(view, day, head, tail) if news else None)


def _articles(view: View, day: date, head: str, tail: str) -> tuple[NewsArticle, ...]:
    text = f"({day}, {taxonomy.country(head).name}, ?, {taxonomy.country(tail).name})"
    hits = view.search("articles", text, columns=["date", "title", "text"], limit=MOST_ARTICLES)
    return tuple(
        NewsArticle(Date(str(hit.row["date"])), str(hit.row["title"]), str(hit.row["text"])[:LONGEST_CONTENT], [])
        for hit in hits
    )
