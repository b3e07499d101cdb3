"""A snapshot of a vault, opened for reading."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NoReturn, TypeVar, cast

from openfingym.digests import sha256_of_file
from openfingym.errors import StoreError, UsageError
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
        manifest: what the snapshot holds: its tables, their columns and digests.
        digest: digest of what it says; equal for equal contents.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
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
            UsageError: there is none of that name.
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
        """What is read of this vault once and kept as long as it: made by ``make`` when it is first wanted.

        It is this object's own: copies without what came later have a digest in common, and other rows each.
        """
        with self._keeping:
            if make not in self._kept:
                self._kept[make] = make(self)
            return cast("T", self._kept[make])

    def as_of(self, time: datetime | str) -> View:
        """The vault as it was at a time.

        Args:
            time: with its zone; text as ISO 8601.

        Raises:
            UsageError: it is no time, or has no zone.
        """
        return View(self, instant(time), hindsight=self._ahead)

    def looking_ahead(self) -> Vault:
        """The same vault, every view of which is one with hindsight, for what opens views by itself; see
        :meth:`hindsight`.
        """
        found = Vault(self.folder, self.manifest)
        found._tables, found._opening, found._ahead = self._tables, self._opening, True
        return found

    def hindsight(self, time: datetime | str) -> View:
        """A view that ignores known times: everything, whatever its time. Only to measure what looking ahead gains;
        its ``hindsight`` is true, and a result made with it must say so.
        """
        return View(self, instant(time), hindsight=True)

    def truncated(self, time: datetime | str, folder: str | Path) -> Vault:
        """A copy without what became known after a time: what views as of it, or before it, must be equal to.

        Args:
            time: with its zone; text as ISO 8601.
            folder: where the snapshot shall be; it must not exist.
        """
        from openfingym.vault.truncated import truncated

        return truncated(self, time, folder)

    def table(self, name: str) -> OpenTable:
        """A table by its name.

        Raises:
            UsageError: there is none.
            StoreError: its file is missing or damaged.
        """
        table = self._tables.get(name)
        if table is None:
            if name not in self._entries:
                raise UsageError(f"vault {self.name} has no table {name!r}; it has {', '.join(self._entries)}")
            with self._opening:
                spec = self._entries[name].spec
                table = self._tables.setdefault(name, OpenTable(spec, self.folder / f"{name}.columns"))
        return table

    @cached_property
    def queries(self) -> Queries:
        """What answers queries in SQL."""
        return Queries(self.folder, list(self._entries))

    def verify(self) -> list[str]:
        """What is wrong with its files, each by name; nothing if every byte is as it was written."""
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
