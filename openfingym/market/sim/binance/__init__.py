"""Binance's spot protocols over a simulated exchange: market streams, REST, signed trading and the WebSocket API.

Left out, and refused as unknown: bars of months, average prices and 24-hour tickers, order lists, icebergs, trailing
and take-profit orders, amendments, RSA keys, and the limit on connections in five minutes. Quotes and partial books are
sent once for each step of time, and not for each change; and every order counts toward the limit on orders, even if it
is filled.
"""

from openfingym.market.sim.binance.venue import BinanceVenue

__all__ = ["BinanceVenue"]
