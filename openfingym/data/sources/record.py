"""The record of a pull: the request, the exact files, and how to read them again without the network.

A record is written when a pull has succeeded, and names every file by its digest. So a later pull that
fails half-way changes nothing for a reader: the old record still names the old files, which are kept.

::

    $OPENFINGYM_HOME/downloads/pulls/<key>.json     one a dataset, or one a source and request
    $OPENFINGYM_HOME/downloads/graphs/<digest>/     a graph as read, in plain .npy files
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from openfingym.data.sources.cache import Cache, CacheEntry, write_json
from openfingym.data.sources.source import DataSource, PublishedGraph, SourceRequest
from openfingym.data.sources.table import DataProvenance, Origin, Table
from openfingym.data.sources.wire import NotPublishedError
from openfingym.digests import sha256_of_text
from openfingym.errors import DataError
from openfingym.files.whole import owned_folder

if TYPE_CHECKING:
    from openfingym.data.graphs import Graph

FORMAT = 1
"""Version of the records' format; records of another are not read."""


@dataclass(frozen=True)
class PullRecord:
    """The last pull of a dataset, or of a source with one request."""

    dataset: str
    """Name of the dataset, or of the source that was asked directly."""
    source: str
    """Name of the source."""
    base_url: str
    """Address of the service that was asked: the publisher, or a mirror."""
    symbols: tuple[str, ...]
    """Symbols asked for; empty for all that the source has, or for a dataset without symbols."""
    start: str | None
    """First day asked for, ISO; None for the first that is published."""
    end: str | None
    """Last day asked for, ISO; stated wherever the answer depends on it."""
    interval: str | None
    """Length of a bar that was asked for; None for the source's default."""
    pulled_at: str
    """ISO time in UTC at which the pull had succeeded."""
    rows: int
    """Number of rows of a table, or of nodes of a graph."""
    columns: int
    """Number of columns of a table, or of features of a graph."""
    missing: int
    """Number of cells without a value."""
    frequency: str
    first: str | None
    """ISO time of the first row; None for a graph."""
    last: str | None
    """ISO time of the last row; None for a graph."""
    fetched_at: str
    """The oldest of the times, ISO in UTC, at which the service last confirmed one of the files."""
    size: int
    """Size of all data files together, bytes."""
    digest: str
    """Hex SHA-256 of the table (its canonical CSV) or the graph."""
    publisher: str
    licence: str
    parser: str
    notes: tuple[str, ...]
    files: tuple[Origin, ...]
    """Every file that was read, link pages and checksums included."""
    absent: tuple[str, ...]
    """Addresses at which the service had nothing, and at which a reader of the record finds nothing either."""
    changes: tuple[str, ...] = ()
    """What the publisher changed since the pull before; see :mod:`openfingym.data.sources.changes`."""

    @property
    def request(self) -> SourceRequest:
        """The request of the pull, with which the same files can be read again."""
        start, end = (None if day is None else date.fromisoformat(day) for day in (self.start, self.end))
        return SourceRequest(self.symbols, start, end, self.interval)


class RecordingCache(Cache):
    """A cache that remembers which files it was asked for."""

    def __init__(self, cache: Cache) -> None:
        super().__init__(cache.root)
        self.files: dict[str, CacheEntry] = {}
        self.absent: dict[str, None] = {}

    def fetch(self, client: Any, url: str, **options: Any) -> CacheEntry:
        """Fetch a file like :meth:`Cache.fetch`."""
        try:
            entry = super().fetch(client, url, **options)
        except NotPublishedError:
            self.absent[url] = None
            raise
        self.files[url] = entry
        return entry


class _HeldFiles(Cache):
    """A cache that gives the files of one record, in the versions that it names, and never asks the network."""

    def __init__(self, cache: Cache, record: PullRecord) -> None:
        super().__init__(cache.root)
        self._pull = record
        self._files = {origin.url: origin for origin in record.files}

    def fetch(self, client: Any, url: str, **options: Any) -> CacheEntry:
        del client, options
        if url in self._pull.absent:
            raise NotPublishedError(f"{url}: was not published when the data was pulled")
        origin = self._files.get(url)
        if origin is None:
            raise DataError(f"{url} is not among the files of the pull of {self._pull.pulled_at}")
        return CacheEntry(url, origin.sha256, origin.size, datetime.fromisoformat(origin.fetched_at).timestamp())


