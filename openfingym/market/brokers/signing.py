"""Signing requests as Binance demands it: by HMAC-SHA256 with the account's secret."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import quote


def encoded(fields: Mapping[str, str]) -> str:
    """Fields of a query in their order, percent-encoded. The text that is signed must be sent to the byte."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())


def signature(secret: str, payload: str) -> str:
    """The signature of a payload, in hexadecimal."""
    return hmac.new(secret.encode(), payload.encode(), hashlib.sha256).hexdigest()


def signed_query(secret: str, fields: Mapping[str, str]) -> str:
    """A query of the REST interface with its signature."""
    payload = encoded(fields)
    return f"{payload}&signature={signature(secret, payload)}"


def signed_fields(secret: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Parameters of the WebSocket interface with their signature: there they are sorted, and not percent-encoded."""
    payload = "&".join(f"{name}={value}" for name, value in sorted(fields.items()))
    return {**fields, "signature": signature(secret, payload)}
