"""Reports of the simulated companies as rows: figures as each report gave them, and as later ones changed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym_suites.finsearch.world.books import (
    BASIC_EPS,
    BY_NAME,
    DILUTED_EPS,
    ITEMS,
    OUTSTANDING,
    WEIGHTED,
    CompanyBooks,
    StatementItem,
    keep_books,
)
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.equities import PricedLine
from openfingym_suites.finsearch.world.fiscal import FiscalReport, quarters, reports
from openfingym_suites.finsearch.world.roster import MarketSize, SimulatedCompany

if TYPE_CHECKING:
    import pandas as pd

RESTATED = 0.06
"""Share of a fiscal year's revenue that a restatement takes back."""
_BACK = timedelta(days=730)
"""How long before its listing the books of a company begin: a prospectus has two years."""
_Key = tuple[str, str, str, date | None, date]
"""What a figure is of: item, segment, standard, first and last day of its period."""


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A row of the table ``statements``: a figure as one report gave it; see the table's columns."""

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
    """The rows of all reports of all companies.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        every: all companies of the market.
        lines: their shares on exchanges, with prices.
    """
    rows: list[StatementRow] = []
    for company in every:
        own = [line for line in lines if line.company is company]
        rows += ReportWriter(size, seed, company, own).rows()
    return rows


def frame(rows: Sequence[StatementRow]) -> pd.DataFrame:
    """Rows as a data frame."""
    import pandas as pd

    names = list(StatementRow.__slots__)
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in names})


