"""The final tables of the MIRAI suite, from rows of an event database and articles: one step for pulled and simulated
data.

| table | a row is | known |
|---|---|---|
| ``events`` | a day, a head, a relation of the second level and a tail | once its mentions passed the threshold |
| ``event_totals`` | how much was written of an event on its whole day | with its last article |
| ``articles`` | an article | with the first of its events |
| ``event_articles`` | an article that tells of an event | once both are known |

Mentions and articles in ``events`` are those at the time at which it became known: what came later in the day is in
``event_totals``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import machine, store
from openfingym.errors import DataError
from openfingym.suites.mirai.taxonomy import relations
from openfingym.vault import Source, TableSpec, Vault, VaultWriter

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

THRESHOLD = 50
"""Mentions on its day that an event must have more than, as in the paper's code."""
_EVENT = {"date": "DATE", "head": "VARCHAR", "relation": "VARCHAR", "tail": "VARCHAR"}
_BY_FILE = "the time of the 15-minute file in which"

EVENTS = TableSpec(
    name="events",
    columns={**_EVENT, "mentions": "INTEGER", "articles": "INTEGER", "quad": "INTEGER"},
    about="date",
    known_basis=f"{_BY_FILE} the event's mentions of the day passed the threshold and one of its articles was added",
)
EVENT_TOTALS = TableSpec(
    name="event_totals",
    columns={**_EVENT, "mentions": "INTEGER", "articles": "INTEGER"},
    key=tuple(_EVENT),
    about="date",
    known_basis=f"{_BY_FILE} the last row of the event was added",
)
ARTICLES = TableSpec(
    name="articles",
    columns={"id": "VARCHAR", "date": "DATE", "title": "VARCHAR", "text": "VARCHAR", "url": "VARCHAR"},
    about="date",
    text=("title", "text"),
    known_basis=f"{_BY_FILE} the article was added, or the first of its events became known if later; "
    "a text that was fetched later than that may have been edited since",
)
EVENT_ARTICLES = TableSpec(
    name="event_articles",
    columns={**_EVENT, "article": "VARCHAR"},
    about="date",
    known_basis="the later of the event and the article",
)
SPECS = (EVENTS, EVENT_TOTALS, ARTICLES, EVENT_ARTICLES)

_RUNNING = """
CREATE TABLE running AS
SELECT *, sum(mentions) OVER (PARTITION BY day, head, relation, tail ORDER BY added RANGE UNBOUNDED PRECEDING) AS so_far
FROM records
"""
# An event without an article is none; it is known when both the threshold is passed and an article is there.
_KNOWN = """
CREATE TABLE known AS
SELECT day, head, relation, tail,
       greatest(min(added) FILTER (so_far > $threshold), min(added) FILTER (url IN (SELECT url FROM texts))) AS known_at
FROM running GROUP BY ALL
HAVING max(so_far) > $threshold AND count(*) FILTER (url IN (SELECT url FROM texts)) > 0
"""
_LINKS = """
CREATE TABLE links AS
SELECT day, head, relation, tail, url, greatest(any_value(known_at), min(added)) AS known_at
FROM records JOIN known USING (day, head, relation, tail) SEMI JOIN texts USING (url) GROUP BY ALL
"""
_TABLES = {
    "events": """
        SELECT day AS date, head, relation, tail,
               (SELECT max(so_far) FROM running AS r WHERE r.day = k.day AND r.head = k.head AND r.relation = k.relation
                   AND r.tail = k.tail AND r.added <= k.known_at)::INTEGER AS mentions,
               (SELECT count(*) FROM links AS l WHERE l.day = k.day AND l.head = k.head AND l.relation = k.relation
                   AND l.tail = k.tail AND l.known_at <= k.known_at)::INTEGER AS articles,
               quad, known_at
        FROM known AS k JOIN relations ON relations.code = k.relation
        ORDER BY known_at, date, head, tail, relation""",
    "event_totals": """
        SELECT day AS date, head, relation, tail, any_value(total)::INTEGER AS mentions, count(*)::INTEGER AS articles,
               any_value(last) AS known_at
        FROM links JOIN (SELECT day, head, relation, tail, sum(mentions) AS total, max(added) AS last FROM records
                         GROUP BY ALL) USING (day, head, relation, tail)
        GROUP BY ALL ORDER BY known_at, date, head, tail, relation""",
    "articles": """
        SELECT substr(md5(url), 1, 16) AS id, min(day) AS date, any_value(title) AS title, any_value(text) AS text, url,
               min(links.known_at) AS known_at
        FROM links JOIN texts USING (url) GROUP BY url ORDER BY known_at, id""",
    "event_articles": """
        SELECT day AS date, head, relation, tail, substr(md5(url), 1, 16) AS article, known_at
        FROM links ORDER BY known_at, date, head, tail, relation, article""",
}


