"""Vaults that a program writes when they are first wanted, and that stay in the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from openfingym import store
from openfingym.files.locks import take
from openfingym.files.whole import write_text
from openfingym.vault.manifest import FILE
from openfingym.vault.vault import Vault
from openfingym.vault.writer import VAULTS


def made_vault(name: str, recipe: str, make: Callable[[], Vault]) -> Vault:
    """The vault of a recipe, which is made if the store does not have it.

    Args:
        name: name of the vault, and of its folder in the store.
        recipe: hex SHA-256 of everything that decides its rows.
        make: writes the vault to the store, and returns it.

    Raises:
        StoreError: the store cannot be written.
    """
    snapshots = store.home() / VAULTS / name
    if folder := _made(snapshots, recipe):
        return Vault.open(folder)
    snapshots.mkdir(parents=True, exist_ok=True)
    # One process makes the vault, and others that want it wait, and look again once they have the lock.
    with take(snapshots / f".{recipe[:16]}.lock"):
        if folder := _made(snapshots, recipe):
            return Vault.open(folder)
        vault = make()
        # The note is beside the snapshot and not in it, whose digest is that of its rows, whatever program made them.
        write_text(snapshots / f".{recipe[:16]}.made", vault.folder.name)
        return vault


def _made(snapshots: Path, recipe: str) -> Path | None:
    """The folder of the snapshot that was made by a recipe; None where there is none, or it was deleted."""
    note = snapshots / f".{recipe[:16]}.made"
    if not note.is_file():
        return None
    folder = snapshots / note.read_text()
    return folder if (folder / FILE).is_file() else None
