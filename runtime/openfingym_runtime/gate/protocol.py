"""The agent's side of a gate: an HTTP server that trusts nothing it reads.

A connection carries one request at a time. A request is read whole, within limits on its size and
its time, and only then forwarded as a new one; of the agent's own bytes only the body, an
allow-listed content type and a plain idempotency key go on. A WebSocket takes over its connection
(:mod:`openfingym_runtime.gate.relay`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

import httptools

from openfingym_runtime.gate.relay import Relay, Sides, switching
from openfingym_runtime.gate.request import (
    HEADER_BYTES,
    HEADERS_TOO_LARGE,
    MALFORMED,
    TOO_MANY,
    TOO_SLOW,
    GateRequest,
    Refusal,
    too_large,
)
from openfingym_runtime.gate.upstream import LiveConnection, UpstreamAnswer

IDLE_TIMEOUT_S = 120.0
"""How long a connection may be silent before its next request."""
HEADER_TIMEOUT_S = 10.0
"""How long the head of a request may take to arrive."""
BODY_TIMEOUT_S = 60.0
"""How long the body of a request may take to arrive."""
LINGER_S = 1.0
"""How long a refused agent has to read the answer before its connection is dropped."""
CONCURRENT_BODIES = 2
"""Bodies of full length that may be under way at once, over all connections of a gate."""


@dataclass(eq=False, kw_only=True)
class Gatekeeping:
    """What a gate does for its connections: it counts and forwards."""

    max_body_bytes: int
    """Length of the longest request body, and of the longest message of a WebSocket."""
    max_connections: int
    """Connections that may be open at once."""
    with_model: bool
    """Whether a model answers requests too."""
    forward: Callable[[GateRequest], Awaitable[UpstreamAnswer]]
    """Sends a request to the verifier, and returns the answer for the agent."""
    open_live: Callable[[], Awaitable[LiveConnection | UpstreamAnswer]]
    """Opens a WebSocket to the verifier, or returns the answer that there is instead."""
    spend: Callable[[int], bool]
    """Counts so many calls of the agent; False if not so many are left."""
    refused: Callable[[], None]
    """Counts a request that the gate itself turns away."""
    verifier_failed: Callable[[], None]
    """Counts a failure of the verifier."""
    connections: set[GateConnection] = field(default_factory=set, init=False)
    """The agent's connections that are open."""
    buffered_bytes: int = field(default=0, init=False)
    """Bytes of the bodies that are being read or forwarded, over all connections."""