def write_vault(
    records: pd.DataFrame | Path | str,
    texts: pd.DataFrame | Path | str,
    folder: str | Path | None = None,
    *,
    name: str,
    title: str,
    sources: Sequence[Source],
    simulated: bool,
    notes: Mapping[str, str] | None = None,
    threshold: int = THRESHOLD,
) -> Vault:
    """Write a vault of the final tables.

    Args:
        records: rows of an event database after its cleaning, as a data frame or Parquet files: ``day``, ``head``,
            ``relation``, ``tail``, ``mentions``, ``url`` and ``added`` (UTC).
        texts: the articles that were kept, likewise: ``url``, ``title`` and ``text``. What has no article here is no
            event.
        folder: where the vault shall be; None for the store.
        name: name of the vault.
        title: what it holds, in one line.
        sources: where the rows come from.
        simulated: whether a simulator made them.
        notes: further facts for the manifest.
        threshold: mentions on its day that an event must have more than.

    Raises:
        DataError: no event is left.
        StoreError: it cannot be written there, or the disk is full.
    """
    with store.staging() as scratch:
        paths = final_tables(records, texts, scratch, threshold=threshold)
        about = {**(notes or {}), "threshold": str(threshold)}
        writer = VaultWriter(folder, name=name, title=title, sources=sources, simulated=simulated, notes=about)
        with writer:
            for spec in SPECS:
                writer.add(spec, paths[spec.name])
            return writer.finish()


def final_tables(
    records: pd.DataFrame | Path | str, texts: pd.DataFrame | Path | str, scratch: Path, *, threshold: int = THRESHOLD
) -> dict[str, Path]:
    """The final tables as Parquet files in ``scratch``, by their names; for arguments see :func:`write_vault`.

    Raises:
        DataError: no event is left.
    """
    with connection(scratch) as database:
        _take(database, "records", records)
        _take(database, "texts", texts)
        database.execute("CREATE TABLE relations (code VARCHAR, quad INTEGER)")
        database.executemany("INSERT INTO relations VALUES (?, ?)", [[r.code, r.quad] for r in relations(2)])
        database.execute(_RUNNING)
        database.execute(_KNOWN, {"threshold": threshold})
        if not database.execute("SELECT count(*) FROM known").fetchall()[0][0]:
            raise DataError(
                f"no event has more than {threshold} mentions on its day and an article; pull more months or texts"
            )
        database.execute(_LINKS)
        paths = {}
        for name, query in _TABLES.items():
            paths[name] = scratch / f"{name}.parquet"
            database.execute(f"COPY ({query}) TO {quoted(paths[name])} (FORMAT parquet, COMPRESSION zstd)")
        return paths


def connection(scratch: Path, *, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory that spills to ``scratch``, by default with as many threads as this process may use."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(scratch / "spill"),
        "threads": threads or machine.cores(),
    }
    database = duckdb.connect(config=settings)
    # It would be drawn over what a command prints.
    database.execute("SET enable_progress_bar = false")
    return database


def quoted(path: Path | str) -> str:
    """A path as a literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def _take(database: duckdb.DuckDBPyConnection, name: str, rows: pd.DataFrame | Path | str) -> None:
    """Make rows known to a database under a name."""
    if isinstance(rows, (str, Path)):
        database.execute(f"CREATE VIEW {name} AS FROM read_parquet({quoted(rows)})")
    else:
        database.register(name, rows)
