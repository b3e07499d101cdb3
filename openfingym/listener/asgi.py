"""ASGI applications behind a listener: Uvicorn's protocols, with bounds on what a client may take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from openfingym.listener.connections import HEAD_BYTES

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openfingym.listener.connections import Connections
    from openfingym.listener.guard import Guard, Refused

DISCARDED_BYTES = 1 << 20
"""Of a body whose request was refused before it had arrived, this much is read and thrown away: up to here it is
cheaper than a new connection, and its sender, who is still sending, reads the refusal."""


class BoundedHttp(HttpToolsProtocol):
    """Uvicorn's HTTP/1.1 with a bound on the time and the length of a request's head, and on the number of
    connections.
    """

    open: Connections

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        """Bytes that have arrived of the head of a request."""
        self._in_head = True
        self._in_body = False
        """Whether the body of the latest request has not arrived whole."""
        self._answered = True
        """Whether the latest request was answered, perhaps before its body had arrived whole."""
        self._discarded_bytes = 0
        """Bytes that have arrived since the last answer, of a body that nobody reads any more."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Admit a new connection, and wait for its first request."""
        super().connection_made(transport)
        self.open.enter(self, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of a closed connection."""
        self.open.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless the head of the request is too long."""
        if self._in_head:
            self._head_bytes += len(data)
            # A body may follow in the same piece, which is at most 256 KiB long.
            if self._head_bytes > HEAD_BYTES and self._is_still_in_head(data):
                self.open.drop(self)
                return
        # The request was answered, so that what comes is left of its body, or behind it the next head.
        elif self._answered:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > DISCARDED_BYTES + HEAD_BYTES:
                self.open.drop(self)
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Note the beginning of a request, perhaps while the one before it is still being answered."""
        self._head_bytes, self._in_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop the clock on the head of the request, which is complete; its body is given its time by who reads it."""
        self._in_head, self._in_body, self._answered = False, True, False
        self.open.sends(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of another request, if this one was answered before its body had arrived whole."""
        self._in_body = False
        super().on_message_complete()
        if self._answered:
            # The deadline runs since that answer, and is the one of the next head too.
            self._head_bytes, self._in_head = 0, True
        else:
            self.open.asks(self)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        # A request that was sent ahead is answered next, without waiting for anything.
        if not self.transport.is_closing() and not self.pipeline:
            # What is left of a refused body is discarded, and is no head of a request.
            self._head_bytes, self._discarded_bytes, self._in_head = 0, 0, not self._in_body
            self._answered = True
            self.open.waits(self)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to its WebSocket, which keeps the place."""
        self.open.leave(self)
        super().handle_websocket_upgrade()

    def _is_still_in_head(self, data: bytes) -> bool:
        return b"\r\n\r\n" not in data[:HEAD_BYTES]


class CountedSocket(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket, which keeps its connection's place for as long as it is open."""

    open: Connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the place over; no request is waited for any more."""
        super().connection_made(transport)
        self.open.enter(self, transport)  # type: ignore[arg-type]  # of TCP or a unix socket, which are two-way
        self.open.asks(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self.open.leave(self)
        super().connection_lost(exc)


class GuardedApp:
    """An ASGI application that sees only requests that its guard takes."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        # No web page reaches a unix socket, whose clients have no address.
        refused = self._refusal(scope) if scope.get("client") is not None else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        kind = "http.response"
        if scope["type"] == "websocket":
            kind = f"websocket.{kind}"
            await receive()  # the request to connect
        fields = {**refused.headers, "Content-Length": str(len(refused.body))}
        headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await send({"type": f"{kind}.start", "status": refused.status, "headers": headers})
        await send({"type": f"{kind}.body", "body": refused.body})

    def _refusal(self, scope: Scope) -> Refused | None:
        given = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _READ}
        return self._guard.refusal(given.get(b"host"), given.get(b"origin"), given.get(b"authorization"))


_READ = frozenset({b"host", b"origin", b"authorization"})


class AsgiServer(uvicorn.Server):
    """Uvicorn's server, with connections that are accepted by the listener."""

    def __init__(self, config: uvicorn.Config, connections: Connections, encryption: ssl.SSLContext | None) -> None:
        # Uvicorn makes one protocol a connection, of a class that it is given: what they share is the class's.
        config.http = type("BoundedHttp", (BoundedHttp,), {"open": connections})
        config.ws = type("CountedSocket", (CountedSocket,), {"open": connections})
        super().__init__(config)
        self._open, self._encryption = connections, encryption
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections on ``sockets``."""
        await super().startup([])

        def protocol() -> asyncio.Protocol:
            http: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
            return http(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

        self._accepting = [
            asyncio.create_task(self._open.accept(one, protocol, self._encryption)) for one in sockets or []
        ]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and end those that there are."""
        for task in self._accepting:
            task.cancel()
        await super().shutdown(sockets)
