"""Checking the receipt of a run: what its folder says against what the verifier's log proves.

Nothing here asks a verifier. Each step is a :class:`PassedStep`; the first that fails is a
:class:`~openfingym.errors.ReceiptError` that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json, sha256_of, sha256_of_json
from openfingym.errors import ReceiptError, ReceiptStep, StoreError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes, read_json
from openfingym.receipts.receipt import MOST_BYTES, Receipt
from openfingym.results import RECEIPT, RESULT, VERIFIED, RolloutResult, read_run
from openfingym.verifiers.known_logs import known_key

if TYPE_CHECKING:
    from openfingym.receipts.checkpoint import Checkpoint
    from openfingym.receipts.keys import PublicKey
    from openfingym.receipts.receipt import Leaf

VERIFIED_LIMIT = MEGABYTE
SUBMISSION_LIMIT = 2048 * MEGABYTE
PROVEN = (
    "rollout_id",
    "task",
    "task_digest",
    "data_kind",
    "agent",
    "seed",
    "total",
    "relative_total",
    "relative_interval",
    "total_interval",
    "metrics",
    "standard_errors",
    "baseline",
    "baseline_total",
    "baseline_metrics",
    "submissions_accepted",
    "submissions_rejected",
    "budget",
    "flags",
    "policy",
    "season",
    "disclosure",
    "tape",
    "split",
    "instance",
    "session",
    "questions",
    "log_head",
)
"""Fields of ``result.json`` that the verifier states."""
IDENTITY = ("task", "task_digest", "agent", "seed", "split", "instance")
"""Fields that say what a result without a score is of."""
SCORE_FIELDS = frozenset({"total", "relative_total", "relative_interval", "total_interval"})
ORDERS = ("session", "questions")
"""Fields that the verifier leaves out of a rollout that has none."""
UNPROVEN = tuple(sorted(RolloutResult.__dataclass_fields__.keys() - {*PROVEN, "state", "direction", "format", "path"}))
"""Fields that are what the launcher says of itself."""
COMMITTED = {"full": "result", "held": "held"}
"""Field of the log's entry with the digest of what was told, by how much that was; else ``told``."""


@dataclass(frozen=True)
class PassedStep:
    """A step of a check that holds."""

    name: ReceiptStep
    detail: str


@dataclass(frozen=True)
class CheckedRun:
    """A run whose receipt holds."""

    receipt: Receipt
    checkpoint: Checkpoint
    key_pinned: bool
    """Whether the key is one that the reader has from elsewhere: given, or known in the store."""
    verified: Mapping[str, Any]
    """The result as the verifier wrote it."""
    steps: tuple[PassedStep, ...]


def read_receipt(folder: Path) -> Receipt:
    """The receipt in a run's folder, which may be a stranger's.

    Raises:
        StoreError: there is none, or it cannot be read.
        ReceiptError: it is malformed.
    """
    return Receipt.from_json(_content(folder, RECEIPT, MOST_BYTES))


def read_receipt_file(path: Path) -> Receipt:
    """The receipt in a file; see :func:`read_receipt`."""
    return Receipt.from_json(_content(path.absolute().parent, path.name, MOST_BYTES))


def read_object(path: Path) -> Mapping[str, Any] | None:
    """The JSON object in a file, which may be a stranger's; None where it is something else."""
    try:
        found = parse_json(_content(path.absolute().parent, path.name, MOST_BYTES).decode())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def check_run(folder: Path, key: PublicKey | None = None) -> CheckedRun:
    """Check everything that a run's folder holds, without labels and without a verifier.

    Args:
        folder: folder of the run.
        key: public key of the log; None for the one known in the store, else the one in the receipt.

    Raises:
        ReceiptError: with the first step that fails.
        StoreError: a file is missing, or cannot be read.
    """
    receipt, result = read_receipt(folder), read_run(folder)
    key = key or known_key(receipt.origin)
    checkpoint = receipt.checked(key)
    # Whatever was rejected may have had nothing that was scored.
    *scored, end = receipt.leaves
    verified = _verified(folder, end, result.rollout_id)
    steps = [
        PassedStep("signature", f"{checkpoint.origin}, {checkpoint.size:,} entries, by {_named(receipt, key)}"),
        PassedStep("inclusion", f"entries {', '.join(str(leaf.index) for leaf in receipt.leaves)} are in the log"),
        _check_result(result, verified, end),
        *(_check_submission(folder, leaf, verified) for leaf in scored),
    ]
    if verified.get("state") != "rejected" and len(scored) != 1:
        raise ReceiptError("the receipt does not say which submission was scored", step="entry")
    _check_derived(folder, result)
    return CheckedRun(receipt, checkpoint, key is not None, verified, tuple(steps))


