"""Public keys of the logs that this machine has met, in the store.

A key is noted when a verifier gives it to whoever runs a rollout there, so that a receipt that turns up later can be
held against it. As with the known hosts of ssh, the first meeting is taken at its word.
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
"""File in the store; a key a line."""
MOST_CHARACTERS = 64 * MEGABYTE


def known_key(origin: str) -> PublicKey | None:
    """The key that a log had when this machine met it first; None of one that it has not met."""
    return _find(store.home() / FILE, origin)


def remember(text: str) -> None:
    """Note the key of a log, unless one of that log is known; where the store cannot be written, it is not noted.

    Args:
        text: the key, as a receipt states it.
    """
    with contextlib.suppress(OSError):
        _note(store.home() / FILE, text)


def _find(file: Path, origin: str) -> PublicKey | None:
    try:
        status = file.stat()
        lines = _lines(file, status.st_ino, status.st_mtime_ns, status.st_size).get(origin, ())
    except (OSError, ValueError):
        return None
    for line in lines:
        # A line may have been broken off by a full disk.
        with contextlib.suppress(UsageError):
            return PublicKey.parse(line)
    return None


@functools.lru_cache(maxsize=2)
def _lines(file: Path, *_state: int) -> dict[str, list[str]]:
    """The lines of each log, read once for all receipts that are checked while the file stays as it is.

    There is a line for every run with a verifier of its own, so that to read them for each of as many receipts would
    take the square of their number.
    """
    found: dict[str, list[str]] = {}
    with file.open(encoding="utf-8") as stream:
        for line in stream.read(MOST_CHARACTERS).splitlines():
            found.setdefault(line.partition("+")[0], []).append(line)
    return found


@functools.lru_cache(maxsize=64)
def _note(file: Path, text: str) -> None:
    if _find(file, text.partition("+")[0]) is not None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    # One write of a short line to the end: of two programs at once, both lines are there.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)
