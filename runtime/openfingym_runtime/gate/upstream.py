"""The gate's requests to the verifier, over connections that are kept open, on the gate's event loop.

A small client of its own: the gate must cost a submission less than half a millisecond, and a
general client spends more than that on features the gate must not have (redirects, cookies,
proxies, decompression).
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit

import httptools

from openfingym.errors import UsageError, VerifierError

IDLE_CONNECTIONS = 32
"""Most connections that are kept open for later requests."""
CONNECT_TIMEOUT_S = 5.0
SWITCHING = 101
"""Status of an answer after which the connection is a WebSocket."""
RESPONSE_TIMEOUT_S = 360.0
"""Longer than the verifier gives a heavy score."""


@dataclass(frozen=True)
class UpstreamAnswer:
    """An answer of the verifier, as far as the gate passes it on; or one of the gate's own."""

    status: int
    """HTTP status."""
    content_type: bytes
    """Value of the header ``Content-Type``."""
    retry_after: bytes | None
    """Value of the header ``Retry-After``; None without one."""
    body: bytes


@dataclass(frozen=True)
class UpstreamAddress:
    """Where the verifier listens: at a unix socket, or at a host's port."""

    host: bytes
    """Value of the ``Host`` header."""
    prefix: str = ""
    """Path in front of ``/v1``."""
    uds: str | None = None
    """Path of the unix socket; None for a host's port."""
    name: str = ""
    """Name or address of the host."""
    port: int = 0
    tls: bool = False
    """Whether the connection is encrypted (``https``)."""

    @classmethod
    def parse(cls, verifier: Path | str) -> UpstreamAddress:
        """Read the path of a unix socket, or a base URL.

        Raises:
            UsageError: the text is not an http(s) URL, or it holds a query or a user's name.
        """
        if isinstance(verifier, Path):
            return cls(host=b"verifier", uds=str(verifier))
        url = urlsplit(verifier)
        if url.scheme not in {"http", "https"} or not url.hostname or url.query or url.username:
            raise UsageError(
                f"{verifier!r} is no verifier address; expected a socket's Path or a URL such as http://127.0.0.1:8080"
            )
        tls = url.scheme == "https"
        port = url.port or (443 if tls else 80)
        return cls(host=url.netloc.encode("idna"), prefix=url.path.rstrip("/"), name=url.hostname, port=port, tls=tls)


class _StaleError(Exception):
    """A kept connection was closed by the other side before it answered anything."""


class _Connection(asyncio.Protocol):
    """One connection to the verifier; carries one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.open = True
        self._waiter: asyncio.Future[UpstreamAnswer] | None = None
        self._began = False
        self._reset()

    def _reset(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._content_type = b"application/octet-stream"
        self._retry_after: bytes | None = None

    def exchange(self, head: bytes, body: bytes) -> asyncio.Future[UpstreamAnswer]:
        """Send one request, and return the future of its answer."""
        assert self.transport is not None
        self._waiter = asyncio.get_running_loop().create_future()
        self._began = False
        self._reset()
        self.transport.writelines((head, body)) if body else self.transport.write(head)
        return self._waiter

    def abort(self) -> None:
        """Drop the connection at once."""
        self.open = False
        if self.transport is not None:
            self.transport.abort()

    # asyncio.Protocol
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._began = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._switched(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._fail(VerifierError(f"the verifier's answer is not HTTP ({error})"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        # Closed without a byte of an answer: a server may give up a connection just when a request is on its way.
        self._fail(VerifierError(f"the verifier closed the connection ({exc})") if self._began else _StaleError())

    # httptools
    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-type":
                self._content_type = value
            case b"retry-after":
                self._retry_after = value

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # an interim answer; the real one follows
            return
        if not self._parser.should_keep_alive():
            self.open = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(UpstreamAnswer(status, self._content_type, self._retry_after, b"".join(self._body)))

    def _switched(self, rest: bytes) -> None:  # noqa: ARG002 (of use to the other kind)
        self._fail(VerifierError("the verifier switched protocols without being asked to"))
        self.abort()

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


class Receiver(Protocol):
    """What a connection that became a WebSocket passes its bytes to."""

    def from_verifier(self, data: bytes) -> None:
        """Take bytes that the verifier sent."""

    def verifier_lost(self) -> None:
        """Learn that the connection is gone."""

    def pause_agent(self, pause: bool) -> None:
        """Send nothing more for now, or go on."""


class LiveConnection(_Connection):
    """A connection to the verifier that becomes a WebSocket."""

    def __init__(self, accept: bytes) -> None:
        super().__init__()
        self._expected = accept
        self._accept = b""
        self._live = False
        self._early = b""
        self._receiver: Receiver | None = None

    def hand_over(self, receiver: Receiver) -> None:
        """Pass what has arrived, and what still arrives, to ``receiver``."""
        self._receiver = receiver
        if self._early:
            receiver.from_verifier(self._early)
        if not self.open:
            receiver.verifier_lost()

    def write(self, data: bytes) -> None:
        """Send some bytes."""
        assert self.transport is not None
        self.transport.write(data)

    def pause(self, pause: bool) -> None:
        """Read nothing more for now, or go on."""
        assert self.transport is not None
        if not self.transport.is_closing():
            (self.transport.pause_reading if pause else self.transport.resume_reading)()

    def data_received(self, data: bytes) -> None:
        """Pass on what arrives once this is a WebSocket."""
        if self._receiver is not None:
            self._receiver.from_verifier(data)
        # Frames may come right behind the handshake's answer, before there is a receiver.
        elif self._live:
            self._early += data
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the receiver."""
        super().connection_lost(exc)
        if self._receiver is not None:
            self._receiver.verifier_lost()

    def pause_writing(self) -> None:
        """Tell the receiver to send nothing more for now."""
        if self._receiver is not None:
            self._receiver.pause_agent(True)

    def resume_writing(self) -> None:
        """Tell the receiver to go on."""
        if self._receiver is not None:
            self._receiver.pause_agent(False)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the answer to the handshake's key."""
        super().on_header(name, value)
        if name.lower() == b"sec-websocket-accept":
            self._accept = value

    def _switched(self, rest: bytes) -> None:
        # Only a server that has read this very key can compute its answer; one that was cached or misrouted differs.
        if self._accept != self._expected:
            self._fail(VerifierError("the verifier's answer is no WebSocket handshake"))
            self.abort()
        elif self._waiter is not None and not self._waiter.done():
            self._live, self._early = True, rest
            self._waiter.set_result(UpstreamAnswer(SWITCHING, b"", None, b""))


