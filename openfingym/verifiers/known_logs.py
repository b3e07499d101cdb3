"""Public keys of the verifiers' logs that this machine knows, kept in the store.

As with the known hosts of ssh, the key that a log has when it is met first is believed: when a rollout is run at its
verifier, or a forecast is entered there. A verifier that shows another key later is refused. Keys that somebody was
given are added by hand, and a log may have several: an operator who replaces a key does not take back what was signed
by the old one.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.errors import ReceiptError, UsageError, VerifierError
from openfingym.files.strange import MEGABYTE
from openfingym.files.whole import store_errors, whole_file
from openfingym.receipts.checkpoint import Checkpoint, origin_of
from openfingym.receipts.keys import PublicKey

if TYPE_CHECKING:
    from openfingym.receipts.receipt import Receipt

FileState = tuple[int, int, int]
"""Inode, time of modification and size of a file."""
FILE = "known-logs"
"""Name of the file in the store with the keys of verifiers that were met, one on each line."""
TRUSTED = "trusted-logs"
"""Name of the file in the store with the keys that were added by hand: of verifiers of other people."""
MOST_CHARACTERS = 64 * MEGABYTE
"""The most that is read of the file."""


def all_known_keys() -> Mapping[str, tuple[PublicKey, ...]]:
    """Every key that this machine knows, by the name of the file that has it."""
    return {
        name: tuple(key for origin in _lines_of(file) for key in _keys(file, origin))
        for name, file in ((name, store.home() / name) for name in (FILE, TRUSTED))
    }


def known_keys(origin: str) -> tuple[PublicKey, ...]:
    """The keys by which this machine knows a log, those that it has met first; none for a log that it does not know.

    Args:
        origin: name of the log, as checkpoints and receipts state it.
    """
    # A key that was trusted by hand and then met is in both files.
    return tuple(dict.fromkeys(key for name in (FILE, TRUSTED) for key in _keys(store.home() / name, origin)))


def is_met(key: PublicKey) -> bool:
    """Whether the key is of a verifier that was met from this machine, or runs on it."""
    return key in _keys(store.home() / FILE, key.name)


def pinned_key(receipt: Receipt, given: Sequence[PublicKey] = ()) -> PublicKey | None:
    """The key under which a receipt must hold: one that was given or is known; None where its log is not known at all.

    Args:
        receipt: a receipt, which may be a stranger's.
        given: keys that the reader has from elsewhere, beside those that this machine knows.

    Raises:
        ReceiptError: the receipt states no key.
    """
    try:
        stated = PublicKey.parse(receipt.key)
    except UsageError as error:
        raise ReceiptError(str(error), step="signature") from None
    own = [key for key in (*given, *known_keys(stated.name)) if key.name == stated.name]
    # Of a log that is known by other keys alone, the receipt is held against one of these, and so is refused.
    return stated if stated in own else next(iter(own), None)


def require_known_checkpoint(note: str, where: str) -> None:
    """Refuse a verifier whose log is known here by other keys than the one that signs its checkpoints.

    Args:
        note: a checkpoint as the verifier gives it at present.
        where: location of the verifier, for the message.

    Raises:
        VerifierError: no known key of the log has signed the checkpoint. Of a log that is not known, nothing is said.
    """
    origin = origin_of(note)
    known = known_keys(origin)
    for key in known:
        with contextlib.suppress(ReceiptError):
            Checkpoint.opened(note, key)
            return
    if known:
        raise VerifierError(_changed(origin, known, where))


def meet(receipt: Receipt, where: str) -> None:
    """Note the key of a log at first contact with its verifier; a log that is known must have a known key.

    Where the store cannot be written, the key is not noted, and nothing else fails.

    Args:
        receipt: a receipt that the verifier itself gave, at its own address.
        where: location of the verifier, for the message.

    Raises:
        VerifierError: the receipt does not hold, or is by another key than the log is known by.
    """
    try:
        key = PublicKey.parse(receipt.key)
        known = known_keys(key.name)
        if known and key not in known:
            raise VerifierError(_changed(key.name, known, where))
        receipt.checked(key)
    except (ReceiptError, UsageError) as error:
        raise VerifierError(f"the verifier at {where} gave a receipt that does not hold: {error}") from None
    remember(key)


def remember(key: PublicKey) -> None:
    """Note a key of a verifier that runs on this machine, or that has just been met.

    Where the store cannot be written, the key is not noted, and nothing else fails.
    """
    with contextlib.suppress(OSError):
        _note(store.home() / FILE, key)


def trust(key: PublicKey) -> bool:
    """Add a key that somebody was given; returns whether it was not known yet.

    Raises:
        StoreError: the store cannot be written.
    """
    if key in known_keys(key.name):
        return False
    _note.cache_clear()
    with store_errors(store.home() / TRUSTED, "choose another store with $OPENFINGYM_HOME"):
        _note(store.home() / TRUSTED, key)
    return True


def distrust(key: PublicKey) -> bool:
    """Remove a key; returns whether it was known. Receipts by it back nothing from then on.

    Raises:
        StoreError: the store cannot be written.
    """
    known = key in known_keys(key.name)
    _note.cache_clear()
    for file in (store.home() / FILE, store.home() / TRUSTED):
        if key in _keys(file, key.name):
            lines = [line for lines in _lines_of(file).values() for line in lines if line != str(key)]
            with store_errors(file, "choose another store with $OPENFINGYM_HOME"), whole_file(file) as stream:
                stream.write("".join(f"{line}\n" for line in lines))
    return known


def _changed(origin: str, known: Sequence[PublicKey], where: str) -> str:
    """Why a verifier is refused whose log has another key than before."""
    ids = ", ".join(f"{key.name}+{key.id.hex()}" for key in known)
    return (
        f"the verifier at {where} signs the log {origin} by another key than this machine knows it by ({ids}): its "
        "operator has replaced the key, or it is another verifier under that name; ask the operator, and add the new "
        "key with `openfingym receipt trust KEY` if it is theirs"
    )


def _keys(file: Path, origin: str) -> tuple[PublicKey, ...]:
    """The readable keys of a log in a file, each once."""
    state = _state(file)
    return () if state is None else _readable(file, origin, state)


def _lines_of(file: Path) -> Mapping[str, Sequence[str]]:
    """The lines of each log in a file by the log's name; none where it cannot be read."""
    state = _state(file)
    return {} if state is None else _lines(file, state)


