"""Simulated time: it passes when all wait, goes the same way each time, and waits for what is real."""

from __future__ import annotations

import asyncio
import threading

import pytest

from openfingym.errors import RuntimeFailureError
from openfingym.market.clock import SimulatedClock
from openfingym.market.ticks import SECOND

DAY = 86_400
START = 1_763_800_000 * SECOND


def test_two_days_pass_in_order_and_exactly() -> None:
    clock = SimulatedClock(START)
    seen: list[tuple[int, str]] = []

    async def tick(name: str, period_s: float) -> None:
        while clock.monotonic() < 2 * DAY * SECOND:
            await clock.sleep(period_s)
            seen.append((clock.monotonic(), name))

    async def main() -> None:
        await asyncio.gather(tick("slow", 60), tick("fast", 17.3))

    clock.run(main())
    assert seen == sorted(seen, key=lambda one: one[0])
    assert [time for time, name in seen if name == "slow"] == [60 * SECOND * k for k in range(1, 2 * DAY // 60 + 1)]
    assert [time for time, name in seen if name == "fast"] == [17_300_000_000 * k for k in range(1, 9990)]
    assert clock.wall() - START == clock.monotonic()


def test_timeouts_of_asyncio_pass_with_it() -> None:
    clock = SimulatedClock()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(DAY):
                await asyncio.Event().wait()
        assert clock.monotonic() == DAY * SECOND
        assert asyncio.get_running_loop().time() == DAY

    clock.run(main())


def test_time_does_not_pass_while_something_can_run() -> None:
    clock = SimulatedClock()

    async def main() -> None:
        sleeper = asyncio.create_task(clock.sleep(1))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert clock.monotonic() == 0
        await sleeper

    clock.run(main())
    assert clock.monotonic() == SECOND


def test_setting_the_wall_clock_leaves_the_monotonic_reading() -> None:
    clock = SimulatedClock(START)

    async def main() -> None:
        await clock.sleep(10)
        clock.set_wall(START - 5 * SECOND)
        await clock.sleep(1)

    clock.run(main())
    assert (clock.monotonic(), clock.wall()) == (11 * SECOND, START - 4 * SECOND)


def test_a_thread_is_waited_for_and_takes_no_time() -> None:
    clock, gate = SimulatedClock(), threading.Event()

    async def main() -> bool:
        timer = asyncio.create_task(clock.sleep(5))
        work = asyncio.create_task(asyncio.to_thread(gate.wait, 30))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(threading.Timer(0.02, gate.set).start)
        found = await work
        assert clock.monotonic() == 0
        await timer
        return found

    assert clock.run(main())
    assert clock.monotonic() == 5 * SECOND


def test_what_would_wait_for_ever_is_an_error() -> None:
    clock = SimulatedClock()

    async def main() -> None:
        await clock.sleep(1)
        await asyncio.Event().wait()

    with pytest.raises(RuntimeFailureError, match="every task waits"):
        clock.run(main())
    assert clock.monotonic() == SECOND


def test_a_second_run_goes_on_where_the_first_ended() -> None:
    clock = SimulatedClock()
    clock.run(clock.sleep(3))
    clock.run(clock.sleep(4))
    assert clock.monotonic() == 7 * SECOND


def test_a_local_socket_is_answered_before_a_timeout_of_an_hour() -> None:
    clock = SimulatedClock()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await clock.sleep(30)
        writer.write(b"later\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main() -> list[bytes]:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            async with asyncio.timeout(3600):
                found = [await reader.readline(), await reader.readline()]
            writer.close()
            await writer.wait_closed()
        return found

    clock.patience_s = 0.05
    assert clock.run(main()) == [b"hello\n", b"later\n"]
    assert 30 * SECOND <= clock.monotonic() < 3600 * SECOND


def test_pipes_are_connections_and_take_no_time() -> None:
    clock, size = SimulatedClock(), 1_000_000
    seen: list[object] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        word = await reader.readline()
        if word == b"abort\n":
            writer.write(b"never read")
            writer.transport.abort()
            return
        await clock.sleep(30)
        writer.write(word * size)
        seen.append(writer.transport.get_write_buffer_size())
        await writer.drain()
        seen.append("drained")
        writer.close()

    async def main() -> None:
        with pytest.raises(ConnectionRefusedError, match="nothing listens at here"):
            await asyncio.open_unix_connection("here")
        server = await asyncio.start_unix_server(serve, "here")
        with pytest.raises(OSError, match="something listens at here already"):
            await asyncio.start_unix_server(serve, "here")
        reader, writer = await asyncio.open_unix_connection("here", limit=1000)
        writer.write(b"word\n")
        await clock.sleep(60)
        assert seen == [5 * size]  # who does not read is waited for
        found = await reader.read()
        assert (found == b"word\n" * size, seen[1:], clock.monotonic()) == (True, ["drained"], 60 * SECOND)
        writer.close()
        await writer.wait_closed()
        reader, writer = await asyncio.open_unix_connection("here")
        writer.write(b"abort\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        server.close()
        await server.wait_closed()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection("here")

    clock.run(main())
    assert clock.monotonic() == 60 * SECOND


def test_what_a_clock_carries_is_told_each_instant_at_which_it_is_due_or_something_else_happens() -> None:
    class Carried:
        now = 1_000

        def __init__(self) -> None:
            self.told: list[int] = []

        def due(self) -> int:
            return (self.now // (2 * SECOND) + 1) * 2 * SECOND

        def advance(self, to: int) -> None:
            self.now = to
            self.told.append(to)

    clock, carried = SimulatedClock(), Carried()
    clock.carry(carried, carried.now)

    async def main() -> None:
        await clock.sleep(3)
        assert carried.now == clock.monotonic() + 1_000
        await clock.sleep(2)

    clock.run(main())
    assert carried.told == [2 * SECOND, 3 * SECOND + 1_000, 4 * SECOND, 5 * SECOND + 1_000]
