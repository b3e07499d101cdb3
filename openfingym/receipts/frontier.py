"""The right edge of a growing Merkle tree: all that is needed to go on, and to know its root."""

from __future__ import annotations

from openfingym.receipts.merkle import complete_root, root_of
from openfingym.receipts.tiles import HEIGHT, WIDTH


class Frontier:
    """A tree that takes one leaf after the other and keeps the tiles that are not yet full."""

    def __init__(self) -> None:
        self.size = 0
        """Number of leaves."""
        self._open: list[list[bytes]] = [[]]
        """Hashes of the last tile of each level, from the bottom."""

    def push(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Take the hash of the next leaf.

        Returns:
            Level, number and hash of what this completes: hashes over full tiles, from the bottom.
        """
        self.size += 1
        self._open[0].append(leaf)
        completed, level = [], 0
        while len(self._open[level]) == WIDTH:
            found = complete_root(self._open[level])
            self._open[level] = []
            level += 1
            if level == len(self._open):
                self._open.append([])
            self._open[level].append(found)
            completed.append((level, (self.size >> HEIGHT * level) - 1, found))
        return completed

    def root(self) -> bytes:
        """Root of the leaves so far."""
        return root_of(self.size, self._node)

    def _node(self, height: int, n: int) -> bytes:
        level, low = divmod(height, HEIGHT)
        begin = (n << low) % WIDTH
        return complete_root(self._open[level][begin : begin + (1 << low)])
