"""Binance REST candlesticks, ``/api/v3/klines``, page by page; for pairs or days that the archive lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.sources import klines
from openfingym.data.sources.table import Block, DataProvenance, Origin, Table, day_mask, stack
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.source import SourceRequest
    from openfingym.data.sources.transport import Client

PARSER = "binance-klines/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
PAGE = 1000
"""Number of bars that one request asks for, the most that the service gives."""


@dataclass(frozen=True)
class BinanceRest(klines.SpotMarkets):
    """Candlesticks of Binance spot markets from its market-data interface."""

    base_url: str = "https://data-api.binance.vision"
    name: str = "binance-rest"
    publisher: str = "Binance, spot market data interface"

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One table with the columns of every pair in ``request.symbols``; see :class:`DataSource`."""
        interval, frequency, start, end = klines.checked(self.name, request)
        origins: list[Origin] = []
        blocks: dict[str, Block] = {}
        for symbol in request.symbols:
            pages = []
            for url in self._pages(symbol, interval, start, end):
                entry = cache.fetch(client, url, kind="json", refresh=request.refresh, progress=progress)
                origins.append(entry.origin)
                rows = read_page(cache.read(entry), symbol)
                if len(rows):
                    pages.append(klines.block(rows, f"{self.name} {symbol}"))
            times, columns, values = stack(pages, f"{self.name} {symbol}")
            keep = day_mask(times, start, end)
            blocks[symbol] = (times[keep], columns, values[keep])
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, tuple(origins))
        return klines.table(blocks, interval, frequency, provenance)

    def _pages(self, symbol: str, interval: str, start: date, end: date) -> Iterator[str]:
        """URLs that tile the period. They depend on nothing but the request, so that every page can be kept."""
        step_ms = klines.STEP_S[interval] * 1000
        first = _milliseconds(start)
        stop = _milliseconds(end + timedelta(days=1))
        while first < stop:
            last = min(first + PAGE * step_ms, stop)
            # Both bounds are included by the service, so a page ends a millisecond before the next begins.
            query = f"symbol={symbol}&interval={interval}&startTime={first}&endTime={last - 1}&limit={PAGE}"
            yield f"{self.base_url}/api/v3/klines?{query}"
            first = last


def read_page(content: bytes, symbol: str) -> NDArray[np.float64]:
    """One page as float64[n, 12]; n is 0 where nothing was traded yet.

    Raises:
        DataError: the service answered with an error object, or the rows are not of the known form.
    """
    try:
        answer = json.loads(content)
        if isinstance(answer, dict):
            raise DataError(f"binance-rest: {symbol}: {answer.get('msg')} (code {answer.get('code')})")
        if not answer:
            return np.empty((0, klines.WIDTH))
        return np.array(answer, dtype=np.float64)
    except ValueError as error:
        raise DataError(
            f"binance-rest: the answer for {symbol} is not of the known form ({error}); the format has changed"
        ) from None


def _milliseconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
