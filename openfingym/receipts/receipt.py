r"""Receipts: entries of a log with what proves that they are in it.

::

    {
      "format": 1,
      "key": "NAME+KEYID+BASE64",            the log's public key
      "checkpoint": "NAME\nSIZE\n...",         a signed checkpoint
      "leaves": [
        {
          "index": 12,                        the entry's place in the log, from 0
          "entry": "{...}",                   its bytes, canonical JSON
          "proof": ["BASE64", ...],           from the leaf to the root
          "opened": {"field": ..., "salt": ..., "content": ...}    of what the entry holds a salted digest of
        }
      ]
    }

A receipt proves that the log has these entries at these places, to whoever trusts the key. ``opened`` is there where
the entry commits to something that its owner may see: the SHA-256 of salt and content is the entry's ``field``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openfingym.digests import canonical_json, sha256_of_text
from openfingym.errors import ReceiptError, UsageError
from openfingym.files.strange import parse_json
from openfingym.receipts.checkpoint import Checkpoint, origin_of
from openfingym.receipts.keys import PublicKey, decoded_base64
from openfingym.receipts.merkle import HASH_BYTES, is_included, leaf_hash

FORMAT = 1
MOST_BYTES = 64 * 1024
"""Length of a receipt that is read; those that are made have at most 4 KiB."""
MOST_LEAVES_TOLD = 16
LONGEST_PROOF = 63
_TOP = frozenset({"format", "key", "checkpoint", "leaves"})
_LEAF = frozenset({"index", "entry", "proof"})
_OPENED = frozenset({"field", "salt", "content"})


@dataclass(frozen=True)
class Opened:
    """What an entry commits to by a salted digest."""

    field: str
    """Name of the entry's field that holds the digest."""
    salt: str
    content: str
    """Canonical JSON."""

    @property
    def digest(self) -> str:
        """The digest that the entry must hold."""
        return sha256_of_text(self.salt + self.content)


