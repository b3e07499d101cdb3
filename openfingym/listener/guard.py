"""Which requests a listener takes: by host, by the origin of a web page, and by a token.

A server on the loopback interface is reached by every program of the machine, and so by any web page in its user's
browser: the page's own host name may resolve to 127.0.0.1 (DNS rebinding). Requests are therefore taken only for a
loopback name, and never from a page of another origin.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from openfingym.errors import UsageError

SHORTEST_TOKEN, FEWEST_CHARACTERS = 16, 8
"""Fewest characters of a token, and how many of them differ at least: nothing but its length keeps it from being
guessed."""
PROBLEMS = {
    408: "request-timeout",
    401: "unauthorized",
    403: "forbidden",
    415: "unsupported-media-type",
    429: "rate-limited",
}
"""Slugs of the verifier's problem documents, by HTTP status."""


def require_token(token: str, what: str) -> None:
    """Check that a token is too long to be guessed, and can be sent in a header field.

    Guesses are not slowed: whoever made wrong ones would keep out those that have the token and come from the same
    address.

    Args:
        token: the token.
        what: what it is and where it comes from, for the message.

    Raises:
        UsageError: the token is too short or too plain.
    """
    if len(token) < SHORTEST_TOKEN or len(set(token)) < FEWEST_CHARACTERS or not _is_visible(token):
        raise UsageError(
            f"{what}: {len(token)} characters, {len(set(token))} different ones; expected a secret of at least "
            f"{SHORTEST_TOKEN} visible ASCII characters on one line, drawn at random"
        )


def _is_visible(token: str) -> bool:
    return token.isascii() and token.isprintable()


@dataclass(frozen=True)
class Refused:
    """An answer to a request that is not taken."""

    status: int
    detail: str
    """A sentence for the caller."""

    @property
    def headers(self) -> dict[str, str]:
        """Header fields of the answer; its body is not read, so that the connection is of no further use."""
        more = {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        return {"Content-Type": "application/problem+json", "Connection": "close", **more}

    @property
    def body(self) -> bytes:
        """A problem document (RFC 9457)."""
        kind = f"urn:openfingym:problem:{PROBLEMS[self.status]}"
        title = HTTPStatus(self.status).phrase
        return json.dumps({"type": kind, "title": title, "status": self.status, "detail": self.detail}).encode()


@dataclass(frozen=True)
class Guard:
    """Decides which requests are taken."""

    loopback: bool
    """Whether nobody beyond this machine reaches the server, and nothing before it says who asks."""
    token: str | None = field(default=None, repr=False)
    """The token that clients send as ``Authorization: Bearer``; None to ask for none."""
    knows_callers: bool = False
    """Whether what is behind the guard asks its callers who they are."""

    def refusal(self, host: str | None, origin: str | None, authorization: str | None) -> Refused | None:
        """Why a request is not taken; None where it is.

        Args:
            host: its header field ``Host``; None without one, like the others.
            origin: its header field ``Origin``, which browsers send.
            authorization: its header field ``Authorization``.
        """
        name = name_of(host or "")
        if self.loopback and not is_loopback(name):
            return Refused(403, f"the host is {name[:100]!r}; this server is reached as localhost or 127.0.0.1")
        if origin is not None and not self._is_own(origin, name):
            return Refused(403, f"requests of web pages of {origin[:100]!r} are not taken")
        if self.token is None:
            return None
        kind, _, given = (authorization or "").partition(" ")
        # In constant time: how long a comparison takes must not tell how much of a guess was right.
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        return Refused(401, "this server asks for its token, as the header `Authorization: Bearer TOKEN`")

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page is of the server's own host; for a loopback server, of any loopback name."""
        name = _origin_name(origin)
        if self.loopback:
            return is_loopback(name)
        # A name can be rebound to this server, and then both fields say the same. A page that does so has no token,
        # and an address cannot be rebound.
        return bool(name) and name == host and (self.token is not None or self.knows_callers or _is_address(name))


def _origin_name(origin: str) -> str:
    """The host in an ``Origin`` field; empty where it is malformed."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


@functools.lru_cache(maxsize=1024)
def name_of(host: str) -> str:
    """The name in a ``Host`` field, without its port and in lower case; empty where it is malformed."""
    try:
        # A name may end with the dot of the root, and is the same name.
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=1024)
def is_loopback(name: str) -> bool:
    """Whether a name or address is the loopback interface's."""
    if name.lower() == "localhost":
        return True
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
