"""What a response means: whether a failure is transient or final, and whether the body is what was asked for.

HTTP 200 is not success. Services answer with a consent page, a proof-of-work page or a plain
sentence and call it 200, so the first bytes are looked at before anything is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from openfingym.errors import DataError

Kind = Literal["json", "csv", "html", "zip", "bz2", "mat"]
"""What a body is; ``mat`` is a MATLAB 5 file."""

TRANSIENT = frozenset({408, 418, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which another try may succeed. 418 is how Binance says that an address is banned for a while."""
MISSING = frozenset({404, 410})
"""HTTP statuses that say that there is no such file."""
SNIFFED_BYTES = 512
"""Bytes at the beginning of a body that are looked at."""
_MAGIC: dict[Kind, tuple[bytes, ...]] = {
    "json": (b"{", b"["),
    "zip": (b"PK\x03\x04",),
    "bz2": (b"BZh",),
    "mat": (b"MATLAB 5.0 MAT-file",),
    "html": (b"<",),
}
_RATE_LIMIT = re.compile(rb"too many requests|rate limit|hits limit", re.IGNORECASE)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class OfflineError(DataError):
    """A service cannot be reached at all: no network, no name resolution, nothing listening."""


class NotPublishedError(DataError):
    """The service answered that it has no such thing."""


class UnavailableError(DataError):
    """The service was reached, and answered with failures alone, such as status 503 or a connection that breaks."""


class TransientError(Exception):
    """An attempt failed in a way that a later one may not. Never leaves the transport."""

    def __init__(self, reason: str, *, wait_s: float | None = None, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s
        """Seconds that the service asked to wait; None if it did not say."""
        self.unreachable = unreachable
        """Whether the service was not reached at all."""


def content_range(headers: Mapping[str, str]) -> tuple[int, int | None] | None:
    """(first byte, size of the whole) of a 206 response, or None where the header is not readable."""
    match = _RANGE.fullmatch(headers.get("content-range", "").strip())
    if match is None:
        return None
    return int(match[1]), None if match[3] == "*" else int(match[3])


def check_body(kind: Kind, head: bytes, content_type: str, url: str) -> None:
    """Check the first bytes of a body against what was asked for.

    Raises:
        TransientError: the body says in words that a rate limit was reached.
        DataError: the body is empty, or something else than ``kind``.
    """
    # A byte-order mark and white space may stand before any of the beginnings.
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise DataError(f"{url}: the answer is empty; expected {kind}")
    if kind != "html" and _looks_like_html(start, content_type):
        title = re.search(rb"<title[^>]*>\s*([^<]{1,80})", start, re.IGNORECASE)
        said = f" titled {title[1].decode('utf-8', 'replace').strip()!r}" if title else ""
        raise DataError(
            f"{url}: answered with a web page{said} and status 200, expected {kind}; the service may be asking for "
            "consent or blocking automatic downloads: open the address in a browser to see"
        )
    # A plain sentence, that is; within an object or list of JSON the words may be data.
    if kind in {"json", "csv"} and _RATE_LIMIT.search(start[:200]) and start[:1] not in b"{[":
        raise TransientError(f"the answer says {start[:80].decode('utf-8', 'replace').strip()!r}")
    if kind in _MAGIC and not start.startswith(_MAGIC[kind]):
        raise DataError(
            f"{url}: not {kind}, the answer begins with {start[:40]!r} (content type {content_type or 'not stated'})"
        )
    if kind == "csv" and b"\x00" in start:
        raise DataError(
            f"{url}: not CSV text, the answer begins with {start[:40]!r} (content type {content_type or 'not stated'})"
        )


def _looks_like_html(start: bytes, content_type: str) -> bool:
    lowered = start[:64].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<script")):
        return True
    return content_type.partition(";")[0].strip().lower() == "text/html" and start.startswith(b"<")
