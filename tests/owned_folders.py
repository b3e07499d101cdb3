"""What a process of the tests keeps in the folders that the runtime makes for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from openfingym_runtime import owned_directory


def owned_folders(pid: int | None = None) -> list[Path]:
    """Folders that a process of this machine made, and no one removed; other test runs have theirs beside them.

    Args:
        pid: the process; None for this one.
    """
    found = []
    for owner in owned_directory.private_root().glob("*/owner"):
        with contextlib.suppress(FileNotFoundError):
            if owner.read_text().split(",")[3] == str(pid or os.getpid()):
                found.append(owner.parent)
    return found


def contents(folder: Path) -> list[str]:
    """Relative paths of all that a folder holds, which says what made it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
