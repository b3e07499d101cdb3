"""The reports of a company as filed: a metric's value in the quarter of a report, and when the next ones are expected.

A metric is read from the first report about its quarter: from the first of the metric's concepts that this report has.
The length of a figure's period tells a quarter from the year to date. Some figures are filed for the year to date
only: cash flows in Forms 10-Q, and everything of the fourth quarter in Forms 10-K. Then the quarter is that figure less
the year to date of the report before, each as it was printed first. This is not done for amounts per share, which do
not add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from openfingym_suites.findeepforecast.taxonomy import Formula, read_taxonomy
from openfingym_suites.findeepforecast.taxonomy.formulas import read_formula
from openfingym_suites.findeepforecast.world.periods import month_end, new_york_midnight
from openfingym_suites.findeepforecast.world.recorded_rows import Filing, ReportedFact
from openfingym_suites.findeepforecast.world.recorded_tables import MetricConcepts, metric_concepts

SHORTEST, LONGEST = 76, 104
"""The fewest and the most days between the first and the last day of a quarter: a calendar quarter, or one of 13 weeks,
or of 14 in a year of 53.
"""
NEAR_DAYS = 10
"""How many days the end of a period may be away from the expected one: a year of 52 or 53 weeks moves it by a week."""
ANNOUNCED_DAYS = 21
"""How many days before its report a figure may have been public, if no record says when results were announced: an
assumption.
"""
ANNOUNCEMENT = "2.02"
"""The item of a Form 8-K by which results are announced."""
LATEST_DAYS = {"10-Q": 45, "10-K": 90}
"""The most days from the end of a period until its report is due, by form."""
AHEAD = 2
"""How many of the next reports are expected."""
_OWN_FORMULAS = {"EBIT": read_formula("[Pre-Tax Income] + [Interest Expense]")}
"""Formulas of items that the taxonomy takes as reported, but that companies do not file."""
Summand = tuple[float, ReportedFact]
"""A figure, after the factor by which it counts: 1 or -1."""


@dataclass(frozen=True, eq=False)
class FirstReport:
    """The first report about a period."""

    form: str
    """Form of the report: ``10-Q`` or ``10-K``."""
    accession: str
    """Accession number of the report."""
    filed: date
    """Day on which it was filed."""
    end: date
    """The last day of the period."""
    known_at: datetime
    """The time since when it is known, in UTC."""
    public_at: datetime
    """The earliest time at which its figures may have been public, in UTC."""
    facts: Mapping[tuple[str, str], Sequence[ReportedFact]]
    """The figures that it states, by concept and unit."""


@dataclass(frozen=True)
class ExpectedReport:
    """A report that is expected, by what is known."""

    end: date
    """The expected last day of its period."""
    public_at: datetime
    """The earliest time at which its figures may be public, in UTC."""
    at: datetime
    """The time at which the record is expected to have it, in UTC."""
    exact: bool
    """Whether the last day of its period is certain, since all periods of the company end with a month."""


class CompanyReports:
    """The reports of a company that were known at a time.

    Args:
        facts: the figures of its reports that were known, in the order in which they became known.
        filings: its list of filings as it was known; empty if there is none.
    """

    def __init__(self, facts: Sequence[ReportedFact], filings: Sequence[Filing]) -> None:
        self._announced = sorted(
            (filing.accepted_at or filing.known_at)
            for filing in filings
            if filing.form.startswith("8-K") and ANNOUNCEMENT in filing.items
        )
        self._listed_from = min((filing.filed for filing in filings), default=date.max)
        # Later figures replace earlier ones of the same concept and period.
        self._newest: dict[tuple[str, str, date | None, date], ReportedFact] = {}
        by_filing: dict[str, list[ReportedFact]] = defaultdict(list)
        for fact in facts:
            self._newest[_key(fact)] = fact
            by_filing[fact.accession].append(fact)
        first_reports: dict[date, FirstReport] = {}
        for filed in by_filing.values():
            # A report also has figures of earlier periods; the newest balance sheet tells the period that it is about.
            end = max((fact.end for fact in filed if fact.concept == "Assets"), default=None)
            # Filings are in the order in which they became known, so that the first one of a period counts.
            if end is not None and end not in first_reports:
                first_reports[end] = self._report(end, filed)
        self.all = tuple(first_reports[end] for end in sorted(first_reports))
        """The first reports about all periods, oldest period first."""
        self._values: dict[tuple[str, date, bool], float | None] = {}

    def about(self, end: date) -> FirstReport | None:
        """The report about the period that ends on a day, or up to :data:`NEAR_DAYS` before or after it."""
        return self._near(end, NEAR_DAYS)

    def value(self, metric: str, report: FirstReport, *, newest: bool = False) -> float | None:
        """The value of a metric in the quarter of a report; money and numbers of shares are in millions.

        Args:
            metric: name of a metric of the taxonomy, or of an input of its formulas.
            report: one of the reports of this company.
            newest: whether the value as it stands is wanted, with what later reports restated, and not the first print.

        Returns:
            The value; None if it does not follow from the report.
        """
        key = (metric, report.end, newest)
        if key not in self._values:
            self._values[key] = self._value(metric, report, newest)
        return self._values[key]

    def is_difference(self, metric: str, report: FirstReport) -> bool:
        """Whether the value of a metric is the year to date less that of the report before.

        Args:
            metric: name of the metric.
            report: one of the reports of this company.
        """
        concepts = metric_concepts().get(metric)
        summands = self._summands(concepts, report) if concepts else None
        return summands is not None and any(factor < 0 for factor, _ in summands)

    @cached_property
    def expected(self) -> tuple[ExpectedReport, ...]:
        """The next reports that are not filed and whose results are not announced, soonest first."""
        numbers = range(1, AHEAD + 1) if self.all else ()
        expected = (self._expected(number) for number in numbers)
        return tuple(report for report in expected if report is not None)

    def year_before(self, end: date) -> FirstReport | None:
        """The report about the same quarter a year before; None if there is none.

        Args:
            end: the last day of the quarter.
        """
        # 52 weeks. A calendar year has a day or two more, which the tolerance allows for.
        return self._near(end - timedelta(days=364), NEAR_DAYS + 2)

    def _near(self, end: date, days: int) -> FirstReport | None:
        """The report about the period that ends nearest to a day, but at most so many days away from it."""
        near = [report for report in self.all if abs((report.end - end).days) <= days]
        return min(near, key=lambda report: abs((report.end - end).days), default=None)

    def _report(self, end: date, filed: Sequence[ReportedFact]) -> FirstReport:
        """A report, of the figures that were filed in it.

        Args:
            end: the last day of its period.
            filed: all figures that it states.
        """
        first = filed[0]
        facts: dict[tuple[str, str], list[ReportedFact]] = defaultdict(list)
        for fact in filed:
            facts[fact.concept, fact.unit].append(fact)
        return FirstReport(
            form=first.form,
            accession=first.accession,
            filed=first.filed,
            end=end,
            known_at=first.known_at,
            public_at=self._public_at(end, first.filed),
            facts=facts,
        )

    def _public_at(self, end: date, filed: date) -> datetime:
        """The earliest time at which the figures of a period may have been public.

        Args:
            end: the last day of the period.
            filed: the day on which its report was filed.
        """
        # Only a list of filings that begins before the end of the period has every announcement of its results.
        if self._listed_from <= end:
            announced = [when for when in self._announced if end < when.date() <= filed]
            return min([*announced, new_york_midnight(filed)])
        return new_york_midnight(filed - timedelta(days=ANNOUNCED_DAYS))

    def _value(self, metric: str, report: FirstReport, newest: bool) -> float | None:
        """The value of a metric: as the report states it, or else by its formula; see :meth:`value`."""
        concepts = metric_concepts().get(metric)
        summands = self._summands(concepts, report) if concepts else None
        if concepts and summands:
            facts = ((factor, self._newest[_key(fact)] if newest else fact) for factor, fact in summands)
            return sum(factor * fact.value for factor, fact in facts) / concepts.scale
        formula = _formula(metric)
        if formula is None:
            return None

        def reported(item: str, back: int) -> float | None:
            earlier = report if back == 0 else self._near(report.end - timedelta(days=91 * back), NEAR_DAYS + 2)
            return None if earlier is None else self.value(item, earlier, newest=newest)

        return formula.value(reported)

    def _summands(self, concepts: MetricConcepts, report: FirstReport) -> tuple[Summand, ...] | None:
        """The figures of a report that add up to a metric, by the first of its alternatives of which the report has all
        concepts; None if it has none of them.
        """
        for alternative in concepts.alternatives:
            parts = [self._part(concept, concepts, report) for concept in alternative]
            if all(part is not None for part in parts):
                return tuple(summand for part in parts if part for summand in part)
        return None

    def _part(self, concept: str, concepts: MetricConcepts, report: FirstReport) -> tuple[Summand, ...] | None:
        """The figures of a report that add up to one concept of a metric; None if the report does not state it."""
        own = [fact for fact in report.facts.get((concept, concepts.unit), ()) if fact.end == report.end]
        if concepts.kind == "instant":
            return next((((1.0, fact),) for fact in own if fact.start is None), None)
        # The shortest period first: that of the quarter, then the year to date.
        of_periods = sorted((fact for fact in own if fact.start is not None), key=_days)
        for fact in of_periods:
            if SHORTEST <= _days(fact) <= LONGEST:
                return ((1.0, fact),)
        if concepts.unit == "USD/shares":
            return None
        # The year to date, less that of the quarter before, which began on the same day.
        before = self._near(report.end - timedelta(days=91), NEAR_DAYS + 2)
        for fact in of_periods:
            if before is not None and _days(fact) > LONGEST:
                for earlier in before.facts.get((concept, concepts.unit), ()):
                    if earlier.start == fact.start and earlier.end == before.end:
                        return ((1.0, fact), (-1.0, earlier))
        return None

    def _expected(self, number: int) -> ExpectedReport | None:
        """One of the next reports; None if its results are announced.

        Args:
            number: which of the next reports, from 1.
        """
        last = self.all[-1]
        exact = all(report.end == month_end(report.end.year, report.end.month) for report in self.all)
        end = last.end + timedelta(days=91 * number)
        if exact:
            end = month_end(last.end.year, last.end.month + 3 * number)
        if any(when.date() > end for when in self._announced):
            return None
        # Its delay is that of the same quarter a year before, but never longer than the SEC allows.
        like = self.year_before(end) or last
        filed = end + timedelta(days=min((like.filed - like.end).days, LATEST_DAYS[like.form]))
        # How long before its report that quarter's figures may have been public: 0 or less.
        lead = min(like.public_at - new_york_midnight(like.filed), timedelta(0))
        public_at = new_york_midnight(filed) + lead
        # The SEC takes no filings on weekends. The figures may be public as early all the same.
        if filed.weekday() > 4:
            filed += timedelta(days=7 - filed.weekday())
        return ExpectedReport(end, public_at, new_york_midnight(filed + timedelta(days=1)), exact)


def _key(fact: ReportedFact) -> tuple[str, str, date | None, date]:
    """What a figure is about, which later reports may state again: its concept, its unit and its period."""
    return fact.concept, fact.unit, fact.start, fact.end


def _formula(metric: str) -> Formula | None:
    """The formula of a metric or of an input; None if it has none."""
    entry = read_taxonomy().metrics.get(metric) or read_taxonomy().inputs.get(metric)
    return _OWN_FORMULAS.get(metric) or (None if entry is None else entry.formula)


def _days(fact: ReportedFact) -> int:
    """Days between the first and the last day of a figure's period; 0 for a point in time."""
    return 0 if fact.start is None else (fact.end - fact.start).days
