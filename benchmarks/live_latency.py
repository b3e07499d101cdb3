"""How late and how often an agent knows the price: by the stream and by REST, as Table 3 of the OpenFinGym paper.

Run ``python benchmarks/live_latency.py``. The venue is a local one, simulated, in a process of its own; between it and
us a proxy holds every byte back for ``--delay-ms`` in each direction, keeps the order, and limits no bandwidth. Each
channel has a window of its own:

* ``WS``: the stream, the machine and the buffer, as a live session runs them.
* ``REST, all symbols``: one request for the last prices of all symbols, on a connection that stays open, and the next
  as soon as the answer is there: the best that asking can do.
* ``REST, a symbol``: the same for one symbol after the other, as a step does that asks for its price.
* ``in limit``: the same within what the venue allows in a minute.

Latency is from the venue's event, by the clock of its matching, to the first moment at which a reader has its price or
a newer one: mean, median and 99th percentile over all trades of the window. A round trip is from a question to the
answer's price in hand. Refreshes are the times at which a reader had a newer trade than before, a second, of all
symbols together. Speed-up and improvement are of WS over each other row; the speed-up is that of the medians, as a
machine that stands still for a tenth of a second delays each channel by as much. A venue in which less is traded
refreshes less by any channel: ``--trades`` sets how much.

Limits: with 25 ms each way, a speed-up of 1.86 over every REST row, and 40 times the refreshes of ``REST, a symbol``.
Then a reader beside a feed that sends trades as fast as they are taken: how long a look-up takes, and how late a reader
that sleeps 1 ms has its value. Limit: 1 ms in the 99th percentile of the look-up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import queue
import socket
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np
from market_ingest import SYMBOLS as FLOODED
from market_ingest import feed_of, flood
from size import sized

from openfingym.errors import VenueError
from openfingym.market.buffer import Budgets, MarketBuffer
from openfingym.market.feed import Feed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.rest import RestClient
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.events import ListedPair
from openfingym.market.sim.exchange import START, Exchange
from openfingym.market.sim.flow import Crowd
from openfingym.market.state import MarketState, Snapshot
from openfingym.market.ticks import Trade

SECOND = 1_000_000_000
STEP_S = 0.001
"""Between two steps of the venue's time."""
WARM_S = 2.0
SPEED_UP, IMPROVEMENT, LOOKUP_MS = 1.86, 40.0, 1.0
GOALS_DELAY_MS = 25.0


class Venue(Protocol):
    """What a local venue of any protocol offers."""

    @property
    def rest_url(self) -> str:
        """Where REST is."""

    @property
    def stream_url(self) -> str:
        """Where the stream is."""

    async def start(self) -> None:
        """Listen on a free port."""

    def advance(self, to: int) -> None:
        """Let the exchange's time pass until then."""


@dataclass(frozen=True)
class Provider:
    """A venue, and how it is asked."""

    venue: Callable[[Exchange], Venue]
    feed: Callable[[Sequence[str], str, str], Feed]
    """For symbols, where the stream is and where REST is."""
    pairs: Callable[[int], list[ListedPair]]
    """As many listings."""


PROVIDERS: dict[str, Provider] = {
    "Binance": Provider(
        lambda exchange: BinanceVenue(exchange, weight_limit=10**9),
        lambda symbols, stream, rest: BinanceFeed(
            symbols, channels=("trade",), stream_url=stream, rest_url=rest, simulated=True
        ),
        lambda count: [ListedPair(f"S{number:02}USDT", f"S{number:02}", "USDT") for number in range(count)],
    ),
}
"""The venues; each is a line here and needs no other."""

Told = tuple[str, int, int, float]
"""Symbol, id, time by the monotonic clock in nanoseconds, and price of a trade."""


def _serve(name: str, symbols: int, rate: float, talk: Connection) -> None:
    """The venue's process: its address first, then for every question the trades that there were since the last."""

    async def main() -> None:
        pairs = PROVIDERS[name].pairs(symbols)
        # Of its steps, market orders and limit orders that cross, some of which fill several.
        crowd = Crowd(value=5e6, rate=rate / 0.8, tail=3.0, volatility=1e-4, market=0.5, orders=200)
        exchange = Exchange(pairs, {pair.symbol: crowd for pair in pairs}, start=START + time.monotonic_ns())
        venue = PROVIDERS[name].venue(exchange)
        await venue.start()
        talk.send((venue.stream_url, venue.rest_url))
        known = dict.fromkeys(exchange.listings, 0)
        while True:
            await asyncio.sleep(STEP_S)
            venue.advance(START + time.monotonic_ns())
            if talk.poll():
                talk.recv()
                told: list[Told] = []
                for symbol, trades in exchange.trades.items():
                    fresh = trades[bisect_right(trades, known[symbol], key=lambda trade: trade.id) :]
                    told += [(symbol, one.id, one.time - START, _price(exchange, symbol, one.price)) for one in fresh]
                    known[symbol] = fresh[-1].id if fresh else known[symbol]
                talk.send(told)

    asyncio.run(main())


