"""Filling gaps: trades that the stream did not bring are asked for over REST, until none is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from openfingym.market.commands import Command, Instant, Tell
from openfingym.market.feed import Feed
from openfingym.market.questions import VenueQuestions
from openfingym.market.ticks import Tick, Trade

SETTLE_S = 1.0
"""Seconds after the subscription until trades without numbers are asked for: a venue's answers may lag its stream, and
without numbers nothing would show that the last ones were not yet among them."""
LONGEST_WAIT_S = 60.0
"""Seconds between two questions for the same gap at most."""
TRIES = 10
"""Answers in a row that bring a gap no further, some four minutes in all, until it is given up."""


class MarketSink(Protocol):
    """The state of the market, as the machine sees it."""

    def apply(self, tick: Tick, at: Instant) -> None:
        """Something happened at the venue.

        Args:
            tick: what happened; a trade may come twice, or late.
            at: when it was received; of an answer, when its question was put.
        """

    def lost(self, symbols: Iterable[str], at: Instant) -> None:
        """What happens to these symbols may be missed from now on."""

    def filled(self, symbol: str, trades: Sequence[Trade], at: Instant) -> None:
        """The venue has answered which trades followed that of :meth:`gap_of`.

        Args:
            symbol: the symbol that was asked for.
            trades: the trades, oldest first; empty where there are none, or no more.
            at: when the answer came.
        """

    def give_up(self, symbol: str, at: Instant) -> None:
        """The oldest gap cannot be filled."""

    def gap_of(self, symbol: str) -> Trade | None:
        """The last trade before the oldest gap; None without a gap."""

    def wants_book(self, symbol: str) -> bool:
        """Whether the symbol's book is unusable until a whole one comes, or soon will be."""


class Gaps:
    """Asks a venue for missing trades.

    Args:
        feed: the venue's adapter, which words the requests.
        questions: the queue of questions to the venue, within its rate limit.
        state: the state of the market, which knows what is missing.
        out: the machine's commands, to which messages for people are added.
    """

    def __init__(self, feed: Feed, questions: VenueQuestions, state: MarketSink, out: list[Command]) -> None:
        self._feed = feed
        self._questions = questions
        self._state = state
        self._out = out
        self._listening_since = dict.fromkeys(feed.symbols, -1)  # monotonic nanoseconds; -1 while nothing is subscribed
        self.vain_answers: dict[str, int] = {}
        """Symbols whose missing trades are asked for, with the number of answers in a row that brought none."""
        self._received: dict[str, int] = {}  # trades in the answers to the gap so far, for people

    def lost(self, symbols: Iterable[str]) -> None:
        """The stream does not bring these symbols any more. Nothing is asked until it does: the gap still grows."""
        for symbol in symbols:
            self._listening_since[symbol] = -1
            self.vain_answers.pop(symbol, None)

    def resumed(self, symbols: Iterable[str], now: int) -> None:
        """The stream brings these symbols again: ask for what is missing.

        Args:
            symbols: what is subscribed again.
            now: when that was confirmed, by the monotonic clock in nanoseconds.
        """
        for symbol in symbols:
            self._listening_since[symbol] = now
            self.ask(symbol, now)

    def ask(self, symbol: str, now: int) -> None:
        """Ask for what is missing of a symbol, if anything is."""
        after = self._state.gap_of(symbol)
        if after is None or self._listening_since[symbol] < 0:
            return
        vain = self.vain_answers.get(symbol)
        if vain is None:
            vain = self.vain_answers[symbol] = self._received[symbol] = 0
            self._out.append(Tell("gap", symbol, f"trades after {after.id} are missing"))
        wait_s = min(LONGEST_WAIT_S, 0.25 * 2.0**vain) if vain else 0.0
        # Trades have a group where they are not numbered one by one.
        if after.group and now - self._listening_since[symbol] < SETTLE_S * 1e9:
            wait_s = max(wait_s, SETTLE_S)
        self._questions.put("trades", symbol, [self._feed.ask_trades(symbol, after, after.time)], now, wait_s=wait_s)

    def refused(self, symbol: str, at: Instant) -> None:
        """The venue does not give what is missing."""
        self._give_up(symbol, at, "the venue refuses to say what was missed")

    def answered(self, symbol: str, trades: list[Trade], asked: int, at: Instant) -> None:
        """Take an answer.

        Args:
            symbol: the symbol that was asked for.
            trades: the trades in the answer, oldest first.
            asked: when they were asked for, by our monotonic clock in nanoseconds.
            at: when the answer came.
        """
        state, before = self._state, self._state.gap_of(symbol)
        if before is None:
            self.done(symbol)
            return
        # The stream broke off after the question: trades since then may be missing as well, and no answer has them.
        if not 0 <= self._listening_since[symbol] <= asked:
            self.ask(symbol, at.monotonic)
            return
        state.filled(symbol, trades, at)
        if trades and len(trades) < self._feed.page:
            state.filled(symbol, (), at)  # a page that is not full says that no more followed: the gap may be closed
        self._received[symbol] = self._received.get(symbol, 0) + len(trades)
        after = state.gap_of(symbol)
        if after is None:
            self.done(symbol)
            return
        self.vain_answers[symbol] = self.vain_answers.get(symbol, 0) + 1 if after == before else 0
        if self.vain_answers[symbol] > TRIES:
            self._give_up(symbol, at, f"{TRIES} answers in a row did not hold what was missed")
        else:
            self.ask(symbol, at.monotonic)

    def _give_up(self, symbol: str, at: Instant, why: str) -> None:
        self.vain_answers.pop(symbol, None)
        if self._state.gap_of(symbol) is None:
            return
        self._state.give_up(symbol, at)
        self._out.append(Tell("gap", symbol, f"it stays: {why}"))
        self.ask(symbol, at.monotonic)  # for the next gap, if there is one

    def done(self, symbol: str) -> None:
        """Nothing is missing of a symbol any more."""
        if self.vain_answers.pop(symbol, None) is not None:
            self._out.append(Tell("filled-gap", symbol, f"answers held {self._received.pop(symbol, 0)} trades"))
