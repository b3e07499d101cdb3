"""Downloading real data from the services that publish it.

A :class:`DataSource` reads one service's own format into a :class:`Table` or a :class:`PublishedGraph`. All
share a :class:`Client`, which is patient and polite, and a :class:`Cache`, which keeps the bytes
as received. Nothing here runs on import, and no task needs the network: its default data is bundled.
"""

from openfingym.data.sources.adjust import adjusted_prices, raw_prices, split_adjusted, split_factors
from openfingym.data.sources.binance_archive import BinanceArchive
from openfingym.data.sources.binance_rest import BinanceRest
from openfingym.data.sources.cache import Cache, CacheEntry
from openfingym.data.sources.catalog import PULLABLE, SOURCES, Pull, Pullable, find_pull, last_pull, pull
from openfingym.data.sources.cert import Cert
from openfingym.data.sources.ecb import Ecb
from openfingym.data.sources.eiopa import Eiopa
from openfingym.data.sources.fred import Fred
from openfingym.data.sources.graph_sources import Dblp, MatGraph
from openfingym.data.sources.progress import Progress, silent, terminal_progress
from openfingym.data.sources.record import PullRecord, read_published, read_table, records
from openfingym.data.sources.source import DataSource, PublishedGraph, SourceRequest
from openfingym.data.sources.table import CorporateAction, DataProvenance, Origin, Table
from openfingym.data.sources.transport import Client, ClientPolicy
from openfingym.data.sources.treasury import Treasury
from openfingym.data.sources.wire import NotPublishedError, OfflineError
from openfingym.data.sources.yahoo import Yahoo

__all__ = [
    "PULLABLE",
    "SOURCES",
    "BinanceArchive",
    "BinanceRest",
    "Cache",
    "CacheEntry",
    "Cert",
    "Client",
    "ClientPolicy",
    "CorporateAction",
    "DataProvenance",
    "DataSource",
    "Dblp",
    "Ecb",
    "Eiopa",
    "Fred",
    "MatGraph",
    "NotPublishedError",
    "OfflineError",
    "Origin",
    "Progress",
    "PublishedGraph",
    "Pull",
    "PullRecord",
    "Pullable",
    "SourceRequest",
    "Table",
    "Treasury",
    "Yahoo",
    "adjusted_prices",
    "find_pull",
    "last_pull",
    "pull",
    "raw_prices",
    "read_published",
    "read_table",
    "records",
    "silent",
    "split_adjusted",
    "split_factors",
    "terminal_progress",
]
