"""Vaults that a program makes when they are first wanted, and that stay in the store."""

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
    """The vault that was made by a recipe, or made now.

    Args:
        name: name of the vault, and of its folder in the store.
        recipe: SHA-256 of all that decides its rows, in hexadecimal.
        make: writes the vault to the store.

    Raises:
        StoreError: the store cannot be written.
    """
    kept = store.home() / VAULTS / name
    if found := _made(kept, recipe):
        return Vault.open(found)
    kept.mkdir(parents=True, exist_ok=True)
    # One process makes it, and the others that want it wait.
    with take(kept / f".{recipe[:16]}.lock"):
        if found := _made(kept, recipe):
            return Vault.open(found)
        vault = make()
        # Beside the snapshot and not in it: its digest is that of its rows, whatever the program looks like.
        write_text(kept / f".{recipe[:16]}.made", vault.folder.name)
        return vault


def _made(kept: Path, recipe: str) -> Path | None:
    """The folder of a vault that was made by this recipe."""
    note = kept / f".{recipe[:16]}.made"
    if not note.is_file():
        return None
    folder = kept / note.read_text()
    return folder if (folder / FILE).is_file() else None
