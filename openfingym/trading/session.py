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
"""Columns of the record."""


class Session:
    """An account that starts at the close of row ``first`` of some bars and walks ``steps`` rows.

    Attributes:
        simulator: the simulator, which holds the account.
        row: row of the bars whose close has been seen.
        rows: number of rows walked so far, 0 to ``steps``.
    """

    def __init__(self, bars: Bars, market: MarketRules, *, cash: float, first: int, steps: int) -> None:
        """Open the account.

        Args:
            bars: the bars that are traded; shared, never copied.
            market: costs and limits of trading.
            cash: cash of the account when it is opened, in units of currency.
            first: number of the row at whose close the account is opened.
            steps: number of rows to walk after it.

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
        """Number of rows walked so far."""
        return self.row - self.first

    @property
    def done(self) -> bool:
        """Whether the last row is reached, or the account is bankrupt."""
        return self.rows >= self.steps or self.simulator.bankrupt

    def decide(self, decision: Decision) -> list[int]:
        """Carry out a decision made at the close of this row, which takes effect from the next bar on.

        Returns:
            The id of each submitted order, 0 where it was refused.
        """
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
        values = account.account()
        self.record[self.rows] = (
            account.equity,
            account.traded,
            account.cost,
            values.long,
            values.short,
            account.closed,
            account.won,
        )
        return account.events()

    def copy(self) -> Self:
        """A session that goes on from here without changing this one; bars are shared."""
        branch = copy.copy(self)
        branch.simulator = copy.deepcopy(self.simulator)
        branch.record = self.record.copy()
        return branch

    def outcome(self) -> NDArray[np.float64]:
        """The record as if nothing more were decided, float64[steps + 1, 7]; the session does not move.

        After bankruptcy everything stays at zero.
        """
        branch = self.copy()
        # Bankruptcy ends the walk early; the rows after it are zero from the start.
        while not branch.done:
            branch.advance()
        return branch.record


def walk(account: Simulator, bars: Bars, row: int) -> None:
    """Let a row of bars pass on an account."""
    split, dividend = bars.split[row], bars.dividend[row]
    # As lists: the simulator calculates with plain floats, which are far faster than single numbers of NumPy.
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
