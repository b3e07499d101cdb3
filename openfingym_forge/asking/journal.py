"""The journal of a paper: a file of lines, each a JSON object, to which whole lines are appended.

A line that a killed process left unfinished does not count: readers ignore it, and the next writer removes it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from openfingym.digests import sha256_of_json
from openfingym.files.whole import store_errors

NAME = "journal.jsonl"
Entry = dict[str, object]
"""A line of a journal; ``kind`` says what it records."""


class PaperJournal:
    """The journal of a paper's folder."""

    def __init__(self, folder: Path) -> None:
        """The journal in a folder; nothing is written yet."""
        self.path = folder / NAME
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """All entries, the oldest first.

        Raises:
            StoreError: the journal cannot be read.
        """
        with store_errors(self.path):
            return list(lines_from(self.path, 0)[0])

    def add(self, kind: str, **values: object) -> None:
        """Append an entry; it is on the disk when this returns.

        Args:
            kind: what the entry records: ``asked``, ``refused``, ``tests``, ``screened``, ``run``, ``verdict``,
                ``translated`` or ``audit``.
            values: the rest of the entry, as values of JSON.

        Raises:
            StoreError: it cannot be written.
        """
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"kind": kind, "when": when, **values}, ensure_ascii=True) + "\n"
        with self._lock, store_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                # Cut first: behind an unfinished line, the new one would be a part of it and unreadable.
                end = _whole_end(descriptor)
                os.ftruncate(descriptor, end)
                data = line.encode()
                # A write may take less than it is given, as where the disk is nearly full.
                while data:
                    written = os.pwrite(descriptor, data, end)
                    data, end = data[written:], end + written
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def add_once(self, kind: str, **values: object) -> None:
        """Append an entry unless the very same one is there, so that a stage that is done again repeats nothing.

        Args:
            kind: what the entry records, as in :meth:`add`.
            values: the rest of the entry, as values of JSON.

        Raises:
            StoreError: the journal cannot be read or written.
        """
        key = sha256_of_json({"kind": kind, **values})
        if all(entry.get("key") != key for entry in self.entries()):
            self.add(kind, key=key, **values)


def lines_from(path: Path, offset: int) -> tuple[Iterator[Entry], int]:
    """The whole lines of a journal from an offset on, and the offset behind them.

    A line that is no JSON object is left out, so that a slip in editing a journal costs no more than that line.

    Args:
        path: path of the journal; a journal that does not exist has no lines.
        offset: offset in bytes, at which a line begins.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            content = stream.read()
    except FileNotFoundError:
        return iter(()), 0
    # The last line may be one that another process is writing at this moment.
    whole = content[: content.rfind(b"\n") + 1]
    return _parsed(whole), offset + len(whole)


def _parsed(lines: bytes) -> Iterator[Entry]:
    for line in lines.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _whole_end(descriptor: int) -> int:
    """Offset behind the last whole line."""
    end = os.fstat(descriptor).st_size
    # From the end backwards: a journal holds every prompt, and may be large.
    step = 1 << 16
    while end:
        start = max(0, end - step)
        place = os.pread(descriptor, end - start, start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0
