"""Who may talk to a server of this machine: hosts, origins of web pages, and a token.

A server on the loopback interface is reached by every program of the machine, and so by a web page in its user's
browser: a page may ask its own host name to be looked up as 127.0.0.1. Requests are therefore taken for a loopback name
alone, and none that a page of another origin makes.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

TOKEN_VARIABLE = "OPENFINGYM_SERVE_TOKEN"  # noqa: S105  # a name


@dataclass(frozen=True)
class Guard:
    """Decides which requests are taken."""

    host: str
    """What the server listens on: a name or an address."""
    token: str | None = None
    """What clients send as ``Authorization: Bearer``; None asks for none."""

    @property
    def loopback(self) -> bool:
        """Whether nobody beyond this machine reaches the server."""
        return is_loopback(self.host)

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Why a request is not taken.

        Args:
            headers: header fields of the request, found by any case.

        Returns:
            An HTTP status and a sentence; None where the request is taken.
        """
        host = name_of(headers.get("Host", ""))
        if self.loopback and not is_loopback(host):
            return 403, f"the host is {host[:100]!r}; this server is reached as localhost or 127.0.0.1"
        origin = headers.get("Origin")
        if origin is not None and not self._is_own(origin, host):
            return 403, f"requests of web pages of {origin[:100]!r} are not taken"
        if self.token is None:
            return None
        kind, _, given = headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        return 401, "this server asks for its token, as the header `Authorization: Bearer TOKEN`"

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page is of the server's own host; of a loopback server, of any loopback name."""
        try:
            name = urlsplit(origin).hostname or ""
        except ValueError:
            return False
        return is_loopback(name) if self.loopback else bool(name) and name == host


def name_of(host: str) -> str:
    """The name in a ``Host`` field, without its port and in lower case; empty where it is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Whether a name or address is this machine's own, and no other's."""
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
