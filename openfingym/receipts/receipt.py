r"""Receipts: entries of a log, together with the proof that they are in it.

::

    {
      "format": 1,
      "key": "NAME+KEYID+BASE64",             the log's public key
      "checkpoint": "NAME\nSIZE\n...",        a signed checkpoint
      "leaves": [
        {
          "index": 12,                        the entry's place in the log, from 0
          "entry": "{...}",                   the entry itself, in canonical JSON
          "proof": ["BASE64", ...],           hashes that lead from the leaf to the root
          "opened": {"field": ..., "salt": ..., "content": ...}    what the entry has a salted digest of
        }
      ]
    }

A receipt proves to whoever trusts the key that the log has these entries at these places. ``opened`` is there if the
entry commits to something that its owner may see: the SHA-256 of salt and content is the entry's ``field``.
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
"""Length of the longest receipt that is read; those that are made have at most 4 KiB."""
MOST_LEAVES_TOLD = 16
"""Most entries of a receipt that is read."""
LONGEST_PROOF = 63
"""Most hashes of a proof: one for each level of the largest tree."""
_TOP = frozenset({"format", "key", "checkpoint", "leaves"})
_LEAF = frozenset({"index", "entry", "proof"})
_OPENED = frozenset({"field", "salt", "content"})


@dataclass(frozen=True)
class Opened:
    """Content that an entry commits to by a salted digest."""

    field: str
    """Name of the entry's field that has the digest."""
    salt: str
    """Random text, without which anybody could test on the digest whether a guess at the content is right."""
    content: str
    """The content itself, as canonical JSON."""

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
    """Text of the entry, whose bytes were hashed: canonical JSON."""
    proof: tuple[bytes, ...]
    """Hashes that lead from the entry to the root, 32 bytes each."""
    opened: Opened | None = None
    """Content that the entry commits to; None if the receipt opens none."""

    @property
    def document(self) -> dict[str, Any]:
        """The entry as a JSON object.

        Raises:
            ReceiptError: the entry is not a JSON object in canonical form.
        """
        try:
            document = parse_json(self.entry)
            # In another form one text could mean different things to two readers, as by a name that comes twice.
            if isinstance(document, dict) and canonical_json(document) == self.entry.encode():
                return document
        except ValueError:
            pass
        raise ReceiptError(f"entry {self.index} is no object in canonical JSON", step="entry", index=self.index)

    def to_dict(self) -> dict[str, object]:
        """The leaf as plain values, in the form that a receipt has."""
        plain: dict[str, object] = {
            "index": self.index,
            "entry": self.entry,
            "proof": [base64.b64encode(sibling).decode() for sibling in self.proof],
        }
        if self.opened is not None:
            plain["opened"] = {name: getattr(self.opened, name) for name in sorted(_OPENED)}
        return plain


@dataclass(frozen=True)
class Receipt:
    """Entries of a log, proven by one checkpoint."""

    key: str
    """The log's public key, in its text form."""
    checkpoint: str
    """A signed checkpoint, in its text form."""
    leaves: tuple[Leaf, ...]
    """The entries, each with its proof."""

    @property
    def origin(self) -> str:
        """Name of the log, as the checkpoint states it; nothing is checked."""
        return origin_of(self.checkpoint)

    def to_json(self) -> bytes:
        """The content of ``receipt.json``, which is one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def to_dict(self) -> dict[str, object]:
        """The receipt as plain values, in the form that ``receipt.json`` has."""
        return {
            "format": FORMAT,
            "key": self.key,
            "checkpoint": self.checkpoint,
            "leaves": [leaf.to_dict() for leaf in self.leaves],
        }

    @classmethod
    def from_json(cls, content: bytes) -> Receipt:
        """Read a receipt, which anybody may have made; only its form is checked.

        Raises:
            ReceiptError: the content does not have the form of a receipt.
        """
        if len(content) > MOST_BYTES:
            raise _malformed(f"it has {len(content):,} bytes, expected at most {MOST_BYTES:,}")
        try:
            return cls.from_dict(parse_json(content))
        except ValueError as error:
            raise _malformed(str(error)) from None

    @classmethod
    def from_dict(cls, plain: object) -> Receipt:
        """Read a receipt from plain values, as :meth:`to_dict` makes them; only its form is checked.

        Raises:
            ReceiptError: the values do not have the form of a receipt.
        """
        top = _fields(plain, _TOP, "a receipt")
        # true equals 1 in Python, and is no number in JSON.
        if type(top["format"]) is not int or top["format"] != FORMAT:
            raise _malformed(f"it is of format {top['format']!r}, this version reads {FORMAT}; upgrade openfingym")
        leaves = top["leaves"]
        if not isinstance(leaves, list) or not 1 <= len(leaves) <= MOST_LEAVES_TOLD:
            raise _malformed(f"its leaves are a list of 1 to {MOST_LEAVES_TOLD} entries")
        return cls(_text(top, "key"), _text(top, "checkpoint"), tuple(_leaf(leaf) for leaf in leaves))

    def checked(self, key: PublicKey | None = None) -> Checkpoint:
        """Check the signature, and that every entry is in the log, and return the checkpoint.

        Args:
            key: public key of the log, which the reader has from elsewhere. None takes the one in the receipt, which
                proves only that nothing was changed since the holder of that key made the receipt.

        Raises:
            ReceiptError: the receipt does not prove what it should; the error has the step that failed, and the entry.
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
        """The proof of one entry in the text form of C2SP's tlog-proof."""
        hashes = "".join(f"{base64.b64encode(sibling).decode()}\n" for sibling in leaf.proof)
        return f"c2sp.org/tlog-proof@v1\nindex {leaf.index}\n{hashes}\n{self.checkpoint}"


def _leaf(plain: object) -> Leaf:
    fields = _fields(plain, _LEAF, "a leaf", optional={"opened"})
    index, proof = fields["index"], fields["proof"]
    if type(index) is not int or index < 0:
        raise _malformed(f"an index counts entries from 0, found {str(index)[:40]!r}")
    if not isinstance(proof, list) or len(proof) > LONGEST_PROOF:
        raise _malformed(f"a proof is a list of at most {LONGEST_PROOF} hashes")
    hashes = [decoded_base64(text) if isinstance(text, str) else None for text in proof]
    if not all(sibling is not None and len(sibling) == HASH_BYTES for sibling in hashes):
        raise _malformed("a hash of a proof is 32 bytes in base64")
    opened = None
    if "opened" in fields:
        texts = _fields(fields["opened"], _OPENED, "what a leaf opens")
        opened = Opened(*(_text(texts, name) for name in ("field", "salt", "content")))
    return Leaf(index, _text(fields, "entry"), tuple(sibling for sibling in hashes if sibling is not None), opened)


def _fields(
    plain: object, wanted: frozenset[str], what: str, *, optional: Sequence[str] | set[str] = ()
) -> Mapping[str, Any]:
    """The fields of an object that has all the ``wanted`` ones, perhaps the ``optional`` ones, and no others."""
    if not isinstance(plain, dict) or not wanted <= plain.keys() <= wanted | set(optional):
        raise _malformed(f"{what} is an object with {', '.join(sorted(wanted))}")
    return plain


def _text(fields: Mapping[str, Any], name: str) -> str:
    """The field ``name``, a text that is not empty."""
    value = fields[name]
    try:
        # JSON can hold half of a surrogate pair, which cannot be encoded and so not be hashed.
        if isinstance(value, str) and value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise _malformed(f"its {name} must be a text that is not empty")


def _malformed(reason: str) -> ReceiptError:
    return ReceiptError(f"not a receipt: {reason}", step="format")
