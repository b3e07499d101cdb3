"""An episode traded with hindsight: the best, or the worst, that is known to be possible if all its bars are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.trading.actions import HOLD, Decision
from openfingym.trading.hindsight import hindsight_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.trading.session import Session

Weights = tuple[float, ...] | None
"""Target weights of a step; None where nothing is traded."""


class Played(NamedTuple):
    """What was decided in an episode, and what came of it."""

    weights: list[Weights]
    """Target weights of each step."""
    record: NDArray[np.float64]
    """The account's record, float64[steps + 1, 7]."""
    held: NDArray[np.float64]
    """Units held at the close of each step's bar, float64[steps, S]."""

    @property
    def equity(self) -> float:
        """The last equity."""
        return float(self.record[-1, 0])


def hindsight(opened: Session, *, worst: bool = False) -> Played:
    """The episode that ends with the most equity of those that are known, at all costs and limits of its market.

    The best of these, each of which is played: the weights of
    :func:`~openfingym.trading.hindsight.hindsight_weights`; equal weights, bought at the first open and held; nothing;
    and, where the price of a unit depends on how many are traded (impact, a volume cap, a fixed fee), the best of the
    three after :func:`~openfingym.trading.compiled.corridor.improve`. So hindsight is never worse than buy-and-hold.

    Args:
        opened: the account before its first decision; it does not move.
        worst: whether to end with the least equity instead.
    """
    market, symbols = opened.simulator.market, len(opened.bars.symbols)
    opens, last = _prices(opened)
    # Basis points to a fraction.
    cost = (market.fee_bps + market.slippage_bps + market.half_spread_bps) * 1e-4
    states = hindsight_weights(opens, last, cost=cost, short=min(market.max_short, 1.0), worst=worst)
    idle: list[Weights] = [None] * opened.steps
    plans = _changes(states.tolist()), [(1.0 / symbols,) * symbols, *idle[1:]], idle
    sign = -1.0 if worst else 1.0
    best = max((_play(opened, plan) for plan in plans), key=lambda played: sign * played.equity)
    if market.impact > 0.0 or market.max_participation > 0.0 or market.fee_per_trade > 0.0:
        best = max(best, _improved(opened, best, worst=worst), key=lambda played: sign * played.equity)
    return best


def _prices(opened: Session) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Opens of the bars that are traded and the last close, with the gains that splits and dividends leave."""
    bars, rows = opened.bars, slice(opened.first + 1, opened.first + opened.steps + 1)
    opens, last, splits, dividends = bars.open[rows], bars.close[rows][-1], bars.split[rows], bars.dividend[rows]
    if (splits[1:] == 1.0).all() and not dividends[1:].any():
        return opens, last
    # A dividend is paid on the units after the split.
    gains = splits[1:] * (opens[1:] + dividends[1:]) / opens[:-1]
    adjusted = opens[0] * np.concatenate([np.ones_like(opens[:1]), np.cumprod(gains, axis=0)])
    return adjusted, adjusted[-1] * last / opens[-1]


def _changes(states: Iterable[Sequence[float]]) -> list[Weights]:
    """The weights of each step, None where they are those of the step before."""
    weights: list[Weights] = []
    before: Sequence[float] | None = None
    for state in states:
        weights.append(None if state == before else tuple(state))
        before = state
    return weights


def _improved(opened: Session, played: Played, *, worst: bool) -> Played:
    """An episode with the holdings that a search found beside those of another."""
    from openfingym.trading.compiled.corridor import improve  # here: Numba takes half a second to import
    from openfingym.trading.compiled.layout import market_numbers, tape

    rows = slice(opened.first, opened.first + opened.steps + 1)
    numbers = market_numbers(opened.simulator.market, forgiving=False)
    plan = improve(tape(opened.bars)[rows], played.held, numbers, cash=opened.simulator.cash, worst=worst)
    return _play(opened, plan)


def _play(opened: Session, plan: Sequence[Weights] | NDArray[np.float64]) -> Played:
    """Play an episode.

    Args:
        opened: the account before its first decision; it does not move.
        plan: target weights of each step, or the units to be held after each open, float64[steps, S].
    """
    session = opened.copy()
    decided: list[Weights] = [None] * session.steps
    held = np.zeros((session.steps, len(session.bars.symbols)))
    for step, wanted in enumerate(plan):
        if session.done:
            break
        weights = _towards(session, wanted) if isinstance(wanted, np.ndarray) else wanted
        session.decide(HOLD if weights is None else Decision(weights=weights))
        session.advance()
        decided[step] = weights
        held[step] = session.simulator.position
    return Played(decided, session.record, held)


def _towards(session: Session, wanted: NDArray[np.float64]) -> Weights:
    """The target weights that trade to these units at the next open; None where nothing is to be traded."""
    account, bars, market, row = session.simulator, session.bars, session.simulator.market, session.row + 1
    # The account as it will be at the open, after splits, dividends and the cost of borrowing.
    marks = np.maximum(np.array(account.mark) / bars.split[row] - bars.dividend[row], 0.0)
    held, tradable = np.array(account.position) * bars.split[row], bars.tradable[row]
    cash = account.cash + float(held @ bars.dividend[row] + np.minimum(held, 0.0) @ marks * market.borrow_rate)
    prices = np.where(tradable, bars.open[row], marks)
    equity = cash + float(held @ prices)
    traded = tradable & (np.abs(wanted - held) > np.maximum(0.5 * market.lot, 1e-9 * np.abs(wanted)))
    if equity <= 0.0 or not traded.any():
        return None
    units = np.where(traded, wanted, held)
    # A thousandth of a lot more, as quantities are cut to whole lots, and so that rounding takes none away.
    weights = (units + np.sign(units) * 1e-3 * market.lot) * prices / equity
    # Prices move weights, and where they have moved a sum of them beyond its limit, all of it would be refused.
    for side, most in ((weights > 0.0, 1.0), (weights < 0.0, market.max_short)):
        total = abs(float(weights[side].sum()))
        if total > most:
            weights[side] *= most / total
    return tuple(weights.tolist())
