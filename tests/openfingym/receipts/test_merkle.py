"""Merkle trees against the published vectors of RFC 6962 and a tree made word for word after its definition."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.receipts.frontier import Frontier
from openfingym.receipts.merkle import (
    EMPTY_ROOT,
    MOST_LEAVES,
    Node,
    complete_root,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
    leaf_hash,
    node_hash,
    root_of,
)
from openfingym.receipts.tiles import TilePath, TileTree, bundle, unbundled

ENTRIES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
"""The entries of the tests of certificate-transparency."""
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""Their roots, of the first 0 to 8."""
PATHS: dict[tuple[int, int], list[str]] = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
}
"""Proofs of inclusion by index and size, of the same tests."""


def root_by_definition(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0]).digest() if leaves else hashlib.sha256(b"").digest()
    k = 1 << ((len(leaves) - 1).bit_length() - 1)
    left, right = root_by_definition(leaves[:k]), root_by_definition(leaves[k:])
    return hashlib.sha256(b"\1" + left + right).digest()


def path_by_definition(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    if len(leaves) < 2:
        return []
    k = 1 << ((len(leaves) - 1).bit_length() - 1)
    if index < k:
        return [*path_by_definition(index, leaves[:k]), root_by_definition(leaves[k:])]
    return [*path_by_definition(index - k, leaves[k:]), root_by_definition(leaves[:k])]


def subproof_by_definition(old: int, leaves: Sequence[bytes], *, whole: bool = True) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root_by_definition(leaves)]
    k = 1 << ((len(leaves) - 1).bit_length() - 1)
    if old <= k:
        return [*subproof_by_definition(old, leaves[:k], whole=whole), root_by_definition(leaves[k:])]
    return [*subproof_by_definition(old - k, leaves[k:], whole=False), root_by_definition(leaves[:k])]


def node_of(leaves: Sequence[bytes]) -> Node:
    hashes = [leaf_hash(leaf) for leaf in leaves]
    return lambda height, n: complete_root(hashes[n << height : (n + 1) << height])


def numbered(size: int) -> list[bytes]:
    return [b"%d" % i for i in range(size)]


@pytest.mark.parametrize("size", range(9))
def test_published_roots(size: int) -> None:
    assert root_of(size, node_of(ENTRIES)).hex() == root_by_definition(ENTRIES[:size]).hex() == ROOTS[size]
    assert (root_of(0, node_of([])), EMPTY_ROOT.hex()) == (EMPTY_ROOT, ROOTS[0])


@pytest.mark.parametrize(("index", "size"), PATHS)
def test_published_proofs(index: int, size: int) -> None:
    proof = [bytes.fromhex(text) for text in PATHS[index, size]]
    assert inclusion_proof(index, size, node_of(ENTRIES)) == proof
    assert is_included(leaf_hash(ENTRIES[index]), index, size, proof, bytes.fromhex(ROOTS[size]))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 2500), st.data())
def test_proofs_of_any_tree(size: int, data: st.DataObject) -> None:
    leaves, node = numbered(size), node_of(numbered(size))
    root, index, old = root_by_definition(leaves), data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    assert root_of(size, node) == root
    proof = inclusion_proof(index, size, node)
    assert proof == path_by_definition(index, leaves)
    leaf = leaf_hash(leaves[index])
    assert is_included(leaf, index, size, proof, root)
    links, before = consistency_proof(old, size, node), root_by_definition(leaves[:old])
    assert links == subproof_by_definition(old, leaves)
    assert is_consistent(old, before, size, root, links)
    # What is not so has no proof, whichever part of it is another.
    other = data.draw(st.integers(0, size + 3))
    assert is_included(leaf, other, size, proof, root) == (other == index)
    assert not is_included(leaf_hash(b"x"), index, size, proof, root)
    assert not is_included(leaf, index, size, [*proof, proof[-1] if proof else leaf], root)
    assert not (proof and is_included(leaf, index, size, proof[:-1], root))
    assert not is_included(leaf, index, size, proof, before) or old == size
    assert is_consistent(other, before, size, root, links) == (other == old)
    assert not is_consistent(old, leaf_hash(b"x"), size, root, links)
    assert not is_consistent(old, before, size, leaf_hash(b"x"), links)
    assert not (links and is_consistent(old, before, size, root, links[:-1]))
    assert not is_consistent(old, before, size, root, [*links, root])


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 70_000))
def test_the_right_edge_is_all_that_is_needed(size: int) -> None:
    frontier, completed = Frontier(), {}
    leaves = [leaf_hash(entry) for entry in numbered(size)]
    for leaf in leaves:
        completed.update({(level, n): found for level, n, found in frontier.push(leaf)})
    assert frontier.root() == root_of(size, lambda height, n: complete_root(leaves[n << height : (n + 1) << height]))
    assert len(completed) == size // 256 + size // 65536
    for (level, n), found in completed.items():
        assert found == complete_root(leaves[n << 8 * level : (n + 1) << 8 * level])


