"""Reading the tiles of a log, from a verifier, a ledger or a folder, to check that the log of a later checkpoint begins
with that of an earlier one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from openfingym.errors import ReceiptError, StoreError, UsageError
from openfingym.files.strange import read_bytes
from openfingym.receipts.checkpoint import MOST_CHARACTERS, Checkpoint
from openfingym.receipts.merkle import HASH_BYTES, consistency_proof, is_consistent
from openfingym.receipts.receipt import Receipt
from openfingym.receipts.tiles import WIDTH, TilePath, TileTree
from openfingym.results.run_folder import RECEIPT

Fetch = Callable[[TilePath], bytes]
"""Gives the bytes of a tile."""
LEDGER = "ledger.db"
"""Name of the ledger's file in a state folder."""


def read_note(path: Path) -> str:
    """The signed note of a checkpoint that somebody kept, as text.

    Args:
        path: file of the note, file of a receipt that holds it, or folder of a run with a receipt.

    Raises:
        ReceiptError: the content is malformed.
        UsageError: the file cannot be read.
    """
    folder, name = (path, RECEIPT) if path.is_dir() else (path.absolute().parent, path.name)
    try:
        content = read_bytes(folder, name, MOST_CHARACTERS)
        return Receipt.from_json(content).checkpoint if content.startswith(b"{") else content.decode()
    except OSError as error:
        raise UsageError(f"{folder / name}: no checkpoint can be read from it ({error.strerror or error})") from None
    except ValueError:
        raise ReceiptError(f"{path}: a checkpoint is text in UTF-8", step="checkpoint") from None


def require_consistent(one: Checkpoint, other: Checkpoint, log: str | None) -> str:
    """Check that the log of the later of two checkpoints begins with that of the earlier one.

    Args:
        one: a checkpoint whose signature was checked.
        other: another checkpoint of the same log, whose signature was checked too.
        log: location of the log's tiles, as :func:`opened_tiles` takes it; None is enough where both checkpoints are of
            the same size.

    Returns:
        The finding, as a phrase.

    Raises:
        ReceiptError: the two are of different logs, or show different histories.
        UsageError: tiles are needed, and no location is given.
        StoreError: a tile is missing or damaged.
    """
    old, new = sorted((one, other), key=lambda checkpoint: checkpoint.size)
    if old.origin != new.origin:
        raise ReceiptError(f"the checkpoints are of two logs, {old.origin} and {new.origin}", step="consistency")
    proof: list[bytes] = []
    # Checkpoints of one size are consistent if their roots are equal, and every log begins with the empty one.
    if 0 < old.size < new.size:
        if log is None:
            raise UsageError(
                f"the checkpoints are of {old.size} and {new.size} entries; to compare them, say where the log's tiles "
                "are: --log with its verifier, its state folder, or a folder that holds tile/"
            )
        with opened_tiles(log) as fetch:
            try:
                proof = consistency_proof(old.size, new.size, TileTree(fetch, new.size).node)
            except ValueError as error:
                raise StoreError(f"{log}: {error}") from None
    if not is_consistent(old.size, old.root, new.size, new.root, proof):
        raise ReceiptError(
            f"the log of {new.size} entries does not begin with the {old.size} of the earlier checkpoint: two "
            "histories were signed, or the tiles are of another log",
            step="consistency",
        )
    return f"{new.size:,} entries begin with the {old.size:,} of the earlier checkpoint"


@contextlib.contextmanager
def opened_tiles(log: str) -> Iterator[Fetch]:
    """What reads tiles of a log, during the block; they need not be trusted, since a proof from wrong tiles fails.

    Args:
        log: location of the tiles: a verifier's URL or unix socket, a state folder, a ``ledger.db``, or a folder that
            holds ``tile/``.

    Raises:
        UsageError: the location is none of these.
        StoreError: a tile is missing.
    """
    path = Path(log).expanduser()
    if (path / "tile").is_dir():
        yield lambda tile: _from_folder(path, tile)
    elif path.is_file() or (path / LEDGER).is_file():
        with _ledger(path if path.is_file() else path / LEDGER) as fetch:
            yield fetch
    elif path.is_dir():
        raise UsageError(f"{path}: neither a state folder nor a folder that holds tile/")
    else:
        from openfingym.verifiers.address import VerifierAddress, token_of_environment

        with contextlib.closing(VerifierAddress(log, token_of_environment(log)).connect()) as client:
            yield lambda tile: client.tile(str(tile))


def _from_folder(folder: Path, tile: TilePath) -> bytes:
    try:
        try:
            return read_bytes(folder, f"tile/{tile}", WIDTH * HASH_BYTES)
        except FileNotFoundError:
            # A partial tile may be removed once the full one is there, which begins with the same hashes.
            whole = TilePath(tile.level, tile.n)
            return read_bytes(folder, f"tile/{whole}", WIDTH * HASH_BYTES)[: tile.width * HASH_BYTES]
    except OSError as error:
        raise StoreError(f"{folder / 'tile' / str(tile)}: no such tile ({error.strerror or error})") from None


@contextlib.contextmanager
def _ledger(path: Path) -> Iterator[Fetch]:
    """What makes tiles from the tree in a ledger, during the block."""
    import sqlite3

    from openfingym_verifier.ledger import tree

    def fetch(tile: TilePath) -> bytes:
        assert isinstance(tile.level, int), "a proof needs hashes, and no bundles of entries"
        return b"".join(tree.hashes(connection, tile.level, tile.n * WIDTH, tile.width))

    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            yield fetch
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: not a ledger with a tree over its log ({error})") from error
