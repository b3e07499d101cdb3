"""The open connections of a listener: none may idle for long, and idle ones make room for new ones."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl

HEAD_BYTES = 64 * 1024
"""Request line and headers together."""
HEAD_S = 15.0
"""Seconds that they may take to arrive, from the connection's beginning."""
SPARE_FILES = 128
"""Descriptors kept for the ledger, worker processes and the like."""
MOST = 8192
"""Largest number of open connections, where the process can have as many descriptors."""
PAUSE_S = 0.05
"""Pause where a connection cannot be accepted, for want of memory for instance."""
SOCKETS_EACH = 16
"""WebSockets that one token may have at once."""


class CrowdedError(Exception):
    """There is no place for another WebSocket; the message says of whom there are too many."""


class Abortable(Protocol):
    """A connection that can be closed at once: a transport, or one that is not made yet."""

    def abort(self) -> None:
        """Close it, whatever is still to be sent."""


class Connections:
    """Open connections, those that wait for a request, and WebSockets. Belongs to the event loop.

    A connection is known by its protocol, or by anything else that can be a key.
    """

    def __init__(self, most: int, *, head_s: float = HEAD_S, keep_s: float = HEAD_S) -> None:
        """Let nobody in yet.

        Args:
            most: largest number of open connections.
            head_s: seconds in which the head of a connection's first request must have arrived.
            keep_s: seconds from an answer in which the head of the next request must have arrived.
        """
        self.most = most
        self._head_s, self._keep_s = head_s, keep_s
        self._transports: dict[Hashable, Abortable] = {}
        self._waiting: OrderedDict[Hashable, asyncio.TimerHandle | None] = OrderedDict()
        """Those in which no request is being answered, the longest wait first, with the timers that end it."""
        self._sockets: Counter[Hashable] = Counter()
        """WebSockets by their owners, and all together under None."""

    def enter(self, connection: Hashable, transport: Abortable) -> None:
        """Note a connection, which waits for its first request."""
        self._transports[connection] = transport
        self._wait(connection, self._head_s)

    def sends(self, connection: Hashable) -> None:
        """Note that the head of a request has arrived, and its body has not; whoever reads that gives it its time."""
        self.asks(connection)
        if connection in self._transports:
            self._waiting[connection] = None

    def asks(self, connection: Hashable) -> None:
        """Note that a whole request has arrived on a connection; it may take its time now."""
        if (timer := self._waiting.pop(connection, None)) is not None:
            timer.cancel()

    def waits(self, connection: Hashable) -> None:
        """Note that a connection has been answered and waits for its next request."""
        if connection in self._transports:
            self._wait(connection, self._keep_s)

    def leave(self, connection: Hashable) -> None:
        """Forget a connection, which is closed or was handed over."""
        self.asks(connection)
        self._transports.pop(connection, None)

    def drop(self, connection: Hashable) -> None:
        """Close a connection without a response: no request was made."""
        transport = self._transports.get(connection)
        self.leave(connection)
        if transport is not None:
            transport.abort()

    async def accept(
        self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol], encryption: ssl.SSLContext | None
    ) -> None:
        """Accept the connections of a socket until this is cancelled. Where there is no room for one, that which has
        waited longest for a request is closed.

        An event loop's own servers accept as many at once as may wait, and with TLS show none before its handshake:
        half-open ones would take every descriptor before they are counted.

        Args:
            listening: a socket that is bound and listening.
            protocol: makes the protocol of a connection.
            encryption: what connections are encrypted with; None for plain ones.
        """
        listening.setblocking(False)
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(listening)
            except OSError:
                if self._waiting:
                    self.drop(next(iter(self._waiting)))
                await asyncio.sleep(PAUSE_S)
                continue
            self.enter(connection, _Arriving(self, connection, protocol, encryption))
            # There is always one that waits: at the latest, it is this one. What is being answered is not cut.
            if len(self._transports) > self.most:
                self.drop(next(iter(self._waiting)))

    @contextlib.contextmanager
    def socket(self, token: Hashable = None, party: Hashable = None) -> Iterator[None]:
        """Count a WebSocket for as long as it is open.

        Args:
            token: what it was opened with; None where everybody has the same.
            party: who has that token and maybe many others; None for who may have any number of WebSockets.

        Raises:
            CrowdedError: there are too many already, of the token, of the party or of all; requests have places that
                no WebSocket takes.
        """
        bounds = [(None, self.most * 3 // 4, "there are"), (token, SOCKETS_EACH, "this token has")]
        bounds.append((party, max(SOCKETS_EACH, self.most // 4), "all tokens of this participant together have"))
        counted = [bound for number, bound in enumerate(bounds) if number == 0 or bound[0] is not None]
        for owner, most, whose in counted:
            if self._sockets[owner] >= most:
                raise CrowdedError(f"{whose} {most} WebSockets open, the most there may be; close one, or use requests")
        owners = [owner for owner, _, _ in counted]
        self._sockets.update(owners)
        try:
            yield
        finally:
            self._sockets.subtract(owners)
            for owner in owners:
                if not self._sockets[owner]:
                    del self._sockets[owner]

    def _wait(self, connection: Hashable, seconds: float) -> None:
        self.asks(connection)
        self._waiting[connection] = asyncio.get_running_loop().call_later(seconds, self.drop, connection)


class _Arriving:
    """A connection whose protocol is being made, which with TLS takes a handshake."""

    def __init__(
        self,
        connections: Connections,
        connection: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        encryption: ssl.SSLContext | None,
    ) -> None:
        if connection.family != socket.AF_UNIX:
            # Some systems refuse it for a connection that its client has already closed.
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections, self._connection = connections, connection
        patience_s = None if encryption is None else HEAD_S
        self._task = asyncio.get_running_loop().create_task(
            asyncio.get_running_loop().connect_accepted_socket(
                protocol, connection, ssl=encryption, ssl_handshake_timeout=patience_s
            )
        )
        self._task.add_done_callback(self._arrived)

    def abort(self) -> None:
        self._task.cancel()

    def _arrived(self, task: asyncio.Task[object]) -> None:
        self._connections.leave(self._connection)
        # What failed is a client's handshake, of which nobody else need know.
        if task.cancelled() or task.exception() is not None:
            self._connection.close()


def room(most: int = MOST) -> int:
    """How many connections this process can have, ``most`` at most; raises its limit on descriptors for that."""
    # Where the usual limit is lower, at 1,024 for instance, the process may raise its own up to the hard one.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else max(min(most, soft - SPARE_FILES), 16)
