"""The order book of one symbol, built from a venue's changes so that no reader sees it crossed or half updated."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import inf
from typing import NamedTuple

from openfingym.market.ticks import Depth, Level

SHOWN = 20
"""How many levels of each side are in a :class:`BookTop` at most."""
WAITING = 1000
"""How many changes are kept while the book waits for a whole one: 100 s of Binance's fastest stream."""
RECENT = 256
"""How many changes are remembered of a venue that does not number them, to recognize one that comes again."""


class BookTop(NamedTuple):
    """The best levels of an order book at one update of it. Beyond the last level of a side nothing is known."""

    bids: tuple[Level, ...]
    """(price, size) of at most :data:`SHOWN` levels, the highest price first."""
    asks: tuple[Level, ...]
    """The same, the lowest price first."""
    sequence: int
    """Number of the update that last changed these levels; 0 where the venue has none."""
    time: int
    """When the venue says that they last changed, in nanoseconds; 0 where it does not say."""
    stale: bool
    """Whether updates are missing, so that the market may stand elsewhere by now."""


class BookSide:
    """The levels of one side that are known, sorted by price, the best first.

    A whole book that the venue cut off says nothing of what lies beyond its outermost level. Changes out there tell one
    level each and not those between, so they are left out until another whole book reaches as far.

    Args:
        sign: -1 for bids and 1 for asks. Prices are stored times it, so that the lowest stored one is the best of
            either side.
    """

    __slots__ = ("keys", "least", "outermost", "sign", "sizes")

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.keys: list[float] = []
        self.sizes: dict[float, float] = {}
        self.outermost = inf
        """The outermost price that is known, times the sign; infinite where the whole side is."""
        self.least = 0
        """With fewer levels, the best price is near the outermost one that is known: half as many as the whole book
        had; 0 where the whole side is known.
        """

    def change(self, levels: tuple[Level, ...]) -> bool:
        """Set levels to their new sizes; return whether that changed one of the best :data:`SHOWN`."""
        keys, sizes, sign, outermost = self.keys, self.sizes, self.sign, self.outermost
        # The last shown level from before the changes will do: one behind it can come into view only when one that was
        # in view goes, which counts by itself.
        edge = keys[SHOWN - 1] if len(keys) >= SHOWN else inf
        visible = False
        for price, size in levels:
            key = sign * price
            if key > outermost:
                continue
            if size:
                if key not in sizes:
                    insort(keys, key)
                elif sizes[key] == size:
                    continue
                sizes[key] = size
            elif sizes.pop(key, None) is not None:
                del keys[bisect_left(keys, key)]
            else:
                continue
            visible = visible or key <= edge
        return visible

    def replace(self, levels: tuple[Level, ...], most: int) -> None:
        """Put the levels of a whole book, which has ``most`` at most, in the place of all; 0 for any number."""
        self.sizes = {self.sign * price: size for price, size in levels if size}
        self.keys = sorted(self.sizes)
        cut = 0 < most <= len(levels)
        self.outermost = max(self.sign * price for price, _ in levels) if cut else inf
        self.least = (len(self.keys) + 1) // 2 if cut else 0

    def top(self) -> tuple[Level, ...]:
        """The best levels."""
        sign, sizes = self.sign, self.sizes
        return tuple([(sign * key, sizes[key]) for key in self.keys[:SHOWN]])


