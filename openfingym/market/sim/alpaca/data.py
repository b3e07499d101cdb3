"""The market data that a local Alpaca venue answers over REST."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from openfingym.market.sim.alpaca import wire
from openfingym.market.sim.alpaca.bars import ONE_DAY, ONE_MINUTE, AlpacaBar, Timeframe, bars
from openfingym.market.sim.alpaca.calls import AlpacaCall, AlpacaRoute, page_token
from openfingym.market.sim.alpaca.hours import day_of, midnight
from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.events import ListedPair
from openfingym.market.ticks import SECOND

# Gives the rows of a symbol in their order, each with the numbers by which they are sorted.
_Rows = Callable[[ListedPair], Iterator[tuple[tuple[int, int], dict[str, Any]]]]


def all_bars(ledger: AlpacaLedger, listing: ListedPair, frame: Timeframe, begin: int, end: int) -> Iterator[AlpacaBar]:
    """The bars of a symbol whose left edge is in [begin, end]."""
    return bars(listing, ledger.standing(listing.symbol), frame, begin, end, ledger.mids[listing.symbol])


def _paged(ledger: AlpacaLedger, call: AlpacaCall, crypto: bool, name: str, rows: _Rows) -> dict[str, Any]:
    """A page of rows by symbol, the first symbol's first: at most ``limit`` rows over all symbols."""
    limit, token = call.integer("limit", 1000, 10_000), call.token()
    by_symbol: dict[str, list[dict[str, Any]]] = defaultdict(list)
    count, last = 0, ""
    for listing in call.listings(ledger, crypto):
        symbol = listing.symbol
        if token and symbol < token[0]:
            continue
        for key, row in rows(listing):
            if token and symbol == token[0] and not _follows(key, token, call):
                continue
            if count == limit:  # only now, as a token promises that another row follows
                return {name: by_symbol, "next_page_token": last}
            by_symbol[symbol].append(row)
            count, last = count + 1, page_token(symbol, *key)
    return {name: by_symbol, "next_page_token": None}


def _follows(key: tuple[int, int], token: list[str], call: AlpacaCall) -> bool:
    before = int(token[1]), int(token[2])
    return key > before if call.choice("sort", "asc", "desc") == "asc" else key < before


def _span(ledger: AlpacaLedger, call: AlpacaCall) -> tuple[int, int]:
    return call.time("start", midnight(day_of(ledger.exchange.now))), min(
        call.time("end", ledger.exchange.now), ledger.exchange.now
    )


def _trades(ledger: AlpacaLedger, call: AlpacaCall, crypto: bool) -> Any:
    begin, end = _span(ledger, call)
    # A page begins where the one before ended, and not again with all that came before that.
    if call.token() and call.choice("sort", "asc", "desc") == "asc":
        symbol, at, _ = call.token()
    else:
        symbol, at = "", "0"

    def rows(listing: ListedPair) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
        since = max(begin, int(at)) if listing.symbol == symbol else begin
        history = ledger.history(listing.symbol, since, end)
        for trade, update in sorted(
            history, key=lambda item: (item[0].time, item[0].id), reverse=call.params.get("sort") == "desc"
        ):
            yield (trade.time, trade.id), wire.trade_row(listing, trade, wire.stamp, update)

    return _paged(ledger, call, crypto, "trades", rows)


def _bars(ledger: AlpacaLedger, call: AlpacaCall, crypto: bool) -> Any:
    frame = Timeframe.of(call.params.get("timeframe", ""))
    begin, end = _span(ledger, call)

    def rows(listing: ListedPair) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
        in_order = all_bars(ledger, listing, frame, begin, end)
        if call.choice("sort", "asc", "desc") == "desc":
            in_order = reversed(list(in_order))
        for bar in in_order:
            yield (bar.begin, 0), bar.row(wire.stamp)

    return _paged(ledger, call, crypto, "bars", rows)


def last_trade(ledger: AlpacaLedger, listing: ListedPair) -> dict[str, Any] | None:
    """The last trade that stands; None before any."""
    amended = ledger.amended.get(listing.symbol, {})
    for trade in reversed(ledger.exchange.trades[listing.symbol]):
        why, instead = amended.get(trade.id, ("", None))
        if not why:
            return wire.trade_row(listing, trade, wire.stamp)
        if instead is not None:
            return wire.trade_row(listing, instead, wire.stamp, wire.CORRECTED)
    return None


def _quote(ledger: AlpacaLedger, listing: ListedPair) -> dict[str, Any] | None:
    book = ledger.exchange.books[listing.symbol]
    return wire.quote_row(listing, book, ledger.now, wire.stamp) if book.update else None


def last_bar(ledger: AlpacaLedger, listing: ListedPair, frame: Timeframe, end: int) -> dict[str, Any] | None:
    """The last bar that begins at ``end`` or before; None where there is none. One of a minute may be an hour old."""
    begin = frame.left(end) - (3600 * SECOND if frame == ONE_MINUTE else 0)
    last = None
    for bar in all_bars(ledger, listing, frame, begin, end):
        last = bar.row(wire.stamp)
    return last


def _minute(ledger: AlpacaLedger, listing: ListedPair) -> dict[str, Any] | None:
    return last_bar(ledger, listing, ONE_MINUTE, ledger.exchange.now)


def _book(ledger: AlpacaLedger, listing: ListedPair) -> dict[str, Any]:
    return wire.book_row(listing, ledger.exchange.books[listing.symbol], ledger.now, wire.stamp)


def _snapshots(ledger: AlpacaLedger, call: AlpacaCall, crypto: bool) -> Any:
    today = ledger.exchange.now
    yesterday = midnight(day_of(today) - timedelta(days=1))
    by_symbol = {
        listing.symbol: {
            "latestTrade": last_trade(ledger, listing),
            "latestQuote": _quote(ledger, listing),
            "minuteBar": _minute(ledger, listing),
            "dailyBar": last_bar(ledger, listing, ONE_DAY, today),
            "prevDailyBar": last_bar(ledger, listing, ONE_DAY, yesterday),
        }
        for listing in call.listings(ledger, crypto)
    }
    return {"snapshots": by_symbol} if crypto else by_symbol


def _latest(
    name: str, row_of: Callable[[AlpacaLedger, ListedPair], dict[str, Any] | None], crypto: bool
) -> Callable[[AlpacaLedger, AlpacaCall], Any]:
    def run(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
        rows = {listing.symbol: row_of(ledger, listing) for listing in call.listings(ledger, crypto)}
        return {name: {symbol: row for symbol, row in rows.items() if row is not None}}

    return run


def _routes(root: str, crypto: bool) -> Iterator[AlpacaRoute]:
    for name, run in (("trades", _trades), ("bars", _bars), ("snapshots", _snapshots)):
        path = f"{root}/{name}"
        yield AlpacaRoute("GET", path, lambda ledger, call, run=run: run(ledger, call, crypto))  # type: ignore[misc]
    latest = [("trades", last_trade), ("quotes", _quote), ("bars", _minute)]
    for name, row_of in latest:
        path = f"{root}/latest/{name}" if crypto else f"{root}/{name}/latest"
        yield AlpacaRoute("GET", path, _latest(name, row_of, crypto))
    if crypto:
        yield AlpacaRoute("GET", f"{root}/latest/orderbooks", _latest("orderbooks", _book, crypto))


DATA_ROUTES = (*_routes("/v2/stocks", False), *_routes("/v1beta3/crypto/{region}", True))
