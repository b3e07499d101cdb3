"""Binance's spot protocols over a simulated exchange: market streams, REST, signed trading and the WebSocket API."""

from openfingym.market.sim.binance.venue import BinanceVenue

__all__ = ["BinanceVenue"]
