"""Checking a ledger from outside: its log, what the log says of the rest, and that it goes on from an earlier
checkpoint.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym.receipts.checkpoint import Checkpoint, unsigned
from openfingym.verifiers.log_tiles import LEDGER, read_note
from openfingym_verifier.audit.log import ChainReport, verify_chain
from openfingym_verifier.ledger.receipts import KEY_FILE, read_signing_key
from openfingym_verifier.ledger.schema import STEPS

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.receipts.keys import PublicKey


def verify_ledger(path: Path, earlier_checkpoint: Path | None = None, key: PublicKey | None = None) -> ChainReport:
    """Check a ledger: its log and what that says of the rest, as :func:`openfingym_verifier.audit.log.verify_chain`
    does, its triggers, and that its indices agree with its tables.

    Args:
        path: ``ledger.db`` of a state directory, or the directory; opened read-only.
        earlier_checkpoint: a signed checkpoint that the log gave before, with which it must begin: its file, a
            receipt, or a run's folder.
        key: public key that must have signed the checkpoint; None for that of the state directory. Without either, the
            checkpoint is taken at its reader's word.

    Raises:
        VerifierError: the ledger is not what was written, or its file is damaged.
        ReceiptError: the checkpoint is not signed by the key, or the log does not begin with it.
        StoreError: the ledger cannot be read.
        UsageError: the file of the checkpoint cannot be read.
    """
    file = path / LEDGER if path.is_dir() else path
    earlier = None if earlier_checkpoint is None else _earlier(file, earlier_checkpoint, key)
    report = verify_chain(path, earlier=earlier)
    _check_file(file)
    return report


def _earlier(file: Path, checkpoint: Path, key: PublicKey | None) -> Checkpoint:
    """The earlier checkpoint, its signature checked if there is a key to check it with."""
    note, own = read_note(checkpoint), file.parent / KEY_FILE
    if key is None and own.exists():
        key = read_signing_key(own).public
    return unsigned(note) if key is None else Checkpoint.opened(note, key)


def _check_file(file: Path) -> None:
    """Check what is not in rows: what guards them from now on, and what they are found by."""
    try:
        _require_sound(file)
    except (sqlite3.DatabaseError, ValueError) as error:
        raise VerifierError(f"{file}: the file is damaged: {error}") from error


def _require_sound(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        # A new ledger of the same format has the tables, triggers and indices that this one must have, and no others.
        with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
            fresh.executescript("".join(STEPS[:version]))
            expected, present = _guards(fresh), _guards(connection)
        for name in sorted(expected.keys() | present.keys()):
            if expected.get(name) != present.get(name):
                what = "missing" if name not in present else "changed" if name in expected else "not one of ours"
                raise VerifierError(f"{file}: {name} is {what}, in a ledger of format {version}")
        # Among other things, the rows of indices against those of tables, which no query of ours compares.
        (first,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if first != "ok":
            raise VerifierError(f"{file}: the file is damaged: {first}")


def _guards(connection: sqlite3.Connection) -> dict[str, str]:
    """Tables, triggers, indices and views, by kind and name: their text, whatever the spaces in it."""
    # Without the tables that ANALYZE makes, which change nothing but the plans of queries.
    query = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_stat_'"
    # Bytes that are no text are replaced: a damaged file differs then, and does not end in a decoding error.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return {name: " ".join(sql.split()) for name, sql in connection.execute(query)}
