"""Ed25519 keys in the text form of C2SP's signed notes, and signatures by them.

::

    NAME+KEYID+BASE64(0x01 || public key)       a public key ("vkey")
    PRIVATE+KEY+NAME+KEYID+BASE64(0x01 || seed) the private key to it
    — NAME BASE64(key id || signature)          a line with a signature

The id of a key is the first four bytes of SHA-256 over its name, a newline, 0x01 and the public key.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = b"\x01"
"""Byte that stands for the type of signature."""
KEY_BYTES = 32
SIGNATURE_BYTES = 64
ID_BYTES = 4
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True)
class PublicKey:
    """The key of a log with which its checkpoints are checked."""

    name: str
    """Name of the log, which its checkpoints state as their origin."""
    key: bytes
    """The public key itself, 32 bytes."""

    @staticmethod
    @functools.lru_cache(maxsize=256)
    def parse(text: str) -> PublicKey:
        """Read a key from its text form. The receipts of a run are by one key, which is read once.

        Raises:
            UsageError: the text is not the text form of a public key.
        """
        # Split at the first two plus signs only, because base64 may contain further ones.
        name, _, rest = text.strip().partition("+")
        stated, _, encoded = rest.partition("+")
        decoded = decoded_base64(encoded)
        if not _NAME.fullmatch(name) or decoded is None or decoded[:1] != ED25519 or len(decoded) != 1 + KEY_BYTES:
            raise UsageError(
                f"{text.strip()[:120]!r} is no public key of a log; expected NAME+KEYID+BASE64 of an Ed25519 key, as "
                "`openfingym receipt show` prints it"
            )
        key = PublicKey(name, decoded[1:])
        if stated != key.id.hex():
            raise UsageError(
                f"the key of {name} has the id {key.id.hex()}, and {stated[:20]!r} is stated: it was changed"
            )
        return key

    @functools.cached_property
    def id(self) -> bytes:
        """The four bytes by which a signature says which key made it."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.key).digest()[:ID_BYTES]

    @functools.cached_property
    def _loaded(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.key)

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether ``signature`` is a signature of ``message`` by this key."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._loaded.verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(ED25519 + self.key).decode()}"


class SigningKey:
    """The key with which a log signs its checkpoints."""

    def __init__(self, name: str, seed: bytes) -> None:
        """Make the key that follows from a secret.

        Args:
            name: name of the log, of at most 200 characters: no space, no plus sign, nothing that cannot be printed.
            seed: the secret, 32 bytes, from which the private and the public key follow.

        Raises:
            UsageError: the name cannot be one of a log.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:250]!r} cannot name a log; expected at most 200 letters, no space, no plus sign")
        self._seed = seed
        self._key: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(name, self._key.public_key().public_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """Read a key from the text that :meth:`secret_text` makes.

        Raises:
            UsageError: the text is another one. The message contains nothing of it, since it may hold the secret.
        """
        parts = text.strip().split("+", 4)
        seed = decoded_base64(parts[4]) if len(parts) == 5 and parts[:2] == ["PRIVATE", "KEY"] else None
        if seed is None or seed[:1] != ED25519 or len(seed) != 1 + KEY_BYTES:
            raise UsageError("no private key of a log; expected PRIVATE+KEY+NAME+KEYID+BASE64 of an Ed25519 key")
        key = cls(parts[2], seed[1:])
        if key.public.id.hex() != parts[3]:
            raise UsageError("no private key of a log: its id is another key's, so it was changed")
        return key

    def secret_text(self) -> str:
        """The text form of the private key, from which :meth:`parse` reads it."""
        key_id, encoded = self.public.id.hex(), base64.b64encode(ED25519 + self._seed).decode()
        return f"PRIVATE+KEY+{self.public.name}+{key_id}+{encoded}"

    def sign(self, message: bytes) -> bytes:
        """The signature of ``message``, 64 bytes, which is always the same for the same message."""
        return self._key.sign(message)


def decoded_base64(text: str) -> bytes | None:
    """The bytes of a text in standard base64, if it has the one canonical form; otherwise None."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # The last character may have bits that mean nothing, so that several texts would stand for one value.
    return decoded if base64.b64encode(decoded).decode() == text else None
