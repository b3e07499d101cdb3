"""The plainest state of a market and the plainest venue, to test the machine between them without sockets or time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import parse_qs, urlsplit

import numpy as np

from openfingym.market.commands import Ask, Close, Command, Connect, Instant, RestAnswer, Send, Tell, ending
from openfingym.market.feed import Request
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.ticks import LATEST, Depth, Quote, Tick, Trade

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
BEGIN = 1_767_000_000 * SECOND


class PlainMarket:
    """Keeps everything; a gap is a number that is missing, or what was lost and not yet filled."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.trades: dict[str, dict[int, Trade]] = {symbol: {} for symbol in symbols}
        self.quotes: dict[str, Quote] = {}
        self.prices: dict[str, float] = {}
        self.ticks: list[Tick] = []
        self.unsure: set[str] = set()
        self.books: dict[str, int] = {}
        self.waiting: dict[str, list[Depth]] = defaultdict(list)
        self.given_up: list[str] = []

    def apply(self, tick: Tick, at: Instant) -> None:
        self.ticks.append(tick)
        if isinstance(tick, Trade):
            if tick.group == LATEST:
                self.prices[tick.symbol] = tick.price
                return
            if not tick.group:
                self.unsure.discard(tick.symbol)  # its number tells what is missing
            self.trades[tick.symbol][tick.id] = tick
            self.prices[tick.symbol] = tick.price
        elif isinstance(tick, Quote):
            self.quotes[tick.symbol] = tick
        elif isinstance(tick, Depth):
            self._depth(tick)

    def lost(self, symbols: Iterable[str], at: Instant) -> None:
        self.unsure |= {symbol for symbol in symbols if self.trades[symbol]}
        for symbol in symbols:
            self.books.pop(symbol, None)

    def filled(self, symbol: str, trades: Sequence[Trade], at: Instant) -> None:
        for trade in trades:
            self.trades[symbol][trade.id] = trade
        if not trades:
            self.unsure.discard(symbol)

    def give_up(self, symbol: str, at: Instant) -> None:
        self.given_up.append(symbol)
        self.unsure.discard(symbol)
        known = self.trades[symbol]
        if known and not next(iter(known.values())).group:
            self.trades[symbol] = {max(known): known[max(known)]}

    def gap_of(self, symbol: str) -> Trade | None:
        known = self.trades[symbol]
        if not known:
            return None
        first = next(iter(known.values()))
        if not first.group and max(known) - min(known) + 1 != len(known):
            return next(trade for number, trade in sorted(known.items()) if number + 1 not in known)
        return known[max(known)] if symbol in self.unsure else None

    def wants_book(self, symbol: str) -> bool:
        return symbol not in self.books and symbol in self.waiting

    def _depth(self, depth: Depth) -> None:
        symbol, waiting = depth.symbol, self.waiting[depth.symbol]
        if depth.whole:
            later = [change for change in waiting if change.last > depth.last]
            if later and later[0].first > depth.last + 1:
                return  # older than what waits
            self.books[symbol] = depth.last
            self.waiting[symbol] = []
            for change in later:
                self._depth(change)
        elif symbol in self.books:
            if depth.last > self.books[symbol]:
                if depth.first > self.books[symbol] + 1:
                    del self.books[symbol]
                    waiting.append(depth)
                else:
                    self.books[symbol] = depth.last
        else:
            waiting.append(depth)


