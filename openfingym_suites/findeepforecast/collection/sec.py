"""Collecting companies' facts as they were filed with the SEC, and their filings, from EDGAR's two files on a company.

What these files know only with hindsight is left out: the frames into which facts are sorted later, and the names and
tickers that companies have today. The caller says what a company is called.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from openfingym.data.sources.transport import Client, ClientPolicy
from openfingym.errors import DataError, UsageError
from openfingym.vault import Source, TableSpec, Vault, VaultWriter

if TYPE_CHECKING:
    import pandas as pd

BASE_URL = "https://data.sec.gov"
EASTERN = ZoneInfo("America/New_York")
OPENS, CLOSES = time(6), time(22, 30)
"""Local times in New York between which filings are accepted: EDGAR takes them until 22:00, and works off what came by
then."""
SHOWN_AFTER = timedelta(minutes=10)
"""How long after its acceptance a filing is taken to be public."""
MOST_BYTES = 200_000_000
"""Size of the largest file that is accepted, in bytes."""
LARGEST_CIK = 10**10 - 1
"""Largest Central Index Key, by which the SEC knows companies: it has up to ten digits."""
_T = TypeVar("_T")

COMPANY_FACTS = TableSpec(
    name="company_facts",
    columns={
        "cik": "INTEGER",
        "ticker": "VARCHAR",
        "entity": "VARCHAR",
        "taxonomy": "VARCHAR",
        "concept": "VARCHAR",
        "unit": "VARCHAR",
        "period_start": "DATE",
        "period_end": "DATE",
        "value": "DOUBLE",
        "fiscal_year": "INTEGER",
        "fiscal_period": "VARCHAR",
        "form": "VARCHAR",
        "accession": "VARCHAR",
        "filed": "DATE",
        "dimensions": "VARCHAR",
    },
    key=("cik", "taxonomy", "concept", "unit", "period_start", "period_end", "dimensions"),
    about="period_end",
    known_basis="end of the filing date, in New York",
)
FILING_CALENDAR = TableSpec(
    name="filing_calendar",
    columns={
        "cik": "INTEGER",
        "form": "VARCHAR",
        "filed": "DATE",
        "accepted_at": "TIMESTAMP",
        "report_date": "DATE",
        "items": "VARCHAR",
        "accession": "VARCHAR",
        "size": "INTEGER",
        "is_xbrl": "INTEGER",
    },
    about="report_date",
    known_basis="ten minutes after EDGAR accepted the filing, or 06:00 in New York on the filing date if that is "
    "later; end of the filing date where the time is not known. Where EDGAR's file does not tell whether its times are "
    "in UTC or in New York's, the later reading",
)


class _Fact(msgspec.Struct):
    end: date
    val: float
    accn: str
    form: str
    filed: date
    start: date | None = None
    fy: int | None = None
    fp: str | None = None


class _Concept(msgspec.Struct):
    units: dict[str, list[_Fact]]


class _Facts(msgspec.Struct):
    facts: dict[str, dict[str, _Concept]]


class _Recent(msgspec.Struct, rename="camel"):
    accession_number: list[str]
    filing_date: list[date]
    report_date: list[str]
    acceptance_date_time: list[datetime]
    form: list[str]
    items: list[str]
    size: list[int]
    is_xbrl: list[int] = msgspec.field(name="isXBRL")


class _Part(msgspec.Struct):
    name: str


class _Filings(msgspec.Struct):
    recent: _Recent
    files: list[_Part] = []


class _Submissions(msgspec.Struct):
    filings: _Filings


@dataclass
class SecCollector:
    """Collects facts and filings of some companies.

    Attributes:
        companies: what each company is called in the vault, by its CIK (the SEC's number of it).
        contact: name and mail address of whoever asks, which the SEC wants to know.
        base_url: the address below which EDGAR's files are.
        policy: timeouts and retries; the contact takes the place of its user agent.
        vault_name: name of the vault.
        name: name of the collector.
    """

    companies: Mapping[int, str]
    contact: str
    base_url: str = BASE_URL
    policy: ClientPolicy = field(default_factory=ClientPolicy)
    vault_name: str = "sec"
    name: str = field(default="sec", init=False)

    def __post_init__(self) -> None:
        bad = [cik for cik in self.companies if not 0 < cik <= LARGEST_CIK]
        if not self.companies or bad:
            raise UsageError(f"expected companies by CIK, from 1 to ten digits; found {bad or 'none'}")
        if "@" not in self.contact:
            raise UsageError(f"{self.contact!r}: the SEC wants a name and an address of mail of who asks")

    def collect(self, folder: str | Path | None = None) -> Vault:
        """See :class:`~openfingym_suites.findeepforecast.collection.collector.Collector`."""
        source = Source(
            name="US Securities and Exchange Commission, EDGAR",
            licence="public domain (works of the US government, 17 U.S.C. 105)",
            url=self.base_url,
            note="submissions and company facts; names are of who collected",
        )
        title = f"Facts as filed and filings of {len(self.companies)} companies"
        policy = ClientPolicy(**{**vars(self.policy), "user_agent": self.contact})
        facts: list[pd.DataFrame] = []
        filings: list[pd.DataFrame] = []
        with tempfile.TemporaryDirectory() as work, Client(policy) as client:
            for cik, called in sorted(self.companies.items()):
                company = _CompanyFiles(client, Path(work), self.base_url, cik)
                facts.append(_frame(COMPANY_FACTS, company.facts(called)))
                filings.append(_frame(FILING_CALENDAR, company.filings()))
        with VaultWriter(folder, name=self.vault_name, title=title, sources=[source]) as writer:
            writer.add(COMPANY_FACTS, facts)
            writer.add(FILING_CALENDAR, filings)
            return writer.finish()


class _CompanyFiles:
    """The files that EDGAR has on one company, read as rows."""

    def __init__(self, client: Client, work: Path, base_url: str, cik: int) -> None:
        self._client = client
        self._work = work
        self._base = base_url.rstrip("/")
        self._cik = cik

    def facts(self, called: str) -> Iterator[dict[str, object]]:
        """Rows of ``company_facts``, in the order in which they were filed."""
        document = self._read(f"api/xbrl/companyfacts/CIK{self._cik:010d}.json", _Facts)
        rows = [
            (taxonomy, concept, unit, fact)
            for taxonomy, concepts in document.facts.items()
            for concept, stated in concepts.items()
            for unit, facts in stated.units.items()
            for fact in facts
        ]
        # In an order that does not depend on EDGAR's file, so that the vault has the same digest.
        rows.sort(key=lambda row: (row[3].filed, row[3].accn, *row[:3], row[3].end))
        # EDGAR's file only has facts about a company as a whole, without dimensions.
        for taxonomy, concept, unit, fact in rows:
            yield {
                "cik": self._cik, "ticker": called, "entity": called, "taxonomy": taxonomy, "concept": concept,
                "unit": unit, "period_start": fact.start, "period_end": fact.end, "value": fact.val,
                "fiscal_year": fact.fy, "fiscal_period": fact.fp, "form": fact.form, "accession": fact.accn,
                "filed": fact.filed, "dimensions": "",
                "known_at": _end_of(fact.filed),
            }  # fmt: skip

    def filings(self) -> Iterator[dict[str, object]]:
        """Rows of ``filing_calendar``. The file names further ones, in which older filings are."""
        first = self._read(f"submissions/CIK{self._cik:010d}.json", _Submissions).filings
        yield from self._rows(first.recent)
        for part in first.files:
            yield from self._rows(self._read(f"submissions/{part.name}", _Recent))

    def _rows(self, recent: _Recent) -> Iterator[dict[str, object]]:
        # EDGAR has a list for each column, in which the filings stand at the same places.
        columns = [getattr(recent, name) for name in _Recent.__struct_fields__]
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"submissions of CIK {self._cik}: its lists are of different lengths")
        accepted = accepted_times(recent.acceptance_date_time)
        for place, (form, filed, at) in enumerate(zip(recent.form, recent.filing_date, accepted, strict=True)):
            # What is accepted after 17:30 has the next business day as its filing date, and is shown on that day.
            opening = datetime.combine(filed, OPENS, EASTERN).astimezone(UTC)
            known = _end_of(filed) if at is None else max(at + SHOWN_AFTER, opening)
            yield {
                "cik": self._cik, "form": form, "filed": filed, "accepted_at": at,
                "report_date": date.fromisoformat(recent.report_date[place]) if recent.report_date[place] else None,
                "items": recent.items[place], "accession": recent.accession_number[place], "size": recent.size[place],
                "is_xbrl": recent.is_xbrl[place], "known_at": known,
            }  # fmt: skip

    def _read(self, path: str, kind: type[_T]) -> _T:
        url, part = f"{self._base}/{path}", self._work / path.replace("/", "-")
        self._client.download(url, part, kind="json", max_bytes=MOST_BYTES)
        try:
            return msgspec.json.decode(part.read_bytes(), type=kind)
        except msgspec.DecodeError as error:
            raise DataError(f"{url}: not as EDGAR has it: {error}") from error


def accepted_times(stated: Sequence[datetime]) -> list[datetime | None]:
    """When filings were accepted, in UTC; None for those with midnight, which the file states if it lacks the time.

    EDGAR's file says that its times are in UTC, but some of them are New York's, and one file may mix both. So each is
    read by itself, and as New York's, which is the later reading: nothing is known too early. Only where New York's
    EDGAR was closed at that hour, and UTC's reading is one at which it was open, does UTC's count.

    Args:
        stated: the times of one file, as it states them.
    """
    return [None if at.time() == time(0) else _accepted(at.astimezone(UTC)) for at in stated]


def _accepted(as_utc: datetime) -> datetime:
    """The later reading of a time that is in UTC or New York's, in UTC."""
    as_eastern = as_utc.replace(tzinfo=EASTERN).astimezone(UTC)
    return as_utc if _open(as_utc) and not _open(as_eastern) else as_eastern


def _end_of(day: date) -> datetime:
    """The midnight in New York with which a day ends, in UTC."""
    return datetime.combine(day + timedelta(days=1), time(0), EASTERN).astimezone(UTC)


def _open(at: datetime) -> bool:
    """Whether EDGAR accepts filings at a time; those that are sent before it closes may be accepted a little later."""
    return OPENS <= at.astimezone(EASTERN).time() <= CLOSES


def _frame(spec: TableSpec, rows: Iterable[dict[str, object]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=[*spec.types])
