"""The machine of a live market: it takes what happened as input, keeps the state, and answers with commands.

It does no input or output and reads no clock, so the same inputs always give the same state and the same commands. It
tells the state of every stretch in which trades may be missing, and asks the venue for them until none is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from openfingym.errors import FeedError
from openfingym.market.commands import Command, Instant, RestAnswer, Tell, read_ending
from openfingym.market.feed import Feed, Frame
from openfingym.market.gaps import Gaps, MarketSink
from openfingym.market.links import CROWDED, CROWDED_S, Link, Links
from openfingym.market.questions import VenueQuestion, VenueQuestions
from openfingym.market.silence import Silences
from openfingym.market.ticks import (
    LATEST,
    SECOND,
    ClosingSoon,
    Correction,
    Depth,
    Halt,
    Message,
    Quote,
    Refused,
    ServerBar,
    Subscribed,
    Tick,
    Trade,
)
from openfingym.market.venue_clock import VenueClock

LAGGING_NS = 2 * SECOND
"""Nanoseconds: an event that arrives later than this is said to lag."""
TOLD_EACH_S = 10.0
"""Seconds between two messages for people of the same kind about the same symbol."""
TIME_EACH_S = 300.0
"""Seconds between two questions for the venue's time."""
RENEWALS = 2
"""How often a silent channel is subscribed anew before the connection is given up."""
BOOK_WAIT_S = 1.0
"""Seconds after a whole book of a symbol until another is asked for, as that did not connect or was soon used up."""


