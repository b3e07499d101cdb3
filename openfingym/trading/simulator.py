"""The paper-trading simulator, in plain Python: one account, one bar after the other.

This is the statement of what a simulated market does, and docs/trading.md is its table of rules.
:mod:`openfingym.trading.compiled` does the same for many accounts at once and agrees with it bit for bit.
A bar goes like this:

1. Splits and dividends change positions, cash and open orders (:mod:`~openfingym.trading.corporate_actions`).
2. Short positions pay for borrowing, at the last close. Positions are then valued at the open.
3. Target weights are traded at the open: sells first, then buys as far as cash goes
(:mod:`~openfingym.trading.rebalancing`).
4. Orders that fill at the open do, in order of submission. What is left of an immediate-or-cancel order ends.
5. Other orders fill inside the bar, in the order in which the assumed path reaches them
(:mod:`~openfingym.trading.matching`).
6. Positions are valued at the close. At an equity of zero or below the account is bankrupt.

A symbol without a trade in a bar is halted: nothing fills, and its last close stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openfingym.trading.corporate_actions import act
from openfingym.trading.desk import OrderDesk
from openfingym.trading.matching import match
from openfingym.trading.rebalancing import rebalance


class Simulator(OrderDesk):
    """One account in a simulated market; an :class:`~openfingym.trading.executor.Executor`."""

    _targets: list[float] | None = None

    def target(self, weights: Sequence[float]) -> bool:
        """Trade at the next open to target weights; a second target before then takes the place of the first.

        Args:
            weights: wanted share of each symbol in equity, negative for short.

        Returns:
            Whether the weights are admissible: one for each symbol, finite, the long ones adding up to at most 1 and
            the short ones to at most the short cap. If not, nothing changes and an event says so.
        """
        wanted = self._admitted(weights)
        if wanted is None:
            return False
        self._targets = wanted
        return True

    def on_bar(
        self,
        opens: Sequence[float],
        highs: Sequence[float],
        lows: Sequence[float],
        closes: Sequence[float],
        volumes: Sequence[float],
        *,
        tradable: Sequence[bool] | None = None,
        splits: Sequence[float] | None = None,
        dividends: Sequence[float] | None = None,
    ) -> None:
        """Let one bar pass; see the module's text for what happens in which order.

        Args:
            opens: price of each symbol at the open, S floats; prices of a halted symbol are not looked at.
            highs: highest price of each symbol in the bar.
            lows: lowest price of each symbol in the bar.
            closes: last price of each symbol in the bar.
            volumes: units of each symbol that were traded in the bar.
            tradable: whether each symbol traded; all did if None.
            splits: new units for an old one, of each symbol, before the open; none if None.
            dividends: cash a unit of each symbol, going ex before the open; none if None.
        """
        self.row += 1
        self.traded = self.cost = 0.0
        self.closed = self.won = 0
        if self.bankrupt:
            return
        if splits is not None or dividends is not None:
            act(self, splits, dividends)
        if self.borrow_rate > 0.0:
            self._borrow()
        self._open(opens, volumes, tradable)
        if self._targets is not None:
            rebalance(self, self._targets, tradable)
            self._targets = None
        if self.orders:
            match(self, opens, highs, lows, closes, tradable)
        self._close(closes, tradable)

    def _borrow(self) -> None:
        for symbol, position in enumerate(self.position):
            if position < 0.0:
                paid = -position * self.mark[symbol] * self.borrow_rate
                self.cash -= paid
                self.cost += paid

    def _open(self, opens: Sequence[float], volumes: Sequence[float], tradable: Sequence[bool] | None) -> None:
        cap = self.market.max_participation
        # Lists of the account's own: corporate actions change them in place.
        if tradable is None or all(tradable):
            self.mark, self.volume = list(opens), list(volumes)
            self.room = [cap * volume for volume in volumes] if cap > 0.0 else [math.inf] * len(self.room)
            return
        for symbol, traded in enumerate(tradable):
            if traded:
                self.mark[symbol] = opens[symbol]
                self.volume[symbol] = volumes[symbol]
                self.room[symbol] = cap * volumes[symbol] if cap > 0.0 else math.inf
            else:
                # The last close stands as the mark, and nothing may be traded at it.
                self.room[symbol] = 0.0

    def _close(self, closes: Sequence[float], tradable: Sequence[bool] | None) -> None:
        if tradable is None or all(tradable):
            self.mark = list(closes)
        else:
            self.mark = [
                close if traded else mark for close, traded, mark in zip(closes, tradable, self.mark, strict=True)
            ]
        self._value()
