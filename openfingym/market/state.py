"""The state of a live market: changed by its machine alone, and published for readers by one assignment a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

from openfingym.digests import sha256_of_json
from openfingym.errors import UsageError
from openfingym.market.bars import BarBuilder
from openfingym.market.book import BookTop, LocalBook
from openfingym.market.cells import TradeBar
from openfingym.market.commands import Instant
from openfingym.market.listener import MarketListener
from openfingym.market.order import key_of, older, order_of, possible
from openfingym.market.stretches import TradeStretches
from openfingym.market.ticks import SECOND, Correction, Depth, Halt, Quote, ServerBar, Tick, Trade

NEVER = -1 << 62
"""The monotonic instant of what was never received: before any session, so that its age exceeds every budget."""


class Snapshot(NamedTuple):
    """All that readers see of one symbol at one instant. Each ``_at`` is when the venue last sent the value before it,
    in nanoseconds of the monotonic clock; :data:`NEVER` where it has not.
    """

    symbol: str
    """The symbol."""
    price: float
    """Price of ``trade``; NaN without one."""
    price_at: int
    quote: Quote | None
    """The newest quote; None where none has come."""
    quote_at: int
    book: BookTop
    """The best levels of the order book."""
    book_at: int
    bar: TradeBar | None
    """The bar of the main interval that holds the newest trade; None before any trade."""
    bar_at: int
    trade: Trade | None
    """The newest trade that carries a price; None before one."""
    gap: bool
    """Whether trades are known to be missing that may still be filled in."""
    halted: bool
    """Whether trading of the symbol is halted."""
    sequence: int
    """How often the symbol's state has changed."""


_new: Callable[[type[Snapshot], tuple[object, ...]], Snapshot] = tuple.__new__
_NAN = float("nan")


class _Market:
    """The state of one symbol."""

    __slots__ = (
        *("bar_at", "bars", "book", "book_at", "halted", "halted_time", "known", "quote", "quote_at", "stretches"),
        *("ordered", "quoted", "sequence", "server_bars", "symbol", "trade", "trade_at", "watched"),
    )

    def __init__(self, symbol: str, bars: BarBuilder) -> None:
        self.symbol = symbol
        self.bars = bars
        self.book = LocalBook()
        self.stretches = TradeStretches()
        self.watched = 0  # changes of the stretches up to which the bars know of holes
        self.trade: Trade | None = None
        self.known: Trade | None = None  # the newest trade with a time, whose place among others is known
        self.quote: Quote | None = None
        self.ordered: Quote | None = None  # the newest quote with a number or a time
        self.trade_at = self.quote_at = self.book_at = self.bar_at = NEVER
        self.quoted = False
        self.server_bars: dict[int, ServerBar] = {}  # the newest of each interval
        self.halted = False
        self.halted_time = 0  # the venue's time of the last halt or resumption
        self.sequence = 0

    def snapshot(self) -> Snapshot:
        trade = self.trade
        values = (
            self.symbol,
            _NAN if trade is None else trade.price,
            self.trade_at,
            self.quote,
            self.quote_at,
            self.book.top,
            self.book_at,
            self.bars.current(),
            self.bar_at,
            trade,
            self.stretches.gapped,
            self.halted,
            self.sequence,
        )
        return _new(Snapshot, values)  # in half the time of Snapshot(...)

    def watch(self) -> None:
        """Tell the bars where trades are missing, if that has changed."""
        stretches = self.stretches
        if stretches.changes != self.watched:
            self.watched = stretches.changes
            self.bars.watch(stretches.holes, stretches.floor)


