"""The market data that a local Binance venue answers, over REST and over its WebSocket API."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from openfingym.market.sim.binance import wire
from openfingym.market.sim.binance.ledger import BinanceLedger
from openfingym.market.sim.binance.order_wire import KINDS
from openfingym.market.sim.binance.wire import ApiError
from openfingym.market.sim.events import ATOMS, ListedPair

MIN_NOTIONAL = 5 * ATOMS
"""Least value of an order, in atoms of the quote asset."""
MOST_LOTS = 10**11
"""Lots of an order at most."""
WEIGHT_LIMIT = 6000
"""Weight of the requests of a minute at most."""
ORDER_LIMIT = 50
"""Orders of an account in ten seconds at most."""
_ID, _TIME = attrgetter("id"), attrgetter("time")


@dataclass(frozen=True)
class MarketDataCall:
    """A request, over REST or the WebSocket API."""

    params: Mapping[str, str]
    """Parameters of the request."""
    unit: int = wire.MILLISECOND
    """Unit of the answer's times, in nanoseconds."""
    account: str = field(default="", repr=False)
    """Name of the account of the key that signed it; empty for a request that is not signed."""

    def need(self, name: str) -> str:
        """A parameter that must be there.

        Raises:
            ApiError: it is not there: -1102.
        """
        if not self.params.get(name):
            raise ApiError(-1102, f"Mandatory parameter '{name}' was not sent, was empty/null, or malformed.")
        return self.params[name]

    def integer(self, name: str, default: int | None = None) -> int:
        """A parameter that is a whole number, zero or more.

        Args:
            name: name of the parameter.
            default: the number where it is not stated; None for a parameter that must be there.

        Raises:
            ApiError: it is not such a number (-1100), or not there (-1102).
        """
        text = self.params.get(name, "") or ("" if default is None else str(default))
        if not text:
            self.need(name)
        if not (text.isascii() and text.isdigit()) or len(text) > 19:
            raise ApiError(-1100, f"Illegal characters found in parameter '{name}'; legal range is '^[0-9]{{1,20}}$'.")
        return int(text)

    def limit(self, default: int = 500, most: int = 1000) -> int:
        """How many rows are wanted.

        Args:
            default: the number where it is not stated.
            most: the largest number, which a larger one is taken for.
        """
        return max(1, min(self.integer("limit", default), most))

    def time(self, name: str, default: int) -> int:
        """A parameter that is a time in milli- or microseconds, in nanoseconds.

        Args:
            name: name of the parameter.
            default: the time where it is not stated.
        """
        if not self.params.get(name):
            return default
        stamp = self.integer(name)
        return stamp * (wire.MICROSECOND if stamp > 10**14 else wire.MILLISECOND)


class Operation(NamedTuple):
    """A request that the venue takes."""

    http: str
    """Its HTTP method and path."""
    method: str
    """Its name in the WebSocket API."""
    weight: Callable[[Mapping[str, str]], int]
    """Gives what it weighs, by its parameters."""
    signed: bool
    """Whether it needs a key and a signature."""
    run: Callable[[BinanceLedger, MarketDataCall], Any]
    """Carries it out, and gives the result."""


def listing(ledger: BinanceLedger, call: MarketDataCall) -> ListedPair:
    """The listing of the parameter ``symbol``.

    Raises:
        ApiError: the symbol is not listed (-1121), or not stated (-1102).
    """
    return listed(ledger, call.need("symbol"))


def listed(ledger: BinanceLedger, symbol: str) -> ListedPair:
    """The listing of a symbol.

    Raises:
        ApiError: the symbol is not listed: -1121.
    """
    pair = ledger.exchange.listings.get(symbol)
    if pair is None:
        raise ApiError(-1121, "Invalid symbol.")
    return pair


def _wanted(ledger: BinanceLedger, call: MarketDataCall) -> tuple[list[ListedPair], bool]:
    """The listings that ``symbol`` or ``symbols`` name, all without either, and whether the answer is a list."""
    if call.params.get("symbol"):
        return [listing(ledger, call)], False
    if not call.params.get("symbols"):
        return list(ledger.exchange.listings.values()), True
    try:
        names = json.loads(call.params["symbols"])
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not names:
        raise ApiError(-1100, "Illegal characters found in parameter 'symbols'; legal range is a JSON list of symbols.")
    return [listed(ledger, str(name)) for name in names], True


