"""Exchange rates, metals and oil, and futures: the simulated markets that are not shares.

Exchange rates follow the ECB's real reference rates of the day before, and everything within the day is simulated: so
they are of a likely size, and no real rate shows before it was known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.finsearch.world.calendars import (
    CBOT,
    COMEX,
    FIXING,
    HONG_KONG,
    OFFSHORE,
    ONSHORE,
    ExchangeSessions,
    Hours,
    sessions,
)
from openfingym.suites.finsearch.world.draws import stream
from openfingym.suites.finsearch.world.equities import ohlcv
from openfingym.suites.finsearch.world.paths import DAYS_A_YEAR, MarketPaths
from openfingym.suites.finsearch.world.quoting import HALVES, POINTS_AND_32NDS
from openfingym.suites.finsearch.world.roster import MarketSize

if TYPE_CHECKING:
    from openfingym.suites.finsearch.world.paths import Floats

OFFSHORE_SINCE = date(2010, 8, 23)
_MONTHS = {"TN": (3, 6, 9, 12), "GD": (2, 4, 6, 8, 10, 12)}


@dataclass(frozen=True, eq=False)
class PricedRate:
    """A rate or a contract with its prices."""

    symbol: str
    aliases: tuple[str, ...]
    name: str
    name_zh: str
    exchange: str
    hours: Hours
    currency: str
    country: str
    kind: str
    quote_unit: str
    times: ExchangeSessions
    bars: Floats
    expires: date | None = None


def price_rates(size: MarketSize, seed: int, paths: MarketPaths) -> list[PricedRate]:
    """All of them."""
    found = [*_currencies(size, seed, paths)]
    gold = _metal_path(seed, paths, "gold", 880.0, 0.055, 0.0085)
    silver = _metal_path(seed, paths, "silver", 11.5, 0.05, 0.016)
    oil = _metal_path(seed, paths, "oil", 46.0, 0.02, 0.019)
    spot = (
        (
            "XAUUSD-LONDON",
            ("London gold", "XAUUSD", "伦敦金"),
            "London gold, spot",
            "伦敦金现货",
            gold,
            "USD per troy ounce",
        ),
        (
            "XAGUSD-LONDON",
            ("London silver", "伦敦银"),
            "London silver, spot",
            "伦敦银现货",
            silver,
            "USD per troy ounce",
        ),
        ("CRUDE-SPOT", ("crude oil spot", "原油现货"), "Crude oil, spot", "原油现货", oil, "USD per barrel"),
    )
    for symbol, aliases, name, name_zh, path, unit in spot:
        times = sessions(OFFSHORE, size.first_day, size.last_day)
        bars = _bars(seed, symbol, paths, times, path, 0.004, 2, 0.0)
        found.append(
            PricedRate(symbol, aliases, name, name_zh, "OTC", OFFSHORE, "USD", "", "commodity", unit, times, bars)
        )
    found += _futures(size, seed, paths, "GD", gold)
    found += _futures(size, seed, paths, "TN", note_prices(note_yields(seed, paths)))
    return found


def note_yields(seed: int, paths: MarketPaths) -> Floats:
    """Yield of a simulated ten-year note on each weekday, in percent."""
    shocks = 0.045 * np.sqrt(paths.unrest) * stream(seed, "note yield").standard_normal(len(paths.days))
    level, found = 3.2, np.empty(len(shocks))
    for place, shock in enumerate(shocks.tolist()):
        level += 0.001 * (3.0 - level) + shock
        level = min(max(level, 0.5), 7.0)
        found[place] = level
    return found


def note_prices(yields: Floats) -> Floats:
    """Price of a note of 6 % a year and seven years, in points."""
    half, periods = yields / 200, 14
    worth = (1 + half) ** -periods
    return 3.0 * (1 - worth) / half + 100 * worth


def _metal_path(seed: int, paths: MarketPaths, name: str, start: float, drift: float, volatility: float) -> Floats:
    steps = volatility * np.sqrt(paths.unrest) * stream(seed, "metal", name).standard_normal(len(paths.days))
    path: Floats = start * np.exp(np.cumsum(steps + drift / DAYS_A_YEAR - volatility**2 / 2))
    return path


def _bars(
    seed: int,
    symbol: str,
    paths: MarketPaths,
    times: ExchangeSessions,
    path: Floats,
    width: float,
    decimals: int,
    turnover: float,
) -> Floats:
    places = paths.at(times.days)
    close = path[places]
    before = np.append(close[:1], close[:-1])
    widths = width * np.sqrt(paths.unrest[places])
    bars = ohlcv(stream(seed, "bars", symbol), before, close, widths, decimals, turnover)
    if not turnover:
        bars[:, 4] = np.nan
    return bars


def _currencies(size: MarketSize, seed: int, paths: MarketPaths) -> Iterator[PricedRate]:
    ecb, days = paths.ecb, paths.days
    onshore = ecb["usd_cny"] * np.exp(0.0006 * stream(seed, "onshore").standard_normal(len(days)))
    spread, gap = np.empty(len(days)), 0.0
    for place, shock in enumerate(stream(seed, "offshore").standard_normal(len(days)).tolist()):
        gap += -0.06 * gap + 0.0005 * shock
        spread[place] = gap
    offshore = onshore * np.exp(spread)
    pegged = np.clip(ecb["usd_hkd"] * np.exp(0.0002 * stream(seed, "peg").standard_normal(len(days))), 7.7505, 7.8495)
    traded = (
        ("USDCNY-ONSHORE", ("USD/CNY onshore", "在岸人民币"), "USD/CNY, onshore spot", "美元兑在岸人民币", ONSHORE,
         "CNY", onshore, size.first_day, 0.0007),
        ("USDCNH-OFFSHORE", ("USD/CNH", "离岸人民币"), "USD/CNH, offshore spot", "美元兑离岸人民币", OFFSHORE,
         "CNH", offshore, max(OFFSHORE_SINCE, size.first_day), 0.0009),
        ("USDHKD-SPOT", ("USD/HKD spot", "美元兑港元"), "USD/HKD, spot", "美元兑港元即期", HONG_KONG, "HKD",
         pegged, size.first_day, 0.0001),
    )  # fmt: skip
    for symbol, aliases, name, name_zh, hours, currency, path, first, width in traded:
        times = sessions(hours, first, size.last_day)
        bars = _bars(seed, symbol, paths, times, path, width, 4, 0.0)
        unit = f"{currency} per USD"
        yield PricedRate(symbol, aliases, name, name_zh, "OTC", hours, currency, "CN", "fx", unit, times, bars)
    # The fixing of a morning follows the close before and the dollar of the night.
    before = np.append(onshore[:1], onshore[:-1])
    base = 0.7 * before + 0.3 * ecb["usd_cny"]
    for foreign, units in (("USD", 1), ("EUR", 1), ("HKD", 1), ("JPY", 100), ("GBP", 1)):
        cross = base if foreign == "USD" else base / ecb[f"usd_{foreign.lower()}"] * units
        decimals = 5 if foreign == "HKD" else 4
        noise = np.exp(0.0003 * stream(seed, "fixing", foreign).standard_normal(len(days)))
        times = sessions(FIXING, size.first_day, size.last_day)
        fixed = np.round((cross * noise)[paths.at(times.days)], decimals)
        bars = np.column_stack([fixed, fixed, fixed, fixed, np.full(len(fixed), np.nan)])
        each = f"{units} {foreign}" if units > 1 else foreign
        yield PricedRate(
            f"{foreign}CNY-FIXING",
            (f"{foreign}/CNY central parity", f"{foreign}/CNY fixing"),
            f"{foreign}/CNY, central parity rate",
            f"{_CURRENCY_ZH[foreign]}兑人民币中间价",
            "CFETS",
            FIXING,
            "CNY",
            "CN",
            "fx fixing",
            f"CNY per {each}",
            times,
            bars,
        )


_CURRENCY_ZH = {"USD": "美元", "EUR": "欧元", "HKD": "港元", "JPY": "100日元", "GBP": "英镑"}


def _futures(size: MarketSize, seed: int, paths: MarketPaths, root: str, spot: Floats) -> Iterator[PricedRate]:
    """The contracts of a root: each trades for eight months before it expires."""
    notes = root == "TN"
    hours = CBOT if notes else COMEX
    for year in range(size.first_day.year, size.last_day.year + 1):
        for month in _MONTHS[root]:
            expires = date(year, month, 19 if notes else 26)
            first = max(expires - timedelta(days=245), size.first_day)
            last = min(expires, size.last_day)
            if first >= last - timedelta(days=20):
                continue
            times = sessions(hours, first, last)
            left = np.array([(expires - day.date()).days for day in times.days]) / 365
            places = paths.at(times.days)
            carry = np.exp((-0.01 if notes else 0.025) * left)
            path = spot.copy()
            path[places] = spot[places] * carry
            symbol = f"{root}{year % 100:02d}{month:02d}.FUT"
            bars = _bars(seed, symbol, paths, times, path, 0.0022 if notes else 0.0045, 6 if notes else 1, 90_000)
            if notes:
                bars[:, :4] = np.round(bars[:, :4] * HALVES) / HALVES
            name = "Ten-year note future" if notes else "COMEX-style gold future"
            name_zh = "十年期国债期货" if notes else "纽约金期货"
            yield PricedRate(
                symbol,
                (f"{root}{month:02d}{year % 100:02d}",),
                f"{name}, {date(year, month, 1):%B %Y}",
                f"{name_zh} {year}年{month}月合约",
                "XCBT" if notes else "XCEC",
                hours,
                "USD",
                "US",
                "future",
                POINTS_AND_32NDS if notes else "USD per troy ounce",
                times,
                bars,
                expires,
            )
