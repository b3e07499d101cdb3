"""Queries in SQL over what was known at a time, by DuckDB over the Parquet files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, StoreError, UsageError
from openfingym.vault.engine import engine_errors, quoted, reading_database
from openfingym.vault.spec import KNOWN_AT

if TYPE_CHECKING:
    import duckdb

Parameters = Sequence[object] | Mapping[str, object]
_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
"""Functions that a query may read rows from; others read files."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that a query may give to its parts."""


class Queries:
    """Answers queries over a snapshot. Safe to use from several threads.

    Args:
        folder: folder of the snapshot.
        tables: names of the snapshot's tables.
    """

    def __init__(self, folder: Path, tables: Sequence[str]) -> None:
        self._folder = folder
        self._tables = tables
        self._database = reading_database(folder)

    def answer(self, query: str, parameters: Parameters, time: datetime | None) -> list[dict[str, Any]]:
        """Rows of a query.

        Args:
            query: a SELECT whose tables are those of the snapshot.
            parameters: values for ``?`` or ``$name`` in the query.
            time: rows that became known later are left out; None for all rows.

        Raises:
            UsageError: the query is not of this form, or cannot be answered.
            StoreError: a file cannot be read, or there is too little memory for the query.
        """
        with self._database.cursor() as database:
            names = self._named(database, query)
            self._make(database, names, time, "VIEW")
            try:
                with engine_errors("query"):
                    return _rows(database, query, parameters)
            except DataError:
                # The engine may have failed at a row that came later, which it looked at before leaving it out; whether
                # there is an error would then tell of that row. So a copy without such rows is asked: its answer, or
                # its error, is that of a vault that never had them.
                self._make(database, names, time, "TABLE")
            try:
                with engine_errors("query"):
                    return _rows(database, query, parameters)
            except DataError as error:
                raise UsageError(str(error)) from None

    def _named(self, database: duckdb.DuckDBPyConnection, query: str) -> list[str]:
        """The tables that a query names.

        Raises:
            UsageError: it is not one SELECT, or reads anything else.
        """
        # The engine's own parser says what the query reads: a pattern over its text would miss what a comment, a
        # quoted name or a nested query hides. What is not a table of the view could be a file of this machine.
        ((text,),) = database.execute("SELECT json_serialize_sql($1)", [query]).fetchall()
        tree = json.loads(text)
        if tree["error"]:
            raise UsageError(f"query: {tree['error_message']}; it must be one SELECT")
        if len(tree["statements"]) != 1:
            raise UsageError(f"query: {len(tree['statements'])} statements; it must be one SELECT")
        nodes = list(_nodes(tree))
        # Names that the query itself gives to its parts (WITH name AS ...).
        own = {entry["key"] for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
        # Such a name holds within its own query alone, and anywhere else the engine takes it for a file: a file always
        # has a dot in its name.
        if strange := sorted(name for name in own if not _PLAIN.fullmatch(name)):
            raise UsageError(f"query: WITH {strange[0]!r}: a part is named by letters, digits and _ alone")
        named = set()
        for node in nodes:
            if node.get("type") == "BASE_TABLE":
                name = node["table_name"]
                if node["schema_name"] or node["catalog_name"] or name not in {*own, *self._tables}:
                    raise UsageError(f"query: there is no table {name!r}; there are {', '.join(self._tables)}")
                named.add(name)
            elif node.get("type") == "TABLE_FUNCTION" and node["function"]["function_name"] not in _FUNCTIONS:
                raise UsageError(f"query: it may not read from {node['function']['function_name']}()")
        return sorted(named & set(self._tables))

    def _make(
        self, database: duckdb.DuckDBPyConnection, names: Sequence[str], time: datetime | None, form: str
    ) -> None:
        """Name what was known of the tables so that a query can read it: as views of the files, or as copies."""
        for name in names:
            source = f"FROM read_parquet({quoted(self._folder / name)} || '.parquet')"
            if time is not None:
                source += f" WHERE {KNOWN_AT} <= TIMESTAMP {quoted(time.replace(tzinfo=None).isoformat(sep=' '))}"
            try:
                with engine_errors(name):
                    if form == "TABLE":
                        database.execute(f"DROP VIEW temp.{name}")
                    database.execute(f"CREATE TEMP {form} {name} AS {source}")
            except DataError as error:
                raise StoreError(
                    f"{self._folder}: damaged or not readable; get the snapshot again ({error})"
                ) from error


def _rows(database: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> list[dict[str, Any]]:
    database.execute(query, parameters or None)
    names = [name for name, *_ in database.description or ()]
    return [dict(zip(names, map(_in_utc, row), strict=True)) for row in database.fetchall()]


def _in_utc(value: object) -> object:
    # A TIMESTAMP of DuckDB has no zone, and those of a vault are all in UTC.
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every object within a JSON value, itself included."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)
