"""Yahoo Finance chart API, version 8: prices of one or several tickers, with splits and dividends.

What Yahoo calls open, high, low and close is adjusted for splits but not for dividends, and is
rewritten after every split; ``adj_close`` is adjusted for both. Both are kept as served, and the
events beside them, so that any other adjustment can be made and none is hidden
(:mod:`openfingym.data.sources.adjust`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from openfingym.data.sources.source import SourceRequest
from openfingym.data.sources.table import Block, CorporateAction, DataProvenance, Table, day_mask, join
from openfingym.data.sources.wire import NotPublishedError
from openfingym.data.sources.yahoo_clock import bar_dates, live_rows
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client
    from openfingym.task.model import Frequency

PARSER = "yahoo-chart/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
FIELDS = ("open", "high", "low", "close", "volume")
INTERVALS: dict[str, tuple[Frequency, int | None]] = {
    "1m": ("intraday", 8),
    "2m": ("intraday", 60),
    "5m": ("intraday", 60),
    "15m": ("intraday", 60),
    "30m": ("intraday", 60),
    "90m": ("intraday", 60),
    "1h": ("hourly", 730),
    "1d": ("daily", None),
    "1wk": ("weekly", None),
    "1mo": ("monthly", None),
}
"""Frequency of each interval, and how many days back the service has it; None for all days."""
BAR_DAYS = frozenset({"1d", "1wk", "1mo"})
"""Intervals of a day or longer, whose bars are stamped with a date."""
FIRST_DAY = date(1962, 1, 2)
"""First day of a request that names none."""
HALF_DAY_S = 12 * 3600


@dataclass(frozen=True)
class Yahoo:
    """Prices and corporate actions from Yahoo Finance."""

    base_url: str = "https://query2.finance.yahoo.com"
    name: str = "yahoo"
    publisher: str = "Yahoo Finance, chart API v8"
    licence: str = "Yahoo terms of service: for your own use, not for redistribution; never bundled"
    frequency: str = "daily, weekly, monthly; hourly for the last 730 days, minutes for the last 8 to 60"
    gives: str = (
        "open, high, low, close (adjusted for splits), volume, adj_close (for dividends too) in the quote's currency; "
        "events"
    )
    lag_days: int | None = 1

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One table with the columns of every ticker in ``request.symbols``; see :class:`DataSource`."""
        interval = request.interval or "1d"
        if not request.symbols:
            raise UsageError("yahoo needs at least one symbol, such as AAPL")
        if interval not in INTERVALS:
            raise UsageError(f"yahoo has no interval {interval!r}; known: {', '.join(INTERVALS)}")
        # Today's bar is not finished, and a period that ends now would never be the same twice.
        end = request.end or datetime.now(UTC).date() - timedelta(days=1)
        frequency, limit = INTERVALS[interval]
        start = request.start or (FIRST_DAY if limit is None else end - timedelta(days=limit - 1))
        if start > end:
            raise UsageError(f"yahoo: the period {start} to {end} is empty; bars up to yesterday are complete")
        if limit is not None and (end - start).days >= limit:
            raise UsageError(f"yahoo gives at most {limit} days of {interval} bars, asked for {(end - start).days + 1}")
        origins, charts = [], {}
        for symbol in request.symbols:
            url = self._url(symbol, start, end, interval)
            entry = cache.fetch(client, url, kind="json", refresh=request.refresh, progress=progress)
            origins.append(entry.origin)
            charts[symbol] = read_chart(cache.read(entry), symbol, interval, start=start, end=end)
        times, columns, values = join({symbol: chart.block for symbol, chart in charts.items()})
        notes = tuple(note for chart in charts.values() for note in chart.notes)
        currencies = sorted({chart.currency for chart in charts.values()})
        return Table(
            times,
            values,
            tuple(columns),
            frequency,
            f"{' or '.join(currencies)} per share; volume in shares",
            DataProvenance(self.name, self.publisher, self.licence, PARSER, tuple(origins), notes),
            tuple(action for chart in charts.values() for action in chart.actions),
            {symbol: chart.currency for symbol, chart in charts.items()},
        )

    def _url(self, symbol: str, start: date, end: date, interval: str) -> str:
        # A day wider before and half a day after: sessions are cut by their exchange's date once the answer is here.
        bounds = [
            int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
            for day in (start, end + timedelta(days=1))
        ]
        query = {
            "period1": bounds[0] - 2 * HALF_DAY_S,
            "period2": bounds[1] + HALF_DAY_S,
            "interval": interval,
            "includePrePost": "false",
            "events": "div,splits,capitalGains",
        }
        return f"{self.base_url}/v8/finance/chart/{quote(symbol, safe='')}?{urlencode(query, safe=',')}"


@dataclass(frozen=True, eq=False)
class Chart:
    """What one answer of the chart API says of one ticker."""

    block: Block
    """Times, names of the columns, and values."""
    actions: tuple[CorporateAction, ...]
    """Splits, dividends and capital gains, by day."""
    currency: str
    """Currency of the prices, as Yahoo spells it: ``GBp`` is a hundredth of ``GBP``."""
    notes: tuple[str, ...]
    """What was left out or is odd."""


