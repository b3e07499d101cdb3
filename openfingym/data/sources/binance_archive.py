"""Binance public archive: zipped candlesticks by month and by day, each with a checksum file.

Whole months come as one file, the rest of the period day by day. A month that is not there yet
(monthly files appear in the first week of the next month) is taken day by day too. Binance
corrects files after publication, so the digest of every file is recorded.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from openfingym.data.sources import klines
from openfingym.data.sources.cells import unzip
from openfingym.data.sources.table import Block, DataProvenance, Origin, Table, stack
from openfingym.data.sources.wire import NotPublishedError
from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.source import SourceRequest
    from openfingym.data.sources.transport import Client

PARSER = "binance-archive/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
_CHECKSUM = re.compile(r"([0-9a-f]{64})\s+\*?(\S+)\s*")


@dataclass(frozen=True)
class BinanceArchive(klines.SpotMarkets):
    """Candlesticks of Binance spot markets from its public archive."""

    base_url: str = "https://data.binance.vision"
    name: str = "binance-archive"
    publisher: str = "Binance, public data archive"

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One table with the columns of every pair in ``request.symbols``; see :class:`DataSource`."""
        interval, frequency, start, end = klines.checked(self.name, request)
        origins: list[Origin] = []
        notes: list[str] = []
        blocks: dict[str, Block] = {}
        for symbol in request.symbols:
            read = _Reader(self, symbol, interval, request.refresh, client, cache, progress, origins, notes)
            blocks[symbol] = stack(read.parts(start, end), f"{self.name} {symbol}")
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, tuple(origins), tuple(notes))
        return klines.table(blocks, interval, frequency, provenance)


@dataclass(frozen=True)
class _Reader:
    """Reads the files of one symbol in order of time, and adds their origins and notes to the lists it is given."""

    source: BinanceArchive
    symbol: str
    interval: str
    refresh: bool
    client: Client
    cache: Cache
    progress: Progress
    origins: list[Origin]
    notes: list[str]

    def parts(self, start: date, end: date) -> Iterator[Block]:
        for first, last in months(start, end):
            whole = first.day == 1 and last.day == calendar.monthrange(last.year, last.month)[1]
            if whole:
                try:
                    yield self._file("monthly", f"{first:%Y-%m}")
                    continue
                except NotPublishedError:
                    self.notes.append(f"{self.symbol}: no monthly file for {first:%Y-%m}, taken day by day")
            yield from self._days(first, last)

    def _days(self, first: date, last: date) -> Iterator[Block]:
        for offset in range((last - first).days + 1):
            day = first + timedelta(days=offset)
            try:
                yield self._file("daily", day.isoformat())
            except NotPublishedError:
                self.notes.append(f"{self.symbol}: no file for {day}")

    def _file(self, folder: str, period: str) -> Block:
        stem = f"{self.symbol}-{self.interval}-{period}"
        url = f"{self.source.base_url}/data/spot/{folder}/klines/{self.symbol}/{self.interval}/{stem}.zip"
        stated = self.cache.fetch(
            self.client, f"{url}.CHECKSUM", kind="csv", refresh=self.refresh, max_bytes=4096, progress=self.progress
        )
        digest = read_checksum(self.cache.read(stated), f"{stem}.zip")
        # Content with the stated digest cannot be out of date, so there is no need to ask again for the file itself.
        entry = self.cache.fetch(self.client, url, kind="zip", sha256=digest, progress=self.progress)
        self.origins.append(entry.origin)
        _, body = unzip(self.cache.read(entry), f"{stem}.zip", lambda name: name == f"{stem}.csv")
        return klines.read_csv(body, f"{stem}.csv")


def read_checksum(content: bytes, name: str) -> str:
    """Hex SHA-256 from a checksum file, ``digest  name``.

    Raises:
        DataError: another form, or another file's checksum.
    """
    match = _CHECKSUM.fullmatch(content.decode("ascii", "replace"))
    if match is None or match[2] != name:
        raise DataError(f"{name}.CHECKSUM: expected 'sha256  {name}', found {content[:100]!r}")
    return match[1]


def months(start: date, end: date) -> Iterator[tuple[date, date]]:
    """The first and last day of each calendar month within a period."""
    first = start
    while first <= end:
        last = min(end, date(first.year, first.month, calendar.monthrange(first.year, first.month)[1]))
        yield first, last
        first = last + timedelta(days=1)