@dataclass(frozen=True)
class Leaf:
    """An entry of a log, and its way to the root."""

    index: int
    """Place in the log, from 0."""
    entry: str
    """The bytes that were hashed, as text: canonical JSON."""
    proof: tuple[bytes, ...]
    opened: Opened | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The entry.

        Raises:
            ReceiptError: it is no object in canonical JSON.
        """
        try:
            found = parse_json(self.entry)
            if isinstance(found, dict) and canonical_json(found) == self.entry.encode():
                return found
        except ValueError:
            pass
        raise ReceiptError(f"entry {self.index} is no object in canonical JSON", step="entry", index=self.index)

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        plain: dict[str, object] = {
            "index": self.index,
            "entry": self.entry,
            "proof": [base64.b64encode(one).decode() for one in self.proof],
        }
        if self.opened is not None:
            plain["opened"] = {name: getattr(self.opened, name) for name in sorted(_OPENED)}
        return plain


@dataclass(frozen=True)
class Receipt:
    """Entries of a log, proven by one checkpoint."""

    key: str
    """The log's public key, as text."""
    checkpoint: str
    """A signed checkpoint."""
    leaves: tuple[Leaf, ...]

    @property
    def origin(self) -> str:
        """Name of the log; nothing is checked."""
        return origin_of(self.checkpoint)

    def to_json(self) -> bytes:
        """The bytes of ``receipt.json``: one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "format": FORMAT,
            "key": self.key,
            "checkpoint": self.checkpoint,
            "leaves": [leaf.to_dict() for leaf in self.leaves],
        }

    @classmethod
    def from_json(cls, content: bytes) -> Receipt:
        """Read a receipt that may be anybody's; nothing is checked but its form.

        Raises:
            ReceiptError: it is none.
        """
        if len(content) > MOST_BYTES:
            raise _malformed(f"it has {len(content):,} bytes, expected at most {MOST_BYTES:,}")
        try:
            return cls.from_dict(parse_json(content))
        except ValueError as error:
            raise _malformed(str(error)) from None

    @classmethod
    def from_dict(cls, found: object) -> Receipt:
        """Read the plain values of :meth:`to_json`; see :meth:`from_json`."""
        top = _fields(found, _TOP, "a receipt")
        if type(top["format"]) is not int or top["format"] != FORMAT:
            raise _malformed(f"it is of format {top['format']!r}, this version reads {FORMAT}; upgrade openfingym")
        leaves = top["leaves"]
        if not isinstance(leaves, list) or not 1 <= len(leaves) <= MOST_LEAVES_TOLD:
            raise _malformed(f"its leaves are a list of 1 to {MOST_LEAVES_TOLD} entries")
        return cls(_text(top, "key"), _text(top, "checkpoint"), tuple(_leaf(leaf) for leaf in leaves))

    def checked(self, key: PublicKey | None = None) -> Checkpoint:
        """Check the signature, and that every entry is in the log; returns the checkpoint.

        Args:
            key: public key of the log, which the reader has from elsewhere; None for the one in the receipt, which
                proves only that nothing was changed since whoever holds that key made it.

        Raises:
            ReceiptError: with the step that fails, and the entry that it is about.
        """
        try:
            stated = PublicKey.parse(self.key)
        except UsageError as error:
            raise ReceiptError(str(error), step="signature") from None
        if key is not None and stated != key:
            raise ReceiptError(
                f"the receipt is by the key {stated.name}+{stated.id.hex()}, expected {key.name}+{key.id.hex()}",
                step="signature",
            )
        checkpoint = Checkpoint.opened(self.checkpoint, stated)
        for leaf in self.leaves:
            if not is_included(
                leaf_hash(leaf.entry.encode()), leaf.index, checkpoint.size, leaf.proof, checkpoint.root
            ):
                raise ReceiptError(
                    f"entry {leaf.index} is not in the log of {checkpoint.size} entries that the checkpoint signs: the "
                    "entry, its place or its proof was changed",
                    step="inclusion",
                    index=leaf.index,
                )
            if leaf.opened is not None and leaf.document.get(leaf.opened.field) != leaf.opened.digest:
                raise ReceiptError(
                    f"entry {leaf.index} does not commit to what the receipt opens: another digest is its "
                    f"{leaf.opened.field[:40]!r}",
                    step="entry",
                    index=leaf.index,
                )
        return checkpoint

    def proof_text(self, leaf: Leaf) -> str:
        """One entry's proof in the text form of C2SP's tlog-proof."""
        hashes = "".join(f"{base64.b64encode(one).decode()}\n" for one in leaf.proof)
        return f"c2sp.org/tlog-proof@v1\nindex {leaf.index}\n{hashes}\n{self.checkpoint}"


def _leaf(found: object) -> Leaf:
    fields = _fields(found, _LEAF, "a leaf", optional={"opened"})
    index, proof = fields["index"], fields["proof"]
    if type(index) is not int or index < 0:
        raise _malformed(f"an index counts entries from 0, found {str(index)[:40]!r}")
    if not isinstance(proof, list) or len(proof) > LONGEST_PROOF:
        raise _malformed(f"a proof is a list of at most {LONGEST_PROOF} hashes")
    hashes = [decoded_base64(one) if isinstance(one, str) else None for one in proof]
    if not all(one is not None and len(one) == HASH_BYTES for one in hashes):
        raise _malformed("a hash of a proof is 32 bytes in base64")
    opened = None
    if "opened" in fields:
        texts = _fields(fields["opened"], _OPENED, "what a leaf opens")
        opened = Opened(*(_text(texts, name) for name in ("field", "salt", "content")))
    return Leaf(index, _text(fields, "entry"), tuple(one for one in hashes if one is not None), opened)


def _fields(
    found: object, wanted: frozenset[str], what: str, *, optional: Sequence[str] | set[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(found, dict) or not wanted <= found.keys() <= wanted | set(optional):
        raise _malformed(f"{what} is an object with {', '.join(sorted(wanted))}")
    return found


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    try:
        # Half a surrogate pair, which JSON can escape, is no text and cannot be hashed.
        if isinstance(value, str) and value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise _malformed(f"its {name} must be a text that is not empty")


def _malformed(reason: str) -> ReceiptError:
    return ReceiptError(f"not a receipt: {reason}", step="format")
