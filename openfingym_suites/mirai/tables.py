"""The final tables of the MIRAI suite, made from rows of an event database and articles, whether pulled or simulated.

| table | a row is | known |
|---|---|---|
| ``events`` | a day, a head, a relation of the second level and a tail | once its mentions passed the threshold |
| ``event_totals`` | how much was written about an event on its whole day | with its last article |
| ``articles`` | an article | with the first of its events |
| ``event_articles`` | an event, and an article that reports it | once both are known |

Mentions and articles in ``events`` are those at the time at which it became known: what came later in the day is in
``event_totals``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import machine, store
from openfingym.errors import DataError
from openfingym.vault import Source, TableSpec, Vault, VaultWriter
from openfingym_suites.mirai.taxonomy import relations

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

THRESHOLD = 50
"""An event must have more mentions than this on its day, as in the paper's code."""
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

# Mentions of an event so far on its day. RANGE, unlike ROWS, counts all rows of one time at once: they are of the same
# file, and became known together.
_RUNNING = """
CREATE TABLE running AS
SELECT *, sum(mentions) OVER (PARTITION BY day, head, relation, tail ORDER BY added RANGE UNBOUNDED PRECEDING) AS so_far
FROM records
"""
# An event needs an article: it is known once the threshold is passed and an article is there, whichever is later.
_KNOWN = """
CREATE TABLE known AS
SELECT day, head, relation, tail,
       greatest(min(added) FILTER (so_far > $threshold), min(added) FILTER (url IN (SELECT url FROM texts))) AS known_at
FROM running GROUP BY ALL
HAVING max(so_far) > $threshold AND count(*) FILTER (url IN (SELECT url FROM texts)) > 0
"""
# Which article reports which event. If the article comes before the event passes the threshold, the link is known with
# the event.
_LINKS = """
CREATE TABLE links AS
SELECT day, head, relation, tail, url, greatest(any_value(known_at), min(added)) AS known_at
FROM records JOIN known USING (day, head, relation, tail) SEMI JOIN texts USING (url) GROUP BY ALL
"""
# Every query sorts by all that tells rows apart: DuckDB's threads finish in any order, and a vault's digest is that of
# its files' bytes.
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
        records: rows of an event database after its cleaning, as a data frame or as the path of Parquet files, with
            the columns ``day``, ``head``, ``relation``, ``tail``, ``mentions``, ``url`` and ``added`` (UTC).
        texts: the articles, as a data frame or as the path of Parquet files, with the columns ``url``, ``title`` and
            ``text``. An event without an article here is left out.
        folder: the folder to write the vault to, which must not exist; None for the store.
        name: name of the vault.
        title: what the vault holds, in one line.
        sources: where the rows come from.
        simulated: whether a simulator made the rows.
        notes: further facts for the manifest, by name.
        threshold: an event must have more mentions than this on its day.

    Returns:
        The written vault.

    Raises:
        DataError: no event has enough mentions and an article.
        StoreError: the vault cannot be written there, or the disk is full.
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
    """Write the final tables as Parquet files.

    Args:
        records: rows of an event database, as for :func:`write_vault`.
        texts: the articles, as for :func:`write_vault`.
        scratch: the folder for the files, and for what the database spills to disk.
        threshold: an event must have more mentions than this on its day.

    Returns:
        The path of each table's file, by the table's name.

    Raises:
        DataError: no event has enough mentions and an article.
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
    """Open a DuckDB database in memory.

    Args:
        scratch: the folder in which it keeps what does not fit into memory.
        threads: how many threads it uses; None for as many as this process has cores.
    """
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(scratch / "spill"),
        "threads": threads or machine.cores(),
    }
    database = duckdb.connect(config=settings)
    # The bar would be drawn over what a command prints.
    database.execute("SET enable_progress_bar = false")
    return database


def quoted(path: Path | str) -> str:
    """A path as a literal of SQL, for statements that take no parameters, such as COPY and CREATE VIEW."""
    return "'" + str(path).replace("'", "''") + "'"


def _take(database: duckdb.DuckDBPyConnection, name: str, rows: pd.DataFrame | Path | str) -> None:
    """Make rows visible to a database under a name: files as a view, a data frame without a copy."""
    if isinstance(rows, (str, Path)):
        database.execute(f"CREATE VIEW {name} AS FROM read_parquet({quoted(rows)})")
    else:
        database.register(name, rows)
