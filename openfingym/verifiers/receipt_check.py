"""Checking the receipt of a run: what its folder states against what the verifier's log proves.

Nothing here asks a verifier. Each step that holds is a :class:`PassedStep`; the first step that fails raises a
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
from openfingym.results import RolloutResult, read_run
from openfingym.results.faults import SCORE_FIELDS
from openfingym.results.run_folder import RECEIPT, RESULT, VERIFIED
from openfingym.verifiers.known_logs import pinned_key

if TYPE_CHECKING:
    from openfingym.receipts.checkpoint import Checkpoint
    from openfingym.receipts.keys import PublicKey
    from openfingym.receipts.receipt import Leaf

VERIFIED_LIMIT = MEGABYTE
"""The most bytes of a ``verified.json``."""
SUBMISSION_LIMIT = 2048 * MEGABYTE
"""The most bytes of a submission."""
PROVEN = (
    "rollout_id",
    "task",
    "task_digest",
    "data_kind",
    "agent",
    "agent_digest",
    "seed",
    "shown_before",
    "replayed",
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
    "principal",
)
"""Fields of ``result.json`` that the verifier states, and that its log therefore proves."""
IDENTITY = ("task", "task_digest", "agent", "seed", "split", "instance")
"""Fields that say which rollout a result without a score is of."""
ORDERS = ("session", "questions")
"""Fields that the verifier leaves out of the result of a rollout that has no session, or no questions of its own."""
UNPROVEN = tuple(sorted(RolloutResult.__dataclass_fields__.keys() - {*PROVEN, "state", "direction", "format", "path"}))
"""Fields that only the launcher states, such as times and costs."""
COMMITTED = {"full": "result", "held": "held"}
"""Name, in the log's entry, of the digest of what was disclosed, by how much that was; ``told`` for anything else."""


@dataclass(frozen=True)
class PassedStep:
    """A step of a check that holds."""

    name: ReceiptStep
    detail: str
    """What was checked, as a phrase for people."""


@dataclass(frozen=True)
class CheckedResult:
    """A result that is what the log of its receipt commits to."""

    checkpoint: Checkpoint
    """The receipt's checkpoint, whose signature was checked."""
    verified: Mapping[str, Any]
    """The result as the verifier wrote it."""
    step: PassedStep
    """What was compared."""


@dataclass(frozen=True)
class CheckedRun:
    """A run whose receipt holds."""

    receipt: Receipt
    checkpoint: Checkpoint
    """The receipt's checkpoint, whose signature was checked."""
    key_pinned: bool
    """Whether the key is one that the reader has from elsewhere: given, or known in the store."""
    verified: Mapping[str, Any]
    """The result as the verifier wrote it."""
    steps: tuple[PassedStep, ...]
    """The steps of the check, in order."""


def read_receipt(folder: Path) -> Receipt:
    """The receipt in a run's folder, which may be a stranger's.

    Raises:
        StoreError: the folder has no receipt, or it cannot be read.
        ReceiptError: the receipt is malformed.
    """
    return Receipt.from_json(_content(folder, RECEIPT, MOST_BYTES))


def read_receipt_file(path: Path) -> Receipt:
    """The receipt in a file, which may be a stranger's.

    Raises:
        StoreError: the file is missing, or cannot be read.
        ReceiptError: the receipt is malformed.
    """
    return Receipt.from_json(_content(path.absolute().parent, path.name, MOST_BYTES))


def read_object(path: Path) -> Mapping[str, Any] | None:
    """The JSON object in a file, which may be a stranger's; None where the file holds something else.

    Raises:
        StoreError: the file is missing, or cannot be read.
    """
    try:
        document = parse_json(_content(path.absolute().parent, path.name, MOST_BYTES).decode())
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def check_run(folder: Path, key: PublicKey | None = None) -> CheckedRun:
    """Check everything that a run's folder holds, without labels and without a verifier.

    Args:
        folder: folder of the run.
        key: public key of the log; None for one that is known in the store, else the one in the receipt, which anybody
            may have made: then :attr:`CheckedRun.key_pinned` is false.

    Raises:
        ReceiptError: a step of the check fails; the error names it.
        StoreError: a file is missing, or cannot be read.
    """
    receipt, result = read_receipt(folder), read_run(folder)
    key = key or pinned_key(receipt)
    checked = check_result(folder, result, receipt, key)
    # The last entry is the end of the rollout; before it is the submission that was scored, if there was one.
    *scored, _ = receipt.leaves
    checkpoint, verified = checked.checkpoint, checked.verified
    steps = [
        PassedStep("signature", f"{checkpoint.origin}, {checkpoint.size:,} entries, by {_named(receipt, key)}"),
        PassedStep("inclusion", f"entries {', '.join(str(leaf.index) for leaf in receipt.leaves)} are in the log"),
        checked.step,
        *(_check_submission(folder, leaf, verified) for leaf in scored),
    ]
    # A rejected rollout may have had no submission to score.
    if verified.get("state") != "rejected" and len(scored) != 1:
        raise ReceiptError("the receipt does not say which submission was scored", step="entry")
    _check_derived(folder, result)
    return CheckedRun(receipt, checkpoint, key is not None, verified, tuple(steps))


