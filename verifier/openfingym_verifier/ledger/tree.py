"""The Merkle tree over the log: entry number ``seq`` is the leaf ``seq - 1``.

Hashes of leaves follow from the entries themselves. What is stored besides is one hash for 256 leaves, for 256 of
those, and so on, so that a root or a proof reads some hundred rows of a log of any length. Those hashes are written
with the entry that completes them, in its transaction: tree and log cannot disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym.receipts.merkle import complete_root, leaf_hash, node_hash
from openfingym.receipts.tiles import HEIGHT, MOST_ENTRY_BYTES, WIDTH

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from openfingym.receipts.merkle import Node

SCHEMA = """
CREATE TABLE tree (
    level INTEGER NOT NULL CHECK (level >= 1),
    n INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, n)
) WITHOUT ROWID;
CREATE TRIGGER tree_no_update BEFORE UPDATE ON tree BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER tree_no_delete BEFORE DELETE ON tree BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER tree_no_replace BEFORE INSERT ON tree
WHEN EXISTS (SELECT 1 FROM tree WHERE level = NEW.level AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
"""
VERSION = 6
"""Format of the ledger that first has the tree."""
MOST_KNOWN = 1 << 16
"""Hashes of inner nodes that are kept in memory, some 10 MB."""


def grow(connection: sqlite3.Connection, size: int) -> None:
    """Store the hashes that the entry with number ``size`` completes, in the transaction that appends it."""
    level, n = 0, size
    # Entry 65,536 completes a tile of entries, and with it one of hashes of such tiles, and so on.
    while n % WIDTH == 0:
        level, n = level + 1, n // WIDTH
        tile_root = complete_root(hashes(connection, level - 1, (n - 1) * WIDTH, WIDTH))
        connection.execute("INSERT INTO tree (level, n, hash) VALUES (?, ?, ?)", (level, n - 1, tile_root))


def fill(connection: sqlite3.Connection) -> None:
    """Store the hashes of a log that was written before there was a tree."""
    for size in range(WIDTH, size_of(connection) + 1, WIDTH):
        grow(connection, size)


def size_of(connection: sqlite3.Connection) -> int:
    """Number of leaves."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0])


def entries(connection: sqlite3.Connection, begin: int, count: int) -> list[bytes]:
    """Entries of the log from the leaf ``begin`` on, as canonical JSON.

    Args:
        connection: a reader of the ledger.
        begin: number of the first leaf, from 0.
        count: number of entries to read.

    Raises:
        VerifierError: they are not all there.
    """
    query = "SELECT entry FROM log WHERE seq > ? AND seq <= ? ORDER BY seq"
    return _all([row[0].encode() for row in connection.execute(query, (begin, begin + count))], 0, begin, count)


def hashes(connection: sqlite3.Connection, level: int, begin: int, count: int) -> list[bytes]:
    """Hashes of a level in steps of 256: of leaves at level 0, over 256 of the level below at any other.

    Args:
        connection: a reader of the ledger.
        level: the level, from 0.
        begin: number of the first hash within its level, from 0.
        count: number of hashes to read.

    Raises:
        VerifierError: they are not all there.
    """
    if level == 0:
        return [leaf_hash(entry) for entry in entries(connection, begin, count)]
    query = "SELECT hash FROM tree WHERE level = ? AND n >= ? AND n < ? ORDER BY n"
    return _all([row[0] for row in connection.execute(query, (level, begin, begin + count))], level, begin, count)


def require_short(entry: bytes) -> None:
    """Refuse an entry that no bundle of entries has room for.

    Raises:
        VerifierError: the entry is longer than 64 KiB.
    """
    if len(entry) > MOST_ENTRY_BYTES:
        raise VerifierError(
            f"an entry of the log has {len(entry):,} bytes, expected at most {MOST_ENTRY_BYTES:,}: enter the digest of "
            "what is long"
        )


class KnownNodes:
    """Hashes of complete subtrees, which never change, kept between questions; several threads may ask."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bytes] = {}

    def reader(self, connection: sqlite3.Connection) -> Node:
        """The hash of any complete subtree of the log that a connection sees."""
        known = self._known

        def node(height: int, n: int) -> bytes:
            hash_ = known.get((height, n))
            if hash_ is None:
                # A dictionary's single operations need no lock. What one thread drops here, another reads again.
                if len(known) > MOST_KNOWN:
                    known.clear()
                # The nearest stored level below, and how many heights it is below.
                level, low = divmod(height, HEIGHT)
                hash_ = self._keep(hashes(connection, level, n << low, 1 << low), height - low, n << low)
            return hash_

        return node

    def _keep(self, row: Sequence[bytes], height: int, first: int) -> bytes:
        """The root over some hashes, keeping all that is between: the next proof needs its neighbours.

        Args:
            row: neighbouring hashes of one height, as many as a power of two.
            height: their height in the tree, 0 for leaves.
            first: number of the first of them within its height.
        """
        while True:
            self._known.update({(height, first + i): hash_ for i, hash_ in enumerate(row)})
            if len(row) == 1:
                return row[0]
            row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
            height, first = height + 1, first >> 1


def _all(rows: list[bytes], level: int, begin: int, count: int) -> list[bytes]:
    """What a query gave, if that is all of it."""
    if len(rows) != count:
        raise VerifierError(
            f"the ledger has {len(rows)} of the {count} hashes of its log's tree at level {level} from {begin} on; "
            "`openfingym ledger verify` says what is missing"
        )
    return rows