class LocalBook:
    """An order book that is kept up to date by the venue's changes.

    Changes with numbers are applied as Binance prescribes: those that the book has already are ignored, one that begins
    after the next number is a gap. From a gap on, changes wait, sorted, until a whole book or the missing changes
    connect them to what is known; until then the book is stale. The number never goes back.

    Where the venue gives no numbers, each whole book starts anew. What shows that something is wrong (crossed sides, a
    change older than one before it) makes such a book stale until the next whole one.

    Beyond the outermost levels of a whole book that the venue cut off, nothing is known. The book :attr:`wants_whole`
    one before the best price comes there, and goes on meanwhile. If no level that is known is left of a side, it is
    stale.
    """

    __slots__ = (
        "_applied",
        "_asks",
        "_base",
        "_bids",
        "_broken",
        "_near",
        "_recent",
        "_waiting",
        "reason",
        "seen",
        "sequence",
        "time",
        "top",
    )

    def __init__(self) -> None:
        self.seen = False
        """Whether the venue has sent anything of this book."""
        self.sequence = 0
        """Number of the last update in it; 0 where the venue has none."""
        self.time = 0
        """The venue's time of the last update in it, in nanoseconds since the epoch."""
        self.reason = "no whole book yet"
        """Why the book is stale; empty where it is not."""
        self.top = BookTop((), (), 0, 0, stale=True)
        """What readers see: the last consistent state, replaced by a single assignment."""
        self._bids = BookSide(-1)
        self._asks = BookSide(1)
        self._broken = True  # whether only a whole book helps, as no change connects to what is here
        self._base = 0  # time of the last whole book; needed where the venue gives no numbers
        self._waiting: list[Depth] = []  # changes behind a gap, sorted by `last`
        self._near = False  # whether the best price is near the outermost one that is known
        # Changes that were applied since then, up to the last one: the next whole book may be older than they are.
        self._applied: deque[Depth] = deque(maxlen=WAITING)
        self._recent: deque[Depth] = deque(maxlen=RECENT)

    @property
    def stale(self) -> bool:
        """Whether updates are missing."""
        return bool(self.reason)

    @property
    def wants_whole(self) -> bool:
        """Whether the venue should send a whole book: this one is stale, or soon will be."""
        return self.seen and (self._near or bool(self.reason))

    def lost(self, reason: str) -> None:
        """Updates may be missing from now on.

        Args:
            reason: why they may be missing, in words for people.
        """
        if self.seen:
            self._applied.clear()
            self._stale(reason)

    def apply(self, depth: Depth) -> bool:
        """Apply a whole book or a change.

        Returns:
            Whether it changed what is known: False for one that the book has already, or one that has to wait.
        """
        self.seen = True
        wrong = _impossible(depth)
        if wrong:
            return self._break(wrong)
        if depth.whole:
            return self._restart(depth)
        if depth.last:
            return self._numbered(depth)
        return self._unnumbered(depth)

    def _restart(self, depth: Depth) -> bool:
        """Take a whole book, unless it is older than this one. One that is older than the waiting changes does not
        connect to them: the book stays stale, and the changes go on waiting.
        """
        if depth.last:
            if depth.last == self.sequence and not self.wants_whole:
                return False
            if depth.last < self.sequence:
                if not self._applied or self._applied[0].first > depth.last + 1:
                    return False
                # What was applied to this book since the venue made the other one is applied to that as well.
                self._waiting[:0] = self._applied
        elif depth.time and depth.time < self.time:
            return False
        self._bids.replace(depth.bids, depth.most)
        self._asks.replace(depth.asks, depth.most)
        self.sequence, self.time, self._base = depth.last, max(depth.time, self.time), depth.time
        self._recent.clear()
        self._applied.clear()
        self._broken = self._near = False
        return self._connect(both=True)

    def _numbered(self, change: Depth) -> bool:
        if change.last <= self.sequence:
            return False
        if not self.reason and change.first <= self.sequence + 1:
            moved = self._bids.change(change.bids), self._asks.change(change.asks)
            self.sequence = change.last
            self.time = max(self.time, change.time)
            if self._near:
                self._applied.append(change)
            return self._show(*moved)
        insort(self._waiting, change, key=_last)
        if len(self._waiting) > WAITING:
            del self._waiting[0]
        if not self.reason:
            return self._stale(f"changes {self.sequence + 1} to {change.first - 1} are missing")
        # The missing changes themselves may close the gap, unless the levels are wrong: then only a whole book does.
        return not self._broken and self._connect()

    def _connect(self, *, both: bool = False) -> bool:
        """Apply the waiting changes as far as they follow on; the book is whole again if all do.

        Args:
            both: whether the levels were just replaced, so that both sides count as changed.
        """
        bids = asks = both
        used = both
        for change in self._waiting:
            # One that begins before the book's number and ends after it overlaps a whole book: sizes are absolute, so
            # that its older part does no harm.
            if change.first <= self.sequence + 1 and change.last > self.sequence:
                used = True
                bids |= self._bids.change(change.bids)
                asks |= self._asks.change(change.asks)
                self.sequence = change.last
                self.time = max(self.time, change.time)
                if self._near:
                    self._applied.append(change)
        self._waiting = [change for change in self._waiting if change.last > self.sequence]
        if self._waiting:
            self.reason = f"changes {self.sequence + 1} to {self._waiting[0].first - 1} are missing"
            return used
        if not used:
            return False
        self.reason = ""
        return self._show(bids=True, asks=True)

    def _unnumbered(self, change: Depth) -> bool:
        if self.reason:
            return False
        if change.time:
            # Older than the whole book, it is in that already; or it is one that has come before.
            if change.time < self._base or (change.time < self.time and change in self._recent):
                return False
            if change.time < self.time:
                return self._stale("a change came after a later one")
            self._recent.append(change)
            self.time = change.time
        return self._show(self._bids.change(change.bids), self._asks.change(change.asks))

    def _show(self, bids: bool, asks: bool) -> bool:
        """Publish the sides that have changed, unless the book is crossed."""
        best_bid, best_ask = self._bids.keys, self._asks.keys
        if best_bid and best_ask and -best_bid[0] >= best_ask[0]:
            return self._break(f"crossed: bid {-best_bid[0]}, ask {best_ask[0]}")
        if bids or asks:
            if len(best_bid) < self._bids.least or len(best_ask) < self._asks.least:
                self._near = True
                if not (best_bid and best_ask) and (used_up := self._used_up()):
                    self._broken = True
                    return self._stale(used_up)
            top = self.top
            self.top = BookTop(
                self._bids.top() if bids else top.bids,
                self._asks.top() if asks else top.asks,
                self.sequence,
                self.time,
                stale=False,
            )
        return True

    def _used_up(self) -> str:
        """Which side has no level left that is known, while there may be unknown ones; empty where none."""
        sides = (("bids", self._bids), ("asks", self._asks))
        used_up = [name for name, side in sides if side.least and not side.keys]
        return f"none is left of the {' and '.join(used_up)} that are known" if used_up else ""

    def _break(self, reason: str) -> bool:
        self._broken = True
        self._applied.clear()
        return self._stale(reason)

    def _stale(self, reason: str) -> bool:
        self.reason = reason
        if not self.top.stale:
            self.top = self.top._replace(stale=True)
        return True

    def canonical(self) -> list[object]:
        """All that the book is made of, as a JSON value."""
        return [
            self.reason,
            self.sequence,
            self.time,
            *([[side.sign * key, side.sizes[key]] for key in side.keys] for side in (self._bids, self._asks)),
            *([repr(side.outermost), side.least] for side in (self._bids, self._asks)),
            self._near,
            [list(change) for change in self._applied],
            [list(change) for change in self._waiting],
        ]


def _last(change: Depth) -> int:
    return change.last


def _impossible(depth: Depth) -> str:
    """Why a book or a change of it is impossible; empty where it is possible."""
    for levels in (depth.bids, depth.asks):
        for price, size in levels:
            if not (0.0 <= size < inf and -inf < price < inf):
                return f"impossible level: price {price}, size {size}"
    return ""
