"""WebSocket connections to venues, behind a small interface by which one library can take the place of another."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

import aiohttp
import websockets.asyncio.client
import websockets.exceptions

from openfingym.errors import ConnectionClosedError
from openfingym.headers import retry_after_s
from openfingym.market.feed import Address, Frame

LONGEST_FRAME = 16 * 2**20
"""Bytes of a frame at most; a longer one ends the connection."""
OPEN_TIMEOUT_S = 10.0
"""Seconds for a connection to open."""
CLOSE_TIMEOUT_S = 1.0
"""Seconds that the other side has to answer the close."""
_TEXT, _BINARY = aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY
PING_S = 15.0
"""Seconds between our pings; a side that does not answer within half of it counts as gone, as with a cut cable."""


class FeedConnection(Protocol):
    """An open WebSocket. Pings are answered by the library underneath."""

    async def receive(self) -> Frame:
        """The next frame.

        Raises:
            ConnectionClosedError: the connection has ended, for whatever reason.
        """

    async def send(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            ConnectionClosedError: the connection has ended.
        """

    async def close(self) -> None:
        """Close it, waiting no longer than a second for the other side."""


class Transport(Protocol):
    """A way to connect."""

    async def close(self) -> None:
        """Release what its connections share, once they are closed."""

    async def connect(self, address: Address) -> FeedConnection:
        """Open a connection.

        Raises:
            ConnectionClosedError: the connection cannot be opened; it holds the reason and, where the venue states it,
                how many seconds to wait.
        """


class AiohttpTransport:
    """WebSockets of aiohttp, which take a fifth of the CPU time that :class:`WebsocketsTransport` takes for a frame.

    Args:
        path: the path of the Unix socket to which all addresses lead; None for the network.
        ping_s: seconds between our pings; a side that does not answer within half of it counts as gone.
    """

    def __init__(self, path: str | None = None, *, ping_s: float = PING_S) -> None:
        self._path, self._ping_s = path, ping_s
        self._session: aiohttp.ClientSession | None = None

    async def connect(self, address: Address) -> FeedConnection:
        """See :class:`Transport`."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=None if self._path is None else aiohttp.UnixConnector(self._path)
            )
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):  # wait_for() of Python 3.11 may swallow a cancellation
                socket = await self._session.ws_connect(
                    address.url,
                    headers=dict(address.headers),
                    heartbeat=self._ping_s,
                    max_msg_size=LONGEST_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT_S),
                )
        except aiohttp.WSServerHandshakeError as error:
            wait = None if error.headers is None else retry_after_s(error.headers)
            raise _unopened(address, f"HTTP {error.status}", wait) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _unopened(address, str(error) or type(error).__name__) from None
        return _AiohttpConnection(socket)

    async def close(self) -> None:
        """See :class:`Transport`."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class _AiohttpConnection:
    """See :class:`FeedConnection`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._receive = socket.receive

    async def receive(self) -> Frame:
        message = await self._receive()
        if message.type is _TEXT or message.type is _BINARY:
            frame: Frame = message.data
            return frame
        error = self._socket.exception()
        code, said = self._socket.close_code, message.extra
        raise ConnectionClosedError(f"The connection has ended ({error or f'code {code} {said or str()}'.strip()}).")

    async def send(self, frame: Frame) -> None:
        try:
            await (self._socket.send_str(frame) if isinstance(frame, str) else self._socket.send_bytes(frame))
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionClosedError(f"The connection has ended ({error}).") from None

    async def close(self) -> None:
        # The library's own limit begins anew with each frame of a side that sends on instead of closing.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.close()


class WebsocketsTransport:
    """WebSockets of the library ``websockets``: slower, and stricter with a server that breaks the standard."""

    async def connect(self, address: Address) -> FeedConnection:
        """See :class:`Transport`."""
        try:
            socket = await websockets.asyncio.client.connect(
                address.url,
                additional_headers=dict(address.headers),
                open_timeout=OPEN_TIMEOUT_S,
                close_timeout=CLOSE_TIMEOUT_S,
                ping_interval=PING_S,
                ping_timeout=PING_S / 2,
                max_size=LONGEST_FRAME,
            )
        except websockets.exceptions.InvalidStatus as error:
            wait = retry_after_s(error.response.headers)
            raise _unopened(address, f"HTTP {error.response.status_code}", wait) from None
        except (websockets.exceptions.WebSocketException, OSError, TimeoutError) as error:
            raise _unopened(address, str(error) or type(error).__name__) from None
        return _WebsocketsConnection(socket)

    async def close(self) -> None:
        """See :class:`Transport`: connections share nothing here."""


class _WebsocketsConnection:
    """See :class:`FeedConnection`."""

    def __init__(self, socket: websockets.asyncio.client.ClientConnection) -> None:
        self._socket = socket

    async def receive(self) -> Frame:
        try:
            return await self._socket.recv()
        except websockets.exceptions.ConnectionClosed as error:
            raise ConnectionClosedError(f"The connection has ended ({error}).") from None

    async def send(self, frame: Frame) -> None:
        try:
            await self._socket.send(frame)
        except websockets.exceptions.ConnectionClosed as error:
            raise ConnectionClosedError(f"The connection has ended ({error}).") from None

    async def close(self) -> None:
        with contextlib.suppress(OSError):
            await self._socket.close()


def _unopened(address: Address, why: str, wait_s: float | None = None) -> ConnectionClosedError:
    """The error of a connection that could not be opened, without the address's headers, which hold keys."""
    return ConnectionClosedError(f"{address.url} cannot be connected to ({why}).", retry_after_s=wait_s)
