"""Public keys of the verifiers' logs that this machine has met, kept in the store.

The key of a log is noted when a rollout is run at its verifier, so that a receipt which turns up later can be checked
against it. As with the known hosts of ssh, the key of the first meeting is believed.
"""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from openfingym import store
from openfingym.errors import UsageError
from openfingym.files.strange import MEGABYTE
from openfingym.receipts.keys import PublicKey

FILE = "known-logs"
"""Name of the file in the store, which has one key on each line."""
MOST_CHARACTERS = 64 * MEGABYTE
"""The most that is read of the file."""


def known_key(origin: str) -> PublicKey | None:
    """The key that a log had when this machine met it first; None for a log that it has not met.

    Args:
        origin: name of the log, as checkpoints and receipts state it.
    """
    return _find(store.home() / FILE, origin)


def remember(text: str) -> None:
    """Note the key of a log, unless a key of that log is known already.

    Where the store cannot be written, the key is not noted, and nothing else fails.

    Args:
        text: the key with the name of its log, as a receipt states it.
    """
    with contextlib.suppress(OSError):
        _note(store.home() / FILE, text)


def _find(file: Path, origin: str) -> PublicKey | None:
    """The first readable key of a log in a file."""
    try:
        status = file.stat()
        lines = _lines(file, status.st_ino, status.st_mtime_ns, status.st_size).get(origin, ())
    except (OSError, ValueError):
        return None
    for line in lines:
        # A full disk may have cut a line short; the next one of that log counts then.
        with contextlib.suppress(UsageError):
            return PublicKey.parse(line)
    return None


@functools.lru_cache(maxsize=2)
def _lines(file: Path, *_state: int) -> dict[str, list[str]]:
    """The lines of each log, read once for all receipts that are checked while the file stays as it is.

    Every run with a verifier of its own adds a line: to read the file again for each of as many receipts would take
    time that grows with the square of their number.

    Args:
        file: the file of keys.
        _state: inode, time of modification and size of the file, which are a part of the cache's key.
    """
    lines: dict[str, list[str]] = {}
    with file.open(encoding="utf-8") as stream:
        for line in stream.read(MOST_CHARACTERS).splitlines():
            lines.setdefault(line.partition("+")[0], []).append(line)
    return lines


@functools.lru_cache(maxsize=64)
def _note(file: Path, text: str) -> None:
    """Add a key to a file, unless it has one of that log. The cache spares a look into it for each rollout of a run."""
    if _find(file, text.partition("+")[0]) is not None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    # One write of a short line in append mode: where two programs write at once, both lines are there.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)
