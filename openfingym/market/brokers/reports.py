"""Reports on an account, by its broker or by ourselves, in one form for all brokers: the inputs of a mirror.

Money and quantities are decimals, exactly as the broker states them. Every report may come twice, late or in another
order: none of them states a change, but only what is true, so that they can be merged in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

ZERO = Decimal(0)


class OrderState(IntEnum):
    """States of an order by rank: a report of a lower one is older, and an order never leaves a final one."""

    SUBMITTED = 0
    """Its request is about to be sent."""
    UNKNOWN = 1
    """Its request has had no answer: the broker may have the order or not."""
    ABSENT = 2
    """The broker has been asked for it more than once and does not know it."""
    PENDING = 3
    """The broker has it, and has not sent it to a market yet."""
    OPEN = 4
    FILLED = 5
    CANCELLED = 6
    EXPIRED = 7
    REJECTED = 8
    REPLACED = 9
    """Another order has taken its place."""

    @property
    def final(self) -> bool:
        """Whether the order can trade no more."""
        return self >= OrderState.FILLED


class Instrument(NamedTuple):
    """A symbol as its venue trades it. Increments of 0 allow any value."""

    symbol: str
    base: str
    """The asset that is bought: a coin, or the share itself."""
    quote: str
    """The asset that is paid."""
    price_increment: Decimal = ZERO
    """Step of prices, which are multiples of it."""
    quantity_increment: Decimal = ZERO
    """Step of quantities, which are multiples of it."""
    least_quantity: Decimal = ZERO
    """Smallest quantity of an order."""
    least_value: Decimal = ZERO
    """Smallest price times quantity of an order."""


class Submitted(NamedTuple):
    """An order of ours, reported before its request is sent."""

    client_id: str
    """Our id of the order, unique among all that the account ever had."""
    symbol: str
    side: Side
    quantity: Decimal
    type: OrderType
    time_in_force: TimeInForce
    limit_price: Decimal | None
    stop_price: Decimal | None
    reference: Decimal
    """The last price seen, which bounds the value of a market order."""
    time: int
    """When it was made, in nanoseconds since the epoch."""
    label: str | None = None
    """The agent's own id of the order; None without one."""
    replaces: str = ""
    """Our id of the order that it is to replace; empty for none."""


class OrderReport(NamedTuple):
    """An order as the broker states it: an acknowledgement, an event of its stream, or an answer to a question."""

    order_id: str
    client_id: str
    symbol: str
    side: Side
    quantity: Decimal
    filled: Decimal
    """How much of it has been filled in all."""
    cost: Decimal | None
    """The value of what has been filled; None where it is not stated."""
    state: OrderState
    type: OrderType = OrderType.MARKET
    time_in_force: TimeInForce = TimeInForce.GTC
    limit_price: Decimal | None = None
    stop_price: Decimal | None = None
    reason: Reason = Reason.NONE
    """Why it is rejected."""
    text: str = ""
    """Why, in the venue's words; empty where it has none."""


class ReportSource(IntEnum):
    """Where an execution was reported; where sources differ, the one with the higher number is believed."""

    STREAM = 0
    ACTIVITY = 1
    """An answer to a question for fills, which holds them all."""


class BrokerExecution(NamedTuple):
    """One fill."""

    order_id: str
    id: str
    """Unique among the executions of its order from one source."""
    symbol: str
    side: Side
    quantity: Decimal
    price: Decimal
    time: int
    """When it happened by the venue's clock, in nanoseconds since the epoch."""
    source: ReportSource
    """Where it was reported."""
    fee: Decimal = ZERO
    """Fee of the fill."""
    fee_asset: str = ""
    """Asset in which the fee is paid."""
    slot: str = ""
    """A name of the execution that is the same in every source, where sources give it different ids; empty where ids
    agree.
    """
    client_id: str = ""
    position: Decimal | None = None
    """Units held after it; None where that is not stated. It is only a reason to ask for the account, since executions
    come in any order.
    """
    corrects: str = ""
    """Id of the execution that it corrects; empty for none."""


class Bust(NamedTuple):
    """An execution that the venue has taken back."""

    order_id: str
    id: str
    source: ReportSource


class OrderRefused(NamedTuple):
    """The broker has refused the request for an order: it never existed."""

    client_id: str
    reason: Reason
    text: str = ""
    """Why, in the venue's words; empty where it has none."""


class Unanswered(NamedTuple):
    """The request for an order has had no answer that says whether it was taken."""

    client_id: str
    text: str = ""
    """What was answered, in the venue's words; empty for nothing."""


class Absent(NamedTuple):
    """The broker does not know an order whose request had no answer, long after it was sent."""

    client_id: str


class AccountReport(NamedTuple):
    """Holdings as an account states them. They lag what the broker says of orders."""

    totals: Mapping[str, Decimal]
    """Units of each asset that the report covers, what open orders hold included; 0 where nothing is held."""
    started: int
    """When the question was sent, in nanoseconds of the monotonic clock."""


class Adopted(NamedTuple):
    """The holding of an asset was set to what the account states."""

    asset: str
    total: Decimal
    """Units of it."""


Report = Submitted | OrderReport | BrokerExecution | Bust | OrderRefused | Unanswered | Absent | AccountReport | Adopted
"""What a mirror merges."""
