"""The agent's side of a gate: an HTTP server that trusts nothing it reads.

A connection carries one request at a time. A request is read whole, within limits on its size and
its time, and only then forwarded as a new one; of the agent's own bytes nothing but the body, an
allow-listed content type and a plain idempotency key goes on. A WebSocket takes its connection over
(:mod:`openfingym_runtime.relay`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

import httptools

from openfingym_runtime.gate_request import (
    HEADER_BYTES,
    HEADERS_TOO_LARGE,
    MALFORMED,
    TOO_MANY,
    TOO_SLOW,
    GateRequest,
    Refusal,
    too_large,
)
from openfingym_runtime.relay import Relay, Sides, switching
from openfingym_runtime.upstream import LiveConnection, UpstreamAnswer

IDLE_TIMEOUT_S = 120.0
HEADER_TIMEOUT_S = 10.0
BODY_TIMEOUT_S = 60.0
LINGER_S = 1.0
CONCURRENT_BODIES = 2
"""Bodies of full length that may be under way at once, over all connections of a gate."""


@dataclass(eq=False, kw_only=True)
class Gatekeeping:
    """The services that a gate offers its connections: it counts and forwards."""

    max_body_bytes: int
    max_connections: int
    forward: Callable[[GateRequest], Awaitable[UpstreamAnswer]]
    open_live: Callable[[], Awaitable[LiveConnection | UpstreamAnswer]]
    spend: Callable[[int], bool]
    refused: Callable[[], None]
    verifier_failed: Callable[[], None]
    connections: set[GateConnection] = field(default_factory=set, init=False)
    buffered_bytes: int = field(default=0, init=False)
    """Bodies being read or forwarded, all connections together."""


class GateConnection(asyncio.Protocol):
    """One connection from the agent."""

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
        """Take the connection, or turn it away where there are too many."""
        self._transport = cast("asyncio.Transport", transport)
        if len(self._gate.connections) >= self._gate.max_connections:
            # No lingering here: an agent must not be able to use up the launcher's file descriptors.
            self._gate.refused()
            self._write(TOO_MANY.answer(), keep=False)
            self.abort()
            return
        self._gate.connections.add(self)
        self._arm(IDLE_TIMEOUT_S)

    def data_received(self, data: bytes) -> None:
        """Read on; refuse or forward once enough is known."""
        if self._closing:
            return  # what arrives after a refusal is read and dropped, so that the agent can read the answer
        if self._relay is not None:
            within = self._relay.within
            self._relay.from_agent(data)
            # Inside a frame the clock is not set back, so that a frame sent byte by byte still ends in time.
            if not (within and self._relay.within) and not self._closing:
                self._arm(self._relay.patience_s)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # A client that has not been answered yet has no frame to send.
            if self._ready is None or not self._ready.is_live or upgrade.args[0] != len(data):
                self._refusal = self._refusal or MALFORMED
        except httptools.HttpParserError:
            self._refusal = self._refusal or MALFORMED
        if self._refusal is None and self._request is not None:
            self._request.raw_bytes += len(data)
            if not self._head_done and self._request.raw_bytes > HEADER_BYTES:
                self._refusal = HEADERS_TOO_LARGE
            elif self._request.raw_bytes > 2 * self._gate.max_body_bytes + HEADER_BYTES:
                self._refusal = MALFORMED  # chunk extensions or trailers without end
        if self._refusal is not None and self._task is None:
            self._refuse(self._refusal)
        elif self._ready is not None and self._task is None:
            # One request at a time: what the agent sends meanwhile stays in the kernel's bounded buffer.
            self._transport.pause_reading()
            self._arm(None)
            self._task = self._loop.create_task(
                self._serve_live(self._ready) if self._ready.is_live else self._handle(self._ready)
            )

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget the request; an exchange under way is cancelled."""
        self._closing = True
        self._gate.connections.discard(self)
        self._forget()
        self._arm(None)
        if self._task is not None:
            self._task.cancel()
        if self._relay is not None:
            self._relay.end()

    def pause_writing(self) -> None:
        """Remember that the agent does not read its answers."""
        self._writable = False
        if self._relay is not None:
            self._relay.pause_verifier(True)

    def resume_writing(self) -> None:
        """Read on, now that the agent reads again."""
        self._writable = True
        if self._relay is not None:
            self._relay.pause_verifier(False)
        elif self._task is None and not self._closing:
            self._transport.resume_reading()

    # httptools
    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._request is not None or self._ready is not None:
            self._refusal = MALFORMED  # pipelining: no client of ours does it, and smuggling needs it
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
        if request is None or self._head_done:  # a trailer; never forwarded
            return
        name = name.lower()
        # Two servers may each believe another of two equal headers, which is how requests are smuggled.
        request.repeated |= name in request.headers
        request.headers[name] = value

    def on_headers_complete(self) -> None:
        """Decide whether the request may go on."""
        request = self._request
        if request is None or self._refusal is not None:
            return
        self._head_done = True
        self._keep_alive = self._parser.should_keep_alive()
        request.method = self._parser.get_method()
        if self._parser.get_http_version() not in {"1.0", "1.1"}:
            self._refusal = MALFORMED
            return
        size = len(request.target) + sum(len(name) + len(value) + 4 for name, value in request.headers.items())
        self._refusal = HEADERS_TOO_LARGE if size > HEADER_BYTES else request.refusal(self._gate.max_body_bytes)
        self._arm(BODY_TIMEOUT_S)
        if self._refusal is None and request.headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Collect the body, counted."""
        request = self._request
        if request is None or self._refusal is not None:
            return
        limit = self._gate.max_body_bytes
        request.body_bytes += len(data)
        self._gate.buffered_bytes += len(data)
        if request.body_bytes > limit:
            self._refusal = too_large(limit)
        # Several connections could otherwise each hold a body of the full length in the launcher's memory.
        elif self._gate.buffered_bytes > CONCURRENT_BODIES * limit:
            self._refusal = TOO_MANY
        else:
            request.body.append(data)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._ready, self._request = self._request, None

    def _forget(self) -> None:
        """Drop the request at hand."""
        for request in (self._request, self._ready):
            if request is not None:
                self._gate.buffered_bytes -= request.body_bytes
        self._request = self._ready = None

    # answers
    async def _handle(self, request: GateRequest) -> None:
        try:
            answer = await self._gate.forward(request)
        except Exception:
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
        """Close, but first let the agent read the answer to what it is still sending."""
        self._closing = True
        self._forget()
        # A close with unread input makes the kernel send a reset, which can discard the answer before the agent reads
        # it; so the connection lingers.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()
        self._arm(LINGER_S)

    def _arm(self, seconds: float | None) -> None:
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
