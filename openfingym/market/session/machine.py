"""The machine of a session: a feed's machine on which an account trades.

::

    venue's time   |--history, asked for--|A--first interval--|--- interval ---|--- interval ---|
                                           ^ subscribed before A         marks ^                ^

The subscription must be there before A, the first left edge, so that no trade of the first bar is missing; the bars
before A are asked for meanwhile, over REST.

Like the feed's machine it does no input or output and reads no clock, and an agent's decision is an input like any
other: so what was shown, filled and recorded is a function of the tape.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.digests import sha256_of_json
from openfingym.errors import DataError, FeedError
from openfingym.market.commands import Ask, Command, Instant, RestAnswer, Tell
from openfingym.market.feed import Feed, Frame
from openfingym.market.ingest import Ingest
from openfingym.market.session.account import Mark, SessionAccount
from openfingym.market.session.broker_account import BrokerAccount
from openfingym.market.session.history import BarHistory, Row
from openfingym.market.state import MarketState
from openfingym.market.ticks import SECOND, Depth
from openfingym.trading.actions import Decision, parse_decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.market.session.terms import SessionTerms

FIRST_QUESTION = 1 << 31
"""Number of the first question of the session's own, beyond those of its feed's machine; a tape takes 32 bits."""
GRACE = SECOND // 10
"""Nanoseconds after its end at which a bar is read, so that its last trades have arrived."""
AMENDED = 600 * SECOND
"""Nanoseconds before a mark of which all bars are read again, as late trades may have amended them."""
PATIENCE = 2 * SECOND
"""Nanoseconds between two requests for a symbol's history, where the first has failed."""


