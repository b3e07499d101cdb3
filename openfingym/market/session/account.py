"""An account in a session: its value at every mark, and what its agent is shown of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.state import MarketState
from openfingym.task.episodes import Step
from openfingym.trading.actions import Decision, admissible
from openfingym.trading.shown import Shown, shown_account

if TYPE_CHECKING:
    from openfingym.market.session.terms import SessionTerms
    from openfingym.trading.executor import Account
    from openfingym.trading.orders import Event

RUIN = 1e-6
"""Share of the initial cash that equity counts as at least in a reward, so that the reward of ruin is finite."""
COLUMNS = 7
"""Columns of the record: those of :data:`openfingym.metrics.performance.RECORD`."""


@dataclass(frozen=True)
class Mark(Step):
    """The account at a mark, as its agent sees it.

    Its reward is the log return of equity since the mark of the last decision; it is terminated if the account is
    ruined, and truncated if it is the last mark.
    """

    number: int = 0
    """Number of the mark; 0 at the beginning."""


Agent = Callable[[Mark], object]
"""Decides at a mark by an action of :mod:`openfingym.trading.actions`; None decides nothing."""


class AccountAtMark(NamedTuple):
    """An account as it is valued at a mark."""

    row: Sequence[float]
    """The row of the record for this mark."""
    account: Account
    """Equity, cash and the like."""
    events: Sequence[Event]
    """What has happened to its orders since the mark before."""
    ruined: bool
    """Whether nothing is left of it."""
    shown: Shown
    """Gives its positions and open orders, as its agent is shown them."""


class SessionAccount:
    """One account. Several may trade on the market of a session: each meets the market as if it were alone.

    Args:
        terms: the terms of the session.
        budgets: seconds after which books, quotes and prices are too old to trade on.
    """

    def __init__(self, terms: SessionTerms, *, budgets: Budgets | None = None) -> None:
        self.terms = terms
        self.executor: PaperExecutor | None = None
        """What executes its orders on paper; None before the first mark, and where orders go to a broker."""
        self.record = np.zeros((terms.steps + 1, COLUMNS))
        """The account at every mark, float64[steps + 1, 7]; see :mod:`openfingym.metrics.performance`."""
        self.shown: Mark | None = None
        """The newest mark; None before the first one."""
        self.left = False
        """Whether the agent has left, so that no decision is taken any more."""
        self._budgets = budgets
        self._opened = False
        self._waiting: list[Event] = []  # events that no mark has reported yet; of an account at a broker alone
        self._events: list[tuple[int, Event]] = []  # events since the last decision, with the marks that reported them
        self._since = 0  # the mark of the last decision

    @property
    def over(self) -> bool:
        """Whether the last mark was made."""
        return self.shown is not None and self.shown.done

    @property
    def ready(self) -> bool:
        """Whether it may be opened."""
        return True

    def reported(self, payload: Frame) -> None:
        """A broker has reported what the account holds; an account on paper has no use for it."""

    @property
    def fault(self) -> str | None:
        """Why the record cannot have come of the agent's decisions alone; None where it can."""
        return None

    def admits(self, weights: Sequence[float]) -> bool:
        """Whether target weights may be traded to."""
        return admissible(weights, len(self.terms.symbols), self.terms.rules.max_short)

    def digest(self) -> object:
        """A JSON value that is equal after the same inputs."""
        return self.executor and self.executor.digest()

    def open(self, state: MarketState, at: Instant, venue_time: Callable[[Instant], int]) -> None:
        """Put cash into the account; see :class:`~openfingym.market.paper.fills.PaperFills` for the arguments."""
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
        """Carry a decision out; nothing happens where none is taken any more.

        Args:
            seen: number of the mark at which it was made. Others may have come since.
            decision: what the agent wants.
            at: when the decision came.
        """
        if self.over or self.left or not self._opened:
            return
        # Events that came after that mark have not been seen by the agent, and are kept for the next one.
        self._events = [(number, event) for number, event in self._events if number > seen]
        self._since = seen
        self._carry_out(decision, at)

    def leave(self, at: Instant) -> None:
        """Cancel the orders and close the positions, as far as the book takes them; no decision is taken any more."""
        if not (self.over or self.left or not self._opened):
            cancels = () if self.executor is None else tuple(order.id for order in self.executor.open_orders())
            self._carry_out(Decision(weights=(0.0,) * len(self.terms.symbols), cancels=cancels), at)
        self.left = True

    def _carry_out(self, decision: Decision, at: Instant) -> None:
        assert self.executor is not None, "an account is opened before it trades"
        self.executor.decide(decision, at)

    def _valued(self, at: Instant) -> AccountAtMark:
        executor = self.executor
        assert executor is not None, "an account is opened before its first mark"
        row = executor.mark_to_market(at)
        return AccountAtMark(row, executor.account(), executor.events(), executor.bankrupt, executor)

    def mark(self, number: int, market: Mapping[str, object], info: Mapping[str, object], at: Instant) -> Mark:
        """Value the account, and show it to its agent.

        Args:
            number: number of the mark.
            market: what every agent is shown of the market.
            info: what this account's agent is told beside the market.
            at: when the mark is made.
        """
        terms = self.terms
        row, account, events, ruined, shown = self._valued(at)
        self.record[number] = row
        self._events += [(number, event) for event in events]
        floor = RUIN * terms.cash
        before = max(float(self.record[self._since, 0]), floor)
        self.shown = Mark(
            {
                **market,
                **shown_account(shown, account, [event for _, event in self._events], terms.symbols),
                "steps_left": terms.steps - number,
            },
            math.log(max(account.equity, floor) / before) if number else 0.0,
            terminated=ruined,
            truncated=number == terms.steps and not ruined,
            info={**info, "missed": max(number - self._since - 1, 0)},
            number=number,
        )
        return self.shown
