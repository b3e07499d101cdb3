"""The only network that a download script has: a proxy that lets named hosts through, within limits, and keeps a log.

A script sends ``GET http(s)://host/path`` over a unix socket. The proxy looks up the host itself, refuses addresses
that are not public, and connects to the very address that it checked. TLS ends at the proxy, so that it can record what
passes.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from openfingym.digests import sha256_of

SOCKET: Final = "proxy.sock"
"""Name of the proxy's socket in its folder."""
KEPT_BYTES: Final = 8 << 20
"""Longest answer of which a copy is kept."""
_CONNECT_S: Final = 20.0
"""Seconds that a host may take to connect, or to send the next part of an answer."""


@dataclass(frozen=True)
class ProxyLimits:
    """Limits of all requests of one script together."""

    total_bytes: int = 48 << 20
    """Bytes of all answers."""
    requests: int = 40
    redirects: int = 5
    seconds: float = 120.0
    """Seconds from the beginning of the proxy."""


@dataclass
class ProxyEntry:
    """One request, as the log has it."""

    method: str
    url: str
    outcome: str
    """``answered``, ``refused: ...`` or ``failed: ...``."""
    code: str = ""
    """Why it was refused or failed: ``host``, ``private``, ``limit``, ``method``, ``unreachable`` or ``moved``; empty
    for a request that was answered."""
    status: int = 0
    """Status of the answer; 0 where there was none."""
    content_type: str = ""
    size: int = 0
    """Bytes of the answer."""
    sha256: str = ""
    """SHA-256 of the answer, in hexadecimal digits."""


@dataclass
class _RefusedError(Exception):
    code: str
    """Code of the log's entry."""
    why: str


@dataclass
class RecordingProxy:
    """Which hosts a script reaches, and what was requested; served by :func:`recording_proxy`."""

    hosts: frozenset[str]
    """Hosts that may be reached: ``host`` at the ports of the web, 80 and 443, or ``host:port``."""
    local: dict[str, tuple[str, int]]
    """Address and port of hosts that are served elsewhere, where they may be private, by the host's name."""
    limits: ProxyLimits = field(default_factory=ProxyLimits)
    log: list[ProxyEntry] = field(default_factory=list)
    """All requests, in order."""
    last: bytes = b""
    """The last whole answer with status 200."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _bytes: int = 0
    _redirects: int = 0
    _moved_to: set[str] = field(default_factory=set)
    _begun: float = field(default_factory=time.monotonic)

    def fetch(self, method: str, url: str) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and body of the answer to a request; a request that is refused has status 403."""
        entry = ProxyEntry(method, url[:500], "answered")
        # One request at a time: limits hold over all of them, also where a script asks from several threads.
        with self._lock:
            self.log.append(entry)
            try:
                return self._fetch(entry, method, url)
            except _RefusedError as refusal:
                entry.outcome, entry.code = f"refused: {refusal.why}", refusal.code
                return 403, [], refusal.why.encode()
            except (OSError, http.client.HTTPException, ValueError) as error:
                entry.outcome, entry.code = f"failed: {type(error).__name__}: {error}"[:300], "unreachable"
                return 502, [], b"the host cannot be reached"

    def _fetch(self, entry: ProxyEntry, method: str, url: str) -> tuple[int, list[tuple[str, str]], bytes]:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower().rstrip(".")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._allow(method, parts.scheme, host, port)
        connection = self._connection(parts.scheme, host, port)
        try:
            path = parts.path or "/"
            connection.request(method, f"{path}?{parts.query}" if parts.query else path, headers=_headers(host, port))
            answer = connection.getresponse()
            body = self._read(answer)
        finally:
            connection.close()
        entry.status, entry.content_type = answer.status, answer.headers.get("Content-Type", "")
        entry.size, entry.sha256 = len(body), sha256_of(body)
        headers = [("Content-Type", entry.content_type)]
        if 300 <= answer.status < 400 and (place := answer.headers.get("Location")):
            self._redirects += 1
            if self._redirects > self.limits.redirects:
                raise _RefusedError("moved", f"more than {self.limits.redirects} redirects")
            # The script follows it with a request of its own, which is checked as any other. That the host was named by
            # a redirect is remembered, since being sent away is the service's fault and not the script's.
            place = urljoin(url, place)
            self._moved_to.add((urlsplit(place).hostname or "").lower())
            headers.append(("Location", place))
        elif answer.status == 200 and len(body) <= KEPT_BYTES:
            self.last = body
        return answer.status, headers, body

    def _allow(self, method: str, scheme: str, host: str, port: int) -> None:
        """Refuse a request that a script may not make."""
        if method not in ("GET", "HEAD"):
            raise _RefusedError("method", f"{method} sends data; only GET and HEAD go through")
        if len(self.log) > self.limits.requests:
            raise _RefusedError("limit", f"more than {self.limits.requests} requests")
        if scheme not in ("http", "https"):
            raise _RefusedError("host", f"{scheme!r} is no address on the web")
        usual = port in (80, 443) or host in self.local
        if not (host in self.hosts and usual) and f"{host}:{port}" not in self.hosts:
            moved = host in self._moved_to
            raise _RefusedError(
                "moved" if moved else "host", f"{host}:{port} is none of {', '.join(sorted(self.hosts))}"
            )

    def _connection(self, scheme: str, host: str, port: int) -> http.client.HTTPConnection:
        """A connection to a host, at the address that was checked: looked up a second time, the name could lead to
        another one.
        """
        mapped = self.local.get(host) or self.local.get(f"{host}:{port}")
        address, port = mapped or (_public_address(host, port), port)
        connection = http.client.HTTPConnection(host, port, timeout=_CONNECT_S)
        raw = socket.create_connection((address, port), timeout=_CONNECT_S)
        if scheme == "https":
            raw = ssl.create_default_context().wrap_socket(raw, server_hostname=host)
        connection.sock = raw
        return connection

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        """The body of an answer, within the limits."""
        parts: list[bytes] = []
        # In small parts, so that an endless or a slow answer is noticed while it comes.
        while chunk := answer.read1(1 << 16):
            self._bytes += len(chunk)
            if self._bytes > self.limits.total_bytes:
                raise _RefusedError("limit", f"more than {self.limits.total_bytes} bytes")
            if time.monotonic() - self._begun > self.limits.seconds:
                raise _RefusedError("limit", f"longer than {self.limits.seconds:g} s")
            parts.append(chunk)
        return b"".join(parts)


