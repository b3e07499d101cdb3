"""The functions of the API on a view of the event database: what was known at a time, and nothing else.

Arguments are values of the API's classes, already checked (:mod:`openfingym_suites.mirai.arguments`). The tables are
``events``, ``articles`` and ``event_articles``. Events of one day are in the order in which they became known, the
latest first, so that the same call always has the same answer.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from openfingym.vault import Between
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.arguments import IllegalCallError, shown
from openfingym_suites.mirai.classes import CAMEOCode, Country, Date, DateRange, Event, ISOCode, Relation
from openfingym_suites.mirai.functions import MOST_ARTICLES, MOST_EVENTS
from openfingym_suites.mirai.matching import likely_countries, likely_relations

if TYPE_CHECKING:
    from openfingym.vault import View

Codes = Sequence[CAMEOCode] | None
Entities = Sequence[ISOCode] | None
_LAST_DAYS = (2, 30)
"""How many days before the last one are looked at for the latest rows, before all days are."""
_SEARCHED = 400
"""How many articles a search for events begins with; four times as many if they report too few events."""


class EventApi:
    """The 14 functions, with the paper's names.

    Args:
        view: what was known at the time of a question.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def map_country_name_to_iso(self, name: str) -> list[Country]:
        """The countries whose names are most like a text."""
        return [Country(ISOCode(country.iso3), country.name) for country in likely_countries(name)]

    def map_iso_to_country_name(self, iso_code: ISOCode) -> str:
        """The name of a country."""
        return taxonomy.country(iso_code.code).name

    def map_relation_description_to_cameo(self, description: str) -> list[Relation]:
        """The relations that a description fits best."""
        return [_relation(listed) for listed in likely_relations(description)]

    def map_cameo_to_relation(self, cameo_code: CAMEOCode) -> Relation:
        """The relation of a code."""
        return _relation(taxonomy.relation(cameo_code.code))

    def get_parent_relation(self, cameo_code: CAMEOCode) -> Relation:
        """The first-level relation above a second-level one."""
        parent = taxonomy.parent_of(cameo_code.code)
        if parent is None:
            raise IllegalCallError(
                "get_parent_relation takes a second-level code of three digits, such as '010', but received the "
                f"first-level code {cameo_code.code!r}, which has no parent.",
                "invalid_relation",
            )
        return _relation(parent)

    def get_child_relations(self, cameo_code: CAMEOCode) -> list[Relation]:
        """The second-level relations below a first-level one."""
        if taxonomy.relation(cameo_code.code).level != 1:
            raise IllegalCallError(
                "get_child_relations takes a first-level code of two digits, such as '01', but received the "
                f"second-level code {cameo_code.code!r}; its parent is {cameo_code.code[:2]!r}.",
                "invalid_relation",
            )
        return [_relation(child) for child in taxonomy.children_of(cameo_code.code)]

    def get_sibling_relations(self, cameo_code: CAMEOCode) -> list[Relation]:
        """The relations with the same parent, itself included."""
        return [_relation(sibling) for sibling in taxonomy.siblings_of(cameo_code.code)]

    def count_events(
        self,
        date_range: DateRange | None = None,
        head_entities: Entities = None,
        tail_entities: Entities = None,
        relations: Codes = None,
    ) -> int:
        """Number of events."""
        return self._view.count("events", _where(date_range, head_entities, tail_entities, relations))

    def get_events(
        self,
        date_range: DateRange | None = None,
        head_entities: Entities = None,
        tail_entities: Entities = None,
        relations: Codes = None,
        text_description: str | None = None,
    ) -> list[Event]:
        """Events, the latest first, or by how well their articles match a text."""
        where = _where(date_range, head_entities, tail_entities, relations)
        if text_description is None:
            rows: Sequence[Mapping[str, Any]] = self._latest("events", where, _EVENT, MOST_EVENTS)
        else:
            rows = self._events_about(text_description, where)
        return [
            Event(Date(row["date"].isoformat()), ISOCode(row["head"]), CAMEOCode(row["relation"]), ISOCode(row["tail"]))
            for row in rows
        ]

    def get_entity_distribution(
        self,
        date_range: DateRange | None = None,
        involved_relations: Codes = None,
        interacted_entities: Entities = None,
        entity_role: str = "both",
    ) -> dict[ISOCode, int]:
        """Number of events by country on the side asked for, the most first."""
        totals: Counter[str] = Counter()
        # The countries that are counted are on one side, so the other side is where the interacting ones must be.
        for role, heads, tails in (("head", None, interacted_entities), ("tail", interacted_entities, None)):
            if entity_role in {role, "both"}:
                where = _where(date_range, heads, tails, involved_relations)
                totals.update({str(code): count for code, count in self._view.counts("events", role, where).items()})
        return {ISOCode(code): count for code, count in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))}

    def get_relation_distribution(
        self, date_range: DateRange | None = None, head_entities: Entities = None, tail_entities: Entities = None
    ) -> dict[CAMEOCode, int]:
        """Number of events by relation, the most first."""
        counts = self._view.counts("events", "relation", _where(date_range, head_entities, tail_entities, None))
        return {CAMEOCode(str(code)): count for code, count in counts.items()}

    def count_news_articles(
        self,
        date_range: DateRange | None = None,
        head_entities: Entities = None,
        tail_entities: Entities = None,
        relations: Codes = None,
        keywords: Sequence[str] | None = None,
    ) -> int:
        """Number of articles."""
        where = self._articles(date_range, head_entities, tail_entities, relations, keywords)
        # The articles with the keywords were looked for among those that meet the other conditions.
        if where is not None and keywords:
            return len(where["id"])
        return 0 if where is None else self._view.count("articles", where)

    def get_news_articles(
        self,
        date_range: DateRange | None = None,
        head_entities: Entities = None,
        tail_entities: Entities = None,
        relations: Codes = None,
        keywords: Sequence[str] | None = None,
        text_description: str | None = None,
    ) -> list[tuple[Date, str]]:
        """Day and title of articles, the latest first, or by how well they match a text."""
        where = self._articles(date_range, head_entities, tail_entities, relations, keywords)
        if where is None:
            return []
        if text_description is None:
            rows: Sequence[Mapping[str, Any]] = self._latest("articles", where, ("date", "title"), MOST_ARTICLES)
        else:
            hits = self._view.search(
                "articles", text_description, where=where, columns=["date", "title"], limit=MOST_ARTICLES
            )
            rows = [hit.row for hit in hits]
        return [(Date(row["date"].isoformat()), row["title"]) for row in rows]

    def browse_news_article(self, date: Date, title: str) -> str:
        """An article's day, title and text; of several with one title, the one that became known first."""
        rows = self._view.rows("articles", {"date": _day(date)}, columns=["id", "title"])
        # Rows are in the order in which they became known, so the first of a title is written last and stays.
        ids = {str(row["title"]): str(row["id"]) for row in reversed(rows)}
        chosen = title if title in ids else _nearest_title(title, list(ids))
        if chosen is None:
            raise IllegalCallError(
                f"There is no article of {date.date} with the title {shown(title)}; that day has {len(rows)} articles. "
                "get_news_articles gives days and titles.",
                "no_such_article",
            )
        (row,) = self._view.rows("articles", {"id": ids[chosen]}, columns=["title", "text"])
        return f"Date: {date.date}\nTitle: {row['title']}\n\n{row['text']}"

    def _latest(
        self, table: str, where: Mapping[str, Any], columns: Sequence[str], limit: int
    ) -> list[dict[str, object]]:
        """The rows of the latest days.

        Args:
            table: name of the table, ``events`` or ``articles``.
            where: conditions that a row must meet, by column.
            columns: columns of the answer.
            limit: the most rows to give.
        """
        within = where.get("date", Between())
        end = within.high or self._view.time.date()
        # If the last days have enough, no earlier one is needed, and nearly all rows need no sorting. A list of ids
        # may be long and is looked up once, since each look costs as much as the whole.
        for days in _LAST_DAYS if "id" not in where else ():
            start = max(within.low or date.min, date.fromordinal(max(end.toordinal() - days, 1)))
            recent = {**where, "date": Between(start, within.high)}
            if self._view.count(table, recent) >= limit:
                return self._view.rows(table, recent, columns=columns, order=["-date"], limit=limit)
        return self._view.rows(table, where, columns=columns, order=["-date"], limit=limit)

    def _articles(
        self,
        date_range: DateRange | None,
        heads: Entities,
        tails: Entities,
        relations: Codes,
        keywords: Sequence[str] | None,
    ) -> dict[str, Any] | None:
        """Conditions on articles, by column; None if no article meets them.

        Countries and relations are those of one of the events that an article reports.
        """
        where: dict[str, Any] = {}
        if date_range is not None:
            where["date"] = _between(date_range)
        if heads or tails or relations:
            reported = self._view.counts("event_articles", "article", _where(None, heads, tails, relations))
            where["id"] = [str(article) for article in reported]
        if keywords:
            where["id"] = self._with_keywords(keywords, where)
        return None if where.get("id") == [] else where

    def _with_keywords(self, keywords: Sequence[str], where: Mapping[str, Any]) -> list[str]:
        """Ids of the articles whose title or text holds every keyword, as whole words, in any case."""
        rows = self._view.holding("articles", keywords, where=where, columns=["id"])
        return [str(row["id"]) for row in rows]

    def _events_about(self, text: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Events by the best match of their articles; equally good ones the latest first."""
        limit, among = _SEARCHED, None
        # The search is among the articles of matching events, or the best articles might be of none of them.
        if where:
            among = {"id": [str(article) for article in self._view.counts("event_articles", "article", where)]}
            if not among["id"]:
                return []
        while True:
            hits = self._view.search("articles", text, where=among, columns=["id"], limit=limit)
            ranks = {str(hit.row["id"]): rank for rank, hit in enumerate(hits)}
            if not ranks:
                return []
            rows = self._view.rows(
                "event_articles", {**where, "article": list(ranks)}, columns=[*_EVENT, "article"], order=["-date"]
            )
            # The sort is stable: events of one article stay with the latest first.
            rows.sort(key=lambda row: ranks[str(row["article"])])
            # An event of several articles stands where the best of them does.
            events: dict[tuple[object, ...], dict[str, Any]] = {}
            for row in rows:
                events.setdefault(tuple(row[name] for name in _EVENT), row)
            # Fewer hits than were asked for are all that there are.
            if len(events) >= MOST_EVENTS or len(hits) < limit:
                return list(events.values())[:MOST_EVENTS]
            limit *= 4


_EVENT = ("date", "head", "relation", "tail")


def _where(date_range: DateRange | None, heads: Entities, tails: Entities, relations: Codes) -> dict[str, Any]:
    """Conditions on events, by column: all of them must be met, each by any of its values."""
    where: dict[str, Any] = {}
    if date_range is not None:
        where["date"] = _between(date_range)
    if heads:
        where["head"] = [head.code for head in heads]
    if tails:
        where["tail"] = [tail.code for tail in tails]
    if relations:
        where["relation"] = _second_level(relations)
    return where


def _second_level(relations: Sequence[CAMEOCode]) -> list[str]:
    """The second-level codes of relations, each once: a first-level code stands for all its children."""
    every = (
        [child.code for child in taxonomy.children_of(relation.code)] if len(relation.code) == 2 else [relation.code]
        for relation in relations
    )
    return list(dict.fromkeys(code for codes in every for code in codes))


def _between(date_range: DateRange) -> Between:
    start, end = date_range.start_date, date_range.end_date
    return Between(None if start is None else _day(start), None if end is None else _day(end))


def _day(day: Date) -> date:
    return date.fromisoformat(day.date)


def _relation(listed: taxonomy.CameoRelation) -> Relation:
    return Relation(CAMEOCode(listed.code), listed.name, listed.description)


def _nearest_title(title: str, titles: Sequence[str]) -> str | None:
    """The title that is nearly the same, such as one copied with other quotes or spaces; None if there is none."""
    near = difflib.get_close_matches(title, titles, n=1, cutoff=0.9)
    return near[0] if near else None
