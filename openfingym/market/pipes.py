"""Connections within one event loop, for simulated time: nothing can be on its way without the loop knowing it.

A pipe takes the place of a Unix socket, so that the servers and clients are the same as over sockets. What is written
arrives at the next turn of the loop; an aborted pipe loses what was not read yet, as a reset connection does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

WRITE_LIMIT = 64 << 10
"""Bytes that may wait for a side that does not read, before the other side is told to stop writing."""
PIECE = 64 << 10
"""Bytes that a side reads at once, at most."""
ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class Pipe(asyncio.Transport):
    """One side of a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._other: Pipe
        self._arrived: deque[bytes] = deque()  # an empty one is the end
        self._size = 0  # bytes that have arrived and were not read yet
        self._reading = True
        self._closing = self._over = False
        self._paused = False  # whether this side was told to stop writing

    @classmethod
    def pair(cls, loop: asyncio.AbstractEventLoop, one: asyncio.BaseProtocol, other: asyncio.BaseProtocol) -> Pipe:
        """Connect two protocols.

        Args:
            loop: the event loop in which both protocols run.
            one: the protocol of the first side.
            other: the protocol of the second side.

        Returns:
            The first side.
        """
        ends = cls(loop, one), cls(loop, other)
        ends[0]._other, ends[1]._other = ends[1], ends[0]
        for end in ends:
            end._protocol.connection_made(end)
        return ends[0]

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """See :class:`asyncio.WriteTransport`."""
        if not self._closing:
            for begin in range(0, len(data), PIECE):
                self._other._arrive(bytes(data[begin : begin + PIECE]))

    def can_write_eof(self) -> bool:
        """See :class:`asyncio.WriteTransport`: a pipe is closed as a whole."""
        return False

    def get_write_buffer_size(self) -> int:
        """See :class:`asyncio.WriteTransport`."""
        return self._other._size

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See :class:`asyncio.WriteTransport`: a pipe has :data:`WRITE_LIMIT`."""

    def is_closing(self) -> bool:
        """See :class:`asyncio.BaseTransport`."""
        return self._closing

    def is_reading(self) -> bool:
        """See :class:`asyncio.ReadTransport`."""
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        """See :class:`asyncio.ReadTransport`."""
        self._reading = False

    def resume_reading(self) -> None:
        """See :class:`asyncio.ReadTransport`."""
        self._reading = True
        if self._arrived:
            self._loop.call_soon(self._read)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """See :class:`asyncio.BaseTransport`."""
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """See :class:`asyncio.BaseTransport`."""
        self._protocol = protocol

    def close(self) -> None:
        """See :class:`asyncio.BaseTransport`: the other side reads what was written, and then the end."""
        if not self._closing:
            self._closing = True
            self._other._arrive(b"")
            # Later, as with a socket: a protocol must not be told of its end from within its own call.
            self._loop.call_soon(self._end, None)

    def abort(self) -> None:
        """See :class:`asyncio.WriteTransport`."""
        if not self._over:
            self._closing = True
            self._loop.call_soon(self._end, None)
            self._loop.call_soon(self._other._end, ConnectionResetError("the connection was reset"))

    def _arrive(self, data: bytes) -> None:
        if self._over:
            return
        self._arrived.append(data)
        self._size += len(data)
        self._loop.call_soon(self._read)  # not at once: a protocol that answers would be called within its own write
        if self._size > WRITE_LIMIT and not self._other._paused:
            self._other._paused = True
            self._other._protocol.pause_writing()

    def _read(self) -> None:
        while self._arrived and self._reading and not self._over:
            data = self._arrived.popleft()
            self._size -= len(data)
            protocol = self._protocol
            assert isinstance(protocol, asyncio.Protocol)
            if not data:
                protocol.eof_received()
                self._end(None)
            elif not self._closing:
                protocol.data_received(data)
        # Well below the limit, as asyncio's own transports do it, so that the writer is not stopped again at once.
        if self._other._paused and self._size <= WRITE_LIMIT // 4:
            self._other._paused = False
            self._other._protocol.resume_writing()

    def _end(self, error: Exception | None) -> None:
        if not self._over:
            self._closing = self._over = True
            self._arrived.clear()
            self._protocol.connection_lost(error)


class PipeServer(asyncio.AbstractServer):
    """What listens at a path within one event loop, from its making on.

    Args:
        loop: the event loop within which it listens.
        close: called once when the server is closed, so that the path is free again.
    """

    sockets = ()

    def __init__(self, loop: asyncio.AbstractEventLoop, close: Callable[[], object]) -> None:
        self._loop, self._close = loop, close
        self._closed = loop.create_future()

    def close(self) -> None:
        """See :class:`asyncio.AbstractServer`; connections stay."""
        if not self._closed.done():
            self._close()
            self._closed.set_result(None)

    def close_clients(self) -> None:
        """Not to be had, as in :class:`asyncio.AbstractServer`: whoever accepted a connection closes it."""
        raise NotImplementedError

    def abort_clients(self) -> None:
        """Not to be had; see :meth:`close_clients`."""
        raise NotImplementedError

    async def wait_closed(self) -> None:
        """See :class:`asyncio.AbstractServer`."""
        await asyncio.shield(self._closed)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """See :class:`asyncio.AbstractServer`."""
        return self._loop

    def is_serving(self) -> bool:
        """See :class:`asyncio.AbstractServer`."""
        return not self._closed.done()

    async def start_serving(self) -> None:
        """See :class:`asyncio.AbstractServer`."""

    async def serve_forever(self) -> None:
        """See :class:`asyncio.AbstractServer`."""
        await self.wait_closed()
