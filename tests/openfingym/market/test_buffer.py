"""What agents read: value, age and staleness, and refreshes that are batched, shared, bounded and never go back."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from openfingym.errors import UsageError, VenueError
from openfingym.market.buffer import Budgets, MarketBuffer, Reading
from openfingym.market.commands import Instant
from openfingym.market.feed import Request
from openfingym.market.refresh import RateBudget, Refreshes, Wanted
from openfingym.market.state import MarketState
from openfingym.market.ticks import SECOND, Depth, Quote, Trade

SYMBOLS = ("A", "B", "C", "D")
START = 1_767_225_600 * SECOND
BUDGETS = Budgets(price_s=1.0, quote_s=2.0, book_s=3.0, bar_s=4.0)
LONG = 20.0
"""Seconds that only a test that fails waits."""


class Venue:
    """A market whose clock stands still until a test moves it, and a refresher that a test can hold up."""

    def __init__(self, *, batched: bool = True, weight: int = 2) -> None:
        self.now = 1000 * SECOND
        self.state = MarketState(SYMBOLS)
        self.asked: list[tuple[str, ...]] = []
        self.threads: set[int] = set()
        self.batched, self.weight = batched, weight
        self.go, self.at_once = threading.Event(), threading.Semaphore(0)
        self.go.set()
        self.failing: Exception | None = None
        self.answer: Callable[[str], Trade] = lambda symbol: trade(symbol, 100, 50.0)
        self._lock = threading.Lock()

    def monotonic(self) -> int:
        return self.now

    def tell(self, tick: Trade | Quote | Depth) -> None:
        self.state.apply(tick, Instant(self.now, START))

    def requests(self, wanted: Wanted, symbols: Sequence[str]) -> list[Request]:
        if wanted == "book":
            return []
        groups = [symbols] if self.batched else [[symbol] for symbol in symbols]
        return [Request("GET", ",".join(group), self.weight) for group in groups]

    def refresh(self, request: Request) -> None:
        with self._lock:
            self.asked.append(tuple(request.path.split(",")))
            self.threads.add(threading.get_ident())
        self.at_once.release()
        assert self.go.wait(LONG)
        if self.failing is not None:
            raise self.failing
        with self._lock:
            for symbol in request.path.split(","):
                self.tell(self.answer(symbol))


@contextmanager
def buffer_of(venue: Venue, *, per_minute: float = 6000.0, pause_s: float = 0.5) -> Iterator[MarketBuffer]:
    rate = RateBudget(per_minute, monotonic=venue.monotonic)
    buffer = MarketBuffer(
        venue.state.snapshots, BUDGETS, refresher=venue, rate=rate, pause_s=pause_s, monotonic=venue.monotonic
    )
    try:
        yield buffer
    finally:
        venue.go.set()
        buffer.close()


def trade(symbol: str, number: int, price: float) -> Trade:
    return Trade(symbol, number, price, 1.0, START + number * SECOND, 1, "G")


def test_each_quantity_has_its_age_and_its_own_budget() -> None:
    venue = Venue()
    buffer = MarketBuffer(venue.state.snapshots, BUDGETS, monotonic=venue.monotonic)
    venue.tell(trade("A", 1, 10.0))
    venue.now += SECOND // 2
    venue.tell(Quote("A", 9.0, 1.0, 11.0, 1.0, START))
    venue.tell(Depth("A", ((9.0, 1.0),), ((11.0, 1.0),), 1, 1, 0, whole=True))
    venue.now += SECOND // 2
    assert buffer.price("A") == (10.0, SECOND, False) == buffer.latest("A")
    assert buffer.bar("A").value == venue.state.snapshots["A"].bar
    quote, book = buffer.quote("A"), buffer.book("A")
    assert (quote.value, quote.age) == (venue.state.snapshots["A"].quote, SECOND // 2)
    assert (book.value, book.age) == (venue.state.snapshots["A"].book, SECOND // 2)
    stale = []
    for _ in range(5):
        venue.now += 1
        stale.append([read("A").stale for read in (buffer.price, buffer.quote, buffer.book, buffer.bar)])
        assert buffer.latest("A") == buffer.price("A")
        venue.now += SECOND - 1
    assert [row.count(True) for row in stale] == [1, 1, 2, 4, 4]


def test_what_was_never_told_is_none_and_stale() -> None:
    venue = Venue()
    buffer = MarketBuffer(venue.state.snapshots, BUDGETS, monotonic=venue.monotonic)
    for read in (buffer.price, buffer.quote, buffer.bar):
        reading = read("A")
        assert (reading.value, reading.stale) == (None, True)
        assert reading.age > 10**18
    assert buffer.latest("A")[::2] == (None, True)
    assert (buffer.book("A").stale, buffer.price("A", fresh=True).stale) == (True, True)


def test_a_book_with_missing_updates_is_stale_however_new() -> None:
    venue = Venue()
    buffer = MarketBuffer(venue.state.snapshots, BUDGETS, monotonic=venue.monotonic)
    venue.tell(Depth("A", ((9.0, 1.0),), ((11.0, 1.0),), 1, 1, 0, whole=True))
    venue.tell(Depth("A", ((10.0, 1.0),), (), 3, 3, 0, whole=False))
    reading = buffer.book("A")
    assert (reading.age, reading.stale) == (0, True)
    assert reading.value is not None
    assert reading.value.bids == ((9.0, 1.0),)


def test_a_reading_is_a_named_tuple_and_can_be_pickled() -> None:
    venue = Venue()
    venue.tell(trade("A", 1, 10.0))
    reading = MarketBuffer(venue.state.snapshots, monotonic=venue.monotonic).price("A")
    assert type(reading) is Reading
    assert pickle.loads(pickle.dumps(reading)) == reading
    assert reading._replace(age=3) == Reading(10.0, 3, False)


def test_symbols_budgets_and_arguments_that_are_wrong() -> None:
    venue = Venue()
    buffer = MarketBuffer(venue.state.snapshots, monotonic=venue.monotonic)
    for read in (buffer.price, buffer.latest, lambda symbol: buffer.prices([symbol])):
        with pytest.raises(UsageError, match="'X' is not followed; expected one of A, B, C, D"):
            read("X")
    with pytest.raises(UsageError, match="give both or none"):
        MarketBuffer(venue.state.snapshots, refresher=venue)
    with pytest.raises(UsageError, match="quote_s = 0"):
        Budgets(quote_s=0)
    with pytest.raises(UsageError, match="allows no request"):
        RateBudget(0)


def test_a_reader_that_wants_it_fresh_waits_for_the_refresh() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("A", 1, 10.0))
        venue.now += 2 * SECOND
        assert buffer.price("A", fresh=True, wait_s=LONG) == (50.0, 0, False)
        assert buffer.price("A", fresh=True, wait_s=LONG) == (50.0, 0, False)
        assert venue.asked == [("A",)]


def test_a_reader_that_waits_long_enough_gets_what_there_is() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("A", 1, 10.0))
        venue.now += 2 * SECOND
        venue.go.clear()
        assert buffer.price("A", fresh=True, wait_s=0.01) == (10.0, 2 * SECOND, True)


def test_a_stale_read_refreshes_in_the_background() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("A", 1, 10.0))
        venue.now += 2 * SECOND
        venue.go.clear()
        assert buffer.latest("A") == (10.0, 2 * SECOND, True)
        assert venue.at_once.acquire(timeout=LONG)
        for _ in range(100):
            assert buffer.price("A").stale
        venue.go.set()
        assert buffer.price("A", fresh=True, wait_s=LONG) == (50.0, 0, False)
        assert venue.asked == [("A",)]


def test_many_readers_of_one_symbol_share_one_request() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.go.clear()
        got: list[Reading[float]] = []
        readers = [
            threading.Thread(target=lambda: got.append(buffer.price("A", fresh=True, wait_s=LONG))) for _ in range(12)
        ]
        for reader in readers:
            reader.start()
        assert venue.at_once.acquire(timeout=LONG)
        venue.go.set()
        for reader in readers:
            reader.join(LONG)
        assert got == [(50.0, 0, False)] * 12
        assert venue.asked == [("A",)]


def test_stale_symbols_are_asked_for_together() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("B", 1, 10.0))
        got = buffer.prices(SYMBOLS, fresh=True, wait_s=LONG)
        assert [reading.value for reading in got.values()] == [50.0, 10.0, 50.0, 50.0]
        assert venue.asked == [("A", "C", "D")]


def test_where_the_venue_knows_no_batches_workers_ask_at_the_same_time() -> None:
    venue = Venue(batched=False)
    with buffer_of(venue) as buffer:
        venue.go.clear()
        buffer.prices(SYMBOLS)
        for _ in SYMBOLS:  # all four are out before any is answered
            assert venue.at_once.acquire(timeout=LONG)
        venue.go.set()
        assert not any(reading.stale for reading in buffer.prices(SYMBOLS, fresh=True, wait_s=LONG).values())
        assert sorted(venue.asked) == [("A",), ("B",), ("C",), ("D",)]
        first = set(venue.threads)
        venue.now += 2 * SECOND
        buffer.prices(SYMBOLS, fresh=True, wait_s=LONG)
        assert venue.threads == first


def test_an_answer_that_is_older_than_the_stream_changes_nothing() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("A", 1, 10.0))
        venue.now += 2 * SECOND
        venue.go.clear()
        assert buffer.price("A").stale
        assert venue.at_once.acquire(timeout=LONG)
        venue.tell(trade("A", 200, 77.0))
        venue.go.set()
        venue.now += 2 * SECOND
        assert buffer.price("A", fresh=True, wait_s=LONG) == (77.0, 2 * SECOND, True)


def test_a_storm_of_stale_symbols_stays_within_the_shared_budget() -> None:
    venue = Venue(batched=False, weight=2)
    with buffer_of(venue, per_minute=4.0) as buffer:
        for _ in range(50):
            buffer.prices(SYMBOLS, fresh=True, wait_s=LONG)
        assert len(venue.asked) == 2
        venue.now += 30 * SECOND  # earns one more request
        buffer.prices(SYMBOLS, fresh=True, wait_s=LONG)
        assert len(venue.asked) == 3


def test_what_failed_is_not_asked_again_at_once_and_the_next_refresh_works() -> None:
    venue = Venue()
    venue.failing = VenueError("it is down")
    with buffer_of(venue, pause_s=5.0) as buffer:
        for _ in range(3):
            assert buffer.price("A", fresh=True, wait_s=LONG).stale
        assert len(venue.asked) == 1
        venue.failing = None
        venue.now += 5 * SECOND
        assert buffer.price("A", fresh=True, wait_s=LONG) == (50.0, 0, False)


def test_a_refresher_with_a_fault_of_its_own_leaves_no_reader_waiting() -> None:
    venue = Venue()
    venue.failing = ZeroDivisionError("a bug")
    refreshes = Refreshes(venue, RateBudget(60.0), monotonic=venue.monotonic)
    for flight in refreshes.ask("latest", ["A", "B"]):
        flight.result(LONG)
    assert refreshes.error is venue.failing
    venue.requests = lambda wanted, symbols: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    for flight in refreshes.ask("latest", ["C"]):
        flight.result(LONG)
    assert isinstance(refreshes.error, ZeroDivisionError)
    refreshes.close()


def test_what_the_venue_cannot_be_asked_for_ends_at_once() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        assert buffer.book("A", fresh=True, wait_s=LONG).stale
        assert venue.asked == []


def test_closing_leaves_no_reader_waiting() -> None:
    venue = Venue()
    with buffer_of(venue) as buffer:
        venue.tell(trade("A", 1, 10.0))
    venue.now += 2 * SECOND
    assert buffer.price("A", fresh=True, wait_s=LONG) == (10.0, 2 * SECOND, True)


def test_the_rate_budget_holds_no_more_than_a_minute() -> None:
    clock = Venue()
    budget = RateBudget(60.0, monotonic=clock.monotonic)
    assert budget.take(60)
    assert not budget.take(1)
    clock.now += SECOND
    assert budget.take(1)
    assert not budget.take(0.5)
    clock.now += 3600 * SECOND
    assert budget.take(60)
    assert not budget.take(1)


def test_readers_see_whole_snapshots_while_another_thread_changes_them() -> None:
    """Price, bar and book of a snapshot belong together, however the threads take turns."""
    venue = Venue()
    buffer = MarketBuffer(venue.state.snapshots, monotonic=venue.monotonic)
    torn, stop = [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            snapshot = venue.state.snapshots["A"]
            book = buffer.book("A").value
            if snapshot.bar is not None and snapshot.bar.close != snapshot.price:
                torn.append(snapshot)
            if book is not None and book.bids and book.bids[0][0] >= book.asks[0][0]:
                torn.append(book)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 3000):
        venue.tell(trade("A", number, float(number)))
        price = float(number)
        venue.tell(Depth("A", ((price, 1.0),), ((price + 0.5, 1.0),), number, number, 0, whole=True))
    stop.set()
    reader.join(LONG)
    assert torn == []
