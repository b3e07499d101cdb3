"""The state of files by which it is told that they are not what they were, without reading them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from openfingym.files.strange import MOST_FILES


def state_of(root: Path) -> list[tuple[str, int, int, int]] | None:
    """Path, size and times of every file at or below ``root``, and the path of every folder; not of hidden ones, nor of
    what Python compiles. None where something is neither, cannot be seen, or there are too many.

    The time of the last change of a file's inode is among them: no program can set it back.
    """
    found: list[tuple[str, int, int, int]] = []
    left = [str(root)]
    try:
        if root.is_file():
            status = root.stat()
            return [(str(root), status.st_size, status.st_mtime_ns, status.st_ctime_ns)]
        while left:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name == "__pycache__":
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        left.append(entry.path)
                        found.append((entry.path, 0, 0, 0))
                    elif stat.S_ISREG(status.st_mode):
                        found.append((entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                    else:
                        return None
                    if len(found) > MOST_FILES:
                        return None
    except OSError:
        return None
    return sorted(found)
