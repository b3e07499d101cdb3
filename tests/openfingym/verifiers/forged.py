"""Runs as a forger makes them: copies of a true one with another score, and a log of their own that holds it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from openfingym.digests import canonical_json, sha256_of_json
from openfingym.receipts import Checkpoint, Leaf, Receipt, SigningKey
from openfingym.receipts.merkle import leaf_hash, node_hash
from openfingym.results import RECEIPT, RESULT, VERIFIED
from openfingym.verifiers.receipt_check import COMMITTED

KEY = SigningKey("openfingym.local/of-the-forger", bytes(32))
"""A key that anybody can make."""
BETTER = {"relative_total": 0.1, "relative_interval": [0.05, 0.2], "total": 0.001, "total_interval": [0.0005, 0.002]}
"""A score that nobody reached."""


def edited(original: Path, folder: Path, **changes: object) -> Path:
    """A copy of a run in which ``result.json`` alone states something else: by default a better score."""
    shutil.copytree(original, folder)
    stated = json.loads((folder / RESULT).read_text())
    for derived in ("skill", "verdict", "reward"):
        stated.pop(derived, None)
    (folder / RESULT).write_text(json.dumps(stated | (changes or BETTER)))
    return folder


def forged(original: Path, folder: Path, *, key: SigningKey = KEY, **changes: object) -> Path:
    """A copy of a run with a better score in all its files, proven by a log of two entries that the forger signs.

    Args:
        original: folder of the true run.
        folder: folder to write.
        key: key of the forger's log.
        changes: what result and log state beside the better score, such as another agent.
    """
    changes = BETTER | changes
    edited(original, folder, **changes)
    verified = json.loads((folder / VERIFIED).read_text()) | changes
    (folder / VERIFIED).write_bytes(canonical_json(verified))
    verified.pop("log_head")
    scored, end = Receipt.from_json((original / RECEIPT).read_bytes()).leaves
    rollout = {"rollout": verified["rollout_id"]}
    digest = {COMMITTED.get(verified["disclosure"], "told"): sha256_of_json(verified)}
    entries = [
        canonical_json(scored.document | rollout),
        canonical_json(end.document | rollout | digest | {"state": verified["state"]}),
    ]
    first, second = map(leaf_hash, entries)
    note = Checkpoint(key.public.name, 2, node_hash(first, second)).signed(key)
    leaves = (Leaf(0, entries[0].decode(), (second,)), Leaf(1, entries[1].decode(), (first,)))
    (folder / RECEIPT).write_bytes(Receipt(str(key.public), note, leaves).to_json())
    return folder
