"""Local venues that run in threads of their own, in real time, with the symbols that a session asks for."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import TypeVar

from openfingym.errors import VenueError
from openfingym.market.keys import Keys
from openfingym.market.sim.alpaca import AlpacaVenue, stock
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.events import ATOMS, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.sim.flow import Crowd
from openfingym.market.sim.server import LocalVenue

LISTED = {"BTC": (60_000, "0.00001"), "ETH": (3_000, "0.0001"), "SOL": (150, "0.001")}
"""Price at the beginning, in the quote asset, and size of a lot, by base asset; others have those of :data:`OTHER`."""
OTHER = (100, "0.001")
RATE = 8.0
"""Steps of a symbol's crowd in a second, on average."""
ORDER = 5_000.0
"""Scale of the value of the crowd's orders, in the quote asset."""
FAR = 1_200
"""Further levels of each side, so that a book is deeper than the whole books that are asked for, as real ones are."""
QUOTES = ("USDT", "USDC", "USD", "BTC", "ETH")
"""Quote assets by which a symbol may end; the first that fits counts."""
TICK = Decimal("0.01")
STOCKS = {"AAPL": 230, "MSFT": 420, "NVDA": 140}
"""Price of a stock at the beginning, in dollars; others have that of :data:`STOCK`."""
STOCK = 100
SHARES = 300.0
"""Scale of the crowd's orders of a stock, in shares: mostly round lots, since trades of odd lots set no price."""
ACCOUNT = "session"
"""Name of the account that a session has there."""
CASH = 100_000
"""Dollars in a new account, as in Alpaca's own paper accounts."""
START_S, STOP_S = 30.0, 5.0
"""Seconds in which a venue must come up, and in which its thread must end."""

Venue = TypeVar("Venue", bound=LocalVenue)


def local_binance(
    symbols: Sequence[str], *, seed: int, before_s: float, faults: Faults | None = None
) -> AbstractContextManager[BinanceVenue]:
    """A simulated exchange behind Binance's protocols, whose clock goes with this machine's.

    Args:
        symbols: the symbols to list, such as ``BTCUSDT``.
        seed: the seed of the crowds.
        before_s: seconds of trading that the exchange has behind it when it opens.
        faults: the faults of the venue; None for none.

    Raises:
        VenueError: a symbol has no known quote asset, or the venue does not come up.
    """
    return _served(BinanceVenue(crowded_exchange(symbols, seed=seed, now=time.time_ns(), before_s=before_s), faults))


@contextlib.contextmanager
def local_alpaca(
    symbols: Sequence[str], *, seed: int, before_s: float, faults: Faults | None = None
) -> Iterator[tuple[AlpacaVenue, Keys]]:
    """A simulated exchange of stocks behind Alpaca's protocols, whose clock goes with this machine's, and the keys of
    an account there. It never closes.

    Args:
        symbols: the stocks to list, such as ``AAPL``.
        seed: the seed of the crowds.
        before_s: seconds of trading that the exchange has behind it when it opens.
        faults: the faults of the venue; None for none.

    Raises:
        VenueError: the venue does not come up.
    """
    listings = [stock(symbol) for symbol in symbols]
    crowds = {
        listing.symbol: Crowd(value=float(STOCKS.get(listing.symbol, STOCK) / listing.tick), rate=40.0, size=SHARES)
        for listing in listings
    }
    exchange = _traded(listings, crowds, seed, time.time_ns(), before_s)
    exchange.accounts.open(ACCOUNT, margin=True)
    exchange.deposit(ACCOUNT, "USD", CASH * ATOMS)
    venue = AlpacaVenue(exchange, faults)
    keys = Keys(secrets.token_hex(16), secrets.token_hex(32))
    venue.add_key(keys.key, keys.secret, ACCOUNT)
    with _served(venue):
        yield venue, keys


def _traded(listings: Sequence[ListedPair], crowds: dict[str, Crowd], seed: int, now: int, before_s: float) -> Exchange:
    """An exchange that has traded for a while, until now."""
    exchange = Exchange(listings, crowds, seed=seed, start=now - int(before_s * 1e9))
    exchange.advance(now)
    return exchange


@contextlib.contextmanager
def _served(venue: Venue) -> Iterator[Venue]:
    """A venue in a thread of its own, for as long as the context is entered."""
    ready = threading.Event()
    failure: list[BaseException] = []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        await venue.start()
        venue.advance(time.time_ns())
        running = asyncio.create_task(venue.run())
        ready.set()
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        for task in (running, waiting):
            task.cancel()
        await venue.stop()
        if running.done() and not running.cancelled():
            running.result()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # a thread has nobody above it: whoever opened the venue raises it
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="local venue", daemon=True)
    thread.start()
    if not ready.wait(START_S) or failure:
        raise VenueError(f"the local venue did not come up: {failure[0] if failure else 'it takes too long'}")
    try:
        yield venue
    finally:
        loop, stop = loops[0]
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(stop.set)
        thread.join(STOP_S)
    if failure:
        raise VenueError(f"the local venue ended early: {failure[0]!r}") from failure[0]


def crowded_exchange(
    symbols: Sequence[str], *, seed: int, now: int, before_s: float, rate: float = RATE, far: int = FAR
) -> Exchange:
    """An exchange of symbols with a crowd each, which has traded for a while.

    Args:
        symbols: the symbols to list, such as ``BTCUSDT``.
        seed: the seed of the crowds.
        now: the exchange's time, in nanoseconds since the epoch.
        before_s: seconds of trading that it has behind it.
        rate: steps of each symbol's crowd in a second, on average; a third of them are trades.
        far: how many levels each side of a book has beyond those of the crowd.

    Raises:
        VenueError: a symbol has no known quote asset.
    """
    pairs = [_listed(symbol) for symbol in symbols]
    crowds = {}
    for pair in pairs:
        price = LISTED.get(pair.base, OTHER)[0]
        value, size = float(price / pair.tick), ORDER / price / float(pair.lot)
        crowds[pair.symbol] = Crowd(value=value, rate=rate, size=size, far=far)
    return _traded(pairs, crowds, seed, now, before_s)


def _listed(symbol: str) -> ListedPair:
    for quote in QUOTES:
        if symbol.endswith(quote) and len(symbol) > len(quote):
            base = symbol.removesuffix(quote)
            return ListedPair(symbol, base, quote, tick=TICK, lot=Decimal(LISTED.get(base, OTHER)[1]))
    raise VenueError(f"{symbol!r} has no quote asset that is known; expected one that ends with {', '.join(QUOTES)}")