def test_an_empty_tree_is_the_beginning_of_every_tree() -> None:
    assert is_consistent(0, EMPTY_ROOT, 5, leaf_hash(b""), [])
    assert not is_consistent(0, leaf_hash(b""), 5, leaf_hash(b""), [])
    assert not is_consistent(0, EMPTY_ROOT, 5, leaf_hash(b""), [EMPTY_ROOT])


def test_a_node_is_not_a_leaf() -> None:
    """The two children of a node, written as an entry, must not have the node's hash."""
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    root = node_hash(left, right)
    for entry in (left + right, b"\1" + left + right, b"\0" + left + right):
        assert leaf_hash(entry) != root
        assert not is_included(leaf_hash(entry), 0, 1, [], root)
    # A proof that stops one level early would make the upper nodes leaves of a smaller tree.
    upper = [node_hash(leaf_hash(b"%d" % i), leaf_hash(b"%d" % (i + 1))) for i in (0, 2)]
    assert node_hash(*upper) == root_by_definition(numbered(4))
    assert not is_included(upper[0], 0, 4, [upper[1]], node_hash(*upper))


@pytest.mark.parametrize("index", [-1, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 0])
@pytest.mark.parametrize("size", [-1, 0, 1, 2**63 - 1, 2**63, 2**64, 2**64 + 1])
def test_numbers_that_no_tree_has(index: int, size: int) -> None:
    leaf = leaf_hash(b"")
    assert not is_included(leaf, index, size, [], leaf)
    assert not is_included(leaf, index, size, [leaf] * 64, leaf)
    if not 0 <= index < size:
        with pytest.raises(ValueError, match="not in a tree"):
            inclusion_proof(index, size, lambda height, n: leaf)
    assert not is_consistent(index, leaf, size, leaf_hash(b"x"), [leaf] * 64)


def test_a_leaf_far_to_the_right() -> None:
    """A tree of 2^63 - 1 equal leaves, whose nodes follow from their height."""
    by_height = [leaf_hash(b"")]
    for _ in range(63):
        by_height.append(node_hash(by_height[-1], by_height[-1]))
    root = root_of(MOST_LEAVES, lambda height, n: by_height[height])
    proof = inclusion_proof(MOST_LEAVES - 1, MOST_LEAVES, lambda height, n: by_height[height])
    assert is_included(by_height[0], MOST_LEAVES - 1, MOST_LEAVES, proof, root)
    assert not is_included(by_height[0], MOST_LEAVES - 2, MOST_LEAVES, proof, root)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (TilePath(0, 0), "0/000"),
        (TilePath(0, 67), "0/067"),
        (TilePath(1, 1234067), "1/x001/x234/067"),
        (TilePath("entries", 1000, 5), "entries/x001/000.p/5"),
        (TilePath(7, 999, 255), "7/999.p/255"),
    ],
)
def test_paths_of_tiles(path: TilePath, text: str) -> None:
    assert str(path) == text
    assert TilePath.parse(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0/",
        "0/1",
        "0/0001",
        "0/x000/001",
        "0/x1/001",
        "00/001",
        "8/000",
        "63/000",
        "64/000",
        "-1/000",
        "entries",
        "0/001.p/0",
        "0/001.p/256",
        "0/001.p/257",
        "0/001.p/01",
        "0/001.p/",
        "0/001/",
        "/0/001",
        "../0/001",
        "0/x001",
        "0/٠٠١",
        "0/001\n",
        "Entries/001",
        "0/" + "x999/" * 7 + "999",
        "0/" + "x999/" * 5000 + "999",
    ],
)
def test_what_is_no_path_of_a_tile(text: str) -> None:
    with pytest.raises(ValueError, match=r"path of a tile|zeros|no hashes"):
        TilePath.parse(text)


@given(st.lists(st.binary(max_size=300), max_size=40))
def test_bundles_give_back_their_entries(entries: list[bytes]) -> None:
    content = bundle(entries)
    assert list(unbundled(content)) == entries
    for cut in range(1, 3):
        if entries and len(entries[-1]) >= cut:
            with pytest.raises(ValueError, match="in the middle"):
                list(unbundled(content[:-cut]))


@pytest.mark.parametrize("size", [1, 255, 256, 257, 1000])
def test_a_tree_from_its_tiles(size: int) -> None:
    leaves = [leaf_hash(entry) for entry in numbered(size)]
    tiles = {
        (level, n, len(row[n * 256 :][:256])): b"".join(row[n * 256 :][:256])
        for level, row in ((0, leaves), (1, [complete_root(leaves[i : i + 256]) for i in range(0, size - 255, 256)]))
        for n in range(-(-len(row) // 256))
    }
    tree = TileTree(lambda path: tiles[path.level, path.n, path.width], size)  # type: ignore[index]  # of hashes alone
    assert root_of(size, tree.node) == root_by_definition(numbered(size))
    short = TileTree(lambda path: b"\0" * 31, size)
    with pytest.raises(ValueError, match="31 bytes"):
        root_of(size, short.node)
    assert len(base64.b64encode(leaves[0])) == 44
