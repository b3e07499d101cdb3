"""The tiles of a log from wherever they are, to see that one of its checkpoints goes on from another."""

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
from openfingym.results import RECEIPT

Fetch = Callable[[TilePath], bytes]
LEDGER = "ledger.db"


def read_note(path: Path) -> str:
    """A signed note that somebody kept, as text: of a checkpoint, of a receipt, or of a run's folder.

    Args:
        path: file of the note or of the receipt, or folder of the run.

    Raises:
        ReceiptError: it is malformed.
        UsageError: it cannot be read.
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
    """Check that the log of the later of two checkpoints begins with that of the earlier.

    Args:
        one: a checkpoint whose signature was checked.
        other: another one of the same log.
        log: where the tiles of the log are; see :func:`opened_tiles`. None is enough where both are of one size.

    Returns:
        What was found, as a phrase.

    Raises:
        ReceiptError: the two are of different logs, or show different histories.
        UsageError: tiles are needed, and none are named.
        StoreError: a tile is missing or damaged.
    """
    old, new = sorted((one, other), key=lambda found: found.size)
    if old.origin != new.origin:
        raise ReceiptError(f"the checkpoints are of two logs, {old.origin} and {new.origin}", step="consistency")
    proof: list[bytes] = []
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
    """The tiles of a log, of which nothing is believed.

    Args:
        log: a verifier's URL or unix socket, a state folder, a ``ledger.db``, or a folder that holds ``tile/``.

    Raises:
        UsageError: it is none of these.
        StoreError: a tile is not there.
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
            # Whoever serves a log may have removed what is in the full tile now.
            whole = TilePath(tile.level, tile.n)
            return read_bytes(folder, f"tile/{whole}", WIDTH * HASH_BYTES)[: tile.width * HASH_BYTES]
    except OSError as error:
        raise StoreError(f"{folder / 'tile' / str(tile)}: no such tile ({error.strerror or error})") from None


@contextlib.contextmanager
def _ledger(path: Path) -> Iterator[Fetch]:
    import sqlite3

    from openfingym_verifier import tree

    def fetch(tile: TilePath) -> bytes:
        assert isinstance(tile.level, int)
        return b"".join(tree.hashes(connection, tile.level, tile.n * WIDTH, tile.width))

    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            yield fetch
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: not a ledger with a tree over its log ({error})") from error
