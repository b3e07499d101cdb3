"""The buffer through which agents read a live market: the newest values, their ages, and whether they are stale."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from openfingym.errors import UsageError
from openfingym.market.book import BookTop
from openfingym.market.cells import TradeBar
from openfingym.market.refresh import RateBudget, Refresher, Refreshes, Wanted
from openfingym.market.state import Snapshot
from openfingym.market.ticks import SECOND, Quote

Value = TypeVar("Value")


class Reading(NamedTuple, Generic[Value]):
    """One value, as it is known now."""

    value: Value | None
    """The newest value; None where the venue has sent none."""
    age: int
    """Nanoseconds of the monotonic clock since the venue last sent it; more than a century where it has not."""
    stale: bool
    """Whether it is older than its budget, or known to be wrong by now, as a book with missing updates."""


PlainReading = tuple[float | None, int, bool]
"""(price, age, stale), as in :class:`Reading`."""


class Read(Protocol[Value]):
    """How one quantity of a symbol is read."""

    def __call__(self, symbol: str, fresh: bool = False, wait_s: float = 1.0) -> Reading[Value]:
        """The value, in constant time. A stale one is refreshed in the background, so that a later read finds it new.

        Args:
            symbol: the symbol to read, one of those that are followed.
            fresh: whether to wait for the refresh of a stale value. The thread that carries out the refresh must not.
            wait_s: seconds to wait at most; after them the value is returned as it is.

        Raises:
            UsageError: the symbol is not followed.
        """


@dataclass(frozen=True)
class Budgets:
    """Seconds after which a value is stale, by quantity."""

    price_s: float = 5.0
    """Seconds after which the last price is stale."""
    quote_s: float = 5.0
    """Seconds after which the best bid and offer are stale."""
    book_s: float = 5.0
    """Seconds after which the order book is stale, even if no update of it is missing."""
    bar_s: float = 60.0
    """Seconds after which the newest bar is stale."""

    def __post_init__(self) -> None:
        for name, seconds in vars(self).items():
            if not 0 < seconds < 1e9:
                raise UsageError(f"a budget of {name} = {seconds} cannot be kept; expected seconds above 0")


# Places of the values in a snapshot; right after each is the instant at which the venue sent it.
_PRICE, _QUOTE, _BOOK, _BAR = (Snapshot._fields.index(name) for name in ("price", "quote", "book", "bar"))


class MarketBuffer:
    """Reads the snapshots that a :class:`~openfingym.market.state.MarketState` publishes, from any thread.

    The readers are closures, since a method call would cost more than the look-up itself. In loops read prices by
    :attr:`latest`: it takes half the time of :attr:`price`, the rest of which goes into making a named tuple.

    Args:
        snapshots: the newest snapshot of each symbol; each change replaces one by a single assignment.
        budgets: seconds after which values are stale.
        refresher: how stale values are refreshed; None where the stream alone brings values.
        rate: what refreshes may cost together; shared with all that ask the same venue. Needed with a refresher.
        workers: how many threads may ask the venue at the same time.
        pause_s: seconds between two refreshes of a symbol.
        monotonic: the clock by which the snapshots' instants were taken, in nanoseconds.

    Raises:
        UsageError: a refresher is given without a rate budget, or a rate budget without a refresher.
    """

    __slots__ = ("_monotonic", "_price_budget", "_refreshes", "_snapshots", "bar", "book", "latest", "price", "quote")

    def __init__(
        self,
        snapshots: Mapping[str, Snapshot],
        budgets: Budgets | None = None,
        *,
        refresher: Refresher | None = None,
        rate: RateBudget | None = None,
        workers: int = 4,
        pause_s: float = 0.5,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if (refresher is None) != (rate is None):
            raise UsageError("a refresher and the rate budget that it shares go together: give both or none")
        budgets = budgets or Budgets()
        self._snapshots = snapshots
        self._monotonic = monotonic
        self._refreshes = (
            Refreshes(refresher, rate, workers=workers, pause_s=pause_s, monotonic=monotonic)
            if refresher is not None and rate is not None
            else None
        )
        self._price_budget = round(budgets.price_s * SECOND)
        self.price: Read[float] = self._reader(_PRICE, budgets.price_s, "latest")
        """The newest trade's price."""
        self.quote: Read[Quote] = self._reader(_QUOTE, budgets.quote_s, "latest")
        """The best bid and offer."""
        self.book: Read[BookTop] = self._reader(_BOOK, budgets.book_s, "book")
        """The best levels of the order book."""
        self.bar: Read[TradeBar] = self._reader(_BAR, budgets.bar_s, "latest")
        """The bar of the newest trade, as far as it has come."""
        self.latest: Callable[[str], PlainReading] = self._plain_reader(budgets.price_s)
        """The newest trade's price as a plain tuple (price, age, stale), refreshed as :attr:`price` is."""

    def prices(self, symbols: Iterable[str], fresh: bool = False, wait_s: float = 1.0) -> dict[str, Reading[float]]:
        """Prices of several symbols; what is stale is refreshed together. See :class:`Read`."""
        read, budget = self._current_reading, self._price_budget
        readings: dict[str, Reading[float]] = {symbol: read(_PRICE, budget, symbol) for symbol in symbols}
        stale = [symbol for symbol, reading in readings.items() if reading.stale]
        if stale and self._refreshes is not None:
            flights = self._refreshes.ask("latest", stale)
            if fresh:
                wait(flights, wait_s)
                readings |= {symbol: read(_PRICE, budget, symbol) for symbol in stale}
        return readings

    def close(self) -> None:
        """End the workers; values can still be read."""
        if self._refreshes is not None:
            self._refreshes.close()

    def _reader(self, field: int, budget_s: float, wanted: Wanted) -> Read[Value]:
        snapshots: Mapping[str, tuple[Any, ...]] = self._snapshots
        # tuple.__new__ makes a named tuple in half the time of calling its class.
        monotonic, new, budget = self._monotonic, tuple.__new__, round(budget_s * SECOND)
        sent_at = field + 1
        of_book = field == _BOOK
        refreshed = self._refreshed

        def read(symbol: str, fresh: bool = False, wait_s: float = 1.0) -> Reading[Value]:
            try:
                snapshot = snapshots[symbol]
            except KeyError:
                raise _unknown(symbol, self._snapshots) from None
            age = monotonic() - snapshot[sent_at]
            if age > budget or (of_book and snapshot[_BOOK].stale):
                return refreshed(field, budget, wanted, symbol, fresh, wait_s)
            return new(Reading, (snapshot[field], age, False))

        return read

    def _plain_reader(self, budget_s: float) -> Callable[[str], PlainReading]:
        snapshots, monotonic, budget = self._snapshots, self._monotonic, round(budget_s * SECOND)
        refreshed = self._refreshed

        def latest(symbol: str) -> PlainReading:
            try:
                snapshot = snapshots[symbol]
            except KeyError:
                raise _unknown(symbol, snapshots) from None
            age = monotonic() - snapshot[2]  # price_at, and below price: by number, which is quicker than by name
            if age > budget:
                return refreshed(_PRICE, budget, "latest", symbol, False, 0.0)
            return snapshot[1], age, False

        return latest

    def _refreshed(
        self, field: int, budget: int, wanted: Wanted, symbol: str, fresh: bool, wait_s: float
    ) -> Reading[Any]:
        """A reading of a stale value, refreshed if it may be."""
        refreshes = self._refreshes
        # A reader that does not wait first checks, without a lock, whether asking would change anything.
        if refreshes is not None and (fresh or not refreshes.pending(wanted, symbol)):
            flights = refreshes.ask(wanted, (symbol,))
            if fresh:
                wait(flights, wait_s)
        return self._current_reading(field, budget, symbol)

    def _current_reading(self, field: int, budget: int, symbol: str) -> Reading[Any]:
        """A reading of the newest value, whatever its age."""
        try:
            snapshot = self._snapshots[symbol]
        except KeyError:
            raise _unknown(symbol, self._snapshots) from None
        cells: tuple[Any, ...] = snapshot
        value = None if field == _PRICE and snapshot.trade is None else cells[field]  # where a snapshot has NaN
        age = self._monotonic() - cells[field + 1]
        return Reading(value, age, age > budget or (field == _BOOK and snapshot.book.stale))


def _unknown(symbol: str, snapshots: Mapping[str, Snapshot]) -> UsageError:
    return UsageError(f"{symbol!r} is not followed; expected one of {', '.join(snapshots) or 'none'}")
