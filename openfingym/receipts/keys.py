"""Ed25519 keys in the text form of C2SP's signed notes, and signatures by them.

::

    NAME+KEYID+BASE64(0x01 || public key)       a public key ("vkey")
    PRIVATE+KEY+NAME+KEYID+BASE64(0x01 || seed) the private key to it
    — NAME BASE64(key id || signature)          a line of signature

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
"""Type of signature."""
KEY_BYTES = 32
SIGNATURE_BYTES = 64
ID_BYTES = 4
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True)
class PublicKey:
    """The key of a log with which its checkpoints are checked."""

    name: str
    """Origin of the log."""
    key: bytes
    """32 bytes."""

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Read the text form.

        Raises:
            UsageError: it is none.
        """
        # A key in base64 may itself hold a plus sign.
        name, _, rest = text.strip().partition("+")
        stated, _, encoded = rest.partition("+")
        decoded = decoded_base64(encoded)
        if not _NAME.fullmatch(name) or decoded is None or decoded[:1] != ED25519 or len(decoded) != 1 + KEY_BYTES:
            raise UsageError(
                f"{text.strip()[:120]!r} is no public key of a log; expected NAME+KEYID+BASE64 of an Ed25519 key, as "
                "`openfingym receipt show` prints it"
            )
        key = cls(name, decoded[1:])
        if stated != key.id.hex():
            raise UsageError(
                f"the key of {name} has the id {key.id.hex()}, and {stated[:20]!r} is stated: it was changed"
            )
        return key

    @functools.cached_property
    def id(self) -> bytes:
        """The four bytes by which a signature names its key."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.key).digest()[:ID_BYTES]

    @functools.cached_property
    def _loaded(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.key)

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether a signature is this key's over ``message``."""
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
        """Take the key that follows from a secret of 32 bytes.

        Args:
            name: origin of the log, of at most 200 characters: no space, no plus sign, nothing that cannot be printed.
            seed: the secret.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:250]!r} cannot name a log; expected at most 200 letters, no space, no plus sign")
        self._seed = seed
        self._key: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(name, self._key.public_key().public_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """Read what :meth:`secret_text` gave.

        Raises:
            UsageError: it is something else; the message holds nothing of it.
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
        """The private key as text."""
        key_id, encoded = self.public.id.hex(), base64.b64encode(ED25519 + self._seed).decode()
        return f"PRIVATE+KEY+{self.public.name}+{key_id}+{encoded}"

    def sign(self, message: bytes) -> bytes:
        """Signature over ``message``, 64 bytes; the same for the same message."""
        return self._key.sign(message)


def decoded_base64(text: str) -> bytes | None:
    """Bytes of standard base64 in its one canonical form; None of anything else."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # The last character may carry bits that mean nothing: two texts for one value.
    return found if base64.b64encode(found).decode() == text else None
