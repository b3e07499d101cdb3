"""The paper engine: one account whose orders fill against a live market, without being sent anywhere.

It does no input or output and reads no clock or chance: what it holds follows from the rules, what the market's state
told it, and the decisions with their instants, so that a replay of a tape gives the same fills bit for bit. The rules:

- **Market orders** take the levels of the book one by one, or the quote's side with its size where there is no book
  (:mod:`~openfingym.market.paper.liquidity` says what of it is still there). One fill tells the average price, and as
  slippage what it was worse than the mid. What the levels do not hold is not invented: the rest of an
  immediate-or-cancel order is cancelled, that of a good-till-cancelled one takes what the venue adds, as in the
  simulator it waits for later bars. With nothing usable to trade at, the order is refused.
- **Limit orders** take what is there at their limit or better at once. The rest waits at its limit, behind all that is
  shown at that price. It fills at its limit by later trades alone: fully by one beyond the limit; by one at the limit
  once the trades there have used up what was ahead. Cancellations ahead are not counted. A trade at the limit whose
  taker is on the order's own side says nothing of its queue, and is left out.
- **Stop orders** trigger by a trade at their stop or beyond, at submission by the last one if it is not too old.
- A trade fills at most its size over all own orders, and only those that were at the venue when it happened: it must be
  later, by the venue's time, than the order's submission plus a latency, and than all the venue had told by then. So a
  late trade, or one that fills a gap, counts where it is later, and not where it is earlier. Trades that set no price
  (odd lots, averages) do not count, nor do any while the symbol is halted. A trade that the venue takes back later
  stays a fill.
- An order trades with the market and never with one of the same account.
- The slippage, half spread, impact, participation and bar path of the rules describe bars: fills do not use them, for
  the book has its own. The first two widen what a market order reserves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from openfingym.digests import sha256_of_json
from openfingym.errors import UsageError
from openfingym.market.bars import SECOND
from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.paper.liquidity import Liquidity, ShownMarket, queue_ahead, walk
from openfingym.market.state import MarketState
from openfingym.market.ticks import Depth, Level, Quote, Tick, Trade
from openfingym.trading.actions import Decision, carry_out
from openfingym.trading.desk import OrderDesk
from openfingym.trading.executor import Account
from openfingym.trading.market import MarketRules
from openfingym.trading.matching import carry
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side, TimeInForce
from openfingym.trading.portfolio import STOPPED, Portfolio, WorkingOrder
from openfingym.trading.rebalancing import buyable, sellable, wanted_changes
from openfingym.trading.rules import settled, whole_lots

LATENCY_S = 0.25
"""Seconds from an order's submission until trades can fill it, unless told otherwise: what news takes from the venue,
by which its clock is estimated, and an order on its way there."""
_CANCELLED, _REJECTED, _IOC = EventKind.CANCELLED, EventKind.REJECTED, TimeInForce.IOC


class IntervalRecord(NamedTuple):
    """An interval between two marks, as a row of :data:`openfingym.metrics.performance.RECORD`."""

    equity: float
    """In cash at its end; 0 once the account is bankrupt."""
    traded: float
    """Value of what was traded in it."""
    cost: float
    """Fees, slippage and borrowing in it."""
    long: float
    """Market value of long positions at its end."""
    short: float
    """Market value of short positions at its end, positive."""
    closed: int
    """Fills in it that reduced a position."""
    won: int
    """Those of them that made money."""


class PaperOrder(WorkingOrder):
    """An order at a live market."""

    __slots__ = ("ahead", "since")

    def __init__(self, id: int, order: Order) -> None:  # noqa: A002  # the field's own name
        super().__init__(id, order)
        self.ahead = math.inf
        """Quantity at its limit that trades before it; infinite where it is not known."""
        self.since = 0
        """Trades after this time of the venue may fill it."""

    @property
    def resting(self) -> bool:
        """Whether it waits at its limit."""
        return self.limited and (self.triggered or self.kind is OrderType.LIMIT)

    @property
    def taking(self) -> bool:
        """Whether it takes at any price."""
        return not self.limited and (self.triggered or self.kind is OrderType.MARKET)


class PaperExecutor(OrderDesk):
    """One account that trades on paper; an :class:`~openfingym.trading.executor.Executor`, a
    :class:`~openfingym.market.state.MarketListener`. For the thread that changes the state.

    Reading it costs no more than there are symbols and open orders. Its marks are of the last decision, fill or
    :meth:`mark_to_market`: the mid where the market is fit to trade on, otherwise the last trade.
    """

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
        budgets: Budgets | None = None,
        latency_s: float = LATENCY_S,
    ) -> None:
        """Open an account and follow the state.

        Args:
            market: costs and limits of trading.
            state: the market; nothing else may listen to it.
            symbols: the episode's symbols, in its order.
            cash: cash of the account, in units of currency.
            at: now.
            venue_time: what the venue's clock shows at an instant, nanoseconds since the epoch, as
                :meth:`openfingym.market.venue_clock.VenueClock.time` says it.
            interval_s: seconds from mark to mark, of which the rules' ``bars_per_year`` make a year.
            budgets: when books, quotes and prices are too old to trade on.
            latency_s: seconds from an order's submission until trades can fill it.

        Raises:
            UsageError: a symbol is not followed or comes twice, the state has a listener, or a number is out of range.
        """
        unknown = [symbol for symbol in symbols if symbol not in state.snapshots]
        if unknown or not symbols or len(set(symbols)) < len(symbols):
            raise UsageError(
                f"the paper engine cannot trade {', '.join(unknown or symbols) or 'nothing'}: expected different "
                f"symbols out of {', '.join(state.snapshots)}"
            )
        if state.listener is not None:
            raise UsageError("something listens to this market's state already; open one account for each state")
        if not (0.0 < cash < math.inf and 0.0 < interval_s < math.inf and 0.0 <= latency_s < 1e9):
            raise UsageError(
                f"the paper engine cannot open with cash {cash}, interval_s {interval_s} and latency_s {latency_s}: "
                "expected cash and an interval above 0, and a latency of 0 or more"
            )
        super().__init__(market, cash=cash, closes=[0.0] * len(symbols))
        self.symbols = tuple(symbols)
        self.room = [math.inf] * len(symbols)  # the levels bound what may be traded, and no bar
        self._snapshots = state.snapshots
        self._index = {symbol: number for number, symbol in enumerate(self.symbols)}
        budgets = budgets or Budgets()
        self._price_budget = round(budgets.price_s * SECOND)
        self._liquidity = [Liquidity(budgets) for _ in symbols]
        self._venue_time, self._latency = venue_time, round(latency_s * SECOND)
        self._interval = interval_s * SECOND
        self._at, self._now = at, at.monotonic
        self._borrowed = at.monotonic
        """Until when borrowing is paid."""
        state.listener = self
        self._tell_time(at)

    # What an agent does

    def decide(self, decision: Decision, at: Instant) -> list[int]:
        """Carry a decision out: cancels and replacements, then target weights, then orders; returns the orders' ids.

        Weights become market orders without an id, sales first, of what the account can carry at the levels' prices;
        what the market does not take of them is told as events of order 0.
        """
        self._tell_time(at)
        weights = None if decision.weights is None else self._admitted(decision.weights)
        carry_out(Decision(cancels=decision.cancels, replaces=decision.replaces), self)
        if weights is not None:
            self._rebalance(weights)
        return self.submit(decision.orders) if decision.orders else []

    def account(self) -> Account:
        """The account at the last marks."""
        equity = 0.0 if self.bankrupt else self.cash + self.value()
        return super().account()._replace(equity=equity)

    def mark_to_market(self, at: Instant) -> IntervalRecord:
        """End an interval: value the account now, at an equity of zero or below for the last time."""
        self._tell_time(at)
        if not self.bankrupt:
            self._value()
        held = self.account()
        record = IntervalRecord(
            self.equity, self.traded, self.cost, held.long, held.short, closed=self.closed, won=self.won
        )
        self.row += 1
        self.traded = self.cost = 0.0
        self.closed = self.won = 0
        return record

    def digest(self) -> str:
        """SHA-256 of all that decides what it will do: equal after the same inputs. Events that wait to be read are not
        part of it.
        """
        return sha256_of_json(
            [
                *(self.cash, self.position, self.average, self.mark, self.equity, self.bankrupt, self.row),
                *(self.traded, self.cost, self.closed, self.won, self._next_id, self._now, self._borrowed, [*self._at]),
                [
                    [_plain(getattr(order, name)) for cls in (WorkingOrder, PaperOrder) for name in cls.__slots__]
                    for order in self.orders
                ],
                [[number, *map(_plain, order)] for number, order in self._by_client.values()],
                [liquidity.canonical() for liquidity in self._liquidity],
            ]
        )

    # What the market does

    def heard(self, tick: Tick, at: int) -> None:
        """See :class:`~openfingym.market.state.MarketListener`."""
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
                self._renew(symbol)

    def lost(self, symbol: str) -> None:
        """See :class:`~openfingym.market.state.MarketListener`."""
        if symbol in self._index:
            self._liquidity[self._index[symbol]].quoted = False

    # How it is done

    def _tell_time(self, at: Instant) -> None:
        self._at, self._now = at, max(self._now, at.monotonic)
        self._borrow()
        self._remark()

    def _shown(self, symbol: int) -> ShownMarket | Reason:
        return self._liquidity[symbol].shown(self._snapshots[self.symbols[symbol]], self._now)

    def _remark(self) -> None:
        for symbol, liquidity in enumerate(self._liquidity):
            shown, snapshot = self._shown(symbol), self._snapshots[self.symbols[symbol]]
            mid = shown.mid if isinstance(shown, ShownMarket) else 0.0
            if mid > 0.0:
                self.mark[symbol], liquidity.marked_at = mid, self._now
            elif snapshot.price > 0.0 and snapshot.price_at > liquidity.marked_at:
                self.mark[symbol], liquidity.marked_at = snapshot.price, snapshot.price_at

    def _borrow(self) -> None:
        """Pay for what was sold short, by the time for which it was."""
        share = self.borrow_rate * ((self._now - self._borrowed) / self._interval)
        self._borrowed = self._now
        if share > 0.0:
            paid = self.short_value() * share
            self.cash -= paid
            self.cost += paid

    def _working(self, order_id: int, order: Order) -> PaperOrder:
        return PaperOrder(order_id, order)

    def _closed_to(self, order: WorkingOrder) -> Reason:
        """An order that takes at any price needs a market that is fit to trade on."""
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
        fresh = self._now - snapshot.price_at <= self._price_budget and not snapshot.halted
        if fresh and _reached(order, snapshot.price):
            self._trigger(order)
        self._take(order)
        if order.time_in_force is _IOC and order in self.orders:
            self.orders.remove(order)
            self.tell(_CANCELLED, order, Reason.UNFILLED)

    def _stayed(self, order: WorkingOrder, changed: WorkingOrder) -> None:
        assert isinstance(order, PaperOrder)
        assert isinstance(changed, PaperOrder)
        changed.ahead, changed.since = order.ahead, order.since

    def _known_until(self, symbol: int, time: int) -> int:
        """The latest of a time and what the venue has told of a symbol."""
        snapshot = self._snapshots[self.symbols[symbol]]
        told = [tick.time for tick in (snapshot.trade, snapshot.quote, snapshot.book) if tick is not None]
        return max(time, *told)

    def _trigger(self, order: PaperOrder) -> None:
        order.triggered = True
        self.tell(EventKind.TRIGGERED, order)

    def _take(self, order: PaperOrder) -> None:
        """Let an order that has just come take what it may, and otherwise learn its place."""
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
        """Fill a quantity of an order that these levels hold."""
        if quantity < order.remaining:
            quantity = whole_lots(quantity, self.market.lot)
        if quantity <= 0.0:
            return
        self._borrow()
        self._remark()

        def price_of(_account: Portfolio, _order: WorkingOrder, _base: float, quantity: float) -> float:
            return walk(levels, quantity)[1]

        filled, ended = carry(self, order, quantity, shown.mid or levels[0][0], price_of)
        self._liquidity[order.symbol].take(order.d, levels, filled)
        if ended and order in self.orders:
            self.orders.remove(order)

    def _rebalance(self, weights: Sequence[float]) -> None:
        """Trade to shares of equity at the marks."""
        changes = wanted_changes(self, weights)
        for symbol, weight in enumerate(weights):
            if weight != 0.0 and self.mark[symbol] <= 0.0:
                shown = self._shown(symbol)
                reason = shown if isinstance(shown, Reason) else Reason.NO_PRICE
                self.record(_REJECTED, 0, symbol, 0, math.nan, reason)
        for side in (Side.SELL, Side.BUY):  # sales bring the cash that purchases need
            for symbol, change in enumerate(changes):
                if change * side > 0.0:
                    self._change(symbol, side, abs(change))

    def _change(self, symbol: int, side: Side, wanted: float) -> None:
        """Trade towards a target, as far as the levels and the account allow."""
        order = PaperOrder(0, Order(symbol, side, wanted, time_in_force=_IOC))
        shown = self._shown(symbol)
        reason = self._closed_to(order)
        if isinstance(shown, Reason) or reason:
            self.record(_REJECTED, 0, symbol, side, wanted, reason)
            return
        levels = self._liquidity[symbol].free(shown, order.d)
        held, price = walk(levels, wanted)
        held = wanted if held >= wanted else whole_lots(held, self.market.lot)
        within = buyable if side is Side.BUY else sellable
        order.remaining = within(self, symbol, held, price)
        self._fill(order, order.remaining, shown, levels)
        if held < wanted:
            order.remaining = settled(wanted, -held, self.market.lot)
            self.tell(_CANCELLED, order, Reason.UNFILLED)

    def _renew(self, symbol: int) -> None:
        """The venue shows something else."""
        shown = self._shown(symbol)
        if isinstance(shown, Reason):
            return
        self._liquidity[symbol].renew(shown)
        for order in [order for order in self.orders if order.symbol == symbol]:
            if order.taking:
                self._take(order)
            elif order.resting and order.ahead == math.inf:
                order.ahead = queue_ahead(shown, order.d, order.limit)
                if order.ahead < math.inf:  # trades that were taken off it already must not count
                    order.since = max(order.since, self._known_until(symbol, 0) + self._latency)

    def _traded(self, symbol: int, trade: Trade) -> None:
        """Fill what a trade fills, then trigger what it triggers."""
        if self._snapshots[self.symbols[symbol]].halted:
            return
        orders = [order for order in self.orders if order.symbol == symbol and trade.time > order.since]
        stops = [order for order in orders if _reached(order, trade.price)]
        self._fill_resting([order for order in orders if order.resting], trade)
        for order in stops:
            order.since = trade.time
            self._trigger(order)
            self._take(order)

    def _fill_resting(self, orders: list[PaperOrder], trade: Trade) -> None:
        """Divide a trade's size among own orders: those on the maker's side first, by price, then by time."""
        orders.sort(key=lambda order: (order.d == trade.taker, -order.d * order.limit))
        left = trade.size
        for order in orders:
            beyond = order.d * (order.limit - trade.price)
            if beyond < 0.0 or (beyond == 0.0 and order.d == trade.taker):
                continue
            ahead = 0.0 if beyond > 0.0 else order.ahead
            order.ahead = max(0.0, ahead - left)
            quantity = min(order.remaining, left - ahead)
            if quantity < order.remaining:
                quantity = whole_lots(max(0.0, quantity), self.market.lot)
            if quantity > 0.0:
                self._borrow()
                self._remark()
                filled, ended = carry(self, order, quantity, order.limit, _at_limit)
                left -= filled
                if ended:
                    self.orders.remove(order)


def _reached(order: PaperOrder, price: float) -> bool:
    """Whether a trade at a price triggers an order."""
    return order.kind in STOPPED and not order.triggered and order.d * price >= order.d * order.stop


def _at_limit(_account: Portfolio, order: WorkingOrder, _base: float, _quantity: float) -> float:
    return order.limit


def _plain(value: object) -> object:
    """A value that JSON has: of a float that is no finite number, its name."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
