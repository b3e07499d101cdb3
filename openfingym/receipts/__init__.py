"""Receipts of a transparency log: entries of a verifier's log, proven to whoever has the log's public key.

The log of a verifier is a Merkle tree (RFC 6962) whose checkpoints are signed. The formats are those of C2SP
(https://c2sp.org: signed-note, tlog-checkpoint, tlog-tiles, tlog-proof), so that programs of others can read them too.
Nothing here needs a verifier, a network or the labels.
"""

from openfingym.receipts.checkpoint import Checkpoint
from openfingym.receipts.keys import PublicKey, SigningKey
from openfingym.receipts.receipt import Leaf, Receipt

__all__ = ["Checkpoint", "Leaf", "PublicKey", "Receipt", "SigningKey"]
