"""The right edge of a growing Merkle tree, which is all that it takes to add leaves and to compute the root."""

from __future__ import annotations

from openfingym.receipts.merkle import complete_root, root_of
from openfingym.receipts.tiles import HEIGHT, WIDTH


class Frontier:
    """A tree that takes one leaf after the other and keeps only the tiles that are not yet full."""

    def __init__(self) -> None:
        self.size = 0
        """Number of leaves."""
        self._open: list[list[bytes]] = [[]]
        """Hashes of the last tile of each level, the level of the leaves first."""

    def push(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Take the hash of the next leaf.

        Returns:
            The hashes over tiles that this leaf completes, the lowest first: for each, its level, its place among the
            hashes of that level, from 0, and the hash itself.
        """
        self.size += 1
        self._open[0].append(leaf)
        completed, level = [], 0
        # A full tile becomes one hash in the tile above, which may thereby be full as well.
        while len(self._open[level]) == WIDTH:
            tile_root = complete_root(self._open[level])
            self._open[level] = []
            level += 1
            if level == len(self._open):
                self._open.append([])
            self._open[level].append(tile_root)
            completed.append((level, (self.size >> HEIGHT * level) - 1, tile_root))
        return completed

    def root(self) -> bytes:
        """The root of the tree of all leaves so far."""
        return root_of(self.size, self._node)

    def _node(self, height: int, n: int) -> bytes:
        """Hash of the n-th complete subtree of ``2 ** height`` leaves, which must be on the right edge."""
        # The subtrees that the root is made of are in no full tile, so each is in the last tile of its level.
        level, low = divmod(height, HEIGHT)
        begin = (n << low) % WIDTH
        return complete_root(self._open[level][begin : begin + (1 << low)])
