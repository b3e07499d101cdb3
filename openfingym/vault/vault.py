"""A snapshot of a vault, opened for reading."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NoReturn, TypeVar, cast

from openfingym.digests import sha256_of_file
from openfingym.errors import StoreError, UsageError
from openfingym.vault.arrays import Array
from openfingym.vault.conditions import instant
from openfingym.vault.manifest import Manifest, read_manifest
from openfingym.vault.queries import Queries
from openfingym.vault.tables import OpenTable
from openfingym.vault.view import View

T = TypeVar("T")


class Vault:
    """A snapshot: tables of rows, each with the time at which it became known.

    Open one with :meth:`open`, and ask a view of it (:meth:`as_of`). Its files are mapped into memory, so any number of
    threads and processes share them. Safe to use from several threads.

    Attributes:
        folder: folder of the snapshot.
        manifest: description of the snapshot: its tables, their columns and digests.
        digest: hex digest of the content; equal for equal rows and sources.
    """

    def __init__(self, folder: Path, manifest: Manifest, held: Mapping[str, Array] | None = None) -> None:
        """Open a snapshot; :meth:`open` and :func:`openfingym.vault.held.opened` do that.

        Args:
            folder: folder of the snapshot.
            manifest: its description.
            held: bytes of its files by name, uint8, if they are in memory alone; None if they are in the folder.
        """
        self.folder = folder
        self.manifest = manifest
        self._held = held
        self.digest = manifest.digest
        self._entries = {entry.name: entry for entry in manifest.tables}
        self._tables: dict[str, OpenTable] = {}
        self._opening = threading.Lock()
        self._kept: dict[Callable[[Vault], object], object] = {}
        self._keeping = threading.RLock()
        self._ahead = False

    @classmethod
    def open(cls, place: str | Path) -> Vault:
        """Open a snapshot.

        Args:
            place: path of its folder; or the name of a vault in the store, ``NAME`` for its newest snapshot and
                ``NAME@DIGEST`` for the one whose digest begins so. ``bundled`` comes with the library.

        Raises:
            UsageError: there is no vault of that name.
            StoreError: the folder is no snapshot, is damaged, or a newer version of the library wrote it.
        """
        from openfingym.vault.snapshots import located

        folder = located(place)
        return cls(folder, read_manifest(folder))

    @property
    def name(self) -> str:
        """Name of the vault that this is a snapshot of."""
        return self.manifest.name

    def kept(self, make: Callable[[Vault], T]) -> T:
        """What ``make`` makes of this vault, made when it is first wanted and kept as long as the vault.

        Kept in this object and not by digest: truncated copies may have a digest in common, but have different rows.
        """
        with self._keeping:
            if make not in self._kept:
                self._kept[make] = make(self)
            return cast("T", self._kept[make])

    def as_of(self, time: datetime | str) -> View:
        """The vault as it was at a time.

        Args:
            time: the time, with a time zone; a text as ISO 8601.

        Raises:
            UsageError: it is no time, or has no time zone.
        """
        return View(self, instant(time), hindsight=self._ahead)

    def looking_ahead(self) -> Vault:
        """The same vault with hindsight in all its views, for code that opens views itself; see :meth:`hindsight`."""
        vault = Vault(self.folder, self.manifest, self._held)
        # Tables that are open already, and the lock that guards them, are shared.
        vault._tables, vault._opening, vault._ahead = self._tables, self._opening, True
        return vault

    def hindsight(self, time: datetime | str) -> View:
        """A view that ignores known times and shows everything, only to measure what looking ahead gains.

        Its ``hindsight`` is true, and a result that was made with it must say so.

        Args:
            time: the time that the view says it is of, with a time zone; a text as ISO 8601.
        """
        return View(self, instant(time), hindsight=True)

    def truncated(self, time: datetime | str, folder: str | Path) -> Vault:
        """Write a copy without what became known after a time, to which views as of that time or before must be equal.

        Args:
            time: the time, with a time zone; a text as ISO 8601.
            folder: folder to write the copy to, which must not exist.
        """
        from openfingym.vault.truncated import truncated

        return truncated(self, time, folder)

    def table(self, name: str) -> OpenTable:
        """A table by its name.

        Raises:
            UsageError: there is no such table.
            StoreError: the table's file is missing or damaged.
        """
        table = self._tables.get(name)
        if table is None:
            if name not in self._entries:
                raise UsageError(f"vault {self.name} has no table {name!r}; it has {', '.join(self._entries)}")
            # Under the lock, so that threads that open a table at once share one object and its indexes.
            with self._opening:
                spec = self._entries[name].spec
                table = self._tables.setdefault(name, OpenTable(spec, self.folder / f"{name}.columns", self._held))
        return table

    @cached_property
    def queries(self) -> Queries:
        """What answers queries in SQL.

        Raises:
            UsageError: the vault is in memory alone.
        """
        if self._held is not None:
            raise UsageError(f"vault {self.name} is in memory alone, where there is no SQL; ask for rows and counts")
        return Queries(self.folder, list(self._entries))

    def verify(self) -> list[str]:
        """What is wrong with the snapshot's files, by name; nothing if every byte is as it was written."""
        wrong = []
        for entry in self.manifest.tables:
            for name, expected in entry.files.items():
                try:
                    if sha256_of_file(self.folder / name) != expected:
                        wrong.append(f"{name}: damaged: its digest is not that of the manifest")
                except FileNotFoundError:
                    wrong.append(f"{name}: missing")
                except OSError as error:
                    raise StoreError(f"{self.folder / name}: cannot be read ({error.strerror})") from error
        return wrong

    def __reduce__(self) -> NoReturn:
        raise TypeError("a vault stays in its process: whoever gets a copy could read all of it; open it there")