def _price(exchange: Exchange, symbol: str, ticks: int) -> float:
    return float(ticks * exchange.listings[symbol].tick)


def _proxy(target: tuple[str, int], delay_s: float, talk: Connection) -> None:
    """The proxy's process: threads, as they sleep more exactly than an event loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    talk.send(listener.getsockname()[1])

    def carry(source: socket.socket, sink: socket.socket) -> None:
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def deliver() -> None:
            while True:
                due, piece = waiting.get()
                left = due - time.monotonic()
                if left > 0:
                    time.sleep(left)
                try:
                    if not piece:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(piece)
                except OSError:
                    return

        threading.Thread(target=deliver, daemon=True).start()
        piece = b"-"
        while piece:
            try:
                piece = source.recv(1 << 16)
            except OSError:
                piece = b""
            waiting.put((time.monotonic() + delay_s, piece))

    while True:
        near, _ = listener.accept()
        far = socket.create_connection(target)
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=carry, args=(one, other), daemon=True).start()


@contextmanager
def process(work: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """Run something in a process of its own, and talk with it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    running = context.Process(target=work, args=(*arguments, there), daemon=True)
    running.start()
    there.close()
    try:
        yield here
    finally:
        running.kill()
        running.join()


@dataclass
class Samples:
    """What a channel brought, and when a reader could have it."""

    known: dict[str, list[tuple[int, int, float, int]]]
    """Of each symbol: when, nanoseconds; the trade's id, or 0; its price; and not before which time that was so."""
    trips: list[int]
    """Nanoseconds of each round trip."""
    requests_per_s: float = 0.0
    allowed_per_s: float = 0.0


class _Noting(dict[str, Snapshot]):
    """Snapshots that note when each trade could be read first."""

    def __init__(self, snapshots: dict[str, Snapshot], samples: Samples) -> None:
        super().__init__(snapshots)
        self._known = samples.known

    def __setitem__(self, symbol: str, snapshot: Snapshot) -> None:
        super().__setitem__(symbol, snapshot)
        now, trade = time.monotonic_ns(), snapshot.trade
        if trade is not None and trade.id:
            self._known[symbol].append((now, trade.id, trade.price, 0))


def by_stream(feed: Feed, seconds: float) -> Samples:
    """What the stream brings."""
    samples = Samples({symbol: [] for symbol in feed.symbols}, [])
    state = MarketState(feed.symbols)
    state.snapshots = _Noting(state.snapshots, samples)
    machine = Ingest(feed, state, np.random.default_rng(0))
    with Live(machine) as live:
        while not machine.connected:
            live.check()
            time.sleep(0.05)
        time.sleep(WARM_S + seconds)
        live.check()
    return samples


def by_asking(feed: Feed, seconds: float, delay_ns: int, *, at_once: bool, limited: bool) -> Samples:
    """What questions bring, for all symbols ``at_once`` or one after the other."""
    samples = Samples({symbol: [] for symbol in feed.symbols}, [])
    asked = [feed.ask_latest(feed.symbols)[0]] if at_once else [feed.ask_latest([one])[0] for one in feed.symbols]
    samples.allowed_per_s = feed.weight_per_minute / asked[0].weight / 60

    async def main() -> None:
        client = RestClient(feed.rest())
        began = due = time.monotonic_ns()
        try:
            for request in cycle(asked):
                if limited:
                    due = max(due + int(SECOND / samples.allowed_per_s), time.monotonic_ns())
                    await asyncio.sleep(max(0, due - time.monotonic_ns()) / SECOND)
                sent = time.monotonic_ns()
                answer = await client.ask(request)
                if answer.status != 200:
                    raise VenueError(f"the venue answered {answer.status}: {answer.body[:200]!r}")
                found = [tick for tick in feed.read_latest(answer.body) if isinstance(tick, Trade)]
                now = time.monotonic_ns()
                for trade in found:
                    samples.known[trade.symbol].append((now, trade.id, trade.price, sent + delay_ns))
                samples.trips.append(now - sent)
                if now > began + (WARM_S + seconds) * SECOND:
                    break
            samples.requests_per_s = len(samples.trips) / (time.monotonic_ns() - began) * SECOND
        finally:
            await client.close()

    asyncio.run(main())
    return samples


