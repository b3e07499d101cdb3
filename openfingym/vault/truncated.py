"""A copy of a vault without what became known after a time: what views as of that time must be equal to.

:func:`truncated` writes a whole copy, as any vault is written. :class:`Truncations` are for looking at many times, one
after another: a table's copy is written when it is first looked at, and its index when it is first searched.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from openfingym.files.whole import store_errors
from openfingym.vault.column_files import texts, write_columns
from openfingym.vault.conditions import instant
from openfingym.vault.engine import engine_errors, quoted, writing_database
from openfingym.vault.queries import Queries
from openfingym.vault.search import SearchIndex, WordCounts
from openfingym.vault.spec import KNOWN_AT, TableSpec
from openfingym.vault.tables import OpenTable
from openfingym.vault.vault import Vault
from openfingym.vault.writer import VaultWriter

if TYPE_CHECKING:
    from collections.abc import Callable


def truncated(vault: Vault, time: datetime | str, folder: str | Path) -> Vault:
    """Write a snapshot that has only what was known at a time; its indexes are made from that alone.

    Args:
        vault: vault to copy.
        time: the time, with a time zone; a text as ISO 8601.
        folder: folder to write the snapshot to, which must not exist.

    Raises:
        UsageError: the time has no zone, or the folder exists.
        StoreError: it cannot be written there, or the disk is full.
    """
    about = vault.manifest
    writer = VaultWriter(
        folder, name=about.name, title=about.title, sources=about.sources, simulated=about.simulated, notes=about.notes
    )
    with writer, tempfile.TemporaryDirectory() as scratch, writing_database(Path(scratch)) as database:
        for entry in about.tables:
            rows = Path(scratch) / f"{entry.name}.parquet"
            with engine_errors(f"table {entry.name}"):
                database.execute(f"COPY {_known(vault, entry.name, time)} TO {quoted(rows)} (FORMAT parquet)")
            writer.add(entry.spec, rows)
            rows.unlink()
        return writer.finish()


class Truncations:
    """Copies of a vault, each without what became known after a time, within a ``with`` block.

    Their files are byte by byte those that :func:`truncated` writes; files that nobody looks at are not written.

    Args:
        vault: vault to copy.
        folder: an empty folder for files that the copies have in common.
    """

    def __init__(self, vault: Vault, folder: str | Path) -> None:
        self._vault = vault
        self._folder = Path(folder)
        self._words: dict[str, WordCounts] = {}
        self._writing = threading.RLock()

    def __enter__(self) -> Self:
        self._database = writing_database(self._folder / "spill")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def at(self, time: datetime | str, folder: str | Path) -> Vault:
        """The copy for a time. Times that come in order cost the least.

        Args:
            time: the time, with a time zone; a text as ISO 8601.
            folder: folder of the copy, which must not exist, and must stay until the end of the block.

        Raises:
            UsageError: the time has no time zone.
            StoreError: the copy cannot be written there, or the disk is full; also later, when it is looked at.
        """
        place = Path(folder)
        with store_errors(place, "choose another folder"):
            place.mkdir(parents=True)
        return _Copy(self, instant(time), place)

    def write_columns(self, spec: TableSpec, time: datetime, path: Path) -> None:
        """Write the columns of a table as they were known at a time."""
        with self._errors(path), path.open("wb") as stream:
            write_columns(stream, spec, self._database, _known(self._vault, spec.name, time))

    def write_search(self, spec: TableSpec, time: datetime, path: Path) -> None:
        """Write the index of the documents that were known at a time.

        The words of a document are counted once, however many copies have it, and not before the first of these.
        """
        counts = self._words.setdefault(spec.name, WordCounts())
        with self._errors(path), path.open("wb") as stream:
            known = _known(self._vault, spec.name, time)
            ((count,),) = self._database.execute(f"SELECT count(*) FROM {known}").fetchall()
            # Rows are in the order in which they became known, so those of an earlier time are counted already.
            more = f"(FROM {known} OFFSET {len(counts)})"
            counts.add(texts(self._database, more, spec.text))
            counts.write(stream, int(count))

    def write_rows(self, spec: TableSpec, time: datetime, path: Path) -> None:
        """Write the Parquet file of a table as it was known at a time."""
        with self._errors(path):
            self._database.execute(f"COPY {_known(self._vault, spec.name, time)} TO {quoted(path)} (FORMAT parquet)")

    def _errors(self, path: Path) -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        stack.enter_context(self._writing)
        stack.enter_context(store_errors(path, "choose another folder"))
        stack.enter_context(engine_errors(path.name))
        return stack


class _Copy(Vault):
    """A vault whose files are written when they are looked at; its manifest tells nothing about the source's rows."""

    def __init__(self, source: Truncations, time: datetime, folder: Path) -> None:
        about = source._vault.manifest
        # How many rows the source has, and until when, is known only later than the time of the copy.
        tables = [replace(entry, rows=0, first_known=None, last_known=None) for entry in about.tables]
        super().__init__(folder, replace(about, tables=tables))
        self._source, self._time = source, time

    def table(self, name: str) -> OpenTable:
        """A table by its name; see :meth:`Vault.table`."""
        if name in self._entries and name not in self._tables:
            # Looked at again under the lock: another thread may have written it meanwhile.
            with self._opening:
                path = self.folder / f"{name}.columns"
                if name not in self._tables:
                    spec = self._entries[name].spec
                    self._source.write_columns(spec, self._time, path)
                    self._tables[name] = _CopiedTable(spec, path, self._write_search)
        return super().table(name)

    @cached_property
    def queries(self) -> Queries:
        """What answers queries in SQL."""
        for name, entry in self._entries.items():
            self._source.write_rows(entry.spec, self._time, self.folder / f"{name}.parquet")
        return Queries(self.folder, list(self._entries))

    def _write_search(self, spec: TableSpec, path: Path) -> None:
        self._source.write_search(spec, self._time, path)


class _CopiedTable(OpenTable):
    def __init__(self, spec: TableSpec, path: Path, write_search: Callable[[TableSpec, Path], None]) -> None:
        super().__init__(spec, path)
        self._write_search = write_search

    @cached_property
    def index(self) -> SearchIndex:
        """The index of its text."""
        if self.spec.text:
            self._write_search(self.spec, self._path.with_suffix(".search"))
        return super().index


def _known(vault: Vault, table: str, time: datetime | str) -> str:
    """The rows of a table that were known at a time, as SQL."""
    rows = quoted(vault.folder / f"{table}.parquet")
    known = instant(time).replace(tzinfo=None).isoformat(sep=" ")
    return f"(FROM read_parquet({rows}) WHERE {KNOWN_AT} <= TIMESTAMP {quoted(known)})"
