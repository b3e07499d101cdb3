"""The WebSockets of a server: ``/ws`` for an environment's session, and ``/mcp`` for JSON-RPC."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from typing import Any

from aiohttp import ClientConnectionError, WSCloseCode, WSMessage, WSMsgType, web

from openfingym.training.openenv.rpc import INTERNAL_ERROR, PARSE_ERROR, SERVER_ERROR, answered, error_of
from openfingym.training.openenv.sessions import EnvSession, EnvSessions
from openfingym.training.openenv.wire import MAX_FRAME, ActionRefused, Frame, Json, decode, encode, read

_log = logging.getLogger(__name__)
PING_S = 20.0
"""Seconds between pings; a client that does not answer one within half of that has gone."""
SEND_S = 30.0
"""Seconds that a client may take to receive an answer."""


class Socket:
    """A WebSocket of one client: texts in, texts out, in order.

    Attributes:
        request: the request by which the client opened it.
        response: the WebSocket itself.
        sending_since: since when an answer is being sent, by the monotonic clock; None where none is.
    """

    def __init__(self, request: web.Request) -> None:
        self.request = request
        self.response = web.WebSocketResponse(heartbeat=PING_S, max_msg_size=MAX_FRAME, compress=False, timeout=2.0)
        self.sending_since: float | None = None
        self._coming: asyncio.Task[WSMessage] | None = None
        """The receipt of the next message, where it was begun while an answer was made."""

    async def next(self) -> str | None:
        """The next text; None when the client has gone.

        Raises:
            ActionRefused: the message is no text.
        """
        if self._coming is None:
            message = await self.response.receive()
        else:
            coming, self._coming = self._coming, None
            message = await coming
        if message.type is WSMsgType.TEXT:
            return str(message.data)
        if message.type is WSMsgType.BINARY:
            raise ActionRefused("INVALID_JSON", "Invalid JSON: expected a text frame, found a binary one")
        return None

    async def send(self, value: object) -> None:
        """Send a value as a text.

        Raises:
            ConnectionError: the client has gone.
        """
        self.sending_since = time.monotonic()
        await self.response.send_frame(encode(value), WSMsgType.TEXT)
        self.sending_since = None

    async def during(self, work: Coroutine[Any, Any, Json], session: EnvSession) -> Json | None:
        """Make an answer, which may take a while, and notice meanwhile if the client goes.

        Args:
            work: the coroutine that makes the answer.
            session: the client's session, whose episode is cut off when the client goes.

        Returns:
            The answer; None where the client has gone.
        """
        doing = asyncio.ensure_future(work)
        # That a client has gone shows in nothing but its next message, which is kept where it is another request.
        if self._coming is None:
            self._coming = asyncio.ensure_future(self.response.receive())
        await asyncio.wait({doing, self._coming}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done() and self._coming.result().type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
            session.cut()
            await asyncio.wait({doing})
            if not doing.cancelled():
                doing.exception()  # nobody is left to tell
            return None
        return await doing

    async def close(self, code: int = WSCloseCode.OK) -> None:
        """Close the socket, without waiting for a client that does not answer."""
        try:
            await self.response.close(code=code)
        finally:
            if self._coming is not None:
                self._coming.cancel()


class Sockets:
    """All WebSockets of a server."""

    def __init__(self, sessions: EnvSessions) -> None:
        self._sessions = sessions
        self._open: set[Socket] = set()

    async def environment(self, request: web.Request) -> web.StreamResponse:
        """Serve ``/ws``: a session of its own, or with ``?session_id=`` one that was made over ``/mcp``."""
        socket, named = await self._accepted(request), request.query.get("session_id")
        try:
            session = self._sessions.attach(named) if named else await self._sessions.create()
        except ActionRefused as refused:
            return await self._refused(socket, refused.frame)
        session.attached = True
        return await self._served(socket, session, self._frames(socket, session), owned=not named)

    async def rpc(self, request: web.Request) -> web.StreamResponse:
        """Serve ``/mcp``: JSON-RPC, with a session of its own."""
        socket = await self._accepted(request)
        try:
            session = await self._sessions.create()
        except ActionRefused as refused:
            return await self._refused(socket, error_of(SERVER_ERROR, str(refused), data=refused.more))
        session.attached = True
        return await self._served(socket, session, self._requests(socket, session), owned=True)

    async def look(self) -> None:
        """Drop clients that do not receive what they asked for, again and again."""
        while True:
            await asyncio.sleep(SEND_S / 4)
            now = time.monotonic()
            for socket in list(self._open):
                if socket.sending_since is not None and now - socket.sending_since > SEND_S:
                    # Closing would wait for what is still to be sent.
                    transport = socket.request.transport
                    if transport is not None:
                        transport.abort()

    async def close_all(self) -> None:
        """Tell every client that the server is being stopped."""
        closing = [asyncio.ensure_future(socket.close(WSCloseCode.GOING_AWAY)) for socket in list(self._open)]
        if closing:
            await asyncio.wait(closing, timeout=5.0)

    async def _accepted(self, request: web.Request) -> Socket:
        socket = Socket(request)
        await socket.response.prepare(request)
        return socket

    async def _refused(self, socket: Socket, error: Json) -> web.StreamResponse:
        """Send an error, and close the socket."""
        try:
            await socket.send(error)
            await socket.close(WSCloseCode.TRY_AGAIN_LATER)
        except (ConnectionError, ClientConnectionError):
            pass
        return socket.response

    async def _served(
        self, socket: Socket, session: EnvSession, talk: Coroutine[Any, Any, None], *, owned: bool
    ) -> web.StreamResponse:
        """Serve a socket until its client has gone.

        Args:
            socket: the client's socket, which has been accepted.
            session: the session that the socket is attached to.
            talk: answers the client's messages until it goes.
            owned: whether the session was made for this socket, and ends with it.
        """
        self._open.add(socket)
        try:
            await talk
        except (ConnectionError, ClientConnectionError):
            pass
        finally:
            self._open.discard(socket)
            # A request that is cancelled may not leave its session behind.
            await asyncio.shield(asyncio.ensure_future(self._sessions.detach(session, owned=owned)))
        with contextlib.suppress(ConnectionError, ClientConnectionError):
            await socket.close()
        return socket.response

    async def _frames(self, socket: Socket, session: EnvSession) -> None:
        """Answer frames until the client goes."""
        while True:
            try:
                text = await socket.next()
                if text is None:
                    return
                frame = read(text)
                # The path of most messages, without tasks: such a step waits for nothing.
                if frame.type == "step" and session.quick:
                    data = await session.step(frame.data)  # type: ignore[arg-type]
                    answer: Json | None = {"type": "observation", "data": data}
                elif frame.type == "close":
                    return
                else:
                    answer = await socket.during(self._answer(frame, session), session)
                    if answer is None:
                        return
            except ActionRefused as refused:
                answer = refused.frame
            except (ConnectionError, ClientConnectionError):
                raise
            except Exception as error:
                _log.exception("a message failed in an unforeseen way")
                answer = ActionRefused("EXECUTION_ERROR", f"a failure of ours: {type(error).__name__}: {error}").frame
            await socket.send(answer)

    async def _answer(self, frame: Frame, session: EnvSession) -> Json:
        """The frame that answers a frame.

        Raises:
            ActionRefused: the environment refuses what is asked for.
        """
        assert isinstance(frame.data, dict)
        if frame.type == "reset":
            return {"type": "observation", "data": await session.reset(frame.data)}
        if frame.type == "step":
            return {"type": "observation", "data": await session.step(frame.data)}
        if frame.type == "state":
            return {"type": "state", "data": session.state}
        return {"type": "mcp", "data": await answered(frame.data, self._sessions, session)}

    async def _requests(self, socket: Socket, session: EnvSession) -> None:
        """Answer requests until the client goes."""
        while True:
            try:
                text = await socket.next()
                if text is None:
                    return
                request = decode(text)
            except ActionRefused as refused:
                await socket.send(error_of(PARSE_ERROR, str(refused)))
                continue
            try:
                answer = await socket.during(answered(request, self._sessions, session), session)
            except Exception as error:
                _log.exception("a request failed in an unforeseen way")
                answer = error_of(INTERNAL_ERROR, f"a failure of ours: {type(error).__name__}: {error}")
            if answer is None:
                return
            await socket.send(answer)
