"""The append-only, hash-chained record of everything that happened to rollouts.

Each row's hash is SHA-256 over the previous row's hash and the canonical JSON of its entry, so
no row can be edited, dropped or moved without every later hash changing. A result carries the
hash of its ``finalized`` row (``log_head``): who keeps the result can later prove that the log
up to there is the one it was given. The rows are also the leaves of a Merkle tree
(:mod:`openfingym_verifier.ledger.tree`), of which receipts are made. Entries hold digests of payloads and
feedback, and neither values nor labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.digests import canonical_json, sha256_of
from openfingym_verifier.ledger import tree

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


Row = tuple[int, str, str, str, str]
"""Number, rollout, canonical JSON of the entry, previous hash and hash of a row of the log."""
GENESIS = "0" * 64
"""The hash before the first row."""

SCHEMA = """
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    rollout_id TEXT NOT NULL,
    entry TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX log_rollout ON log (rollout_id);
CREATE TRIGGER log_no_update BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_no_delete BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_no_replace BEFORE INSERT ON log WHEN EXISTS (SELECT 1 FROM log WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
"""


def entry_hash(prev_hash: str, entry: bytes) -> str:
    """Hash of a row, given the previous row's and the entry's canonical JSON."""
    return sha256_of(prev_hash.encode() + entry)


def row_after(seq: int, prev_hash: str, rollout_id: str, entry: dict[str, object]) -> Row:
    """The row with number ``seq``, from 1, that continues the row with the hash ``prev_hash``.

    Raises:
        VerifierError: the entry is longer than a bundle of entries can hold.
    """
    text = canonical_json({**entry, "rollout": rollout_id})
    tree.require_short(text)
    return seq, rollout_id, text.decode(), prev_hash, entry_hash(prev_hash, text)


def write(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Append rows inside the caller's transaction."""
    connection.executemany("INSERT INTO log (seq, rollout_id, entry, prev_hash, hash) VALUES (?, ?, ?, ?, ?)", rows)


def last_of(connection: sqlite3.Connection) -> tuple[int, str]:
    """Number and hash of the last row; 0 and :data:`GENESIS` where there is none."""
    row = connection.execute("SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, GENESIS) if row is None else (int(row[0]), str(row[1]))
