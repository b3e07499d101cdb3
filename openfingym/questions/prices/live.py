"""Prices from the live buffer, for symbols that are asked for often; others are not worth a connection."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from openfingym.errors import OpenFinGymError
from openfingym.market.buffer import MarketBuffer
from openfingym.market.feed import Feed
from openfingym.market.following import follow

OFTEN = 3
"""How many times a symbol must be asked for within :data:`WITHIN_S` to count as often."""
WITHIN_S = 60.0
"""Seconds within which these times must be."""
MOST = 20
"""The most symbols that are followed at once."""
AGAIN_S = 300.0
"""Seconds after which a feed that could not be followed is tried again."""


class Watched:
    """Follows symbols once they are asked for often. Safe to use from several threads.

    Args:
        feed: makes the feed of a symbol.
        often: how many times a symbol must be asked for within :data:`WITHIN_S` to be followed.
    """

    def __init__(self, feed: Callable[[str], Feed], often: int = OFTEN) -> None:
        self._feed, self._often = feed, often
        self._lock = threading.Lock()
        self._asked: dict[str, deque[float]] = {}
        self._buffers: dict[str, MarketBuffer | None] = {}
        self._not_before: dict[str, float] = {}
        self._open: contextlib.ExitStack | None = contextlib.ExitStack()

    def price(self, symbol: str) -> tuple[float, int] | None:
        """The newest price, and its time in nanoseconds since the epoch.

        None where the symbol is not followed, not followed yet, or its price in the buffer is too old.
        """
        with self._lock:
            buffer = self._buffers.get(symbol)
            if buffer is None and self._is_often(symbol):
                self._begin(symbol)
        if buffer is None:
            return None
        value, age, stale = buffer.latest(symbol)
        return None if value is None or stale else (value, time.time_ns() - age)

    def expect(self, symbol: str) -> None:
        """Follow a symbol that will be asked for often, unless too many are followed already."""
        with self._lock:
            if self._may_follow(symbol, time.monotonic()):
                self._begin(symbol)

    def close(self) -> None:
        """Follow no symbol any more."""
        with self._lock:
            stack, self._open = self._open, None
            self._buffers.clear()
        # Outside the lock, which a thread that is connecting needs to notice that all is closed.
        if stack is not None:
            stack.close()

    def _is_often(self, symbol: str) -> bool:
        now = time.monotonic()
        times = self._asked.setdefault(symbol, deque(maxlen=self._often))
        times.append(now)
        return len(times) == self._often and now - times[0] <= WITHIN_S and self._may_follow(symbol, now)

    def _may_follow(self, symbol: str, now: float) -> bool:
        free = symbol not in self._buffers and len(self._buffers) < MOST
        return free and self._open is not None and now >= self._not_before.get(symbol, now)

    def _begin(self, symbol: str) -> None:
        # None marks a symbol that is being connected to, so that no second thread begins with it.
        self._buffers[symbol] = None
        # In a thread of its own, since a connection takes time and this question is answered without it.
        threading.Thread(target=self._follow, args=(symbol,), name=f"follow {symbol}", daemon=True).start()

    def _follow(self, symbol: str) -> None:
        own = contextlib.ExitStack()
        try:
            buffer = own.enter_context(follow(self._feed(symbol)))
        except (OpenFinGymError, OSError):
            with self._lock:
                self._buffers.pop(symbol, None)
                self._not_before[symbol] = time.monotonic() + AGAIN_S
            return
        with self._lock:
            if self._open is not None:
                self._open.push(own)
                self._buffers[symbol] = buffer
                return
        # Closed meanwhile: nobody else would close this feed.
        own.close()
