"""Receipts: how fast they are checked and made, how large they are, and what the tree costs the log.

- *Checking* 10,000 receipts of rollouts, two entries each, in a log of a million: from the bytes of the file to the
  signature and both ways to the root. Beside it the signatures alone, by ``cryptography``, and the ways alone by
  pymerkle (``pip install pymerkle``), which knows one hash function and no signed checkpoint.
- *Appending* entries in groups of 64 with a commit to the disk for each, with the tree and without.
- *Making* receipts of random rows, and checking a whole ledger.

    python benchmarks/receipts.py [--receipts 10000] [--entries 100000]
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "verifier")]

from size import sized, status  # noqa: E402

from openfingym.digests import canonical_json  # noqa: E402
from openfingym.receipts import Checkpoint, Leaf, PublicKey, Receipt, SigningKey  # noqa: E402
from openfingym.receipts.merkle import complete_root, inclusion_proof, leaf_hash, node_hash, root_of  # noqa: E402

LOG = sized(1_000_000, 1_000)
GROUP = sized(64, 4)
TARGET_S, TARGET_BYTES = 10.0, 4096
LEAF_A = {"at_ns": 1795407674407658006, "event": "accepted", "payload": "f" * 64, "submission": 1}
LEAF_B = {"at_ns": 1795407674455664409, "disclosure": "full", "event": "finalized", "flags": [], "state": "scored"}


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds that ``work`` takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def made(count: int) -> tuple[list[bytes], PublicKey]:
    """Receipts of rollouts all over a log of a million entries."""
    entries = [canonical_json({**(LEAF_A, LEAF_B)[i % 2], "rollout": f"r{i // 2:020x}"}) for i in range(LOG)]
    levels = [[leaf_hash(entry) for entry in entries]]
    while len(levels[-1]) > 1:
        row = levels[-1]
        levels.append([node_hash(row[i], row[i + 1]) for i in range(0, len(row) - 1, 2)])

    def node(height: int, n: int) -> bytes:
        return levels[height][n]

    key = SigningKey("openfingym.local/0123456789abcdef", bytes(32))
    notes = {}
    rng, receipts = np.random.default_rng(0), []
    for i in rng.integers(0, LOG // 2, count).tolist():
        # Each has a checkpoint of its own, as receipts have that were asked for one after the other.
        size = int(rng.integers(2 * i + 2, LOG + 1))
        if size not in notes:
            notes[size] = Checkpoint(key.public.name, size, root_of(size, node)).signed(key)
        leaves = (Leaf(j, entries[j].decode(), tuple(inclusion_proof(j, size, node))) for j in (2 * i, 2 * i + 1))
        receipts.append(Receipt(str(key.public), notes[size], tuple(leaves)).to_json())
    return receipts, key.public


def checking(count: int) -> bool:
    """Part one; returns whether the targets are met."""
    receipts, key = made(count)
    parsed = [Receipt.from_json(content) for content in receipts]
    signed = []
    for receipt in parsed:
        text, _, rest = receipt.checkpoint.rpartition("\n\n")
        signed.append((base64.b64decode(rest.split()[-1])[4:], f"{text}\n".encode()))
    ours = cpu(lambda: [Receipt.from_json(content).checked(key) for content in receipts])
    bare = cpu(lambda: [key.signed(signature, text) for signature, text in signed])
    largest = max(map(len, receipts))
    print(f"checking {count:,} receipts of a log of {LOG:,} entries, CPU seconds; at most {TARGET_S:.0f}")
    print(f"  ours, from the file to the root           {ours:6.2f}")
    print(f"  cryptography, the signature alone         {bare:6.2f}   {ours / bare:.1f}x")
    peer = pymerkle_s(count)
    if peer is not None:
        own, theirs = peer
        print(f"  ours, one way to the root of 2^16 entries {own:6.2f}")
        print(f"  pymerkle, the same                        {theirs:6.2f}   {own / theirs:.2f}x")
    print(f"largest receipt: {largest:,} bytes; at most {TARGET_BYTES:,}")
    return ours <= TARGET_S and largest <= TARGET_BYTES


def pymerkle_s(count: int) -> tuple[float, float] | None:
    """CPU seconds of ours and of pymerkle's check of as many proofs in one tree; None where it is not installed."""
    try:
        from pymerkle import InmemoryTree, verify_inclusion
    except ImportError:
        return None
    from openfingym.receipts.merkle import is_included

    size = 1 << 16
    tree = InmemoryTree(algorithm="sha256")
    entries = [b"%d" % i for i in range(size)]
    for entry in entries:
        tree.append_entry(entry)
    hashes = [leaf_hash(entry) for entry in entries]
    levels = [hashes]
    while len(levels[-1]) > 1:
        row = levels[-1]
        levels.append([node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)])
    root = complete_root(hashes)
    assert tree.get_root() == root, "the same tree"
    chosen = np.random.default_rng(1).integers(0, size, min(count, 2000)).tolist()
    theirs = [(tree.get_leaf(i + 1), tree.prove_inclusion(i + 1, size)) for i in chosen]
    own = [(hashes[i], i, inclusion_proof(i, size, lambda height, n: levels[height][n])) for i in chosen]
    scale = count / len(chosen)
    return (
        scale * cpu(lambda: [is_included(leaf, i, size, proof, root) or sys.exit("no") for leaf, i, proof in own]),
        scale * cpu(lambda: [verify_inclusion(leaf, root, proof) for leaf, proof in theirs]),
    )


