"""How orders on paper fill against a live market.

- **Market orders** take the levels of the book one by one, or the quote's side with its size where there is no book
  (:mod:`~openfingym.market.paper.liquidity` says what of it is still there). They are reported as one fill at the
  average price; its distance from the mid is the slippage. What the levels do not hold is not invented: the rest of an
  immediate-or-cancel order is cancelled, that of a good-till-cancelled one takes what the venue adds, as in the
  simulator it waits for later bars. With nothing usable to trade at, the order is refused.
- **Limit orders** take what is there at their limit or better at once. The rest waits at its limit, behind all that is
  shown at that price. It fills at its limit by later trades alone: fully by one beyond the limit; by one at the limit
  once the trades there have used up what was ahead. Cancellations ahead are not counted. A trade at the limit whose
  taker is on the order's own side says nothing of its queue, and is left out.
- **Stop orders** trigger by a trade at their stop or beyond, at submission by the last one if it is not too old.
- A trade fills at most its size over all own orders, and only those that were at the venue when it happened: it must be
  later, by the venue's time, than the order's submission plus a latency, and than anything that the venue had published
  by then. So a late trade, or one that fills a gap, counts if it happened after that, and not otherwise. Trades that
  set no price (odd lots, averages) do not count, nor do any while the symbol is halted. A trade that the venue takes
  back later stays a fill.
- An order trades with the market and never with another one of the same account.
- A trade that reaches both orders of a pair (:mod:`openfingym.trading.pairs`) fills before it triggers, so that a stop
  is triggered only if the limit order has left something.
- The slippage, half spread, impact, participation and bar path of the rules describe bars: fills do not use them, for
  the book has its own. The first two widen what a market order reserves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from openfingym.errors import UsageError
from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.paper.liquidity import Liquidity, ShownMarket, queue_ahead, walk
from openfingym.market.paper.order import PaperOrder
from openfingym.market.state import MarketState
from openfingym.market.ticks import SECOND, Depth, Level, Quote, Tick, Trade
from openfingym.trading.desk import OrderDesk
from openfingym.trading.market import MarketRules
from openfingym.trading.matching import carry
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, TimeInForce
from openfingym.trading.portfolio import Portfolio, WorkingOrder
from openfingym.trading.rules import nearest_multiple, whole_lots

LATENCY_S = 0.25
"""Seconds from an order's submission until trades can fill it, by default: the time that news takes from the venue, by
which its clock is estimated, and that an order takes on its way there."""


class PaperFills(OrderDesk):
    """An account's orders at a live market; a :class:`~openfingym.market.listener.MarketListener`."""

    orders: list[PaperOrder]  # type: ignore[assignment]  # this engine's own

    def __init__(
        self,
        market: MarketRules,
        state: MarketState,
        symbols: Sequence[str],
        *,
        cash: float,
        at: Instant,
        venue_time: Callable[[Instant], int],
        interval_s: float,
        ticks: Sequence[float] | None = None,
        budgets: Budgets | None = None,
        latency_s: float = LATENCY_S,
    ) -> None:
        """Open an account and follow the state.

        Args:
            market: costs and limits of trading.
            state: the state of the market; accounts that follow the same one do not meet one another.
            symbols: the episode's symbols, in its order.
            cash: cash of the account at the beginning, in units of currency.
            at: when the account is opened.
            venue_time: gives what the venue's clock shows at an instant, in nanoseconds since the epoch, such as
                :meth:`openfingym.market.venue_clock.VenueClock.time`.
            interval_s: seconds from mark to mark, of which the rules' ``bars_per_year`` make a year.
            ticks: the step of the venue's prices of each symbol; None for that of the rules. Above 0: if any price
                could be asked for, one that is better by a hair would go before all that wait at another.
            budgets: seconds after which books, quotes and prices are too old to trade on.
            latency_s: seconds from an order's submission until trades can fill it.

        Raises:
            UsageError: a symbol is not followed or comes twice, or a number is out of range.
        """
        _check_opening(state, symbols, cash=cash, interval_s=interval_s, latency_s=latency_s)
        self._ticks = [market.tick] * len(symbols) if ticks is None else [float(tick) for tick in ticks]
        if len(self._ticks) != len(symbols) or not all(0.0 < tick < math.inf for tick in self._ticks):
            raise UsageError(
                f"the paper engine cannot open with price steps of {self._ticks}: expected one above 0 for each of "
                f"{', '.join(symbols)}, by ticks or by the rules' tick"
            )
        super().__init__(market, cash=cash, closes=[0.0] * len(symbols))
        self.symbols = tuple(symbols)
        self.room = [math.inf] * len(symbols)  # the levels bound what may be traded, and no bar
        self._snapshots = state.snapshots
        self._index = {symbol: number for number, symbol in enumerate(self.symbols)}
        budgets = budgets or Budgets()
        self._price_budget = round(budgets.price_s * SECOND)
        self._liquidity = [Liquidity(budgets, quoted=state.quoted(symbol)) for symbol in symbols]
        self._venue_time, self._latency = venue_time, round(latency_s * SECOND)
        self._interval = interval_s * SECOND
        self._at, self._now = at, at.monotonic  # the last decision or mark, and the last instant that is known of
        self._borrowed = at.monotonic
        """Until when borrowing is paid, in nanoseconds of the monotonic clock."""
        state.listeners.append(self)
        self._advance(at)

    # What happens at the market

    def heard(self, tick: Tick, at: int) -> None:
        """See :class:`~openfingym.market.listener.MarketListener`."""
        symbol = self._index.get(tick.symbol)
        if symbol is None:
            return
        self._now = max(self._now, at)
        if isinstance(tick, Trade):
            if tick.prices and tick.price > 0.0:
                self._liquidity[symbol].traded(tick, at)
                if self.orders:
                    self._traded(symbol, tick)
        elif isinstance(tick, Quote | Depth):
            liquidity = self._liquidity[symbol]
            liquidity.quoted = liquidity.quoted or isinstance(tick, Quote)
            if self.orders or liquidity.touched:
                self._market_changed(symbol)

    def lost(self, symbol: str) -> None:
        """See :class:`~openfingym.market.listener.MarketListener`."""
        if symbol in self._index:
            self._liquidity[self._index[symbol]].quoted = False

    # How orders fill

    def _advance(self, at: Instant) -> None:
        """Bring borrowing and marks to an instant."""
        self._at, self._now = at, max(self._now, at.monotonic)
        self._borrow()
        self._update_marks()

    def _shown(self, symbol: int) -> ShownMarket | Reason:
        return self._liquidity[symbol].shown(self._snapshots[self.symbols[symbol]], self._now)

    def _update_marks(self) -> None:
        """Mark each symbol by the mid, or by the last trade if that is newer than its mark."""
        for symbol, liquidity in enumerate(self._liquidity):
            shown, snapshot = self._shown(symbol), self._snapshots[self.symbols[symbol]]
            mid = shown.mid if isinstance(shown, ShownMarket) else 0.0
            if mid > 0.0:
                self.mark[symbol], liquidity.marked_at = mid, self._now
            elif snapshot.price > 0.0 and snapshot.price_at > liquidity.marked_at:
                self.mark[symbol], liquidity.marked_at = snapshot.price, snapshot.price_at

    def _borrow(self) -> None:
        """Pay for short positions, in proportion to the time since that was last done."""
        share = self.borrow_rate * ((self._now - self._borrowed) / self._interval)
        self._borrowed = self._now
        if share > 0.0:
            paid = self.short_value() * share
            self.cash -= paid
            self.cost += paid

    def _working(self, order_id: int, order: Order) -> PaperOrder:
        return PaperOrder(order_id, order)

    def _closed_to(self, order: WorkingOrder) -> Reason:
        """Why an order cannot be taken: its prices must be whole steps of the venue's, and an order that takes at any
        price needs a market that is fit to trade on.
        """
        tick = self._ticks[order.symbol]
        # To the last bit: a price that is off by rounding would stand before those that wait at the same one.
        limit, stop = (nearest_multiple(price, tick) if price > 0.0 else price for price in (order.limit, order.stop))
        if limit == 0.0 or stop == 0.0:
            return Reason.OFF_TICK
        order.limit, order.stop = limit, stop
        if order.kind is not OrderType.MARKET:
            return Reason.NONE
        shown = self._shown(order.symbol)
        if isinstance(shown, Reason):
            return shown
        return Reason.NONE if shown.side(order.d) else Reason.NO_PRICE

    def _entered(self, order: WorkingOrder) -> None:
        assert isinstance(order, PaperOrder)
        snapshot = self._snapshots[self.symbols[order.symbol]]
        order.since = self._known_until(order.symbol, self._venue_time(self._at) + self._latency)
        # Stops look at the last trade first, limits take what is there next, and only what is left may wait.
        fresh = self._now - snapshot.price_at <= self._price_budget and not snapshot.halted
        if fresh and order.reached(snapshot.price):
            self._trigger(order)
        self._take(order)
        if order.time_in_force is TimeInForce.IOC and order in self.orders:
            self.orders.remove(order)
            self.tell(EventKind.CANCELLED, order, Reason.UNFILLED)

    def _stayed(self, order: WorkingOrder, changed: WorkingOrder) -> None:
        assert isinstance(order, PaperOrder)
        assert isinstance(changed, PaperOrder)
        changed.ahead, changed.since = order.ahead, order.since  # it keeps its place in the queue

    def _known_until(self, symbol: int, time: int) -> int:
        """The latest of a time and the times of what the venue has published of a symbol."""
        snapshot = self._snapshots[self.symbols[symbol]]
        published = [tick.time for tick in (snapshot.trade, snapshot.quote, snapshot.book) if tick is not None]
        return max(time, *published)

    def _trigger(self, order: PaperOrder) -> None:
        order.triggered = True
        self.tell(EventKind.TRIGGERED, order)

    def _take(self, order: PaperOrder) -> None:
        """Let an order take what is there at its price, and let the rest of a limit order join the queue there."""
        shown = self._shown(order.symbol)
        if isinstance(shown, Reason) or not (order.taking or order.resting):
            return
        bound = order.d * order.limit if order.limited else math.inf
        levels = self._liquidity[order.symbol].free(shown, order.d, bound)
        quantity, _ = walk(levels, order.remaining)
        self._fill(order, quantity, shown, levels)
        if order.resting:
            order.ahead = queue_ahead(shown, order.d, order.limit)

    def _fill(self, order: PaperOrder, quantity: float, shown: ShownMarket, levels: list[Level]) -> None:
        """Fill a quantity of an order from these levels, which hold it."""
        if quantity < order.remaining:  # a part is whole lots; the rest of an order may be less than one
            quantity = whole_lots(quantity, self.market.lot)
        if quantity <= 0.0:
            return
        # At the positions and prices from before the fill.
        self._borrow()
        self._update_marks()

        def price_of(_account: Portfolio, _order: WorkingOrder, _base: float, quantity: float) -> float:
            return walk(levels, quantity)[1]

        filled, ended = carry(self, order, quantity, shown.mid or levels[0][0], price_of)
        self._liquidity[order.symbol].take(order.d, levels, filled)
        if ended and order in self.orders:
            self.orders.remove(order)

    def _market_changed(self, symbol: int) -> None:
        """The venue shows another book or quote: orders that wait take what it has added, or learn their place."""
        shown = self._shown(symbol)
        if isinstance(shown, Reason):
            return
        self._liquidity[symbol].renew(shown)
        for order in [order for order in self.orders if order.symbol == symbol]:
            if order not in self.orders:  # it has ended with the other of its pair
                continue
            if order.taking:
                self._take(order)
            elif order.resting and order.ahead == math.inf:
                order.ahead = queue_ahead(shown, order.d, order.limit)
                if order.ahead < math.inf:  # what the venue shows has these trades taken off: they must not count again
                    order.since = max(order.since, self._known_until(symbol, 0) + self._latency)

    def _traded(self, symbol: int, trade: Trade) -> None:
        """Fill what a trade fills, then trigger what it triggers."""
        if self._snapshots[self.symbols[symbol]].halted:
            return
        orders = [order for order in self.orders if order.symbol == symbol and trade.time > order.since]
        stops = [order for order in orders if order.reached(trade.price)]
        self._fill_resting([order for order in orders if order.resting], trade)
        for order in stops:
            if order not in self.orders:  # it has ended with the other of its pair
                continue
            order.since = trade.time
            self._trigger(order)
            self._take(order)

    def _fill_resting(self, orders: list[PaperOrder], trade: Trade) -> None:
        """Divide a trade's size among own orders: those on the maker's side first, by price, then by time.

        Args:
            orders: resting orders of the trade's symbol, the oldest first.
            trade: a trade that happened after they were at the venue.
        """
        # Stable, so that orders at the same price keep their order in time.
        orders.sort(key=lambda order: (order.d == trade.taker, -order.d * order.limit))
        left = trade.size
        for order in orders:
            beyond = order.d * (order.limit - trade.price)
            if order not in self.orders or beyond < 0.0 or (beyond == 0.0 and order.d == trade.taker):
                continue
            # A trade beyond the limit has gone through all that waited there; one at the limit uses up the queue first.
            ahead = 0.0 if beyond > 0.0 else order.ahead
            order.ahead = max(0.0, ahead - left)
            quantity = min(order.remaining, left - ahead)
            if quantity < order.remaining:
                quantity = whole_lots(max(0.0, quantity), self.market.lot)
            if quantity > 0.0:
                self._borrow()
                self._update_marks()
                filled, ended = carry(self, order, quantity, order.limit, _at_limit)
                left -= filled
                if ended:
                    self.orders.remove(order)


def _check_opening(
    state: MarketState, symbols: Sequence[str], *, cash: float, interval_s: float, latency_s: float
) -> None:
    unknown = [symbol for symbol in symbols if symbol not in state.snapshots]
    if unknown or not symbols or len(set(symbols)) < len(symbols):
        raise UsageError(
            f"the paper engine cannot trade {', '.join(unknown or symbols) or 'nothing'}: expected different "
            f"symbols out of {', '.join(state.snapshots)}"
        )
    if not (0.0 < cash < math.inf and 0.0 < interval_s < math.inf and 0.0 <= latency_s < 1e9):
        raise UsageError(
            f"the paper engine cannot open with cash {cash}, interval_s {interval_s} and latency_s {latency_s}: "
            "expected cash and an interval above 0, and a latency of 0 or more"
        )


def _at_limit(_account: Portfolio, order: WorkingOrder, _base: float, _quantity: float) -> float:
    return order.limit
