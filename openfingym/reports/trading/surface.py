"""The cost-delay surface: the same decisions, scored again at other costs and delays.

A *tape* is what was decided in an episode, step by step. Scoring it again with every decision executed some bars
later, or at another cost, shows what the result depends on: a policy that depends on its speed loses its return with
the delay, and one that trades too much loses it with the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.performance import RecordColumn
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.bars import Bars

COSTS_BPS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Proportional costs of the default grid, one way, in basis points."""
DELAYS = (0, 1, 2, 3, 5, 10)
"""Delays of decisions in the default grid, in bars."""
MOST_BPS = 1000.0
"""Highest break-even cost that is looked for, in basis points."""
PRECISION_BPS = 0.01
"""Precision of a break-even cost, in basis points."""
MOST_DELAY = 20
"""Longest break-even delay that is looked for, in bars."""


@dataclass(frozen=True)
class Decided:
    """A decision, with the ids of its orders."""

    decision: Decision
    """What was decided."""
    order_ids: tuple[int, ...] = ()
    """The ids that its orders were given, by which later decisions of the tape refer to them; 0 for a refused order."""


@dataclass(frozen=True, eq=False)
class PlayedEpisode:
    """One episode that was played: its market, and what was decided at each of its rows."""

    bars: Bars
    """The bars of the market, of which the episode has a part."""
    market: MarketRules
    """The rules and costs of the market."""
    cash: float
    """Cash of the account at the start."""
    first: int
    """Row of the bars at which the account was opened."""
    steps: int
    """How many steps the episode has."""
    decided: tuple[Decided, ...]
    """The decisions at rows ``first``, ``first + 1``, ...; at most ``steps``, fewer if the agent stopped early."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Mean total return of some episodes over a grid of costs and delays."""

    costs_bps: tuple[float, ...]
    """Proportional costs of every fill, one way, in place of the market's own fees and slippage, in basis points."""
    delays: tuple[int, ...]
    """Delays by which every decision was executed later, in bars."""
    total_return: NDArray[np.float64]
    """Mean total return at each cost and delay as a fraction, float64[costs, delays]."""
    as_played: float
    """Mean total return at the market's own costs, without delay."""
    break_even_cost_bps: float | None
    """Cost at which the mean return is 0 without delay; None if it is not positive even for free, or still positive at
    1000 bps."""
    break_even_delay: float | None
    """Delay in bars, interpolated, at which the mean return is 0 at the market's own costs; None if it is not positive
    without delay, or still positive after 20 bars."""

    def to_dict(self) -> dict[str, object]:
        """The surface as plain values."""
        return {
            "costs_bps": list(self.costs_bps),
            "delays": list(self.delays),
            "total_return": self.total_return.tolist(),
            "as_played": self.as_played,
            "break_even_cost_bps": self.break_even_cost_bps,
            "break_even_delay": self.break_even_delay,
        }


def cost_delay_surface(
    tapes: Sequence[PlayedEpisode], *, costs_bps: Sequence[float] = COSTS_BPS, delays: Sequence[int] = DELAYS
) -> Surface:
    """Score the same tapes over a grid of costs and delays.

    Args:
        tapes: the episodes that were played.
        costs_bps: proportional costs, one way, in basis points; each replaces fees, spread, slippage and impact of the
            market.
        delays: delays of execution, in bars.

    Raises:
        UsageError: there is no tape, or a cost or delay is negative.
    """
    if not tapes:
        raise UsageError("no episode was played, so there is nothing to score again")
    if min(costs_bps, default=0.0) < 0.0 or min(delays, default=0) < 0:
        raise UsageError(f"costs and delays must not be negative, found {list(costs_bps)} and {list(delays)}")

    def earned(cost_bps: float | None, delay: int) -> float:
        returns = [_total_return(rescore(tape, cost_bps=cost_bps, delay=delay)) for tape in tapes]
        return float(np.mean(returns))

    grid = np.array([[earned(cost, delay) for delay in delays] for cost in costs_bps])
    return Surface(
        tuple(costs_bps),
        tuple(delays),
        grid,
        earned(None, 0),
        _break_even_cost(lambda cost: earned(cost, 0)),
        _break_even_delay(lambda delay: earned(None, delay)),
    )


def rescore(tape: PlayedEpisode, *, cost_bps: float | None = None, delay: int = 0) -> NDArray[np.float64]:
    """Score a tape at another cost or delay.

    Args:
        tape: the episode, with what was decided in it.
        cost_bps: proportional cost of every fill in basis points, in place of the market's own costs; None keeps those.
        delay: bars by which each decision is executed later. Decisions that fall beyond the end are lost.

    Returns:
        The account record, float64[steps + 1, 7].
    """
    market = tape.market if cost_bps is None else at_cost(tape.market, cost_bps)
    session = Session(tape.bars, market, cash=tape.cash, first=tape.first, steps=tape.steps)
    # Orders are given other ids than when the episode was played, since others may be refused.
    new_ids: dict[int, int] = {}
    while not session.done:
        # The decision that is executed in this row was made so many rows before; the first rows have none.
        number = session.rows - delay
        if 0 <= number < len(tape.decided):
            then = tape.decided[number]
            ids = session.decide(_renamed(then.decision, new_ids))
            new_ids.update(zip(then.order_ids, ids, strict=True))
        session.advance()
    return session.record


def at_cost(market: MarketRules, cost_bps: float) -> MarketRules:
    """The same market with one proportional cost in place of all its own costs."""
    return replace(market, fee_bps=cost_bps, fee_per_trade=0.0, slippage_bps=0.0, half_spread_bps=0.0, impact=0.0)


def _renamed(decision: Decision, new_ids: dict[int, int]) -> Decision:
    """A decision with the ids that orders have in this scoring, without changes of orders that were refused in it."""
    cancels = tuple(new_ids[order_id] for order_id in decision.cancels if new_ids.get(order_id))
    replaces = tuple(
        replace(change, order_id=new_ids[change.order_id])
        for change in decision.replaces
        if new_ids.get(change.order_id)
    )
    return replace(decision, cancels=cancels, replaces=replaces)


def _total_return(record: NDArray[np.float64]) -> float:
    """Total return of an account record, as a fraction."""
    first, last = record[[0, -1], RecordColumn.EQUITY]
    return float(last / first - 1.0)


def _break_even_cost(earned: Callable[[float], float]) -> float | None:
    """The cost in basis points at which a return, given as a function of the cost, is 0; None if there is none."""
    # Bisection and not interpolation, since the return falls with the cost in steps if lots are whole.
    low, high = 0.0, MOST_BPS
    if earned(low) <= 0.0 or earned(high) > 0.0:
        return None
    while high - low > PRECISION_BPS:
        middle = (low + high) / 2.0
        low, high = (middle, high) if earned(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0


def _break_even_delay(earned: Callable[[int], float]) -> float | None:
    """The first delay in bars, interpolated, at which a return, given as a function of it, is 0; None if none is."""
    # The first crossing from the left: with the delay a return may fall, rise and fall again.
    before = earned(0)
    if before <= 0.0:
        return None
    for delay in range(1, MOST_DELAY + 1):
        after = earned(delay)
        if after <= 0.0:
            return delay - 1 + before / (before - after)
        before = after
    return None
