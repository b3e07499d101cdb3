"""The bars of a symbol from before a session, put together from as many answers of its venue as it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openfingym.errors import FeedError
from openfingym.market.bars import BarBuilder
from openfingym.market.feed import Feed, Request

if TYPE_CHECKING:
    from openfingym.market.ticks import ServerBar, Trade

Row = list[float]
"""Open, high, low, close and volume of a bar."""


class BarHistory:
    """A symbol's last bars before an instant: made of the venue's own, or of its trades where it has none so short.

    The next question follows what the answers hold so far, and there is none once they reach the instant, or one holds
    nothing new.

    Args:
        feed: the adapter of the venue that is asked.
        symbol: the venue's name of the symbol.
        interval: length of a bar in nanoseconds.
        bars: how many bars there are to be.
        end: the instant before which they end, a multiple of ``interval``, in nanoseconds since the epoch.
    """

    def __init__(self, feed: Feed, symbol: str, interval: int, bars: int, end: int) -> None:
        self.over = False
        """Whether nothing is left to ask."""
        self._feed, self._symbol, self._interval = feed, symbol, interval
        self._begin, self._end = end - bars * interval, end
        self._unit = feed.bar_length(interval)  # length of the venue's own bars; None where trades have to do
        self._stated: dict[int, ServerBar] = {}  # the venue's own bars, by left edge
        self._last: Trade | None = None  # the newest trade of the answers so far
        self._made = BarBuilder((interval,), keep=bars)

    def ask(self) -> Request:
        """The request for what comes after the answers so far."""
        if self._unit is None:
            return self._feed.ask_trades(self._symbol, self._last, self._begin)
        begin = max(self._stated) + self._unit if self._stated else self._begin
        return self._feed.ask_bars(self._symbol, self._unit, begin, self._end)

    def answered(self, body: bytes) -> None:
        """Take in the answer to the last question.

        Raises:
            FeedError: the answer cannot be read, or it was the last one and there are no bars.
        """
        if self._unit is None:
            self._take_trades(self._feed.read_trades(self._symbol, body))
        else:
            self._take_bars(self._feed.read_bars(self._symbol, self._unit, body), self._unit)
        if self.over:
            self.rows()

    def rows(self) -> list[Row]:
        """The bars, oldest first. One without trades stands at the close before it; those before the first trade stand
        at its price.

        Raises:
            FeedError: there is no bar with a trade.
        """
        known = [self._row(left) for left in range(self._begin, self._end, self._interval)]
        close = next((row[0] for row in known if row is not None), None)
        if close is None:
            raise FeedError(f"the venue has no bars of {self._symbol} from before the session")
        rows = []
        for row in known:
            rows.append([close] * 4 + [0.0] if row is None else row)
            close = rows[-1][3]
        return rows

    def _take_bars(self, bars: list[ServerBar], unit: int) -> None:
        new = {bar.begin: bar for bar in bars if self._begin <= bar.begin < self._end} | self._stated
        self.over = len(new) == len(self._stated) or self._end - unit in new  # nothing new, or the last bar is there
        self._stated = new

    def _take_trades(self, trades: list[Trade]) -> None:
        new = [trade for trade in trades if self._begin <= trade.time < self._end and self._made.add(trade)]
        self.over = not new or trades[-1].time >= self._end
        self._last = new[-1] if new else self._last

    def _row(self, left: int) -> Row | None:
        """The bar of a left edge; None without a price."""
        if self._unit is None:
            made = self._made.bars(self._interval, left, left + self._interval)[0]
            return None if math.isnan(made.close) else [made.open, made.high, made.low, made.close, made.volume]
        parts = [self._stated.get(edge) for edge in range(left, left + self._interval, self._unit)]
        # A part that is missing or has no price is left out: Alpaca states no bar for a minute without trades.
        sound = [part for part in parts if part is not None and 0.0 < part.low <= part.high < math.inf]
        if not sound:
            return None
        high, low = max(part.high for part in sound), min(part.low for part in sound)
        return [sound[0].open, high, low, sound[-1].close, sum(part.volume for part in sound)]
