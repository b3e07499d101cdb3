"""European Central Bank: euro foreign exchange reference rates since 1999, one zipped CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.data.sources.cells import iso_day, read_dated, unzip
from openfingym.data.sources.source import SourceRequest, refuse
from openfingym.data.sources.table import Block, DataProvenance, Table
from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "ecb-eurofxref/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
MAX_AGE_S = 12 * 3600.0
"""Age up to which a copy is not asked for again; a row is added each working day."""


@dataclass(frozen=True)
class Ecb:
    """Reference rates of the euro."""

    base_url: str = "https://www.ecb.europa.eu"
    name: str = "ecb"
    publisher: str = "European Central Bank, euro foreign exchange reference rates"
    licence: str = "ECB statistics, free re-use with acknowledgement of the source (European Central Bank)"
    frequency: str = "daily, on the days the euro system's payment system is open"
    gives: str = "one column a currency code: units of the currency per euro, about 14:15 Central European Time"
    lag_days: int | None = None

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> Table:
        """One column for each currency in ``request.symbols``, or for all; see :class:`DataSource`."""
        refuse(self.name, request, "interval")
        url = f"{self.base_url}/stats/eurofxref/eurofxref-hist.zip"
        entry = cache.fetch(client, url, kind="zip", max_age_s=MAX_AGE_S, refresh=request.refresh, progress=progress)
        times, columns, values = read_history(cache.read(entry))
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, (entry.origin,))
        table = Table(times, values, tuple(columns), "daily", "units of the currency per euro", provenance)
        return (table.select(request.symbols) if request.symbols else table).between(request.start, request.end)


def read_history(content: bytes) -> Block:
    """Read ``eurofxref-hist.zip``.

    Raises:
        DataError: the archive is damaged or the file in it not of the known form.
    """
    name, body = unzip(content, "eurofxref-hist.zip", lambda name: name == "eurofxref-hist.csv")
    columns, times, values = read_dated(body, name, date_header=("Date",), parse_day=iso_day)
    strange = [column for column in columns if not (len(column) == 3 and column.isalpha() and column.isupper())]
    if strange:
        raise DataError(f"{name}: {', '.join(strange)} is not a currency code; the format has changed")
    return times, columns, values
