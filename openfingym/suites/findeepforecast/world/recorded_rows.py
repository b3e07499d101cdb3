"""Rows of the bundled vault as seasons on the real past need them, read once a process.

They are kept in the order in which they became known, and everything that is answered as of a time is made from
:meth:`KnownRows.until` of that time alone: the rows before a place in that order, as views of vaults do it.
"""

from __future__ import annotations

import bisect
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

from openfingym.suites.findeepforecast.world.recorded_tables import concepts, series_lines
from openfingym.vault.spec import KNOWN_AT

if TYPE_CHECKING:
    from openfingym.vault import Vault

REPORT_FORMS = ("10-Q", "10-K")
_LAST = "9999-12-31T00:00:00Z"
_FACTS = ("cik", "concept", "unit", "period_start", "period_end", "value", "form", "accession", "filed", KNOWN_AT)
_FILINGS = ("cik", "form", "filed", "accepted_at", "report_date", "items", "accession", KNOWN_AT)
_STATEMENTS = ("date", "kind", "target_lower", "target_upper", "text", KNOWN_AT)


class ReportedFact(NamedTuple):
    """A figure as a report has it."""

    cik: int
    concept: str
    unit: str
    start: date | None
    """None of a point in time."""
    end: date
    value: float
    form: str
    accession: str
    filed: date
    known_at: datetime


class Filing(NamedTuple):
    """A line of a company's list of filings."""

    cik: int
    form: str
    filed: date
    accepted_at: datetime | None
    report_date: date | None
    items: tuple[str, ...]
    accession: str
    known_at: datetime


class VintageValue(NamedTuple):
    """A value of a series in a vintage."""

    day: date
    """The reference date as the source has it: the first of a month or quarter, or the day."""
    value: float
    known_at: datetime


class Statement(NamedTuple):
    """What the Federal Reserve published."""

    day: date
    kind: str
    lower: float | None
    upper: float | None
    text: str
    known_at: datetime


class _HasTime(Protocol):
    @property
    def known_at(self) -> datetime:
        """From when on it was known."""


Row = TypeVar("Row", bound=_HasTime)
Kind = TypeVar("Kind")


class KnownRows(Generic[Row]):
    """Rows in the order in which they became known."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = sorted(rows, key=_known_at)
        self._times = [row.known_at for row in self._rows]

    def until(self, time: datetime) -> Sequence[Row]:
        """Those that were known at a time."""
        return self._rows[: bisect.bisect_right(self._times, time)]


def _known_at(row: _HasTime) -> datetime:
    return row.known_at


class VaultRows:
    """The rows of a vault. Each kind is read when it is first wanted."""

    def __init__(self, vault: Vault) -> None:
        self._view = vault.as_of(_LAST)
        self._kinds: dict[str, object] = {}
        self._reading = threading.RLock()

    def facts(self, cik: int) -> KnownRows[ReportedFact]:
        """Figures of a company's reports, of the concepts that metrics are made from."""
        return self._of("facts", self._facts).get(cik, _NONE)

    def filings(self, cik: int) -> KnownRows[Filing]:
        """A company's list of filings."""
        return self._of("filings", self._filings).get(cik, _NONE)

    def figures(self, series: str) -> KnownRows[VintageValue]:
        """Every vintage of a series, by its id."""
        return self._of(series, lambda: self._figures(series))

    def vintages(self) -> Sequence[datetime]:
        """When each vintage of the table ``macro`` was known, in order."""
        return self._of("vintages", self._vintages)

    def statements(self) -> KnownRows[Statement]:
        """What the Federal Reserve published."""
        return self._of("statements", self._statements)

    def _of(self, kind: str, read: Callable[[], Kind]) -> Kind:
        if kind not in self._kinds:
            with self._reading:
                if kind not in self._kinds:
                    self._kinds[kind] = read()
        return cast("Kind", self._kinds[kind])

    def _facts(self) -> Mapping[int, KnownRows[ReportedFact]]:
        where = {"concept": sorted(concepts()), "form": list(REPORT_FORMS), "dimensions": None, "taxonomy": "us-gaap"}
        found = defaultdict(list)
        for row in self._view.rows("company_facts", where, columns=_FACTS):
            fact = ReportedFact(*(row[name] for name in _FACTS))  # type: ignore[arg-type]
            found[fact.cik].append(fact)
        return {cik: KnownRows(rows) for cik, rows in found.items()}

    def _filings(self) -> Mapping[int, KnownRows[Filing]]:
        found = defaultdict(list)
        for row in self._view.rows("filing_calendar", columns=_FILINGS):
            row["items"] = tuple(part for part in str(row["items"] or "").split(",") if part)
            filing = Filing(*(row[name] for name in _FILINGS))  # type: ignore[arg-type]
            found[filing.cik].append(filing)
        return {cik: KnownRows(rows) for cik, rows in found.items()}

    def _figures(self, series: str) -> KnownRows[VintageValue]:
        line = series_lines()[series]
        if line.table in {"macro", "gdp"}:
            columns: tuple[str, ...] = ("reference_date", "value", KNOWN_AT)
            rows = self._view.rows(line.table, {"series": line.key}, columns=columns)
            return KnownRows(VintageValue(*(row[name] for name in columns)) for row in rows)  # type: ignore[arg-type]
        columns = ("date", "value", KNOWN_AT)
        where = {"dataset": line.table, "channel": line.key}
        rows = self._view.rows("market", where, columns=columns)
        return KnownRows(VintageValue(*(row[name] for name in columns)) for row in rows)  # type: ignore[arg-type]

    def _vintages(self) -> Sequence[datetime]:
        return sorted(time for time in self._view.counts("macro", KNOWN_AT) if isinstance(time, datetime))

    def _statements(self) -> KnownRows[Statement]:
        rows = self._view.rows("fomc_statements", columns=_STATEMENTS)
        return KnownRows(Statement(*(row[name] for name in _STATEMENTS)) for row in rows)  # type: ignore[arg-type]


_NONE: KnownRows[Any] = KnownRows(())


def rows_of(vault: Vault) -> VaultRows:
    """The rows of a vault, shared by all that ask for them."""
    return vault.kept(VaultRows)
