"""Authentication: the admin token, the keys of participants, and the signed, expiring tokens of rollouts."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import hmac
import os
import secrets
import sys
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, Signer

from openfingym.errors import UsageError, VerifierError
from openfingym.listener.guard import require_token
from openfingym_verifier.principals import KEY_PREFIX
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym_verifier.participants.membership import Membership
    from openfingym_verifier.principals import Caller

_KEY_PREFIX = KEY_PREFIX.encode()
KEY_BYTES = 32


def load_key(path: Path, removal: str = "void all open rollouts' tokens") -> bytes:
    """A secret key of a state directory, made on first use and readable by its owner only.

    Args:
        path: path of the key's file.
        removal: what removing the file would do, for the message; begins with a verb.

    Raises:
        VerifierError: the file is there but does not hold a key.
    """
    try:
        # O_EXCL: of two processes that start at once, one makes the key, and no link that lies in the place is
        # followed.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise VerifierError(f"{path}: {len(key)} bytes, expected {KEY_BYTES}; remove it to {removal}") from None
        return key
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key)
        stream.flush()
        # Before anything is made with it: after a power cut, another key would void what this one had signed.
        os.fsync(stream.fileno())
    return key


def token_from_environment(name: str) -> str:
    """The secret in an environment variable, which is then wiped, since any process of this user could read it there.

    Taking it out of ``os.environ`` alone leaves it in ``/proc/PID/environ``.
    """
    # Removing a variable from os.environ leaves its bytes where the process began, which is what /proc/PID/environ
    # shows: hence the write over the memory that getenv points to.
    value = os.environ.get(name, "")
    if value and sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_void_p
        where = libc.getenv(name.encode())
        if where:
            ctypes.memset(where, 0, len(os.fsencode(value)))
    os.environ.pop(name, None)
    return value.strip()


class TokenIssuer:
    """Issues rollout tokens and recognises whoever sends one, the admin token or a participant's key."""

    def __init__(self, key: bytes, admin_token: str, monitor_token: str | None = None) -> None:
        """Recognise the operator by ``admin_token``, and readers of the metrics by ``monitor_token``.

        Args:
            key: the secret key that signs rollout tokens, of :func:`load_key`.
            admin_token: bearer token of the operator, at least 16 characters.
            monitor_token: bearer token of those who may read the metrics; None for nobody but the operator.

        Raises:
            UsageError: a token is too short, or begins as the keys of participants do.
        """
        # A token's first characters decide whether it is looked up among participants, so the two must not overlap.
        if admin_token.startswith(KEY_PREFIX):
            raise UsageError(
                f"the admin token begins with {KEY_PREFIX!r}, as the keys of participants do; choose another"
            )
        require_token(admin_token, "the admin token")
        if monitor_token is not None:
            require_token(monitor_token, "the monitor's token")
        self._admin = admin_token.encode()
        self._monitor = None if monitor_token is None else monitor_token.encode()
        # An agent sends one token with thousands of steps. The bound keeps wrong tokens, which are cached too, from
        # filling memory.
        self._known = functools.lru_cache(maxsize=4096)(self._unsign)
        self._signer = Signer(
            # The salt goes into every token's signature: with another one, tokens of open rollouts would be void.
            key,
            salt="openfingym.rollouts.launcher",
            key_derivation="hmac",
            digest_method=hashlib.sha256,
        )

    def issue(self, rollout_id: str, expires_ns: int) -> str:
        """A token for one rollout, valid until ``expires_ns`` (Unix nanoseconds)."""
        return self._signer.sign(f"{rollout_id}.{expires_ns}").decode()

    def admit(self, authorization: bytes | None, members: Membership) -> None:
        """Check, from the headers alone, that a request has some valid token; its route then checks which.

        Args:
            authorization: value of the Authorization header; None where there is none.
            members: the participants who have a key.

        Raises:
            Problem: ``unauthorized``: nobody has such a token.
        """
        token = _bearer(authorization)
        if self._known(token) is not None or (token.startswith(_KEY_PREFIX) and members.has_key(token)):
            return
        # However many wrong ones came from the same address: to count them would lock out who has the right one.
        if not (hmac.compare_digest(token, self._admin) or self._is_monitor(token)):
            raise Problem(
                "unauthorized",
                "This verifier knows no such token; send one that it issued, its admin token or a participant's key.",
                close=True,
            )

    def require_monitor(self, authorization: bytes | None) -> None:
        """Check that the Authorization header carries the monitor's token, or the admin token.

        Raises:
            Problem: ``unauthorized`` without a valid token; ``forbidden`` with a token for something else.
        """
        if not self._is_monitor(_bearer(authorization)):
            self.require_admin(authorization)

    def _is_monitor(self, token: bytes) -> bool:
        return self._monitor is not None and hmac.compare_digest(token, self._monitor)

    def require_admin(self, authorization: bytes | None) -> None:
        """Check that the Authorization header carries the admin token.

        Raises:
            Problem: ``forbidden`` for a rollout's token, ``unauthorized`` otherwise.
        """
        token = _bearer(authorization)
        if hmac.compare_digest(token, self._admin):
            return
        # The sender has shown some valid token by now (see :meth:`admit`): to say which one it is helps nobody who
        # guesses.
        if self._unsign(token) is not None:
            raise Problem("forbidden", "This is a rollout's token; the address needs the admin token.")
        if token.startswith(_KEY_PREFIX):
            raise Problem("forbidden", "This is a participant's key; the address needs the admin token.")
        if self._is_monitor(token):
            raise Problem("forbidden", "This is the monitor's token; the address needs the admin token.")
        raise Problem("unauthorized", "The admin token is not right; send the one that this verifier was started with.")

    def require_caller(self, authorization: bytes | None, members: Membership) -> Caller:
        """The operator or the participant whose token or key the Authorization header carries.

        Args:
            authorization: value of the Authorization header; None where there is none.
            members: the participants who have a key.

        Raises:
            Problem: ``forbidden`` for a rollout's token or the monitor's, ``unauthorized`` for any other.
        """
        token = _bearer(authorization)
        if hmac.compare_digest(token, self._admin):
            return members.operator
        caller = members.caller_with(token)
        if caller is not None:
            return caller
        if self._unsign(token) is not None:
            raise Problem(
                "forbidden", "This is a rollout's token; the address needs the admin token or a participant's key."
            )
        if self._is_monitor(token):
            raise Problem(
                "forbidden", "This is the monitor's token; the address needs the admin token or a participant's key."
            )
        raise Problem("unauthorized", "This is neither the admin token nor the key of a participant.")

    def require_rollout(self, authorization: bytes | None, now_ns: int) -> str:
        """Id of the rollout whose unexpired token the Authorization header carries.

        Args:
            authorization: value of the Authorization header; None where there is none.
            now_ns: present Unix time in nanoseconds.

        Raises:
            Problem: ``forbidden`` for the admin token, ``unauthorized`` for any other, or an expired one.
        """
        token = _bearer(authorization)
        # A token's signature is checked once, its expiry each time.
        known = self._known(token)
        if known is None:
            if hmac.compare_digest(token, self._admin):
                raise Problem("forbidden", "This is the admin token; the address needs a rollout's token.", close=True)
            raise Problem("unauthorized", "The token is not one that this verifier issued.", close=True)
        rollout_id, expires_ns = known
        if now_ns >= expires_ns:
            raise Problem("unauthorized", "The token has expired; create a new rollout.", close=True)
        return rollout_id

    def _unsign(self, token: bytes) -> tuple[str, int] | None:
        """The rollout and the expiry (Unix nanoseconds) that a token is signed for; None for any other bytes."""
        try:
            rollout_id, _, expires_ns = self._signer.unsign(token).decode().partition(".")
        except (BadSignature, UnicodeDecodeError):
            return None
        return rollout_id, int(expires_ns)


def _bearer(authorization: bytes | None) -> bytes:
    """The token of an Authorization header.

    Raises:
        Problem: ``unauthorized``: there is none.
    """
    scheme, _, token = (authorization or b"").partition(b" ")
    if scheme.lower() != b"bearer" or not token:
        raise Problem("unauthorized", "Send the token as `Authorization: Bearer <token>`.", close=True)
    return token.strip()
