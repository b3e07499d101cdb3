"""DuckDB as vaults use it: bounded memory, and nothing loaded from elsewhere."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import DataError, StoreError
from openfingym.machine import cores

if TYPE_CHECKING:
    import duckdb

MEMORY = "2GB"
"""Memory that a database takes at most."""


def writing_database(spill: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory in which rows are sorted, on all cores.

    Args:
        spill: folder for what does not fit into memory.
    """
    database = _database(threads=cores())
    # All values of a column are looked at before its type is guessed: it may begin with a thousand missing ones.
    database.execute("SET pandas_analyze_sample = 1000000000")
    database.execute(f"SET temp_directory = {quoted(spill)}")
    return database


def reading_database(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory that reads the files of a folder and no others, on one thread: so that equal rows have
    equal sums, and many can ask at once.
    """
    database = _database(threads=1)
    database.execute("SET temp_directory = ''")
    database.execute(f"SET allowed_directories = [{quoted(folder)}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def quoted(text: str | Path) -> str:
    """A text as a literal of SQL."""
    escaped = str(text).replace("'", "''")
    return f"'{escaped}'"


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Report what DuckDB refuses as an error of ours.

    Args:
        what: what was being done, for the message.

    Raises:
        StoreError: a file cannot be read or written, or there is no room.
        DataError: rows are not what they should be.
    """
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        if (full := os.strerror(errno.ENOSPC)) in str(error):
            raise StoreError(
                f"{what}: cannot be written ({full}); free some space, then run the same command again"
            ) from error
        raise StoreError(f"{what}: {error}") from error
    except duckdb.Error as error:
        raise DataError(f"{what}: {error}") from error


def _database(threads: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect()
    database.execute(f"SET threads = {threads}")
    database.execute(f"SET memory_limit = '{MEMORY}'")
    database.execute("SET TimeZone = 'UTC'")
    # Of what takes seconds it would draw a bar, into what a command prints.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET autoinstall_known_extensions = false")
    return database