def is_backed(folder: Path, result: RolloutResult) -> bool:
    """Whether the score of a run is backed by a receipt: the log has the result that its folder states.

    Args:
        folder: folder of the run.
        result: what its ``result.json`` says.
    """
    try:
        receipt = read_receipt(folder)
        receipt.checked(known_key(receipt.origin))
        end = receipt.leaves[-1]
        _check_result(result, _verified(folder, end, result.rollout_id), end)
    except (ReceiptError, StoreError):
        return False
    return True


def submission_of(folder: Path, checked: CheckedRun) -> Path | None:
    """File of the submission that was scored; None where nothing was."""
    *scored, _ = checked.receipt.leaves
    return _file_of(folder, scored[-1]) if scored else None


def _verified(folder: Path, end: Leaf, rollout_id: str) -> dict[str, Any]:
    """The verifier's own result, whose digest the log holds."""
    entry = end.document
    if entry.get("rollout") != rollout_id or entry.get("event") not in {"finalized", "settled"}:
        raise ReceiptError(
            f"entry {end.index} is not the end of rollout {rollout_id[:40]}, which this folder is of",
            step="entry",
            index=end.index,
        )
    try:
        verified = parse_json(_content(folder, VERIFIED, VERIFIED_LIMIT))
    except ValueError as error:
        raise _wrong(end, f"{VERIFIED} is no JSON document ({error})") from None
    if not isinstance(verified, dict):
        raise _wrong(end, f"{VERIFIED} is no object")
    disclosure = str(verified.get("disclosure"))
    if disclosure == "held" and (entry.get("disclosure") != "held" or verified.get("state") == "scored"):
        # Nothing is told yet, and so nothing may be claimed.
        raise _wrong(end, f"{VERIFIED} says that the result is held, and entry {end.index} does not")
    document = {name: value for name, value in verified.items() if name != "log_head"}
    try:
        digest = sha256_of_json(document)
    except ValueError:
        digest = ""
    if digest != entry.get(COMMITTED.get(disclosure, "told")):
        raise _wrong(end, f"{VERIFIED} is not the result that entry {end.index} commits to: it was changed")
    return verified


def _check_result(result: RolloutResult, verified: Mapping[str, Any], end: Leaf) -> PassedStep:
    """Compare ``result.json`` with what the verifier wrote."""
    if result.state == "error":
        if result.metrics or any(getattr(result, name) is not None for name in SCORE_FIELDS):
            raise _wrong(end, "result.json is an error of ours, which has no score, and states one")
        # What a verifier of another version does not state, it does not prove.
        for name in (name for name in IDENTITY if name in verified):
            if not _equal(getattr(result, name), verified[name]):
                raise _wrong(end, f"result.json is of another {name} than entry {end.index}")
        asked = verified.get("questions")
        if result.slice != (asked if isinstance(asked, str) else None):
            raise _wrong(end, f"result.json is of other questions than entry {end.index}")
        state = verified.get("state")
        return PassedStep("result", f"no score is claimed: an error, says its launcher; to the verifier it is {state}")
    told = {**dict.fromkeys(ORDERS), **verified}
    if verified.get("state") != "scored":
        told |= dict.fromkeys(SCORE_FIELDS)
    # What a verifier of another version does not state, it does not prove.
    wanted = {name: told[name] for name in PROVEN if name in told}
    found = {name: getattr(result, name) for name in wanted}
    if not _equal(found, wanted):
        name = next(name for name in wanted if not _equal(found[name], wanted[name]))
        raise _wrong(end, f"result.json says {name} = {_short(found[name])}, the verifier {_short(wanted[name])}")
    if result.state != ("deferred" if verified.get("state") == "held" else verified.get("state")):
        raise _wrong(end, f"result.json says that the rollout is {result.state}, the verifier {verified.get('state')}")
    if list(result.flags) != end.document.get("flags", []):
        raise _wrong(end, f"result.json states other flags than entry {end.index}")
    if verified.get("disclosure") == "held":
        return PassedStep(
            "result", f"held: entry {end.index} commits to a result that is told when the season is closed"
        )
    rounded = ", rounded as the verifier's policy has it" if verified.get("disclosure") == "rounded" else ""
    return PassedStep("result", f"result.json says what entry {end.index} commits to{rounded}")


