"""Following a live market: a context manager that runs the feed in a thread and gives the buffer to read it by."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.buffer import Budgets, MarketBuffer
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import Tell
from openfingym.market.feed import Feed, Request
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.refresh import RateBudget, Wanted
from openfingym.market.state import MarketState
from openfingym.market.tape import Recorder
from openfingym.market.ticks import SECOND

LOOK_S = 0.002
"""Seconds between two looks at whether a value has come."""
AGAIN_S = 0.5
"""Seconds after which a value that has not come is asked for again."""


@dataclass(frozen=True)
class _Refreshment(Request):
    """Symbols to refresh. Nothing is sent of it: the feed's machine makes requests of its own for them."""

    symbols: tuple[str, ...] = ()


class LiveRefresher:
    """Refreshes a buffer through the machine of its feed, which asks the venue and takes in the answers in order: a
    :class:`~openfingym.market.refresh.Refresher`. Books are not asked for here: the machine asks for one by itself
    whenever it has a gap.

    Args:
        live: the running feed that is asked.
        state: the state that the feed's machine keeps.
        clock: the clock by which the feed runs.
        timeout_s: seconds in which an answer must come.
    """

    def __init__(self, live: Live, state: MarketState, clock: Clock, timeout_s: float = 10.0) -> None:
        self._live, self._state, self._clock, self._timeout_s = live, state, clock, timeout_s

    def requests(self, wanted: Wanted, symbols: Sequence[str]) -> Sequence[Request]:
        """See :class:`~openfingym.market.refresh.Refresher`."""
        if wanted == "book":
            return ()
        weight = sum(request.weight for request in self._live.machine.feed.ask_latest(symbols))
        return (_Refreshment("GET", "", weight, symbols=tuple(symbols)),)

    def refresh(self, request: Request) -> None:
        """See :class:`~openfingym.market.refresh.Refresher`.

        Raises:
            VenueError: the feed has ended, or no answer has come in time.
        """
        assert isinstance(request, _Refreshment), "requests() makes no other"
        since = now = due = self._clock.monotonic()
        snapshots = self._state.snapshots
        while not all(max(snapshots[name].price_at, snapshots[name].quote_at) >= since for name in request.symbols):
            self._live.check()
            if now - since > self._timeout_s * SECOND:
                venue = self._live.machine.feed.venue
                raise VenueError(f"{venue} has not answered for {', '.join(request.symbols)} in {self._timeout_s:g} s")
            if now >= due:
                # More than once: the machine drops an answer without a time if the stream spoke a moment before.
                due = now + int(AGAIN_S * SECOND)
                self._live.refresh(request.symbols)
            time.sleep(LOOK_S)
            now = self._clock.monotonic()


@contextlib.contextmanager
def follow(
    feed: Feed,
    *,
    budgets: Budgets | None = None,
    intervals: Sequence[int] = (60 * SECOND,),
    recorder: Recorder | None = None,
    tell: Callable[[Tell], None] | None = None,
    wait_s: float = 30.0,
) -> Iterator[MarketBuffer]:
    """Follow the symbols of a feed for as long as the context is entered.

    Args:
        feed: the adapter of the venue, such as ``BinanceFeed(["BTCUSDT"])``.
        budgets: seconds after which values are stale, and are asked for over REST when somebody reads them.
        intervals: lengths of bars in nanoseconds, the main one first.
        recorder: records every input, such as a :class:`~openfingym.market.tape_writer.TapeWriter`; None for nothing.
        tell: called with what people should know, such as a gap.
        wait_s: seconds in which every symbol must have a price.

    Yields:
        The buffer, which any thread may read until the context is left.

    Raises:
        VenueError: the venue refuses, or some symbol has no price in time.
    """
    clock, state = SystemClock(), MarketState(feed.symbols, intervals=intervals)
    with Live(Ingest(feed, state, np.random.default_rng()), recorder=recorder, clock=clock, tell=tell) as live:
        until = clock.monotonic() + int(wait_s * SECOND)
        while missing := [symbol for symbol, known in state.snapshots.items() if not known.price > 0.0]:
            live.check()
            if clock.monotonic() > until:
                raise VenueError(f"{feed.venue} has told no price of {', '.join(missing[:5])} in {wait_s:g} s")
            time.sleep(LOOK_S)
        refresher, rate = LiveRefresher(live, state, clock), RateBudget(feed.weight_per_minute)
        buffer = MarketBuffer(state.snapshots, budgets, refresher=refresher, rate=rate)
        try:
            yield buffer
        finally:
            buffer.close()
