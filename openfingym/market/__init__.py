"""Live markets: feeds, the buffer that agents read, recorded sessions, and local venues for development and tests.

Data flows one way. A :mod:`~openfingym.market.transport` carries frames; a feed's session turns them into the
:mod:`~openfingym.market.ticks` of its venue's symbols; the machine of :mod:`~openfingym.market.ingest` applies these in
order to the state, which nothing else changes; and the buffer is what agents read it through. Every input of the
machine is written to the session's tape first, so that a replay gives the same state bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.market.brokers.alpaca import Alpaca
    from openfingym.market.brokers.journal import Journal
    from openfingym.market.brokers.live import LiveBroker
    from openfingym.market.brokers.reports import Instrument
    from openfingym.market.feeds.alpaca import AlpacaFeed
    from openfingym.market.feeds.binance import BinanceFeed
    from openfingym.market.following import follow
    from openfingym.market.keys import Keys
    from openfingym.market.session.simulated import simulated_session
    from openfingym.market.session.terms import SessionOrder
    from openfingym.market.session.tournament import tournament
    from openfingym.market.sim.faults import Faults, VenueFault
    from openfingym.market.sim.local import local_alpaca

__all__ = [
    "Alpaca",
    "AlpacaFeed",
    "BinanceFeed",
    "Faults",
    "Instrument",
    "Journal",
    "Keys",
    "LiveBroker",
    "SessionOrder",
    "VenueFault",
    "follow",
    "local_alpaca",
    "simulated_session",
    "tournament",
]

_HOMES = {
    "Alpaca": "brokers.alpaca",
    "AlpacaFeed": "feeds.alpaca",
    "BinanceFeed": "feeds.binance",
    "Faults": "sim.faults",
    "Instrument": "brokers.reports",
    "Journal": "brokers.journal",
    "Keys": "keys",
    "LiveBroker": "brokers.live",
    "SessionOrder": "session.terms",
    "VenueFault": "sim.faults",
    "follow": "following",
    "local_alpaca": "sim.local",
    "simulated_session": "session.simulated",
    "tournament": "session.tournament",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
