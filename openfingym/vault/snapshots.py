"""Where snapshots are: in the store under their names, or in any folder."""

from __future__ import annotations

import os
from pathlib import Path

from openfingym import store
from openfingym.errors import StoreError, UsageError
from openfingym.vault.manifest import FILE
from openfingym.vault.writer import VAULTS


def stored() -> dict[str, list[Path]]:
    """The folders of the snapshots in the store, by name of the vault; the newest first."""
    root = store.home() / VAULTS
    by_name: dict[str, list[tuple[float, Path]]] = {}
    for path in root.glob(f"*/*/{FILE}"):
        by_name.setdefault(path.parent.parent.name, []).append((path.stat().st_mtime, path.parent))
    return {name: [folder for _, folder in sorted(by_name[name], reverse=True)] for name in sorted(by_name)}


def located(place: str | Path) -> Path:
    """The folder of a snapshot.

    Args:
        place: path of a folder; or the name of a vault in the store, ``NAME`` for its newest snapshot and
            ``NAME@DIGEST`` for the one whose digest begins so. The bundled vault is built if it is not there yet.

    Raises:
        UsageError: there is no such snapshot.
        StoreError: the bundled vault cannot be built.
    """
    # A text without a separator is a name, unless a folder of that name beside the program is a snapshot.
    path = Path(place)
    if isinstance(place, Path) or os.sep in place or (path / FILE).is_file():
        if not path.is_dir():
            raise StoreError(f"{path} is no folder; give that of a snapshot, or the name of a vault")
        return path
    name, _, digest = place.partition("@")
    if name == "bundled":
        from openfingym.vault.bundled import bundled_vault

        folder = bundled_vault().folder
        if folder.name.startswith(digest[:12]):
            return folder
    known = stored()
    # A folder has the first twelve digits as its name.
    fitting = [folder for folder in known.get(name, ()) if folder.name.startswith(digest[:12])]
    if not fitting:
        there = ", ".join(f"{each}@{folder.name}" for each, folders in known.items() for folder in folders)
        raise UsageError(f"there is no vault {place!r}; there are bundled{there and ', '}{there}, or give a folder")
    return fitting[0]
