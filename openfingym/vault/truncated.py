"""A vault without what became known after a time, written anew: what a view must be equal to."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

from openfingym.vault.conditions import instant
from openfingym.vault.engine import engine_errors, quoted, writing_database
from openfingym.vault.spec import KNOWN_AT
from openfingym.vault.vault import Vault
from openfingym.vault.writer import VaultWriter


def truncated(vault: Vault, time: datetime | str, folder: str | Path) -> Vault:
    """Write a snapshot that has only what was known at a time; its indexes are made from that alone.

    Args:
        vault: a vault.
        time: with its zone; text as ISO 8601.
        folder: where the snapshot shall be; it must not exist.

    Raises:
        UsageError: the time has no zone, or the folder exists.
        StoreError: it cannot be written there, or the disk is full.
    """
    known = instant(time).replace(tzinfo=None).isoformat(sep=" ")
    about = vault.manifest
    writer = VaultWriter(
        folder, name=about.name, title=about.title, sources=about.sources, simulated=about.simulated, notes=about.notes
    )
    with writer, tempfile.TemporaryDirectory() as scratch, writing_database(Path(scratch)) as database:
        for entry in about.tables:
            rows = Path(scratch) / f"{entry.name}.parquet"
            whole = quoted(vault.folder / f"{entry.name}.parquet")
            with engine_errors(f"table {entry.name}"):
                database.execute(
                    f"COPY (FROM read_parquet({whole}) WHERE {KNOWN_AT} <= TIMESTAMP {quoted(known)}) "
                    f"TO {quoted(rows)} (FORMAT parquet)"
                )
            writer.add(entry.spec, rows)
            rows.unlink()
        return writer.finish()
