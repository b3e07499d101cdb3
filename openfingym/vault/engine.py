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
"""The most memory that a database takes."""


def writing_database(spill: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory in which rows are sorted, on all cores.

    Args:
        spill: folder for rows that do not fit into memory.
    """
    database = _database(threads=cores())
    # DuckDB guesses the type of a data frame's column from some of its values, which may all be missing; this makes it
    # look at all of them.
    database.execute("SET pandas_analyze_sample = 1000000000")
    database.execute(f"SET temp_directory = {quoted(spill)}")
    return database


def reading_database(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory that reads the files of a folder and no others.

    It uses one thread, so that sums are added in one order and are equal for equal rows, and so that many can ask at
    once.
    """
    # The order matters: the folder is allowed before all else is forbidden, and then nothing can be allowed again.
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
        what: what DuckDB is asked to do, for the message.

    Raises:
        StoreError: a file cannot be read or written, or there is no room.
        DataError: rows are not what they should be.
    """
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        # DuckDB has no error of its own for a full disk, but passes on the system's words.
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
    # Otherwise a query that takes seconds draws a progress bar into a command's output.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET autoinstall_known_extensions = false")
    return database
