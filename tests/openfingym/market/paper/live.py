"""A live market of a test's own making, and an account that trades in it on paper."""

from __future__ import annotations

from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.state import MarketState
from openfingym.market.ticks import SECOND, Depth, Level, Quote, Tick, Trade
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side, TimeInForce

BUY, SELL = Side.BUY, Side.SELL
MARKET, LIMIT, STOP, STOP_LIMIT = OrderType
GTC, IOC = TimeInForce
BEGIN = 1_767_225_600 * SECOND
FILLED, REJECTED, CANCELLED = EventKind.FILLED, EventKind.REJECTED, EventKind.CANCELLED
ASKS: tuple[Level, ...] = ((101.0, 5.0), (102.0, 10.0), (104.0, 100.0))
BIDS: tuple[Level, ...] = ((99.0, 5.0), (98.0, 10.0), (96.0, 100.0))


class Live:
    """The market's clock runs as ours does; what a test says happens at ``now``, in seconds."""

    def __init__(
        self,
        rules: MarketRules | None = None,
        *,
        symbols: tuple[str, ...] = ("S",),
        cash: float = 1e6,
        latency_s: float = 0.0,
        state: MarketState | None = None,
    ) -> None:
        self.state = state or MarketState(symbols)
        self.now = 0.0
        self.paper = PaperExecutor(
            rules or MarketRules(),
            self.state,
            symbols,
            cash=cash,
            at=self.at(),
            venue_time=lambda at: BEGIN + at.monotonic,
            interval_s=60.0,
            ticks=[0.01] * len(symbols),
            budgets=Budgets(),
            latency_s=latency_s,
        )
        self._number = 0
        self._update = 0

    def at(self) -> Instant:
        return Instant(round(self.now * SECOND), 0)  # no decision may look at the wall clock

    def time(self, seconds: float | None = None) -> int:
        return BEGIN + round((self.now if seconds is None else seconds) * SECOND)

    def tell(self, tick: Tick) -> None:
        self.state.apply(tick, self.at())

    def book(
        self, bids: tuple[Level, ...] = BIDS, asks: tuple[Level, ...] = ASKS, symbol: str = "S", *, whole: bool = True
    ) -> None:
        self._update += 1
        self.tell(Depth(symbol, bids, asks, self._update, self._update, self.time(), whole))

    def quote(self, bid: float, ask: float, size: float = 5.0, symbol: str = "S") -> None:
        self.tell(Quote(symbol, bid, size, ask, size, self.time()))

    def trade(
        self, price: float, size: float, taker: int = 0, *, seconds: float | None = None, symbol: str = "S"
    ) -> Trade:
        self._number += 1
        trade = Trade(symbol, self._number, price, size, self.time(seconds), taker)
        self.tell(trade)
        return trade

    def missed(self, price: float, size: float, seconds: float) -> Trade:
        """A trade that the stream does not bring."""
        self._number += 1
        return Trade("S", self._number, price, size, self.time(seconds), 0)

    def order(self, *orders: Order) -> list[int]:
        return self.paper.decide(Decision(orders=orders), self.at())

    def weights(self, *weights: float) -> None:
        self.paper.decide(Decision(weights=weights), self.at())

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def events(self) -> list[Event]:
        return self.paper.events()

    def fills(self) -> list[tuple[float, float]]:
        """(quantity, price) of the fills since the last look."""
        return [(event.quantity, event.price) for event in self.events() if event.kind is FILLED]

    def reasons(self) -> list[Reason]:
        return [event.reason for event in self.events() if event.kind in {REJECTED, CANCELLED}]


def limit(side: Side, quantity: float, price: float, **others: object) -> Order:
    return Order(0, side, quantity, LIMIT, price, **others)  # type: ignore[arg-type]


def market(side: Side, quantity: float, **others: object) -> Order:
    return Order(0, side, quantity, **others)  # type: ignore[arg-type]
