"""Reading the latest price of a live market: what it costs, and how late a reader runs while a feed is saturated.

Run ``python benchmarks/market_read.py``. First one thread alone, in rounds that take turns, over symbols in turn: a
function that looks a price up in a plain dict and takes the time; ``MarketBuffer.latest``, which says price, age and
staleness as a plain tuple; and ``MarketBuffer.price``, which says them as a ``Reading``. Medians, and the best round
beside them: a busy machine makes the same work cost more. Limits: 0.2 us, and 1.7 times the plain function. ``latest``
exists for them: making a named tuple alone costs as much as the plain function.

Then a reader that sleeps a millisecond, asks for a price, and counts how much later than it asked for it has it. Beside
it a thread applies trades, quotes and changes of books without end. Threads of one process share its interpreter: one
that never waits keeps it for ``sys.getswitchinterval()``, 5 ms, and a reader that wakes waits as long. So the ingest
has to give way, by ``time.sleep(0)`` after every 200 us of work (``yields``); ``never yields`` shows what happens
otherwise. Limit: 1 ms in the 99th percentile of ``yields``. The other two rows are of the machine, as it is now: how
late the same reader runs with no feed, and with no feed beside a process that only computes, which shares no
interpreter with it. Where these are over the limit, this machine cannot show whether the limit is kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

import numpy as np
from size import sized

from openfingym.market.bars import SECOND
from openfingym.market.buffer import Budgets, MarketBuffer
from openfingym.market.commands import Instant
from openfingym.market.state import MarketState
from openfingym.market.ticks import Depth, Quote, Tick, Trade

SYMBOLS = tuple(f"S{number:02}USDT" for number in range(50))
ROUNDS = sized(601, 3)
READS = 20
"""Reads of every symbol in a round."""
LIMIT_US = 0.2
LIMIT_TIMES = 1.7
LIMIT_P99_MS = 1.0
SLICE_NS = 200_000
FEEDS = ("yields", "never yields")
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


def costs(state: MarketState) -> dict[str, tuple[float, float, float, float]]:
    """Of each way to read: median in microseconds, and over the plain one; the same of the best round."""
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
    around = list[float]()
    for _ in range(ROUNDS):
        around.append(empty.timeit(1))
        for name, timer in timers.items():
            found[name].append(timer.timeit(1))
    each, loop_alone = 1e6 / (READS * len(SYMBOLS)), min(around)
    found = {name: [(taken - loop_alone) * each for taken in times] for name, times in found.items()}
    plain_times = found["plain"]
    return {
        name: (
            statistics.median(times),
            statistics.median(one / other for one, other in zip(times, plain_times, strict=True)),
            min(times),
            min(times) / min(plain_times),
        )
        for name, times in found.items()
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


@contextmanager
def computing(wanted: bool) -> Iterator[None]:
    """Beside a process that only computes."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def lateness(feed: str, seconds: float) -> tuple[list[int], str]:
    """Nanoseconds by which each reading was late, and what the feed did meanwhile."""
    state, said = market()
    buffer, stop, done = MarketBuffer(state.snapshots, Budgets(price_s=1e6)), threading.Event(), list[float]()
    thread = threading.Thread(target=ingest, args=(state, said, stop, done), kwargs={"yields": feed == "yields"})
    feeds = feed in FEEDS
    if feeds:
        thread.start()
    late, end = list[int](), time.monotonic_ns() + seconds * SECOND
    for symbol in cycle(SYMBOLS):
        wake = time.monotonic_ns() + SECOND // 1000
        time.sleep(0.001)
        buffer.price(symbol)
        now = time.monotonic_ns()
        late.append(now - wake)
        if now > end:
            break
    stop.set()
    if not feeds:
        return late, ""
    thread.join()
    return late, f"{done[1] / seconds:,.0f} ticks/s, {done[0] * 1e6:.1f} us of CPU each"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=sized(5.0, 0.2), help="of each saturated feed")
    seconds = parser.parse_args().seconds
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':12}   median            best")
    for name, (median, times, best, best_times) in costs(market()[0]).items():
        limits = f"   limits {LIMIT_US}, {LIMIT_TIMES}" if name == "latest" else ""
        print(f"{name:12}  {median:6.3f} us {times:5.2f}   {best:6.3f} us {best_times:5.2f}{limits}")
    for feed in (*FEEDS, "no feed", "busy process"):
        with computing(feed == "busy process"):
            late, did = lateness(feed, seconds)
        middle, most = (float(np.percentile(late, part)) / 1e6 for part in (50, 99))
        limit = f", limit {LIMIT_P99_MS:g}" if feed == "yields" else ""
        print(f"{feed:12}  late by p50 {middle:.3f} ms, p99 {most:.3f} ms{limit}   {did}")


if __name__ == "__main__":
    main()
