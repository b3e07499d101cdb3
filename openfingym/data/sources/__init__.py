"""Downloading real data from the services that publish it.

A :class:`DataSource` reads one service's own format into a :class:`Table` or a :class:`PublishedGraph`. All
share a :class:`Client`, which is patient and polite, and a :class:`Cache`, which keeps the bytes
as received. Nothing here runs on import, and no task needs the network: its default data is bundled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.data.sources.adjust import adjusted_prices, raw_prices
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.catalog import SOURCES
    from openfingym.data.sources.progress import silent
    from openfingym.data.sources.source import DataSource, SourceRequest
    from openfingym.data.sources.table import Table
    from openfingym.data.sources.transport import Client
    from openfingym.data.sources.wire import NotPublishedError, OfflineError

__all__ = [
    "SOURCES",
    "Cache",
    "Client",
    "DataSource",
    "NotPublishedError",
    "OfflineError",
    "SourceRequest",
    "Table",
    "adjusted_prices",
    "raw_prices",
    "silent",
]

_HOMES = {
    "SOURCES": "catalog",
    "Cache": "cache",
    "Client": "transport",
    "DataSource": "source",
    "NotPublishedError": "wire",
    "OfflineError": "wire",
    "SourceRequest": "source",
    "Table": "table",
    "adjusted_prices": "adjust",
    "raw_prices": "adjust",
    "silent": "progress",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
