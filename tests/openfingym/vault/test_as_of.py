"""A view answers as if nothing came later: to the last byte as a vault that never had it, whatever is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openfingym.errors import OpenFinGymError
from openfingym.vault import Between, Vault, View
from openfingym.vault.truncated import Truncations

from .worlds import CANARY, DOCUMENTS, EVENTS, FACTS, HEADS, SECRET_FROM, START, WORDS, world

TABLES = {spec.name: spec for spec in (EVENTS, FACTS, DOCUMENTS)}
HOURS = 600


@dataclass(frozen=True)
class Call:
    """A call of a method of a view."""

    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def of(self, view: View) -> str:
        """Its answer or its error, to the last digit: ``repr`` of a number is the number."""
        try:
            return repr(getattr(view, self.method)(*self.arguments, **self.options))
        except OpenFinGymError as error:
            return f"{type(error).__name__}: {error}"


days = st.integers(-2, 30).map(lambda day: (START + timedelta(days=day)).date())
odd = st.sampled_from([None, "", "zz", 3, -1, 2.5, True, 10**30, "2024-13-01", "' OR 1=1 --", f"{CANARY}1", "USA\0"])
texts = st.sampled_from([*filter(None, HEADS), *WORDS, "gdp", "cpi", "first", "wire", "post", "005", "017"])
values = st.one_of(texts, odd, days, days.map(str), st.integers(-6, 6), st.sampled_from([0.1, -1.5]), st.booleans())
conditions = st.one_of(values, st.lists(values, max_size=4), st.builds(Between, values, values))


def named(table: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*TABLES[table].types, "nowhere"])


def good(table: str, name: str) -> st.SearchStrategy[Any]:
    """Conditions that fit a column."""
    of_type = {
        "DATE": days,
        "INTEGER": st.integers(-6, 6),
        "BIGINT": st.integers(0, 120),
        "DOUBLE": st.sampled_from([0.0, -1.5, 0.1]),
        "BOOLEAN": st.booleans(),
        "TIMESTAMP": st.integers(0, HOURS).map(lambda hour: START + timedelta(hours=hour)),
    }.get(TABLES[table].types[name], texts)
    return st.one_of(of_type, st.none(), st.lists(of_type, max_size=3), st.builds(Between, of_type, of_type))


@st.composite
def wheres(draw: st.DrawFn, table: str) -> dict[str, Any]:
    if draw(st.integers(0, 4)) == 0:
        return draw(st.dictionaries(named(table), conditions, max_size=2))
    free = [name for name in TABLES[table].types if name not in TABLES[table].text]
    return {name: draw(good(table, name)) for name in draw(st.lists(st.sampled_from(free), max_size=3, unique=True))}


QUERIES = [
    "SELECT head, count(*) AS n, sum(tone) AS tone FROM events GROUP BY head ORDER BY n, head",
    "SELECT CAST(head AS INTEGER) AS n FROM events WHERE CAST(mentions AS VARCHAR) > '0' ORDER BY 1",
    "SELECT max(known_at) AS last, count(DISTINCT series) AS n FROM facts",
    "SELECT d.title FROM documents d JOIN events e ON d.outlet = e.head OR contains(d.body, e.head) ORDER BY 1 LIMIT 9",
    "SELECT * FROM documents WHERE 1 / (number - 7) >= 0 ORDER BY number",
    "SELECT error(title) FROM documents",
    "SELECT sum(CAST(split_part(outlet, ' ', 2) AS INTEGER)) AS n FROM documents WHERE contains(outlet, ' ')",
]


@st.composite
def calls(draw: st.DrawFn) -> Call:
    table = draw(st.sampled_from(list(TABLES)))
    kind = draw(
        st.sampled_from(["count", "counts", "rows", "current", "latest", "vintages", "search", "holding", "sql"])
    )
    if kind == "sql":
        return Call("sql", (draw(st.sampled_from(QUERIES)),))
    if kind in {"latest", "vintages"}:
        key = {"series": draw(st.one_of(texts, odd)), "day": f"2023-0{draw(st.integers(1, 4))}-01"}
        return Call(kind, ("facts",), key)
    where = draw(wheres(table))
    if kind == "count":
        return Call("count", (table, where))
    if kind == "counts":
        return Call("counts", (table, draw(named(table)), where))
    options: dict[str, Any] = {"limit": draw(st.sampled_from([1, 2, 10, 10**9, 0, -1]))}
    if kind in {"search", "holding"}:
        query = " ".join(draw(st.lists(st.sampled_from([*WORDS, f"{CANARY}1", "", "% -"]), min_size=1, max_size=4)))
        where = draw(st.just({}) | wheres("documents"))
        if kind == "holding":
            return Call("holding", ("documents", [query, *query.split()[:1]]), {"where": where})
        return Call("search", ("documents", query), {"where": where, **options})
    signs = draw(st.lists(st.tuples(st.sampled_from(["", "-"]), named(table)), max_size=2))
    options["order"] = [sign + name for sign, name in signs]
    return Call(kind, ("facts" if kind == "current" and draw(st.booleans()) else table, where), options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return world(tmp_path_factory.mktemp("whole") / "vault")


@pytest.fixture(scope="module")
def cut(whole: Vault, tmp_path_factory: pytest.TempPathFactory) -> Callable[[datetime], Vault]:
    """The vault without what became known after a time."""
    return cache(lambda time: whole.truncated(time, tmp_path_factory.mktemp("cut") / "vault"))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    hour=st.sampled_from([-1, 1, 100, 250, 299, 420, 700]),
    later=st.integers(0, 3_599_999_999),
    asked=st.lists(calls(), min_size=15, max_size=30),
)
def test_answers_are_those_of_a_vault_without_what_came_later(
    whole: Vault, cut: Callable[[datetime], Vault], hour: int, later: int, asked: list[Call]
) -> None:
    time = START + timedelta(hours=hour)
    # Rows become known on the hour, so that between two hours nothing does.
    view, alone = whole.as_of(time + timedelta(microseconds=later)), cut(time).as_of(time)
    for call in asked:
        assert call.of(view) == call.of(alone), call


@settings(max_examples=15)
@given(asked=st.lists(calls(), min_size=20, max_size=40))
def test_a_word_of_later_rows_is_in_no_answer_error_or_log(whole: Vault, asked: list[Call]) -> None:
    view = whole.as_of(SECRET_FROM - timedelta(microseconds=1))
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        said += [call.of(view) for call in asked]
    finally:
        logging.getLogger().removeHandler(handler)
    for text, call in zip(said, asked, strict=False):
        given_by_caller = repr(call).count(CANARY)
        assert text.count(CANARY) <= given_by_caller, call


def test_the_word_is_there_once_it_is_known(whole: Vault) -> None:
    view = whole.as_of(START + timedelta(hours=HOURS))
    assert CANARY in repr(view.rows("documents"))
    assert CANARY in repr(view.counts("events", "tags"))
    assert CANARY in Call("sql", ("SELECT error(title) FROM documents WHERE title LIKE '%canary%'",)).of(view)
    assert whole.as_of(SECRET_FROM).count("events") < view.count("events")


def test_what_became_known_at_the_very_time_is_known(whole: Vault) -> None:
    first = min(row["known_at"] for row in whole.hindsight(START).rows("events"))
    assert isinstance(first, datetime)
    assert whole.as_of(first).count("events") > 0
    assert whole.as_of(first - timedelta(microseconds=1)).count("events") == 0


def test_hindsight_shows_everything_and_says_so(whole: Vault) -> None:
    view = whole.hindsight(START)
    assert (view.hindsight, view.time, whole.as_of(START).hindsight) == (True, START, False)
    assert view.count("events") == 120
    ahead = whole.looking_ahead()
    assert (ahead.digest, ahead.as_of(START).hindsight) == (whole.digest, True)
    assert ahead.as_of(START).count("events") == 120
    assert not whole.as_of(START).hindsight
    assert view.sql("SELECT count(*) AS n FROM events") == [{"n": 120}]


def test_copies_that_are_written_when_they_are_looked_at_are_those_written_whole(whole: Vault, tmp_path: Path) -> None:
    """Byte by byte, in any order of times; and nothing is written that nobody looks at."""
    with Truncations(whole, tmp_path) as copies:
        for hour in (-1, 100, 420, 299, 700, 1):
            time = START + timedelta(hours=hour)
            copy, folder = (
                copies.at(time, tmp_path / f"{hour}"),
                whole.truncated(time, tmp_path / f"whole{hour}").folder,
            )
            assert list(copy.folder.iterdir()) == []
            view = copy.as_of(START + timedelta(hours=HOURS))
            view.count("events")
            assert [path.name for path in copy.folder.iterdir()] == ["events.columns"]
            view.count("facts")
            view.search("documents", "vote")
            for path in copy.folder.iterdir():
                assert path.read_bytes() == (folder / path.name).read_bytes(), (hour, path.name)
            assert len(list(copy.folder.iterdir())) == 4
            assert view.sql("SELECT count(*) AS n FROM events") == [{"n": view.count("events")}]


def test_a_truncated_vault_has_no_byte_of_what_came_later(whole: Vault, tmp_path: Path) -> None:
    secret = CANARY.encode()
    assert secret in b"".join(path.read_bytes() for path in whole.folder.glob("*.columns"))
    alone = whole.truncated(SECRET_FROM - timedelta(microseconds=1), tmp_path / "cut")
    assert not [path.name for path in alone.folder.iterdir() if secret in path.read_bytes()]