class ReportWriter:
    """Writes the reports of one company.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        company: the company that reports.
        lines: its shares on exchanges, with prices; the oldest first.
    """

    def __init__(self, size: MarketSize, seed: int, company: SimulatedCompany, lines: list[PricedLine]) -> None:
        self._company, self._lines = company, lines
        # Who is being taken over reports no more.
        last = min(size.last_day, lines[0].delisting_known or size.last_day)
        self._quarters = quarters(company, company.listed - _BACK, last)
        self._books = keep_books(company, lines, self._quarters, seed)
        self._reports = reports(company, self._quarters, last)
        self._last = last
        self._rng = stream(seed, "restatement", company.id)
        self._decimals = 2 if company.scale == 1.0 else 0

    def rows(self) -> list[StatementRow]:
        """The rows of all reports, in the order of the reports."""
        rows: list[StatementRow] = []
        reported: dict[_Key, float] = {}  # each figure as it was reported last
        books = self._books
        restated = self._restatement()
        recast = self._recast_year()
        # What was before the first report after the listing is in its prospectus, as of the listing.
        for report in map(self._in_prospectus, self._reports):
            own = list(self._report_rows(report, books, report.quarter, report.periods))
            if report.quarter >= 4:
                own += self._comparatives(report, reported, recast=recast)
            rows += own
            reported |= {_key(row): row.value for row in own}
            # A restatement gives anew what it changes, and nothing else.
            if restated and restated.quarter == report.quarter:
                changed = [row for row in self._restated(restated) if reported.get(_key(row)) != row.value]
                rows += changed
                reported |= {_key(row): row.value for row in changed}
        return rows

    def _in_prospectus(self, report: FiscalReport) -> FiscalReport:
        """A report as it is known: one from before the listing is known with the listing."""
        listed = self._company.listed
        if report.filed >= listed:
            return report
        return replace(report, filed=listed, known_at=datetime.combine(listed, time(0), UTC))

    def _report_rows(
        self,
        report: FiscalReport,
        books: CompanyBooks,
        last: int,
        periods: tuple[tuple[str, int], ...],
        *,
        segments: bool = True,
    ) -> Iterator[StatementRow]:
        """The rows of a report on its own periods.

        Args:
            report: the report that gives the rows.
            books: the books that it is written from.
            last: place of its last quarter among the company's quarters.
            periods: periods that it gives: name, and how many quarters up to the last one.
            segments: whether it has revenue by segment and by region.
        """
        for standard in report.standards:
            for name, count in periods:
                span = slice(last - count + 1, last + 1)
                for item in ITEMS:
                    # Figures outside of any standard are given once.
                    if item.statement == "non-GAAP" and standard != report.standards[0]:
                        continue
                    if item.flow:
                        value = float(books.figures[item.name][span].sum())
                        value += self._difference(standard, item, books, span)
                        yield self._row(report, item, "", last, name, count, value, standard)
                yield from self._share_rows(report, books, last, name, count, standard)
                if segments and standard == report.standards[0]:
                    yield from self._segment_rows(report, books, last, name, count, standard)
            for item in ITEMS:
                if not item.flow:
                    value = float(books.figures[item.name][last])
                    yield self._row(report, item, "", last, periods[0][0], 0, value, standard)
            for share_class, shares in books.outstanding.items():
                segment = "" if len(books.outstanding) == 1 else f"{share_class} shares"
                yield self._row(report, OUTSTANDING, segment, last, periods[0][0], 0, float(shares[last]), standard)

    def _difference(self, standard: str, item: StatementItem, books: CompanyBooks, span: slice) -> float:
        """By how much a profit is larger under a company's second standard, which recognizes some of it earlier."""
        if standard == self._company.standards[0] or item.name not in _DIFFERENT:
            return 0.0
        return round(float(books.figures["Operating income"][span].sum()) * 0.017, self._decimals)

    def _share_rows(
        self, report: FiscalReport, books: CompanyBooks, last: int, name: str, count: int, standard: str
    ) -> Iterator[StatementRow]:
        """Average shares of a period and earnings per share, in shares as they are when the report is filed."""
        span = slice(last - count + 1, last + 1)
        weighted = float(books.weighted[span].mean()) * self._lines[0].split_factor(report.filed)
        profit = BY_NAME["Net income attributable to shareholders"]
        net = float(books.figures[profit.name][span].sum()) + self._difference(standard, profit, books, span)
        net *= self._company.scale
        yield self._row(report, WEIGHTED, "", last, name, count, float(np.round(weighted)), standard)
        yield self._row(report, BASIC_EPS, "", last, name, count, round(net / weighted, 2) + 0.0, standard)
        diluted = weighted * books.diluted
        yield self._row(report, DILUTED_EPS, "", last, name, count, round(net / diluted, 2) + 0.0, standard)

    def _segment_rows(
        self, report: FiscalReport, books: CompanyBooks, last: int, name: str, count: int, standard: str
    ) -> Iterator[StatementRow]:
        """Revenue of a period by segment and by region."""
        span = slice(last - count + 1, last + 1)
        for parts in (books.segments, books.regions):
            for (segment, _), values in parts.items():
                value = round(float(values[span].sum()), self._decimals) + 0.0
                yield self._row(report, ITEMS[0], segment, last, name, count, value, standard)

    def _comparatives(
        self, report: FiscalReport, reported: dict[_Key, float], *, recast: int | None
    ) -> list[StatementRow]:
        """Figures of the year before that a report changes: earnings per share after a split, and recast segments.

        Args:
            report: the report that changes them.
            reported: figures as they were reported last.
            recast: fiscal year whose annual report recasts the segments of the year before; None for none.
        """
        before = report.quarter - 4
        rows: list[StatementRow] = []
        for standard in report.standards:
            for name, count in report.periods:
                if before - count + 1 < 0:
                    continue
                rows += self._share_rows(report, self._books, before, name, count, standard)
        if recast == self._quarters[report.quarter].fiscal_year and "FY" in dict(report.periods):
            whole = [
                round(float(values[before - 3 : before + 1].sum()), self._decimals)
                for values in self._books.segments.values()
            ]
            # A part of the first segment's business has gone to the second, so the year before is stated likewise.
            moved = round(whole[0] * 0.12, self._decimals)
            for (segment, _), value in zip(
                self._books.segments, (whole[0] - moved, whole[1] + moved, *whole[2:]), strict=True
            ):
                stated = round(value, self._decimals)
                rows.append(self._row(report, ITEMS[0], segment, before, "FY", 4, stated, report.standards[0]))
        return [row for row in rows if _key(row) in reported and reported[_key(row)] != row.value]

    def _recast_year(self) -> int | None:
        """The fiscal year in which segments are recast, from the third on; None for most companies."""
        years = sorted({quarter.fiscal_year for quarter in self._quarters})[2:]
        return years[int(self._rng.integers(len(years)))] if years and self._rng.uniform() < 0.3 else None

    def _restatement(self) -> FiscalReport | None:
        """A report, some months after an annual one, that the revenue of its year was too high; None for most
        companies.
        """
        annual = [report for report in self._reports if report.form == "annual report"]
        annual = [report for report in annual if report.filed >= self._company.listed]
        # Both are drawn in any case, so that what follows does not depend on the outcome.
        drawn, place = self._rng.uniform(), self._rng.integers(max(len(annual), 1))
        if drawn > 0.35 or not annual:
            return None
        first = annual[int(place)]
        # Reports of a weekend come out on Monday.
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
        """Figures of a year, part of whose revenue is taken back in its last quarter, with the tax on it."""
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
        yield from self._report_rows(report, books, last, report.periods, segments=False)

    def _row(
        self,
        report: FiscalReport,
        item: StatementItem,
        segment: str,
        last: int,
        name: str,
        count: int,
        value: float,
        standard: str,
    ) -> StatementRow:
        """One row of a report.

        Args:
            report: the report that gives the figure.
            item: the item that the figure is of.
            segment: name of the segment or class of shares; empty for the company as a whole.
            last: place of the last quarter of the period among the company's quarters.
            name: name of the period, such as ``H1``.
            count: quarters of the period; 0 for a point in time.
            value: the figure, in the company's unit.
            standard: accounting standard of the figure.
        """
        company, quarter = self._company, self._quarters[last]
        shares, per_share = item.statement == "shares", item.statement == "per share"
        unit = "shares" if shares else f"{company.currency} per share" if per_share else company.unit
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
            "non-GAAP" if item.statement == "non-GAAP" else standard,
            None if shares else company.currency,
            unit,
            1.0 if shares or per_share else company.scale,
            # Adding 0.0 turns a negative zero into a zero.
            value if shares or per_share else round(value, self._decimals) + 0.0,
            report.form,
            report.id,
            report.filed,
            report.known_at,
        )


_DIFFERENT = {
    "Operating income", "Income before income taxes", "Net income", "Net income attributable to shareholders",
}  # fmt: skip
"""Items that differ between two standards of a company."""


def _key(row: StatementRow) -> _Key:
    return (row.item, row.segment, row.standard, row.period_start, row.period_end)
