"""The venues of sessions: real ones, and simulated ones on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal

from openfingym.errors import DataError, UsageError
from openfingym.market.brokers.alpaca import Alpaca
from openfingym.market.brokers.broker import Broker
from openfingym.market.brokers.reports import Instrument
from openfingym.market.feed import Feed
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.keys import Keys

VENUES = ("alpaca", "binance")
"""Names of the venues of sessions."""
NO_KEYS = Keys("", "")
"""Keys of the feed of a tape, which opens no connection."""


def feed_of(venue: str, instruments: Sequence[str], arguments: Mapping[str, object]) -> Feed:
    """The adapter of a tape's feed. It opens no connection, and needs no keys.

    Args:
        venue: name of the venue.
        instruments: the venue's names of the symbols.
        arguments: the arguments of the feed, as :meth:`~openfingym.market.feed.Feed.arguments` gave them.

    Raises:
        DataError: there is no such venue, or its feed has no such arguments.
    """
    if venue not in VENUES:
        raise DataError(f"the tape is of {venue!r}; sessions are known of {', '.join(VENUES)}")
    try:
        if venue == "alpaca":
            return AlpacaFeed(instruments, NO_KEYS, **arguments)  # type: ignore[arg-type]
        return BinanceFeed(instruments, **arguments)  # type: ignore[arg-type]
    except (TypeError, UsageError) as error:
        raise DataError(f"the tape's feed cannot be made: {error}") from error


def real_venue(venue: str, instruments: Sequence[str]) -> AbstractContextManager[Feed]:
    """A real venue's market data: Binance's, which needs no keys, or those of the exchange IEX through Alpaca, with the
    keys of :meth:`~openfingym.market.keys.Keys.of`. No connection is opened yet.

    Raises:
        UsageError: there is no such venue, or there are no keys.
    """
    _check_known(venue)
    if venue == "alpaca":
        return contextlib.nullcontext(AlpacaFeed(instruments, Keys.of(venue)))
    return contextlib.nullcontext(BinanceFeed(instruments))


@contextlib.contextmanager
def simulated_venue(venue: str, instruments: Sequence[str], *, seed: int, before_s: float) -> Iterator[Feed]:
    """A local venue that speaks the real one's protocols, for as long as the context is entered. It never closes.

    Args:
        venue: name of the venue whose protocols it speaks.
        instruments: the symbols that are listed there.
        seed: the seed of its simulated traders; whoever knows it can compute what will happen.
        before_s: seconds of trading that the venue has behind it when it opens.

    Raises:
        UsageError: there is no such venue.
    """
    from openfingym.market.sim.local import local_alpaca, local_binance

    _check_known(venue)
    if venue == "alpaca":
        with local_alpaca(instruments, seed=seed, before_s=before_s) as (alpaca, keys):
            yield AlpacaFeed(instruments, keys, stream_url=alpaca.stream_url, rest_url=alpaca.rest_url, simulated=True)
        return
    with local_binance(instruments, seed=seed, before_s=before_s) as binance:
        yield BinanceFeed(instruments, stream_url=binance.stream_url, rest_url=binance.rest_url, simulated=True)


def broker_of(feed: Feed) -> Broker:
    """The account at the venue that a feed is of, with the same keys: of Alpaca the paper account, or the local one.

    Raises:
        UsageError: the venue takes no orders here, or its orders might cost real money.
    """
    if not isinstance(feed, AlpacaFeed):
        raise UsageError(f"orders can be sent to alpaca alone, and this feed is of {feed.venue}")
    items = [Instrument(symbol, symbol, "USD", Decimal("0.01"), Decimal(1)) for symbol in feed.symbols]
    if feed.simulated:
        broker = Alpaca(items, feed.keys, rest=feed.rest().url, stream=f"{feed.stream_url}/stream")
    else:
        broker = Alpaca(items, feed.keys)
    if broker.real:
        raise UsageError(f"orders at {broker.rest().url} cost real money; a session sends none there")
    return broker


def _check_known(venue: str) -> None:
    if venue not in VENUES:
        raise UsageError(f"there is no venue {venue!r}; expected one of {', '.join(VENUES)}")
