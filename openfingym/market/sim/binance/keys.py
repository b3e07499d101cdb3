"""API keys of a local Binance venue, and the signatures and times of the requests that are made with them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from urllib.parse import unquote

from openfingym.errors import VenueError
from openfingym.market.sim.binance.wire import MICROSECOND, MILLISECOND, ApiError
from openfingym.market.ticks import SECOND

NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
"""A number as the venue takes it."""


@dataclass(frozen=True)
class BinanceKey:
    """An API key of an account, with what checks its signatures: a secret or a public key.

    Raises:
        VenueError: it has neither of the two, or both.
    """

    name: str
    """The API key itself."""
    account: str
    """Name of the account."""
    secret: str | None = field(default=None, repr=False)
    """The shared secret of HMAC-SHA256; None for a key of Ed25519."""
    public: bytes | None = field(default=None, repr=False)
    """The 32 bytes of an Ed25519 public key; None for a key of HMAC."""

    def __post_init__(self) -> None:
        if (self.secret is None) == (self.public is None):
            raise VenueError(f"the key of {self.account!r} needs either a secret (HMAC) or a public key (Ed25519)")

    def check(self, payload: str, signature: str) -> None:
        """Check a signature.

        Raises:
            ApiError: -1022, it is not the signature of the payload.
        """
        if self.secret is not None:
            right = hmac.new(self.secret.encode(), payload.encode(), hashlib.sha256).hexdigest()
            valid = hmac.compare_digest(right, signature.lower().encode("ascii", "replace").decode())
        else:
            valid = _ed25519(self.public or b"", payload.encode(), signature)
        if not valid:
            raise ApiError(-1022, "Signature for this request is not valid.")


def _ed25519(public: bytes, payload: bytes, signature: str) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise VenueError("Ed25519 keys need the package `cryptography`: install it, or use a secret") from error
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(base64.b64decode(signature, validate=True), payload)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def rest_payload(query: str, body: str) -> tuple[str, str]:
    """The text that a REST request signs, percent-encoded as it was sent, and its signature.

    Args:
        query: the query of its URL.
        body: its body, which is a form.
    """
    signature = ""
    signed = []
    # Query and body one after the other, with nothing between them, are what Binance signs.
    for text in (query, body):
        pairs = text.split("&") if text else []
        signature = next((pair[10:] for pair in pairs if pair.startswith("signature=")), signature)
        signed.append("&".join(pair for pair in pairs if not pair.startswith("signature=")))
    return "".join(signed), unquote(signature)


def socket_payload(params: Mapping[str, str]) -> str:
    """The text that a request over the WebSocket API signs: its parameters sorted by name, not percent-encoded."""
    return "&".join(f"{name}={params[name]}" for name in sorted(params) if name != "signature")


def check_time(params: Mapping[str, str], now: int) -> None:
    """Check when a signed request was made, against the venue's clock.

    Args:
        params: the parameters of the request.
        now: the venue's clock, in nanoseconds since the epoch.

    Raises:
        ApiError: the time is missing (-1102), malformed (-1100), ahead of the venue's or too old (-1021), or may be too
            old (-1131).
    """
    if "timestamp" not in params:
        raise ApiError(-1102, "Mandatory parameter 'timestamp' was not sent, was empty/null, or malformed.")
    window_text = params.get("recvWindow", "5000")
    if not NUMBER.fullmatch(params["timestamp"]) or "." in params["timestamp"] or not NUMBER.fullmatch(window_text):
        raise ApiError(-1100, "Illegal characters found in parameter 'timestamp' or 'recvWindow'.")
    stamp, window = int(params["timestamp"]), Decimal(window_text)
    if window > 60_000:
        raise ApiError(-1131, "recvWindow must be less than 60000")
    sent = stamp * (MICROSECOND if stamp > 10**14 else MILLISECOND)
    if sent >= now + SECOND:
        raise ApiError(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")
    if now - sent > int(window * MILLISECOND):
        raise ApiError(-1021, "Timestamp for this request is outside of the recvWindow.")
