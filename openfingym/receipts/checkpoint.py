"""Checkpoints: the size and the root of a log at one time, signed.

::

    ORIGIN
    SIZE
    BASE64 ROOT

    — ORIGIN BASE64 SIGNATURE

A checkpoint is the text above the empty line; with its signatures it is a note in C2SP's format tlog-checkpoint.
Signatures by other keys, such as those of witnesses, are allowed and passed over.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass

from openfingym.errors import ReceiptError
from openfingym.receipts.keys import ID_BYTES, SIGNATURE_BYTES, PublicKey, SigningKey, decoded_base64
from openfingym.receipts.merkle import HASH_BYTES, MOST_LEAVES

MARK = "— "
"""Beginning of a line with a signature."""
MOST_SIGNATURES = 100
"""Most signatures of a note that is read."""
MOST_CHARACTERS = 64 * 1024
"""Length of the longest note that is read."""
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_LINE = re.compile(rf"{MARK}(?P<name>[^\s+]+) (?P<signature>[A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class Checkpoint:
    """The size and the root of a log."""

    origin: str
    """Name of the log."""
    size: int
    """Number of leaves, which are the log's entries."""
    root: bytes
    """Root of the Merkle tree, 32 bytes."""

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Read a checkpoint from its :attr:`text`.

        Raises:
            ReceiptError: the text is not one of a checkpoint.
        """
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise ReceiptError(
                "a checkpoint is an origin, a size and a root, each on a line of its own", step="checkpoint"
            )
        origin, size, root = lines[:3]
        decoded = decoded_base64(root)
        if not origin or any(ord(letter) < 0x20 or letter == "\x7f" for letter in origin):
            raise ReceiptError("a checkpoint begins with the origin of its log", step="checkpoint")
        if not _SIZE.fullmatch(size) or int(size) > MOST_LEAVES:
            raise ReceiptError(
                f"the size of a checkpoint is a whole number below 2^63, found {size[:40]!r}", step="checkpoint"
            )
        if decoded is None or len(decoded) != HASH_BYTES:
            raise ReceiptError("the root of a checkpoint is 32 bytes in base64", step="checkpoint")
        return cls(origin, int(size), decoded)

    def signed(self, key: SigningKey) -> str:
        """The note: this checkpoint with its signature by ``key``."""
        signature = base64.b64encode(key.public.id + key.sign(self.text.encode())).decode()
        return f"{self.text}\n{MARK}{key.public.name} {signature}\n"

    @classmethod
    def opened(cls, note: str, key: PublicKey) -> Checkpoint:
        """The checkpoint of a signed note, once the signature of its log was checked.

        Args:
            note: a note as :meth:`signed` makes one, perhaps with signatures of others.
            key: the public key of the log.

        Raises:
            ReceiptError: the note is malformed, of another log, or not signed by that key.
        """
        text, signatures = _parted(note)
        checkpoint = cls.parse(text)
        # Otherwise the checkpoint of another log would pass if the same secret signed it.
        if checkpoint.origin != key.name:
            raise ReceiptError(
                f"the checkpoint is of the log {checkpoint.origin}, and the key is of {key.name}", step="signature"
            )
        own = [signature for name, key_id, signature in signatures if (name, key_id) == (key.name, key.id)]
        if len(own) != 1:
            raise ReceiptError(
                f"the checkpoint has {len(own)} signatures by the key {key.name}+{key.id.hex()}, expected one",
                step="signature",
            )
        if len(own[0]) != SIGNATURE_BYTES or not key.signed(own[0], text.encode()):
            raise ReceiptError(
                f"the checkpoint of {checkpoint.origin} at {checkpoint.size} entries is not signed by "
                f"{key.name}+{key.id.hex()}",
                step="signature",
            )
        return checkpoint


def unsigned(note: str) -> Checkpoint:
    """The checkpoint of a signed note; its signatures are not checked.

    Raises:
        ReceiptError: the note is malformed.
    """
    return Checkpoint.parse(_parted(note)[0])


def origin_of(note: str) -> str:
    """The first line of a note, which states its log; nothing is checked."""
    return note.partition("\n")[0]


def _parted(note: str) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """The text of a note, and its signatures: each with the key's name and id, and the signature itself.

    Raises:
        ReceiptError: the note is malformed.
    """
    # The last empty line is meant: a text may contain empty lines itself.
    text, gap, rest = note.rpartition("\n\n")
    lines = rest.split("\n")
    if len(note) > MOST_CHARACTERS or not gap or lines[-1] or not 1 <= len(lines) - 1 <= MOST_SIGNATURES:
        raise ReceiptError("a checkpoint ends with an empty line and its lines of signature", step="checkpoint")
    return f"{text}\n", list(_signatures(lines[:-1]))


def _signatures(lines: Iterable[str]) -> Iterable[tuple[str, bytes, bytes]]:
    for line in lines:
        match = _LINE.fullmatch(line)
        signature = None if match is None else decoded_base64(match["signature"])
        if match is None or signature is None or len(signature) <= ID_BYTES:
            raise ReceiptError(f"{line[:80]!r} is no line of signature", step="checkpoint")
        yield match["name"], signature[:ID_BYTES], signature[ID_BYTES:]
