"""The journal of a paper: a file of lines, each a JSON object, to which whole lines are added.

A line that a killed process left unfinished is none: readers ignore it, and the next writer removes it.
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


class PaperJournal:
    """The journal of a paper's folder."""

    def __init__(self, folder: Path) -> None:
        """The journal in a folder; nothing is written yet."""
        self.path = folder / NAME
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """What was kept, oldest first.

        Raises:
            StoreError: it cannot be read.
        """
        with store_errors(self.path):
            return list(lines_from(self.path, 0)[0])

    def add(self, kind: str, **values: object) -> None:
        """Keep something; it is on the disk when this returns.

        Args:
            kind: ``asked``, ``tests``, ``run`` or ``verdict``.
            values: what to keep, as JSON has it.

        Raises:
            StoreError: it cannot be written.
        """
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"kind": kind, "when": when, **values}, ensure_ascii=True) + "\n"
        with self._lock, store_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                end = _whole_end(descriptor)
                os.ftruncate(descriptor, end)
                data = line.encode()
                while data:
                    written = os.pwrite(descriptor, data, end)
                    data, end = data[written:], end + written
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def add_once(self, kind: str, **values: object) -> None:
        """Keep something, unless the very same is there: a stage that is done again says nothing twice.

        Raises:
            StoreError: it cannot be written.
        """
        key = sha256_of_json({"kind": kind, **values})
        if all(entry.get("key") != key for entry in self.entries()):
            self.add(kind, key=key, **values)


def lines_from(path: Path, offset: int) -> tuple[Iterator[Entry], int]:
    """The whole lines of a journal from an offset on, and the offset behind them.

    A line that is no JSON object is left out: whoever edits a journal harms no more than that line.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            found = stream.read()
    except FileNotFoundError:
        return iter(()), 0
    whole = found[: found.rfind(b"\n") + 1]
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
    step = 1 << 16
    while end:
        start = max(0, end - step)
        place = os.pread(descriptor, end - start, start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0