def check_result(folder: Path, result: RolloutResult, receipt: Receipt, key: PublicKey | None) -> CheckedResult:
    """Check that the log has the result of a run; the submission is not read, which may be large.

    Args:
        folder: folder of the run.
        result: the result in the folder's ``result.json``.
        receipt: the receipt in the folder.
        key: public key of the log; None for the one in the receipt, which anybody may have made.

    Raises:
        ReceiptError: a step of the check fails; the error names it.
        StoreError: the verifier's own result is missing, or cannot be read.
    """
    # Signature and inclusion come first: what follows believes the entries.
    checkpoint, end = receipt.checked(key), receipt.leaves[-1]
    verified = _verified(folder, end, result.rollout_id)
    return CheckedResult(checkpoint, verified, _check_result(result, verified, end))


def submission_of(folder: Path, checked: CheckedRun) -> Path | None:
    """The file of the submission that was scored; None where nothing was scored.

    Args:
        folder: folder of the run.
        checked: the run after its receipt was checked.
    """
    *scored, _ = checked.receipt.leaves
    return _file_of(folder, scored[-1]) if scored else None


def _verified(folder: Path, end: Leaf, rollout_id: str) -> dict[str, Any]:
    """The verifier's own result in a run's folder, once it is what the log commits to.

    Args:
        folder: folder of the run.
        end: entry of the rollout's end.
        rollout_id: id of the rollout, as ``result.json`` states it.

    Raises:
        ReceiptError: the entry is not this rollout's end, or the result is not the one that it commits to.
        StoreError: the result is missing, or cannot be read.
    """
    entry = end.document
    if entry.get("rollout") != rollout_id or entry.get("event") not in {"finalized", "settled", "released"}:
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
        # Of a held result nothing was disclosed yet, and so nothing may be claimed.
        raise _wrong(end, f"{VERIFIED} says that the result is held, and entry {end.index} does not")
    # The hash of the log's row is made after the entry, and so cannot be in the digest that the entry holds.
    document = {name: value for name, value in verified.items() if name != "log_head"}
    try:
        digest = sha256_of_json(document)
    except ValueError:
        digest = ""
    if digest != entry.get(COMMITTED.get(disclosure, "told")):
        raise _wrong(end, f"{VERIFIED} is not the result that entry {end.index} commits to: it was changed")
    return verified


