"""Monthly test sets: a hundred balanced queries of a month, with their answers.

A query asks which relations there are between two countries on a day ``(t + l, s, ?, o)``, or towards which countries
one takes a relation ``(t + l, s, r, ?)``. It is the same query at every horizon l: its day stays, and what is known
ends l days before.

An event qualifies if enough was written about it: at least 100 mentions and 5 articles on its whole day. Under the rule
``minimum``, that of the paper's code, every event of a query must qualify; under ``any``, one of them must. Answers are
from the full database either way. Among the queries that qualify, one after another is picked: of fifty that are drawn,
the one that keeps days, first-level relations, regions and countries most even.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.vault import Between
from openfingym_suites.mirai.months import days_of
from openfingym_suites.mirai.taxonomy import countries, country, relation, relations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.vault import Vault

HORIZONS = (1, 7, 30, 90)
"""Days between what is known and the day that is asked about, as in the paper."""
PAPER_MONTHS = ("2023-11", "2023-12", "2024-01", "2024-02")
"""Months of the paper's test sets."""
QUERIES = 100
"""How many queries the test set of a month has."""
MENTIONS, ARTICLES = 100, 5
"""The fewest mentions and articles on its whole day with which an event qualifies."""
TRIES = 50
"""How many queries are drawn for each one that is picked."""
WEIGHTS = {"date": 1.0, "root": 1.0, "region": 0.4, "country": 0.2}
"""Weights of the variances of the counts of days, first-level relations, regions and countries among the queries."""
Rule = Literal["minimum", "any"]
_NO_COUNTRY, _NO_RELATION = "", ""


@dataclass(frozen=True)
class Query:
    """A query of a test set, with its answer."""

    id: str
    """Unique in its test set: its month, ``r`` or ``o``, and its number, such as ``2024-02-r017``."""
    date: date
    """The day that is asked about."""
    head: str
    """ISO 3166-1 alpha-3 code of the country that acts."""
    tail: str
    """ISO code of the country that is acted upon; empty if it is asked for."""
    relation: str
    """Second-level code of the relation; empty if it is asked for."""
    answers: tuple[str, ...]
    """The true answers: second-level codes of relations, or ISO codes of tails, in alphabetical order."""

    @property
    def asks_for_relations(self) -> bool:
        """Whether it asks for relations, rather than tails."""
        return self.relation == _NO_RELATION

    @property
    def by_root(self) -> dict[str, tuple[str, ...]]:
        """The answer of a relation query by first-level codes, in the form that agents answer in."""
        by_root: dict[str, list[str]] = defaultdict(list)
        for code in self.answers if self.asks_for_relations else ():
            by_root[relation(code).root].append(code)
        return {root: tuple(codes) for root, codes in by_root.items()}


def as_of(day: date, horizon: int) -> datetime:
    """The last moment, in UTC, of which anything is known when a day is asked about: the end of an earlier day.

    Args:
        day: the day that is asked about.
        horizon: how many days earlier the last known day is, at least 1.

    Raises:
        UsageError: the horizon is less than a day.
    """
    if horizon < 1:
        raise UsageError(f"a horizon of {horizon} days: expected 1 or more, such as {', '.join(map(str, HORIZONS))}")
    return datetime.combine(day - timedelta(days=horizon), time.max, UTC)


def relation_queries(
    vault: Vault,
    month: str,
    *,
    count: int = QUERIES,
    seed: int = 0,
    rule: Rule = "minimum",
    mentions: int = MENTIONS,
    articles: int = ARTICLES,
) -> tuple[Query, ...]:
    """Balanced queries of a month for relations, in the order of their days.

    Args:
        vault: the vault with the final tables of the suite.
        month: the month, such as ``2024-02``.
        count: how many queries to pick.
        seed: seed of the drawing; the same seed gives the same queries of one vault.
        rule: ``minimum`` if every event of a query must qualify, ``any`` if one must.
        mentions: the fewest mentions on its whole day with which an event qualifies.
        articles: the fewest articles on its whole day with which an event qualifies.

    Raises:
        UsageError: the month, the rule or the count is not possible.
        DataError: fewer queries qualify than are asked for.
    """
    rows = _events(vault, month)
    groups = _qualified(rows, lambda row: (row.date, row.head, row.tail), rule, mentions, articles)
    return _test_set(month, "r", groups, count, seed)


def object_queries(
    vault: Vault,
    month: str,
    *,
    count: int = QUERIES,
    seed: int = 0,
    rule: Rule = "minimum",
    mentions: int = MENTIONS,
    articles: int = ARTICLES,
) -> tuple[Query, ...]:
    """Balanced queries of a month for tails, in the order of their days; the arguments are those of
    :func:`relation_queries`.
    """
    rows = _events(vault, month)
    groups = _qualified(rows, lambda row: (row.date, row.head, row.relation), rule, mentions, articles)
    return _test_set(month, "o", groups, count, seed)


def months_of(vault: Vault) -> tuple[str, ...]:
    """Months that can be asked about: events reach to their last day, and back by the longest horizon before them."""
    view = vault.as_of(_EVER)
    days = view.counts("events", "date")
    known = sorted(day for day in days if isinstance(day, date))
    if not known:
        return ()
    first = known[0] + timedelta(days=max(HORIZONS))
    months = sorted({f"{day:%Y-%m}" for day in known})
    return tuple(month for month in months if days_of(month)[0] >= first and days_of(month)[1] <= known[-1])


@dataclass(frozen=True)
class _Row:
    """An event of a month, with how much was written about it on its whole day."""

    date: date
    head: str
    relation: str
    tail: str
    mentions: int
    articles: int


_EVER = datetime(9999, 1, 1, tzinfo=UTC)
"""A time as of which everything is known: answers are from the full database."""