class Ingest:
    """The machine of one feed.

    Args:
        feed: the adapter of the venue, with the symbols to follow.
        state: the state of the market, which nothing else changes.
        rng: draws the jitter of waits.
    """

    def __init__(self, feed: Feed, state: MarketSink, rng: np.random.Generator) -> None:
        self.feed = feed
        self.state = state
        self.clock = VenueClock()
        self.failed = ""
        """Why the feed will not work again until a person mends something; empty as long as it may."""
        self.lag = 0
        """Nanoseconds by which the last event with a time arrived late."""
        self._out: list[Command] = []
        self._questions = VenueQuestions(feed.weight_per_minute, rng, self._out)
        self._links = Links(feed, rng, self._out, self._on_lost, self._on_ready)
        self._gaps = Gaps(feed, self._questions, state, self._out)
        self._silences = Silences(feed.symbols, feed.kinds)
        self._heard = self._silences.heard
        self._heard_trades = self._heard[Trade]
        self._delay = int(feed.delay_s * SECOND)
        self._symbols = frozenset(feed.symbols)
        self._trades: dict[str, Trade] = {}  # the newest trade that the stream brought, by symbol
        self._quotes: dict[str, Quote] = {}  # the last quote that the stream brought, by symbol
        self._books: dict[str, int] = {}  # the connection that a book without numbers is of, by symbol
        self._renewed: dict[str, int] = {}  # how often a silent symbol was subscribed anew
        self._at = Instant(0, 0)  # when the input happened that is being taken
        self._not_before: dict[str, int] = {}  # when the same message may be told again, in monotonic nanoseconds
        self._time_due = 0
        self._began = False  # whether everything has been subscribed once, so that there is something to miss
        self._on: dict[type[Message], Callable[..., None]] = {
            Trade: self._trade,
            Quote: self._quote,
            Depth: self._depth,
            ServerBar: self._apply,
            Correction: self._apply,
            Halt: self._apply,
            Subscribed: self._subscribed,
            Refused: self._refused,
            ClosingSoon: self._closing_soon,
        }

    @property
    def connected(self) -> bool:
        """Whether everything wanted is subscribed on the connection that is read."""
        return self._links.main is not None and self._links.main.ready >= 0

    def start(self, at: Instant) -> list[Command]:
        """The session begins."""
        self._at = at
        self.clock.stepped(at)
        self._links.start(at.monotonic)
        return self._commands()

    def opened(self, connection: int, at: Instant) -> list[Command]:
        """A connection is open."""
        self._at = at
        self._links.opened(connection, at.monotonic)
        return self._commands()

    def closed(self, connection: int, reason: str, at: Instant) -> list[Command]:
        """A connection has ended or could not be opened.

        Args:
            connection: number of the connection.
            reason: why it ended, as :func:`~openfingym.market.commands.ending` words it.
            at: when the connection ended.
        """
        self._at = at
        self._links.closed(connection, *read_ending(reason), at.monotonic)
        return self._commands()

    def frame(self, connection: int, frame: Frame, at: Instant) -> list[Command]:
        """A frame was received."""
        link = self._links.by_number.get(connection)
        if link is None:
            return []  # it was on its way when the connection was given up
        self._at = at
        session = link.session
        try:
            messages = session.received(frame)
        except FeedError as error:
            self._tell_seldom("unreadable", "", str(error))
            return self._commands()
        on = self._on
        for message in messages:
            on[type(message)](link, message, at)
        if session.unreadable:
            self._tell_seldom("unreadable", "", f"{session.unreadable[0]} ({len(session.unreadable)} in this frame)")
            session.unreadable.clear()
        # A message of the frame may have ended the connection, as a refusal does: then nothing is sent on it.
        if (session.replies or link.ready < 0) and connection in self._links.by_number:
            self._links.flush(link, at.monotonic)
        return self._commands() if self._out else []

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> list[Command]:
        """The venue's REST interface answered."""
        self._at = at
        asked, why = self._questions.answered(question, answer, at.monotonic)
        if why:
            self._tell_seldom("refused", asked.symbol if asked else "", why)
            if asked is not None and asked.purpose == "trades":
                self._gaps.refused(asked.symbol, at)
        elif asked is not None:
            try:
                self._answer(asked, answer.body, at)
            except (FeedError, ValueError) as error:
                self._tell_seldom("unreadable", asked.symbol, str(error))
        self._questions.release(at.monotonic)
        return self._commands()

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed; to be called several times a second."""
        self._at = at
        now = at.monotonic
        step = self.clock.stepped(at)
        if step:
            self._out.append(Tell("clock", "", f"the wall clock of this machine was set by {step / SECOND:+.3f} s"))
        if self.failed:
            return self._commands()
        self._links.passed(now)
        if self.connected:
            self._watch(now)
            if now >= self._time_due and (request := self.feed.ask_time()) is not None:
                self._time_due = now + int(TIME_EACH_S * SECOND)
                self._questions.put("time", "", [request], now)
        self._ask_books(now)
        self._questions.release(now)
        return self._commands()

    def refresh(self, symbols: Sequence[str], at: Instant) -> list[Command]:
        """Somebody needs fresher values of these symbols: ask for them all at once, unless an answer is on its way."""
        self._at = at
        self._ask_latest(list(symbols), at.monotonic)
        return self._commands()

    def stop(self, at: Instant) -> list[Command]:
        """The session ends."""
        self._at = at
        self._links.stop()
        return self._commands()

    # What a stream says

    def _trade(self, link: Link, trade: Trade, at: Instant) -> None:
        symbol, now = trade.symbol, at.monotonic
        link.heard = self._heard_trades[symbol] = now

        before = self._trades.get(symbol)
        if before is None or trade.time >= before.time:
            self._trades[symbol] = trade
        state = self.state
        state.apply(trade, at)
        gaps = self._gaps
        if state.gap_of(symbol) is not None:
            if symbol not in gaps.vain_answers:
                gaps.ask(symbol, now)
        elif gaps.vain_answers and symbol in gaps.vain_answers:  # the trade was late, not missing
            gaps.done(symbol)
        self._late(trade.time, now)

    def _quote(self, link: Link, quote: Quote, at: Instant) -> None:
        symbol = quote.symbol
        link.heard = self._heard[Quote][symbol] = at.monotonic
        # While a replacement is read beside the main connection, each says the same, and the slower one is old news.
        if self._links.spare is not None:
            before = self._quotes.get(symbol)
            if before is not None and (quote.sequence, quote.time) <= (before.sequence, before.time):
                return
        self._quotes[symbol] = quote
        self.state.apply(quote, at)
        if quote.time:
            self._late(quote.time, at.monotonic)

    def _depth(self, link: Link, depth: Depth, at: Instant) -> None:
        symbol = depth.symbol
        link.heard = self._heard[Depth][symbol] = at.monotonic
        if not depth.last:  # without numbers, changes apply only to the whole book of their own connection
            if depth.whole:
                self._books[symbol] = link.number
            elif self._books.get(symbol) != link.number:
                return
        self.state.apply(depth, at)
        if self.state.wants_book(symbol):
            self._want_book(symbol, at.monotonic)

    def _apply(self, link: Link, tick: Tick, at: Instant) -> None:
        link.heard = at.monotonic
        self.state.apply(tick, at)

    def _refused(self, link: Link, refused: Refused, at: Instant) -> None:
        text = f"{self.feed.venue} refuses: {refused.reason} (code {refused.code})"

        if refused.fatal:
            self._fail(text)
            return
        self._tell("refused", "", text)
        self._links.drop(link, text, at.monotonic, wait_s=CROWDED_S if refused.code == CROWDED else None)

    def _closing_soon(self, link: Link, _: ClosingSoon, at: Instant) -> None:
        link.closing = True
        self._links.passed(at.monotonic)  # opens a replacement at once: the venue may leave little time

    def _subscribed(self, link: Link, subscribed: Subscribed, at: Instant) -> None:
        """Nothing to do: the session knows by itself whether everything is subscribed."""

    def _late(self, time: int, now: int) -> None:
        """Measure how late an event arrived, less the delay that the feed is known to have."""
        lag = self.lag = self.clock.observed(time, now) - self._delay
        if lag > LAGGING_NS:
            self._tell_seldom("lagging", "", f"what comes is {lag / SECOND:.1f} s old")

    # Connections

    def _on_ready(self, link: Link, now: int) -> None:
        self._tell("connected", "", f"connection {link.number} to {self.feed.venue} has everything that is wanted")
        self._silences.begin(self.feed.symbols, now)
        self._gaps.resumed(self.feed.symbols, now)
        if not self._began:
            self._began = True
            self._ask_latest(list(self.feed.symbols), now)

    def _on_lost(self, reason: str) -> None:
        self._tell("lost", "", reason)
        self._silences.end()
        self._renewed.clear()
        if self._began:
            self._lose(self.feed.symbols)

    def _lose(self, symbols: Sequence[str]) -> None:
        self.state.lost(symbols, self._at)
        self._gaps.lost(symbols)

    def _fail(self, text: str) -> None:
        self.failed = text
        self._links.stop()
        if self._began:
            self._lose(self.feed.symbols)
        self._tell("failed", "", text)

    # Silence

    def _watch(self, now: int) -> None:
        main = self._links.main
        mute = self._silences.mute(now)
        if main is not None and mute:
            names = ", ".join(sorted(mute)[:5])
            silent = all(main.heard < since for since in mute.values())
            hopeless = [symbol for symbol in mute if self._renewed.get(symbol, 0) >= RENEWALS]
            self._tell(
                "silent", next(iter(mute)) if len(mute) == 1 else "", f"no data comes of {names}, and there is some"
            )
            # If other symbols do come on the connection, the subscription is at fault and is renewed; if nothing
            # comes, or renewing did not help, the connection is.
            if silent or hopeless:
                self._links.drop(main, f"it is open and brings nothing of {names}", now)
                return
            for symbol in mute:
                self._renewed[symbol] = self._renewed.get(symbol, 0) + 1
            self._renew(main, list(mute), now)
        symbols = self._silences.questionable(now)
        if symbols:
            self._silences.asked(symbols, now)
            self._ask_latest(symbols, now)

    def _renew(self, main: Link, symbols: list[str], now: int) -> None:
        """Subscribe symbols anew on a connection that is otherwise alive."""
        self._lose(symbols)  # trades may have been missed until then
        main.session.renew(symbols)
        self._links.flush(main, now)
        self._silences.begin(tuple(symbols), now)
        self._gaps.resumed(symbols, now)

    def _ask_latest(self, symbols: list[str], now: int) -> None:
        if not self._questions.pending("latest"):
            self._questions.put("latest", "", self.feed.ask_latest(symbols), now)

    # Books

    def _want_book(self, symbol: str, now: int) -> None:
        if not self._questions.pending("book", symbol) and (request := self.feed.ask_book(symbol)) is not None:
            self._tell_seldom("resync", symbol, "the book is asked for anew")
            wait_s = max(0, self._not_before.get(f"book {symbol}", 0) - now) / SECOND
            self._questions.put("book", symbol, [request], now, wait_s=wait_s)

    def _ask_books(self, now: int) -> None:
        """Where only a new subscription gives a whole book, subscribe anew, and not too often."""
        main = self._links.main
        if Depth not in self.feed.kinds or main is None or main.ready < 0:
            return
        for symbol in self.feed.symbols:
            heard = self._heard[Depth].get(symbol)
            if heard is None or not self.state.wants_book(symbol) or self.feed.ask_book(symbol) is not None:
                continue
            key = f"renew {symbol}"
            if now >= self._not_before.get(key, 0):
                self._not_before[key] = now + int(TOLD_EACH_S * SECOND)
                self._tell("resync", symbol, "the book is subscribed anew")
                self._renew(main, [symbol], now)

    # Answers

    def _answer(self, asked: VenueQuestion, body: bytes, at: Instant) -> None:
        now, symbol, feed = at.monotonic, asked.symbol, self.feed
        if asked.purpose == "time":
            self.clock.measured(feed.read_time(body), asked.asked, now)
        elif asked.purpose == "trades":
            self._gaps.answered(symbol, feed.read_trades(symbol, body), asked.asked, at)
        elif asked.purpose == "book":
            self._not_before[f"book {symbol}"] = now + int(BOOK_WAIT_S * SECOND)
            self.state.apply(feed.read_book(symbol, body), at)
            if self.state.wants_book(symbol):  # older than the changes that wait for it
                self._want_book(symbol, now)
        else:
            self._latest(feed.read_latest(body), asked.asked, at)

    def _latest(self, ticks: list[Trade | Quote], asked: int, at: Instant) -> None:
        for tick in ticks:
            symbol = tick.symbol
            if symbol not in self._symbols:
                continue
            spoken = self._trades.get(symbol) if isinstance(tick, Trade) else self._quotes.get(symbol)
            if not self._silences.compare(tick, spoken, asked, at.monotonic):
                continue
            # The trade itself comes with the stream, or fills a gap; counted here, it could end a gap too early. What
            # is of use is its price.
            if isinstance(tick, Trade):
                tick = Trade(symbol, 0, tick.price, 0.0, 0, 0, LATEST, prices=False)  # noqa: PLW2901
            # As of the question: the venue's answer may be as old as that.
            self.state.apply(tick, Instant(asked, at.wall))

    # What people are told

    def _tell(self, kind: str, symbol: str, text: str) -> None:
        self._out.append(Tell(kind, symbol, text))

    def _tell_seldom(self, kind: str, symbol: str, text: str) -> None:
        """Tell people, unless they were told the same a moment ago: a fault may come with every frame."""
        key, now = f"{kind} {symbol}", self._at.monotonic
        if now >= self._not_before.get(key, 0):
            self._not_before[key] = now + int(TOLD_EACH_S * SECOND)
            self._tell(kind, symbol, text)

    def _commands(self) -> list[Command]:
        commands = list(self._out)
        self._out.clear()  # and not a new list: links, questions and gaps add to this one
        return commands
