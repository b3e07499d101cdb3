"""The catalogue's rows, kept in the store between commands, because to read every task anew takes a second.

A row is found by a key, which is the digest of everything that the row follows from: ``task.toml``, size and times of
every file of the task's folder, and version and files of the library. So a row is never out of date: whatever changes
leads to another key. If the file of rows is damaged or cannot be written, that only costs time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from openfingym.digests import sha256_of_json
from openfingym.files.state import state_of
from openfingym.files.strange import MEGABYTE, read_json
from openfingym.files.whole import write_json
from openfingym.store import home
from openfingym.version import __version__

FILE = "catalogue.json"
_MOST = 16 * MEGABYTE
"""Length of the longest file of rows that is read."""
_LIBRARY = Path(__file__).resolve().parent
_PARTS = ("task", "kinds", "metrics", "data", "catalog.py", "catalog_cache.py")
"""The parts of the library that decide what a row says."""

Row = Mapping[str, object]


class CatalogRows:
    """The rows that were kept by an earlier command, and those that are added by this one."""

    def __init__(self, file: str = FILE, more: tuple[str, ...] = ()) -> None:
        """Read the rows that were kept.

        Args:
            file: name of their file in the store.
            more: further parts of the library that decide what a row says.
        """
        self._file = file
        self._library = [__version__, *(state_of(_LIBRARY / part) for part in (*_PARTS, *more))]
        self._kept = _read(file)
        self._used: dict[str, Row] = {}

    def key(self, folder: Path, config: bytes) -> str | None:
        """The key of a task's row.

        Args:
            folder: folder of the task.
            config: content of the task's ``task.toml``.

        Returns:
            The key; None if the folder is not as it should be, of which reading the task says more.
        """
        if (files := state_of(folder)) is None:
            return None
        try:
            return sha256_of_json([self._library, str(folder), config.hex(), files])
        except ValueError:
            return None  # a path that is not UTF-8

    def get(self, key: str) -> Row | None:
        """The row with this key; None if none was kept."""
        row = self._kept.get(key)
        if row is not None:
            self._used[key] = row
        return row

    def put(self, key: str, row: Row) -> None:
        """Keep a row under its key."""
        self._used[key] = row

    def write(self) -> None:
        """Write the rows that this command has used, unless they are the ones that are there; others are dropped."""
        if self._used.keys() == self._kept.keys():
            return
        # A store that cannot be written is not reported here, where nothing depends on it.
        with contextlib.suppress(OSError):
            home().mkdir(parents=True, exist_ok=True)
            write_json(home() / self._file, {"rows": self._used, "sha256": sha256_of_json(self._used)}, sync=False)


def _read(file: str) -> Mapping[str, Row]:
    try:
        document = read_json(home(), file, _MOST)
    except (OSError, ValueError):
        return {}
    if isinstance(document, dict) and isinstance(rows := document.get("rows"), dict):
        # Rows that were damaged on the disk, or edited, are not used.
        with contextlib.suppress(ValueError):
            if document.get("sha256") == sha256_of_json(rows):
                return rows
    return {}
