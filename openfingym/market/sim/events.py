"""What is listed and ordered at a simulated exchange, and what it says has happened.

Prices are whole ticks, quantities whole lots and balances whole atoms, 10⁻⁸ of an asset, so that money is conserved to
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
        VenueError: one tick of one lot is not a whole number of atoms of the quote asset, or a lot not one of the base.
    """

    symbol: str
    base: str
    quote: str
    tick: Decimal = Decimal("0.01")
    lot: Decimal = Decimal("0.00001")
    maker_ppm: int = 1000
    """Fee of a resting order, in millionths of what its owner receives."""
    taker_ppm: int = 1000
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
    """An account's order and how it stands now; only the exchange changes it."""

    id: int
    """Counts up within its symbol."""
    account: str
    symbol: str
    side: int
    kind: OrderKind
    quantity: int
    price: int | None
    stop: int | None
    time_in_force: TimeInForce
    client_id: str
    time: int
    """When it was placed."""
    status: Status = "new"
    reason: Reason = ""
    filled: int = 0
    cost: int = 0
    """Atoms of the quote asset that its fills have cost or brought, without fees."""
    hold: int = 0
    """Atoms that are locked for each lot that is not filled."""
    updated: int = 0
    triggered: bool = False
    """Whether it has been a stop order whose price was reached."""

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
        """Whether it has been in the book, and is not a stop order that waits."""
        return self.stop is None or self.triggered


class ExchangeTrade(NamedTuple):
    """A match of two orders."""

    symbol: str
    time: int
    id: int
    """Counts up by one within its symbol."""
    price: int
    quantity: int
    taker: int
    """1 where the incoming order bought, -1 where it sold."""
    taker_order: int
    maker_order: int


class BookChange(NamedTuple):
    """The new size of one price level."""

    symbol: str
    time: int
    update: int
    """Counts up by one within its symbol."""
    side: int
    price: int
    quantity: int
    """All lots there now; 0 removes the level."""


class ExchangeExecution(NamedTuple):
    """A report to an order's owner; fields other than ``order`` are as they stood at its time."""

    symbol: str
    time: int
    id: int
    """Counts up by one at the exchange."""
    kind: ExecutionKind
    account: str
    order: ExchangeOrder
    """As it stands *now*: beside its terms, read the fields below."""
    status: Status
    filled: int
    """Lots so far."""
    cost: int
    """Atoms of the quote asset so far."""
    price: int = 0
    """Of this fill."""
    quantity: int = 0
    """Of this fill."""
    trade: int = -1
    fee: int = 0
    """Atoms of ``fee_asset``."""
    fee_asset: str = ""
    maker: bool = False
    reason: Reason = ""


class Balance(NamedTuple):
    """What an account has of an asset now, in atoms."""

    time: int
    account: str
    asset: str
    free: int
    locked: int


Event = ExchangeTrade | BookChange | ExchangeExecution | Balance