def _check_result(result: RolloutResult, verified: Mapping[str, Any], end: Leaf) -> PassedStep:
    """Compare ``result.json`` with what the verifier wrote.

    Args:
        result: the result in ``result.json``.
        verified: the result as the verifier wrote it.
        end: entry of the rollout's end.

    Raises:
        ReceiptError: the two differ, or a score is stated where there is none.
    """
    # A launcher may call any rollout a failure of ours; but then it may claim no score.
    if result.state == "error":
        if result.metrics or any(getattr(result, name) is not None for name in SCORE_FIELDS):
            raise _wrong(end, "result.json is an error of ours, which has no score, and states one")
        # What a verifier of another version does not state is not compared.
        for name in (name for name in IDENTITY if name in verified):
            if not _equal(getattr(result, name), verified[name]):
                raise _wrong(end, f"result.json is of another {name} than entry {end.index}")
        asked = verified.get("questions")
        if result.slice != (asked if isinstance(asked, str) else None):
            raise _wrong(end, f"result.json is of other questions than entry {end.index}")
        state = verified.get("state")
        return PassedStep("result", f"no score is claimed: an error, says its launcher; to the verifier it is {state}")
    disclosed = {**dict.fromkeys(ORDERS), **verified}
    if verified.get("state") != "scored":
        disclosed |= dict.fromkeys(SCORE_FIELDS)
    # What a verifier of another version does not state is not compared, nor what an older result does not state.
    proven = {name: disclosed[name] for name in PROVEN if name in disclosed}
    if result.principal is None:
        proven.pop("principal", None)
    stated = {name: getattr(result, name) for name in proven}
    if not _equal(stated, proven):
        name = next(name for name in proven if not _equal(stated[name], proven[name]))
        raise _wrong(end, f"result.json says {name} = {_short(stated[name])}, the verifier {_short(proven[name])}")
    if result.state != ("deferred" if verified.get("state") == "held" else verified.get("state")):
        raise _wrong(end, f"result.json says that the rollout is {result.state}, the verifier {verified.get('state')}")
    # Of a result that is held the entry states none, which its digest has for whoever may read it.
    if end.document.get("disclosure") != "held" and list(result.flags) != end.document.get("flags", []):
        raise _wrong(end, f"result.json states other flags than entry {end.index}")
    if verified.get("disclosure") == "held":
        return PassedStep(
            "result", f"held: entry {end.index} commits to a result that is told when the season is closed"
        )
    rounded = ", rounded as the verifier's policy has it" if verified.get("disclosure") == "rounded" else ""
    return PassedStep("result", f"result.json says what entry {end.index} commits to{rounded}")


def _check_derived(folder: Path, result: RolloutResult) -> None:
    """Check the figures in ``result.json`` that follow from others, such as the skill: they are not read back, but
    people and other programs see them.

    Raises:
        ReceiptError: a figure is not what the others give.
        StoreError: the file cannot be read.
    """
    try:
        stated: Any = read_json(folder, RESULT, MEGABYTE)
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / RESULT}: cannot be read ({error})") from error
    derived = result.to_dict()
    for name in derived.keys() - RolloutResult.__dataclass_fields__.keys():
        if name in stated and not _equal(stated[name], derived[name]):
            raise ReceiptError(
                f"result.json says {name} = {_short(stated[name])}, and its own figures give {_short(derived[name])}",
                step="result",
            )


def _check_submission(folder: Path, leaf: Leaf, verified: Mapping[str, Any]) -> PassedStep:
    """Compare the submission in a run's folder with the entry of the log that commits to it."""
    entry, path = leaf.document, _file_of(folder, leaf)
    # Earlier submissions are in the log too: the last one is the one that was scored. What was played is one, with a
    # number after those of practice, which count as none.
    played = entry.get("event") == "played"
    last = entry.get("submission") if played else verified.get("submissions_accepted")
    if (entry.get("rollout"), entry.get("submission")) != (verified.get("rollout_id"), last):
        raise ReceiptError(
            f"entry {leaf.index} is not the submission that was scored, number {last} of its rollout",
            step="entry",
            index=leaf.index,
        )
    name = path.relative_to(folder).as_posix()
    try:
        values = read_array(folder, name, SUBMISSION_LIMIT)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"{path}: the submission that was scored cannot be read ({reason})") from error
    # The log has the digest of the bare values; the header of a .npy may differ between versions of NumPy.
    if values.dtype != "<f8" or sha256_of(values.tobytes()) != entry.get("payload"):
        raise ReceiptError(
            f"{path} is not the submission that entry {leaf.index} commits to: it was changed",
            step="result",
            index=leaf.index,
        )
    return PassedStep("result", f"{name} is what entry {leaf.index} commits to")


def _file_of(folder: Path, leaf: Leaf) -> Path:
    """The file of the submission that an entry of the log is about."""
    number = leaf.document.get("submission")
    # The number becomes a part of a path, and a bool would pass for an int. What was practised is never scored.
    if type(number) is not int or leaf.document.get("event") not in {"accepted", "played"}:
        raise ReceiptError(f"entry {leaf.index} is no submission that is scored", step="entry", index=leaf.index)
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
    # By their canonical JSON, which makes no difference between a tuple and a list; with NaN it is none.
    try:
        return canonical_json(one) == canonical_json(other)
    except ValueError:
        return False


def _short(value: object) -> str:
    return repr(value)[:80]


def _wrong(end: Leaf, reason: str) -> ReceiptError:
    return ReceiptError(reason, step="result", index=end.index)
