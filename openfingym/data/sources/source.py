"""What every source of data offers, and the request that a caller makes of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.data.graphs import Graph
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.table import DataProvenance, Table
    from openfingym.data.sources.transport import Client


@dataclass(frozen=True)
class SourceRequest:
    """A request to a source. A field that a source does not use must keep its default."""

    symbols: tuple[str, ...] = ()
    """Tickers, pairs, series ids or countries, as the source names them."""
    start: date | None = None
    """First day wanted, included; None for the first that is published."""
    end: date | None = None
    """Last day wanted, included; None for the last that is complete."""
    interval: str | None = None
    """Bar length in the source's own spelling, such as ``1d`` or ``1h``."""
    refresh: bool = False
    """Ask the service again even for what the cache holds."""

    def __post_init__(self) -> None:
        # A single string in place of a tuple is an easy slip, and would be taken for one symbol a letter.
        symbols: object = self.symbols
        if isinstance(symbols, str) or len(set(self.symbols)) < len(self.symbols) or not all(self.symbols):
            raise UsageError(f"symbols must be a tuple of different names, found {self.symbols!r}")
        if self.start and self.end and self.start > self.end:
            raise UsageError(f"start {self.start} is after end {self.end}")


@dataclass(frozen=True, eq=False)
class PublishedGraph:
    """A graph that was read from published files, with its provenance."""

    graph: Graph
    provenance: DataProvenance


class DataSource(Protocol):
    """A service that publishes data.

    Implementations are frozen dataclasses, so that ``replace(source, base_url=...)`` is a mirror of the service.
    """

    @property
    def base_url(self) -> str:
        """Address of the service."""

    @property
    def name(self) -> str:
        """Key in :data:`openfingym.data.sources.SOURCES`."""

    @property
    def publisher(self) -> str:
        """Name of the publisher of the numbers."""

    @property
    def licence(self) -> str:
        """The terms under which the numbers may be used."""

    @property
    def frequency(self) -> str:
        """Frequency of the rows, in words."""

    @property
    def gives(self) -> str:
        """Columns and units, in words."""

    @property
    def lag_days(self) -> int | None:
        """How many days before today a request without an end stops; None where it is the same on every day."""

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table | PublishedGraph:
        """Download what the cache lacks, and read it.

        Raises:
            UsageError: the request asks for what this source does not have.
            OfflineError: the service cannot be reached.
            DataError: the service answered with something else than data; the message says what.
        """


def refuse(source: str, request: SourceRequest, *fields: str) -> None:
    """Refuse request fields that ``source`` does not know, rather than ignore them.

    Raises:
        UsageError: one of ``fields`` is set.
    """
    for field in fields:
        if getattr(request, field):
            raise UsageError(f"{source} has no {field}, found {field}={getattr(request, field)!r}; leave it out")
