"""Refreshing stale values over a venue's REST interface: in batches, each symbol once, within a shared budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal, Protocol

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.market.feed import Request
from openfingym.market.ticks import SECOND

Wanted = Literal["latest", "book"]
"""What is refreshed: the last trade and quote, or the whole book."""


class Refresher(Protocol):
    """How a venue is asked. Both methods are called by several threads at once."""

    def requests(self, wanted: Wanted, symbols: Sequence[str]) -> Sequence[Request]:
        """The requests that refresh these symbols, as few as the venue allows; none where it has no such requests."""

    def refresh(self, request: Request) -> None:
        """Ask, and return when the state has taken in the answer, which never replaces what is newer.

        Raises:
            VenueError: there is no answer.
        """


class RateBudget:
    """What requests to a venue may cost, shared by all that ask it: a token bucket that holds a minute's weight.

    Args:
        per_minute: the weight that a minute adds, and the most that can be spent at once: what the venue allows, less
            what others need.
        monotonic: gives nanoseconds that never go back.

    Raises:
        UsageError: the budget allows no request.
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
    """Symbols that are asked for together, and how many of their requests are still unanswered."""

    __slots__ = ("keys", "unanswered")

    def __init__(self, keys: list[tuple[Wanted, str]], unanswered: int) -> None:
        self.keys = keys
        self.unanswered = unanswered


class Refreshes:
    """The refreshes in flight. Symbols that are asked for while all workers are busy go together, and no symbol is
    asked for twice at once.

    Args:
        refresher: words the requests and sends them.
        budget: what all requests together may cost; a request that exceeds it is not sent.
        workers: how many threads may ask at the same time.
        pause_s: seconds after a refresh, whether it succeeded or not, before the same symbol may be asked for again.
        monotonic: gives nanoseconds that never go back.
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
        """How many requests the budget did not allow."""
        self.error: BaseException | None = None
        """The error of the last refresh that failed; None where none has."""
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
        """Have symbols refreshed; return at once.

        Args:
            wanted: what of them is refreshed.
            symbols: the symbols to refresh; one that was refreshed a moment ago is left out.

        Returns:
            Futures that are done when the symbols' refreshes have ended, successfully or not.
        """
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
        """Whether asking for a symbol would change nothing now. It takes no lock, as readers call it often; a wrong
        answer costs one call of :meth:`ask`, or one read.
        """
        key = wanted, symbol
        return key in self._flights or self._monotonic() < self._not_before.get(key, 0)

    def close(self) -> None:
        """End the workers, once their requests are answered; what waits is not asked any more."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(cancel_futures=True)
        self._end(list(self._flights))

    def _start(self, wanted: Wanted) -> None:
        """Ask for all symbols that wait, in a worker."""
        with self._lock:
            symbols, self._waiting[wanted] = self._waiting[wanted], []
        if not symbols:  # an earlier worker has taken them along with its own
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
                if self._closed:  # close() ends all flights itself, and the pool takes no more work
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
            # The symbols of a batch are spread over its requests: none is fresh for certain before all are answered.
            with self._lock:
                batch.unanswered -= 1
                done = not batch.unanswered
            if done:
                self._end(batch.keys)

    def _end(self, keys: list[tuple[Wanted, str]]) -> None:
        until = self._monotonic() + self._pause
        with self._lock:
            flights = [self._flights.pop(key, None) for key in keys]
            self._not_before.update(dict.fromkeys(keys, until))
        for flight in flights:  # outside the lock: a callback of a future may ask again, which takes it
            if flight is not None:
                flight.set_result(None)
