"""Writing the columns of a table into its file, from the Parquet file that DuckDB has sorted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from openfingym.vault.arrays import Array, ArrayWriter, narrowest
from openfingym.vault.columns import BLOCK, NULL
from openfingym.vault.spec import TableSpec
from openfingym.vault.strings import write_strings

if TYPE_CHECKING:
    import duckdb

_BATCH = 4096
"""Rows that are fetched at once, where they become Python's own texts."""
_NUMBERS = {
    "BOOLEAN": ("{}::UTINYINT", "u1"),
    "INTEGER": ("{}", "<i4"),
    "BIGINT": ("{}", "<i8"),
    "DOUBLE": ("{}", "<f8"),
    "DATE": ("({} - DATE '1970-01-01')::INTEGER", "<i4"),
    "TIMESTAMP": ("epoch_us({})", "<i8"),
}
"""For each type, the SQL expression that makes numbers of it, and the type as which they are written."""


def write_columns(stream: BinaryIO, spec: TableSpec, rows: duckdb.DuckDBPyConnection, table: str) -> None:
    """Write all columns of a table, and the index of its key.

    Args:
        stream: file to write to.
        spec: the columns and the key of the table.
        rows: database to ask for the rows.
        table: expression of SQL that gives the rows, in the order in which they became known.
    """
    writer = ArrayWriter(stream)
    keys: dict[str, Array] = {}
    for name, kind in spec.types.items():
        if name in spec.text:
            _write_text(writer, name, rows, table)
            continue
        numbers = (_write_coded if kind.startswith("VARCHAR") else _write_numbers)(writer, name, kind, rows, table)
        if name in spec.key:
            keys[name] = numbers
    if spec.key:
        _write_key(writer, {name: keys[name] for name in spec.key})
    writer.finish()


