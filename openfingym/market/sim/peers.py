"""The server's side of a WebSocket connection to a local venue: pings, limits, its end, and frames on their way."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults, Outbox
from openfingym.market.ticks import SECOND

MOST_WAITING = 50_000
"""How many frames may wait for a connection that does not read; with more it is aborted."""


@dataclass(frozen=True)
class ConnectionTerms:
    """The limits of a connection, in seconds of the exchange's clock."""

    ping_s: float = 20.0
    """Seconds between two pings of the venue."""
    pong_s: float = 60.0
    """Seconds that the client has to answer one."""
    life_s: float = 86_400.0
    """Seconds after which the connection is closed."""
    messages: int = 5
    """How many messages the client may send in a second, pings and pongs included."""


class Peer(ABC):
    """One connection.

    Args:
        number: number of the connection, by which faults name it.
        request: the request that opens it.
        exchange: the exchange behind the venue.
        faults: the faults of the venue.
        terms: the limits of the connection.
    """

    def __init__(
        self, number: int, request: web.Request, exchange: Exchange, faults: Faults, terms: ConnectionTerms
    ) -> None:
        self.number = number
        self.outbox = Outbox(faults, number)
        self.exchange = exchange
        self.faults = faults
        self._request = request
        self._socket = web.WebSocketResponse(autoping=False, timeout=1.0)
        self._terms = terms
        self._opened = self._pinged = exchange.now
        self._unanswered: tuple[bytes, int] | None = None  # payload and time of the ping that waits for its pong
        self._arrivals: deque[int] = deque()  # when messages of the last second came
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._over = False

    @abstractmethod
    def read(self, frame: str | bytes) -> None:
        """Answer a message."""

    def shutdown(self, now: int) -> str | None:  # noqa: ARG002
        """The announcement that the venue will close this connection; None where it makes none."""
        return None

    def send(self, frame: str | bytes, *, symbol: str | None = None, channel: str | None = None) -> None:
        """Send a frame, unless a fault stops it; an answer has no channel."""
        self.outbox.put(frame, self.exchange.now, symbol=symbol, channel=channel)
        self._wake.set()

    def due(self) -> int:
        """When :meth:`tick` has something to do next, by the exchange's clock."""
        terms = self._terms
        times = [self._opened + _nanoseconds(terms.life_s), self._pinged + _nanoseconds(terms.ping_s)]
        if self._unanswered is not None:
            times.append(self._unanswered[1] + _nanoseconds(terms.pong_s))
        if len(self.outbox):
            times.append(self.outbox.next(self.exchange.now))
        return min(times)

    def tick(self, now: int) -> None:
        """Do what is due: pings, the end of a silent or old connection, frames that were late."""
        terms = self._terms
        if self._frozen():
            return
        if now - self._opened >= terms.life_s * SECOND:
            self.close()
        elif self._unanswered is not None and now - self._unanswered[1] >= terms.pong_s * SECOND:
            self.abort()
        elif now - self._pinged >= terms.ping_s * SECOND:
            self._pinged = now
            payload = str(now // 1_000_000).encode()
            self._unanswered = self._unanswered or (payload, now)
            self._do(self._socket.ping(payload))
        if len(self.outbox):
            self._wake.set()
            if len(self.outbox) > MOST_WAITING:
                self.abort()

    def close(self) -> None:
        """Close the connection with a closing handshake."""
        if not self._over:
            self._over = True
            self._do(self._socket.close(code=WSCloseCode.GOING_AWAY))

    def finish(self) -> None:
        """Send what waits, and close the connection then."""
        if not self._over:
            self._over = True
            self._do(self._finish())

    async def _finish(self) -> None:
        await self._flush()
        await self._socket.close()

    def abort(self) -> None:
        """Cut the connection without a closing handshake."""
        self._over = True
        if self._request.transport is not None:
            self._request.transport.abort()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the connection; it is cancelled when the connection ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        async def quietly() -> None:
            try:
                await work
            except ConnectionError:
                self._over = True

        self.later(quietly())

    async def serve(self) -> web.WebSocketResponse:
        """Carry the connection until it ends."""
        await self._socket.prepare(self._request)
        self.later(self._write())
        try:
            async for message in self._socket:
                if (
                    message.type in {WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.PING, WSMsgType.PONG}
                    and self._flooded()
                ):
                    self.abort()
                    break
                if self._frozen():
                    continue
                if message.type == WSMsgType.PING:
                    with contextlib.suppress(ConnectionError):  # the connection is being cut; the loop ends by itself
                        await self._socket.pong(message.data)
                elif message.type == WSMsgType.PONG:
                    if self._unanswered is not None and bytes(message.data) == self._unanswered[0]:
                        self._unanswered = None
                elif message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                    self.read(message.data)
        finally:
            self._over = True
            for task in tuple(self._tasks):
                task.cancel()
        return self._socket

    def _frozen(self) -> bool:
        return self.faults.hit("frozen", self.exchange.now, connection=self.number) is not None

    def _flooded(self) -> bool:
        """Note a message, and say whether the client sends more than it may."""
        now = self.exchange.now
        self._arrivals.append(now)
        while self._arrivals[0] <= now - SECOND:
            self._arrivals.popleft()
        return len(self._arrivals) > self._terms.messages

    async def _flush(self) -> None:
        for frame in self.outbox.due(self.exchange.now):
            await (self._socket.send_str(frame) if isinstance(frame, str) else self._socket.send_bytes(frame))

    async def _write(self) -> None:
        try:
            while not self._over:
                self._wake.clear()
                await self._flush()
                await self._wake.wait()
        except ConnectionError:
            self._over = True


def _nanoseconds(seconds: float) -> int:
    return int(min(seconds, 1e9) * SECOND)


def text_of(frame: str | bytes) -> str:
    """A frame as text; bytes that are not UTF-8 are replaced."""
    return frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
