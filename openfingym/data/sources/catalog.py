"""Everything that can be pulled: the sources, and named datasets with the request that gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from openfingym.data.dataset import suggestion
from openfingym.data.sources.binance_archive import BinanceArchive
from openfingym.data.sources.binance_rest import BinanceRest
from openfingym.data.sources.cache import Cache
from openfingym.data.sources.cert import Cert
from openfingym.data.sources.changes import changes_since
from openfingym.data.sources.ecb import Ecb
from openfingym.data.sources.eiopa import MATURITIES, Eiopa
from openfingym.data.sources.expected import Expected, require_expected
from openfingym.data.sources.fred import Fred
from openfingym.data.sources.graph_sources import MAT_GRAPHS, Dblp
from openfingym.data.sources.progress import Progress, silent
from openfingym.data.sources.record import (
    PullRecord,
    RecordingCache,
    keep_record,
    mirror_of,
    read_record,
    record_key,
    records,
)
from openfingym.data.sources.source import DataSource, PublishedGraph, SourceRequest
from openfingym.data.sources.table import Table
from openfingym.data.sources.transport import Client, borrowed
from openfingym.data.sources.treasury import Treasury
from openfingym.data.sources.yahoo import Yahoo
from openfingym.errors import DataError, UsageError

_SERIES: tuple[DataSource, ...] = (
    Yahoo(),
    BinanceArchive(),
    BinanceRest(),
    Treasury(),
    Ecb(),
    Fred(),
    Eiopa(),
    Dblp(),
    Cert(),
)
SOURCES: Mapping[str, DataSource] = {source.name: source for source in (*_SERIES, *MAT_GRAPHS.values())}
"""Every source by name, speaking to the public service."""
WITH_INTERVALS = frozenset({"yahoo", "binance-archive", "binance-rest"})
"""Sources of bars, which have a length to choose."""
DEFAULT_INTERVAL = "1d"
"""Default interval of the sources that have intervals."""
IMPLIED: Mapping[str, tuple[str, ...]] = {"eiopa": ("Euro",)}
"""Symbols that a request without any gives, for sources where that is not everything they have."""


@dataclass(frozen=True)
class Pullable:
    """A named dataset that can be pulled: its source, and the request that gets it."""

    name: str
    title: str
    source: str
    """Name of the source."""
    request: SourceRequest
    expected: Expected | None = None
    """What the dataset should hold; None for a graph, whose source knows its size."""


_LARGE_CAPS = (
    *("AAPL", "AMD", "BAC", "BBY", "CVX", "GE", "HD", "JNJ", "JPM", "KO"),
    *("LLY", "MRK", "MSFT", "PEP", "PFE", "PG", "RRC", "UNH", "WMT", "XOM"),
)
_US_60 = (
    *("XOM", "CVX", "COP", "SLB", "OXY", "BAC", "GS", "WFC", "MS", "AXP", "C", "BLK", "JPM", "PG", "KO", "PEP", "WMT"),
    *("COST", "MCD", "CL", "KMB", "ORCL", "CSCO", "IBM", "ADBE", "NFLX", "INTC", "QCOM", "TXN", "AMD", "AAPL", "MSFT"),
    *("NVDA", "GOOGL", "CAT", "GE", "BA", "HON", "DE", "UNP", "UPS", "FDX", "MMM", "LMT", "LLY", "UNH", "MRK", "PFE"),
    *("ABT", "TMO", "DHR", "BMY", "JNJ", "LOW", "SBUX", "TJX", "HD", "NKE", "DIS", "AMZN"),
)
"""The stocks of ``sim-us-equities``; the youngest, GOOGL, trades since August 2004."""
_FUTURES = tuple(
    f"{code}=F"
    for code in ("GC", "SI", "PL", "PA", "HG", "CL", "RB", "HO", "NG", "ZC", "ZW", "ZS", "KE", "CC", "KC", "SB", "CT")
)
_COINS = ("BTC", "ETH", "BNB", "XRP", "SOL", "ADA", "DOGE", "LTC", "LINK", "DOT", "AVAX", "TRX")
_MORE_COINS = ("XLM", "SHIB", "ETC", "BCH", "XMR", "ZEC", "ATOM", "ALGO", "NEAR", "HBAR", "ICP", "FIL", "AAVE", "UNI")
_PAIRS = (
    *("BTC", "ETH", "BNB", "XRP", "SOL", "ADA", "DOGE", "TRX", "LINK", "DOT"),
    *("AVAX", "LTC", "BCH", "XLM", "UNI", "ATOM", "ETC", "FIL", "NEAR", "ALGO"),
)
_RATES = tuple(f"DGS{tenor}" for tenor in ("1MO", "3MO", "6MO", "1", "2", "3", "5", "7", "10", "20", "30"))
_ALL = (
    Pullable(
        "treasury-par-yields",
        "US Treasury par yields",
        "treasury",
        SourceRequest(start=date(1990, 1, 2)),
        Expected(
            "daily",
            rows_a_year=250.0,
            since=date(1990, 1, 2),
            columns=("3m", "6m", "1y", "2y", "3y", "5y", "7y", "10y"),
        ),
    ),
    Pullable(
        "ecb-reference-rates",
        "Euro reference rates of the ECB",
        "ecb",
        SourceRequest(),
        Expected(
            "daily",
            rows_a_year=255.0,
            since=date(1999, 1, 4),
            columns=("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "CAD"),
        ),
    ),
    Pullable(
        "fred-treasury-rates",
        "Constant-maturity Treasury rates",
        "fred",
        SourceRequest(_RATES),
        Expected("daily", rows_a_year=250.0, since=date(1962, 1, 2), columns=_RATES),
    ),
    Pullable(
        "eiopa-euro-curves",
        "EIOPA risk-free curves of the euro",
        "eiopa",
        SourceRequest(("Euro",)),
        Expected(
            "monthly",
            rows_a_year=12.0,
            since=date(2015, 12, 31),
            columns=tuple(f"{year}y" for year in range(1, MATURITIES + 1)),
        ),
    ),
    Pullable(
        "yahoo-large-caps",
        "20 US large caps, daily",
        "yahoo",
        SourceRequest(_LARGE_CAPS, start=date(1990, 1, 2)),
        Expected("daily", rows_a_year=252.0, since=date(1990, 1, 2)),
    ),
    Pullable(
        "yahoo-futures",
        "17 front-month commodity futures, daily",
        "yahoo",
        SourceRequest(_FUTURES, start=date(2000, 9, 1)),
        Expected("daily", rows_a_year=252.0, since=date(2000, 9, 1)),
    ),
    Pullable(
        "yahoo-us-60",
        "60 US stocks, daily",
        "yahoo",
        SourceRequest(_US_60, start=date(1998, 1, 2)),
        Expected("daily", rows_a_year=252.0, since=date(1998, 1, 2)),
    ),
    Pullable(
        "yahoo-nifty-factors",
        "NIFTY 50, S&P 500, rupee, crude oil, gold and India VIX, daily",
        "yahoo",
        SourceRequest(("^NSEI", "^GSPC", "INR=X", "CL=F", "GC=F", "^INDIAVIX"), start=date(2007, 9, 17)),
        Expected("daily", rows_a_year=252.0, since=date(2007, 9, 17)),
    ),
    Pullable(
        "binance-hourly",
        "12 coins against USDT, hourly",
        "binance-archive",
        SourceRequest(tuple(f"{coin}USDT" for coin in _COINS), date(2023, 1, 1), date(2024, 12, 31), "1h"),
        Expected("hourly", rows_a_year=8766.0, since=date(2023, 1, 1)),
    ),
    # To the last whole month in which all were listed: XMR left in February 2024.
    Pullable(
        "binance-hourly-wide",
        "26 coins against USDT, hourly",
        "binance-archive",
        SourceRequest(
            tuple(f"{coin}USDT" for coin in (*_COINS, *_MORE_COINS)), date(2023, 1, 1), date(2024, 1, 31), "1h"
        ),
        Expected("hourly", rows_a_year=8766.0, since=date(2023, 1, 1)),
    ),
    # From the first year in which all 20 were listed throughout.
    Pullable(
        "binance-hourly-pairs",
        "20 coins against USDT, hourly",
        "binance-archive",
        SourceRequest(tuple(f"{coin}USDT" for coin in _PAIRS), date(2021, 1, 1), date(2024, 12, 31), "1h"),
        Expected("hourly", rows_a_year=8766.0, since=date(2021, 1, 1)),
    ),
    *(
        Pullable(f"{name}-graph", SOURCES[name].publisher, name, SourceRequest())
        for name in (*MAT_GRAPHS, "dblp", "cert")
    ),
)
PULLABLE: Mapping[str, Pullable] = {dataset.name: dataset for dataset in _ALL}
"""Every dataset that :func:`pull` knows, by name."""


@dataclass(frozen=True, eq=False)
class Pull:
    """The data of a pull, and the record that is kept of it."""

    data: Table | PublishedGraph
    record: PullRecord

    @property
    def table(self) -> Table:
        """The data, where it is a table.

        Raises:
            UsageError: the dataset is a graph, not a table.
        """
        if not isinstance(self.data, Table):
            raise UsageError(
                f"{self.record.dataset} is a graph, not a table; load it with openfingym.data.loaded_graphs.load_graph"
            )
        return self.data


def pull(
    name: str,
    *,
    symbols: Sequence[str] = (),
    start: date | None = None,
    end: date | None = None,
    interval: str | None = None,
    refresh: bool = False,
    base_url: str | None = None,
    client: Client | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Pull:
    """Download a named dataset, or what is asked of a source, or read it from the cache.

    A record of the pull is kept, from which :func:`openfingym.data.pulled.pulled_panel` and
    :func:`openfingym.data.loaded_graphs.load_graph` read the same again without the network.

    Args:
        name: a key of :data:`PULLABLE` or of :data:`SOURCES`.
        symbols: symbols to ask a source for; a named dataset has its own, and takes none.
        start: first day wanted; if None, the dataset's own first day, or the first that a source publishes.
        end: last day wanted; if None, the dataset's own last day, or the last that is complete.
        interval: length of a bar, for a source that has several; a day if None.
        refresh: whether to ask the service again even for files that the cache holds.
        base_url: address of a mirror to ask in place of the publisher; None for the publisher.
        client: client to download with; if None, one is made, and closed at the end.
        cache: where to keep files; the one in the store by default.
        progress: called with the number of bytes received so far; see :func:`terminal_progress`.

    Raises:
        UsageError: the source does not have what is asked for.
        DataError: no such dataset (near misses are suggested), or the service gave something else than data.
        OfflineError: the service cannot be reached.
    """
    dataset, source = _known(name)
    # A named dataset has one record, whatever the period; a source has one for each request.
    if dataset is not None:
        if symbols or interval:
            raise UsageError(
                f"{name!r} has its own symbols and interval; to choose others, pull its source {dataset.source!r}"
            )
        asked = replace(
            dataset.request, start=start or dataset.request.start, end=end or dataset.request.end, refresh=refresh
        )
        key = name
    else:
        asked = SourceRequest(tuple(symbols), start, end, interval, refresh)
        key = record_key(name, asked)
    source = mirror_of(source, base_url)
    request = _with_end(source, asked)
    # Nothing is recorded before the data has been read and found to be what was asked for.
    recording = RecordingCache(cache or Cache())
    with borrowed(client) as connected:
        data = source.fetch(request, connected, recording, progress)
    if isinstance(data, Table):
        require_expected(data, request, dataset.expected if dataset is not None else None, name)
    # The record of the pull before, which this one replaces, is read while it is still there.
    changes = changes_since(read_record(recording, key), data, Cache(recording.root), SOURCES)
    return Pull(data, keep_record(recording, key, name, source, request, data, changes))


def last_pull(name: str, cache: Cache | None = None) -> PullRecord | None:
    """The record of the last pull of a named dataset; None if it was never pulled."""
    return read_record(cache or Cache(), name)


def find_pull(name: str, symbols: Sequence[str], interval: str | None, cache: Cache) -> PullRecord | None:
    """The record of the newest pull that covers some symbols; None where there is none.

    Args:
        name: name of a dataset of :data:`PULLABLE`, or of a source of :data:`SOURCES`.
        symbols: symbols that the pull must have asked for.
        interval: length of a bar that it must have asked for, if ``name`` is a source of bars; a day if None.
        cache: the cache that holds the records.

    Raises:
        DataError: no dataset or source of that name; near misses are suggested.
    """
    dataset, source = _known(name)
    if dataset is not None:
        record = read_record(cache, name)
        return record if record is not None and _covers(record, symbols) else None
    wanted = interval or DEFAULT_INTERVAL if source.name in WITH_INTERVALS else None
    for record in records(cache):
        held = record.interval or DEFAULT_INTERVAL if source.name in WITH_INTERVALS else None
        if record.source == source.name and held == wanted and _covers(record, symbols):
            return record
    return None


def _covers(record: PullRecord, symbols: Sequence[str]) -> bool:
    held = record.symbols or IMPLIED.get(record.source)
    return held is None or set(symbols) <= set(held)


def _known(name: str) -> tuple[Pullable | None, DataSource]:
    """The dataset of that name and its source, or None and the source of that name."""
    if name in PULLABLE:
        return PULLABLE[name], SOURCES[PULLABLE[name].source]
    if name in SOURCES:
        return None, SOURCES[name]
    raise DataError(
        f"no dataset or source {name!r} to pull{suggestion(name, [*PULLABLE, *SOURCES])}; see `openfingym data pull "
        "--list`"
    )


def _with_end(source: DataSource, request: SourceRequest) -> SourceRequest:
    """The request with its end stated where the answer would otherwise depend on the day of asking.

    So its record can be read again on a later day, and means the same.
    """
    if request.end is not None or source.lag_days is None:
        return request
    end = datetime.now(UTC).date() - timedelta(days=source.lag_days)
    # A start after the end is for the source to refuse, with a message about what it has.
    return request if request.start and request.start > end else replace(request, end=end)
