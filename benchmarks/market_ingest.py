"""What a trade of a live feed costs: CPU a message, from the socket to the value that readers see.

Run ``python benchmarks/market_ingest.py`` where ``orjson`` is installed beside the library. A process of its own sends
trades of Binance's combined stream over a real socket, as fast as they are taken. They are received, in processes that
take turns, by:

* ``websockets + orjson``: that library's client, a parsed object, and a tuple of price, size, time, id and the local
  clock stored in a dict: what is written by hand in an afternoon, without bars, gaps, late trades or a tape;
* ``aiohttp + orjson``: the same over aiohttp;
* ``our decoding``: the same work by the default transport and Binance's adapter: received, checked, stored;
* ``Live``: the default transport and the whole machine: bars, missing trades, silence, the venue's clock, snapshots;
* ``Live, with a tape``: the same, recorded.

CPU is that of the whole process, the system's part included, so a busy machine changes it little. The limit is that
receiving, decoding and publishing take at most half of what ``websockets + orjson`` takes: ``our decoding`` for the
same work, and, not reached, ``Live`` for all that the others leave out. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import numpy as np
import websockets.asyncio.client
from aiohttp import web
from size import sized

from openfingym.market.commands import Instant
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.state import MarketState
from openfingym.market.tape import NoRecorder, Recorder, TapeHeader
from openfingym.market.tape_writer import TapeWriter
from openfingym.market.ticks import Trade
from openfingym.market.transport import AiohttpTransport

SYMBOLS = tuple(f"S{number:02}USDT" for number in range(50))
BLOCK = sized(5000, 500)
"""Frames that are made at once."""
AHEAD = 1 << 21
"""Bytes that may wait to be sent."""
LIMIT = 2.0
Receiver = Callable[[str, int], None]


def trades(count: int) -> Iterator[bytes]:
    """Frames of so many trades, as the venue writes them, in blocks."""
    rng, ids = np.random.default_rng(0), dict.fromkeys(SYMBOLS, 3_000_000_000)
    prices = {symbol: 900.0 + number for number, symbol in enumerate(SYMBOLS)}
    for _ in range(0, count, BLOCK):
        block = bytearray()
        now = time.time_ns() // 1_000_000
        which, moves = rng.integers(0, len(SYMBOLS), BLOCK).tolist(), rng.integers(-3, 4, BLOCK).tolist()
        for number, move in zip(which, moves, strict=True):
            symbol = SYMBOLS[number]
            ids[symbol] += 1
            prices[symbol] += move / 100
            frame = (
                f'{{"stream":"{symbol.lower()}@trade","data":{{"e":"trade","E":{now},"s":"{symbol}",'
                f'"t":{ids[symbol]},"p":"{prices[symbol]:.8f}","q":"0.00{number + 10}0000","T":{now},'
                f'"m":{"true" if move > 0 else "false"},"M":true}}}}'
            ).encode()
            block += b"\x81\x7e" + len(frame).to_bytes(2, "big") + frame  # an unmasked text frame
        yield bytes(block)


async def _send(request: web.Request) -> web.StreamResponse:
    """Confirm a subscription, or take any other message, and send trades without a pause."""
    socket = web.WebSocketResponse(max_msg_size=0)
    await socket.prepare(request)
    asked = await socket.receive_json()
    await socket.send_json({"result": None, "id": asked["id"]})
    transport = request.transport
    assert transport is not None
    for block in trades(request.app["count"]):
        while transport.get_write_buffer_size() > AHEAD:  # noqa: ASYNC110  # a transport tells nobody when
            await asyncio.sleep(0.001)
        if transport.is_closing():
            break
        transport.write(block)
        await asyncio.sleep(0)
    await socket.receive()
    return socket


def _serve(told: Connection, count: int) -> None:
    async def main() -> None:
        app = web.Application()
        app["count"] = count
        app.router.add_get("/stream", _send)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(f"127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()

    asyncio.run(main())


@contextmanager
def flood(count: int) -> Iterator[str]:
    """A server that sends so many trades to whoever connects; gives its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, count), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.kill()
        process.join()


def feed_of(address: str) -> BinanceFeed:
    """The library's adapter for the trades of that server."""
    return BinanceFeed(
        SYMBOLS, channels=("trade",), stream_url=f"ws://{address}", rest_url=f"http://{address}", simulated=True
    )


def _store(found: object, latest: dict[str, tuple[float, float, int, int, int]]) -> int:
    data = found.get("data")  # type: ignore[attr-defined]
    if data is None:
        return 0
    latest[data["s"]] = (float(data["p"]), float(data["q"]), data["T"], data["t"], time.monotonic_ns())
    return 1


def by_websockets(address: str, count: int) -> None:
    """Receive by websockets, read by orjson."""
    import orjson  # the peer's alone

    async def main() -> None:
        latest: dict[str, tuple[float, float, int, int, int]] = {}
        loads, seen = orjson.loads, 0
        async with websockets.asyncio.client.connect(f"ws://{address}/stream") as socket:
            await socket.send('{"id":1}')
            while seen < count:
                seen += _store(loads(await socket.recv()), latest)

    asyncio.run(main())


