"""Whether a run is backed: whether a verifier whose key is known vouches for what the run's folder states.

Anybody can sign a log of their own, so that a receipt backs a run only under a key that this machine knows or that the
reader names. A receipt that contradicts its own folder is evidence that the folder was changed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from openfingym.errors import ReceiptError, StoreError
from openfingym.results import RolloutResult, read_run
from openfingym.results.run_folder import RECEIPT
from openfingym.verifiers.known_logs import is_met, pinned_key
from openfingym.verifiers.receipt_check import CheckedResult, check_result, read_receipt

if TYPE_CHECKING:
    from openfingym.receipts.keys import PublicKey
    from openfingym.receipts.receipt import Receipt

BackingState = Literal["backed", "unknown key", "no receipt", "unreadable", "contradicted"]
"""What the receipt of a run is worth. ``backed``: a known key vouches for the result. ``unknown key``: it holds, and
nobody knows whose key it is. ``no receipt``: there is none. ``unreadable``: what is needed to check it is missing, or
of another version. ``contradicted``: the folder states something else than its receipt, or that does not hold."""

REMEDY = (
    "if you have the key from the log's operator, give it with --key, or add it with `openfingym receipt trust KEY`"
)
"""What to do about a key that is not known."""


@dataclass(frozen=True)
class Backing:
    """What the receipt of a run is worth."""

    state: BackingState
    reason: str = ""
    """Why the run is not backed, as a clause; empty if it is."""
    origin: str = ""
    """Name of the log, where the receipt holds."""
    principal: str | None = None
    """Whose rollout it is, as the verifier states it; None unless the run is backed."""
    met: bool = False
    """Whether the verifier was met from this machine, or runs on it, so that its local user is this machine's."""
    ended: bool = False
    """Whether the result states the end that the verifier knows, and is no error that its launcher alone reports."""
    withdrawn: bool = False
    """Whether the launcher calls an error what the verifier has scored."""

    @property
    def in_words(self) -> str:
        """Whether the run is backed and by which log, or why it is not."""
        return f"backed, by the log {self.origin}" if self.backed else f"not backed: {self.reason}"

    @property
    def backed(self) -> bool:
        """Whether a known key vouches for the result."""
        return self.state == "backed"


DAMAGED = "damaged, and in no figure: "
"""Beginning of the reason that is shown of a run that its own receipt contradicts."""
NO_RECEIPT = Backing("no receipt", "it has no receipt")
"""The backing of a run without a receipt."""


def backing_of(folder: Path, result: RolloutResult, keys: Sequence[PublicKey] = ()) -> Backing:
    """What the receipt of a run is worth; the submission is not read, which may be large.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: the result in the folder's ``result.json``.
        keys: keys that the reader has from elsewhere, beside those that this machine knows.
    """
    try:
        receipt = read_receipt(folder)
    except StoreError as error:
        # A link that leads nowhere is no missing receipt.
        return Backing("unreadable" if os.path.lexists(folder / RECEIPT) else "no receipt", str(error))
    except ReceiptError as error:
        return Backing("unreadable", f"its receipt cannot be read: {error}")
    key = None
    try:
        key = pinned_key(receipt, keys)
        checked = check_result(folder, result, receipt, key)
    except StoreError as error:
        return Backing("unreadable", f"its receipt cannot be checked: {error}")
    except ReceiptError as error:
        return Backing("contradicted", f"its receipt does not hold ({error.step}): {error}{_replaced(receipt, key)}")
    ended = result.state != "error"
    withdrawn = not ended and checked.verified.get("state") == "scored"
    if key is None:
        origin = checked.checkpoint.origin
        return Backing("unknown key", unknown_key(checked), origin, ended=ended, withdrawn=withdrawn)
    principal = checked.verified.get("principal")
    # Names of participants have no spaces, and what is put behind a name in reports begins with one.
    named = principal if isinstance(principal, str) and principal.split() == [principal] else None
    return Backing("backed", "", checked.checkpoint.origin, named, is_met(key), ended, withdrawn)


def unknown_key(checked: CheckedResult) -> str:
    """Why a receipt that holds backs nothing, with what to do."""
    return f"its receipt is by a key of {checked.checkpoint.origin} that this machine does not know; {REMEDY}"


def _replaced(receipt: Receipt, key: PublicKey | None) -> str:
    """What to do about a log that is known by another key, as the end of a sentence."""
    if key is None or receipt.key == str(key):
        return ""
    return f"; if the log's operator has replaced the key, {REMEDY.partition(', ')[2]}"


def read_sound_run(folder: Path) -> RolloutResult:
    """Read the result of a run folder, which may be a stranger's, unless its own receipt contradicts it.

    Raises:
        StoreError: the folder has no result, or a damaged one, or one that its receipt contradicts.
    """
    result = read_run(folder)
    require_sound(folder, result)
    return result


def as_believed(folder: Path, result: RolloutResult) -> RolloutResult:
    """The result of a run as it may be shown: without a score, and with the reason, if its own receipt contradicts it.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: the result in the folder's ``result.json``.
    """
    backing = backing_of(folder, result)
    if backing.state != "contradicted":
        return result
    return replace(
        result,
        state="error",
        reason=f"{DAMAGED}{backing.reason}",
        boundary=None,
        total=None,
        total_interval=None,
        relative_total=None,
        relative_interval=None,
        metrics={},
        standard_errors={},
    )


def receipt_in_words(folder: Path, result: RolloutResult) -> str:
    """What the receipt of a run is worth, as a phrase.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: the result in the folder's ``result.json``, or what :func:`as_believed` left of it.
    """
    # What is left of a contradicted result claims no score, and so contradicts nothing any more.
    if (result.reason or "").startswith(DAMAGED):
        return "contradicted by the run's folder"
    return backing_of(folder, result).in_words


def require_sound(folder: Path, result: RolloutResult) -> None:
    """Refuse a run that its own receipt contradicts.

    Args:
        folder: folder of the run, which may be a stranger's.
        result: the result in the folder's ``result.json``.

    Raises:
        StoreError: the receipt does not hold, or the folder states something else.
    """
    backing = backing_of(folder, result)
    if backing.state == "contradicted":
        raise StoreError(f"{folder}: {backing.reason}")
