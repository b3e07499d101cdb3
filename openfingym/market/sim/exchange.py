"""A deterministic exchange of several symbols in simulated time: equal seeds and equal orders give equal events."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.sim.accounts import Accounts
from openfingym.market.sim.events import Event, ExchangeOrder, ExchangeTrade, ListedPair, OrderKind, Reason, TimeInForce
from openfingym.market.sim.flow import Crowd, Flow, TapeTrade, flow_of
from openfingym.market.sim.matching import Fill, OrderBook, Resting

START = 1_700_000_000_000_000_000
"""Where the clock of an exchange begins by default, in nanoseconds since the epoch."""


class Exchange:
    """Price-time priority books, accounts, and a flow of orders from a simulated crowd or from tapes.

    Nothing happens but by :meth:`advance` and by the accounts' orders, which happen at :attr:`now`. Events are
    gathered, and handed out once by :meth:`advance` or :meth:`collect`, in their order.

    Args:
        listings: the symbols that are listed, with their terms.
        flows: a crowd or the trades of a tape, by symbol; a symbol that is not in it has only the accounts' orders.
        seed: the seed of all crowds.
        start: where its clock begins, in nanoseconds since the epoch.
        history: how many trades of each symbol :attr:`trades` keeps at least.

    Raises:
        VenueError: a flow is of a symbol that is not listed.
    """

    simulated = True

    def __init__(
        self,
        listings: Sequence[ListedPair],
        flows: Mapping[str, Crowd | Iterable[TapeTrade]] | None = None,
        *,
        seed: int = 0,
        start: int = START,
        history: int = 100_000,
    ) -> None:
        self.listings = {listing.symbol: listing for listing in listings}
        self.now = start
        """The exchange's time, in nanoseconds."""
        self.orders: dict[tuple[str, int], ExchangeOrder] = {}
        """Every order of an account, by symbol and number."""
        self.trades: dict[str, list[ExchangeTrade]] = {symbol: [] for symbol in self.listings}
        """The last trades of each symbol, oldest first."""
        self._events: list[Event] = []
        self.books = {symbol: OrderBook(symbol, self._events, self.trades[symbol]) for symbol in self.listings}
        self.accounts = Accounts(self._events)
        self._history = history
        self._resting: dict[tuple[str, int], Resting] = {}  # accounts' orders in the books, by symbol and number
        self._stops: dict[str, list[ExchangeOrder]] = {symbol: [] for symbol in self.listings}  # not triggered yet
        self._open: dict[tuple[str, int], ExchangeOrder] = {}  # by symbol and number
        self._halted: dict[str, list[int]] = {}  # the flows that wait for the symbol to trade again
        self._clients: dict[tuple[str, str], ExchangeOrder] = {}  # by account and client id
        unknown = sorted(set(flows or ()) - set(self.listings))
        if unknown:
            raise VenueError(
                f"orders flow for {', '.join(unknown)}, which is not listed: {', '.join(self.listings)} are"
            )
        # A seed for each listing, so that a symbol's crowd is the same whichever others have one.
        seeds = np.random.SeedSequence(seed).generate_state(len(self.listings), np.uint64).tolist()
        self._flows: list[tuple[Flow, OrderBook]] = [
            (flow_of(flows[symbol], start, seed), self.books[symbol])
            for symbol, seed in zip(self.listings, seeds, strict=True)
            if flows and symbol in flows
        ]
        self._agenda = [(flow.next, number) for number, (flow, _) in enumerate(self._flows) if flow.next is not None]
        heapq.heapify(self._agenda)

    def due(self) -> int | None:
        """When a flow acts next, in nanoseconds; None where none will."""
        return self._agenda[0][0] if self._agenda else None

    def advance(self, to: int) -> list[Event]:
        """Let time pass.

        Args:
            to: until when, in nanoseconds.

        Returns:
            What has happened since the last call.
        """
        agenda = self._agenda
        while agenda and agenda[0][0] <= to:
            time, number = agenda[0]
            flow, book = self._flows[number]
            if book.symbol in self._halted:
                heapq.heappop(agenda)
                self._halted[book.symbol].append(number)
                continue
            # A flow that waited for its symbol to trade again acts late, and not in the past.
            self.now = book.time = max(self.now, time)
            fills = flow.step(book)
            if fills:
                self._fill(book, None, fills)
                self._trigger(book)
                self.accounts.publish(self.now)
            if flow.next is None:
                heapq.heappop(agenda)
            else:
                heapq.heapreplace(agenda, (flow.next, number))
        self.now = max(self.now, to)
        return self.collect()

    def collect(self) -> list[Event]:
        """What has happened since this was last asked for."""
        events = self._events.copy()
        self._events.clear()
        # In place, as the books add to these lists; and at twice the length, so that it is seldom.
        for trades in self.trades.values():
            if len(trades) > 2 * self._history:
                del trades[: -self._history]
        return events

    def deposit(self, account: str, asset: str, atoms: int) -> None:
        """Add to an account's balance; see :meth:`~openfingym.market.sim.accounts.Accounts.deposit`."""
        self.accounts.deposit(self.now, account, asset, atoms)

    def place(
        self,
        account: str,
        symbol: str,
        side: int,
        kind: OrderKind,
        quantity: int,
        *,
        price: int | None = None,
        stop: int | None = None,
        time_in_force: TimeInForce = "GTC",
        client_id: str = "",
    ) -> ExchangeOrder:
        """Place an order now. A fault in it makes it a rejected order, and is no error.

        Args:
            account: name of the account.
            symbol: the symbol to trade.
            side: 1 for a buy, -1 for a sell.
            kind: the type of order.
            quantity: its quantity in lots.
            price: limit in ticks, for the types that have one.
            stop: stop price in ticks, for the types that have one.
            time_in_force: how long it stays.
            client_id: the account's own id of it, which none of its open orders may have; empty for none.

        Raises:
            VenueError: the account or the symbol does not exist.
        """
        book = self._book(symbol)
        self.accounts.require(account)
        order = ExchangeOrder(
            book.next_number(), account, symbol, side, kind, quantity, price, stop, time_in_force, client_id, self.now
        )
        order.updated = self.now
        self.orders[symbol, order.id] = order
        reason = self.refusal(order)
        if reason:
            self._end(order, "rejected", reason)
            return order
        self._open[symbol, order.id] = order
        if client_id:
            self._clients[account, client_id] = order
        self.accounts.lock(self.listings[symbol], order)
        self.accounts.report(self.now, "new", order)
        if order.working and symbol not in self._halted:
            self._work(book, order)
        elif not order.working:
            self._stops[symbol].append(order)
        self._trigger(book)
        self.accounts.publish(self.now)
        return order

    def refusal(self, order: ExchangeOrder) -> Reason:
        """Why the exchange would refuse an order now; empty where it would take it."""
        book, price, stop = self.books[order.symbol], order.price, order.stop
        if order.quantity < 1:
            return "bad-quantity"
        if (price is not None) != (order.kind in {"limit", "stop_limit", "limit_maker"}) or (
            price is not None and price < 1
        ):
            return "bad-price"
        if (stop is not None) != (order.kind in {"stop", "stop_limit"}) or (stop is not None and stop < 1):
            return "bad-stop"
        before = self._clients.get((order.account, order.client_id))
        if before is not None and before.open:
            return "duplicate-client-id"
        if order.kind == "limit_maker" and price is not None and self._crosses(book, order.side, price):
            return "would-match"
        cost = book.available(order.side, order.quantity, None)[1] if order.kind == "market" else None
        return "" if self.accounts.covers(self.listings[order.symbol], order, cost) else "insufficient-balance"

    def by_client_id(self, account: str, client_id: str) -> ExchangeOrder | None:
        """The last order that an account placed under this id."""
        return self._clients.get((account, client_id))

    def open_orders_of(self, symbol: str) -> list[ExchangeOrder]:
        """All accounts' open orders for a symbol, oldest first."""
        return [order for order in self._open.values() if order.symbol == symbol]

    def open_orders(self, account: str, symbol: str | None = None) -> list[ExchangeOrder]:
        """An account's open orders, oldest first."""
        orders = self._open.values()
        return [order for order in orders if order.account == account and symbol in {None, order.symbol}]

    def halted(self, symbol: str) -> bool:
        """Whether a symbol does not trade now."""
        return symbol in self._halted

    def halt(self, symbol: str) -> None:
        """Stop the trading of a symbol: its crowd or tape stands still, and orders wait even if they could match."""
        self._book(symbol)
        self._halted.setdefault(symbol, [])

    def resume(self, symbol: str) -> None:
        """Let a symbol trade again; the orders that have waited come first, the oldest before the others."""
        # A flow that was due during the halt acts now, and goes on from there.
        book = self._book(symbol)
        for number in self._halted.pop(symbol, ()):
            time = self._flows[number][0].next
            assert time is not None
            heapq.heappush(self._agenda, (max(time, self.now), number))
        for order in self.open_orders_of(symbol):
            if order.working and (symbol, order.id) not in self._resting and order.open:
                self._work(book, order)
        self._trigger(book)
        self.accounts.publish(self.now)

    def cancel(self, order: ExchangeOrder) -> bool:
        """Cancel an order; False where it was not open any more."""
        return self._stop(order, "canceled")

    def expire(self, order: ExchangeOrder) -> bool:
        """End an order whose time is over; False where it was not open any more."""
        return self._stop(order, "expired")

    def _stop(self, order: ExchangeOrder, kind: Literal["canceled", "expired"]) -> bool:
        if not order.open:
            return False
        self._withdraw(order)
        self._end(order, kind, "")
        self.accounts.publish(self.now)
        return True

    def reduce(self, order: ExchangeOrder, quantity: int) -> bool:
        """Lower an order's quantity; it keeps its place.

        Args:
            order: the order to reduce.
            quantity: its new quantity in lots, fills included.

        Returns:
            False, and nothing done, where it is not open or the quantity is not lower.
        """
        if not order.open or not order.filled < quantity < order.quantity:
            return False
        resting = self._resting.get((order.symbol, order.id))
        if resting is not None:
            self._now(order.symbol).reduce(resting, order.quantity - quantity)
        self.accounts.release(self.listings[order.symbol], order, order.quantity - quantity)
        order.quantity = quantity
        order.updated = self.now
        self.accounts.report(self.now, "reduced", order)
        self.accounts.publish(self.now)
        return True

    def replace(
        self,
        order: ExchangeOrder,
        *,
        quantity: int,
        price: int | None = None,
        stop: int | None = None,
        client_id: str = "",
    ) -> ExchangeOrder | None:
        """Cancel an order and place another with other terms, at the end of the queue. The new order may be rejected
        although the old one is cancelled.

        Args:
            order: the order to replace.
            quantity: lots of the new one.
            price: its limit in ticks, for the types that have one.
            stop: its stop price in ticks, for the types that have one.
            client_id: the account's own id of the new one; empty for none.

        Returns:
            The new order; None, and nothing done, where the old one was not open.
        """
        if not self.cancel(order):
            return None
        return self.place(
            order.account, order.symbol, order.side, order.kind, quantity, price=price, stop=stop,
            time_in_force=order.time_in_force, client_id=client_id,
        )  # fmt: skip

    def _book(self, symbol: str) -> OrderBook:
        if symbol not in self.books:
            raise VenueError(f"no symbol {symbol!r} is listed: {', '.join(self.books)} are")
        return self._now(symbol)

    def _now(self, symbol: str) -> OrderBook:
        """The book of a symbol, set to the present time, which its events state."""
        book = self.books[symbol]
        book.time = self.now
        return book

    @staticmethod
    def _crosses(book: OrderBook, side: int, price: int) -> bool:
        best = book.best(-side)
        return best is not None and (price - best) * side >= 0

    def _work(self, book: OrderBook, order: ExchangeOrder) -> None:
        """Match an order, and let what is left rest or expire."""
        if order.time_in_force == "FOK" and book.available(order.side, order.left, order.price)[0] < order.left:
            self._end(order, "expired", "unfilled")
            return
        fills = book.take(order.id, order.side, order.left, order.price)
        self._fill(book, order, fills)
        if order.left:
            if order.price is None or order.time_in_force != "GTC":
                self._end(order, "expired", "unfilled")
            else:
                resting = Resting(order.id, order.side, order.price, order.left, order)
                self._resting[order.symbol, order.id] = resting
                book.rest(resting)

    def _fill(self, book: OrderBook, taker: ExchangeOrder | None, fills: list[Fill]) -> None:
        """Carry fills over to the accounts; an order without an owner, on either side, is the crowd's."""
        for fill in fills:
            if fill.maker.owner is not None:
                self._execute(fill.maker.owner, fill, True)
            if taker is not None:
                self._execute(taker, fill, False)
            if (fill.maker.owner is None) != (taker is None):
                side = taker.side if taker is not None else fill.maker.side
                self.accounts.against_crowd(self.listings[book.symbol], side, fill.price, fill.quantity)

    def _execute(self, order: ExchangeOrder, fill: Fill, maker: bool) -> None:
        listing = self.listings[order.symbol]
        fee, asset = self.accounts.execute(listing, order, fill.price, fill.quantity, maker)
        order.filled += fill.quantity
        order.cost += fill.price * fill.quantity * listing.value
        order.status = "partially_filled" if order.left else "filled"
        order.updated = self.now
        if not order.left:
            self._resting.pop((order.symbol, order.id), None)
            self._open.pop((order.symbol, order.id), None)
        self.accounts.report(
            self.now, "trade", order, price=fill.price, quantity=fill.quantity, trade=fill.trade, fee=fee,
            fee_asset=asset, maker=maker,
        )  # fmt: skip

    def _trigger(self, book: OrderBook) -> None:
        """Trigger the stop orders that the last price has reached, one by one: each may move that price."""
        stops = self._stops[book.symbol]
        while stops and book.last is not None and book.symbol not in self._halted:
            last = book.last
            reached = next(
                (order for order in stops if order.stop is not None and (last - order.stop) * order.side >= 0), None
            )
            if reached is None:
                return
            stops.remove(reached)
            reached.triggered = True
            reached.updated = self.now
            self.accounts.report(self.now, "triggered", reached)
            # It was locked for at the stop price; as a market order it has to be covered at the book's prices.
            if reached.kind == "stop":
                self.accounts.release(self.listings[book.symbol], reached, reached.left)
                reached.hold = 0
                cost = book.available(reached.side, reached.left, None)[1]
                if not self.accounts.covers(self.listings[book.symbol], reached, cost):
                    self._end(reached, "expired", "insufficient-balance")
                    continue
            self._work(book, reached)

    def _withdraw(self, order: ExchangeOrder) -> None:
        resting = self._resting.pop((order.symbol, order.id), None)
        if resting is not None:
            self._now(order.symbol).reduce(resting, resting.left)
        elif order in self._stops[order.symbol]:
            self._stops[order.symbol].remove(order)

    def _end(self, order: ExchangeOrder, kind: Literal["canceled", "expired", "rejected"], reason: Reason) -> None:
        if kind != "rejected":
            self.accounts.release(self.listings[order.symbol], order, order.left)
        self._open.pop((order.symbol, order.id), None)
        order.status, order.reason, order.updated = kind, reason, self.now
        self.accounts.report(self.now, kind, order)