class Upstream:
    """A pool of connections to one verifier, for use on one event loop."""

    def __init__(self, address: UpstreamAddress) -> None:
        self._address = address
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._tls = ssl.create_default_context() if address.tls else None

    async def request(self, method: str, path: str, headers: bytes, body: bytes) -> UpstreamAnswer:
        """Send a request and wait for its whole answer.

        Args:
            method: HTTP method, such as ``POST``.
            path: absolute path of the request, which the caller has checked.
            headers: complete header lines, each ended by CRLF; Host and Content-Length are added here.
            body: bytes of the request's body; none for a GET.

        Raises:
            VerifierError: the verifier cannot be reached, does not answer in time, or breaks off.
        """
        address = self._address
        length = b"Content-Length: %d\r\n" % len(body) if method == "POST" else b""
        line = f"{method} {address.prefix}{path} HTTP/1.1\r\nHost: ".encode("ascii")
        head = b"".join((line, address.host, b"\r\n", headers, length, b"\r\n"))
        while True:
            idle = self._take()
            try:
                return await self._exchange(idle or await self._connect(_Connection()), head, body)
            except _StaleError:
                # Tried again on another connection; that is safe, since every POST carries an idempotency key.
                if idle is None:
                    raise VerifierError("the verifier closed a fresh connection without an answer") from None

    async def upgrade(self, path: str, headers: bytes, key: bytes, accept: bytes) -> LiveConnection | UpstreamAnswer:
        """Open a WebSocket, or return the answer if the verifier refuses.

        Args:
            path: absolute path of the request, which the caller has checked.
            headers: complete header lines, each ended by CRLF; those of the handshake are added here.
            key: value of the header Sec-WebSocket-Key.
            accept: value of the header Sec-WebSocket-Accept that answers the key.

        Raises:
            VerifierError: the verifier cannot be reached, does not answer in time, or breaks off.
        """
        address = self._address
        line = f"GET {address.prefix}{path} HTTP/1.1\r\nHost: ".encode("ascii")
        handshake = (
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
            % key
        )
        connection = LiveConnection(accept)
        await self._connect(connection)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                answer = await connection.exchange(b"".join((line, address.host, b"\r\n", headers, handshake)), b"")
        except (TimeoutError, _StaleError):
            connection.abort()
            raise VerifierError("the verifier did not answer a handshake") from None
        except BaseException:
            connection.abort()
            raise
        if answer.status == SWITCHING:
            return connection
        connection.abort()
        return answer

    async def _exchange(self, connection: _Connection, head: bytes, body: bytes) -> UpstreamAnswer:
        self._busy.add(connection)
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_S):
                answer = await connection.exchange(head, body)
        except TimeoutError:
            connection.abort()
            raise VerifierError(f"the verifier did not answer within {RESPONSE_TIMEOUT_S:.0f} s") from None
        except BaseException:
            # A cancelled exchange, too: its answer would be taken for the next request's.
            connection.abort()
            raise
        finally:
            self._busy.discard(connection)
        if connection.open and len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    def _take(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        return None

    async def _connect(self, connection: _Connection) -> _Connection:
        loop = asyncio.get_running_loop()
        address = self._address
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                if address.uds is not None:
                    await loop.create_unix_connection(lambda: connection, address.uds)
                else:
                    await loop.create_connection(lambda: connection, address.name, address.port, ssl=self._tls)
        except (OSError, TimeoutError) as error:
            where = address.uds or f"{address.name}:{address.port}"
            raise VerifierError(f"the verifier at {where} cannot be reached ({error or 'timeout'})") from error
        return connection

    def close(self) -> None:
        """Drop every connection."""
        for connection in (*self._idle, *self._busy):
            connection.abort()
        self._idle.clear()
