"""``vault.toml``, in which a user states what a vault is built from: sources, tables and their files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from openfingym.data.csvfile import csv_texts
from openfingym.errors import DataError, UsageError
from openfingym.vault.spec import KNOWN_AT, Source, TableSpec
from openfingym.vault.vault import Vault
from openfingym.vault.writer import VaultWriter

if TYPE_CHECKING:
    import pandas as pd


class StatedTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table in ``vault.toml``: a :class:`~openfingym.vault.TableSpec`, its files, and its known times."""

    name: str
    files: list[str]
    """Paths from the folder of ``vault.toml``: Parquet, or CSV with a header, which may be compressed."""
    columns: dict[str, str]
    """Type of each column, as in :class:`~openfingym.vault.TableSpec`; so are the next four."""
    key: list[str] = []
    about: str | None = None
    text: list[str] = []
    known_basis: str = ""
    known_day: str | None = None
    """Column with the day on which a row became known; it is known from the end of that day. None if the files have
    ``known_at``.
    """
    zone: str = "UTC"
    """Time zone in which that day ends, such as ``America/New_York``."""
    ignored: list[str] = []
    """Columns of the files that are left out."""

    @property
    def spec(self) -> TableSpec:
        """The columns and the key of the table."""
        return TableSpec(
            name=self.name,
            columns=self.columns,
            key=tuple(self.key),
            about=self.about,
            text=tuple(self.text),
            known_basis=self.known_basis,
        )


class StatedVault(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of ``vault.toml``."""

    name: str
    """Name of the vault."""
    title: str
    """What the vault holds, in one line."""
    tables: list[StatedTable]
    sources: list[Source] = []
    simulated: bool = False
    """Whether a simulator made any of the rows."""
    notes: dict[str, str] = {}
    """Anything else that is worth recording, by name."""


def read_statement(path: Path) -> StatedVault:
    """Read ``vault.toml``.

    Raises:
        UsageError: it cannot be read, or does not state a vault; the message says where.
    """
    try:
        stated = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), StatedVault)
        for table in stated.tables:
            _check_zone(table.zone)
        return stated
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    # Text that is no TOML, a document of another form, or a zone that is a path, which ZoneInfo refuses by ValueError.
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _check_zone(zone: str) -> None:
    try:
        ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        raise ValueError(f"zone {zone!r} is unknown; give one such as America/New_York") from None


def build(path: Path, folder: Path | None = None) -> Vault:
    """Build the vault that a ``vault.toml`` states.

    Args:
        path: path of the ``vault.toml``.
        folder: folder to write the snapshot to, which must not exist; None for the store.

    Raises:
        UsageError: the file does not state a vault.
        DataError: rows are missing, or not what the file states.
        StoreError: the snapshot cannot be written.
    """
    stated = read_statement(path)
    with VaultWriter(
        folder,
        name=stated.name,
        title=stated.title,
        sources=stated.sources,
        simulated=stated.simulated,
        notes=stated.notes,
    ) as writer:
        add_tables(writer, stated, path.parent)
        return writer.finish()


def add_tables(writer: VaultWriter, stated: StatedVault, folder: Path) -> None:
    """Add the tables that are stated, from the files in a folder."""
    for table in stated.tables:
        writer.add(table.spec, _parts(table, folder))


def _parts(table: StatedTable, folder: Path) -> Iterator[pd.DataFrame | Path]:
    for name in table.files:
        path = folder / name
        if not path.is_file():
            raise DataError(f"table {table.name}: {path} does not exist")
        # Parquet that needs no change is read by DuckDB itself, and never held in memory as a whole.
        if path.suffix == ".parquet" and table.known_day is None and not table.ignored:
            yield path
        else:
            yield _prepared(table, path)


def _prepared(table: StatedTable, path: Path) -> pd.DataFrame:
    """The rows of a file, with their known times."""
    import pandas as pd

    try:
        if path.suffix == ".parquet":
            import duckdb

            rows: pd.DataFrame = duckdb.read_parquet(str(path)).df()
        else:
            rows = csv_texts(path)
            rows = rows.where(rows != "", None)
        if table.known_day is not None:
            # The end of that day, which is the beginning of the next: a known time is an upper bound.
            following = pd.to_datetime(rows[table.known_day], format="ISO8601") + pd.Timedelta(days=1)
            rows[KNOWN_AT] = following.dt.tz_localize(table.zone).dt.tz_convert("UTC")
        kept: pd.DataFrame = rows.drop(columns=table.ignored)
        return kept
    except KeyError as error:
        raise DataError(f"{path}: it has no column {error}; it has {', '.join(rows.columns)}") from error

    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: {error}") from error
