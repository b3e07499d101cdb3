"""Entry points of installed distributions, through which other people's packages add tasks, kinds, agents and more."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Place = tuple[str, int, int]
"""A folder where distributions may be installed: its path, its inode, and its last change in nanoseconds."""
KEPT = 64
"""Groups that are remembered, each for one state of all folders."""


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, as they are installed at this moment.

    To look through a few hundred distributions takes a hundredth of a second. So it is done again only if a folder of
    the path was changed, which happens whenever a distribution is installed or removed.
    """
    return _read(group, tuple(_places()))


def _places() -> list[Place]:
    places = []
    for path in sys.path:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        places.append((path, status.st_ino, status.st_mtime_ns))
    return places


# The folders' state is part of the key alone.
@lru_cache(maxsize=KEPT)
def _read(group: str, _installed: tuple[Place, ...]) -> tuple[EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))
