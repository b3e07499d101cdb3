"""The contract of trading tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from openfingym.kinds.bars.data import BarsContract
from openfingym.task.contracts import Family, NotNegative

if TYPE_CHECKING:
    from openfingym.task import Spec


class TradingContract(BarsContract):
    """An account that trades hidden bars: after each, an agent states target weights or sends orders.

    The account's own record is scored, [episodes, steps + 1, columns]. Costs and rules are those of
    :class:`openfingym.trading.market.MarketRules`, which says what each of them means.
    """

    family: ClassVar[Family] = "trading"
    baseline: ClassVar[str] = "buy-and-hold"

    kind: Literal["trading"]
    horizon: Literal[1] = 1
    """Bars from a decision to the bar in which it is live: always the next one."""
    initial_cash: Annotated[float, Field(gt=0.0)] = 100_000.0
    """Cash in the account at the start of each episode, in units of currency."""
    bars_per_year: Annotated[float, Field(gt=0.0)] = 252.0
    """Bars in a year, with which a year's cost of borrowing becomes that of a bar, and metrics are annualised."""
    fee_bps: NotNegative = 0.0
    fee_per_trade: NotNegative = 0.0
    slippage_bps: NotNegative = 0.0
    half_spread_bps: NotNegative = 0.0
    impact: NotNegative = 0.0
    max_participation: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    lot: NotNegative = 1.0
    tick: NotNegative = 0.0
    max_short: NotNegative = 1.0
    borrow_bps_per_year: NotNegative = 0.0
    max_open_orders: Annotated[int, Field(ge=1, le=4096)] = 64
    max_orders_per_step: Annotated[int, Field(ge=1, le=4096)] = 256
    """Orders that one action may submit; a larger batch is rejected as a whole."""
    unit: str = "share of equity"
    """Unit of a target weight."""
    low: float = -1.0
    """Smallest target weight."""
    high: float = 1.0
    """Largest target weight."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        # Not -self.max_short, which is -0.0 for 0 and would be shown as such.
        lowest = 0.0 - self.max_short
        if self.low != lowest or self.high != 1.0:
            raise ValueError(f"low and high are those of a target weight: expected {lowest:g} (minus max_short) and 1")
        return self

    def agree(self, spec: Spec) -> None:
        """Check as contracts about bars do, and that contract and scoring state the same number of bars a year."""
        if self.bars_per_year != spec.scoring.periods_per_year:
            raise ValueError(
                f"contract.bars_per_year is {self.bars_per_year:g} and scoring.periods_per_year "
                f"{spec.scoring.periods_per_year:g}; "
                "both are the bars in a year, and must agree"
            )
        super().agree(spec)
