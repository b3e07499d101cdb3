"""Checking a ledger from outside: its log, what the log says of the rest, and that it goes on from an earlier
checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.receipts.checkpoint import Checkpoint, unsigned
from openfingym.verifiers.log_tiles import read_note
from openfingym_verifier.log import ChainReport, verify_chain
from openfingym_verifier.receipts import KEY_FILE, read_signing_key

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.receipts.keys import PublicKey


def verify_ledger(path: Path, earlier_checkpoint: Path | None = None, key: PublicKey | None = None) -> ChainReport:
    """Check a ledger; see :func:`openfingym_verifier.log.verify_chain`.

    Args:
        path: ``ledger.db`` of a state directory, or the directory; opened read-only.
        earlier_checkpoint: a signed checkpoint that the log gave before, with which it must begin: its file, a
            receipt, or a run's folder.
        key: public key that must have signed it; None for that of the state directory. Without either, the file is
            taken at its reader's word.

    Raises:
        VerifierError: the ledger is not what was written.
        ReceiptError: the checkpoint is not signed by the key, or the log does not begin with it.
        StoreError: the ledger cannot be read.
        UsageError: the file of the checkpoint cannot be read.
    """
    if earlier_checkpoint is None:
        return verify_chain(path)
    note = read_note(earlier_checkpoint)
    own = (path if path.is_dir() else path.parent) / KEY_FILE
    if key is None and own.exists():
        key = read_signing_key(own).public
    return verify_chain(path, earlier=unsigned(note) if key is None else Checkpoint.opened(note, key))