def _headers(host: str, port: int) -> dict[str, str]:
    # Nothing of the script's goes out, neither headers nor a body: either could carry data. Some publishers refuse a
    # client that does not name itself as a browser does.
    where = host if port in (80, 443) else f"{host}:{port}"
    return {"Host": where, "User-Agent": "Mozilla/5.0 (compatible; openfingym)", "Accept": "*/*", "Connection": "close"}


def _public_address(host: str, port: int) -> str:
    """An address of a host, all of whose addresses are public."""
    addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    # Behind % stands the interface of an IPv6 address.
    private = sorted(each for each in addresses if not ipaddress.ip_address(each.partition("%")[0]).is_global)
    if private:
        raise _RefusedError("private", f"{host} is at {private[0]}, which is no public address")
    return min(addresses)


@contextlib.contextmanager
def recording_proxy(folder: Path, proxy: RecordingProxy) -> Iterator[RecordingProxy]:
    """Serve a proxy for the time of the block.

    Args:
        folder: folder in which its socket is made, :data:`SOCKET`. A socket's path may have about a hundred characters,
            and so the folder's must be short.
        proxy: the proxy to serve, which keeps the log.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = proxy.limits.seconds

        def _answer(self) -> None:
            status, headers, body = proxy.fetch(self.command, self.path)
            self.send_response(status)
            for name, value in headers:
                # A host's header must not end its line early and begin another.
                self.send_header(name, value.replace("\n", " ").replace("\r", " "))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def address_string(self) -> str:
            return "script"

        def log_message(self, *_args: object) -> None:
            """Print nothing: requests are in the proxy's own log."""

    # Also those that are refused, so that each attempt is in the log.
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "PATCH", "OPTIONS"):
        setattr(Handler, f"do_{method}", Handler._answer)

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        request_queue_size = 16

        def handle_error(self, *_args: object) -> None:
            """Do nothing: a script that hangs up, or speaks no HTTP, harms itself alone."""

    path = folder / SOCKET
    with Server(str(path), Handler) as server:
        # The program in the sandbox runs as another user.
        path.chmod(0o666)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True, name="openfingym-forge-proxy")
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
            path.unlink(missing_ok=True)