class MarketState:
    """The state of a market's symbols as a function of what :meth:`apply`, :meth:`lost` and :meth:`filled` are told.

    Nothing newer is ever replaced by something older, in whatever order ticks come: trades and quotes by the venue's
    time or number, books by their numbers. One thread changes it; any thread reads :attr:`snapshots`.

    Args:
        symbols: the symbols to follow; ticks of others are ignored.
        intervals: lengths of bars in nanoseconds, the main one first.
        offset: nanoseconds after midnight UTC to which the left edges of bars are aligned.
        horizon: how late a trade may amend a bar, in nanoseconds.
    """

    def __init__(
        self,
        symbols: Iterable[str],
        *,
        intervals: Sequence[int] = (60 * SECOND,),
        offset: int = 0,
        horizon: int = 600 * SECOND,
    ) -> None:
        self._markets = {
            symbol: _Market(symbol, BarBuilder(intervals, offset=offset, horizon=horizon)) for symbol in symbols
        }
        self.snapshots = {symbol: market.snapshot() for symbol, market in self._markets.items()}
        """The newest snapshot of each symbol. Readers look up and never change it."""
        self.listeners: list[MarketListener] = []
        """Who is told of each change, after it is published."""
        self._news: list[tuple[Tick, int]] = []  # what listeners are to be told at the next publication
        self._handlers = {Trade: self._trade, Quote: self._quote, Depth: self._depth}
        self._handlers |= {ServerBar: self._server_bar, Correction: self._correction, Halt: self._halt}

    def apply(self, tick: Tick, at: Instant, *, answer: bool = False) -> None:
        """Take in what the venue said.

        Args:
            tick: what it said. An impossible price or size is taken as a sign that data is missing.
            at: when it was received. A price or quote without a time or number of the venue replaces only what was
                received before ``at``; so for an answer of that sort, give the instant of its question.
            answer: whether it was asked for, and not streamed: then it does not show that the stream is whole again.
        """
        market = self._markets.get(tick.symbol)
        # A trade of an answer, where ids do not count up, goes past the stretches: there it would end a hole.
        if answer and market is not None and isinstance(tick, Trade) and tick.group and tick.time and possible(tick):
            self._count(market, tick, at.monotonic)
            self._publish(market)
            return
        if market is not None and self._handlers[type(tick)](market, tick, at.monotonic):  # type: ignore[operator]
            # Trades are told where they are counted: once each, whether streamed or filled in.
            if self.listeners and not isinstance(tick, Trade | Correction):
                self._news.append((tick, at.monotonic))
            self._publish(market)

    def lost(self, symbols: Iterable[str], at: Instant) -> None:  # noqa: ARG002
        """Ticks of these symbols may be missed from now on, as when a connection ended."""
        for symbol in symbols:
            self._lose(self._market(symbol), "the connection was lost")

    def filled(self, symbol: str, trades: Sequence[Trade], at: Instant) -> None:
        """The venue has answered which trades followed that of :meth:`gap_of`. A gap stays until answers reach what
        came after it; if nothing did, until an answer holds nothing new.

        Args:
            symbol: the symbol that was asked for.
            trades: the trades in the answer, oldest first.
            at: when the answer came.
        """
        market = self._market(symbol)
        for trade in market.stretches.fill([trade for trade in trades if possible(trade)]):
            self._count(market, trade, at.monotonic)
        market.watch()
        self._publish(market)

    def give_up(self, symbol: str, at: Instant) -> None:  # noqa: ARG002
        """The venue cannot fill the oldest gap: bars that it touches stay incomplete, and it is not asked for again."""
        market = self._market(symbol)
        market.stretches.give_up()
        market.watch()
        self._publish(market)

    def gap_of(self, symbol: str) -> Trade | None:
        """The last trade before the oldest gap; None without a gap."""
        stretches = self._market(symbol).stretches
        return stretches.gap if stretches.gapped else None

    def quoted(self, symbol: str) -> bool:
        """Whether a quote has come since ticks may last have been missed."""
        return self._market(symbol).quoted

    def wants_book(self, symbol: str) -> bool:
        """Whether the symbol's book is unusable until the venue sends a whole one, or soon will be."""
        return self._market(symbol).book.wants_whole

    def bars(self, symbol: str) -> BarBuilder:
        """The bars of a symbol, of all intervals."""
        return self._market(symbol).bars

    def server_bar(self, symbol: str, interval: int) -> ServerBar | None:
        """The newest bar of trades that the venue itself made; None where it sent none."""
        return self._market(symbol).server_bars.get(interval)

    def digest(self) -> str:
        """SHA-256 of the whole state: equal after the same inputs."""
        return sha256_of_json({symbol: _canonical(market) for symbol, market in self._markets.items()})

    def _market(self, symbol: str) -> _Market:
        try:
            return self._markets[symbol]
        except KeyError:
            raise UsageError(f"{symbol!r} is not followed; expected one of {', '.join(self._markets)}") from None

    def _publish(self, market: _Market) -> None:
        market.sequence += 1
        self.snapshots[market.symbol] = market.snapshot()
        if self._news:  # after the snapshot, so that listeners see what they are told of
            news, self._news = self._news, []
            for tick, at in news:
                for listener in self.listeners:
                    listener.heard(tick, at)

    def _lose(self, market: _Market, reason: str) -> None:
        market.stretches.lost()
        market.quoted = False
        market.book.lost(reason)
        market.watch()
        self._publish(market)
        for listener in self.listeners:
            listener.lost(market.symbol)

    def _trade(self, market: _Market, trade: Trade, at: int) -> bool:
        if not possible(trade):
            self._lose(market, "an impossible trade came")
            return False
        if not trade.time:  # a last price that was asked for: its place among the trades is not known
            if at < market.trade_at:
                return False
            market.trade, market.trade_at = trade, at
            return True
        if not market.stretches.add(trade):  # it has come before: it may only confirm the last price
            return self._latest(market, trade, at)
        market.watch()
        self._count(market, trade, at)
        return True

    def _count(self, market: _Market, trade: Trade, at: int) -> None:
        """Put a trade into the bars, and make it the newest if it is."""
        if market.bars.add(trade):
            market.bar_at = max(market.bar_at, at)
            if self.listeners:
                self._news.append((trade, at))
        self._latest(market, trade, at)

    def _latest(self, market: _Market, trade: Trade, at: int) -> bool:
        """Make a trade the newest, or confirm that it is, unless another one is newer."""
        standing = market.bars.standing(trade)
        if standing is None or not standing.prices:
            return False
        known = market.known
        if (
            known is not None
            and standing.time <= known.time  # mostly false, and quicker to test than the whole order
            and order_of(standing) <= order_of(known)
            and not (standing == known == market.trade)
        ):
            return False
        market.known = market.trade = standing
        if at > market.trade_at:  # noqa: PLR1730  # max() is a call more for each trade
            market.trade_at = at
        return True

    def _quote(self, market: _Market, quote: Quote, at: int) -> bool:
        if not all(-inf < number < inf for number in quote[1:5]):
            return False
        # Quotes without number and time are ordered by when they came; the others by the venue, among themselves.
        last = market.ordered
        if not (quote.sequence or quote.time):
            if at < market.quote_at:
                return False
        elif last is not None and (older(quote, last) or (quote == last != market.quote)):
            return False
        else:
            market.ordered = quote
        market.quote, market.quote_at, market.quoted = quote, max(market.quote_at, at), True
        return True

    def _depth(self, market: _Market, depth: Depth, at: int) -> bool:
        if not market.book.apply(depth):
            return False
        if not market.book.stale:
            market.book_at = max(market.book_at, at)
        return True

    def _server_bar(self, market: _Market, bar: ServerBar, at: int) -> bool:  # noqa: ARG002
        newest = market.server_bars.get(bar.interval)
        finite = all(-inf < number < inf for number in bar[3:8])
        if finite and bar.trades and (newest is None or (bar.begin, bar.final) >= (newest.begin, newest.final)):
            market.server_bars[bar.interval] = bar
        return False  # no snapshot shows it

    def _correction(self, market: _Market, correction: Correction, at: int) -> bool:
        if correction.instead is not None and not possible(correction.instead):
            self._lose(market, "an impossible correction came")
            return False
        if not market.bars.correct(correction):
            return False
        market.bar_at = max(market.bar_at, at)
        known = market.known
        last = market.bars.last_trade()
        # If no trade is left of those that can be amended, the newest one goes only if it was the corrected one.
        if last is not None or (known is not None and key_of(known) == (correction.group, correction.id)):
            if market.trade == known:
                market.trade = last
                market.trade_at = NEVER if last is None else max(market.trade_at, at)
            market.known = last
        return True

    def _halt(self, market: _Market, halt: Halt, at: int) -> bool:  # noqa: ARG002
        if halt.time < market.halted_time:
            return False
        market.halted, market.halted_time = halt.halted, halt.time
        return True


def _canonical(market: _Market) -> list[object]:
    return [
        market.trade,
        market.known,
        market.quote,
        market.ordered,
        [market.trade_at, market.quote_at, market.book_at, market.bar_at],
        market.book.canonical(),
        market.bars.canonical(),
        market.stretches.canonical(),
        [[interval, *market.server_bars[interval]] for interval in sorted(market.server_bars)],
        [market.halted, market.halted_time],
        market.sequence,
    ]
