"""The manifest of a snapshot: what it holds, from where, and the digests of its files.

The *digest* of a snapshot is that of its manifest without what only says how the rows were written down: the digests
of the Parquet files, which differ between versions of DuckDB for equal rows, and the version of the library. The files
of columns are equal for equal rows, so equal contents have equal digests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from openfingym.digests import sha256_of_json
from openfingym.errors import StoreError
from openfingym.vault.spec import Source, TableSpec

FORMAT = 1
"""Version of the format that this library writes, and the highest that it reads."""
FILE = "manifest.json"
"""Name of the manifest's file in the folder of a snapshot."""


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """A table in a snapshot: its spec, its rows, and the digests of its files."""

    name: str
    columns: dict[str, str]
    """Type of each column, as in :class:`~openfingym.vault.TableSpec`; so are the next four."""
    key: list[str]
    about: str | None
    text: list[str]
    known_basis: str
    rows: int
    """Number of rows."""
    first_known: str | None
    """Time at which the first row became known, as ISO 8601 in UTC; None of an empty table."""
    last_known: str | None
    """Time at which the last row became known, as ISO 8601 in UTC; None of an empty table."""
    columns_sha256: str
    """Hex digest of the file of columns."""
    search_sha256: str | None
    """Hex digest of the search index; None where no column is searched."""
    parquet_sha256: str
    """Hex digest of the Parquet file."""

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

    @property
    def files(self) -> dict[str, str]:
        """Hex digest of each of the table's files, by the file's name."""
        files = {f"{self.name}.parquet": self.parquet_sha256, f"{self.name}.columns": self.columns_sha256}
        return files if self.search_sha256 is None else {**files, f"{self.name}.search": self.search_sha256}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a snapshot holds, and where from."""

    name: str
    """Name of the vault."""
    title: str
    """What the vault holds, in one line."""
    simulated: bool
    """Whether a simulator made any of the rows."""
    sources: list[Source]
    tables: list[TableEntry]
    written_by: str
    """Name and version of the library that wrote the snapshot."""
    format: int = FORMAT
    notes: dict[str, str] = field(default_factory=dict)
    """What a suite wants to know about its own snapshots, such as the version of a simulator."""

    @property
    def digest(self) -> str:
        """Hex digest of the snapshot's content; equal rows and sources have equal digests."""
        identity = msgspec.to_builtins(self)
        del identity["written_by"]
        for table in identity["tables"]:
            del table["parquet_sha256"]
        return sha256_of_json(identity)

    def encoded(self) -> bytes:
        """The manifest as indented JSON, which people read too."""
        document = {"digest": self.digest, **msgspec.to_builtins(self)}
        return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a snapshot.

    Raises:
        StoreError: there is none, it is damaged, or a newer version of the library wrote it.
    """
    path = folder / FILE
    try:
        return decoded(path.read_bytes(), path)
    except FileNotFoundError as error:
        raise StoreError(f"{folder} is no snapshot of a vault: it has no {FILE}") from error
    except OSError as error:
        raise StoreError(f"{path}: not readable ({error}); get the snapshot again") from error


def decoded(content: bytes, path: Path) -> Manifest:
    """The manifest that a file holds.

    Args:
        content: what the file holds.
        path: path of the file, for messages.

    Raises:
        StoreError: it is damaged, or a newer version of the library wrote it.
    """
    try:
        # The format before the rest, which a newer one may have changed.
        document = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        version = msgspec.json.decode(document.get("format", b"null"), type=int)
        if version > FORMAT:
            raise StoreError(f"{path}: written in format {version} by a newer version; this one reads {FORMAT}: update")
        digest = msgspec.json.decode(document.pop("digest", b"null"), type=str)
        manifest = msgspec.json.decode(msgspec.json.encode(document), type=Manifest)
    except msgspec.DecodeError as error:
        raise StoreError(f"{path}: damaged or not readable ({error}); get the snapshot again") from error
    if manifest.digest != digest:
        raise StoreError(f"{path}: damaged: it is not what its digest {digest[:12]} says; get the snapshot again")
    return manifest
