"""Where a session is: a venue of this machine that is simulated, or a real one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from openfingym.errors import DataError, UsageError
from openfingym.market.feed import Feed
from openfingym.market.feeds.binance import BinanceFeed

VENUES = ("binance",)
"""Names of the venues of sessions."""


def feed_of(venue: str, instruments: Sequence[str], arguments: Mapping[str, object]) -> Feed:
    """The adapter of a tape's feed, which no connection is opened of.

    Args:
        venue: name of the venue.
        instruments: its names of the symbols.
        arguments: those of :meth:`~openfingym.market.feed.Feed.arguments`.

    Raises:
        DataError: there is no such venue, or not with these arguments.
    """
    if venue != "binance":
        raise DataError(f"the tape is of {venue!r}; sessions are known of {', '.join(VENUES)}")
    try:
        return BinanceFeed(instruments, **arguments)  # type: ignore[arg-type]
    except (TypeError, UsageError) as error:
        raise DataError(f"the tape's feed cannot be made: {error}") from error


def real_venue(venue: str, instruments: Sequence[str]) -> AbstractContextManager[Feed]:
    """A real venue's market data; of Binance's, nobody needs keys.

    Raises:
        UsageError: there is no such venue.
    """
    if venue != "binance":
        raise UsageError(f"there is no venue {venue!r}; expected one of {', '.join(VENUES)}")
    return contextlib.nullcontext(BinanceFeed(instruments))


@contextlib.contextmanager
def simulated_venue(venue: str, instruments: Sequence[str], *, seed: int, before_s: float) -> Iterator[Feed]:
    """A local venue that speaks the real one's protocols, for as long as the context is entered.

    Args:
        venue: name of the venue whose protocols it speaks.
        instruments: what is listed.
        seed: of its crowd: who knows it knows what will happen.
        before_s: seconds of trading that it has behind it.

    Raises:
        UsageError: there is no such venue.
    """
    from openfingym.market.sim.local import local_binance

    if venue != "binance":
        raise UsageError(f"there is no simulated venue {venue!r}; expected one of {', '.join(VENUES)}")
    with local_binance(instruments, seed=seed, before_s=before_s) as served:
        yield BinanceFeed(instruments, stream_url=served.stream_url, rest_url=served.rest_url, simulated=True)
