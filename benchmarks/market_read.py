"""Reading the latest price of a live market: what it costs, and how long it takes while a feed is saturated.

Run ``python benchmarks/market_read.py``. First one thread alone, medians of rounds that take turns, over symbols in
turn: a function that looks a price up in a plain dict and takes the time; ``MarketBuffer.latest``, which says price, age
and staleness as a plain tuple; and ``MarketBuffer.price``, which says them as a ``Reading``. Limits: ``latest`` 0.2 us,
and 1.7 times the plain function.

Then a reader beside a thread that applies trades, quotes and changes of books without end. The reader sleeps a
millisecond, asks for a price, and counts both the reading and how much later than asked it ran. Threads of one process
share its interpreter: one that never waits keeps it for ``sys.getswitchinterval()``, 5 ms, and a reader that wakes waits
as long. So the ingest has to give way: ``yields`` is a thread that sleeps for nothing (``time.sleep(0)``) after every
200 us of work, ``never yields`` one that does not. Limit: 1 ms in the 99th percentile of the readings beside ``yields``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
import timeit
from collections.abc import Callable
from itertools import cycle

import numpy as np

from openfingym.market.bars import SECOND
from openfingym.market.buffer import Budgets, MarketBuffer
from openfingym.market.commands import Instant
from openfingym.market.state import MarketState
from openfingym.market.ticks import Depth, Quote, Tick, Trade

SYMBOLS = tuple(f"S{number:02}USDT" for number in range(50))
ROUNDS = 41
READS = 400
"""Reads of every symbol in a round."""
LIMIT_US = 0.2
LIMIT_TIMES = 1.7
LIMIT_P99_MS = 1.0
SLICE_NS = 200_000
START = 1_767_225_600 * SECOND


def ticks(count: int) -> list[Tick]:
    """What a venue with 50 symbols says: trades, quotes, changes of books with four levels."""
    rng, made = np.random.default_rng(0), list[Tick]()
    for symbol in SYMBOLS:
        bids = tuple((100.0 - level / 10, 1.0) for level in range(1, 1001))
        asks = tuple((100.0 + level / 10, 1.0) for level in range(1, 1001))
        made.append(Depth(symbol, bids, asks, 0, 0, START, whole=True))
    for number in range(1, count // 150 + 1):
        now = START + number * SECOND // 100
        for symbol in SYMBOLS:
            price = 100.0 + float(rng.integers(-9, 10)) / 10
            below, above = (float(rng.integers(1, 400)) / 10 for _ in range(2))
            made.append(Trade(symbol, number, price, 0.1, now, 1))
            made.append(Quote(symbol, price - 0.1, 1.0, price + 0.1, 1.0, now, number))
            bids, asks = ((100 - below, 2.0), (99.9, 3.0)), ((100 + above, 2.0), (100.1, 3.0))
            made.append(Depth(symbol, bids, asks, 0, 0, now, whole=False))
    return made


def market() -> tuple[MarketState, list[Tick]]:
    """A market in which every symbol has a price, and what comes after."""
    state, said = MarketState(SYMBOLS), ticks(60_000)
    for tick in said[:350]:
        state.apply(tick, Instant(time.monotonic_ns(), START))
    return state, said[350:]


def costs(state: MarketState) -> dict[str, float]:
    """Microseconds a read."""
    buffer = MarketBuffer(state.snapshots, Budgets(price_s=1e6))
    prices = {symbol: snapshot.price for symbol, snapshot in state.snapshots.items()}
    monotonic = time.monotonic_ns

    def plain(symbol: str) -> tuple[float, int]:
        return prices[symbol], monotonic()

    reads: dict[str, Callable[[str], object]] = {"plain": plain, "latest": buffer.latest, "price": buffer.price}
    loop, names = "for _ in range(count):\n for symbol in symbols: read(symbol)", dict[str, object]()
    timers = {
        name: timeit.Timer(loop, globals={**names, "read": read, "symbols": SYMBOLS, "count": READS})
        for name, read in reads.items()
    }
    empty = timeit.Timer(
        "for _ in range(count):\n for symbol in symbols: pass", globals={"symbols": SYMBOLS, "count": READS}
    )
    found: dict[str, list[float]] = {name: [] for name in reads}
    for _ in range(ROUNDS):
        around = empty.timeit(1)
        for name, timer in timers.items():
            found[name].append((timer.timeit(1) - around) / (READS * len(SYMBOLS)) * 1e6)
    return {name: statistics.median(times) for name, times in found.items()} | {
        "times": statistics.median(a / b for a, b in zip(found["latest"], found["plain"], strict=True)),
        "price times": statistics.median(a / b for a, b in zip(found["price"], found["plain"], strict=True)),
    }


def ingest(state: MarketState, said: list[Tick], stop: threading.Event, done: list[float], *, yields: bool) -> None:
    """Apply ticks until told to stop; leave the seconds of CPU that one takes."""
    applied, began, slice_end = 0, time.thread_time(), time.monotonic_ns() + SLICE_NS
    for number, tick in enumerate(cycle(said)):
        state.apply(tick, Instant(time.monotonic_ns(), START))
        applied += 1
        if yields and time.monotonic_ns() > slice_end:
            time.sleep(0)
            slice_end = time.monotonic_ns() + SLICE_NS
        if number % 64 == 0 and stop.is_set():
            break
    done += [(time.thread_time() - began) / applied, applied]


def contended(*, yields: bool, seconds: float) -> None:
    """Print how long readings take, and how late the reader runs."""
    state, said = market()
    buffer, stop, done = MarketBuffer(state.snapshots, Budgets(price_s=1e6)), threading.Event(), list[float]()
    thread = threading.Thread(target=ingest, args=(state, said, stop, done), kwargs={"yields": yields})
    readings, late = list[int](), list[int]()
    thread.start()
    end = time.monotonic() + seconds
    for symbol in cycle(SYMBOLS):
        wake = time.monotonic_ns() + SECOND // 1000
        time.sleep(0.001)
        began = time.monotonic_ns()
        buffer.price(symbol)
        ended = time.monotonic_ns()
        readings.append(ended - began)
        late.append(ended - wake)
        if ended > end * 1e9:
            break
    stop.set()
    thread.join()
    name = "yields" if yields else "never yields"
    for what, taken in (("reading", readings), ("late", late)):
        middle, most = (float(np.percentile(taken, part)) / 1e6 for part in (50, 99))
        limit = f"   limit {LIMIT_P99_MS:g}" if yields and what == "reading" else ""
        print(f"{name:12}  {what:8} p50 {middle:8.4f} ms   p99 {most:8.4f} ms{limit}")
    print(f"{name:12}  {done[1] / seconds:,.0f} ticks/s, {done[0] * 1e6:.1f} us of CPU each, {len(readings)} readings")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each saturated feed")
    seconds = parser.parse_args().seconds
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    found = costs(market()[0])
    print(f"plain   {found['plain']:6.3f} us")
    print(f"latest  {found['latest']:6.3f} us   {found['times']:.2f} times   limits {LIMIT_US}, {LIMIT_TIMES}")
    print(f"price   {found['price']:6.3f} us   {found['price times']:.2f} times")
    for yields in (True, False):
        contended(yields=yields, seconds=seconds)


if __name__ == "__main__":
    main()