def _check_derived(folder: Path, result: RolloutResult) -> None:
    """Check what ``result.json`` states twice: figures that follow from others, and are not read back."""
    try:
        stated: Any = read_json(folder, RESULT, MEGABYTE)
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / RESULT}: cannot be read ({error})") from error
    told = result.to_dict()
    for name in told.keys() - RolloutResult.__dataclass_fields__.keys():
        if name in stated and not _equal(stated[name], told[name]):
            raise ReceiptError(
                f"result.json says {name} = {_short(stated[name])}, and its own figures give {_short(told[name])}",
                step="result",
            )


def _check_submission(folder: Path, leaf: Leaf, verified: Mapping[str, Any]) -> PassedStep:
    entry = leaf.document
    # A submission before the last is in the log too, and was not the one that was scored.
    last = 1 if entry.get("event") == "played" else verified.get("submissions_accepted")
    if (entry.get("rollout"), entry.get("submission")) != (verified.get("rollout_id"), last):
        raise ReceiptError(
            f"entry {leaf.index} is not the submission that was scored, number {last} of its rollout",
            step="entry",
            index=leaf.index,
        )
    path = _file_of(folder, leaf)
    name = path.relative_to(folder).as_posix()
    try:
        values = read_array(folder, name, SUBMISSION_LIMIT)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"{path}: the submission that was scored cannot be read ({reason})") from error
    if values.dtype != "<f8" or sha256_of(values.tobytes()) != entry.get("payload"):
        raise ReceiptError(
            f"{path} is not the submission that entry {leaf.index} commits to: it was changed",
            step="result",
            index=leaf.index,
        )
    return PassedStep("result", f"{name} is what entry {leaf.index} commits to")


def _file_of(folder: Path, leaf: Leaf) -> Path:
    number = leaf.document.get("submission")
    if type(number) is not int or leaf.document.get("event") not in {"accepted", "played"}:
        raise ReceiptError(f"entry {leaf.index} is no submission", step="entry", index=leaf.index)
    return folder / "submissions" / f"{number}.npy"


def _content(folder: Path, name: str, most: int) -> bytes:
    try:
        return read_bytes(folder, name, most)
    except FileNotFoundError:
        raise StoreError(
            f"{folder / name}: no such file; runs of verifiers that are older than receipts, and runs that failed for "
            "a reason of ours, have none"
        ) from None
    except OSError as error:
        raise StoreError(f"{folder / name} {error.strerror}") from error


def _named(receipt: Receipt, key: PublicKey | None) -> str:
    return receipt.key if key is not None else f"the key in the receipt itself, which is not pinned: {receipt.key}"


def _equal(one: object, other: object) -> bool:
    """Whether two JSON values are the same, numbers to the last digit."""
    try:
        return canonical_json(one) == canonical_json(other)
    except ValueError:
        return False


def _short(value: object) -> str:
    return repr(value)[:80]


def _wrong(end: Leaf, reason: str) -> ReceiptError:
    return ReceiptError(reason, step="result", index=end.index)