class TradingIngest(Ingest):
    """A feed's machine with an account.

    Args:
        feed: the adapter of the venue, with the instruments of the terms as its symbols.
        terms: the terms of the session.
        rng: draws the jitter of waits.
        marked: called with each mark, in the thread that tells this machine its inputs; must return soon.
    """

    state: MarketState

    def __init__(
        self,
        feed: Feed,
        terms: SessionTerms,
        rng: np.random.Generator,
        *,
        marked: Callable[[Mark], None] | None = None,
    ) -> None:
        state = MarketState(feed.symbols, intervals=(terms.interval,), horizon=AMENDED)
        super().__init__(feed, state, rng)
        self.terms = terms
        self.account = BrokerAccount(terms) if terms.orders == "broker" else SessionAccount(terms)
        """The account whose decisions are on the tape."""
        self.others: list[SessionAccount] = []
        """Accounts that trade on the same market and are no part of the session; to be added before the first mark."""
        self.bars = np.full((terms.lookback + terms.steps, len(terms.symbols), 5), math.nan)
        """Bars up to the newest mark, float64[lookback + steps, symbols, 5], the first ``lookback`` of them from before
        the session; open, high, low, close and volume. An agent saw some as they were known at an earlier mark."""
        self._marked = marked
        self._from: int | None = None  # A: left edge of the first bar of our own, by the venue's clock
        self._history: dict[str, BarHistory] = {}
        self._asked: dict[int, str] = {}  # symbols by the number of the question in flight
        self._questions_asked = 0
        self._ask_due = 0  # when the next history may be asked for, by the monotonic clock
        self._due = 0
        self._begun: int | None = None  # when the first mark was due, by the venue's clock
        self._rows: dict[str, deque[Row]] = {}  # the newest bars of each symbol, one more than an observation shows
        self._incomplete: set[tuple[str, int]] = set()  # (symbol, left edge) of bars that lack trades

    @property
    def due(self) -> int:
        """When the next mark is due, in nanoseconds of the monotonic clock; 0 before the first."""
        return self._due

    @property
    def incomplete(self) -> int:
        """How many bars are known to lack trades."""
        return len(self._incomplete)

    def complete(self, row: int, symbol: int) -> bool:
        """Whether no trade of a bar is known to be missing; bars from before the session are the venue's own.

        Args:
            row: number of the bar in :attr:`bars`.
            symbol: number of the symbol in the terms.
        """
        begin = self.first_bar + row * self.terms.interval
        return (self.terms.instruments[symbol], begin) not in self._incomplete

    @property
    def record(self) -> NDArray[np.float64]:
        """The account at every mark; see :class:`SessionAccount`."""
        return self.account.record

    @property
    def shown(self) -> Mark | None:
        """The newest mark; None before the first one."""
        return self.account.shown

    @property
    def left(self) -> bool:
        """Whether the agent has left, so that no decision is taken any more."""
        return self.account.left

    @property
    def over(self) -> bool:
        """Whether the last mark was made; the market of a ruined account goes on, for the baseline and for others."""
        return self.shown is not None and self.shown.number == self.terms.steps

    # Inputs

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed: ask for what is missing at the beginning, and mark the account when that is due."""
        commands = super().passed(at)
        if self.failed or self.over:
            return commands
        if self.shown is None:
            commands += self._prepare(at)
        while self.shown is not None and not self.over and at.monotonic >= self._due:
            self._mark(self.shown.number + 1, at)
        return commands

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> list[Command]:
        """The venue's REST interface answered."""
        if question < FIRST_QUESTION:
            return super().answered(question, answer, at)
        symbol = self._asked.pop(question, None)
        if symbol is None:
            return []
        try:
            if answer.status != 200:
                said = answer.body[:100].decode(errors="replace")
                raise FeedError(f"no history of {symbol}: {answer.status or 'no answer'} {said}")
            self._history[symbol].answered(answer.body)
        except FeedError as error:
            del self._history[symbol]  # it is asked for anew after a while
            return [Tell("refused", symbol, str(error))]
        return [] if self._history[symbol].over else [self._ask(symbol)]

    def decided(self, payload: Frame, at: Instant) -> list[Command]:
        """The agent has decided.

        Args:
            payload: ``{"seen": number of the mark, "action": ...}`` as JSON; see :mod:`openfingym.trading.actions`.
            at: when the decision came.

        Raises:
            DataError: the payload has another form.
        """
        self._at = at
        seen, decision = read_decision(payload, self.terms.symbols)
        self.account.decide(seen, decision, at)
        return []

    def leave(self, at: Instant) -> list[Command]:
        """The agent decides no more: its orders are cancelled and its positions closed, as far as the book takes them.

        The session goes on, since the baseline and others on the same tape are scored on the whole of it.
        """
        self._at = at
        self.account.leave(at)
        return []

    def reported(self, payload: Frame, at: Instant) -> list[Command]:
        """The broker to whom orders go has reported what the account holds.

        Raises:
            DataError: the payload is no report.
        """
        self._at = at
        self.account.reported(payload)
        return []

    def digest(self) -> str:
        """SHA-256 of the market's state and the account's."""
        rows = [[None if math.isnan(value) else value for value in row] for row in self.record.ravel().reshape(-1, 7)]
        return sha256_of_json([self.state.digest(), self.account.digest(), rows])

    @property
    def first_bar(self) -> int:
        """Left edge of the first bar of :attr:`bars`, in nanoseconds since the epoch.

        Raises:
            DataError: the session has not begun.
        """
        if self._begun is None:
            raise DataError("the session never began: some symbol had no price or no history")
        return self._begun - self.terms.lookback * self.terms.interval

    # The beginning

    def _prepare(self, at: Instant) -> list[Command]:
        """Wait for a whole interval to begin, ask for the bars before it, and mark the account for the first time."""
        if not self.connected:
            return []
        now, interval = self.clock.time(at), self.terms.interval
        if self._from is None:
            self._from = now - now % interval + interval
        # The first interval must have begun, lest the venue's bar before it be asked for before it is whole.
        if now < self._from + GRACE:
            return []
        if not all(symbol in self._history and self._history[symbol].over for symbol in self.terms.instruments):
            return self._ask_history(at)
        if not (self.account.ready and all(map(self._tradable, self.terms.instruments))):
            return []
        # The first mark is of the last edge that has passed; the next ones follow by the monotonic clock, which nobody
        # sets: `_due` is its reading at that edge, and _mark() adds an interval each time.
        begin = now - GRACE - (now - GRACE) % interval
        self._due = at.monotonic - (now - GRACE - begin)
        for symbol in self.terms.instruments:
            self._rows[symbol] = deque(self._history[symbol].rows(), maxlen=self.terms.lookback + 1)
        self._end = self._first = self._from
        while self._end < begin:  # bars that ended while histories were on their way
            self._add_bars()
        self._begun = begin
        for column, symbol in enumerate(self.terms.instruments):
            self.bars[: self.terms.lookback, column] = list(self._rows[symbol])[-self.terms.lookback :]
        for account in (self.account, *self.others):
            account.open(self.state, at, self.clock.time)
        self._mark(0, at)
        return []

    def _tradable(self, symbol: str) -> bool:
        """Whether a symbol has a price, and a book or a quote to trade at."""
        snapshot = self.state.snapshots[symbol]
        return snapshot.price > 0.0 and (
            snapshot.quote is not None if Depth not in self.feed.kinds else not snapshot.book.stale
        )

    def _ask_history(self, at: Instant) -> list[Command]:
        """Ask for the bars from before the session of symbols that are not asked for yet, or whose answers failed."""
        if at.monotonic < self._ask_due:
            return []
        self._ask_due = at.monotonic + PATIENCE
        assert self._from is not None
        terms = self.terms
        new = [symbol for symbol in terms.instruments if symbol not in self._history]
        for symbol in new:
            self._history[symbol] = BarHistory(self.feed, symbol, terms.interval, terms.lookback, self._from)
        return [self._ask(symbol) for symbol in new]

    def _ask(self, symbol: str) -> Command:
        question = FIRST_QUESTION + self._questions_asked
        self._questions_asked += 1
        self._asked[question] = symbol
        return Ask(question, self._history[symbol].ask())

    # Marks

    def _add_bars(self) -> tuple[list[str], list[str]]:
        """Add the bars that end now, and read earlier ones again: only what follows a bar shows that its last trade was
        lost or late.

        Returns:
            The names of symbols whose newest bar lacks trades, and of those of which an earlier bar has changed.
        """
        interval = self.terms.interval
        self._end += interval
        missing, amended = [], []
        for name, symbol in zip(self.terms.symbols, self.terms.instruments, strict=True):
            rows = self._rows[symbol]
            rows.append([])  # to be filled in below
            # How many bars to read: those that are made of trades, have one before them, and may still be amended.
            known = min(len(rows) - 1, (self._end - self._first) // interval, AMENDED // interval + 2)
            bars = self.state.bars(symbol).bars(interval, self._end - known * interval, self._end)
            for age, bar in zip(range(-known, 0), bars, strict=True):
                close = rows[age - 1][3]
                prices = [close] * 4 if math.isnan(bar.close) else [bar.open, bar.high, bar.low, bar.close]
                row = [*prices, bar.volume]  # not 0 without a price: odd lots have a volume, and set no price
                if age < -1 and row != rows[age] and name not in amended:
                    amended.append(name)
                rows[age] = row
                edge = symbol, self._end + age * interval
                if bar.complete:
                    self._incomplete.discard(edge)
                else:
                    self._incomplete.add(edge)
            if (symbol, self._end - interval) in self._incomplete:
                missing.append(name)
        return missing, amended

    def _mark(self, number: int, at: Instant) -> None:
        missing, amended = self._add_bars() if number else ([], [])
        self._due += self.terms.interval
        terms = self.terms
        if number:
            for column, symbol in enumerate(terms.instruments):
                self.bars[number - 1 : number + terms.lookback, column] = list(self._rows[symbol])
        market = {
            "bars": [[self._rows[symbol][age] for symbol in terms.instruments] for age in range(-terms.lookback, 0)],
            "splits": [1.0] * len(terms.symbols),
            "dividends": [0.0] * len(terms.symbols),
        }
        info = {
            "time_index": number,
            "gap": [name for name, symbol in zip(terms.symbols, terms.instruments, strict=True) if self._gap(symbol)],
            "incomplete": missing,
            "amended": amended,
        }
        for other in self.others:
            other.mark(number, market, info, at)
        shown = self.account.mark(number, market, info, at)
        if self._marked is not None:
            self._marked(shown)

    def _gap(self, symbol: str) -> bool:
        snapshot = self.state.snapshots[symbol]
        return snapshot.gap or (Depth in self.feed.kinds and snapshot.book.stale)


def decision_payload(seen: int, action: object) -> str:
    """A decision as its record on a tape holds it.

    Args:
        seen: number of the mark at which it was made.
        action: what the agent wants; see :mod:`openfingym.trading.actions`.
    """
    return json.dumps({"seen": seen, "action": action}, separators=(",", ":"))


def read_decision(payload: Frame, symbols: Sequence[str]) -> tuple[int, Decision]:
    """The number of the mark at which a decision was made, and the decision.

    Raises:
        DataError: the payload is no decision.
    """
    from openfingym.errors import SubmissionError

    try:
        document = json.loads(payload)
        return int(document["seen"]), parse_decision(document["action"], symbols)
    except (ValueError, TypeError, KeyError, SubmissionError) as error:
        raise DataError(f"the record of a decision holds something else: {error}") from error