def by_aiohttp(address: str, count: int) -> None:
    """Receive by aiohttp, read by orjson."""
    import orjson  # the peer's alone

    async def main() -> None:
        latest: dict[str, tuple[float, float, int, int, int]] = {}
        loads, seen = orjson.loads, 0
        async with aiohttp.ClientSession() as session, session.ws_connect(f"ws://{address}/stream") as socket:
            await socket.send_str('{"id":1}')
            receive = socket.receive
            while seen < count:
                seen += _store(loads((await receive()).data), latest)

    asyncio.run(main())


def by_our_decoding(address: str, count: int) -> None:
    """Receive by the default transport, read by Binance's adapter."""

    async def main() -> None:
        latest: dict[str, tuple[Trade, int]] = {}
        feed, transport, seen = feed_of(address), AiohttpTransport(), 0
        session, monotonic = feed.session(), time.monotonic_ns
        connection = await transport.connect(feed.stream())
        session.opened()
        await connection.send(session.replies[0])
        while seen < count:
            for message in session.received(await connection.receive()):
                if type(message) is Trade:
                    latest[message.symbol] = message, monotonic()
                    seen += 1
        await connection.close()
        await transport.close()

    asyncio.run(main())


def _live(address: str, count: int, recorder: Recorder) -> None:
    state = MarketState(SYMBOLS)
    machine = Ingest(feed_of(address), state, np.random.default_rng(0))
    snapshots, before = state.snapshots, sum(snapshot.sequence for snapshot in state.snapshots.values())
    with Live(machine, recorder=recorder) as live:
        while sum(snapshot.sequence for snapshot in snapshots.values()) - before < count:
            live.check()
            time.sleep(0.02)
        missing = [symbol for symbol in SYMBOLS if state.gap_of(symbol)]
    if missing:
        raise SystemExit(f"trades of {', '.join(missing)} are missing")


def by_live(address: str, count: int) -> None:
    """Receive by the whole machine."""
    _live(address, count, NoRecorder())


def by_live_with_tape(address: str, count: int) -> None:
    """Receive by the whole machine, recorded."""
    with tempfile.TemporaryDirectory() as folder:
        at = Instant(time.monotonic_ns(), time.time_ns())
        header = TapeHeader("binance", SYMBOLS, simulated=True)
        with TapeWriter(Path(folder, "tape"), header, at) as recorder:
            _live(address, count, recorder)


RECEIVERS: dict[str, Receiver] = {
    "websockets + orjson": by_websockets,
    "aiohttp + orjson": by_aiohttp,
    "our decoding": by_our_decoding,
    "Live": by_live,
    "Live, with a tape": by_live_with_tape,
}


def _measure(name: str, address: str, count: int, told: Connection) -> None:
    began, cpu = time.monotonic(), time.process_time()
    RECEIVERS[name](address, count)
    told.send(((time.process_time() - cpu) / count * 1e6, count / (time.monotonic() - began)))


def measure(name: str, address: str, count: int) -> tuple[float, float]:
    """Microseconds of CPU a message, and messages a second, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_measure, args=(name, address, count, there))
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        raise SystemExit(f"{name} has failed") from None
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=sized(200_000, 500), help=f"of each run; a multiple of {BLOCK}")
    parser.add_argument("--rounds", type=int, default=sized(5, 1))
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    count = -(-options.messages // BLOCK) * BLOCK
    alone = importlib.util.find_spec("orjson") is None
    if alone:
        print("orjson is not installed, and those that need it are left out", file=sys.stderr)
    found: dict[str, list[tuple[float, float]]] = {
        name: [] for name in RECEIVERS if not (alone and name.endswith("orjson"))
    }
    with flood(count) as address:
        for _ in range(options.rounds):
            for name, taken in found.items():
                taken.append(measure(name, address, count))
    plain = [cpu for cpu, _ in found[next(iter(found))]]
    rows = {
        name: {
            "cpu_us": statistics.median(cpu for cpu, _ in taken),
            "times": statistics.median(one / cpu for one, (cpu, _) in zip(plain, taken, strict=True)),
            "messages_per_s": statistics.median(rate for _, rate in taken),
        }
        for name, taken in found.items()
    }
    if options.json:
        print(json.dumps({"messages": count, "rounds": options.rounds, "limit": LIMIT, "rows": rows}))
        return
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {count:,} trades")
    for name, row in rows.items():
        limit = f"   limit {LIMIT:g}" if name in {"our decoding", "Live"} else ""
        print(
            f"{name:20} {row['cpu_us']:6.2f} us of CPU   {row['times']:5.2f} times less   "
            f"{row['messages_per_s']:9,.0f} messages/s{limit}"
        )


if __name__ == "__main__":
    main()
