"""Monthly test sets: a hundred balanced queries of a month, with their answers.

A query asks which relations there are between two countries on a day ``(t + l, s, ?, o)``, or with which countries one
has a relation ``(t + l, s, r, ?)``. It is the same query at every horizon l: its day stays, and what is known ends l
days before.

Only events of which much was written qualify: on their whole day, at least 100 mentions and 5 articles. Under the
rule ``minimum``, that of the paper's code, every event of a query must; under ``any``, one of them. Answers are from
the full database either way. From those that qualify, queries are picked one after another: of fifty that are drawn,
the one that keeps days, first-level relations, regions and countries most even.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.suites.mirai.taxonomy import countries, country, relation, relations
from openfingym.vault import Between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.vault import Vault

HORIZONS = (1, 7, 30, 90)
"""Days between what is known and the day that is asked about, as in the paper."""
PAPER_MONTHS = ("2023-11", "2023-12", "2024-01", "2024-02")
QUERIES = 100
MENTIONS, ARTICLES = 100, 5
"""What an event must have on its whole day to qualify."""
TRIES = 50
"""Queries that are drawn for each one that is picked."""
WEIGHTS = {"date": 1.0, "root": 1.0, "region": 0.4, "country": 0.2}
"""How much the variance of each count matters."""
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
    tail: str
    """ISO codes; the tail is empty where it is asked for."""
    relation: str
    """Second-level code; empty where it is asked for."""
    answers: tuple[str, ...]
    """Second-level codes, or ISO codes of tails, in their order."""

    @property
    def asks_for_relations(self) -> bool:
        """Whether it asks for relations, rather than tails."""
        return self.relation == _NO_RELATION

    @property
    def by_root(self) -> dict[str, tuple[str, ...]]:
        """The answer of a relation query by first-level codes, in the form that agents answer in."""
        found: dict[str, list[str]] = defaultdict(list)
        for code in self.answers if self.asks_for_relations else ():
            found[relation(code).root].append(code)
        return {root: tuple(codes) for root, codes in found.items()}


def as_of(day: date, horizon: int) -> datetime:
    """The last moment, in UTC, that is known when a day is asked about ``horizon`` days ahead: the end of that day."""
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
        vault: vault with the final tables of the suite.
        month: such as ``2024-02``.
        count: how many.
        seed: which ones; the same seed gives the same of one vault.
        rule: whether every event of a query must qualify, or any.
        mentions: mentions on its whole day that an event must have to qualify.
        articles: articles that it must have.

    Raises:
        UsageError: the month is none.
        DataError: fewer queries qualify.
    """
    rows = _events(vault, month)
    kept = _qualified(rows, lambda row: (row.date, row.head, row.tail), rule, mentions, articles)
    return _test_set(month, "r", kept, count, seed)


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
    """Balanced queries of a month for tails, in the order of their days; see :func:`relation_queries`."""
    rows = _events(vault, month)
    kept = _qualified(rows, lambda row: (row.date, row.head, row.relation), rule, mentions, articles)
    return _test_set(month, "o", kept, count, seed)


def months_of(vault: Vault) -> tuple[str, ...]:
    """The months of which a vault may have every day, and the whole longest horizon before them."""
    view = vault.as_of(_EVER)
    days = view.counts("events", "date")
    known = sorted(day for day in days if isinstance(day, date))
    if not known:
        return ()
    first = known[0] + timedelta(days=max(HORIZONS))
    found = sorted({f"{day:%Y-%m}" for day in known})
    return tuple(month for month in found if _span(month)[0] >= first and _span(month)[1] <= known[-1])


@dataclass(frozen=True)
class _Row:
    """An event of a month, with what was written of it on its whole day."""

    date: date
    head: str
    relation: str
    tail: str
    mentions: int
    articles: int


_EVER = datetime(9999, 1, 1, tzinfo=UTC)


def _events(vault: Vault, month: str) -> list[_Row]:
    """All events of a month, in one order whatever the vault's."""
    first, last = _span(month)
    rows = vault.as_of(_EVER).rows("event_totals", where={"date": Between(first, last)})
    names = ("date", "head", "relation", "tail", "mentions", "articles")
    found = [_Row(*(row[name] for name in names)) for row in rows]  # type: ignore[arg-type]
    return sorted(found, key=lambda row: (row.date, row.head, row.tail, row.relation))


def _span(month: str) -> tuple[date, date]:
    """The first and last day of a month."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        raise UsageError(f"{month!r} is no month; write it as 2024-02") from None
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _qualified(
    rows: Iterable[_Row], key: Callable[[_Row], tuple[date, str, str]], rule: Rule, mentions: int, articles: int
) -> list[list[_Row]]:
    """The events of each query that qualifies, in the order of the queries."""
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
    if count < 1:
        raise UsageError(f"{count} queries: expected 1 or more")
    if len(groups) < count:
        raise DataError(
            f"{month} has {len(groups)} queries whose events are written of enough, and {count} are wanted; ask for "
            "fewer, or take in more articles"
        )
    year, number = (int(part) for part in month.split("-"))
    rng = np.random.Generator(np.random.PCG64([seed, year, number, ord(letter)]))
    chosen = sorted(_balanced([_features(group) for group in groups], count, rng))
    made = []
    for place, index in enumerate(chosen):
        group = groups[index]
        relation_asked = letter == "r"
        first = group[0]
        made.append(
            Query(
                id=f"{month}-{letter}{place:03d}",
                date=first.date,
                head=first.head,
                tail=first.tail if relation_asked else _NO_COUNTRY,
                relation=_NO_RELATION if relation_asked else first.relation,
                answers=tuple(sorted({row.relation if relation_asked else row.tail for row in group})),
            )
        )
    return tuple(made)


def _features(group: Sequence[_Row]) -> dict[str, list[int]]:
    """What a query counts for: numbers of its day, first-level relations, regions and countries."""
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
    regions = sorted({found.region for found in countries()})
    return {
        "root": {root.code: index for index, root in enumerate(relations(1))},
        "region": {name: index for index, name in enumerate(regions)},
        "country": {found.iso3: index for index, found in enumerate(countries())},
    }


def _balanced(features: Sequence[Mapping[str, Sequence[int]]], count: int, rng: np.random.Generator) -> list[int]:
    """Numbers of ``count`` queries, picked greedily."""
    sizes = {name: 1 + max(max(feature[name]) for feature in features) for name in WEIGHTS}
    counts: dict[str, NDArray[np.float64]] = {name: np.zeros(size) for name, size in sizes.items()}
    left = list(range(len(features)))
    picked = []
    for _ in range(count):
        drawn = rng.choice(len(left), size=min(TRIES, len(left)), replace=False)
        best = min(drawn.tolist(), key=lambda place: (_unevenness(counts, features[left[place]]), left[place]))
        index = left.pop(best)
        for name, places in features[index].items():
            np.add.at(counts[name], places, 1.0)
        picked.append(index)
    return picked


def _unevenness(counts: Mapping[str, NDArray[np.float64]], more: Mapping[str, Sequence[int]]) -> float:
    """The weighted variances of the counts with one more query."""
    total = 0.0
    for name, weight in WEIGHTS.items():
        after = counts[name].copy()
        np.add.at(after, list(more[name]), 1.0)
        total += weight * float(after.var())
    return total
