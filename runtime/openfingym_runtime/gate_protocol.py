"""The agent's side of a gate: an HTTP server that trusts nothing it reads.

A connection carries one request at a time. A request is read whole, within limits on its size and
its time, and only then forwarded as a new one; of the agent's own bytes nothing but the body, an
allow-listed content type and a plain idempotency key goes on.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

import httptools

from openfingym_runtime.upstream import Answer

ROUTES = frozenset({(b"GET", b"/v1/task"), (b"GET", b"/v1/rollout"), (b"POST", b"/v1/submissions")})
CONTENT_TYPES = frozenset(
    {
        b"application/json",
        b"application/vnd.apache.arrow.file",
        b"application/vnd.apache.arrow.stream",
        b"application/vnd.apache.parquet",
        b"application/x-npy",
        b"application/x-npz",
        b"application/zip",
    }
)
IDEMPOTENCY_KEY = re.compile(rb"[A-Za-z0-9_.:-]{1,128}")

HEADER_BYTES = 16 * 1024
IDLE_TIMEOUT_S = 120.0
HEADER_TIMEOUT_S = 10.0
BODY_TIMEOUT_S = 60.0
LINGER_S = 1.0
CONCURRENT_BODIES = 2
"""Bodies of full length that may be under way at once, over all connections of a gate."""


@dataclass(frozen=True)
class Refusal:
    """A problem document (RFC 9457) of the gate's own."""

    status: int
    problem: str
    detail: str

    def answer(self) -> Answer:
        """The document as an answer."""
        document = {
            "type": f"urn:openfingym:problem:{self.problem}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return Answer(self.status, b"application/problem+json", None, json.dumps(document).encode())


NOT_FOUND = Refusal(404, "not-found", "the gate serves GET /v1/task, GET /v1/rollout and POST /v1/submissions, and nothing else")
MALFORMED = Refusal(400, "malformed-request", "not a well-formed HTTP/1.1 request")
HEADERS_TOO_LARGE = Refusal(431, "headers-too-large", f"request headers may take {HEADER_BYTES} bytes")
TOO_SLOW = Refusal(408, "request-timeout", "the request took too long to arrive")
TOO_MANY = Refusal(503, "too-many-connections", "close a connection before opening another")


@dataclass
class Request:
    """One request as far as it has been read."""

    method: bytes = b""
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    repeated: bool = False
    """A header came twice."""
    raw_bytes: int = 0
    """Bytes received for it, framing included."""
    body: list[bytes] = field(default_factory=list)
    body_bytes: int = 0

    def forwarded_headers(self) -> bytes:
        """The header lines that go on to the verifier."""
        if self.method != b"POST":
            return b""
        media_type = self.headers[b"content-type"].partition(b";")[0].strip().lower()
        # With a key of our own, a request that has to be sent again is still counted once.
        key = self.headers.get(b"idempotency-key") or uuid.uuid4().hex.encode()
        return b"Content-Type: %s\r\nIdempotency-Key: %s\r\n" % (media_type, key)

    def refusal(self, max_body_bytes: int) -> Refusal | None:
        """Why the gate does not forward a request with this head, or None."""
        length = self.headers.get(b"content-length", b"0")
        coding = self.headers.get(b"transfer-encoding")
        if (
            self.repeated
            or not length.isdigit()
            or (coding is not None and (coding.lower() != b"chunked" or b"content-length" in self.headers))
        ):
            return MALFORMED
        if (self.method, self.target) not in ROUTES or b"upgrade" in self.headers:
            return NOT_FOUND
        if self.method == b"GET":
            return MALFORMED if int(length) or coding is not None else None
        if int(length) > max_body_bytes:
            return too_large(max_body_bytes)
        if self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() not in CONTENT_TYPES:
            accepted = b", ".join(sorted(CONTENT_TYPES)).decode()
            return Refusal(415, "unsupported-media-type", f"Content-Type must be one of {accepted}")
        key = self.headers.get(b"idempotency-key")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            return Refusal(400, "malformed-request", "Idempotency-Key must be 1 to 128 of A-Z a-z 0-9 _ . : -")
        return None


def too_large(max_body_bytes: int) -> Refusal:
    """The refusal of a body over the limit."""
    return Refusal(413, "payload-too-large", f"a request body may have {max_body_bytes} bytes; send .npy for the smallest float64 body")


class Gatekeeping:
    """What a connection asks of its gate; the gate counts and forwards."""

    def __init__(
        self,
        *,
        max_body_bytes: int,
        max_connections: int,
        forward: Callable[[Request], Awaitable[Answer]],
        refused: Callable[[], None],
    ) -> None:
        self.max_body_bytes = max_body_bytes
        self.max_connections = max_connections
        self.forward = forward
        self.refused = refused
        self.connections: set[GateConnection] = set()
        self.buffered_bytes = 0
        """Bodies being read or forwarded, all connections together."""


class GateConnection(asyncio.Protocol):
    """One connection from the agent."""

    def __init__(self, gate: Gatekeeping) -> None:
        self._gate = gate
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._request: Request | None = None
        self._ready: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._refusal: Refusal | None = None
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
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
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
            self._transport.pause_reading()
            self._arm(None)
            self._task = self._loop.create_task(self._handle(self._ready))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget the request; an exchange under way is cancelled."""
        self._closing = True
        self._gate.connections.discard(self)
        self._forget()
        self._arm(None)
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Remember that the agent does not read its answers."""
        self._writable = False

    def resume_writing(self) -> None:
        """Read on, now that the agent reads again."""
        self._writable = True
        if self._task is None and not self._closing:
            self._transport.resume_reading()

    # httptools
    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._request is not None or self._ready is not None:
            self._refusal = MALFORMED  # pipelining: no client of ours does it, and smuggling needs it
            return
        self._request = Request()
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
        elif self._gate.buffered_bytes > CONCURRENT_BODIES * limit:
            self._refusal = TOO_MANY
        else:
            request.body.append(data)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._ready, self._request = self._request, None

    def _forget(self) -> None:
        """Let go of the request at hand."""
        for request in (self._request, self._ready):
            if request is not None:
                self._gate.buffered_bytes -= request.body_bytes
        self._request = self._ready = None

    # answers
    async def _handle(self, request: Request) -> None:
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

    def _refuse(self, refusal: Refusal) -> None:
        self._gate.refused()
        self._write(refusal.answer(), keep=False)
        self._close_soon()

    def _write(self, answer: Answer, *, keep: bool) -> None:
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
