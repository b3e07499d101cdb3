"""The state of files, by which a change of them is noticed without reading them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from openfingym.files.strange import MOST_FILES


def state_of(root: Path) -> list[tuple[str, int, int, int]] | None:
    """Path, size and times of every file at or below ``root``, and the path of every folder, sorted.

    Hidden files and folders are left out, and so is what Python compiles.

    Returns:
        Path, size in bytes, and the times in nanoseconds at which content and inode were last changed; the three
        numbers are 0 for a folder. None if something is neither file nor folder or cannot be seen, or if there are more
        than :data:`~openfingym.files.strange.MOST_FILES` of them.
    """
    states: list[tuple[str, int, int, int]] = []
    left = [str(root)]
    # The time at which the inode was changed is among them, because no program can set that one back.
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
                        states.append((entry.path, 0, 0, 0))
                    elif stat.S_ISREG(status.st_mode):
                        states.append((entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                    else:
                        return None
                    if len(states) > MOST_FILES:
                        return None
    except OSError:
        return None
    return sorted(states)
