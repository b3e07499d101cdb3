"""Tiles, in which others read a log, in C2SP's format tlog-tiles.

::

    tile/LEVEL/N[.p/WIDTH]       256 hashes: at level 0 those of leaves, at others each over a tile of the level below
    tile/entries/N[.p/WIDTH]     256 entries, each after its length in two bytes, big-endian

``N`` is written in groups of three digits, all but the last after an ``x``: ``x001/x234/067``. A tile that is not yet
full states its width.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from openfingym.receipts.merkle import HASH_BYTES, MOST_LEAVES, complete_root

WIDTH = 256
"""Hashes, or entries, of a full tile."""
HEIGHT = 8
"""Levels of the Merkle tree that one tile spans."""
MOST_LEVELS = 8
"""Levels of tiles: above them even a tree of 2^63 leaves has no hash."""
MOST_ENTRY_BYTES = 2**16 - 1
"""Length of the longest entry that a bundle can hold."""
_PATH = re.compile(
    r"(?P<level>entries|0|[1-9][0-9]?)/(?P<n>(?:x\d{3}/)*\d{3})(?:\.p/(?P<width>[1-9]\d{0,2}))?", re.ASCII
)


@dataclass(frozen=True)
class TilePath:
    """The path of a tile, which says which one it is."""

    level: int | Literal["entries"]
    """Level of the tile's hashes, from 0; or ``entries`` for a bundle of entries."""
    n: int
    """Number of the tile on its level, from 0."""
    width: int = WIDTH
    """Number of hashes or entries in the tile."""

    @classmethod
    def parse(cls, text: str) -> TilePath:
        """Read a path, without the ``tile/`` at its beginning.

        Raises:
            ValueError: the text is not the path of a tile, or not in its one canonical form.
        """
        match = _PATH.fullmatch(text) if len(text) <= 64 else None
        if match is None:
            raise ValueError(f"{text[:80]!r} is no path of a tile, such as 0/x001/067 or entries/000.p/12")
        groups = match["n"].split("/")
        # Each number has one path only, without a leading group of zeros.
        if len(groups) > 1 and groups[0] == "x000":
            raise ValueError(f"{text!r} begins with a group of zeros, which a path leaves out")
        n, width = int("".join(group[-3:] for group in groups)), int(match["width"] or WIDTH)
        level: int | Literal["entries"] = "entries" if match["level"] == "entries" else int(match["level"])
        if n > MOST_LEAVES or width > WIDTH or (width == WIDTH) != (match["width"] is None):
            raise ValueError(f"{text!r} is no path of a tile: its number or its width is too large")
        if level != "entries" and level >= MOST_LEVELS:
            raise ValueError(f"{text!r}: a log has no hashes at level {level}")
        return cls(level, n, width)

    def __str__(self) -> str:
        # Filled up with zeros to groups of three digits.
        digits = str(self.n)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"{self.level}/{'/'.join([*(f'x{group}' for group in groups[:-1]), groups[-1]])}{partial}"


def bundle(entries: Iterable[bytes]) -> bytes:
    """The bundle of some entries, each at most :data:`MOST_ENTRY_BYTES` long."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def unbundled(content: bytes) -> Iterator[bytes]:
    """The entries of a bundle.

    Raises:
        ValueError: the bundle ends in the middle of an entry.
    """
    place = 0
    while place < len(content):
        end = place + 2 + int.from_bytes(content[place : place + 2], "big")
        if end > len(content) or place + 2 > len(content):
            raise ValueError(f"the bundle ends in the middle of the entry at byte {place}")
        yield content[place + 2 : end]
        place = end


class TileTree:
    """The tree of a log as its tiles show it. The tiles are not trusted: what is computed from them must be checked."""

    def __init__(self, fetch: Callable[[TilePath], bytes], size: int) -> None:
        """Set up the tree; no tile is fetched yet.

        Args:
            fetch: function that gives the bytes of a tile of hashes.
            size: number of leaves of the tree.
        """
        self.size = size
        self._fetch = functools.lru_cache(maxsize=64)(fetch)

    def node(self, height: int, n: int) -> bytes:
        """Hash of the n-th complete subtree of ``2 ** height`` leaves, from 0.

        Raises:
            ValueError: a tile does not have the length that it must have.
        """
        # A hash that no tile holds is the root over some hashes of the tile below it.
        level, low = divmod(height, HEIGHT)
        number, begin = divmod(n << low, WIDTH)
        # The last tile of a level has only as many hashes as the tree's size completes.
        path = TilePath(level, number, min(WIDTH, (self.size >> HEIGHT * level) - number * WIDTH))
        content = self._fetch(path)
        if len(content) != path.width * HASH_BYTES:
            raise ValueError(f"the tile {path} has {len(content):,} bytes, expected {path.width * HASH_BYTES:,}")
        starts = range(begin * HASH_BYTES, (begin + (1 << low)) * HASH_BYTES, HASH_BYTES)
        return complete_root([content[start : start + HASH_BYTES] for start in starts])
