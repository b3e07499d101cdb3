"""Reading the questions of a state directory, whether a verifier uses it at the moment or not."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from openfingym.errors import StoreError

FIRST_VERSION = 7
"""Format of the ledger that first has questions."""


@contextlib.contextmanager
def reading(state: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection for one consistent look, for the functions of
    :mod:`openfingym_verifier.questions.reading`.

    Args:
        state: the state directory of a verifier.

    Raises:
        StoreError: there is no ledger, its format is older than questions, or it cannot be read.
    """
    file = state / "ledger.db"
    if not file.is_file():
        raise StoreError(f"{file}: no such ledger; one is made by the first `openfingym ledger import` or deferred run")
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        with contextlib.closing(connection):
            connection.row_factory = sqlite3.Row
            # One transaction, so that all queries see the same moment, whatever a verifier writes meanwhile.
            connection.execute("BEGIN")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < FIRST_VERSION:
                raise StoreError(f"{file}: of format {version}, which has no questions; any verifier upgrades it")
            yield connection
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file}: cannot be read ({error}); see `openfingym ledger verify`") from error
