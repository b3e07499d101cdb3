"""Test sets: what qualifies, what is answered, and that they are balanced."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, date, datetime

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.vault import Between, Vault
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.splits import as_of, months_of, object_queries, relation_queries

EVER = "9000-01-01T00:00:00+00:00"
MONTH = "2023-07"


@pytest.fixture(scope="module")
def totals(simulated_world: Vault) -> dict[tuple[date, str, str], dict[str, tuple[int, int]]]:
    """Mentions and articles of each relation, by day and pair."""
    where = {"date": Between(date(2023, 7, 1), date(2023, 7, 31))}
    found: dict[tuple[date, str, str], dict[str, tuple[int, int]]] = defaultdict(dict)
    for row in simulated_world.as_of(EVER).rows("event_totals", where=where):
        found[row["date"], row["head"], row["tail"]][row["relation"]] = (row["mentions"], row["articles"])
    return found


def test_answers_are_all_that_happened(simulated_world: Vault, totals: dict) -> None:
    queries = relation_queries(simulated_world, MONTH)
    assert len({(query.date, query.head, query.tail) for query in queries}) == len(queries) == 100
    for query in queries:
        there = totals[query.date, query.head, query.tail]
        assert query.answers == tuple(sorted(there))
        assert all(mentions >= 100 and articles >= 5 for mentions, articles in there.values())
        assert sorted(code for codes in query.by_root.values() for code in codes) == sorted(there)
        assert all(code[:2] == root for root, codes in query.by_root.items() for code in codes)


def test_under_the_other_rule_one_event_is_enough_and_answers_are_as_full(simulated_world: Vault, totals: dict) -> None:
    queries = relation_queries(simulated_world, MONTH, rule="any")
    weak = 0
    for query in queries:
        there = totals[query.date, query.head, query.tail]
        assert query.answers == tuple(sorted(there))
        enough = [mentions >= 100 and articles >= 5 for mentions, articles in there.values()]
        assert any(enough)
        weak += not all(enough)
    assert weak > 3


def test_queries_for_tails_name_every_tail(simulated_world: Vault, totals: dict) -> None:
    tails: dict[tuple[date, str, str], set[str]] = defaultdict(set)
    for (day, head, tail), there in totals.items():
        for code in there:
            tails[day, head, code].add(tail)
    queries = object_queries(simulated_world, MONTH)
    assert len(queries) == 100
    for query in queries:
        assert not query.asks_for_relations
        assert set(query.answers) == tails[query.date, query.head, query.relation]
        assert query.by_root == {}


def test_a_seed_decides_the_queries(simulated_world: Vault) -> None:
    assert relation_queries(simulated_world, MONTH) == relation_queries(simulated_world, MONTH)
    assert relation_queries(simulated_world, MONTH) != relation_queries(simulated_world, MONTH, seed=1)
    ids = [query.id for query in relation_queries(simulated_world, MONTH)]
    assert (ids[0], ids[-1]) == ("2023-07-r000", "2023-07-r099")


def test_queries_are_more_even_than_a_draw_at_random(simulated_world: Vault, totals: dict) -> None:
    queries = relation_queries(simulated_world, MONTH, count=40)
    able = [key for key, there in sorted(totals.items()) if all(m >= 100 and a >= 5 for m, a in there.values())]
    assert len(able) > 100

    def unevenness(keys: list[tuple[date, str, str]]) -> float:
        days = Counter(day for day, _, _ in keys)
        roots = Counter(root for key in keys for root in {code[:2] for code in totals[key]})
        names = [root.code for root in taxonomy.relations(1)]
        by_day = [days[date(2023, 7, 1 + day)] for day in range(31)]
        return float(np.var(by_day) + np.var([roots[name] for name in names]))

    picked = unevenness([(query.date, query.head, query.tail) for query in queries])
    rng = np.random.default_rng(0)
    drawn = [unevenness([able[place] for place in rng.permutation(len(able))[:40]]) for _ in range(20)]
    assert picked < 0.7 * np.mean(drawn)


def test_the_same_day_is_asked_about_at_every_horizon() -> None:
    assert as_of(date(2024, 2, 5), 1) == datetime(2024, 2, 4, 23, 59, 59, 999999, tzinfo=UTC)
    assert as_of(date(2024, 2, 5), 90).date() == date(2023, 11, 7)
    with pytest.raises(UsageError, match="horizon of 0 days"):
        as_of(date(2024, 2, 5), 0)


def test_months_have_the_longest_horizon_before_them(simulated_world: Vault) -> None:
    assert months_of(simulated_world) == ("2023-04", "2023-05", "2023-06", "2023-07")


def test_what_cannot_be_asked_is_refused_in_words(simulated_world: Vault) -> None:
    with pytest.raises(UsageError, match="'2023-7' is no month"):
        relation_queries(simulated_world, "2023-7")
    with pytest.raises(DataError, match="2024-02 has 0 queries"):
        relation_queries(simulated_world, "2024-02")
    with pytest.raises(UsageError, match="no rule"):
        relation_queries(simulated_world, MONTH, rule="most")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="0 queries"):
        relation_queries(simulated_world, MONTH, count=0)
