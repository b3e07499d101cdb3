"""One account walking over bars, with a record of how it did.

The record is what everything is scored and drawn from: :data:`openfingym.metrics.performance.RECORD`
names its columns.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.errors import UsageError
from openfingym.trading.actions import Decision, carry_out
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event
from openfingym.trading.simulator import Simulator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.bars import Bars

COLUMNS = 7


class Session:
    """An account that starts at the close of row ``first`` of some bars and walks ``steps`` rows.

    Attributes:
        simulator: the simulator, which holds the account.
        row: row of the bars whose close has been seen.
        rows: the rows walked so far, 0 to ``steps``.
    """

    def __init__(self, bars: Bars, market: MarketRules, *, cash: float, first: int, steps: int) -> None:
        """Open the account.

        Raises:
            UsageError: the bars do not have these rows.
        """
        if not (first >= 0 and steps >= 1 and first + steps < len(bars.times)):
            raise UsageError(
                f"an episode of {steps} steps from row {first} needs {first + steps + 1} rows; the bars have "
                f"{len(bars.times)}"
            )
        self.bars, self.first, self.row, self.steps = bars, first, first, steps
        self.simulator = Simulator(
            market, cash=cash, closes=bars.close[first].tolist(), volumes=bars.volume[first].tolist(), row=first
        )
        self.record = np.zeros((steps + 1, COLUMNS))
        self.record[0, 0] = cash

    @property
    def rows(self) -> int:
        """Rows walked so far."""
        return self.row - self.first

    @property
    def done(self) -> bool:
        """Whether the last row is reached, or the account is bankrupt."""
        return self.rows >= self.steps or self.simulator.bankrupt

    def decide(self, decision: Decision) -> list[int]:
        """Give orders at the close of this row, for the next bar on; returns the ids of the orders."""
        if decision.weights is not None:
            self.simulator.target(decision.weights)
        return carry_out(decision, self.simulator)

    def advance(self) -> list[Event]:
        """Walk one row; returns what happened since the last row, refused decisions included.

        Raises:
            UsageError: the session has walked all of its rows.
        """
        if self.done:
            raise UsageError("the episode is over; start another")
        self.row += 1
        account = self.simulator
        walk(account, self.bars, self.row)
        held = account.account()
        self.record[self.rows] = (
            account.equity,
            account.traded,
            account.cost,
            held.long,
            held.short,
            account.closed,
            account.won,
        )
        return account.events()

    def copy(self) -> Self:
        """A session that goes on from here without changing this one; bars are shared."""
        twin = copy.copy(self)
        twin.simulator = copy.deepcopy(self.simulator)
        twin.record = self.record.copy()
        return twin

    def outcome(self) -> NDArray[np.float64]:
        """The record as if nothing more were decided, float64[steps + 1, 7]; the session does not move.

        After bankruptcy everything stays at zero.
        """
        twin = self.copy()
        while not twin.done:
            twin.advance()
        return twin.record


def walk(account: Simulator, bars: Bars, row: int) -> None:
    """Let a row of bars pass."""
    split, dividend = bars.split[row], bars.dividend[row]
    account.on_bar(
        bars.open[row].tolist(),
        bars.high[row].tolist(),
        bars.low[row].tolist(),
        bars.close[row].tolist(),
        bars.volume[row].tolist(),
        tradable=bars.tradable[row].tolist(),
        splits=split.tolist() if (split != 1.0).any() else None,
        dividends=dividend.tolist() if dividend.any() else None,
    )