def _exchange_info(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    limits = [("REQUEST_WEIGHT", "MINUTE", 1, WEIGHT_LIMIT), ("ORDERS", "SECOND", 10, ORDER_LIMIT)]
    return {
        "timezone": "UTC",
        "serverTime": ledger.now // call.unit,
        "rateLimits": [
            {"rateLimitType": kind, "interval": interval, "intervalNum": number, "limit": limit}
            for kind, interval, number, limit in limits
        ],
        "exchangeFilters": [],
        "symbols": [_symbol_info(pair) for pair in _wanted(ledger, call)[0]],
    }


def _symbol_info(pair: ListedPair) -> dict[str, Any]:
    lot, tick = wire.quantity(pair, 1), wire.price(pair, 1)
    lots = {"minQty": lot, "maxQty": wire.quantity(pair, MOST_LOTS), "stepSize": lot}
    most = wire.price(pair, MOST_LOTS)
    return {
        "symbol": pair.symbol,
        "status": "TRADING",
        "baseAsset": pair.base,
        "baseAssetPrecision": 8,
        "quoteAsset": pair.quote,
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "baseCommissionPrecision": 8,
        "quoteCommissionPrecision": 8,
        "orderTypes": sorted(KINDS.values()),
        "icebergAllowed": False,
        "ocoAllowed": False,
        "otoAllowed": False,
        "opoAllowed": False,
        "quoteOrderQtyMarketAllowed": True,
        "allowTrailingStop": False,
        "cancelReplaceAllowed": True,
        "amendAllowed": False,
        "pegInstructionsAllowed": False,
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": False,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": most, "tickSize": tick},
            {"filterType": "LOT_SIZE", **lots},
            {"filterType": "MARKET_LOT_SIZE", **lots},
            {
                "filterType": "NOTIONAL", "minNotional": wire.amount(MIN_NOTIONAL), "applyMinToMarket": True,
                "maxNotional": wire.amount(10**9 * ATOMS), "applyMaxToMarket": False, "avgPriceMins": 0,
            },
        ],
        "permissions": [],
        "permissionSets": [["SPOT"]],
        "defaultSelfTradePreventionMode": "NONE",
        "allowedSelfTradePreventionModes": ["NONE"],
    }  # fmt: skip


def _depth(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    return wire.levels(pair, ledger.exchange.books[pair.symbol], call.limit(100, 5000))


def _trades(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    rows = ledger.exchange.trades[pair.symbol][-call.limit() :]
    return [wire.trade_row(pair, trade, call.unit) for trade in rows]


def _historical_trades(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    if not call.params.get("fromId"):
        return _trades(ledger, call)
    pair = listing(ledger, call)
    trades = ledger.exchange.trades[pair.symbol]
    begin = bisect_left(trades, call.integer("fromId"), key=_ID)
    return [wire.trade_row(pair, trade, call.unit) for trade in trades[begin : begin + call.limit()]]


def _aggregate_trades(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    known = ledger.aggregates[pair.symbol]
    begin, end = 0, len(known)
    if call.params.get("fromId"):
        begin = bisect_left(known, call.integer("fromId"), key=_ID)
    elif call.params.get("startTime") or call.params.get("endTime"):
        begin = bisect_left(known, call.time("startTime", 0), key=_TIME)
        # An end is included, and with it all of the milli- or microsecond that it states.
        end = bisect_left(known, call.time("endTime", 2**62) + call.unit, key=_TIME)
    else:
        begin = max(0, end - call.limit())
    return [wire.aggregate_row(pair, row, call.unit) for row in known[begin : min(end, begin + call.limit())]]


def _klines(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    interval = wire.INTERVALS.get(call.need("interval"))
    if interval is None:
        raise ApiError(-1120, "Invalid interval.")
    most, now = call.limit(), ledger.exchange.now
    end = min(call.time("endTime", now), now) + 1
    # Without a beginning, the newest bars.
    begin = call.time("startTime", wire.left_edge(end - 1, interval) - (most - 1) * interval)
    rows = wire.bars(ledger.exchange.trades[pair.symbol], interval, begin, end, most)
    return [wire.kline_row(pair, bar, interval, call.unit) for bar in rows]


def _price(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    wanted, many = _wanted(ledger, call)
    books = ledger.exchange.books
    rows = [{"symbol": pair.symbol, "price": wire.price(pair, books[pair.symbol].last)} for pair in wanted]
    return rows if many else rows[0]


def _book_ticker(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    wanted, many = _wanted(ledger, call)
    names = ("bidPrice", "bidQty", "askPrice", "askQty")
    rows = [
        {"symbol": pair.symbol, **dict(zip(names, wire.best(pair, ledger.exchange.books[pair.symbol]), strict=True))}
        for pair in wanted
    ]
    return rows if many else rows[0]


def always(weight: int) -> Callable[[Mapping[str, str]], int]:
    """The same weight for every request."""
    return lambda _: weight


def _depth_weight(params: Mapping[str, str]) -> int:
    text = params.get("limit", "")
    limit = int(text) if text.isdigit() and text.isascii() and len(text) < 10 else 100
    return next((weight for most, weight in ((100, 5), (500, 25), (1000, 50)) if limit <= most), 250)


def _ticker_weight(params: Mapping[str, str]) -> int:
    return 2 if params.get("symbol") else 4


OPERATIONS = (
    Operation("GET /api/v3/ping", "ping", always(1), False, lambda *_: {}),
    Operation(
        "GET /api/v3/time", "time", always(1), False, lambda ledger, call: {"serverTime": ledger.now // call.unit}
    ),
    Operation("GET /api/v3/exchangeInfo", "exchangeInfo", always(20), False, _exchange_info),
    Operation("GET /api/v3/depth", "depth", _depth_weight, False, _depth),
    Operation("GET /api/v3/trades", "trades.recent", always(25), False, _trades),
    Operation("GET /api/v3/historicalTrades", "trades.historical", always(25), False, _historical_trades),
    Operation("GET /api/v3/aggTrades", "trades.aggregate", always(4), False, _aggregate_trades),
    Operation("GET /api/v3/klines", "klines", always(2), False, _klines),
    Operation("GET /api/v3/ticker/price", "ticker.price", _ticker_weight, False, _price),
    Operation("GET /api/v3/ticker/bookTicker", "ticker.book", _ticker_weight, False, _book_ticker),
)