def texts(rows: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The searched text of each row, in batches: the texts of some columns, joined by line feeds."""
    columns = ", ".join(f'"{name}"' for name in names)
    rows.execute(f"SELECT concat_ws(chr(10), {columns}) FROM {table}")
    return _batches(rows)


def _write_numbers(writer: ArrayWriter, name: str, kind: str, rows: duckdb.DuckDBPyConnection, table: str) -> Array:
    """Write a column of numbers, and return them, with :data:`NULL` where one is missing unless they are floats."""
    expression, dtype = _NUMBERS[kind]
    column = expression.format(f'"{name}"')
    values = _fetched(rows, f"SELECT {column} FROM {table}")
    missing = np.ma.getmaskarray(values)
    if kind == "DOUBLE":
        missing = missing | np.isnan(values.filled(0))
    # Whatever DuckDB leaves in a missing cell, 0 is written: equal rows must make equal files.
    numbers = values.filled(0).astype(dtype)
    numbers[missing] = 0
    writer.add(f"{name}.numbers", numbers)
    starts = np.arange(0, len(numbers), BLOCK)
    writer.add(f"{name}.lows", np.minimum.reduceat(numbers, starts) if len(numbers) else numbers)
    writer.add(f"{name}.highs", np.maximum.reduceat(numbers, starts) if len(numbers) else numbers)
    if missing.any():
        writer.add(f"{name}.missing", missing.astype(np.uint8))
    return np.where(missing, NULL, numbers.astype(np.int64)) if kind != "DOUBLE" else numbers


def _write_coded(writer: ArrayWriter, name: str, kind: str, rows: duckdb.DuckDBPyConnection, table: str) -> Array:
    """Write a column of text or of lists of text, and return its codes."""
    lists = kind.endswith("[]")
    source = f'(SELECT unnest("{name}") AS v FROM {table})' if lists else f'(SELECT "{name}" AS v FROM {table})'
    # DuckDB sorts and numbers the different texts as an enumeration; its numbers are the codes.
    rows.execute("DROP TYPE IF EXISTS strings")
    rows.execute(f"CREATE TYPE strings AS ENUM (SELECT DISTINCT v FROM {source} WHERE v IS NOT NULL ORDER BY v)")
    rows.execute("SELECT unnest(enum_range(NULL::strings))::VARCHAR")
    count = write_strings(writer, name, _batches(rows))
    values = _fetched(rows, f"SELECT enum_code(v::strings) FROM {source}")
    codes = np.ma.filled(values.astype(np.int64), count).astype(narrowest(count + 1))
    writer.add(f"{name}.codes", codes)
    if lists:
        lengths = _fetched(rows, f'SELECT coalesce(len("{name}"), 0) FROM {table}').filled(0).astype(np.int64)
        starts = np.zeros(len(lengths) + 1, np.uint32)
        np.cumsum(lengths, out=starts[1:])
        writer.add(f"{name}.lists", starts)
        _write_postings(writer, f"{name}.postings", codes, count + 1, np.repeat(np.arange(len(lengths)), lengths))
    else:
        _write_postings(writer, f"{name}.postings", codes, count + 1)
    return codes.astype(np.int64)


def _write_text(writer: ArrayWriter, name: str, rows: duckdb.DuckDBPyConnection, table: str) -> None:
    missing = np.ma.filled(_fetched(rows, f'SELECT "{name}" IS NULL FROM {table}'), fill_value=False)
    rows.execute(f"SELECT coalesce(\"{name}\", '') FROM {table}")
    write_strings(writer, name, _batches(rows))
    if missing.any():
        writer.add(f"{name}.missing", missing.astype(np.uint8))


def _write_key(writer: ArrayWriter, columns: Mapping[str, Array]) -> None:
    """Write the different keys in order, the rows of each, and the key of each row."""
    # lexsort takes the most important column last.
    ordered = np.lexsort(list(columns.values())[::-1])
    new = np.zeros(len(ordered), bool)
    new[:1] = True
    for numbers in columns.values():
        new[1:] |= numbers[ordered][1:] != numbers[ordered][:-1]
    keys = np.zeros(len(ordered), np.int64)
    keys[ordered] = np.cumsum(new) - 1
    for name, numbers in columns.items():
        writer.add(f"key.{name}", numbers[ordered[new]])
    writer.add("key.numbers", keys.astype(np.uint32))
    _write_postings(writer, "key", keys, int(new.sum()))


def _write_postings(writer: ArrayWriter, name: str, numbers: Array, count: int, rows: Array | None = None) -> None:
    """Write, for each number below ``count``, the rows that have it, in order and each once.

    Args:
        writer: writer of the file of columns.
        name: name under which the postings are written.
        numbers: the number of each row, or of each element of ``rows``.
        count: number of different numbers, all of which are below it.
        rows: the row that each number belongs to, in order; None where every row has one number.
    """
    # A stable sort by number leaves the rows of each number in order.
    by_number = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[by_number]
    sorted_rows = by_number if rows is None else rows[by_number]
    if rows is not None and len(rows):
        # A list may hold a text twice; its row stands among those of the text once.
        again = (sorted_numbers[1:] == sorted_numbers[:-1]) & (sorted_rows[1:] == sorted_rows[:-1])
        once = np.append(True, ~again)
        sorted_numbers, sorted_rows = sorted_numbers[once], sorted_rows[once]
    starts = np.searchsorted(sorted_numbers, np.arange(count + 1))
    writer.add(f"{name}.starts", starts.astype(np.uint32))
    writer.add(f"{name}.rows", sorted_rows.astype(np.uint32))


def _fetched(rows: duckdb.DuckDBPyConnection, query: str) -> np.ma.MaskedArray[Any, Any]:
    (values,) = rows.execute(query).fetchnumpy().values()
    return np.ma.asarray(values)


def _batches(rows: duckdb.DuckDBPyConnection) -> Iterator[Sequence[str]]:
    while batch := rows.fetchmany(_BATCH):
        yield [value for (value,) in batch]