def keep_record(
    cache: RecordingCache,
    key: str,
    dataset: str,
    source: DataSource,
    request: SourceRequest,
    data: Table | PublishedGraph,
    changes: tuple[str, ...] = (),
) -> PullRecord:
    """Record a pull that has succeeded, in place of the record of that key; a graph itself is kept too.

    Args:
        cache: the cache that the files were fetched through, which knows them.
        key: key of the record, the name of the dataset or what :func:`record_key` makes.
        dataset: name of the dataset, or of the source that was asked directly.
        source: the source, or its mirror, that was asked.
        request: the request that was made, with its end stated where the answer depends on it.
        data: what the source gave.
        changes: what the publisher changed since the pull before, as sentences.
    """
    provenance = data.provenance
    table = data if isinstance(data, Table) else None
    record = PullRecord(
        dataset=dataset,
        source=source.name,
        base_url=source.base_url,
        symbols=request.symbols,
        start=request.start.isoformat() if request.start else None,
        end=request.end.isoformat() if request.end else None,
        interval=request.interval,
        pulled_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        rows=len(data.times) if isinstance(data, Table) else data.graph.nodes,
        columns=len(data.columns) if isinstance(data, Table) else data.graph.features.shape[1],
        missing=sum(table.missing.values()) if table else 0,
        frequency=table.frequency if table else "none",
        first=str(table.times[0].astype("datetime64[s]")) if table else None,
        last=str(table.times[-1].astype("datetime64[s]")) if table else None,
        fetched_at=min(file.fetched_at for file in provenance.files),
        size=sum(file.size for file in provenance.files),
        digest=data.digest if isinstance(data, Table) else data.graph.digest,
        publisher=provenance.publisher,
        licence=provenance.licence,
        parser=provenance.parser,
        notes=provenance.notes,
        files=tuple(entry.origin for entry in cache.files.values()),
        absent=tuple(cache.absent),
        changes=changes,
    )
    # The graph before the record that names it, so that a record never names what is not there.
    if isinstance(data, PublishedGraph):
        _keep_graph(cache, data.graph)
    write_json(_path(cache, key), {"format": FORMAT, **asdict(record)})
    return record


def read_record(cache: Cache, key: str) -> PullRecord | None:
    """The record of a key; None where there is none, or none that this version can read."""
    try:
        stated = json.loads(_path(cache, key).read_text(encoding="utf-8"))
        if stated.pop("format") != FORMAT:
            return None
        files = tuple(Origin(**origin) for origin in stated.pop("files"))
        lists = {name: tuple(stated[name]) for name in ("symbols", "notes", "absent", "changes") if name in stated}
        return PullRecord(**{**stated, **lists}, files=files)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def records(cache: Cache) -> list[PullRecord]:
    """Every pull that is recorded, the newest first."""
    readable = [read_record(cache, path.stem) for path in sorted((cache.root / "pulls").glob("*.json"))]
    return sorted(
        (record for record in readable if record is not None), key=lambda record: record.pulled_at, reverse=True
    )


def record_key(source: str, request: SourceRequest) -> str:
    """Key of a pull that asks a source directly; the same request again replaces its record."""
    asked = json.dumps([sorted(request.symbols), str(request.start), str(request.end), request.interval])
    return f"{source}.{sha256_of_text(asked)[:12]}"


def read_table(record: PullRecord, cache: Cache, sources: Mapping[str, DataSource]) -> Table:
    """Read the table of a record again, from its files alone.

    Raises:
        DataError: a file is gone or damaged, or this version reads the files differently.
    """
    from openfingym.data.sources.progress import silent
    from openfingym.data.sources.transport import Client

    # The source reads the files as at a pull, but through a cache that holds them all, so the client is never used.
    source = mirror_of(sources[record.source], record.base_url)
    with Client() as unused:
        data = source.fetch(record.request, unused, _HeldFiles(cache, record), silent)
    if not isinstance(data, Table):
        raise DataError(f"{record.dataset} is a graph; load it with openfingym.data.loaded_graphs.load_graph")
    if data.digest != record.digest:
        raise DataError(
            f"{record.dataset}: the files of {record.pulled_at} are read as {data.digest[:16]}, but were "
            f"{record.digest[:16]} when pulled; this version reads them differently, pull again"
        )
    return data


def read_published(record: PullRecord, cache: Cache) -> PublishedGraph:
    """The graph of a record, from the folder in which the pull kept it.

    Raises:
        DataError: the folder is gone or damaged.
    """
    graph = _kept_graph(cache, record.digest)
    if graph is None:
        raise DataError(
            f"{_graph_folder(cache, record.digest)}: not the graph that was pulled at {record.pulled_at}, or damaged; "
            f"pull it again: openfingym data pull {record.dataset}"
        )
    provenance = DataProvenance(
        record.source, record.publisher, record.licence, record.parser, record.files, record.notes
    )
    return PublishedGraph(graph, provenance)


def mirror_of(source: DataSource, base_url: str | None) -> DataSource:
    """The same source at another address; None leaves the address as it is."""
    if base_url is None:
        return source
    # A protocol cannot say that it is a dataclass, which every source is.
    return cast("DataSource", replace(cast("Any", source), base_url=base_url))


def _keep_graph(cache: Cache, graph: Graph) -> None:
    from openfingym.data.graphs import write_graph

    folder = _graph_folder(cache, graph.digest)
    if _kept_graph(cache, graph.digest) is not None:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and put in place by one rename, so that no reader sees a part of it.
    with owned_folder(folder.with_name(f".{folder.name}.partial"), mode=0o700) as draft:
        if _kept_graph(cache, graph.digest) is not None:
            # Another process has put the same graph there meanwhile.
            return
        write_graph(graph, draft)
        # A folder that is there holds a damaged copy, and a rename needs its name free.
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)


def _kept_graph(cache: Cache, digest: str) -> Graph | None:
    """The kept graph of a digest; None where it is missing or damaged."""
    from openfingym.data.graphs import Graph, read_graph

    try:
        graph = read_graph(_graph_folder(cache, digest))
    except DataError:
        return None
    return graph if isinstance(graph, Graph) and graph.digest == digest else None


def _graph_folder(cache: Cache, digest: str) -> Path:
    return cache.root / "graphs" / digest


def _path(cache: Cache, key: str) -> Path:
    return cache.root / "pulls" / f"{key}.json"
