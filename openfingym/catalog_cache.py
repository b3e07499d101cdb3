"""The catalogue's rows, kept in the store between commands: to read every task anew takes a second.

A row is found by a key: the digest of everything that it follows from. That is ``task.toml``, every file of the task's
folder by size and times, and the library by version and by its files. So a row is never out of date: whatever changes
asks for another key. A file of rows that is damaged, or cannot be written, costs time alone.
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
_LIBRARY = Path(__file__).resolve().parent
_PARTS = ("task", "kinds", "metrics", "data", "catalog.py", "catalog_cache.py")
"""What of the library says what is in a row."""

Row = Mapping[str, object]


class CatalogRows:
    """The rows that are kept, and those that become known meanwhile."""

    def __init__(self) -> None:
        self._library = [__version__, *(state_of(_LIBRARY / part) for part in _PARTS)]
        self._kept = _read()
        self._used: dict[str, Row] = {}

    def key(self, folder: Path, config: bytes) -> str | None:
        """The key of a task's row.

        Args:
            folder: the task's folder.
            config: content of its ``task.toml``.

        Returns:
            None where the folder is not as it should be; reading the task says why.
        """
        if (files := state_of(folder)) is None:
            return None
        try:
            return sha256_of_json([self._library, str(folder), config.hex(), files])
        except ValueError:
            return None  # a path that is no UTF-8

    def get(self, key: str) -> Row | None:
        """The row with this key, if it is kept."""
        row = self._kept.get(key)
        if row is not None:
            self._used[key] = row
        return row

    def put(self, key: str, row: Row) -> None:
        """Keep a row."""
        self._used[key] = row

    def write(self) -> None:
        """Write the rows that were asked for or put, where they are not those that are there; others are let go."""
        if self._used.keys() == self._kept.keys():
            return
        # A store that cannot be written is for those to report that need it.
        with contextlib.suppress(OSError):
            home().mkdir(parents=True, exist_ok=True)
            write_json(home() / FILE, {"rows": self._used, "sha256": sha256_of_json(self._used)}, sync=False)


def _read() -> Mapping[str, Row]:
    try:
        found = read_json(home(), FILE, _MOST)
    except (OSError, ValueError):
        return {}
    if isinstance(found, dict) and isinstance(rows := found.get("rows"), dict):
        # What a disk has damaged, or another hand has edited, is not what was written.
        with contextlib.suppress(ValueError):
            if found.get("sha256") == sha256_of_json(rows):
                return rows
    return {}
