"""Bounds on connections to a public verifier: none may idle for long, and idle ones make room for new ones."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

HEAD_BYTES = 64 * 1024
"""Request line and headers together."""
HEAD_S = 15.0
"""Seconds that they may take to arrive, from the connection's beginning or the end of the last answer."""
SPARE_FILES = 128
"""Descriptors kept for the ledger, worker processes and the like."""
DISCARDED_BYTES = 1 << 20
"""Of a body whose request was refused before it had arrived, this much is read and thrown away: up to here it is
cheaper than a new connection, and its sender, who is still sending, reads the refusal."""
MOST = 8192
"""Largest number of open connections, where the process can have as many descriptors."""


class ConnectionLimit:
    """A limit on open connections, which knows those that wait for a request. Belongs to the event loop."""

    def __init__(self, most: int) -> None:
        """Let in ``most`` connections."""
        self.most = most
        self._here: set[BoundedProtocol] = set()
        self._waiting: OrderedDict[BoundedProtocol, None] = OrderedDict()
        """Those in which no request is being answered, the longest wait first."""

    def enter(self, connection: BoundedProtocol) -> None:
        """Admit a connection; where there is no room, the one that has waited longest for a request is closed."""
        self._here.add(connection)
        self._waiting[connection] = None
        # There is always one that waits: at the latest, it is this one. Requests that are being answered are not cut.
        if len(self._here) > self.most:
            next(iter(self._waiting)).drop()

    def waits(self, connection: BoundedProtocol) -> None:
        """Note that a connection has been answered and waits for its next request."""
        if connection in self._here:
            self._waiting[connection] = None

    def asks(self, connection: BoundedProtocol) -> None:
        """Note that a request has arrived on a connection."""
        self._waiting.pop(connection, None)

    def leave(self, connection: BoundedProtocol) -> None:
        """Forget a connection, which is closed or was handed over."""
        self._here.discard(connection)
        self._waiting.pop(connection, None)


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP/1.1 with a bound on the time and the length of a request's head, and on the number of
    connections.
    """

    limit: ConnectionLimit

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        """Bytes that have arrived of the head of a request."""
        self._in_head = True
        self._in_body = False
        """Whether the body of the latest request has not arrived whole."""
        self._discarded_bytes = 0
        """Bytes that have arrived since the last answer, of a body that nobody reads any more."""
        self._deadline: asyncio.TimerHandle | None = None
        """Closes the connection; None while a request is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Admit a new connection, and wait for its first request."""
        super().connection_made(transport)
        self._expect_head()
        self.limit.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of a closed connection."""
        self._cancel_deadline()
        self.limit.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless the head of the request is too long."""
        if self._in_head:
            self._head_bytes += len(data)
            # A body may follow in the same piece, which is at most 256 KiB long.
            if self._head_bytes > HEAD_BYTES and self._is_still_in_head(data):
                self.drop()
                return
        # The request was answered, so that what comes is left of its body, or behind it the next head.
        elif self._deadline is not None:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > DISCARDED_BYTES + HEAD_BYTES:
                self.drop()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Note the beginning of a request, perhaps while the one before it is still being answered."""
        self._head_bytes, self._in_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop the clock on the head of the request, which is complete."""
        self._in_head, self._in_body = False, True
        self._cancel_deadline()
        self.limit.asks(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of another request, if this one was answered before its body had arrived whole."""
        self._in_body = False
        super().on_message_complete()
        # The deadline runs since that answer, and is the one of the next head too.
        if self._deadline is not None:
            self._head_bytes, self._in_head = 0, True

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        # A request that was sent ahead is answered next, without waiting for anything.
        if not self.transport.is_closing() and not self.pipeline:
            self._expect_head()
            self.limit.waits(self)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to its WebSocket endpoint, which bounds it from then on."""
        self._cancel_deadline()
        self.limit.leave(self)
        super().handle_websocket_upgrade()

    def drop(self) -> None:
        """Close the connection without a response: no request was made."""
        self._cancel_deadline()
        self.limit.leave(self)
        self.transport.abort()

    def _is_still_in_head(self, data: bytes) -> bool:
        return b"\r\n\r\n" not in data[:HEAD_BYTES]

    def _expect_head(self) -> None:
        """Give the next request :data:`HEAD_S` seconds to arrive as far as the end of its head."""
        self._cancel_deadline()
        # What is left of a refused body is discarded, and is no head of a request.
        self._head_bytes, self._discarded_bytes, self._in_head = 0, 0, not self._in_body
        self._deadline = self.loop.call_later(HEAD_S, self.drop)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded_protocol() -> type[BoundedProtocol]:
    """The protocol of one server, with as much room as its process can have descriptors for."""
    # Where the usual limit is lower, at 1,024 for instance, the process may raise its own up to the hard one.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = MOST if soft == resource.RLIM_INFINITY else max(min(MOST, soft - SPARE_FILES), 16)
    # Uvicorn makes one protocol a connection, of a class that it is given: the limit they share is the class's.
    return type("BoundedProtocol", (BoundedProtocol,), {"limit": ConnectionLimit(most)})
