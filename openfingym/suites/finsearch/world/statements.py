"""Reports of the simulated companies as rows: what each gave, when, and what later ones gave otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym.suites.finsearch.world.books import (
    BASIC_EPS,
    BY_NAME,
    DILUTED_EPS,
    ITEMS,
    OUTSTANDING,
    WEIGHTED,
    CompanyBooks,
    Item,
    keep_books,
)
from openfingym.suites.finsearch.world.draws import stream
from openfingym.suites.finsearch.world.equities import PricedLine
from openfingym.suites.finsearch.world.fiscal import FiscalReport, quarters, reports
from openfingym.suites.finsearch.world.roster import MarketSize, SimulatedCompany

if TYPE_CHECKING:
    import pandas as pd

RESTATED = 0.06
"""Share of a fiscal year's revenue that a restatement takes back."""
_BACK = timedelta(days=730)


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A row of the table, by its columns."""

    company: str
    statement: str
    item: str
    item_zh: str
    segment: str
    fiscal_year: int
    fiscal_period: str
    period_start: date | None
    period_end: date
    standard: str
    currency: str | None
    unit: str
    scale: float
    value: float
    form: str
    report: str
    filed: date
    known_at: datetime


def statement_rows(
    size: MarketSize, seed: int, every: Sequence[SimulatedCompany], lines: Sequence[PricedLine]
) -> list[StatementRow]:
    """All rows of all companies."""
    found: list[StatementRow] = []
    for company in every:
        own = [line for line in lines if line.company is company]
        found += Reporter(size, seed, company, own).rows()
    return found


def frame(rows: Sequence[StatementRow]) -> pd.DataFrame:
    """Rows as a data frame."""
    import pandas as pd

    names = list(StatementRow.__slots__)
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in names})


class Reporter:
    """Writes the reports of one company."""

    def __init__(self, size: MarketSize, seed: int, company: SimulatedCompany, lines: list[PricedLine]) -> None:
        self._company, self._lines = company, lines
        last = min(size.last_day, lines[0].delisting_known or size.last_day)
        self._quarters = quarters(company, company.listed - _BACK, last)
        self._books = keep_books(company, lines, self._quarters, seed)
        self._reports = reports(company, self._quarters, last)
        self._last = last
        self._rng = stream(seed, "restatement", company.id)
        self._decimals = 2 if company.scale == 1.0 else 0

    def rows(self) -> list[StatementRow]:
        """All rows, in the order of the reports."""
        found: list[StatementRow] = []
        given: dict[tuple[str, str, str, date | None, date], float] = {}
        books = self._books
        restated = self._restatement()
        recast = self._recast_year()
        # What was before the first report after the listing is in its prospectus, as of the listing.
        for report in map(self._in_prospectus, self._reports):
            own = list(self._of(report, books, report.quarter, report.periods))
            if report.quarter >= 4:
                own += self._again(report, given, recast=recast)
            found += own
            given |= {_key(row): row.value for row in own}
            if restated and restated.quarter == report.quarter:
                more = [row for row in self._restated(restated) if given.get(_key(row)) != row.value]
                found += more
                given |= {_key(row): row.value for row in more}
        return found

    def _in_prospectus(self, report: FiscalReport) -> FiscalReport:
        """A report as it is known: one from before the listing is known with the listing."""
        listed = self._company.listed
        if report.filed >= listed:
            return report
        return replace(report, filed=listed, known_at=datetime.combine(listed, time(0), UTC))

    def _of(
        self,
        report: FiscalReport,
        books: CompanyBooks,
        last: int,
        periods: tuple[tuple[str, int], ...],
        *,
        standards: bool = True,
    ) -> Iterator[StatementRow]:
        for standard in report.standards:
            for name, count in periods:
                span = slice(last - count + 1, last + 1)
                for item in ITEMS:
                    if item.statement == "non-GAAP" and standard != report.standards[0]:
                        continue
                    if item.flow:
                        value = float(books.figures[item.name][span].sum()) + self._more(standard, item, books, span)
                        yield self._row(report, item, "", last, name, count, value, standard)
                yield from self._shares(report, books, last, name, count, standard)
                if standards and standard == report.standards[0]:
                    yield from self._segments(report, books, last, name, count, standard)
            for item in ITEMS:
                if not item.flow:
                    value = float(books.figures[item.name][last])
                    yield self._row(report, item, "", last, periods[0][0], 0, value, standard)
            for share_class, shares in books.outstanding.items():
                segment = "" if len(books.outstanding) == 1 else f"{share_class} shares"
                yield self._row(report, OUTSTANDING, segment, last, periods[0][0], 0, float(shares[last]), standard)

    def _more(self, standard: str, item: Item, books: CompanyBooks, span: slice) -> float:
        """What a profit is more under the second standard, which recognizes some of it earlier."""
        if standard == self._company.standards[0] or item.name not in _DIFFERENT:
            return 0.0
        return round(float(books.figures["Operating income"][span].sum()) * 0.017, self._decimals)

    def _shares(
        self, report: FiscalReport, books: CompanyBooks, last: int, name: str, count: int, standard: str
    ) -> Iterator[StatementRow]:
        span = slice(last - count + 1, last + 1)
        weighted = float(books.weighted[span].mean()) * self._lines[0].split_factor(report.filed)
        profit = BY_NAME["Net income attributable to shareholders"]
        net = float(books.figures[profit.name][span].sum()) + self._more(standard, profit, books, span)
        net *= self._company.scale
        yield self._row(report, WEIGHTED, "", last, name, count, float(np.round(weighted)), standard)
        yield self._row(report, BASIC_EPS, "", last, name, count, round(net / weighted, 2) + 0.0, standard)
        diluted = weighted * books.diluted
        yield self._row(report, DILUTED_EPS, "", last, name, count, round(net / diluted, 2) + 0.0, standard)

    def _segments(
        self, report: FiscalReport, books: CompanyBooks, last: int, name: str, count: int, standard: str
    ) -> Iterator[StatementRow]:
        span = slice(last - count + 1, last + 1)
        for parts in (books.segments, books.regions):
            for (segment, _), values in parts.items():
                value = round(float(values[span].sum()), self._decimals) + 0.0
                yield self._row(report, ITEMS[0], segment, last, name, count, value, standard)

    def _again(
        self, report: FiscalReport, given: dict[tuple[str, str, str, date | None, date], float], *, recast: int | None
    ) -> list[StatementRow]:
        """Figures of the year before that a report gives otherwise: earnings a share after a split, segments recast."""
        before = report.quarter - 4
        rows: list[StatementRow] = []
        for standard in report.standards:
            for name, count in report.periods:
                if before - count + 1 < 0:
                    continue
                rows += self._shares(report, self._books, before, name, count, standard)
        if recast == self._quarters[report.quarter].fiscal_year and "FY" in dict(report.periods):
            whole = [
                round(float(values[before - 3 : before + 1].sum()), self._decimals)
                for values in self._books.segments.values()
            ]
            moved = round(whole[0] * 0.12, self._decimals)
            for (segment, _), value in zip(
                self._books.segments, (whole[0] - moved, whole[1] + moved, *whole[2:]), strict=True
            ):
                given_now = round(value, self._decimals)
                rows.append(self._row(report, ITEMS[0], segment, before, "FY", 4, given_now, report.standards[0]))
        return [row for row in rows if _key(row) in given and given[_key(row)] != row.value]

    def _recast_year(self) -> int | None:
        years = sorted({quarter.fiscal_year for quarter in self._quarters})[2:]
        return years[int(self._rng.integers(len(years)))] if years and self._rng.uniform() < 0.3 else None

    def _restatement(self) -> FiscalReport | None:
        """A report, some months after an annual one, that says that its year's revenue was too high."""
        annual = [report for report in self._reports if report.form == "annual report"]
        annual = [report for report in annual if report.filed >= self._company.listed]
        drawn, place = self._rng.uniform(), self._rng.integers(max(len(annual), 1))
        if drawn > 0.35 or not annual:
            return None
        first = annual[int(place)]
        filed = first.filed + timedelta(days=75)
        filed += timedelta(days=(7 - filed.weekday()) if filed.weekday() > 4 else 0)
        if filed > self._last:
            return None
        zone = {"us": "America/New_York", "cn": "Asia/Shanghai", "hk": "Asia/Hong_Kong"}[self._company.home]
        known = datetime.combine(filed, time(20, 5), ZoneInfo(zone)).astimezone(UTC)
        return FiscalReport(
            f"{first.id}-R", "restatement", first.quarter, first.periods, first.standards[:1], filed, known
        )

    def _restated(self, report: FiscalReport) -> Iterator[StatementRow]:
        """Figures after a part of the last quarter's revenue was taken back, with tax and what is owed for it."""
        figures = {name: values.copy() for name, values in self._books.figures.items()}
        last = report.quarter
        taken = round(float(figures["Revenue"][last - 3 : last + 1].sum()) * RESTATED, self._decimals)
        tax = round(taken * 0.22, self._decimals)
        changes = {
            "Revenue": -taken, "Gross profit": -taken, "Operating income": -taken,
            "Income before income taxes": -taken, "Income tax expense": -tax, "Net income": tax - taken,
            "Net income attributable to shareholders": tax - taken, "Adjusted net income": tax - taken,
            "Adjusted EBITDA": -taken, "Accounts receivable": -taken, "Total current assets": -taken,
            "Total assets": -taken, "Total current liabilities": -tax, "Total liabilities": -tax,
            "Retained earnings": tax - taken, "Total equity": tax - taken,
        }  # fmt: skip
        for name, change in changes.items():
            figures[name][last] = round(figures[name][last] + change, self._decimals)
        books = CompanyBooks(figures, {}, {}, self._books.weighted, {}, self._books.diluted)
        yield from self._of(report, books, last, report.periods, standards=False)

    def _row(
        self,
        report: FiscalReport,
        item: Item,
        segment: str,
        last: int,
        name: str,
        count: int,
        value: float,
        standard: str,
    ) -> StatementRow:
        company, quarter = self._company, self._quarters[last]
        shares, each = item.statement == "shares", item.statement == "per share"
        unit = "shares" if shares else f"{company.currency} per share" if each else company.unit
        known = item.statement == "non-GAAP"
        return StatementRow(
            company.id,
            item.statement,
            item.name,
            item.name_zh,
            segment,
            quarter.fiscal_year,
            name if count else ("FY" if quarter.number == 4 else name),
            self._quarters[last - count + 1].start if count else None,
            quarter.end,
            "non-GAAP" if known else standard,
            None if shares else company.currency,
            unit,
            1.0 if shares or each else company.scale,
            value if shares or each else round(value, self._decimals) + 0.0,
            report.form,
            report.id,
            report.filed,
            report.known_at,
        )


_DIFFERENT = {
    "Operating income", "Income before income taxes", "Net income", "Net income attributable to shareholders",
}  # fmt: skip


def _key(row: StatementRow) -> tuple[str, str, str, date | None, date]:
    return (row.item, row.segment, row.standard, row.period_start, row.period_end)
