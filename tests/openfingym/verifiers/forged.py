"""Runs as a forger makes them: with a log of their own, which holds whatever they state."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from openfingym.digests import canonical_json, sha256_of_json
from openfingym.receipts import Checkpoint, Leaf, Receipt, SigningKey
from openfingym.receipts.merkle import leaf_hash, node_hash
from openfingym.results import RolloutResult
from openfingym.results.run_folder import RECEIPT, RESULT, VERIFIED
from openfingym.verifiers.receipt_check import COMMITTED, PROVEN
from tests.openfingym.reports.made import write

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
    scored, end = Receipt.from_json((original / RECEIPT).read_bytes()).leaves
    sign(folder, verified, key, scored.document, end.document)
    return folder


def sign(
    folder: Path, verified: dict[str, Any], key: SigningKey, scored: dict[str, object], end: dict[str, object]
) -> None:
    """Write the receipt of a run: a log of two entries, signed by a key.

    Args:
        folder: folder of the run.
        verified: the result as the log is to hold it.
        key: key of the log.
        scored: fields of the entry of the submission that was scored.
        end: fields of the entry of the rollout's end.
    """
    document = {name: value for name, value in verified.items() if name != "log_head"}
    rollout = {"rollout": verified["rollout_id"]}
    digest = {COMMITTED.get(verified["disclosure"], "told"): sha256_of_json(document)}
    entries = [
        canonical_json(scored | rollout),
        canonical_json(end | rollout | digest | {"state": verified["state"]}),
    ]
    first, second = map(leaf_hash, entries)
    note = Checkpoint(key.public.name, 2, node_hash(first, second)).signed(key)
    leaves = (Leaf(0, entries[0].decode(), (second,)), Leaf(1, entries[1].decode(), (first,)))
    (folder / RECEIPT).write_bytes(Receipt(str(key.public), note, leaves).to_json())


def proven(root: Path, result: RolloutResult, key: SigningKey = KEY, **verified: object) -> Path:
    """A run as a launcher writes it, with a receipt by a log of two entries, without a verifier.

    Args:
        root: folder below which the run's folder is made.
        result: the result of the run.
        key: key of the log.
        verified: what the log states besides, or otherwise than the result.
    """
    result = replace(result, disclosure="full")
    (folder,) = write(root, result)
    stated = {name: value for name, value in result.to_dict().items() if name in PROVEN}
    document: dict[str, Any] = stated | {"state": result.state, "principal": result.principal or "team-a"}
    document |= verified
    (folder / VERIFIED).write_bytes(canonical_json(document))
    flags = {"event": "finalized", "flags": document["flags"]}
    sign(folder, document, key, {"event": "accepted", "submission": 1, "payload": "0" * 64}, flags)
    return folder
