"""Everything that can be pulled: the sources, and named datasets with the request that gets them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from openfingym.data.dataset import suggestion
from openfingym.data.sources.binance_archive import BinanceArchive
from openfingym.data.sources.binance_rest import BinanceRest
from openfingym.data.sources.cache import Cache, write_json
from openfingym.data.sources.cert import Cert
from openfingym.data.sources.ecb import Ecb
from openfingym.data.sources.eiopa import Eiopa
from openfingym.data.sources.fred import Fred
from openfingym.data.sources.graph import Graph
from openfingym.data.sources.graph_sources import MAT_GRAPHS, Dblp
from openfingym.data.sources.progress import Progress, silent
from openfingym.data.sources.source import Request, Source
from openfingym.data.sources.table import Table
from openfingym.data.sources.transport import Client, borrowed
from openfingym.data.sources.treasury import Treasury
from openfingym.data.sources.yahoo import Yahoo
from openfingym.errors import DataError

_SERIES: tuple[Source, ...] = (Yahoo(), BinanceArchive(), BinanceRest(), Treasury(), Ecb(), Fred(), Eiopa(), Dblp(), Cert())
SOURCES: Mapping[str, Source] = {source.name: source for source in (*_SERIES, *MAT_GRAPHS.values())}
"""Every source by name, speaking to the public service."""


@dataclass(frozen=True)
class Pullable:
    """A named dataset: which source, and what to ask of it."""

    name: str
    title: str
    source: str
    request: Request


_LARGE_CAPS = (
    *("AAPL", "AMD", "BAC", "BBY", "CVX", "GE", "HD", "JNJ", "JPM", "KO"),
    *("LLY", "MRK", "MSFT", "PEP", "PFE", "PG", "RRC", "UNH", "WMT", "XOM"),
)
_FUTURES = tuple(
    f"{code}=F" for code in ("GC", "SI", "PL", "PA", "HG", "CL", "RB", "HO", "NG", "ZC", "ZW", "ZS", "KE", "CC", "KC", "SB", "CT")
)
_COINS = ("BTC", "ETH", "BNB", "XRP", "SOL", "ADA", "DOGE", "LTC", "LINK", "DOT", "AVAX", "TRX")
_RATES = tuple(f"DGS{tenor}" for tenor in ("1MO", "3MO", "6MO", "1", "2", "3", "5", "7", "10", "20", "30"))
_ALL = (
    Pullable("treasury-par-yields", "US Treasury par yields", "treasury", Request(start=date(1990, 1, 2))),
    Pullable("ecb-reference-rates", "Euro reference rates of the ECB", "ecb", Request()),
    Pullable("fred-treasury-rates", "Constant-maturity Treasury rates", "fred", Request(_RATES)),
    Pullable("eiopa-euro-curves", "EIOPA risk-free curves of the euro", "eiopa", Request(("Euro",))),
    Pullable("yahoo-large-caps", "20 US large caps, daily", "yahoo", Request(_LARGE_CAPS, start=date(1990, 1, 2))),
    Pullable("yahoo-futures", "17 front-month commodity futures, daily", "yahoo", Request(_FUTURES, start=date(2000, 9, 1))),
    Pullable(
        "binance-hourly",
        "12 coins against USDT, hourly",
        "binance-archive",
        Request(tuple(f"{coin}USDT" for coin in _COINS), date(2023, 1, 1), date(2024, 12, 31), "1h"),
    ),
    *(Pullable(f"{name}-graph", SOURCES[name].publisher, name, Request()) for name in (*MAT_GRAPHS, "dblp", "cert")),
)
PULLABLE: Mapping[str, Pullable] = {dataset.name: dataset for dataset in _ALL}
"""Every dataset that :func:`pull` knows, by name."""


@dataclass(frozen=True)
class PullRecord:
    """What the last pull of a dataset gave; kept in the cache."""

    dataset: str
    source: str
    rows: int
    """Rows of a table, nodes of a graph."""
    columns: int
    """Columns of a table, features of a graph."""
    missing: int
    """Cells without a value."""
    first: str | None
    """ISO time of the first row; None for a graph."""
    last: str | None
    fetched_at: str
    """The oldest of the files' times of download."""
    size: int
    """Bytes downloaded for it, in all."""
    notes: tuple[str, ...]


def pull(
    name: str,
    *,
    client: Client | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
    start: date | None = None,
    end: date | None = None,
    refresh: bool = False,
    sources: Mapping[str, Source] = SOURCES,
) -> Table | Graph:
    """Download a named dataset, or read it from the cache.

    Args:
        name: a key of :data:`PULLABLE`.
        client: what to download with; one of its own by default.
        cache: where to keep files; the one in the store by default.
        progress: told the bytes so far; see :func:`terminal_progress`.
        start: first day instead of the dataset's own.
        end: last day instead of the dataset's own.
        refresh: ask the service again even for what is held.
        sources: by name; other ones than :data:`SOURCES` to use a mirror.

    Raises:
        DataError: no such dataset (near misses are suggested), or the service gave something else than data.
        OfflineError: the service cannot be reached.
    """
    dataset = PULLABLE.get(name)
    if dataset is None:
        raise DataError(f"no dataset {name!r} to pull{suggestion(name, PULLABLE)}")
    request = replace(dataset.request, start=start or dataset.request.start, end=end or dataset.request.end, refresh=refresh)
    cache = cache or Cache()
    with borrowed(client) as connected:
        data = sources[dataset.source].fetch(request, connected, cache, progress)
    write_json(_record_path(cache, name), asdict(_record(dataset, data)))
    return data


def last_pull(name: str, cache: Cache | None = None) -> PullRecord | None:
    """What the last pull of a dataset gave, or None if it was never pulled."""
    try:
        stated = json.loads(_record_path(cache or Cache(), name).read_text(encoding="utf-8"))
        return PullRecord(**{**stated, "notes": tuple(stated["notes"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _record(dataset: Pullable, data: Table | Graph) -> PullRecord:
    files = data.provenance.files
    return PullRecord(
        dataset=dataset.name,
        source=dataset.source,
        rows=len(data.times) if isinstance(data, Table) else data.nodes,
        columns=len(data.columns) if isinstance(data, Table) else data.features.shape[1],
        missing=sum(data.missing.values()) if isinstance(data, Table) else 0,
        first=str(data.times[0].astype("datetime64[s]")) if isinstance(data, Table) else None,
        last=str(data.times[-1].astype("datetime64[s]")) if isinstance(data, Table) else None,
        fetched_at=min(file.fetched_at for file in files),
        size=sum(file.size for file in files),
        notes=data.provenance.notes,
    )


def _record_path(cache: Cache, name: str) -> Path:
    return cache.root / "pulls" / f"{name}.json"
