"""The rules of a simulated market: costs, limits of the account, sizes of lots and ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntEnum

from openfingym.errors import UsageError


class BarPath(IntEnum):
    """The path that prices are assumed to take inside a bar, where two orders were both touched."""

    CERTAIN = 0
    """Nothing is assumed: only what is certain on every path happens, in order of submission."""
    OPEN_HIGH_LOW_CLOSE = 1
    """From the open to the high, then to the low, then to the close."""
    OPEN_LOW_HIGH_CLOSE = 2
    """From the open to the low, then to the high, then to the close."""
    ADAPTIVE = 3
    """From the open to the extreme nearer to it first; to the high at a tie."""


@dataclass(frozen=True)
class MarketRules:
    """The rules of a market: how orders are filled and what they cost. Immutable.

    Rates are fractions of notional in basis points: 1 bps is 0.0001.
    """

    fee_bps: float = 0.0
    """Proportional fee of every fill."""
    fee_per_trade: float = 0.0
    """Fixed fee of every fill, in cash."""
    slippage_bps: float = 0.0
    """Basis points by which market and stop orders trade worse than the bar's price."""
    half_spread_bps: float = 0.0
    """Half the quoted spread, paid by market and stop orders beside slippage."""
    impact: float = 0.0
    """k of the volume-share model: the price moves by the fraction k (quantity / bar volume)^2 (zipline's default is
    0.1)."""
    max_participation: float = 0.0
    """Largest share of a bar's volume that all fills of a symbol may take; 0 for no cap."""
    lot: float = 1.0
    """Size of a lot in units, of which quantities are multiples; 0 for any quantity."""
    tick: float = 0.0
    """Step of limit and stop prices in cash, of which they are multiples; 0 for any price."""
    max_short: float = 1.0
    """Multiple of equity that short positions may be worth; 0 forbids them."""
    borrow_bps_per_year: float = 0.0
    """Yearly cost of borrowing what is sold short, in basis points of its value."""
    bars_per_year: float = 252.0
    """Number of bars in a year, by which the yearly borrowing cost is divided."""
    path: BarPath = BarPath.CERTAIN
    """The path that prices are assumed to take inside a bar."""
    short_proceeds_fund_longs: bool = False
    """Whether the proceeds of short sales may buy; by default they are collateral."""
    check_on_submit: bool = True
    """Whether cash and short cap are checked and reserved at submission too, not at the fill alone."""
    max_open_orders: int = 64
    """Largest number of orders that an account may have open at once."""
    max_orders_per_batch: int = 256
    """Largest number of orders that may be submitted together; a larger batch is refused as a whole."""

    def __post_init__(self) -> None:
        for name in (
            "fee_bps",
            "fee_per_trade",
            "slippage_bps",
            "half_spread_bps",
            "impact",
            "lot",
            "tick",
            "max_short",
            "borrow_bps_per_year",
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise UsageError(f"market rules: {name} is {value}; expected a finite number, not negative")
        if not 0.0 <= self.max_participation <= 1.0:
            raise UsageError(
                f"market rules: max_participation is {self.max_participation}; expected a share from 0 (no cap) to 1"
            )
        if not (math.isfinite(self.bars_per_year) and self.bars_per_year > 0.0):
            raise UsageError(
                f"market rules: bars_per_year is {self.bars_per_year}; expected a number above 0, such as 252"
            )
        # At the whole price a sale would bring nothing, or even cost cash.
        if self.fee_bps + self.slippage_bps + self.half_spread_bps >= 10_000.0:
            raise UsageError(
                "market rules: fee_bps, slippage_bps and half_spread_bps add up to the whole price (10000 bps) or more"
            )
        # Bounded, since the compiled core reserves memory for so many orders, and their events, in every account.
        if not 1 <= self.max_open_orders <= 4096:
            raise UsageError(f"market rules: max_open_orders is {self.max_open_orders}; expected 1 to 4096")
        if not 1 <= self.max_orders_per_batch <= 4096:
            raise UsageError(f"market rules: max_orders_per_batch is {self.max_orders_per_batch}; expected 1 to 4096")

    @property
    def borrow_rate(self) -> float:
        """Borrow cost of one bar as a fraction of the short notional."""
        return self.borrow_bps_per_year * 1e-4 / self.bars_per_year

    def describe(self) -> dict[str, object]:
        """The rules as plain values by field name; the path in words, such as ``open-high-low-close``."""
        return {
            item.name: (
                value.name.lower().replace("_", "-")
                if isinstance(value := getattr(self, item.name), BarPath)
                else value
            )
            for item in fields(self)
        }