def row(channel: str, samples: Samples, told: list[Told], seconds: float, delay_ns: int) -> dict[str, Any]:
    """A row of the table: what a channel brought beside what there was to know."""
    late, refreshes, trades_there = list[float](), 0, 0
    end = max(known[-1][0] for known in samples.known.values() if known)
    begin = end - int(seconds * SECOND)
    for symbol, known in samples.known.items():
        there = sorted((number, at, price) for name, number, at, price in told if name == symbol)
        ids, times = [one[0] for one in there], [one[1] for one in there]
        newest = -1  # place of the newest trade that a reader has
        for now, number, price, since in known:
            if number:
                place = bisect_left(ids, number)
            else:  # a price alone: the newest trade at it that the answer may have held, to the benefit of asking
                place = bisect_right(times, now - delay_ns) - 1
                first = bisect_right(times, since) - 1
                while place > max(first, newest) and there[place][2] != price:
                    place -= 1
            if place <= newest:
                continue
            fresh = [now - times[one] for one in range(newest + 1, place + 1) if times[one] >= begin]
            late += fresh if newest >= 0 else []
            refreshes += now >= begin
            newest = place
        trades_there += bisect_right(times, end) - bisect_left(times, begin)
    milliseconds = np.array(late) / 1e6
    return {
        "channel": channel,
        "latency_ms": float(milliseconds.mean()),
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "trip_ms": float(np.median(samples.trips)) / 1e6 if samples.trips else None,
        "refresh_hz": refreshes / seconds,
        "venue_hz": trades_there / seconds,
        "requests_per_s": samples.requests_per_s or None,
        "allowed_per_s": samples.allowed_per_s or None,
    }


