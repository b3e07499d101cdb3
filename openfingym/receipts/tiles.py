"""Tiles: how a log is read by others, as C2SP's tlog-tiles has it.

::

    tile/LEVEL/N[.p/WIDTH]       256 hashes; those of level 0 are of leaves, each other one is over a tile below it
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
HEIGHT = 8
"""Levels of the tree in a tile."""
MOST_LEVELS = 8
"""Above them no tree of 2^63 leaves has a hash."""
MOST_ENTRY_BYTES = 2**16 - 1
"""Length of an entry that a bundle can hold."""
_PATH = re.compile(
    r"(?P<level>entries|0|[1-9][0-9]?)/(?P<n>(?:x\d{3}/)*\d{3})(?:\.p/(?P<width>[1-9]\d{0,2}))?", re.ASCII
)


@dataclass(frozen=True)
class TilePath:
    """Which tile is asked for."""

    level: int | Literal["entries"]
    n: int
    width: int = WIDTH

    @classmethod
    def parse(cls, text: str) -> TilePath:
        """Read a path, what follows ``tile/``.

        Raises:
            ValueError: it is none.
        """
        match = _PATH.fullmatch(text) if len(text) <= 64 else None
        if match is None:
            raise ValueError(f"{text[:80]!r} is no path of a tile, such as 0/x001/067 or entries/000.p/12")
        groups = match["n"].split("/")
        # One number has one path: no leading groups of zeros.
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
        digits = str(self.n)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"{self.level}/{'/'.join([*(f'x{group}' for group in groups[:-1]), groups[-1]])}{partial}"


def bundle(entries: Iterable[bytes]) -> bytes:
    """A bundle of entries."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def unbundled(content: bytes) -> Iterator[bytes]:
    """The entries of a bundle.

    Raises:
        ValueError: it ends in the middle of one.
    """
    place = 0
    while place < len(content):
        end = place + 2 + int.from_bytes(content[place : place + 2], "big")
        if end > len(content) or place + 2 > len(content):
            raise ValueError(f"the bundle ends in the middle of the entry at byte {place}")
        yield content[place + 2 : end]
        place = end


class TileTree:
    """The tree of a log as its tiles show it; what they show is proven by what is checked with it."""

    def __init__(self, fetch: Callable[[TilePath], bytes], size: int) -> None:
        """Fetch nothing yet.

        Args:
            fetch: gives the bytes of a tile of hashes.
            size: how many leaves the tree has.
        """
        self.size = size
        self._fetch = functools.lru_cache(maxsize=64)(fetch)

    def node(self, height: int, n: int) -> bytes:
        """Hash of the n-th complete subtree of ``2 ** height`` leaves.

        Raises:
            ValueError: a tile has not the length that it must have.
        """
        level, low = divmod(height, HEIGHT)
        number, begin = divmod(n << low, WIDTH)
        path = TilePath(level, number, min(WIDTH, (self.size >> HEIGHT * level) - number * WIDTH))
        content = self._fetch(path)
        if len(content) != path.width * HASH_BYTES:
            raise ValueError(f"the tile {path} has {len(content):,} bytes, expected {path.width * HASH_BYTES:,}")
        starts = range(begin * HASH_BYTES, (begin + (1 << low)) * HASH_BYTES, HASH_BYTES)
        return complete_root([content[start : start + HASH_BYTES] for start in starts])
