"""The local order book against a venue's own book, whatever is lost, repeated or late on the way."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.book import SHOWN, WAITING, LocalBook
from openfingym.market.ticks import Depth, Level


def change(first: int, last: int, bids: tuple[Level, ...] = (), asks: tuple[Level, ...] = (), time: int = 0) -> Depth:
    return Depth("S", bids, asks, first, last, time, whole=False)


def whole(last: int, bids: tuple[Level, ...], asks: tuple[Level, ...], time: int = 0, most: int = 0) -> Depth:
    return Depth("S", bids, asks, last, last, time, whole=True, most=most)


class Venue:
    """A book that changes at random and is never crossed; independent of the code under test."""

    def __init__(self, seed: int, levels: int = 60) -> None:
        self.random = random.Random(seed)
        self.bids = {100.0 - n: 1.0 for n in range(1, levels)}
        self.asks = {100.0 + n: 1.0 for n in range(1, levels)}
        self.last = 1000
        self.time = 1_000_000

    def step(self) -> Depth:
        """One event of one to three numbered updates; now and then the spread moves through the old levels."""
        first, moved = self.last + 1, (dict[float, float](), dict[float, float]())
        for _ in range(self.random.randint(1, 3)):
            self.last += 1
            side = self.random.randrange(2)
            own, other = (self.bids, self.asks) if side == 0 else (self.asks, self.bids)
            price = self.random.randint(60, 140) + 0.0
            size = self.random.choice([0.0, 1.5, 2.5])
            if size:
                for crossed in [p for p in other if (p <= price if side == 0 else p >= price)]:
                    del other[crossed]
                    moved[1 - side][crossed] = 0.0
                own[price] = size
            else:
                own.pop(price, None)  # of an unknown level: venues do this
            moved[side][price] = size
        self.time += 100
        return change(first, self.last, tuple(moved[0].items()), tuple(moved[1].items()), self.time)

    def best(self) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
        return tuple(sorted(self.bids.items(), reverse=True)[:SHOWN]), tuple(sorted(self.asks.items())[:SHOWN])

    def snapshot(self, *, numbered: bool = True, most: int = 0) -> Depth:
        bids, asks = sorted(self.bids.items(), reverse=True), sorted(self.asks.items())
        end = most or None
        return whole(self.last if numbered else 0, tuple(bids[:end]), tuple(asks[:end]), self.time, most)


def shown(book: LocalBook) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    return book.top.bids, book.top.asks


BIDS, ASKS = ((99.0, 1.0),), ((101.0, 1.0),)


def test_the_first_event_overlaps_the_whole_book_and_the_number_never_goes_back() -> None:
    book = LocalBook()
    assert not book.apply(change(155, 162, ((98.0, 5.0),)))
    assert book.stale
    book.apply(whole(160, BIDS, ASKS))
    assert (book.stale, book.sequence) == (False, 162)
    assert book.top.bids == ((99.0, 1.0), (98.0, 5.0))
    assert not book.apply(change(150, 161, ((99.0, 0.0),)))
    assert not book.apply(whole(161, ((1.0, 1.0),), ()))
    assert (book.sequence, book.top.bids) == (162, ((99.0, 1.0), (98.0, 5.0)))


def test_the_first_event_may_begin_right_after_the_whole_book() -> None:
    book = LocalBook()
    book.apply(change(161, 161, ((98.0, 5.0),)))
    book.apply(whole(160, BIDS, ASKS))
    assert (book.stale, book.sequence) == (False, 161)


def test_a_whole_book_older_than_what_waits_is_of_no_use_and_nothing_that_waits_is_lost() -> None:
    book = LocalBook()
    book.apply(change(170, 172, ((98.0, 5.0),)))
    book.apply(change(173, 173, ((97.0, 6.0),)))
    book.apply(whole(160, BIDS, ASKS))
    assert book.reason == "changes 161 to 169 are missing"
    assert book.top.stale
    assert book.top.bids == ()
    book.apply(whole(171, BIDS, ASKS))
    assert (book.stale, book.sequence) == (False, 173)
    assert book.top.bids == ((99.0, 1.0), (98.0, 5.0), (97.0, 6.0))


def test_a_gap_makes_it_stale_and_readers_keep_the_last_whole_state() -> None:
    book = LocalBook()
    book.apply(whole(10, BIDS, ASKS))
    before = book.top
    assert book.apply(change(12, 12, ((99.0, 0.0),)))
    assert book.top == before._replace(stale=True)
    assert "changes 11 to 11 are missing" in book.reason
    book.apply(change(13, 14, ((97.0, 3.0),)))
    book.apply(change(11, 11, ((98.0, 2.0),)))  # by a second connection, say
    assert (book.stale, book.sequence) == (False, 14)
    assert book.top.bids == ((98.0, 2.0), (97.0, 3.0))


def test_after_a_lost_connection_the_numbers_tell_whether_anything_is_missing() -> None:
    book = LocalBook()
    book.apply(whole(10, BIDS, ASKS))
    book.lost("the connection is lost")
    assert book.top.stale
    book.apply(change(11, 12, ((98.0, 2.0),)))
    assert not book.top.stale
    book.lost("the connection is lost")
    book.apply(change(14, 14))
    assert book.stale
    book.apply(whole(14, BIDS, ASKS))
    assert (book.stale, book.sequence) == (False, 14)
    book.lost("the connection is lost")
    book.apply(whole(14, BIDS, ASKS))  # nothing happened meanwhile
    assert not book.stale


@pytest.mark.parametrize("numbered", [True, False])
def test_a_crossed_book_is_never_shown_and_only_a_whole_one_mends_it(numbered: bool) -> None:
    book = LocalBook()
    numbers = iter(range(11, 99)) if numbered else iter([0] * 99)
    book.apply(whole(10 if numbered else 0, BIDS, ASKS, 5))
    before = book.top
    last = next(numbers)
    book.apply(change(last, last, ((101.0, 1.0),), (), 6))
    assert book.top == before._replace(stale=True)
    assert "crossed" in book.reason
    last = next(numbers)
    book.apply(change(last, last, ((101.0, 0.0),), (), 7))
    assert book.top == before._replace(stale=True)
    book.apply(whole(last, BIDS, ASKS, 8))
    assert not book.top.stale


def test_a_crossed_whole_book_is_refused() -> None:
    book = LocalBook()
    book.apply(whole(10, ((102.0, 1.0),), ASKS))
    assert book.stale
    assert book.top.bids == ()


@pytest.mark.parametrize("level", [(float("nan"), 1.0), (float("inf"), 1.0), (99.0, float("nan")), (99.0, -1.0)])
def test_impossible_levels_are_not_taken_in(level: Level) -> None:
    book = LocalBook()
    book.apply(whole(10, BIDS, ASKS))
    book.apply(change(11, 11, (level,)))
    assert book.stale
    assert "impossible" in book.reason
    assert shown(book) == (BIDS, ASKS)


def test_the_top_is_made_only_when_it_changes() -> None:
    venue, book = Venue(0), LocalBook()
    book.apply(venue.snapshot())
    before = book.top
    book.apply(change(1001, 1001, ((50.0, 9.0),)))
    assert book.top is before
    assert book.sequence == 1001
    book.apply(change(1002, 1002, ((99.0, 9.0),)))
    assert book.top is not before
    assert book.top.asks is before.asks


def test_what_waits_is_bounded() -> None:
    book = LocalBook()
    for number in range(WAITING + 50):
        book.apply(change(100 + number, 100 + number))
    assert len(book._waiting) == WAITING
    book.apply(whole(120, BIDS, ASKS))
    assert book.stale
    book.apply(whole(500, BIDS, ASKS))
    assert (book.stale, book.sequence) == (False, 100 + WAITING + 49)


def test_a_whole_book_without_numbers_starts_anew_unless_it_is_older() -> None:
    book = LocalBook()
    assert not book.apply(change(0, 0, BIDS, ASKS, 1))
    book.apply(whole(0, BIDS, ASKS, 10))
    book.apply(change(0, 0, ((98.0, 1.0),), (), 12))
    assert not book.apply(whole(0, ((1.0, 1.0),), (), 11))
    assert book.top.bids == ((99.0, 1.0), (98.0, 1.0))
    book.apply(whole(0, ((97.0, 1.0),), ASKS, 13))
    assert book.top.bids == ((97.0, 1.0),)


def test_without_numbers_a_repeated_change_is_ignored_and_one_out_of_order_is_not() -> None:
    book = LocalBook()
    book.apply(whole(0, BIDS, ASKS, 10))
    old = change(0, 0, ((98.0, 1.0),), (), 11)
    for one in (old, change(0, 0, ((98.0, 0.0),), (), 12)):
        book.apply(one)
    assert not book.apply(old)
    assert not book.apply(change(0, 0, ((5.0, 5.0),), (), 9))  # the whole book has it
    assert (book.stale, book.top.bids) == (False, BIDS)
    book.apply(change(0, 0, ((97.0, 1.0),), (), 11))
    assert book.stale


def test_what_lies_beyond_a_book_that_was_cut_off_is_unknown() -> None:
    book = LocalBook()
    # Asks of as many levels as the venue sends at most, and fewer bids, which are all that there are.
    book.apply(whole(10, ((99.0, 1.0), (98.0, 1.0)), ((101.0, 1.0), (102.0, 1.0), (105.0, 1.0), (107.0, 1.0)), most=4))
    book.apply(change(11, 11, ((90.0, 2.0),), ((110.0, 3.0), (106.0, 2.0))))
    assert shown(book) == (
        ((99.0, 1.0), (98.0, 1.0), (90.0, 2.0)),
        ((101.0, 1.0), (102.0, 1.0), (105.0, 1.0), (106.0, 2.0), (107.0, 1.0)),
    )
    assert not book.wants_whole
    book.apply(change(12, 12, (), ((101.0, 0.0), (102.0, 0.0), (107.0, 0.0))))
    assert (book.wants_whole, book.stale) == (False, False)
    book.apply(change(13, 13, (), ((106.0, 0.0), (107.0, 4.0))))
    assert not book.wants_whole
    book.apply(change(14, 14, (), ((107.0, 0.0),)))
    assert (book.wants_whole, book.stale, book.top.asks) == (True, False, ((105.0, 1.0),))
    for number in (15, 16):
        book.apply(change(number, number, ((99.0, float(number)),), ((110.0, 9.0),)))
    # One that the venue made a while ago: what came since is applied to it, and the number does not go back.
    assert not book.apply(whole(13, BIDS, ((105.0, 1.0), (106.0, 5.0)), most=2))
    assert book.apply(whole(14, BIDS, ((105.0, 1.0), (108.0, 6.0), (109.0, 7.0), (110.0, 3.0)), most=4))
    assert (book.wants_whole, book.sequence, book.top.bids) == (False, 16, ((99.0, 16.0),))
    assert book.top.asks == ((105.0, 1.0), (108.0, 6.0), (109.0, 7.0), (110.0, 9.0))


def test_a_side_of_which_no_level_is_known_any_more_is_not_empty() -> None:
    book = LocalBook()
    book.apply(whole(10, BIDS, ASKS, most=1))
    assert not book.wants_whole
    book.apply(change(11, 11, (), ((101.0, 0.0), (103.0, 5.0))))
    assert (book.wants_whole, book.top.stale, book.reason) == (True, True, "none is left of the asks that are known")
    assert not book.apply(change(12, 12, (), ((102.0, 5.0),)))
    assert not book.apply(whole(10, BIDS, ASKS, most=1))  # from before
    assert book.apply(whole(11, BIDS, ((103.0, 5.0),), most=1))
    assert (book.stale, book.sequence, shown(book)) == (False, 12, (BIDS, ((102.0, 5.0), (103.0, 5.0))))
    empty = LocalBook()  # as a book of fewer levels than the venue sends may be
    empty.apply(whole(10, BIDS, (), most=2))
    assert (empty.wants_whole, shown(empty)) == (False, (BIDS, ()))


def test_after_a_lost_connection_only_a_book_from_then_on_will_do() -> None:
    book = LocalBook()
    book.apply(whole(10, ((99.0, 1.0), (98.0, 1.0), (97.0, 1.0)), ASKS, most=3))
    book.apply(change(11, 11, ((99.0, 0.0), (98.0, 0.0))))
    book.apply(change(12, 12, ((97.0, 2.0),)))
    assert (book.wants_whole, book.stale) == (True, False)
    book.lost("the connection was lost")
    assert not book.apply(whole(11, ((97.0, 1.0), (96.0, 1.0), (95.0, 1.0)), ASKS, most=3))
    assert book.reason == "the connection was lost"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.integers(0, 40),
    st.floats(0, 0.15),
    st.floats(0, 0.3),
    st.integers(0, 6),
    st.sampled_from([0, 0, 4, 12, 40]),
)
def test_a_numbered_book_is_the_venues_or_stale(
    seed: int, at: int, drops: float, doubles: float, shift: int, most: int
) -> None:
    """The stream loses, repeats and delays events; a whole book, or the best levels of one, comes once, behind the
    stream, and when asked for.
    """
    venue, book, rng = Venue(seed), LocalBook(), random.Random(seed + 1)
    states, delivered, snapshots = {venue.last: venue.best()}, list[tuple[float, Depth]](), [venue.snapshot(most=most)]
    for number in range(60):
        event = venue.step()
        states[venue.last] = venue.best()
        snapshots.append(venue.snapshot(most=most))
        if rng.random() >= drops:
            copies = 1 + (rng.random() < doubles)
            delivered += [(number + rng.random() * shift, event) for _ in range(copies)]
    delivered.sort(key=lambda pair: pair[0])
    highest = 0
    for number, (_, event) in enumerate(delivered):
        book.apply(event)
        if number >= at and book.wants_whole:
            behind = rng.randint(0, 3)
            book.apply(snapshots[max(0, min(len(snapshots) - 1, number - behind))])
        assert book.sequence >= highest
        highest = book.sequence
        if not book.top.stale:
            for found, true in zip(shown(book), states[book.sequence], strict=True):
                # Of a book that was cut off, the best levels: none is missing among them, and one is left at least.
                assert found == (true[: len(found)] if most else true)
                assert found or not true
            assert most or not book.wants_whole
        if book.top.bids and book.top.asks:
            assert book.top.bids[0][0] < book.top.asks[0][0]
    book.apply(venue.snapshot(most=most))
    assert not book.wants_whole
    for found, true in zip(shown(book), venue.best(), strict=True):
        assert found == true[: len(found)]
        assert len(found) >= min(len(true), (most + 1) // 2 or SHOWN)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_in_whatever_order_all_changes_of_a_numbered_book_come_it_is_the_same(seed: int, order: random.Random) -> None:
    venue, book = Venue(seed), LocalBook()
    events = [venue.snapshot(), *(venue.step() for _ in range(30))]
    order.shuffle(events)
    for event in events:
        book.apply(event)
    assert (book.stale, shown(book)) == (False, venue.best())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_a_book_without_numbers_is_the_venues_or_stale(seed: int, order: random.Random) -> None:
    venue, book = Venue(seed), LocalBook()
    book.apply(venue.snapshot(numbered=False))
    states, events = {}, []
    for _ in range(30):
        event = venue.step()._replace(first=0, last=0)
        states[event.time] = venue.best()
        events += [event] * order.randint(1, 2)
    if order.random() < 0.7:  # the copies of a second connection are a little behind
        events = [event for _, event in sorted(enumerate(events), key=lambda pair: pair[0] + order.randint(0, 2))]
    seen = set[int]()
    for event in events:
        book.apply(event)
        seen.add(event.time)
        if not book.stale and len([t for t in states if t <= book.time]) == len(seen):
            assert shown(book) == states[book.time]
    book.apply(venue.snapshot(numbered=False)._replace(time=venue.time + 1))
    assert (book.stale, shown(book)) == (False, venue.best())
