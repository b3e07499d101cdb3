"""What views answer, against pandas over the same rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from openfingym.errors import UsageError
from openfingym.vault import Between, Source, TableSpec, Vault, VaultWriter, View

from .worlds import START, frames, world

TIMES = [START + timedelta(hours=hour) for hour in (1, 100, 350, 700)]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return world(tmp_path_factory.mktemp("world") / "vault", seed=1)


def known(table: str, time: datetime) -> pd.DataFrame:
    """The rows that are known, by what pandas makes of them."""
    rows = frames(1)[table]
    return rows[rows.known_at <= time].sort_values("known_at", kind="stable").astype(object)


def plain(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: value if isinstance(value, list) or not pd.isna(value) else None for name, value in row.items()}
        for row in rows.to_dict("records")
    ]


@pytest.mark.parametrize("time", TIMES)
def test_rows_are_those_of_a_mask(vault: Vault, time: datetime) -> None:
    view, rows = vault.as_of(time), known("events", time)
    day = START.date() + timedelta(days=9)
    masks: list[tuple[dict[str, Any], Any]] = [
        ({}, slice(None)),
        ({"head": "USA"}, rows["head"] == "USA"),
        ({"head": None}, rows["head"].isna()),
        ({"head": ["FRA", None, "nobody"]}, (rows["head"] == "FRA") | rows["head"].isna()),
        ({"head": "FRA", "relation": ["005", "011"]}, (rows["head"] == "FRA") & rows.relation.isin(["005", "011"])),
        ({"relation": Between("005", "011")}, (rows.relation >= "005") & (rows.relation <= "011")),
        ({"day": Between(day, None)}, rows.day >= day),
        ({"day": Between(None, str(day)), "mentions": 2}, (rows.day <= day) & (rows.mentions == 2)),
        ({"mentions": None}, rows.mentions.isna()),
        ({"mentions": [None, 3, -1]}, rows.mentions.isna() | rows.mentions.isin([3, -1])),
        ({"tone": Between(-2, 0)}, (rows.tone >= -2) & (rows.tone <= 0)),
        ({"major": False}, rows.major == False),  # noqa: E712  # of pandas
        ({"tags": "vote"}, rows.tags.map(lambda tags: "vote" in tags)),
        ({"tags": ["vote", "bank"]}, rows.tags.map(lambda tags: bool({"vote", "bank"} & set(tags)))),
        ({"known_at": Between(START, time - timedelta(hours=20))}, rows.known_at <= time - timedelta(hours=20)),
        ({"head": []}, slice(0)),
        ({"day": []}, slice(0)),
    ]
    for where, mask in masks:
        wanted = plain(rows.loc[mask.fillna(value=False).astype(bool)] if isinstance(mask, pd.Series) else rows[mask])
        assert view.rows("events", where) == wanted, where
        assert view.count("events", where) == len(wanted), where
        newest = view.rows("events", where, order=["-known_at"], limit=5, columns=["day", "head"])
        assert newest == [{"day": row["day"], "head": row["head"]} for row in wanted[::-1][:5]], where


@pytest.mark.parametrize("time", TIMES)
def test_rows_are_sorted_as_asked(vault: Vault, time: datetime) -> None:
    view = vault.as_of(time)
    rows = view.rows("events")

    def of(name: str) -> Any:
        # Missing numbers come before all others, missing texts after.
        none = name in {"head", "relation"}
        return lambda row: ((row[name] is None) == none, row[name] if row[name] is not None else 0)

    for limit in (None, 1, 7, 1000):
        for name in ("day", "head", "mentions", "tone", "major"):
            up = sorted(rows, key=of(name))[:limit]
            assert view.rows("events", order=[name], limit=limit) == up
            # Of equal rows, the newest comes first.
            newest = list(reversed(rows))
            newest.sort(key=of(name), reverse=True)
            assert view.rows("events", order=[f"-{name}"], limit=limit) == newest[:limit]
        both = sorted(sorted(rows, key=of("head")), key=of("day"))
        assert view.rows("events", order=["day", "head"], limit=limit) == both[:limit]


@pytest.mark.parametrize("time", TIMES)
def test_counts_are_value_counts(vault: Vault, time: datetime) -> None:
    view, rows = vault.as_of(time), known("events", time)
    for by in ("head", "relation", "day", "mentions"):
        for where, some in (({}, rows), ({"head": ["USA", "CHN"]}, rows[rows["head"].isin(["USA", "CHN"])])):
            found = view.counts("events", by, where)
            wanted = {None if pd.isna(key) else key: n for key, n in some[by].value_counts(dropna=False).items()}
            assert found == wanted
            assert list(found.values()) == sorted(found.values(), reverse=True)
    for where, some in (({}, rows), ({"head": ["USA", "CHN"]}, rows[rows["head"].isin(["USA", "CHN"])])):
        tags = some.tags.map(set).explode().dropna().value_counts().to_dict()
        assert view.counts("events", "tags", where) == tags


@pytest.mark.parametrize("time", TIMES)
def test_vintages_are_kept_side_by_side(vault: Vault, time: datetime) -> None:
    view, rows = vault.as_of(time), known("facts", time)
    current = []
    for (series, day), group in rows.groupby(["series", "day"], dropna=False):
        key = {"series": None if pd.isna(series) else series, "day": day}
        assert view.vintages("facts", **key) == plain(group)
        assert view.latest("facts", **key) == plain(group)[-1]
        current.append(plain(group)[-1])
    found = view.current("facts")
    assert sorted(found, key=repr) == sorted(current, key=repr)
    assert [row["known_at"] for row in found] == sorted(row["known_at"] for row in found)
    revised = view.current("facts", {"note": "revised", "series": "gdp"})
    assert revised == [row for row in found if row["note"] == "revised" and row["series"] == "gdp"]


def test_a_restated_figure_does_not_change_what_was_known_before(tmp_path: Path) -> None:
    spec = TableSpec(name="gdp", columns={"quarter": "VARCHAR", "growth": "DOUBLE"}, key=("quarter",))
    releases = pd.DataFrame(
        {
            "quarter": ["2015Q4", "2015Q4", "2015Q4", "2016Q1"],
            "growth": [0.7, 1.0, 1.4, 0.5],
            "known_at": ["2016-01-29 13:30", "2016-02-26 13:30", "2016-03-25 12:30", "2016-04-28 12:30"],
        }
    )
    with VaultWriter(
        tmp_path / "gdp", name="gdp", title="GDP", sources=[Source(name="BEA", licence="public")]
    ) as writer:
        writer.add(spec, releases.iloc[::-1])
        vault = writer.finish()
    wanted = {"2016-01-29T13:29:59Z": None, "2016-01-29T13:30:00Z": 0.7, "2016-03-01T00:00:00Z": 1.0}
    for time, growth in {**wanted, "2016-05-01T00:00:00+02:00": 1.4}.items():
        row = vault.as_of(time).latest("gdp", quarter="2015Q4")
        assert (row and row["growth"]) == growth
    assert [row["growth"] for row in vault.as_of("2016-04-01T00:00:00Z").vintages("gdp", quarter="2015Q4")] == [
        0.7,
        1.0,
        1.4,
    ]


def test_sql_sees_the_tables_as_they_were(vault: Vault) -> None:
    view, rows = vault.as_of(TIMES[1]), known("events", TIMES[1])
    query = 'SELECT "head", count(*) AS n FROM events WHERE day >= ? GROUP BY "head" ORDER BY n DESC, head'
    day = START.date() + timedelta(days=3)
    wanted = rows[rows.day >= day]["head"].value_counts(dropna=False)
    assert {row["head"]: row["n"] for row in view.sql(query, [day])} == {
        None if pd.isna(key) else key: n for key, n in wanted.items()
    }
    ((latest,),) = [tuple(row.values()) for row in view.sql("SELECT max(known_at) FROM events")]
    assert latest == rows.known_at.max()
    assert view.sql("WITH own AS (FROM facts) SELECT count(*) AS n FROM own WHERE series = $s", {"s": "gdp"}) == [
        {"n": view.count("facts", {"series": "gdp"})}
    ]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nowhere", "there is no table 'nowhere'; there are events, facts, documents"),
        ("SELECT * FROM '{folder}/events.parquet'", "there is no table"),
        ("SELECT * FROM read_parquet('{folder}/events.parquet')", r"may not read from read_parquet\(\)"),
        (
            "SELECT (SELECT count(*) FROM parquet_scan('{folder}/events.parquet'))",
            r"may not read from parquet_scan\(\)",
        ),
        (
            'SELECT * FROM "{folder}/events.parquet", (WITH "{folder}/events.parquet" AS (SELECT 1) SELECT 1)',
            "named by letters, digits and _",
        ),
        (
            'WITH "{folder}/events.parquet" AS (FROM "{folder}/events.parquet") FROM "{folder}/events.parquet"',
            "named by letters, digits and _",
        ),
        ("SELECT * FROM main.events", "there is no table 'events'"),
        ("SELECT * FROM information_schema.tables", "there is no table"),
        ("SELECT * FROM duckdb_views()", "may not read"),
        ("SELECT * FROM query('FROM events')", "may not read"),
        ("COPY events TO 'x.csv'", "must be one SELECT"),
        ("DROP TABLE events", "must be one SELECT"),
        ("SELECT 1; SELECT 2", "must be one SELECT"),
        ("SET memory_limit = '9GB'", "must be one SELECT"),
        ("SELECT head + 1 FROM events", "query"),
        ("SELECT getvariable('x'), * FROM glob('/*')", "may not read"),
        ("SELECT", "must be one SELECT"),
    ],
)
def test_sql_reads_nothing_else(vault: Vault, query: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        vault.as_of(TIMES[1]).sql(query.replace("{folder}", str(vault.folder)))


WRONG: list[tuple[Any, str]] = [
    (lambda view: view.count("nowhere"), "vault world has no table 'nowhere'; it has events, facts, documents"),
    (lambda view: view.count("events", {"nobody": 1}), "table events has no column 'nobody'; it has day, head"),
    (lambda view: view.rows("events", columns=["nobody"]), "no column 'nobody'"),
    (lambda view: view.rows("events", {"day": "2024-02-30"}), "events.day is DATE; '2024-02-30' is no day"),
    (lambda view: view.rows("events", {"day": 5}), "events.day is DATE; 5 is no such value"),
    (lambda view: view.rows("events", {"head": 5}), "events.head is VARCHAR; 5 is no text"),
    (lambda view: view.rows("events", {"mentions": "5"}), "events.mentions is INTEGER; '5' is no such value"),
    (lambda view: view.rows("events", {"mentions": 2**31}), "is no such value"),
    (lambda view: view.rows("events", {"mentions": 10**400}), "is no such value"),
    (lambda view: view.rows("events", {"tone": 10**400}), "is no such value"),
    (lambda view: view.rows("events", {"tone": {}}), "is no such value"),
    (lambda view: view.rows("events", {"mentions": float("nan")}), "is no such value"),
    (lambda view: view.rows("events", {"mentions": float("inf")}), "is no such value"),
    (lambda view: view.rows("events", {"known_at": "2024-01-02"}), "no time with a zone"),
    (lambda view: view.rows("events", limit=-1), "limit is -1"),
    (lambda view: view.rows("events", order="day"), "order is a list of columns"),
    (lambda view: view.rows("events", order=["tags"]), "has no order"),
    (lambda view: view.rows("documents", {"body": "vote"}), r"look in it with search\(\)"),
    (lambda view: view.search("events", "vote"), "table events has no text that is searched"),
    (lambda view: view.latest("events", head="USA"), "table events has no key"),
    (lambda view: view.current("events"), "table events has no key"),
    (lambda view: view.latest("facts", series="gdp"), "the key of table facts is series, day; got series"),
]


@pytest.mark.parametrize(("call", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_use_is_said(vault: Vault, call: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call(vault.as_of(TIMES[2]))


@pytest.mark.parametrize(
    "time", ["2024-01-31", "2024-01-31T12:00:00", "yesterday", START.replace(tzinfo=None), date(2024, 1, 1), 5]
)  # the case
def test_a_time_needs_a_zone(vault: Vault, time: Any) -> None:
    with pytest.raises(UsageError, match="no time with a zone"):
        vault.as_of(time)


def test_a_time_may_be_in_any_zone(vault: Vault) -> None:
    assert vault.as_of("2024-01-31T14:00:00+02:00").time == datetime(2024, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("of", [lambda vault: vault, lambda vault: vault.as_of(START)])
def test_neither_vault_nor_view_is_copied_to_another_process(vault: Vault, of: Any) -> None:
    import pickle

    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(of(vault))


def test_threads_share_a_view(vault: Vault) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def asked(view: View) -> str:
        counted = view.sql("SELECT count(*) AS n FROM events")
        return repr((counted, view.rows("events", {"head": "USA"}), view.search("documents", "vote bank")))

    views = [Vault.open(vault.folder).as_of(TIMES[2])] * 32
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(asked, views))) == 1
