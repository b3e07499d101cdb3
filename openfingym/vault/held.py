"""Vaults that are in memory alone: whoever reads the disk finds nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from openfingym import store
from openfingym.vault.arrays import Array, mapped
from openfingym.vault.manifest import FILE, decoded
from openfingym.vault.vault import Vault

_NOWHERE = Path("held in memory")
"""Stands for the folder of the snapshot in messages."""


def held(write: Callable[[Path], Vault]) -> dict[str, Array]:
    """The files of a snapshot, without a name on the disk.

    They are written to a private folder that is deleted at once, and stay mapped for as long as the arrays are there.

    Args:
        write: writes the snapshot to a folder that does not exist, and returns it.

    Returns:
        The bytes of the files by name, uint8; without those that only SQL needs.

    Raises:
        StoreError: the store cannot be written, or the disk is full.
    """
    with store.staging() as scratch:
        vault = write(scratch / "snapshot")
        names = [FILE, *(name for entry in vault.manifest.tables for name in entry.files)]
        return {name: mapped(vault.folder / name) for name in names if not name.endswith(".parquet")}


def opened(files: Mapping[str, Array]) -> Vault:
    """The vault with these files, which :func:`held` returned.

    Raises:
        StoreError: a file is missing, or is none of this library.
    """
    return Vault(_NOWHERE, decoded(files[FILE].tobytes(), _NOWHERE / FILE), files)