def table_of(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure a venue: a row of each channel."""
    provider, delay_ns = PROVIDERS[name], int(options.delay_ms * 1e6)
    with process(_serve, name, options.symbols, options.trades / options.symbols) as venue:
        stream, rest = venue.recv()
        host, _, port = rest.rpartition("//")[2].rpartition(":")
        with process(_proxy, (host, int(port)), options.delay_ms / 1e3) as proxy:
            through = f"{host}:{proxy.recv()}"
            symbols = [pair.symbol for pair in provider.pairs(options.symbols)]
            feed = provider.feed(symbols, *(url.replace(f"{host}:{port}", through) for url in (stream, rest)))
            rows = []

            def measure(channel: str, samples: Samples) -> dict[str, Any]:
                venue.send(None)
                rows.append(row(channel, samples, venue.recv(), options.seconds, delay_ns))
                return rows[-1]

            measure("WS", by_stream(feed, options.seconds))
            for at_once in (True, False):
                channel = "REST, all symbols" if at_once else "REST, a symbol"
                found = measure(channel, by_asking(feed, options.seconds, delay_ns, at_once=at_once, limited=False))
                if found["requests_per_s"] > found["allowed_per_s"]:
                    samples = by_asking(feed, options.seconds, delay_ns, at_once=at_once, limited=True)
                    measure(f"{channel}, in limit", samples)
                else:
                    rows.append({**found, "channel": f"{channel}, in limit", "same": True})
    for found in rows:
        found["speed_up"] = found["p50_ms"] / rows[0]["p50_ms"]
        found["improvement"] = rows[0]["refresh_hz"] / found["refresh_hz"]
    return rows


def lookups(seconds: float) -> dict[str, float]:
    """How long a look-up takes, and how late it is, beside a feed that sends as fast as it is taken."""
    took, late, end = list[int](), list[int](), 0
    with flood(10**8) as address:
        state = MarketState(FLOODED)
        buffer = MarketBuffer(state.snapshots, Budgets(price_s=1e6))
        with Live(Ingest(feed_of(address), state, np.random.default_rng(0))) as live:
            while not all(snapshot.trade for snapshot in state.snapshots.values()):
                live.check()
                time.sleep(0.02)
            before, began = _changes(state), time.monotonic()
            end = time.monotonic_ns() + int(seconds * SECOND)
            for symbol in cycle(FLOODED):
                wake = time.monotonic_ns() + SECOND // 1000
                time.sleep(0.001)
                start = time.monotonic_ns()
                buffer.latest(symbol)
                now = time.monotonic_ns()
                took.append(now - start)
                late.append(now - wake)
                if now > end:
                    break
            rate = (_changes(state) - before) / (time.monotonic() - began)
            live.check()
    took_us, late_ms = np.array(took) / 1e3, np.array(late) / 1e6
    return {
        "trades_per_s": rate,
        "lookups": len(took),
        "lookup_p50_us": float(np.percentile(took_us, 50)),
        "lookup_p99_us": float(np.percentile(took_us, 99)),
        "lookup_max_us": float(took_us.max()),
        "late_p50_ms": float(np.percentile(late_ms, 50)),
        "late_p99_ms": float(np.percentile(late_ms, 99)),
    }


def _changes(state: MarketState) -> int:
    return sum(snapshot.sequence for snapshot in state.snapshots.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "providers",
        nargs="*",
        default=sized(list(PROVIDERS), list(PROVIDERS)[:1]),
        metavar="PROVIDER",
        help=", ".join(PROVIDERS),
    )
    parser.add_argument("--delay-ms", type=float, default=GOALS_DELAY_MS, help="of the network, one way (25)")
    parser.add_argument(
        "--seconds", type=float, default=sized(20.0, 0.5), help="of each window (20; the paper's are 60)"
    )
    parser.add_argument("--symbols", type=int, default=sized(20, 2), help="followed (20)")
    parser.add_argument(
        "--trades", type=float, default=sized(1000.0, 100.0), help="of all symbols in a second, about (1000)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args()
    unknown = [name for name in options.providers if name not in PROVIDERS]
    if unknown:
        parser.error(f"no provider is called {', '.join(unknown)}; expected some of {', '.join(PROVIDERS)}")
    tables = {name: table_of(name, options) for name in options.providers}
    reader = lookups(options.seconds / 2)
    if options.json:
        about = {"simulated": True, "delay_ms_one_way": options.delay_ms, "seconds": options.seconds}
        print(json.dumps({**about, "symbols": options.symbols, "providers": tables, "lookup": reader}))
        return
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
        f"Simulated venues on this machine, {options.delay_ms:g} ms of network in each direction, {options.symbols} "
        f"symbols, windows of {options.seconds:g} s\n\n"
        f"{'Provider':9} {'Channel':27} {'Latency (ms)':>12} {'p50':>7} {'p99':>8} {'Speed-up':>9} "
        f"{'Round trip':>10} {'Refresh (Hz)':>12} {'Improvement':>11}   of the venue's (Hz)"
    )
    for name, rows in tables.items():
        for found in rows:
            trip = f"{found['trip_ms']:.1f}" if found["trip_ms"] else ""
            compared = found is not rows[0]
            same = " (not reached)" if found.get("same") else ""
            print(
                f"{name if not compared else '':9} {found['channel']:27} {found['latency_ms']:12.1f} "
                f"{found['p50_ms']:7.1f} {found['p99_ms']:8.1f} "
                f"{format(found['speed_up'], '.2f') + 'x' if compared else '':>9} {trip:>10} "
                f"{found['refresh_hz']:12.1f} {format(found['improvement'], '.1f') + 'x' if compared else '':>11}   "
                f"{found['venue_hz']:.0f}{same}"
            )
        if options.delay_ms == GOALS_DELAY_MS:
            speed_up = min(found["speed_up"] for found in rows[1:])
            improvement = next(found["improvement"] for found in rows if found["channel"] == "REST, a symbol")
            print(
                f"{'':9} least speed-up {speed_up:.2f}, limit {SPEED_UP}; improvement on REST, a symbol: "
                f"{improvement:.1f}, limit {IMPROVEMENT:g}"
            )
    print(
        f"\nBeside a feed of {reader['trades_per_s']:,.0f} trades/s a look-up takes p50 {reader['lookup_p50_us']:.2f} "
        f"us, p99 {reader['lookup_p99_us']:.2f} us (limit {LOOKUP_MS * 1000:g}), at most "
        f"{reader['lookup_max_us']:.0f} us; a reader that sleeps 1 ms has its value p50 {reader['late_p50_ms']:.2f} "
        f"ms, p99 {reader['late_p99_ms']:.2f} ms late"
    )


if __name__ == "__main__":
    main()
