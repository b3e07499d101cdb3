"""Which requests a server of this machine takes: by host, by the origin of a web page, and by a token.

A server on the loopback interface is reached by every program of the machine, and so by any web page in its user's
browser: the page's own host name may resolve to 127.0.0.1 (DNS rebinding). Requests are therefore taken only for a
loopback name, and never from a page of another origin.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

TOKEN_VARIABLE = "OPENFINGYM_SERVE_TOKEN"  # noqa: S105  # a name
"""Environment variable that holds the token which clients send."""


@dataclass(frozen=True)
class Guard:
    """Decides which requests are taken."""

    host: str
    """Name or address that the server listens on."""
    token: str | None = None
    """The token that clients send as ``Authorization: Bearer``; None to ask for none."""

    @property
    def loopback(self) -> bool:
        """Whether nobody beyond this machine reaches the server."""
        return is_loopback(self.host)

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Why a request is not taken.

        Args:
            headers: header fields of the request, whose names are looked up in any case.

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
        # In constant time: how long a comparison takes must not tell how much of a guess was right.
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        return 401, "this server asks for its token, as the header `Authorization: Bearer TOKEN`"

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page is of the server's own host; for a loopback server, of any loopback name."""
        try:
            name = urlsplit(origin).hostname or ""
        except ValueError:
            return False
        return is_loopback(name) if self.loopback else bool(name) and name == host


def name_of(host: str) -> str:
    """The name in a ``Host`` field, without its port and in lower case; empty where it is malformed."""
    try:
        # A name may end with the dot of the root, and is the same name.
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Whether a name or address is the loopback interface's."""
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