def appending(entries: int) -> None:
    """Part two: what the tree adds to the log; part three on the log that there is then."""
    from openfingym_verifier.audit.log import verify_chain
    from openfingym_verifier.ledger import tree
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.receipts import Receipts, load_signing_key
    from openfingym_verifier.ledger.writer import Transaction

    def fill(ledger: Ledger, count: int) -> float:
        def write(transaction: Transaction) -> None:
            for _ in range(GROUP):
                transaction.log("", {**LEAF_A, "event": "benchmark"})

        groups = count // GROUP
        return 1e6 * cpu(lambda: [ledger.writer.run(write) for _ in range(groups)]) / (groups * GROUP)

    with tempfile.TemporaryDirectory(prefix="ofg-bench-") as name, contextlib.ExitStack() as stack:
        with_tree, without = (stack.enter_context(contextlib.closing(Ledger(Path(name) / part))) for part in "ab")
        rounds = 5
        figures: list[tuple[float, float]] = []
        for _ in range(rounds):
            ours = fill(with_tree, entries // rounds)
            # A plain function, since one of unittest.mock notes every call.
            kept, tree.grow = tree.grow, lambda *_: None
            figures.append((ours, fill(without, entries // rounds)))
            tree.grow = kept
        ours, bare = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"appending {entries:,} entries, {GROUP} a commit, CPU microseconds an entry")
        print(f"  with the tree {ours:.1f}, without {bare:.1f}: {ours / bare:.2f}x")
        receipts = Receipts(with_tree, load_signing_key(Path(name) / "a"))
        with with_tree.read() as connection:
            size = tree.size_of(connection)
        rows = np.random.default_rng(2).integers(1, size + 1, 1000).tolist()
        scattered = cpu(lambda: [receipts.of_entries([row]) for row in rows])
        recent = range(size - 999, size + 1)
        print(
            f"making a receipt: {1e3 * scattered / len(rows):.2f} ms of a row anywhere, "
            f"{1e3 * cpu(lambda: [receipts.of_entries([row]) for row in recent]) / len(recent):.2f} ms of a recent one"
        )
        print(f"checking the whole ledger of {entries:,} entries: {cpu(lambda: verify_chain(with_tree.path)):.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description="Receipts: checking, making, appending.")
    parser.add_argument("--receipts", type=int, default=sized(10_000, 10))
    parser.add_argument("--entries", type=int, default=sized(100_000, 2_000))
    options = parser.parse_args()
    met = checking(options.receipts)
    appending(options.entries)
    return status(met)


if __name__ == "__main__":
    sys.exit(main())
