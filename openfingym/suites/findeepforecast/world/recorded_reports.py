"""Reports of a company as filed: the quarter's value of a metric in them, and when the next ones are expected.

A metric's value is read from the first report of its period alone: of the concepts that a metric may be, the first that
this report has. A quarter is told from the year to date by its first day. Where a report has the year to date alone, as
10-Qs have cash flows, and the 10-K for the fourth quarter, the quarter is that less the year to date of the report
before, each as it was printed first; of an amount per share, which does not add up, it is not.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from openfingym.suites.findeepforecast.taxonomy import Formula, taxonomy
from openfingym.suites.findeepforecast.taxonomy.formulas import read_formula
from openfingym.suites.findeepforecast.world.recorded_rows import Filing, ReportedFact
from openfingym.suites.findeepforecast.world.recorded_tables import MetricConcepts, mappings

SHORTEST, LONGEST = 76, 104
"""Days of a quarter: 13 weeks, or 14 in a year of 53, and a calendar quarter."""
NEAR_DAYS = 10
"""Days by which the end of a period may be off the expected one: a year of 52 or 53 weeks moves it by a week."""
ANNOUNCED_DAYS = 21
"""Days before its report from which a figure may have been public, where no record says when results were announced: an
assumption."""
ANNOUNCEMENT = "2.02"
"""The item of an 8-K by which results are announced."""
LATEST_DAYS = {"10-Q": 45, "10-K": 90}
"""Days after the end of the period within which a report is due at the latest."""
AHEAD = 2
"""Reports ahead that are expected."""
_OWN_FORMULAS = {"EBIT": read_formula("[Pre-Tax Income] + [Interest Expense]")}
Leg = tuple[float, ReportedFact]
"""A fact with the factor by which it counts."""


@dataclass(frozen=True, eq=False)
class FirstReport:
    """The first report about a period."""

    form: str
    accession: str
    filed: date
    end: date
    """The last day of the period."""
    known_at: datetime
    public_at: datetime
    """The earliest time at which its figures may have been public."""
    facts: Mapping[tuple[str, str], Sequence[ReportedFact]]
    """Its own, by concept and unit."""


@dataclass(frozen=True)
class ExpectedReport:
    """A report that is expected, from what was known."""

    end: date
    """The expected last day of its period."""
    public_at: datetime
    """From when on its figures may be public."""
    at: datetime
    """When it is expected to be filed."""
    exact: bool
    """Whether the company's periods end with months, so that the day is certain."""


