"""The machine of a session: a feed's machine on which an account trades.

::

    venue's time   |--history, asked for--|A--first interval--|--- interval ---|--- interval ---|
                                           ^ subscribed before A         marks ^                ^

Like the feed's machine it does no input or output and reads no clock, and an agent's decision is an input like any
other: so what was shown, filled and recorded is a function of the tape.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.digests import sha256_of_json
from openfingym.errors import DataError, FeedError
from openfingym.market.commands import Ask, Command, Instant, RestAnswer, Tell
from openfingym.market.feed import Feed, Frame
from openfingym.market.ingest import Ingest
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.state import MarketState
from openfingym.market.ticks import Depth, ServerBar
from openfingym.trading.actions import Decision, parse_decision
from openfingym.trading.shown import shown_account

if TYPE_CHECKING:
    from openfingym.market.session.terms import SessionTerms
    from openfingym.trading.orders import Event

SECOND = 1_000_000_000
FIRST_QUESTION = 1 << 31
"""Number of the first question of the session's own, beyond those of its feed's machine."""
GRACE = SECOND // 10
"""A bar is read so long after its end, so that its last trades have arrived."""
PIECE = 1000
"""Bars of the venue's that are asked for at once."""
PATIENCE = 2 * SECOND
"""Between two requests for a symbol's history."""
RUIN = 1e-6
"""Share of the initial cash that equity counts as at least in a reward, so that ruin has a finite one."""
COLUMNS = 7
Row = list[float]
"""Open, high, low, close and volume."""


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


