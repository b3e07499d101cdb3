"""Listings, orders and events of a simulated exchange.

Prices are whole ticks, quantities whole lots and balances whole atoms (1e-8 of an asset), so that money is conserved to
the last digit. ``side`` is 1 for a buyer and -1 for a seller. Times are nanoseconds of the exchange's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from openfingym.errors import VenueError

ATOMS = 10**8
"""Atoms of one whole unit of any asset."""

OrderKind = Literal["limit", "market", "stop", "stop_limit", "limit_maker"]
TimeInForce = Literal["GTC", "IOC", "FOK"]
Status = Literal["new", "partially_filled", "filled", "canceled", "expired", "rejected"]
ExecutionKind = Literal["new", "trade", "canceled", "expired", "rejected", "reduced", "triggered"]
Reason = Literal[
    "",
    "bad-quantity",
    "bad-price",
    "bad-stop",
    "duplicate-client-id",
    "insufficient-balance",
    "would-match",
    "unfilled",
]
"""Why an order was rejected or has expired."""
OPEN = ("new", "partially_filled")
"""The statuses of an order that may still trade."""


@dataclass(frozen=True)
class ListedPair:
    """A symbol and its terms.

    Raises:
        VenueError: a tick of one lot is not a whole number of atoms of the quote asset, or a lot is not one of the
            base.
    """

    symbol: str
    base: str
    """The asset that is bought."""
    quote: str
    """The asset that is paid."""
    tick: Decimal = Decimal("0.01")
    """Step of prices, in the quote asset."""
    lot: Decimal = Decimal("0.00001")
    """Step of quantities, in the base asset."""
    maker_ppm: int = 1000
    """Fee of a resting order, in millionths of what its owner receives."""
    taker_ppm: int = 1000
    """Fee of an incoming order, in the same way."""
    fee_in_quote: bool = False
    """Whether buyers, too, pay fees in the quote asset."""
    value: int = field(init=False)
    """Atoms of the quote asset that one lot costs for each tick of its price."""
    unit: int = field(init=False)
    """Atoms of the base asset in one lot."""

    def __post_init__(self) -> None:
        value, unit = self.tick * self.lot * ATOMS, self.lot * ATOMS
        if min(value, unit) <= 0 or value % 1 or unit % 1:
            raise VenueError(
                f"{self.symbol} has a tick of {self.tick} and lots of {self.lot}: expected both, and their product, to "
                f"be multiples of {Decimal(1) / ATOMS:f}; choose a larger lot"
            )
        object.__setattr__(self, "value", int(value))
        object.__setattr__(self, "unit", int(unit))


@dataclass(slots=True)
class ExchangeOrder:
    """An account's order and its present state, which only the exchange changes."""

    id: int
    """Number of the order, counting up within its symbol."""
    account: str
    symbol: str
    side: int
    kind: OrderKind
    quantity: int
    """Lots."""
    price: int | None
    """Limit in ticks; None without one."""
    stop: int | None
    """Stop price in ticks; None without one."""
    time_in_force: TimeInForce
    client_id: str
    """The owner's id of it; empty without one."""
    time: int
    """When it was placed."""
    status: Status = "new"
    reason: Reason = ""
    """Why it was rejected or has expired, if it was."""
    filled: int = 0
    """Lots that are filled."""
    cost: int = 0
    """Atoms of the quote asset that its fills have cost or brought, without fees."""
    hold: int = 0
    """Atoms that are locked for each lot that is not filled."""
    updated: int = 0
    """When its state last changed."""
    triggered: bool = False
    """Whether it is a stop order whose price was reached."""

    @property
    def left(self) -> int:
        """Lots that are not filled."""
        return self.quantity - self.filled

    @property
    def open(self) -> bool:
        """Whether it may still trade."""
        return self.status in OPEN

    @property
    def working(self) -> bool:
        """Whether it may trade, and is not a stop order that waits for its price."""
        return self.stop is None or self.triggered


class ExchangeTrade(NamedTuple):
    """A match of two orders."""

    symbol: str
    time: int
    id: int
    """Number of the trade, counting up by one within its symbol."""
    price: int
    quantity: int
    taker: int
    """1 where the incoming order bought, -1 where it sold."""
    taker_order: int
    """Number of the incoming order."""
    maker_order: int
    """Number of the resting order."""


class BookChange(NamedTuple):
    """The new size of one price level."""

    symbol: str
    time: int
    update: int
    """Number of the change, counting up by one within its symbol."""
    side: int
    price: int
    quantity: int
    """All lots there now; 0 removes the level."""


class ExchangeExecution(NamedTuple):
    """A report to an order's owner; fields other than ``order`` are as they stood at its time."""

    symbol: str
    time: int
    id: int
    """Number of the report, counting up by one at the exchange."""
    kind: ExecutionKind
    account: str
    order: ExchangeOrder
    """The order as it is *now*: for anything but its terms, read the fields below."""
    status: Status
    """Status of the order."""
    filled: int
    """Lots of the order that were filled so far."""
    cost: int
    """Atoms of the quote asset that its fills had cost or brought so far."""
    price: int = 0
    """Price of this fill in ticks; 0 where it reports none."""
    quantity: int = 0
    """Quantity of this fill in lots; 0 where it reports none."""
    trade: int = -1
    """Number of the trade; -1 where it reports none."""
    fee: int = 0
    """Fee of this fill, in atoms of ``fee_asset``."""
    fee_asset: str = ""
    maker: bool = False
    """Whether the order was the resting one."""
    reason: Reason = ""
    """Why it was rejected or has expired, if it was."""


class Balance(NamedTuple):
    """The new balance of an account, in atoms."""

    time: int
    account: str
    asset: str
    free: int
    """Atoms that it may spend."""
    locked: int
    """Atoms that open orders may spend."""


Event = ExchangeTrade | BookChange | ExchangeExecution | Balance