class Reports:
    """The reports of a company that were known at a time.

    Args:
        facts: facts of its reports that were known, in the order in which they became known.
        filings: its list of filings as it was known; empty where there is none.
    """

    def __init__(self, facts: Sequence[ReportedFact], filings: Sequence[Filing]) -> None:
        self._announced = sorted(
            (one.accepted_at or one.known_at)
            for one in filings
            if one.form.startswith("8-K") and ANNOUNCEMENT in one.items
        )
        self._listed_from = min((one.filed for one in filings), default=date.max)
        self._newest: dict[tuple[str, str, date | None, date], ReportedFact] = {}
        by_filing: dict[str, list[ReportedFact]] = defaultdict(list)
        for fact in facts:
            self._newest[fact[1:5]] = fact
            by_filing[fact.accession].append(fact)
        found: dict[date, FirstReport] = {}
        for own in by_filing.values():
            end = max((fact.end for fact in own if fact.concept == "Assets"), default=None)
            if end is not None and end not in found:
                found[end] = self._report(end, own)
        self.all = tuple(found[end] for end in sorted(found))
        """By the end of their periods, oldest first."""
        self._values: dict[tuple[str, date, bool], float | None] = {}

    def of(self, end: date) -> FirstReport | None:
        """The report about the period that ends on a day, or some days before or after it."""
        return self._near(end, NEAR_DAYS)

    def value(self, metric: str, report: FirstReport, *, newest: bool = False) -> float | None:
        """The value of a metric in the quarter of a report, in millions where it is money or shares.

        Args:
            metric: name of a metric of the taxonomy, or of one of its inputs.
            report: one of the reports of this company.
            newest: give the value as it stands, with what later reports restated; else as it was printed first.

        Returns:
            None where the report does not say it.
        """
        place = (metric, report.end, newest)
        if place not in self._values:
            self._values[place] = self._value(metric, report, newest)
        return self._values[place]

    def differs(self, metric: str, report: FirstReport) -> bool:
        """Whether a quarter's value is the year to date less that of the report before."""
        wanted = mappings().get(metric)
        legs = self._legs(wanted, report) if wanted else None
        return legs is not None and any(factor < 0 for factor, _ in legs)

    @cached_property
    def expected(self) -> tuple[ExpectedReport, ...]:
        """The next reports that are not filed and whose results are not announced, soonest first."""
        found = (self._expected(number) for number in range(1, AHEAD + 1)) if self.all else ()
        return tuple(one for one in found if one is not None)

    def model(self, end: date) -> FirstReport | None:
        """The report of the same quarter a year before a period, where there is one."""
        return self._near(end - timedelta(days=364), NEAR_DAYS + 2)

    def _near(self, end: date, days: int) -> FirstReport | None:
        near = [one for one in self.all if abs((one.end - end).days) <= days]
        return min(near, key=lambda one: abs((one.end - end).days), default=None)

    def _report(self, end: date, own: Sequence[ReportedFact]) -> FirstReport:
        first = own[0]
        facts: dict[tuple[str, str], list[ReportedFact]] = defaultdict(list)
        for fact in own:
            facts[fact.concept, fact.unit].append(fact)
        return FirstReport(
            first.form, first.accession, first.filed, end, first.known_at, self._public(end, first.filed), facts
        )

    def _public(self, end: date, filed: date) -> datetime:
        """From when on the figures of a period may have been public."""
        if self._listed_from <= end:
            after = [when for when in self._announced if end < when.date() <= filed]
            return min([*after, _midnight(filed)])
        return _midnight(filed - timedelta(days=ANNOUNCED_DAYS))

    def _value(self, metric: str, report: FirstReport, newest: bool) -> float | None:
        wanted = mappings().get(metric)
        legs = self._legs(wanted, report) if wanted else None
        if wanted and legs:
            return sum(factor * self._as(fact, newest).value for factor, fact in legs) / wanted.scale
        formula = _formula(metric)
        if formula is None:
            return None

        def reported(item: str, quarters: int) -> float | None:
            of = report if quarters == 0 else self._near(report.end - timedelta(days=91 * quarters), NEAR_DAYS + 2)
            return None if of is None else self.value(item, of, newest=newest)

        return formula.value(reported)

    def _as(self, fact: ReportedFact, newest: bool) -> ReportedFact:
        return self._newest[fact[1:5]] if newest else fact

    def _legs(self, wanted: MetricConcepts, report: FirstReport) -> tuple[Leg, ...] | None:
        """What a metric is made up from in a report, by the first of its alternatives that the report has."""
        for concepts in wanted.alternatives:
            parts = [self._part(concept, wanted, report) for concept in concepts]
            if all(part is not None for part in parts):
                return tuple(leg for part in parts if part for leg in part)
        return None

    def _part(self, concept: str, wanted: MetricConcepts, report: FirstReport) -> tuple[Leg, ...] | None:
        own = [fact for fact in report.facts.get((concept, wanted.unit), ()) if fact.end == report.end]
        if wanted.kind == "instant":
            return next((((1.0, fact),) for fact in own if fact.start is None), None)
        lasting = sorted((fact for fact in own if fact.start is not None), key=_days)
        for fact in lasting:
            if SHORTEST <= _days(fact) <= LONGEST:
                return ((1.0, fact),)
        if wanted.unit == "USD/shares":
            return None
        before = self._near(report.end - timedelta(days=91), NEAR_DAYS + 2)
        for fact in lasting:
            if before is not None and _days(fact) > LONGEST:
                for earlier in before.facts.get((concept, wanted.unit), ()):
                    if earlier.start == fact.start and earlier.end == before.end:
                        return ((1.0, fact), (-1.0, earlier))
        return None

    def _expected(self, number: int) -> ExpectedReport | None:
        last = self.all[-1]
        exact = all(_ends_month(one.end) for one in self.all)
        end = _month_end(last.end, 3 * number) if exact else last.end + timedelta(days=91 * number)
        if any(when.date() > end for when in self._announced):
            return None
        lag = self.model(end) or last
        days = min((lag.filed - lag.end).days, LATEST_DAYS[lag.form])
        ahead = lag.public_at - _midnight(lag.filed)
        filed = end + timedelta(days=days)
        public = _midnight(filed) + min(ahead, timedelta(0))
        if filed.weekday() > 4:
            filed += timedelta(days=7 - filed.weekday())
        return ExpectedReport(end, public, _midnight(filed + timedelta(days=1)), exact)


def _formula(metric: str) -> Formula | None:
    entry = taxonomy().metrics.get(metric) or taxonomy().inputs.get(metric)
    return _OWN_FORMULAS.get(metric) or (None if entry is None else entry.formula)


def _days(fact: ReportedFact) -> int:
    return 0 if fact.start is None else (fact.end - fact.start).days


def _ends_month(day: date) -> bool:
    return day.day == calendar.monthrange(day.year, day.month)[1]


def _month_end(day: date, months: int) -> date:
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, calendar.monthrange(year, month)[1])


def _midnight(day: date) -> datetime:
    """The beginning of a day in New York in summer, which is before that in winter."""
    return datetime.combine(day, time(4), UTC)
