"""Writing a snapshot of a vault, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from openfingym import store
from openfingym.digests import sha256_of_file
from openfingym.errors import DataError, UsageError
from openfingym.files.whole import owned_folder, remove_dead, store_errors
from openfingym.vault.column_files import texts, write_columns
from openfingym.vault.conditions import EPOCH
from openfingym.vault.engine import engine_errors, quoted, writing_database
from openfingym.vault.manifest import FILE, Manifest, TableEntry
from openfingym.vault.search import write_index
from openfingym.vault.spec import KNOWN_AT, Source, TableSpec
from openfingym.vault.vault import Vault
from openfingym.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    Part = pd.DataFrame | str | Path
    Rows = Part | Iterable[Part]

VAULTS = "vaults"
"""Folder of the store with the snapshots of vaults."""
MOST_ROWS = 2**32 - 1
"""The most rows that a table has: their numbers are written in 32 bits."""
ROW_GROUP = 122_880
"""Number of rows in a row group of a Parquet file."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


class VaultWriter:
    """Writes a snapshot, within a ``with`` block.

    Nothing is in its place before :meth:`finish`, and nothing remains of a snapshot that was not finished; if the
    process is killed, the next writer in the same folder removes what was left.

    Args:
        folder: folder to write the snapshot to, which must not exist; None for the store, by name and digest.
        name: name of the vault; lower-case letters, digits and ``-``.
        title: what the vault holds, in one line.
        sources: where its rows come from.
        simulated: whether a simulator made any of the rows.
        notes: what a suite wants to know about its own snapshots.

    Raises:
        UsageError: the name is not valid, or the folder exists.
        StoreError: the snapshot cannot be written there, or the disk is full; so for every method.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        name: str,
        title: str,
        sources: Sequence[Source],
        simulated: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a vault: lower-case letters, digits and -")
        self._target = None if folder is None else Path(folder).absolute()
        if self._target is not None and self._target.exists():
            raise UsageError(f"{self._target} exists already; a snapshot never changes, so choose another folder")
        self._manifest = Manifest(
            name=name,
            title=title,
            simulated=simulated,
            sources=list(sources),
            tables=[],
            written_by=f"openfingym {__version__}",
            notes=dict(notes or {}),
        )
        self._resources = contextlib.ExitStack()
        self._finished = False

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as resources:
            if self._target is None:
                self._partial = resources.enter_context(store.staging()) / "snapshot"
                self._partial.mkdir()
            else:
                resources.enter_context(store_errors(self._target, "choose another folder"))
                self._target.parent.mkdir(parents=True, exist_ok=True)
                remove_dead(self._target.parent, ".*.partial")
                partial = self._target.with_name(f".{self._target.name}.partial")
                self._partial = resources.enter_context(owned_folder(partial))
            self._database = resources.enter_context(writing_database(self._partial / "spill"))
            self._resources = resources.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.__exit__(kind, error, trace)
        if kind is None and not self._finished:
            raise UsageError("the snapshot was not finished, so there is none; call finish() at the end of the block")

    def add(self, spec: TableSpec, rows: Rows) -> None:
        """Add a table.

        Args:
            spec: the columns and the key of the table.
            rows: a data frame, or the path of a Parquet file (``.parquet``) or of a CSV file with a header, or an
                iterable of these. Rows have the columns of the spec and ``known_at``: times with a time zone, or
                without one in UTC. Rows that became known at one time keep their order.

        Raises:
            DataError: columns are missing or unknown, a value is not of its type, or a row has no ``known_at``.
            UsageError: the snapshot has a table of that name already.
        """
        if any(entry.name == spec.name for entry in self._manifest.tables):
            raise UsageError(f"there is a table {spec.name} already")
        with engine_errors(f"table {spec.name}"):
            columns = ", ".join(f'"{name}" {kind}' for name, kind in spec.types.items())
            self._database.execute(f"CREATE TABLE staged ({columns})")
            for part in _parts(rows):
                self._stage(spec, part)
            self._check(spec)
            self._write(spec)
            self._database.execute("DROP TABLE staged")

    def finish(self) -> Vault:
        """Put the snapshot into its place, and open it.

        If the store has a snapshot of the same digest already, that one stays.
        """
        manifest = self._manifest
        (self._partial / FILE).write_bytes(manifest.encoded())
        # Every file, then the folder that names them, and after the rename the folder above: only so is a snapshot
        # whole after a power cut, or not there at all.
        for path in (*self._partial.iterdir(), self._partial):
            _flush(path)
        target = self._target
        if target is None:
            target = store.home() / VAULTS / manifest.name / manifest.digest[:12]
            store.set_modes(self._partial, file=store.PUBLIC_FILE, directory=store.PUBLIC_FOLDER)
            store.install(self._partial, target, replace=False)
        else:
            self._partial.rename(target)
        _flush(target.parent)
        self._finished = True
        return Vault.open(target)

    def _stage(self, spec: TableSpec, rows: pd.DataFrame | str | Path) -> None:
        if isinstance(rows, (str, Path)):
            reader = "read_parquet" if str(rows).endswith(".parquet") else "read_csv"
            options = "" if reader == "read_parquet" else ", header = true, all_varchar = true"
            self._database.execute(f"CREATE OR REPLACE TEMP VIEW part AS FROM {reader}({quoted(rows)}{options})")
        else:
            # A copy, since DuckDB cannot read a frame with negative strides, such as another one reversed.
            self._database.register("part", rows.copy())
        present = {name for name, *_ in self._database.execute("DESCRIBE part").fetchall()}
        if present != set(spec.types):
            missing, unknown = set(spec.types) - present, present - set(spec.types)
            faults = [f"lack {', '.join(sorted(missing))}"] if missing else []
            faults += [f"have {', '.join(sorted(unknown))}, which is unknown"] if unknown else []
            raise DataError(f"table {spec.name}: the rows {' and '.join(faults)}; they need {', '.join(spec.types)}")
        values = ", ".join(_staged(name, kind) for name, kind in spec.types.items())
        self._database.execute(f"INSERT INTO staged SELECT {values} FROM part")
        if isinstance(rows, (str, Path)):
            self._database.execute("DROP VIEW part")
        else:
            self._database.unregister("part")

    def _check(self, spec: TableSpec) -> None:
        count = self._asked("SELECT count(*) FROM staged")
        without = self._asked(f"SELECT count(*) FROM staged WHERE {KNOWN_AT} IS NULL OR NOT isfinite({KNOWN_AT})")
        if without:
            raise DataError(f"table {spec.name}: {without} of {count} rows have no {KNOWN_AT}; every row needs one")
        if count > MOST_ROWS:
            raise DataError(f"table {spec.name} has {count} rows; a table takes {MOST_ROWS} at most")

    def _write(self, spec: TableSpec) -> None:
        """Write the files of a table, sorted by the time at which rows became known."""
        parquet, columns = self._partial / f"{spec.name}.parquet", self._partial / f"{spec.name}.columns"
        # rowid is the order in which rows were added, which rows of one known time keep.
        names = ", ".join(f'"{name}"' for name in spec.types)
        self._database.execute(
            f"COPY (SELECT {names} FROM staged ORDER BY {KNOWN_AT}, rowid) TO {quoted(parquet)} "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        source = f"read_parquet({quoted(parquet)})"
        with columns.open("wb") as stream:
            write_columns(stream, spec, self._database, source)
        search = self._partial / f"{spec.name}.search"
        if spec.text:
            with search.open("wb") as stream:
                write_index(stream, texts(self._database, source, spec.text))
        self._manifest.tables.append(
            TableEntry(
                name=spec.name,
                columns=dict(spec.columns),
                key=list(spec.key),
                about=spec.about,
                text=list(spec.text),
                known_basis=spec.known_basis,
                columns_sha256=sha256_of_file(columns),
                search_sha256=sha256_of_file(search) if spec.text else None,
                parquet_sha256=sha256_of_file(parquet),
                rows=self._asked("SELECT count(*) FROM staged"),
                first_known=self._time("min"),
                last_known=self._time("max"),
            )
        )

    def _asked(self, query: str) -> int:
        return int(self._database.execute(query).fetchall()[0][0])

    def _time(self, which: str) -> str | None:
        ((time,),) = self._database.execute(f"SELECT epoch_us({which}({KNOWN_AT})) FROM staged").fetchall()
        return None if time is None else (EPOCH + timedelta(microseconds=time)).isoformat()


def _staged(name: str, kind: str) -> str:
    """The SQL expression that makes a stored column of one that is added."""
    # NaN is stored as missing, as pandas means it; a missing list is stored as an empty one.
    if kind == "DOUBLE":
        return f"nullif(\"{name}\"::DOUBLE, 'nan'::DOUBLE)"
    # Without the first cast, a text would lose its zone; one without a zone is in UTC.
    if kind == "TIMESTAMP":
        return f'"{name}"::TIMESTAMPTZ::TIMESTAMP'
    return f'coalesce("{name}"::VARCHAR[], [])' if kind.endswith("[]") else f'"{name}"::{kind}'


def _parts(rows: Rows) -> Iterable[Part]:
    import pandas as pd

    return [rows] if isinstance(rows, (str, Path, pd.DataFrame)) else rows


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk, so that it is whole after a power cut too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
