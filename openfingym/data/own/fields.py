"""What the names of an author's columns say: which are fields of bars, and of which symbol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openfingym.data.bars import ACTIONS, FIELDS

PRICES = FIELDS[:4]
ADJUSTED = "adjusted"
"""Name of the field that holds closes adjusted for splits and dividends."""
NAMES = {
    **{name: name for name in FIELDS},
    **dict.fromkeys(
        ("split", "splits", "stock splits", "splitfactor", "split_factor", "split_ratio", "split_coefficient",
         "split coefficient"), "split"),
    **dict.fromkeys(
        ("dividend", "dividends", "divcash", "div_cash", "ex-dividend", "dividend_amount", "dividend amount"),
        "dividend"),
    **dict.fromkeys(
        ("adj close", "adj_close", "adjclose", "adj. close", "adjusted_close", "adjusted close", "closeadj"), ADJUSTED),
}  # fmt: skip
"""Field of each name that vendors give to a column, in lower case."""
AUXILIARY = re.compile(
    r"(?:^|_)(?:adj|adjusted|quote|quote_asset|taker_buy|taker_buy_base|taker_buy_quote|base|dollar)$", re.IGNORECASE
)
"""How a prefix ends that belongs to a column beside the bars, as in ``adj_open`` and ``AAPL_quote_volume``."""
CURRENCY_VOLUME = re.compile(r"volume (\w+)", re.IGNORECASE)
"""A volume in one of a pair's two currencies, as in ``Volume BTC``."""


@dataclass(frozen=True)
class BarColumns:
    """Which columns of a table are fields of bars."""

    places: dict[str, dict[str, int]]
    """Place of each field's column, by symbol (empty for none); of splits, dividends and adjusted closes too."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that have all four prices."""
        return tuple(name for name, fields in self.places.items() if set(PRICES) <= fields.keys())

    @property
    def prices(self) -> tuple[int, ...]:
        """Places of the prices of these symbols."""
        return tuple(self.places[symbol][price] for symbol in self.symbols for price in PRICES)

    @property
    def actions(self) -> tuple[int, ...]:
        """Places of the splits and dividends of these symbols."""
        fields = (self.places[symbol] for symbol in self.symbols)
        return tuple(places[action] for places in fields for action in ACTIONS if action in places)


def bar_columns(channels: Sequence[str]) -> BarColumns:
    """Tell the columns of bars from others by their names."""
    found: dict[str, dict[str, int]] = {}
    for place, channel in enumerate(channels):
        if (named := field_of(channel)) is not None:
            symbol, name = named
            found.setdefault(symbol, {}).setdefault(name, place)
    return BarColumns(found)


def field_of(channel: str) -> tuple[str, str] | None:
    """Symbol (empty for none) and field of a column; None for one that is no part of a bar."""
    # From the left: a symbol may have an underscore in its name, and so may the name of a field.
    places = [place for place, letter in enumerate(channel) if letter == "_"]
    for place in (-1, *places):
        symbol, name = (channel[:place], channel[place + 1 :]) if place >= 0 else ("", channel)
        if (field := NAMES.get(name.lower())) is not None:
            return None if field in FIELDS and AUXILIARY.search(symbol) else (symbol, field)
        pair = CURRENCY_VOLUME.fullmatch(name)
        # Of a pair such as BTC/USDT, the volume in what is traded, and not in what it is paid with.
        if pair is not None and (not symbol or symbol.upper().startswith(pair[1].upper())):
            return symbol, "volume"
    return None
