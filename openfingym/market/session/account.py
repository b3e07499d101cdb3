"""An account in a session: what it holds at every mark, and what its agent is shown of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.state import MarketState
from openfingym.trading.actions import Decision, admissible
from openfingym.trading.shown import Shown, shown_account

if TYPE_CHECKING:
    from openfingym.market.session.terms import SessionTerms
    from openfingym.trading.executor import Account
    from openfingym.trading.orders import Event

RUIN = 1e-6
"""Share of the initial cash that equity counts as at least in a reward, so that ruin has a finite one."""
COLUMNS = 7


class Mark(NamedTuple):
    """The account at a mark, as its agent sees it."""

    number: int
    """0 at the beginning."""
    observation: Mapping[str, object]
    reward: float
    """Log return of equity since the mark of the last decision."""
    terminated: bool
    """Whether the account is ruined."""
    truncated: bool
    """Whether this is the last mark."""
    info: Mapping[str, object]

    @property
    def done(self) -> bool:
        """Whether no further decision is taken."""
        return self.terminated or self.truncated


Agent = Callable[[Mark], object]
"""Decides at a mark by an action of :mod:`openfingym.trading.actions`; None decides nothing."""


class Held(NamedTuple):
    """An account at a mark."""

    row: Sequence[float]
    """Of the record."""
    account: Account
    events: Sequence[Event]
    """Since the mark before."""
    ruined: bool
    shown: Shown


class SessionAccount:
    """One account. Several may trade on the market of a session: each meets the market as if it were alone.

    Args:
        terms: the terms of the session.
        budgets: when books, quotes and prices are too old to trade on.
    """

    def __init__(self, terms: SessionTerms, *, budgets: Budgets | None = None) -> None:
        self.terms = terms
        self.executor: PaperExecutor | None = None
        """None before the first mark."""
        self.record = np.zeros((terms.steps + 1, COLUMNS))
        """The account at every mark, float64[steps + 1, 7]; see :mod:`openfingym.metrics.performance`."""
        self.shown: Mark | None = None
        """The newest mark; None before the first one."""
        self.left = False
        """Whether the agent has left, and holds nothing any more."""
        self._budgets = budgets
        self._opened = False
        self._waiting: list[Event] = []
        self._events: list[tuple[int, Event]] = []
        self._since = 0

    @property
    def over(self) -> bool:
        """Whether the last mark was made."""
        return self.shown is not None and self.shown.done

    @property
    def ready(self) -> bool:
        """Whether it may be opened."""
        return True

    def reported(self, payload: Frame) -> None:
        """A broker has told what it holds: of a session whose orders go there, and of no account on paper."""

    @property
    def fault(self) -> str | None:
        """Why its record cannot be what its agent's decisions made of it; None where it can."""
        return None

    def admits(self, weights: Sequence[float]) -> bool:
        """Whether target weights may be traded to."""
        return admissible(weights, len(self.terms.symbols), self.terms.rules.max_short)

    def digest(self) -> object:
        """A JSON value that is equal after the same inputs."""
        return self.executor and self.executor.digest()

    def open(self, state: MarketState, at: Instant, venue_time: Callable[[Instant], int]) -> None:
        """Put cash into it; see :class:`~openfingym.market.paper.fills.PaperFills`."""
        terms = self.terms
        self.executor = PaperExecutor(
            terms.rules,
            state,
            terms.instruments,
            cash=terms.cash,
            at=at,
            venue_time=venue_time,
            interval_s=float(terms.interval_s),
            budgets=self._budgets,
        )
        self._opened = True

    def decide(self, seen: int, decision: Decision, at: Instant) -> None:
        """Carry a decision out that was made at a mark; nothing where none is taken any more."""
        if self.over or self.left or not self._opened:
            return
        self._events = [(number, event) for number, event in self._events if number > seen]
        self._since = seen
        self._carry_out(decision, at)

    def leave(self, at: Instant) -> None:
        """Cancel the orders and sell what is held, as far as the book takes it; no decision is taken any more."""
        if not (self.over or self.left or not self._opened):
            cancels = () if self.executor is None else tuple(order.id for order in self.executor.open_orders())
            self._carry_out(Decision(weights=(0.0,) * len(self.terms.symbols), cancels=cancels), at)
        self.left = True

    def _carry_out(self, decision: Decision, at: Instant) -> None:
        assert self.executor is not None, "an account is opened before it trades"
        self.executor.decide(decision, at)

    def _held(self, at: Instant) -> Held:
        executor = self.executor
        assert executor is not None, "an account is opened before its first mark"
        row = executor.mark_to_market(at)
        return Held(row, executor.account(), executor.events(), executor.bankrupt, executor)

    def mark(self, number: int, market: Mapping[str, object], info: Mapping[str, object], at: Instant) -> Mark:
        """Value it now.

        Args:
            number: the number of the mark.
            market: what every agent is shown of the market.
            info: what this account's agent is told beside the market.
            at: now.
        """
        terms = self.terms
        row, account, events, ruined, shown = self._held(at)
        self.record[number] = row
        self._events += [(number, event) for event in events]
        floor = RUIN * terms.cash
        before = max(float(self.record[self._since, 0]), floor)
        self.shown = Mark(
            number,
            {
                **market,
                **shown_account(shown, account, [event for _, event in self._events], terms.symbols),
                "steps_left": terms.steps - number,
            },
            math.log(max(account.equity, floor) / before) if number else 0.0,
            terminated=ruined,
            truncated=number == terms.steps and not ruined,
            info={**info, "missed": max(number - self._since - 1, 0)},
        )
        return self.shown