def _events(vault: Vault, month: str) -> list[_Row]:
    """All events of a month, in an order that does not depend on the vault's."""
    first, last = days_of(month)
    rows = vault.as_of(_EVER).rows("event_totals", where={"date": Between(first, last)})
    names = ("date", "head", "relation", "tail", "mentions", "articles")
    events = [_Row(*(row[name] for name in names)) for row in rows]  # type: ignore[arg-type]
    return sorted(events, key=lambda row: (row.date, row.head, row.tail, row.relation))


def _qualified(
    rows: Iterable[_Row], key: Callable[[_Row], tuple[date, str, str]], rule: Rule, mentions: int, articles: int
) -> list[list[_Row]]:
    """The events of each query that qualifies, in the order of the queries.

    Args:
        rows: all events of the month.
        key: what an event's query states: its day and two of head, relation and tail.
        rule: whether every event of a query must qualify, or any.
        mentions: the fewest mentions with which an event qualifies.
        articles: the fewest articles with which an event qualifies.
    """
    if rule not in {"minimum", "any"}:
        raise UsageError(f"{rule!r} is no rule; expected minimum or any")
    groups: dict[tuple[date, str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    holds = all if rule == "minimum" else any
    return [
        group
        for _, group in sorted(groups.items())
        if holds(row.mentions >= mentions and row.articles >= articles for row in group)
    ]


def _test_set(month: str, letter: str, groups: Sequence[Sequence[_Row]], count: int, seed: int) -> tuple[Query, ...]:
    """The queries of a test set, from the events of each query that qualifies.

    Args:
        month: the month, such as ``2024-02``.
        letter: ``r`` if relations are asked for, ``o`` if tails are.
        groups: the events of each query.
        count: how many queries to pick.
        seed: seed of the drawing.
    """
    if count < 1:
        raise UsageError(f"{count} queries: expected 1 or more")
    if len(groups) < count:
        raise DataError(
            f"{month} has {len(groups)} queries whose events are written of enough, and {count} are wanted; ask for "
            "fewer, or take in more articles"
        )
    year, number = (int(part) for part in month.split("-"))
    # Each month and form has a stream of its own, so that one test set does not depend on which others are made.
    rng = np.random.Generator(np.random.PCG64([seed, year, number, ord(letter)]))
    chosen = sorted(_balanced([_features(group) for group in groups], count, rng))
    relation_asked = letter == "r"
    queries = []
    for place, index in enumerate(chosen):
        group = groups[index]
        first = group[0]
        queries.append(
            Query(
                id=f"{month}-{letter}{place:03d}",
                date=first.date,
                head=first.head,
                tail=first.tail if relation_asked else _NO_COUNTRY,
                relation=_NO_RELATION if relation_asked else first.relation,
                answers=tuple(sorted({row.relation if relation_asked else row.tail for row in group})),
            )
        )
    return tuple(queries)


def _features(group: Sequence[_Row]) -> dict[str, list[int]]:
    """What a query is balanced by: the numbers of its day, first-level relations, regions and countries."""
    places = _places()
    ends = sorted({row.head for row in group} | {row.tail for row in group})
    return {
        "date": [group[0].date.day - 1],
        "root": sorted({places["root"][relation(row.relation).root] for row in group}),
        "region": [places["region"][country(end).region] for end in ends],
        "country": [places["country"][end] for end in ends],
    }


@cache
def _places() -> Mapping[str, Mapping[str, int]]:
    regions = sorted({listed.region for listed in countries()})
    return {
        "root": {root.code: index for index, root in enumerate(relations(1))},
        "region": {name: index for index, name in enumerate(regions)},
        "country": {listed.iso3: index for index, listed in enumerate(countries())},
    }


def _balanced(features: Sequence[Mapping[str, Sequence[int]]], count: int, rng: np.random.Generator) -> list[int]:
    """Numbers of ``count`` queries, picked one after another.

    Args:
        features: what each query is balanced by, as :func:`_features` gives it.
        count: how many queries to pick.
        rng: generator that draws the queries that each pick is made from.
    """
    numbers = {name: _counted([feature[name] for feature in features]) for name in WEIGHTS}
    counts = {name: np.zeros(rows.shape[1]) for name, rows in numbers.items()}
    left = list(range(len(features)))
    picked = []
    for _ in range(count):
        drawn = rng.choice(len(left), size=min(TRIES, len(left)), replace=False).tolist()
        queries = [left[place] for place in drawn]
        uneven = _unevenness(counts, {name: rows[queries] for name, rows in numbers.items()}).tolist()
        # Of equally even queries the first by its number, so that the pick does not follow from the order of the draw.
        _, index, place = min(zip(uneven, queries, drawn, strict=True))
        del left[place]
        for name, rows in numbers.items():
            counts[name] += rows[index]
        picked.append(index)
    return picked


def _counted(places: Sequence[Sequence[int]]) -> NDArray[np.uint16]:
    """How often each query has each place, uint16[queries, places]."""
    counted = np.zeros((len(places), 1 + max(max(of_query) for of_query in places)), np.uint16)
    rows = np.repeat(np.arange(len(places)), [len(of_query) for of_query in places])
    columns = np.array([place for of_query in places for place in of_query])
    np.add.at(counted, (rows, columns), 1)
    return counted


def _unevenness(
    counts: Mapping[str, NDArray[np.float64]], more: Mapping[str, NDArray[np.uint16]]
) -> NDArray[np.float64]:
    """The weighted sum of the variances that the counts would have with one more query, for each of several."""
    total = np.zeros(1)
    for name, weight in WEIGHTS.items():
        total = total + weight * (counts[name] + more[name]).var(axis=1)
    return total