class TradingIngest(Ingest):
    """A feed's machine with an account.

    Args:
        feed: the venue's adapter, for the instruments of the terms.
        terms: of the session.
        rng: for the jitter of waits.
        marked: called with each mark, in whatever thread tells this machine; must return soon.
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
        state = MarketState(feed.symbols, intervals=(terms.interval,))
        super().__init__(feed, state, rng)
        self.terms = terms
        self.executor: PaperExecutor | None = None
        """The account; None before the first mark."""
        self.record = np.zeros((terms.steps + 1, COLUMNS))
        """The account at every mark, float64[steps + 1, 7]; see :mod:`openfingym.metrics.performance`."""
        self.bars = np.full((terms.lookback + terms.steps, len(terms.symbols), 5), math.nan)
        """Bars up to each mark, float64[lookback + steps, symbols, 5]: the first ``lookback`` of them from before."""
        self.incomplete = 0
        """Bars of which trades are known to be missing."""
        self.shown: Mark | None = None
        """The newest mark; None before the first one."""
        self.left = False
        """Whether the agent has left, and holds nothing any more."""
        self._marked = marked
        self._from: int | None = None  # left edge of the first bar of our own, by the venue's clock
        self._history: dict[str, list[Row]] = {}
        self._asked: dict[int, tuple[str, int]] = {}
        self._pieces: dict[tuple[str, int], list[ServerBar]] = {}
        self._questions_asked = 0
        self._ask_due = 0
        self._due = 0
        self._begun: int | None = None  # when the first mark was, by the venue's clock
        self._rows: dict[str, deque[Row]] = {}
        self._events: list[tuple[int, Event]] = []
        self._since = 0

    @property
    def due(self) -> int:
        """When the next mark is, by the monotonic clock; 0 before the first."""
        return self._due

    @property
    def over(self) -> bool:
        """Whether the last mark was made; the market of a ruined account goes on, for the baseline and for others."""
        return self.shown is not None and self.shown.number == self.terms.steps

    # What is told

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed: ask for what is missing at the beginning, and mark the account where that is due."""
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
        symbol, begin = self._asked.pop(question, ("", 0))
        if not symbol or symbol in self._history:
            return []
        try:
            if answer.status != 200:
                said = answer.body[:100].decode(errors="replace")
                raise FeedError(f"no history of {symbol}: {answer.status or 'no answer'} {said}")
            self._learn(symbol, begin, answer.body)
        except FeedError as error:
            return [Tell("refused", symbol, str(error))]
        return []

    def decided(self, payload: Frame, at: Instant) -> list[Command]:
        """The agent has decided.

        Args:
            payload: ``{"seen": number of the mark, "action": ...}`` as JSON; see :mod:`openfingym.trading.actions`.
            at: now.

        Raises:
            DataError: it is of another form.
        """
        self._at = at
        seen, decision = read_decision(payload, self.terms.symbols)
        if self.over or self.left or self.executor is None or self.executor.bankrupt:
            return []
        self._events = [(number, event) for number, event in self._events if number > seen]
        self._since = seen
        self.executor.decide(decision, at)
        return []

    def leave(self, at: Instant) -> list[Command]:
        """The agent decides no more: its orders are cancelled and what it holds is sold, as far as the book takes it.

        The session goes on, for it is what the baseline and others on the same tape are compared on.
        """
        self._at = at
        if not (self.over or self.left or self.executor is None):
            cancels = tuple(order.id for order in self.executor.open_orders())
            self.executor.decide(Decision(weights=(0.0,) * len(self.terms.symbols), cancels=cancels), at)
        self.left = True
        return []

    def digest(self) -> str:
        """SHA-256 of the market's state and the account's."""
        rows = [[None if math.isnan(value) else value for value in row] for row in self.record.ravel().reshape(-1, 7)]
        return sha256_of_json([self.state.digest(), self.executor and self.executor.digest(), rows])

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
        if now < self._from + GRACE:
            return []
        if len(self._history) < len(self.terms.instruments):
            return self._ask_history(at)
        if not all(map(self._tradable, self.terms.instruments)):
            return []
        begin = now - GRACE - (now - GRACE) % interval
        self._due = at.monotonic - (now - GRACE - begin)
        for symbol in self.terms.instruments:
            self._rows[symbol] = deque(self._history[symbol], maxlen=self.terms.lookback)
        self._end = self._from
        while self._end < begin:  # bars of our own, while histories were on their way
            self._add_bars()
        self._begun = begin
        for column, symbol in enumerate(self.terms.instruments):
            self.bars[: self.terms.lookback, column] = list(self._rows[symbol])
        terms = self.terms
        self.executor = PaperExecutor(
            terms.rules,
            self.state,
            terms.instruments,
            cash=terms.cash,
            at=at,
            venue_time=self.clock.time,
            interval_s=float(terms.interval_s),
        )
        self._mark(0, at)
        return []

    def _tradable(self, symbol: str) -> bool:
        """Whether a symbol has a price, and a book or a quote to trade at."""
        snapshot = self.state.snapshots[symbol]
        return snapshot.price > 0.0 and (
            snapshot.quote is not None if Depth not in self.feed.kinds else not snapshot.book.stale
        )

    def _ask_history(self, at: Instant) -> list[Command]:
        """Ask for what is missing of the bars before the session, in pieces that the venue answers at once."""
        if at.monotonic < self._ask_due:
            return []
        self._ask_due = at.monotonic + PATIENCE
        assert self._from is not None
        length = self.feed.bar_length(self.terms.interval)
        out: list[Command] = []
        for symbol in self.terms.instruments:
            for begin in self._pieces_begin():
                if symbol in self._history or (symbol, begin) in self._pieces:
                    continue
                question = FIRST_QUESTION + self._questions_asked
                self._questions_asked += 1
                self._asked[question] = symbol, begin
                end = min(begin + PIECE * length, self._from)
                out.append(Ask(question, self.feed.ask_bars(symbol, length, begin, end)))
        return out

    def _pieces_begin(self) -> range:
        assert self._from is not None
        first = self._from - self.terms.lookback * self.terms.interval
        return range(first, self._from, PIECE * self.feed.bar_length(self.terms.interval))

    def _learn(self, symbol: str, begin: int, body: bytes) -> None:
        """A piece of a symbol's history has come, perhaps the last one."""
        self._pieces[symbol, begin] = self.feed.read_bars(symbol, self.feed.bar_length(self.terms.interval), body)
        keys = [(symbol, each) for each in self._pieces_begin()]
        if all(key in self._pieces for key in keys):
            bars = [bar for key in keys for bar in self._pieces.pop(key)]
            self._history[symbol] = self._past(symbol, bars)

    def _past(self, symbol: str, bars: Sequence[ServerBar]) -> list[Row]:
        """The ``lookback`` bars before the first one of our own, made of the venue's."""
        assert self._from is not None
        interval = self.terms.interval
        begin = self._from - self.terms.lookback * interval
        within: list[list[ServerBar]] = [[] for _ in range(self.terms.lookback)]
        for bar in sorted(bars, key=lambda bar: bar.begin):
            if 0.0 < bar.low <= bar.high < math.inf and begin <= bar.begin < self._from:
                within[(bar.begin - begin) // interval].append(bar)
        first = next((some[0] for some in within if some), None)
        if first is None:
            raise FeedError(f"the venue has no bars of {symbol} from before the session")
        close, rows = first.open, []
        for some in within:
            if some:
                high, low = max(bar.high for bar in some), min(bar.low for bar in some)
                close = some[-1].close
                rows.append([some[0].open, high, low, close, sum(bar.volume for bar in some)])
            else:
                rows.append([close, close, close, close, 0.0])
        return rows

    # Marks

    def _add_bars(self) -> list[str]:
        """The bars that end now; returns the symbols of which some trades are missing."""
        begin, self._end = self._end, self._end + self.terms.interval
        missing = []
        for name, symbol in zip(self.terms.symbols, self.terms.instruments, strict=True):
            bar = self.state.bars(symbol).bars(self.terms.interval, begin, self._end)[0]
            rows = self._rows[symbol]
            close = rows[-1][3]
            traded = bar.trades > 0 and not math.isnan(bar.close)
            rows.append([bar.open, bar.high, bar.low, bar.close, bar.volume] if traded else [close] * 4 + [0.0])
            if not bar.complete:
                missing.append(name)
                self.incomplete += 1
        return missing

    def _mark(self, number: int, at: Instant) -> None:
        missing = self._add_bars() if number else []
        self._due += self.terms.interval
        executor, terms = self.executor, self.terms
        assert executor is not None, "an account is opened before its first mark"
        if number:
            row = terms.lookback + number - 1
            for column, symbol in enumerate(terms.instruments):
                self.bars[row, column] = self._rows[symbol][-1]
        self.record[number] = executor.mark_to_market(at)
        self._events += [(number, event) for event in executor.events()]
        account, ruined = executor.account(), executor.bankrupt
        floor = RUIN * terms.cash
        last = number == terms.steps
        self.shown = Mark(
            number,
            {
                "bars": [[self._rows[symbol][age] for symbol in terms.instruments] for age in range(terms.lookback)],
                "splits": [1.0] * len(terms.symbols),
                "dividends": [0.0] * len(terms.symbols),
                **shown_account(executor, account, [event for _, event in self._events], terms.symbols),
                "steps_left": terms.steps - number,
            },
            math.log(max(account.equity, floor) / max(float(self.record[self._since, 0]), floor)) if number else 0.0,
            terminated=ruined,
            truncated=last and not ruined,
            info={
                "time_index": number,
                "gap": [
                    name for name, symbol in zip(terms.symbols, terms.instruments, strict=True) if self._gap(symbol)
                ],
                "incomplete": missing,
                "missed": max(number - self._since - 1, 0),
            },
        )
        if self._marked is not None:
            self._marked(self.shown)

    def _gap(self, symbol: str) -> bool:
        snapshot = self.state.snapshots[symbol]
        return snapshot.gap or snapshot.book.stale


def decision_payload(seen: int, action: object) -> str:
    """A decision as its record on a tape holds it."""
    return json.dumps({"seen": seen, "action": action}, separators=(",", ":"))


def read_decision(payload: Frame, symbols: Sequence[str]) -> tuple[int, Decision]:
    """The number of the mark that was seen, and the decision.

    Raises:
        DataError: the payload is no decision.
    """
    from openfingym.errors import SubmissionError

    try:
        document = json.loads(payload)
        return int(document["seen"]), parse_decision(document["action"], symbols)
    except (ValueError, TypeError, KeyError, SubmissionError) as error:
        raise DataError(f"the record of a decision holds something else: {error}") from error
