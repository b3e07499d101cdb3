"""One episode of trading: an account over hidden bars, as an agent and the verifier step through it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openfingym.data.bars import Bars
from openfingym.task.episodes import Step
from openfingym.trading.actions import parse_decision
from openfingym.trading.market import MarketRules
from openfingym.trading.session import Session
from openfingym.trading.shown import shown_account

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.kinds.bars.episodes import Window
    from openfingym.kinds.trading.contract import TradingContract
    from openfingym.trading.orders import Event

TAIL = 1
"""Rows after the last origin of an episode: the bar in which its decision is live."""
RUIN = 1e-6
"""Least share of the initial cash that equity counts as in a reward, so that the log return of ruin is finite."""


class TradingEpisode:
    """One account over hidden bars; an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(self, contract: TradingContract, window: Window) -> None:
        """Open the account at the first origin.

        Args:
            contract: the contract of the task.
            window: the hidden rows of the episode.
        """
        self._contract = contract
        self._window = window
        self._session = open_account(contract, window)
        self._floor = RUIN * contract.initial_cash

    def start(self) -> Step:
        """The bars up to the first origin, and an account that holds cash alone."""
        return self._shown(0.0, [])

    def step(self, action: object) -> Step:
        """Take a decision, let the next bar pass, and show what happened. The reward is the log return of equity.

        Args:
            action: target weights or orders, as JSON values; see :mod:`openfingym.trading.actions`. None does nothing.

        Raises:
            SubmissionError: the action is not of a form that :mod:`openfingym.trading.actions` reads.
        """
        # Parsed before anything changes: after a malformed action the agent may try again.
        decision = parse_decision(action, self._contract.symbols)
        before = self._session.simulator.equity
        self._session.decide(decision)
        events = self._session.advance()
        after = self._session.simulator.equity
        return self._shown(math.log(max(after, self._floor) / max(before, self._floor)), events)

    def outcome(self) -> NDArray[np.float64]:
        """The account's record as if nothing more were done from here on, float64[steps + 1, 7]."""
        return self._session.outcome()

    def _shown(self, reward: float, events: list[Event]) -> Step:
        contract, session, window = self._contract, self._session, self._window
        done, row = session.rows, session.row
        account = shown_account(session.simulator, session.simulator.account(), events, contract.symbols)
        observation = {
            "bars": window.bars[done : done + contract.lookback].tolist(),
            "splits": window.actions[row, :, 0].tolist(),
            "dividends": window.actions[row, :, 1].tolist(),
            **account,
            "steps_left": contract.steps - done,
        }
        # An end is either a ruin or the last row, never both, also if the account is ruined in the last row.
        ruined = session.simulator.bankrupt
        info = {"time_index": window.first + row}
        return Step(observation, reward, terminated=ruined, truncated=done == contract.steps and not ruined, info=info)


def market_of(contract: TradingContract) -> MarketRules:
    """The costs and limits that a contract states."""
    return MarketRules(
        fee_bps=contract.fee_bps,
        fee_per_trade=contract.fee_per_trade,
        slippage_bps=contract.slippage_bps,
        half_spread_bps=contract.half_spread_bps,
        impact=contract.impact,
        max_participation=contract.max_participation,
        lot=contract.lot,
        tick=contract.tick,
        max_short=contract.max_short,
        borrow_bps_per_year=contract.borrow_bps_per_year,
        bars_per_year=contract.bars_per_year,
        max_open_orders=contract.max_open_orders,
        max_orders_per_batch=contract.max_orders_per_step,
    )


def open_account(contract: TradingContract, window: Window) -> Session:
    """The account of one episode before its first decision.

    Args:
        contract: the contract of the task.
        window: the hidden rows of the episode.
    """
    bars = Bars.restored(window.times, contract.symbols, window.bars, window.actions)
    return Session(
        bars, market_of(contract), cash=contract.initial_cash, first=contract.lookback - 1, steps=contract.steps
    )
