"""Asking a venue's REST interface for what a reader found stale: in batches, once a symbol, within a shared budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal, Protocol

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.market.bars import SECOND
from openfingym.market.feed import Request

Wanted = Literal["latest", "book"]
"""The last trade and quote, or the whole book."""


class Refresher(Protocol):
    """How a venue is asked. Both methods are called by several threads at once."""

    def requests(self, wanted: Wanted, symbols: Sequence[str]) -> Sequence[Request]:
        """As few requests as the venue allows; none where it cannot be asked for this."""

    def refresh(self, request: Request) -> None:
        """Ask, and return when the state has taken in the answer, which never replaces what is newer.

        Raises:
            VenueError: there is no answer.
        """


class RateBudget:
    """What requests to a venue may cost, shared by all that ask it: so much a minute, and no more at once than that.

    Args:
        per_minute: the weight that a minute adds; what the venue itself allows, less what others need.
        monotonic: nanoseconds that never go back.
    """

    def __init__(self, per_minute: float, *, monotonic: Callable[[], int] = time.monotonic_ns) -> None:
        if not per_minute > 0:
            raise UsageError(f"a budget of {per_minute} a minute allows no request; expected a number above 0")
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._left = float(per_minute)
        self._seen = monotonic()
        self._lock = threading.Lock()

    def take(self, weight: float) -> bool:
        """Spend the weight if it is there; return whether it was."""
        with self._lock:
            now = self._monotonic()
            earned = max(0, now - self._seen) * self._per_minute / (60 * SECOND)
            self._left, self._seen = min(self._per_minute, self._left + earned), max(now, self._seen)
            if weight > self._left:
                return False
            self._left -= weight
            return True


class _Batch:
    """Symbols that were asked for together, and how many of their requests are still out."""

    __slots__ = ("keys", "out")

    def __init__(self, keys: list[tuple[Wanted, str]], out: int) -> None:
        self.keys = keys
        self.out = out


class Refreshes:
    """Refreshes in flight: what is asked while a worker is busy goes together, and nothing is asked twice at once.

    Args:
        refresher: asks the venue.
        budget: what all requests together may cost; what exceeds it is not asked.
        workers: threads, which stay.
        pause_s: seconds after a refresh, whether it succeeded or not, before the same symbol may be asked for again.
        monotonic: nanoseconds that never go back.
    """

    def __init__(
        self,
        refresher: Refresher,
        budget: RateBudget,
        *,
        workers: int = 4,
        pause_s: float = 0.5,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.refused = 0
        """Requests that the budget did not allow."""
        self.error: BaseException | None = None
        """What the last refresh that failed ended with."""
        self._refresher = refresher
        self._budget = budget
        self._pause = round(pause_s * SECOND)
        self._monotonic = monotonic
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="market-refresh")
        self._lock = threading.Lock()
        self._closed = False
        self._flights: dict[tuple[Wanted, str], Future[None]] = {}
        self._waiting: dict[Wanted, list[str]] = {"latest": [], "book": []}
        self._not_before: dict[tuple[Wanted, str], int] = {}

    def ask(self, wanted: Wanted, symbols: Iterable[str]) -> list[Future[None]]:
        """Have symbols refreshed; return at once, with what ends when their refreshes have, in whatever way."""
        flights, new = [], False
        now = self._monotonic()
        with self._lock:
            for symbol in symbols if not self._closed else ():
                key = wanted, symbol
                flight = self._flights.get(key)
                if flight is None and now >= self._not_before.get(key, now):
                    flight = self._flights[key] = Future()
                    self._waiting[wanted].append(symbol)
                    new = True
                if flight is not None:
                    flights.append(flight)
            if new:
                self._pool.submit(self._start, wanted)
        return flights

    def pending(self, wanted: Wanted, symbol: str) -> bool:
        """Whether asking for a symbol would change nothing now; without a lock, for readers that come often."""
        key = wanted, symbol
        return key in self._flights or self._monotonic() < self._not_before.get(key, 0)

    def close(self) -> None:
        """End the workers, once their requests are answered; what waits is not asked any more."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(cancel_futures=True)
        self._end(list(self._flights))

    def _start(self, wanted: Wanted) -> None:
        """Ask for all that waits."""
        with self._lock:
            symbols, self._waiting[wanted] = self._waiting[wanted], []
        if not symbols:
            return
        keys = [(wanted, symbol) for symbol in symbols]
        allowed: list[Request] = []
        try:
            for request in self._refresher.requests(wanted, symbols):
                if self._budget.take(request.weight):
                    allowed.append(request)
                else:
                    self.refused += 1
        except BaseException as error:
            self.error = error
            allowed = []
            if not isinstance(error, OpenFinGymError):
                raise
        finally:
            if not allowed:
                self._end(keys)
        if allowed:
            batch = _Batch(keys, len(allowed))
            with self._lock:
                if self._closed:  # who closes ends what is in flight
                    return
                for request in allowed[1:]:
                    self._pool.submit(self._carry_out, request, batch)
            self._carry_out(allowed[0], batch)

    def _carry_out(self, request: Request, batch: _Batch) -> None:
        try:
            self._refresher.refresh(request)
        except BaseException as error:
            self.error = error
            if not isinstance(error, OpenFinGymError):
                raise
        finally:
            with self._lock:
                batch.out -= 1
                done = not batch.out
            if done:
                self._end(batch.keys)

    def _end(self, keys: list[tuple[Wanted, str]]) -> None:
        until = self._monotonic() + self._pause
        with self._lock:
            flights = [self._flights.pop(key, None) for key in keys]
            self._not_before.update(dict.fromkeys(keys, until))
        for flight in flights:
            if flight is not None:
                flight.set_result(None)
