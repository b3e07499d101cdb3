"""Filling gaps: the trades that happened while nobody listened are asked for, until none is missing."""

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
TRIES = 10
"""Answers in a row that bring a gap no further, some four minutes in all, until it is given up."""


class MarketSink(Protocol):
    """The state, as the machine sees it."""

    def apply(self, tick: Tick, at: Instant) -> None:
        """Something happened at the venue; a trade may come twice, or late. ``at`` is when it was received, or when the
        question was put that it answers.
        """

    def lost(self, symbols: Iterable[str], at: Instant) -> None:
        """What happens to these symbols may be missed from now on."""

    def filled(self, symbol: str, trades: Sequence[Trade], at: Instant) -> None:
        """The venue's answer to what followed :meth:`gap_of`, oldest first; empty where nothing did, or nothing else
        than before.
        """

    def give_up(self, symbol: str, at: Instant) -> None:
        """The oldest gap cannot be filled."""

    def gap_of(self, symbol: str) -> Trade | None:
        """The last trade before the oldest gap; None without a gap."""

    def wants_book(self, symbol: str) -> bool:
        """Whether the symbol's book is unusable until a whole one comes."""


class Gaps:
    """The search for missing trades.

    Args:
        feed: says how to ask.
        questions: where to ask.
        state: knows what is missing.
        out: where commands go.
    """

    def __init__(self, feed: Feed, questions: VenueQuestions, state: MarketSink, out: list[Command]) -> None:
        self._feed = feed
        self._questions = questions
        self._state = state
        self._out = out
        self._heard = dict.fromkeys(feed.symbols, -1)
        self.sought: dict[str, int] = {}
        """Symbols that are asked for, with the number of answers in a row that were in vain."""
        self._found: dict[str, int] = {}

    def deaf(self, symbols: Iterable[str]) -> None:
        """The stream does not listen to these any more: no answer is the last word before it does again."""
        for symbol in symbols:
            self._heard[symbol] = -1
            self.sought.pop(symbol, None)

    def listen(self, symbols: Iterable[str], now: int) -> None:
        """The stream listens to these again: ask for what is missing."""
        for symbol in symbols:
            self._heard[symbol] = now
            self.seek(symbol, now)

    def seek(self, symbol: str, now: int) -> None:
        """Ask for what is missing of a symbol, if anything is."""
        after = self._state.gap_of(symbol)
        if after is None or self._heard[symbol] < 0:
            return
        vain = self.sought.get(symbol)
        if vain is None:
            vain = self.sought[symbol] = self._found[symbol] = 0
            self._out.append(Tell("gap", symbol, f"trades after {after.id} are missing"))
        wait_s = min(LONGEST_WAIT_S, 0.25 * 2.0**vain) if vain else 0.0
        if after.group and now - self._heard[symbol] < SETTLE_S * 1e9:
            wait_s = max(wait_s, SETTLE_S)
        self._questions.put("trades", symbol, [self._feed.ask_trades(symbol, after, after.time)], now, wait_s=wait_s)

    def refused(self, symbol: str, at: Instant) -> None:
        """The venue does not give what is missing."""
        self._give_up(symbol, at, "the venue refuses to say what was missed")

    def answered(self, symbol: str, trades: list[Trade], asked: int, at: Instant) -> None:
        """Take an answer.

        Args:
            symbol: the symbol.
            trades: those in the answer, oldest first.
            asked: when they were asked for, by our monotonic clock.
            at: now.
        """
        state, before = self._state, self._state.gap_of(symbol)
        if before is None:
            self.done(symbol)
            return
        if not 0 <= self._heard[symbol] <= asked:  # trades after the question may be missing as well
            self.seek(symbol, at.monotonic)
            return
        state.filled(symbol, trades, at)
        if trades and len(trades) < self._feed.page:
            state.filled(symbol, (), at)  # there are no more
        self._found[symbol] = self._found.get(symbol, 0) + len(trades)
        after = state.gap_of(symbol)
        if after is None:
            self.done(symbol)
            return
        self.sought[symbol] = self.sought.get(symbol, 0) + 1 if after == before else 0
        if self.sought[symbol] > TRIES:
            self._give_up(symbol, at, f"{TRIES} answers in a row did not hold what was missed")
        else:
            self.seek(symbol, at.monotonic)

    def _give_up(self, symbol: str, at: Instant, why: str) -> None:
        self.sought.pop(symbol, None)
        if self._state.gap_of(symbol) is None:
            return
        self._state.give_up(symbol, at)
        self._out.append(Tell("gap", symbol, f"it stays: {why}"))
        self.seek(symbol, at.monotonic)

    def done(self, symbol: str) -> None:
        """Nothing is missing of a symbol any more."""
        if self.sought.pop(symbol, None) is not None:
            self._out.append(Tell("filled-gap", symbol, f"answers held {self._found.pop(symbol, 0)} trades"))
