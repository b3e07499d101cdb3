"""Receipts of this verifier's log: signed checkpoints, proofs, and the tiles that other programs read.

A checkpoint is signed when somebody asks for one, and of what is on the disk: a submission never waits for a signature,
and no log is signed that a power cut takes back. The same size gives the same signature.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError, VerifierError
from openfingym.files.whole import whole_file
from openfingym.receipts.checkpoint import Checkpoint
from openfingym.receipts.keys import KEY_BYTES, SigningKey
from openfingym.receipts.merkle import inclusion_proof, root_of
from openfingym.receipts.receipt import Leaf, Opened, Receipt
from openfingym.receipts.tiles import HEIGHT, WIDTH, TilePath, bundle
from openfingym_verifier.ledger import tree

if TYPE_CHECKING:
    import sqlite3

    from openfingym.receipts.merkle import Node
    from openfingym_verifier.ledger.ledger import Ledger

KEY_FILE = "checkpoint.key"
"""File of a state directory with the key that signs checkpoints."""
LOCAL_ORIGIN = "openfingym.local"
"""Beginning of the name of a log that nobody named."""
SCORED_ENTRIES = ("accepted", "played")
"""Events of the log that hold the digest of what was scored."""
END_ENTRIES = ("finalized", "settled", "released")
"""Events of the log that hold the digest of a result, or of what is told of it."""


def load_signing_key(state: Path, origin: str | None = None) -> SigningKey:
    """The key that signs the checkpoints of a state directory's log, made on first use, readable by its owner only.

    Args:
        state: the state directory, which nobody else uses meanwhile.
        origin: name of the log; None for the one it has, or a random one.

    Raises:
        VerifierError: the file is there but holds no key, or that of a log of another name, or others may read it.
    """
    path = state / KEY_FILE
    # A link that leads nowhere counts as a file: a log must not get another key without a word.
    if not os.path.lexists(path):
        made = SigningKey(origin or f"{LOCAL_ORIGIN}/{secrets.token_hex(8)}", secrets.token_bytes(KEY_BYTES))
        # Whole or not at all: half a key, left by a verifier that was killed, would have to be removed by hand.
        with whole_file(path, mode=0o600) as stream:
            stream.write(f"{made.secret_text()}\n")
        return made
    key = read_signing_key(path)
    if (mode := path.stat().st_mode & 0o777) & 0o077:
        raise VerifierError(
            f"{path}: of mode {mode:o}, so that others could sign as this log; chmod 600 it, or remove it to begin "
            "with a new one if they may have read it"
        )
    if origin is not None and key.public.name != origin:
        raise VerifierError(
            f"{path}: the log of this state directory is named {key.public.name}, and {origin} was asked for; a log "
            "keeps its name"
        )
    return key


def read_signing_key(path: Path) -> SigningKey:
    """The key in a file.

    Raises:
        VerifierError: the file cannot be read, or holds no key.
    """
    try:
        return SigningKey.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, UsageError) as error:
        raise VerifierError(
            f"{path}: {error}; put the key back, or remove the file to begin with a new one, by which no earlier "
            "checkpoint is signed"
        ) from None


class Receipts:
    """Proofs from one ledger. Reads the ledger, so that its methods belong into the thread pool."""

    def __init__(self, ledger: Ledger, key: SigningKey) -> None:
        self.key = key
        self._ledger = ledger
        self._nodes = tree.KnownNodes()
        self._latest: tuple[Checkpoint, str] | None = None
        """The latest checkpoint and its signed text."""

    def checkpoint(self) -> str:
        """A signed checkpoint of the log as it is on the disk."""
        with self._ledger.read() as connection:
            return self._signed(tree.size_of(connection), self._nodes.reader(connection))

    def of_entries(self, rows: Sequence[int], opened: Mapping[int, Opened] | None = None) -> Receipt:
        """A receipt of some rows of the log.

        Args:
            rows: numbers of the rows, from 1, as :attr:`openfingym_verifier.ledger.writer.Transaction.seq` has them;
                all of them must be on the disk.
            opened: what rows commit to by a salted digest, by their number.

        Raises:
            VerifierError: the log has no such row.
        """
        with self._ledger.read() as connection:
            return self._receipt(connection, rows, opened or {})

    def of_rollout(self, rollout_id: str) -> Receipt | None:
        """A receipt of what was scored in a finished rollout, and of its result; None where there is no result yet."""
        query = "SELECT seq, json_extract(entry, '$.event') FROM log WHERE rollout_id = ? ORDER BY seq DESC"
        ends: list[int] = []
        with self._ledger.read() as connection:
            # From the end, since a rollout of many steps has many rows before it.
            for seq, event in connection.execute(query, (rollout_id,)):
                if event in END_ENTRIES:
                    # Of a rollout that was deferred and is settled, or held and released, the final result.
                    ends = ends or [seq]
                elif event in SCORED_ENTRIES:
                    # The last submission, which alone was scored; without an end behind it the rollout is open.
                    if ends:
                        ends.append(seq)
                    break
            return self._receipt(connection, ends[::-1], {}) if ends else None

    def entry(self, row: int) -> dict[str, object] | None:
        """The entry of a row of the log by the row's number, from 1; None where the log is not as long."""
        with self._ledger.read() as connection:
            stored = connection.execute("SELECT entry FROM log WHERE seq = ?", (row,)).fetchone()
        return None if stored is None else dict(json.loads(stored["entry"]))

    def tile(self, path: TilePath) -> bytes | None:
        """A tile of hashes or a bundle of entries; None where the log is not as long."""
        level = 0 if path.level == "entries" else path.level
        with self._ledger.read() as connection:
            begin = path.n * WIDTH
            # Size of the level: each is a 256th of the one below.
            if begin + path.width > tree.size_of(connection) >> HEIGHT * level:
                return None
            if path.level == "entries":
                return bundle(tree.entries(connection, begin, path.width))
            return b"".join(tree.hashes(connection, level, begin, path.width))

    def _receipt(self, connection: sqlite3.Connection, rows: Sequence[int], opened: Mapping[int, Opened]) -> Receipt:
        """A receipt of some rows, by one reader of the ledger; see :meth:`of_entries`."""
        # One look at the ledger: the proofs are for the very tree that is signed.
        size, node = tree.size_of(connection), self._nodes.reader(connection)
        if not all(1 <= row <= size for row in rows):
            raise VerifierError(f"the log has {size} rows; there is no receipt of {', '.join(map(str, rows))}")
        leaves = tuple(
            Leaf(
                row - 1,
                tree.entries(connection, row - 1, 1)[0].decode(),
                tuple(inclusion_proof(row - 1, size, node)),
                opened.get(row),
            )
            for row in rows
        )
        return Receipt(str(self.key.public), self._signed(size, node), leaves)

    def _signed(self, size: int, node: Node) -> str:
        """The signed checkpoint of the log at a size, signed once."""
        latest = self._latest
        if latest is None or latest[0].size != size:
            checkpoint = Checkpoint(self.key.public.name, size, root_of(size, node))
            # Set as one, since several threads may sign at once.
            self._latest = latest = checkpoint, checkpoint.signed(self.key)
        return latest[1]
