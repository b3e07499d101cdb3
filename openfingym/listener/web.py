"""aiohttp applications behind a listener, with bounds on what a client may take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aiohttp import web

from openfingym.listener.connections import CrowdedError
from openfingym.listener.guard import Refused

if TYPE_CHECKING:
    from aiohttp.web_protocol import RequestHandler

    from openfingym.listener.connections import Connections
    from openfingym.listener.guard import Guard

KEEP_S = 75.0
"""Seconds that a connection is kept between two requests: trainers and proxies come back after a while."""
BODY_S = 30.0
"""Seconds that the body of a request may take to arrive."""
FIELDS, FIELD_BYTES = 64, 4096
"""Most header fields of a request, and most bytes of one."""
SHUTDOWN_S = 5.0
"""Seconds that requests under way get to finish when the server is stopped."""


class BoundedRunner(web.AppRunner):
    """Runs an application whose connections are counted and whose requests are looked at before it sees them."""

    def __init__(self, app: web.Application, guard: Guard, connections: Connections) -> None:
        super().__init__(
            app,
            access_log=None,
            shutdown_timeout=SHUTDOWN_S,
            # The connections close those that idle.
            keepalive_timeout=2 * KEEP_S,
            max_headers=FIELDS,
            max_field_size=FIELD_BYTES,
            # A decompressor would turn a body within the limit into one of any size.
            auto_decompress=False,
        )
        self._guard, self._open = guard, connections

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        made, lost, answer = server.connection_made, server.connection_lost, server.request_handler

        def connection_made(handler: RequestHandler, transport: asyncio.Transport) -> None:
            made(handler, transport)
            self._open.enter(handler, transport)

        def connection_lost(handler: RequestHandler, exc: BaseException | None = None) -> None:
            self._open.leave(handler)
            lost(handler, exc)

        async def request_handler(request: web.BaseRequest) -> web.StreamResponse:
            self._open.sends(request.protocol)
            try:
                return await self._answered(request, answer)
            finally:
                self._open.waits(request.protocol)

        # The server is of aiohttp's own making, and these are what it calls of itself.
        server.connection_made = connection_made  # type: ignore[method-assign]
        server.connection_lost = connection_lost  # type: ignore[method-assign]
        server.request_handler = request_handler
        return server

    async def _answered(
        self, request: web.BaseRequest, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        headers = request.headers
        refused = self._guard.refusal(headers.get("Host"), headers.get("Origin"), headers.get("Authorization"))
        if refused is not None:
            return _response(refused)
        if headers.get("Content-Encoding", "identity").strip().lower() not in {"identity", ""}:
            return _response(Refused(415, "send the body without a Content-Encoding"))
        if headers.get("Upgrade", "").lower() == "websocket":
            self._open.asks(request.protocol)
            try:
                with self._open.socket():
                    return await answer(request)
            except CrowdedError as error:
                return _response(Refused(429, str(error)))
        try:
            async with asyncio.timeout(BODY_S):
                # It is kept for the application, which finds it read.
                await request.read()
        except TimeoutError:
            return _response(Refused(408, f"the body did not arrive within {BODY_S:g} s"))
        self._open.asks(request.protocol)
        return await answer(request)


def _response(refused: Refused) -> web.Response:
    # Its body is not read, so that the connection is of no further use.
    response = web.Response(body=refused.body, status=refused.status, headers=refused.headers)
    response.force_close()
    return response
