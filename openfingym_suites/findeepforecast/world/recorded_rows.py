"""Rows of the bundled vault as seasons on the real past need them, read once a process.

They are in the order in which they became known. Everything that is answered as of a time is made from
:meth:`KnownRows.until` of that time, so that nothing that became known later can have a part in it.
"""

from __future__ import annotations

import bisect
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

from openfingym.vault.spec import KNOWN_AT
from openfingym_suites.findeepforecast.world.recorded_tables import concepts, series_lines

if TYPE_CHECKING:
    from openfingym.vault import Vault

REPORT_FORMS = ("10-Q", "10-K")
"""Forms of the reports whose figures count."""
_LAST = "9999-12-31T00:00:00Z"
"""A time by which all rows of a vault are known."""
_FACTS = ("cik", "concept", "unit", "period_start", "period_end", "value", "form", "accession", "filed", KNOWN_AT)
_FILINGS = ("cik", "form", "filed", "accepted_at", "report_date", "items", "accession", KNOWN_AT)
_STATEMENTS = ("date", "kind", "target_lower", "target_upper", "text", KNOWN_AT)


class ReportedFact(NamedTuple):
    """A figure as a report states it."""

    cik: int
    """Number of the company at the SEC."""
    concept: str
    """XBRL concept of the figure."""
    unit: str
    """Unit of its value: ``USD``, ``USD/shares`` or ``shares``."""
    start: date | None
    """The first day of its period; None for a figure of a point in time."""
    end: date
    """The last day of its period, or the point in time."""
    value: float
    """The value, in its unit."""
    form: str
    """Form of the report: ``10-Q`` or ``10-K``."""
    accession: str
    """Accession number of the report."""
    filed: date
    """Day on which the report was filed."""
    known_at: datetime
    """The time since when it is known, in UTC."""


class Filing(NamedTuple):
    """A line of a company's list of filings."""

    cik: int
    """Number of the company at the SEC."""
    form: str
    """Form of the filing, such as ``8-K``."""
    filed: date
    """Day on which it was filed."""
    accepted_at: datetime | None
    """The time at which the SEC accepted it, in UTC; None if that is not recorded."""
    report_date: date | None
    """The day, or the last day of the period, that it is about; None if that is not recorded."""
    items: tuple[str, ...]
    """Items of a Form 8-K, such as ``2.02``; empty for other forms."""
    accession: str
    """Accession number of the filing."""
    known_at: datetime
    """The time since when it is known, in UTC."""


class VintageValue(NamedTuple):
    """A value of a series in a vintage."""

    day: date
    """The reference date as the source has it: a day, or the first day of a month; a quarter has its first month in the
    table ``gdp``, and its last one in ``macro``."""
    value: float
    """The value, in the unit of the series."""
    known_at: datetime
    """The time since when the value is known, in UTC."""


class Statement(NamedTuple):
    """A statement of the Federal Reserve."""

    day: date
    """Day on which it was published."""
    kind: str
    """Kind of the statement, such as ``policy_statement``."""
    lower: float | None
    """Lower bound of the target range for the federal funds rate, in percent; None if the statement sets none."""
    upper: float | None
    """Upper bound of the target range, in percent; None if the statement sets none."""
    text: str
    """Its text."""
    known_at: datetime
    """The time since when it is known, in UTC."""


class _HasTime(Protocol):
    @property
    def known_at(self) -> datetime:
        """The time since when a row is known, in UTC."""


Row = TypeVar("Row", bound=_HasTime)
Read = TypeVar("Read")


class KnownRows(Generic[Row]):
    """Rows in the order in which they became known.

    Args:
        rows: the rows, in any order.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = sorted(rows, key=_known_at)
        self._times = [row.known_at for row in self._rows]

    def until(self, time: datetime) -> Sequence[Row]:
        """The rows that were known at a time."""
        return self._rows[: bisect.bisect_right(self._times, time)]


def _known_at(row: _HasTime) -> datetime:
    return row.known_at


class VaultRows:
    """The rows of a vault. Rows of each kind are read when they are first wanted, and then kept.

    Args:
        vault: the bundled vault, or a truncated copy of it.
    """

    def __init__(self, vault: Vault) -> None:
        self._view = vault.as_of(_LAST)
        self._kinds: dict[str, object] = {}
        self._reading = threading.RLock()

    def facts(self, cik: int) -> KnownRows[ReportedFact]:
        """Figures of a company's reports, of the concepts as which metrics are filed.

        Args:
            cik: number of the company at the SEC.
        """
        return self._read_once("facts", self._facts).get(cik, _NONE)

    def filings(self, cik: int) -> KnownRows[Filing]:
        """The list of filings of a company.

        Args:
            cik: number of the company at the SEC.
        """
        return self._read_once("filings", self._filings).get(cik, _NONE)

    def figures(self, series: str) -> KnownRows[VintageValue]:
        """All vintages of a series, by its id."""
        return self._read_once(series, lambda: self._figures(series))

    def vintages(self) -> Sequence[datetime]:
        """The times since when the vintages of the table ``macro`` are known, in order."""
        return self._read_once("vintages", self._vintages)

    def statements(self) -> KnownRows[Statement]:
        """The statements of the Federal Reserve."""
        return self._read_once("statements", self._statements)

    def _read_once(self, kind: str, read: Callable[[], Read]) -> Read:
        """What was read under a name, read by a function if it is wanted for the first time."""
        if kind not in self._kinds:
            with self._reading:
                # Another thread may have read it while this one waited for the lock.
                if kind not in self._kinds:
                    self._kinds[kind] = read()
        return cast("Read", self._kinds[kind])

    def _facts(self) -> Mapping[int, KnownRows[ReportedFact]]:
        # Figures without dimensions are those of the whole company, and not of a segment or a class of shares.
        where = {"concept": sorted(concepts()), "form": list(REPORT_FORMS), "dimensions": None, "taxonomy": "us-gaap"}
        of_company = defaultdict(list)
        for row in self._view.rows("company_facts", where, columns=_FACTS):
            fact = ReportedFact(*(row[name] for name in _FACTS))  # type: ignore[arg-type]
            of_company[fact.cik].append(fact)
        return {cik: KnownRows(facts) for cik, facts in of_company.items()}

    def _filings(self) -> Mapping[int, KnownRows[Filing]]:
        of_company = defaultdict(list)
        for row in self._view.rows("filing_calendar", columns=_FILINGS):
            row["items"] = tuple(part for part in str(row["items"] or "").split(",") if part)
            filing = Filing(*(row[name] for name in _FILINGS))  # type: ignore[arg-type]
            of_company[filing.cik].append(filing)
        return {cik: KnownRows(filings) for cik, filings in of_company.items()}

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
    """The rows of a vault, which all callers in this process share."""
    return vault.kept(VaultRows)
