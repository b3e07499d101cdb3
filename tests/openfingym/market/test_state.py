"""The state of a market: never older for newer, gaps that are seen and filled, the same from the same inputs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym.market.commands import Instant
from openfingym.market.state import NEVER, MarketState, Snapshot
from openfingym.market.stretches import STRETCHES
from openfingym.market.ticks import SECOND, Correction, Depth, Halt, Quote, ServerBar, Tick, Trade

START = 1_767_225_600 * SECOND


def at(monotonic: int = 0) -> Instant:
    return Instant(monotonic, START)


def trade(number: int, *, group: str = "", price: float | None = None, time: float | None = None) -> Trade:
    """The trade of that number, one a second unless another time is given."""
    when = START + round((number if time is None else time) * SECOND)
    return Trade("S", number, 100.0 + number % 7 if price is None else price, 0.1 * (number % 5 + 1), when, 1, group)


def quote(sequence: int, *, time: int = 0, bid: float = 99.0) -> Quote:
    return Quote("S", bid, 1.0, bid + 1.0, 1.0, time, sequence)


def state_of(*ticks: Tick) -> MarketState:
    state = MarketState(["S"], intervals=(5 * SECOND,))
    for number, tick in enumerate(ticks):
        state.apply(tick, at(number))
    return state


def seen(state: MarketState) -> Snapshot:
    return state.snapshots["S"]


def complete(state: MarketState, end: int = 30) -> list[bool]:
    return [bar.complete for bar in state.bars("S").bars(5 * SECOND, START + 5 * SECOND, START + end * SECOND)]


def test_before_anything_comes_there_is_nothing_and_it_is_old() -> None:
    snapshot = seen(state_of())
    assert (snapshot.trade, snapshot.quote, snapshot.bar, snapshot.book.bids) == (None, None, None, ())
    assert snapshot.price != snapshot.price
    assert {snapshot.price_at, snapshot.quote_at, snapshot.book_at, snapshot.bar_at} == {NEVER}
    assert not state_of().wants_book("S")


def test_a_symbol_that_is_not_followed() -> None:
    state = state_of()
    state.apply(trade(1)._replace(symbol="T"), at())
    assert list(state.snapshots) == ["S"]
    for ask in (state.gap_of, state.wants_book, state.bars):
        with pytest.raises(UsageError, match="'T' is not followed; expected one of S"):
            ask("T")


def test_a_step_of_more_than_one_is_a_gap_until_it_is_filled() -> None:
    state = state_of(*(trade(n) for n in range(1, 8)), *(trade(n) for n in range(13, 31)))
    assert state.gap_of("S") == trade(7)
    assert (seen(state).gap, seen(state).price) == (True, trade(30).price)
    assert complete(state) == [False, False, True, True, True]
    state.filled("S", [trade(8), trade(9)], at())
    assert state.gap_of("S") == trade(9)
    state.filled("S", [], at())  # its answers lag behind its stream
    assert state.gap_of("S") == trade(9)
    state.filled("S", [trade(n) for n in range(9, 14)], at())
    assert state.gap_of("S") is None
    assert complete(state) == [True] * 5
    assert (seen(state).gap, seen(state).price) == (False, trade(30).price)
    assert state.bars("S").canonical() == state_of(*(trade(n) for n in range(1, 31))).bars("S").canonical()


def test_after_a_lost_connection_the_next_number_proves_that_nothing_is_missing() -> None:
    state = state_of(trade(1), trade(2))
    state.lost(["S"], at())
    assert (state.gap_of("S"), seen(state).gap) == (trade(2), True)
    state.apply(trade(3), at())
    assert (state.gap_of("S"), seen(state).gap) == (None, False)
    state.lost(["S"], at())
    state.filled("S", [trade(4)], at())
    assert state.gap_of("S") == trade(4)  # there may be more
    state.filled("S", [], at())
    assert state.gap_of("S") is None


def test_where_ids_do_not_count_up_a_lost_connection_is_a_gap() -> None:
    state = MarketState(["S"], intervals=(5 * SECOND,))
    for n in (1, 2, 7, 6):
        state.apply(trade(n, group="D"), at())
    assert state.gap_of("S") is None
    state.lost(["S"], at())
    assert state.gap_of("S") == trade(7, group="D")
    state.apply(trade(5, group="D"), at())  # late: it says nothing of when the stream began again
    state.apply(trade(12, group="D"), at(), answer=True)  # nor does this
    state.apply(trade(22, group="D"), at())
    state.apply(trade(25, group="D"), at())
    assert state.gap_of("S") == trade(7, group="D")
    assert complete(state) == [False, False, False, False, True]
    state.filled("S", [trade(8, group="D"), trade(12, group="D")], at())
    assert state.gap_of("S") == trade(12, group="D")
    state.filled("S", [trade(22, group="D")], at())
    assert state.gap_of("S") is None
    assert complete(state) == [True] * 5
    state.lost(["S"], at())
    state.filled("S", [], at())
    assert state.gap_of("S") is None


def test_a_gap_that_is_given_up_leaves_its_bars_incomplete() -> None:
    state = state_of(*(trade(n) for n in (1, 2, 14, 15, 21)))
    state.give_up("S", at())
    assert (state.gap_of("S"), complete(state)) == (trade(15), [False, False, False, False, True])
    state.give_up("S", at())
    assert (state.gap_of("S"), complete(state)) == (None, [False, False, False, False, True])
    state.lost(["S"], at())
    state.give_up("S", at())
    assert state.gap_of("S") is None


def test_the_memory_of_gaps_is_bounded() -> None:
    state = state_of(*(trade(2 * n) for n in range(1, 3 * STRETCHES)))
    assert len(state._markets["S"].stretches.stretches) == STRETCHES
    assert not any(complete(state, 300))


def test_a_venue_that_counts_anew_is_followed() -> None:
    state = state_of(trade(500), trade(501), trade(1, time=5000), trade(2, time=5001))
    assert (state.gap_of("S"), seen(state).trade) == (None, trade(2, time=5001))


def test_an_older_trade_changes_the_bar_and_not_the_price() -> None:
    state = state_of(trade(2), trade(3), trade(1, price=500.0))
    assert (seen(state).price, seen(state).price_at) == (trade(3).price, 1)
    assert seen(state).bar is not None
    assert seen(state).bar.high == 500.0  # type: ignore[union-attr]


def test_a_repeated_newest_trade_shows_that_it_still_is() -> None:
    state = state_of(trade(1), trade(2))
    state.apply(trade(1), at(50))
    assert seen(state).price_at == 1
    state.apply(trade(2), at(60))
    assert (seen(state).price_at, seen(state).bar_at) == (60, 1)


def test_a_price_without_a_time_replaces_only_what_was_received_before() -> None:
    asked = Trade("S", 0, 50.0, 0.0, 0, 0, "latest", prices=False)
    state = state_of(trade(1))
    state.apply(trade(2), at(20))
    state.apply(asked, at(10))
    assert seen(state).price == trade(2).price
    state.apply(asked, at(30))
    assert (seen(state).price, seen(state).price_at, state.gap_of("S")) == (50.0, 30, None)
    state.apply(trade(2), at(40))
    assert seen(state).price == 50.0
    state.apply(trade(3), at(50))
    assert seen(state).price == trade(3).price
    assert state.bars("S").current().trades == 3  # type: ignore[union-attr]


def test_an_older_quote_is_ignored_also_after_one_without_a_number() -> None:
    state = state_of(quote(5, bid=5.0), quote(4, bid=4.0))
    assert seen(state).quote == quote(5, bid=5.0)
    state.apply(quote(0, bid=9.0), at(9))
    state.apply(quote(4, bid=4.0), at(10))
    state.apply(quote(5, bid=5.0), at(11))
    assert (seen(state).quote, seen(state).quote_at) == (quote(0, bid=9.0), 9)
    state.apply(quote(0, bid=8.0), at(3))
    assert seen(state).quote == quote(0, bid=9.0)
    state.apply(quote(6, bid=6.0), at(12))
    assert seen(state).quote == quote(6, bid=6.0)
    timed = state_of(quote(0, time=20), quote(0, time=10, bid=1.0))
    assert seen(timed).quote == quote(0, time=20)


def test_impossible_numbers_are_not_taken_in_and_are_said_to_be_missing() -> None:
    state = state_of(trade(1), quote(1))
    before = seen(state)
    for tick in (trade(2, price=float("nan")), trade(2)._replace(size=-1.0), quote(2, bid=float("inf"))):
        state.apply(tick, at())
    assert (seen(state).trade, seen(state).quote, seen(state).gap) == (before.trade, before.quote, True)
    state.apply(Correction("S", 1, "", trade(1, price=float("nan"))), at())
    assert seen(state).bar == before.bar


def test_sizes_whose_sum_is_no_number_are_not_taken_in() -> None:
    state = state_of(trade(1), *(trade(number)._replace(size=1e308) for number in (2, 3, 4)))
    bar = seen(state).bar
    assert bar is not None
    assert (bar.trades, bar.volume, bar.complete) == (1, trade(1).size, False)
    assert state.gap_of("S") == trade(1)


def test_a_cancelled_newest_trade_gives_way_to_the_one_before() -> None:
    state = state_of(trade(1, group="D"), trade(2, group="D"))
    state.apply(Correction("S", 2, "D", None), at(9))
    assert (seen(state).trade, seen(state).price_at) == (trade(1, group="D"), 9)
    state.apply(trade(2, group="D"), at(10))
    assert seen(state).trade == trade(1, group="D")
    state.apply(Correction("S", 3, "D", None), at(11))
    state.apply(trade(3, group="D"), at(12))
    assert seen(state).trade == trade(1, group="D")
    state.apply(Correction("S", 1, "D", trade(9, group="D")), at(13))
    assert seen(state).trade == trade(9, group="D")
    state.apply(Correction("S", 9, "D", None), at(14))
    assert (seen(state).trade, seen(state).price_at) == (None, NEVER)


def test_trading_halts_and_resumes() -> None:
    state = state_of(Halt("S", True, "T12", 5))
    state.apply(Halt("S", False, "", 3), at())
    assert seen(state).halted
    state.apply(Halt("S", False, "", 6), at())
    assert not seen(state).halted


def test_bars_of_the_venue_are_kept_but_those_of_quotes() -> None:
    bar = ServerBar("S", START, 60 * SECOND, 1.0, 2.0, 0.5, 1.5, 10.0, 3, final=False)
    state = state_of(bar, bar._replace(begin=START - 60 * SECOND), bar._replace(trades=0, begin=START + 60 * SECOND))
    assert state.server_bar("S", 60 * SECOND) == bar
    state.apply(bar._replace(final=True), at())
    state.apply(bar, at())
    assert state.server_bar("S", 60 * SECOND) == bar._replace(final=True)
    assert (state.server_bar("S", SECOND), seen(state).bar) == (None, None)


def test_a_book_is_wanted_from_its_first_change_until_it_is_whole() -> None:
    change = Depth("S", ((99.0, 2.0),), (), 11, 11, 0, whole=False)
    state = state_of(change)
    assert state.wants_book("S")
    state.apply(Depth("S", ((98.0, 1.0),), ((101.0, 1.0),), 10, 10, 0, whole=True), at(7))
    assert (state.wants_book("S"), seen(state).book.stale, seen(state).book_at) == (False, False, 7)
    before = seen(state).book
    state.apply(Depth("S", (), ((101.5, 1.0),), 13, 13, 0, whole=False), at(8))
    assert (seen(state).book, seen(state).book_at) == (before._replace(stale=True), 7)
    state.apply(Depth("S", (), (), 12, 12, 0, whole=False), at(9))
    assert (state.wants_book("S"), seen(state).book_at) == (False, 9)
    state.lost(["S"], at(10))
    assert (state.wants_book("S"), seen(state).book.stale) == (True, True)


def test_equal_inputs_give_an_equal_digest_and_others_do_not() -> None:
    ticks = [trade(1), quote(3), trade(5), Depth("S", ((1.0, 1.0),), (), 4, 4, 0, whole=False)]
    assert state_of(*ticks).digest() == state_of(*ticks).digest()
    digests = {state_of(*ticks[:n]).digest() for n in range(5)}
    lost = state_of(*ticks)
    lost.lost(["S"], at())
    assert len(digests | {lost.digest()}) == 6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(2, 40), st.floats(0, 0.4), st.booleans())
def test_whatever_order_it_comes_in_the_state_is_equal_or_flagged(
    rng: random.Random, count: int, drops: float, numbered: bool
) -> None:
    """Trades permuted, repeated and dropped; quotes beside them, by number or by time."""
    trades = [trade(n) for n in range(1, count + 1)]
    quotes = [quote(n if numbered else 0, time=START + n, bid=float(n)) for n in range(1, 9)]
    expected = state_of(*trades)
    came = [one for one in trades if rng.random() >= drops] or trades[:1]
    ticks: list[Tick] = [*came, *rng.sample(came, len(came) // 3), *quotes, *quotes[::3]]
    rng.shuffle(ticks)
    state = MarketState(["S"], intervals=(5 * SECOND,))
    newest = 0
    for tick in ticks:
        state.apply(tick, at())
        shown = seen(state).trade
        if shown is not None:
            assert shown.id >= newest
            newest = shown.id
    assert seen(state).quote == quotes[-1]
    assert seen(state).trade == came[-1]
    between = came[-1].id - came[0].id + 1
    assert seen(state).gap is (len(came) < between)
    for bar in state.bars("S").bars(5 * SECOND, START, came[-1].time + 1):
        inside = [one for one in trades if bar.begin <= one.time < bar.begin + bar.interval]
        if bar.complete:
            assert bar.trades == len([one for one in inside if one.id <= came[-1].id])
    while (gap := state.gap_of("S")) is not None:
        state.filled("S", trades[gap.id : gap.id + rng.randint(1, 9)], at())
    if came[0] == trades[0] and came[-1] == trades[-1]:
        assert state.bars("S").canonical() == expected.bars("S").canonical()
        assert seen(state).trade == seen(expected).trade


class Heard:
    """Keeps what a listener is told, and whether the state showed it by then."""

    def __init__(self, state: MarketState) -> None:
        self.state = state
        self.told: list[tuple[Tick | str, int]] = []
        state.listeners.append(self)

    def heard(self, tick: Tick, at: int) -> None:
        if isinstance(tick, Quote):
            assert seen(self.state).quote == tick
        self.told.append((tick, at))

    def lost(self, symbol: str) -> None:
        assert seen(self.state).book.stale
        self.told.append((symbol, 0))


@pytest.mark.parametrize("group", ["", "V"])
def test_a_listener_hears_each_trade_once_and_of_what_is_lost(group: str) -> None:
    state = state_of()
    heard = Heard(state)
    one, two, three, four = (trade(number, group=group) for number in (1, 2, 3, 4))
    for number, tick in enumerate((one, one, three, two, two, three)):
        state.apply(tick, at(number))
    late = [(one, 0), (three, 2), (two, 3)]
    assert heard.told == late
    state.lost(["S"], at(6))
    state.filled("S", [three, four], at(7))
    state.filled("S", [three, four], at(8))
    assert heard.told == [*late, ("S", 0), (four, 7)]


def test_a_listener_hears_of_quotes_and_books_that_are_new_and_not_of_corrected_trades() -> None:
    state = state_of()
    heard = Heard(state)
    book = Depth("S", ((9.0, 1.0),), ((11.0, 1.0),), 3, 3, 0, whole=True)
    halt = Halt("S", True, "", START)
    for tick in (quote(2), quote(1), book, book, halt, trade(1)._replace(symbol="T")):
        state.apply(tick, at())
    assert [tick for tick, _ in heard.told] == [quote(2), book, halt]
    other = trade(1, price=50.0)
    state.apply(Correction("S", 1, "", other), at())
    state.apply(Correction("S", 2, "", None), at())
    state.apply(trade(1), at())
    state.apply(trade(2), at())
    state.apply(Trade("S", 0, 5.0, 0.0, 0, 0, "latest", prices=False), at(9))  # a price that was asked for
    assert len(heard.told) == 3