def read_chart(
    content: bytes, symbol: str, interval: str, *, start: date | None = None, end: date | None = None
) -> Chart:
    """Read one answer of the chart API, cut to the days ``start`` to ``end``.

    Bars of a day or longer are stamped with the exchange's date, shorter ones with their start in UTC.

    Raises:
        NotPublishedError: Yahoo has no such symbol, or nothing of it in the period.
        DataError: the answer is not of the known form.
    """
    try:
        result, meta = _result(content, symbol)
        stamps = np.array(result.get("timestamp") or [], dtype=np.int64)
        if not stamps.size:
            raise NotPublishedError(f"yahoo: {symbol} has no rows in the period asked for")
        columns, values = _values(result["indicators"], len(stamps), symbol)
        zone = ZoneInfo(meta["exchangeTimezoneName"])
        actions = tuple(sorted(_actions(result.get("events") or {}, symbol, zone), key=lambda action: action.day))
        currency = str(meta["currency"])
    except (KeyError, TypeError, IndexError, ValueError, ZoneInfoNotFoundError) as error:
        raise DataError(
            f"yahoo: the answer for {symbol} is not of the known form ({error!r}); the format has changed"
        ) from error
    notes = _remarks(values, columns, currency, symbol)
    live = live_rows(stamps, meta, zone, interval)
    if live.any():
        notes.append(f"{symbol}: {int(live.sum())} rows of a bar that was not finished dropped")
        stamps, values = stamps[~live], values[~live]
    times = _times(stamps, zone, interval)
    keep = day_mask(times, start, end)
    if not keep.any():
        raise NotPublishedError(f"yahoo: {symbol} has no complete rows in the period asked for")
    if not (times[1:] > times[:-1]).all():
        row = int(np.flatnonzero(~(times[1:] > times[:-1]))[0]) + 1
        raise DataError(f"yahoo: {symbol}, row {row}: {times[row]} is not after the row above")
    return Chart((times[keep], columns, values[keep]), actions, currency, tuple(notes))


def _result(content: bytes, symbol: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    chart = json.loads(content)["chart"]
    if chart.get("error"):
        raise NotPublishedError(f"yahoo: {symbol}: {chart['error'].get('code')}: {chart['error'].get('description')}")
    result = chart["result"][0]
    return result, result["meta"]


def _values(indicators: Mapping[str, Any], rows: int, symbol: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Names of the columns, and their values, float64[rows, d], with NaN for null."""
    named = {field: indicators["quote"][0].get(field) for field in FIELDS}
    if "adjclose" in indicators:
        named["adj_close"] = indicators["adjclose"][0]["adjclose"]
    for field, cells in named.items():
        if not isinstance(cells, list) or len(cells) != rows:
            found = f"{len(cells)} values" if isinstance(cells, list) else "nothing"
            raise DataError(
                f"yahoo: {symbol} has {rows} timestamps but {found} for {field!r}; the answer is incomplete"
            )
    table = np.array([[math.nan if cell is None else float(cell) for cell in cells] for cells in named.values()]).T
    return tuple(named), np.ascontiguousarray(table)


def _remarks(values: NDArray[np.float64], columns: tuple[str, ...], currency: str, symbol: str) -> list[str]:
    """Notes on what is odd; infinite cells become missing, in place."""
    notes = []
    infinite = np.isinf(values)
    if infinite.any():
        notes.append(f"{symbol}: {int(infinite.sum())} infinite values taken as missing, a known fault of the service")
        values[infinite] = math.nan
    if np.isnan(values).any():
        empty = int(np.isnan(values).all(axis=1).sum())
        notes.append(f"{symbol}: {int(np.isnan(values).sum())} missing cells, {empty} rows wholly empty")
    if currency != currency.upper():
        notes.append(f"{symbol}: quoted in {currency}, a hundredth of the main unit")
    if "adj_close" not in columns:
        notes.append(f"{symbol}: no adjusted close at this interval")
    return notes


def _times(stamps: NDArray[np.int64], zone: ZoneInfo, interval: str) -> NDArray[np.datetime64]:
    if interval not in BAR_DAYS:
        return stamps.astype("datetime64[s]").astype("datetime64[ns]")
    return bar_dates(stamps, zone, interval).astype("datetime64[ns]")


def _actions(events: Mapping[str, Any], symbol: str, zone: ZoneInfo) -> list[CorporateAction]:
    splits, dividends, gains = ((events.get(key) or {}).values() for key in ("splits", "dividends", "capitalGains"))
    actions = [
        CorporateAction(symbol, _day(event, zone), "split", float(event["numerator"]) / float(event["denominator"]))
        for event in splits
    ]
    kinds: tuple[tuple[Literal["dividend", "capital-gain"], Iterable[Any]], ...] = (
        ("dividend", dividends),
        ("capital-gain", gains),
    )
    for kind, events_of_kind in kinds:
        actions += [
            CorporateAction(symbol, _day(event, zone), kind, float(event["amount"]), str(event.get("currency") or ""))
            for event in events_of_kind
        ]
    for action in actions:
        if not (math.isfinite(action.value) and action.value > 0.0):
            raise DataError(f"yahoo: {symbol} has a {action.kind} of {action.value} on {action.day}")
    return actions


def _day(event: Mapping[str, Any], zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(int(event["date"]), zone).date()
