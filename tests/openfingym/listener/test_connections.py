"""Connections in time and number, on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable

import pytest

from openfingym.listener.connections import SOCKETS_EACH, Connections, CrowdedError


class Told(asyncio.Protocol):
    """A protocol that counts itself, and takes whatever arrives for a request."""

    def __init__(self, connections: Connections, answers: bool) -> None:
        self._connections, self._answers = connections, answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._connections.enter(self, transport)  # type: ignore[arg-type]

    def connection_lost(self, _: Exception | None) -> None:
        self._connections.leave(self)

    def data_received(self, _: bytes) -> None:
        self._connections.asks(self)
        if self._answers:
            self._transport.write(b"!")  # type: ignore[attr-defined]
            self._connections.waits(self)


def accepted(
    connections: Connections,
    act: Callable[[int], Awaitable[None]],
    *,
    answers: bool = True,
    encryption: ssl.SSLContext | None = None,
) -> None:
    """Accept connections while something is done, which is given the port."""

    async def main() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        task = asyncio.create_task(connections.accept(listening, lambda: Told(connections, answers), encryption))
        try:
            await asyncio.wait_for(act(listening.getsockname()[1]), 30)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            listening.close()

    asyncio.run(main())


@contextlib.asynccontextmanager
async def connected(port: int):  # type: ignore[no-untyped-def]  # of two streams
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(ConnectionError):
        return await reader.read() == b""
    return True


@pytest.mark.parametrize("encryption", [None, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)])
def test_who_asks_nothing_is_dropped(encryption: ssl.SSLContext | None) -> None:
    async def act(port: int) -> None:
        async with connected(port) as (reader, _):
            assert await ended(reader)

    accepted(Connections(10, head_s=0.1, keep_s=1000), act, encryption=encryption)


def test_who_was_answered_and_asks_no_more_is_dropped() -> None:
    async def act(port: int) -> None:
        async with connected(port) as (reader, writer):
            writer.write(b"?")
            assert await reader.readexactly(1) == b"!"
            assert await ended(reader)

    accepted(Connections(10, head_s=1000, keep_s=0.1), act)


def test_requests_are_not_cut_and_the_longest_wait_makes_room() -> None:
    async def act(port: int) -> None:
        async with contextlib.AsyncExitStack() as stack:
            ours = [await stack.enter_async_context(connected(port)) for _ in range(2)]
            ours[0][1].write(b"?")
            await ours[0][1].drain()
            while next(iter(connections._transports)) in connections._waiting:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.01)
            await stack.enter_async_context(connected(port))
            await stack.enter_async_context(connected(port))
            # Of those that wait, the second came first; the first one is being answered.
            assert await ended(ours[1][0])
            assert not ours[0][0].at_eof()

    connections = Connections(3, head_s=1000, keep_s=1000)
    accepted(connections, act, answers=False)


def test_sockets_of_a_token_of_a_party_and_of_all() -> None:
    connections = Connections(80)
    with contextlib.ExitStack() as kept:
        for _ in range(SOCKETS_EACH):
            kept.enter_context(connections.socket("a", "party"))
        with pytest.raises(CrowdedError, match=f"token has {SOCKETS_EACH}"), connections.socket("a", "party"):
            pass
        for number in range(80 // 4 - SOCKETS_EACH):
            kept.enter_context(connections.socket(number, "party"))
        with pytest.raises(CrowdedError, match="participant together have 20"), connections.socket("b", "party"):
            pass
        for number in range(80 * 3 // 4 - 80 // 4):
            kept.enter_context(connections.socket(f"other {number}"))
        with pytest.raises(CrowdedError, match="there are 60"), connections.socket():
            pass
    # All places are free again, and nothing is remembered of whom they were.
    with connections.socket("a", "party"):
        pass
    assert not connections._sockets