def _state(file: Path) -> FileState | None:
    """What changes whenever a file is written; None for a file that is not there."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=1024)
def _readable(file: Path, origin: str, state: FileState) -> tuple[PublicKey, ...]:
    """The readable keys of a log in a file of this state, each once."""
    found: dict[PublicKey, None] = {}
    for line in _lines(file, state).get(origin, ()):
        # A full disk may have cut a line short; it counts for nothing.
        with contextlib.suppress(UsageError):
            found[PublicKey.parse(line)] = None
    return tuple(found)


@functools.lru_cache(maxsize=4)
def _lines(file: Path, _state: FileState) -> Mapping[str, Sequence[str]]:
    """The lines of each log, read once for all receipts that are checked while the file stays as it is; none where it
    cannot be read.

    Every run with a verifier of its own adds a line: to read the file again for each of as many receipts would take
    time that grows with the square of their number.

    Args:
        file: the file of keys.
        _state: state of the file, which is a part of the cache's key.
    """
    lines: dict[str, list[str]] = {}
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(MOST_CHARACTERS)
    except (OSError, ValueError):
        return {}
    for line in text.splitlines():
        lines.setdefault(line.partition("+")[0], []).append(line)
    return lines


@functools.lru_cache(maxsize=64)
def _note(file: Path, key: PublicKey) -> None:
    """Add a key to a file, unless it is there. The cache spares a look into it for each rollout of a run."""
    if key in _keys(file, key.name):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    # One write of a short line in append mode: where two programs write at once, both lines are there.
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        # A full disk may have cut the last line short, which must not spoil this one.
        size = os.fstat(descriptor).st_size
        before = "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""
        os.write(descriptor, f"{before}{key}\n".encode())
    finally:
        os.close(descriptor)
