"""Merkle trees as RFC 6962 has them: roots, and proofs of inclusion and of consistency, made and checked.

A leaf is hashed with another prefix than an inner node, so that neither can be passed off as the other. Indices count
leaves from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
"""Root of the tree without leaves."""
MOST_LEAVES = 2**63 - 1
"""Largest size of a tree: what a signed 64-bit integer holds, as the tlog formats have it."""

Node = Callable[[int, int], bytes]
"""``node(height, n)``: hash of the n-th complete subtree of ``2 ** height`` leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """Hash of a leaf."""
    return sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """Root over hashes whose number is a power of two."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
    return hashes[0]


def root_of(size: int, node: Node) -> bytes:
    """Root of a tree of ``size`` leaves."""
    return _root(0, size, node) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Hashes that lead from a leaf to the root of a tree of ``size`` leaves, from the bottom to the top.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    path, begin, end = [], 0, size
    while end - begin > 1:
        middle = begin + _left(end - begin)
        if index < middle:
            path.append(_root(middle, end, node))
            end = middle
        else:
            path.append(_root(begin, middle, node))
            begin = middle
    return path[::-1]


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """Hashes which show that the first ``old`` leaves of a tree of ``new`` are the tree that there was before.

    Raises:
        ValueError: the earlier tree is the larger one.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {old} leaves is not an earlier state of one of {new}")
    path: list[bytes] = []
    begin, end = 0, new
    if old in {0, new}:
        return path
    while old != end:
        middle = begin + _left(end - begin)
        if old <= middle:
            path.append(_root(middle, end, node))
            end = middle
        else:
            path.append(_root(begin, middle, node))
            begin = middle
    # The earlier tree's own root is known to whoever checks.
    if begin:
        path.append(_root(begin, end, node))
    return path[::-1]


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a leaf's hash is at ``index`` of the tree with this size and root."""
    if not 0 <= index < size <= MOST_LEAVES:
        return False
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree of ``new`` leaves begins with that of ``old``."""
    if not 0 <= old <= new <= MOST_LEAVES:
        return False
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    if old == new:
        return not proof and old_root == new_root
    path = list(proof)
    # Where the earlier tree is a complete subtree of the later one, its root begins the path.
    if old & (old - 1) == 0:
        path.insert(0, old_root)
    if not path:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    before = after = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            before, after = node_hash(sibling, before), node_hash(sibling, after)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            after = node_hash(after, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and before == old_root and after == new_root


def _root(begin: int, end: int, node: Node) -> bytes:
    """Root over the leaves of a range that is a subtree of the whole."""
    width = end - begin
    if width & (width - 1) == 0:
        height = width.bit_length() - 1
        return node(height, begin >> height)
    middle = begin + _left(width)
    return node_hash(_root(begin, middle, node), _root(middle, end, node))


def _left(width: int) -> int:
    """Leaves of the left half: the largest power of two below ``width``."""
    return 1 << ((width - 1).bit_length() - 1)