class GateConnection(asyncio.Protocol):
    """One connection from the agent.

    A request is ``_request`` while it is being read, and ``_ready`` once it is whole. Then ``_task`` forwards it.
    """

    def __init__(self, gate: Gatekeeping) -> None:
        self._gate = gate
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._request: GateRequest | None = None
        self._ready: GateRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._refusal: Refusal | None = None
        self._relay: Relay | None = None
        self._head_done = False
        self._keep_alive = False
        self._closing = False
        self._writable = True

    # asyncio.Protocol
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or turn it away if there are too many."""
        self._transport = cast("asyncio.Transport", transport)
        if len(self._gate.connections) >= self._gate.max_connections:
            # Dropped without lingering: an agent must not be able to use up the launcher's file descriptors.
            self._gate.refused()
            self._write(TOO_MANY.answer(), keep=False)
            self.abort()
            return
        self._gate.connections.add(self)
        self._arm(IDLE_TIMEOUT_S)

    def data_received(self, data: bytes) -> None:
        """Read on, and refuse or forward the request once enough of it is known."""
        if self._closing:
            return  # what arrives after a refusal is read and dropped, so that the agent can read the answer
        if self._relay is not None:
            within = self._relay.within
            self._relay.from_agent(data)
            # Within a frame the timer goes on, so that a frame which is sent byte by byte must end in time as well.
            if not (within and self._relay.within) and not self._closing:
                self._arm(self._relay.patience_s)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Bytes behind the handshake cannot be frames: a client has none to send before it is answered.
            if self._ready is None or not self._ready.is_live or upgrade.args[0] != len(data):
                self._refusal = self._refusal or MALFORMED
        except httptools.HttpParserError:
            self._refusal = self._refusal or MALFORMED
        if self._refusal is None and self._request is not None:
            self._request.raw_bytes += len(data)
            if not self._head_done and self._request.raw_bytes > HEADER_BYTES:
                self._refusal = HEADERS_TOO_LARGE
            # Twice the longest body leaves room for the framing of chunks. What is longer has chunk extensions or
            # trailers without end, which the parser reads and counts towards nothing.
            elif self._request.raw_bytes > 2 * self._request.limit(self._gate.max_body_bytes) + HEADER_BYTES:
                self._refusal = MALFORMED
        if self._refusal is not None and self._task is None:
            self._refuse(self._refusal)
        elif self._ready is not None and self._task is None:
            # One request at a time: whatever the agent sends meanwhile stays in the kernel's buffer, which is bounded.
            self._transport.pause_reading()
            self._arm(None)
            self._task = self._loop.create_task(
                self._serve_live(self._ready) if self._ready.is_live else self._handle(self._ready)
            )

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget the request, and cancel an exchange that is under way."""
        self._closing = True
        self._gate.connections.discard(self)
        self._forget()
        self._arm(None)
        if self._task is not None:
            self._task.cancel()
        if self._relay is not None:
            self._relay.end()

    def pause_writing(self) -> None:
        """Remember that the agent does not read its answers, and read nothing more for it from a WebSocket."""
        self._writable = False
        if self._relay is not None:
            self._relay.pause_verifier(True)

    def resume_writing(self) -> None:
        """Go on, now that the agent reads again."""
        self._writable = True
        if self._relay is not None:
            self._relay.pause_verifier(False)
        elif self._task is None and not self._closing:
            self._transport.resume_reading()

    # httptools
    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._request is not None or self._ready is not None:
            # A second request before the first was answered (pipelining): no client of ours does that, and to smuggle a
            # request takes it.
            self._refusal = MALFORMED
            return
        self._request = GateRequest()
        self._head_done = False
        self._arm(HEADER_TIMEOUT_S)

    def on_url(self, url: bytes) -> None:
        """Collect the target."""
        if self._request is not None:
            self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header."""
        request = self._request
        if request is None or self._head_done:  # a trailer, which is never forwarded
            return
        name = name.lower()
        # Of two headers with the same name, two servers may each believe another one: so requests are smuggled.
        request.repeated |= name in request.headers
        request.headers[name] = value

    def on_headers_complete(self) -> None:
        """Decide by its head whether the request may go on."""
        request = self._request
        if request is None or self._refusal is not None:
            return
        self._head_done = True
        self._keep_alive = self._parser.should_keep_alive()
        request.method = self._parser.get_method()
        if self._parser.get_http_version() not in {"1.0", "1.1"}:
            self._refusal = MALFORMED
            return
        # Measured once more, as the head alone: all of it may have come in the one read that was just parsed.
        size = len(request.target) + sum(len(name) + len(value) + 4 for name, value in request.headers.items())
        self._refusal = (
            HEADERS_TOO_LARGE
            if size > HEADER_BYTES
            else request.refusal(self._gate.max_body_bytes, with_model=self._gate.with_model)
        )
        self._arm(BODY_TIMEOUT_S)
        if self._refusal is None and request.headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Collect and count the body."""
        request = self._request
        if request is None or self._refusal is not None:
            return
        limit = request.limit(self._gate.max_body_bytes)
        request.body_bytes += len(data)
        self._gate.buffered_bytes += len(data)
        if request.body_bytes > limit:
            self._refusal = too_large(limit)
        # Otherwise each of several connections could hold a body of the full length in the launcher's memory.
        elif self._gate.buffered_bytes > CONCURRENT_BODIES * max(limit, self._gate.max_body_bytes):
            self._refusal = TOO_MANY
        else:
            request.body.append(data)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._ready, self._request = self._request, None

    def _forget(self) -> None:
        """Drop the current request."""
        for request in (self._request, self._ready):
            if request is not None:
                self._gate.buffered_bytes -= request.body_bytes
        self._request = self._ready = None

    # answers
    async def _handle(self, request: GateRequest) -> None:
        try:
            answer = await self._gate.forward(request)
        except Exception:
            # A bug of ours must not leave the agent waiting for an answer.
            self.abort()
            raise
        self._task = None
        self._forget()
        keep = self._keep_alive and not self._closing
        self._write(answer, keep=keep)
        if not keep:
            self._close_soon()
            return
        self._parser = httptools.HttpRequestParser(self)
        self._arm(IDLE_TIMEOUT_S)
        # An agent that does not read its answers is not read from either: they would pile up in the launcher's memory.
        if self._writable:
            self._transport.resume_reading()

    async def _serve_live(self, request: GateRequest) -> None:
        try:
            opened = await self._gate.open_live()
        except Exception:
            self.abort()
            raise
        self._task = None
        self._forget()
        if isinstance(opened, UpstreamAnswer):
            self._write(opened, keep=False)
            self._close_soon()
            return
        transport = self._transport
        transport.write(switching(request.headers[b"sec-websocket-key"]))
        self._relay = Relay(
            Sides(transport.write, self._close_soon, transport.pause_reading, transport.resume_reading),
            opened,
            self._gate,
        )
        # The verifier may have hung up right behind its answer; then this is over already.
        if not self._closing:
            self._arm(self._relay.patience_s)
            transport.resume_reading()

    def _refuse(self, refusal: Refusal) -> None:
        self._gate.refused()
        self._write(refusal.answer(), keep=False)
        self._close_soon()

    def _write(self, answer: UpstreamAnswer, *, keep: bool) -> None:
        head = [
            f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\n".encode(),
            b"Content-Type: %s\r\nContent-Length: %d\r\n" % (answer.content_type, len(answer.body)),
        ]
        if answer.retry_after is not None:
            head.append(b"Retry-After: %s\r\n" % answer.retry_after)
        head.append(b"\r\n" if keep else b"Connection: close\r\n\r\n")
        self._transport.write(b"".join((*head, answer.body)))

    def _close_soon(self) -> None:
        """Close the connection, but first give the agent time to read the answer, even if it is still sending."""
        self._closing = True
        self._forget()
        # The connection lingers, because closing it with unread input makes the kernel send a reset, which can discard
        # the answer before the agent reads it.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()
        self._arm(LINGER_S)

    def _arm(self, seconds: float | None) -> None:
        """Set the connection's one timer anew; None stops it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._expired)

    def _expired(self) -> None:
        if self._closing or self._request is None:
            self.abort()
        else:
            self._refuse(TOO_SLOW)

    def abort(self) -> None:
        """Drop the connection at once."""
        self._closing = True
        self._arm(None)
        self._transport.abort()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
