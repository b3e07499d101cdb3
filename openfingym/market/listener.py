"""The interface of what follows the state of a live market, such as an executor that fills orders against it."""

from __future__ import annotations

from typing import Protocol

from openfingym.market.ticks import Tick


class MarketListener(Protocol):
    """Follows what the state takes in. It may read the state when it is called, and must not change it."""

    def heard(self, tick: Tick, at: int) -> None:
        """The state has taken in something new, and shows it. Each trade comes once, whether it came with the stream,
        late or not, or with an answer that fills a gap: its own time says when it was. One that the venue has corrected
        or taken back by then does not come.

        Args:
            tick: a trade, a quote, a change of the book or a halt.
            at: when it was received, by the monotonic clock in nanoseconds.
        """

    def lost(self, symbol: str) -> None:
        """Ticks of a symbol may be missed from now on."""
