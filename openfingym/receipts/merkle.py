"""Merkle trees as in RFC 6962: roots, and proofs of inclusion and of consistency, made and checked.

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
"""Largest size of a tree, which the tlog formats hold in a signed 64-bit integer."""

Node = Callable[[int, int], bytes]
"""``node(height, n)`` gives the hash of the n-th complete subtree of ``2 ** height`` leaves, from 0."""


def leaf_hash(entry: bytes) -> bytes:
    """Hash of a leaf."""
    return sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """Root of the complete tree over hashes whose number is a power of two."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
    return hashes[0]


def root_of(size: int, node: Node) -> bytes:
    """Root of the tree of the first ``size`` leaves."""
    return _root(0, size, node) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Hashes that lead from a leaf to the root of a tree of ``size`` leaves, from the bottom to the top.

    Raises:
        ValueError: the tree has no leaf with this index.
    """
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    path, begin, end = [], 0, size
    # Down from the root: at each node the way goes on into one half, and the other half's root is part of the proof.
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
    """Hashes which show that a tree of ``new`` leaves begins with the leaves of the earlier tree of ``old`` leaves.

    Raises:
        ValueError: the earlier tree is larger than the later one.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {old} leaves is not an earlier state of one of {new}")
    path: list[bytes] = []
    begin, end = 0, new
    if old in {0, new}:
        return path
    # Down to the last complete subtree of the earlier tree; the roots of the other halves are the proof.
    while old != end:
        middle = begin + _left(end - begin)
        if old <= middle:
            path.append(_root(middle, end, node))
            end = middle
        else:
            path.append(_root(begin, middle, node))
            begin = middle
    # If that subtree is the whole earlier tree, its root is known to whoever checks the proof.
    if begin:
        path.append(_root(begin, end, node))
    return path[::-1]


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a proof shows that a leaf's hash is at ``index`` of the tree with this size and root.

    Args:
        leaf: hash of the leaf.
        index: place that the leaf is said to have, from 0.
        size: number of leaves of the tree.
        proof: hashes that lead from the leaf to the root, from the bottom to the top.
        root: root of the tree.
    """
    if not 0 <= index < size <= MOST_LEAVES:
        return False
    # The algorithm of RFC 9162, section 2.1.3.2: up from the leaf, `place` being the node's place on its level and
    # `last` that of the level's last node.
    place, last, node = index, size - 1, leaf
    for sibling in proof:
        # At the root already: the proof is too long.
        if last == 0:
            return False
        if place & 1 or place == last:
            node = node_hash(sibling, node)
            # The last node of a level without a sibling moves up as it is, until it has one to its left.
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and node == root


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that the tree of ``new`` leaves begins with the leaves of the tree of ``old``.

    Args:
        old: number of leaves of the earlier tree.
        old_root: root of the earlier tree.
        new: number of leaves of the later tree.
        new_root: root of the later tree.
        proof: hashes as :func:`consistency_proof` makes them.
    """
    # The algorithm of RFC 9162, section 2.1.4.2: up from a node that is in both trees, with the earlier tree's root in
    # `before` and the later one's in `after`.
    if not 0 <= old <= new <= MOST_LEAVES:
        return False
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    if old == new:
        return not proof and old_root == new_root
    path = list(proof)
    # If the earlier tree is a complete subtree of the later one, the proof leaves its root out, since it is known.
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
    # Here a range whose length is a power of two begins at a multiple of it, so it is a complete subtree.
    if width & (width - 1) == 0:
        height = width.bit_length() - 1
        return node(height, begin >> height)
    middle = begin + _left(width)
    return node_hash(_root(begin, middle, node), _root(middle, end, node))


def _left(width: int) -> int:
    """Number of leaves in the left half of a tree of ``width``: the largest power of two below that."""
    return 1 << ((width - 1).bit_length() - 1)
