"""Alpaca's protocols over a simulated exchange: streams and REST of market data, trading, and its order events.

Left out, and refused as unsupported: brackets and other order classes, trailing stops, orders at the open or the close,
delayed streams, bars of weeks and months, historical quotes, auctions, news, options, watchlists, and account
activities other than fills. Trading hours have no extended session. Quotes and changes of books are sent once for each
step of time, and not for each change.
"""

from openfingym.market.sim.alpaca.hours import MarketHours
from openfingym.market.sim.alpaca.venue import AlpacaVenue, coin, stock

__all__ = ["AlpacaVenue", "MarketHours", "coin", "stock"]
