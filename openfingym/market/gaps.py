"""Filling gaps: the trades that happened while nobody listened are asked for, until none is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from openfingym.market.feed import Feed
from openfingym.market.questions import Questions
from openfingym.market.ticks import Trade
from openfingym.market.trade_ids import Coming, TradeIds

SETTLE_S = 1.0
"""Seconds after the subscription until trades without numbers are asked for: a venue's answers may lag its stream, and
without numbers nothing would show that the last ones were not yet among them."""
LONGEST_WAIT_S = 60.0


@dataclass(slots=True)
class _Gap:
    after: Trade | None
    """The last trade before it."""
    since: int
    """When it began, by the venue's clock."""
    trades: list[Trade] = field(default_factory=list)
    """Those found so far."""
    cursor: Trade | None = None
    """The last trade that was asked beyond."""
    heard: int = -1
    """When the stream listened again, by our monotonic clock; -1 as long as it does not."""
    fruitless: int = 0


class Gaps:
    """The open gaps of a feed's symbols.

    Args:
        feed: says how to ask.
        questions: where to ask.
    """

    def __init__(self, feed: Feed, questions: Questions) -> None:
        self._feed = feed
        self._questions = questions
        self._open: dict[str, _Gap] = {}
        self.ids = {symbol: TradeIds() for symbol in feed.symbols}
        self.last: dict[str, Trade] = {}
        """The last trade of each symbol, of the stream or of an answer."""

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._open

    def begin(self, symbol: str, since: int) -> None:
        """From now on trades of this symbol may be missed; one that is open already stays open."""
        last = self.last.get(symbol)
        self._open.setdefault(symbol, _Gap(last, since, cursor=last)).heard = -1

    def end(self, symbols: Iterable[str], now: int) -> None:
        """The stream listens again (or still does): ask for what is missing."""
        for symbol in symbols:
            gap = self._open.get(symbol)
            if gap is not None:
                gap.heard = now
                self._ask(symbol, gap, now, 0.0 if self.ids[symbol].last else SETTLE_S)

    def answered(self, symbol: str, trades: list[Trade], asked: int, now: int) -> list[Trade] | None:
        """Take an answer; return all trades of the gap, oldest first, once it is filled, and None before.

        Args:
            symbol: the symbol.
            trades: those in the answer, oldest first.
            asked: when they were asked for, by our monotonic clock.
            now: now, by the same.
        """
        gap = self._open.get(symbol)
        if gap is None:
            return None
        ids = self.ids[symbol]
        found = len(gap.trades)
        early = []
        for trade in trades:
            if gap.after is None and trade.time < gap.since:
                continue
            if not trade.group and gap.after is None and 0 < trade.id < ids.first:
                early.append(trade)  # before the first that the stream brought, and yet in the gap
            elif ids.take(trade) is not Coming.SEEN:
                gap.trades.append(trade)
        if early:
            gap.trades += early
            ids.first = early[0].id
        fruitful = len(gap.trades) > found
        if fruitful:
            self._newest(symbol, gap.trades[-1])
        gap.cursor = trades[-1] if trades else gap.cursor
        whole = len(trades) < self._feed.page and 0 <= gap.heard <= asked
        if whole and not ids.holes:
            return self._close(symbol)
        if gap.heard >= 0:
            gap.fruitless = 0 if fruitful else gap.fruitless + 1
            self._ask(symbol, gap, now, min(LONGEST_WAIT_S, 0.25 * 2**gap.fruitless) if gap.fruitless else 0.0)
        return None

    def came(self, symbol: str) -> list[Trade] | None:
        """A trade of the stream filled the last hole of a gap that was nothing else; return as :meth:`answered`."""
        gap = self._open.get(symbol)
        complete = gap is not None and gap.heard == 0 and not self.ids[symbol].holes
        return self._close(symbol) if complete else None

    def ahead(self, symbol: str, before: Trade | None, since: int, now: int) -> None:
        """The stream skipped numbers: ask for what lies between."""
        if symbol not in self._open:
            self._open[symbol] = _Gap(before, since, cursor=before, heard=0)
        gap = self._open[symbol]
        if gap.heard >= 0:
            self._ask(symbol, gap, now, 0.0)

    def _ask(self, symbol: str, gap: _Gap, now: int, wait_s: float) -> None:
        after, ids = gap.cursor, self.ids[symbol]
        if after is not None and not after.group:
            after = after._replace(id=(ids.holes[0][0] if ids.holes else ids.last + 1) - 1)
        self._questions.put("trades", symbol, [self._feed.ask_trades(symbol, after, gap.since)], now, wait_s=wait_s)

    def _newest(self, symbol: str, trade: Trade) -> None:
        last = self.last.get(symbol)
        if last is None or (trade.time, trade.id) > (last.time, last.id):
            self.last[symbol] = trade

    def _close(self, symbol: str) -> list[Trade]:
        gap = self._open.pop(symbol)
        return sorted(gap.trades, key=lambda trade: (trade.time, trade.id))