class World:
    """A machine, and a venue of Binance's protocol whose faults a test sets."""

    def __init__(self, *symbols: str, life_s: float = 86400.0, **options: object) -> None:
        self.symbols = symbols or ("BTCUSDT",)
        self.feed = BinanceFeed(self.symbols, **options)  # type: ignore[arg-type]
        self.feed.life_s = life_s
        self.market = PlainMarket(self.symbols)
        self.machine = Ingest(self.feed, self.market, np.random.default_rng(7))
        self.now = 1000 * SECOND
        self.skew = 0
        self.history: dict[str, list[Trade]] = {symbol: [] for symbol in self.symbols}
        self.quotes: dict[str, tuple[float, float]] = {}
        self.open: set[int] = set()
        self.mute: set[int] = set()
        self.connects: list[int] = []
        self.sent: list[tuple[int, str]] = []
        self.asked: list[Request] = []
        self.told: list[Tell] = []
        self.refuse: Callable[[], str | None] = lambda: None
        self.reply: Callable[[Request], RestAnswer | None] = lambda _: None
        self.acknowledge = True
        self.rest_delay = 50 * MILLISECOND
        self.update = 100
        self._due: list[tuple[int, int, RestAnswer]] = []
        self.do(self.machine.start(self.at()))

    def at(self) -> Instant:
        return Instant(self.now, BEGIN + self.now + self.skew)

    def time(self) -> int:
        """The venue's clock, in nanoseconds, whole milliseconds."""
        return (BEGIN + self.now) // MILLISECOND * MILLISECOND

    def do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Connect(number):
                    self.connects.append(number)
                    refused = self.refuse()
                    if refused is not None:
                        self.do(self.machine.closed(number, refused, self.at()))
                    else:
                        self.open.add(number)
                        self.do(self.machine.opened(number, self.at()))
                case Send(number, frame):
                    assert number in self.open
                    self.sent.append((number, str(frame)))
                    if self.acknowledge and number not in self.mute:
                        reply = json.dumps({"result": None, "id": json.loads(frame)["id"]})
                        self.do(self.machine.frame(number, reply, self.at()))
                case Close(number):
                    self.open.discard(number)
                case Ask(number, request):
                    self.asked.append(request)
                    answer = self.reply(request) or self.answer(request)
                    self._due.append((self.now + self.rest_delay, number, answer))
                case Tell():
                    self.told.append(command)

    def answer(self, request: Request) -> RestAnswer:
        parts = urlsplit(request.path)
        fields = {name: found[0] for name, found in parse_qs(parts.query).items()}
        what = parts.path.removeprefix("/api/v3/")
        if what == "time":
            return _json({"serverTime": self.time() // MILLISECOND})
        if what == "historicalTrades":
            begin = int(fields["fromId"])
            return _json([_rest(trade) for trade in self.history[fields["symbol"]] if trade.id >= begin][:1000])
        if what == "depth":
            return _json({"lastUpdateId": self.update, "bids": [["9", "1"]], "asks": [["11", "1"]]})
        wanted = json.loads(fields["symbols"])
        if what == "ticker/price":
            last = [self.history[symbol][-1] for symbol in wanted if self.history[symbol]]
            return _json([{"symbol": trade.symbol, "price": str(trade.price)} for trade in last])
        names = ("bidPrice", "bidQty", "askPrice", "askQty")
        return _json(
            [
                {"symbol": symbol, **dict(zip(names, map(str, (bid, 1, ask, 1)), strict=True))}
                for symbol, (bid, ask) in self.quotes.items()
                if symbol in wanted
            ]
        )

    def trade(self, symbol: str = "", *, price: float = 0.0, to: Iterable[int] | None = None) -> Trade:
        """A trade happens; connections that are open and not mute (or ``to`` alone) are told."""
        symbol = symbol or self.symbols[0]
        history = self.history[symbol]
        number = history[-1].id + 1 if history else 5000
        trade = Trade(symbol, number, price or 10.0 + number % 7, 1.0, self.time(), 1)
        history.append(trade)
        for connection in sorted(self.open - self.mute) if to is None else to:
            self.frame(connection, trade_frame(trade))
        return trade

    def quote(self, symbol: str, bid: float, ask: float) -> None:
        self.quotes[symbol] = (bid, ask)
        self.update += 1
        data = {"u": self.update, "s": symbol, "b": str(bid), "B": "1", "a": str(ask), "A": "1"}
        for connection in sorted(self.open - self.mute):
            self.frame(connection, json.dumps({"stream": f"{symbol.lower()}@bookTicker", "data": data}))

    def frame(self, connection: int, frame: str) -> None:
        self.do(self.machine.frame(connection, frame, self.at()))

    def cut(self) -> None:
        """Every connection breaks."""
        for number in sorted(self.open):
            self.open.discard(number)
            self.do(self.machine.closed(number, "reset", self.at()))

    def run(self, seconds: float, each: Callable[[], object] | None = None) -> None:
        """Time passes, in steps of 100 ms; ``each`` is called at every one."""
        end = self.now + int(seconds * SECOND)
        while self.now < end:
            self.now += 100 * MILLISECOND
            if each is not None:
                each()
            for due, number, answer in list(self._due):
                if due <= self.now:
                    self._due.remove((due, number, answer))
                    self.do(self.machine.answered(number, answer, self.at()))
            self.do(self.machine.passed(self.at()))

    def whole(self) -> bool:
        """Whether the state has every trade since its first, once, and says so."""
        return all(
            [*sorted(self.market.trades[symbol])]
            == [trade.id for trade in self.history[symbol] if trade.id >= min(self.market.trades[symbol], default=0)]
            and self.market.gap_of(symbol) is None
            for symbol in self.symbols
            if self.market.trades[symbol]
        )

    def kinds(self) -> Iterator[str]:
        return (tell.kind for tell in self.told)


def trade_frame(trade: Trade) -> str:
    data = {"e": "trade", "E": trade.time // MILLISECOND, "s": trade.symbol, "t": trade.id, "p": str(trade.price)}
    data |= {"q": str(trade.size), "T": trade.time // MILLISECOND, "m": trade.taker < 0, "M": True}
    return json.dumps({"stream": f"{trade.symbol.lower()}@trade", "data": data})


def depth_frame(symbol: str, first: int, last: int) -> str:
    data = {
        "e": "depthUpdate",
        "E": BEGIN // MILLISECOND,
        "s": symbol,
        "U": first,
        "u": last,
        "b": [["9", "2"]],
        "a": [],
    }
    return json.dumps({"stream": f"{symbol.lower()}@depth@100ms", "data": data})


def refusal(status: int, wait_s: float | None = None) -> str:
    return ending(f"HTTP {status}", wait_s)


def _json(value: object) -> RestAnswer:
    return RestAnswer(200, json.dumps(value).encode())


def _rest(trade: Trade) -> dict[str, object]:
    return {
        "id": trade.id,
        "price": str(trade.price),
        "qty": str(trade.size),
        "quoteQty": "1",
        "time": trade.time // MILLISECOND,
        "isBuyerMaker": trade.taker < 0,
        "isBestMatch": True,
    }
