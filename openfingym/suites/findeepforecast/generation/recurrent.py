"""Recurrent generation: scheduled disclosures from calendars, and templates over what they will say.

Macro: every release of a monthly or quarterly series that is scheduled between this deadline and the next, and besides,
until the week's share is filled, a day's close of market series after the deadline, at the end of a month or at the end
of a quarter, and releases that are further away. Corporate: companies whose report is scheduled between this deadline
and the next, at most a share of those of a market; their metrics are drawn in turns from the categories.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from openfingym.questions.question import DAY_NS, Measure, moment_at, moment_ns
from openfingym.suites.findeepforecast.generation import templates
from openfingym.suites.findeepforecast.generation.keys import figure_key
from openfingym.suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym.suites.findeepforecast.generation.sampling import by_turns, companies_drawn, evenly, lot
from openfingym.suites.findeepforecast.problem import Figure, ForecastProblem, Horizon
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.known import Company, KnownWorld, MacroSeries, Scheduled

LEVEL = "level"
WEEK_DAYS, MONTH_DAYS, MOST_DAYS = 10, 45, 100
"""Days from the generation to the expected truth: a week's and a month's horizon at most, and any."""
END_DAYS = 4
"""Days by which the last trading day of a month may be before its end."""
SAME = 3
"""A figure whose last prints, so many, were all the same is not asked for."""
UNKNOWN, CONSTANT = "no earlier figure", "unchanging figure"


@dataclass(frozen=True)
class ScheduledRelease:
    """A scheduled figure of a macro series that could be asked for."""

    series: MacroSeries
    scheduled: Scheduled
    horizon: Horizon
    due: bool
    """Whether it is a statistical release of the week's own window, which comes before everything else."""

    @property
    def figure(self) -> Figure:
        """What it is about."""
        return Figure(self.series.id, LEVEL, self.scheduled.period)

    @property
    def key(self) -> str:
        """Of the problem."""
        return figure_key(self.figure, self.horizon)


@dataclass(frozen=True)
class CalendarGenerator:
    """The library's own recurrent generator."""

    share: float = 0.3
    """Of the companies of a market that report in a week, how many are asked about at most."""
    metrics: int = 12
    """Metrics of a report that are asked for at most."""
    home: str = "US"
    """Market in which series of no single economy are asked."""

    def capacity(self, world: KnownWorld, week: Week, asked: Collection[str], seed: int) -> Mapping[Stratum, int]:
        """See :class:`~openfingym.suites.findeepforecast.generation.protocols.RecurrentGenerator`."""
        found = Counter(self._macro(one.series.economy) for one in _releases(world, week) if one.key not in asked)
        for market, reports in _reporting(world, week, seed).items():
            drawn = companies_drawn(len(reports), self.share)
            found[Stratum("recurrent corporate", market)] = drawn * self.metrics
        return found

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym.suites.findeepforecast.generation.protocols.RecurrentGenerator`."""
        refused = Counter[str]()
        releases = defaultdict(list)
        for one in _releases(world, week):
            if one.key not in asked:
                releases[self._macro(one.series.economy)].append(one)
        reporting = _reporting(world, week, seed)
        problems: list[ForecastProblem] = []
        for stratum in sorted(wanted):
            count = wanted[stratum]
            if stratum.quadrant == "recurrent macro":
                order = _in_order(releases[stratum], asked, seed, week)
                problems += self._drawn_macro(world, week, order, count, refused)
            elif stratum.quadrant == "recurrent corporate":
                companies = reporting.get(stratum.market, ())
                problems += self._drawn_corporate(world, week, companies, count, seed, refused)
        return DrawnProblems(tuple(problems), refused)

    def _macro(self, economy: str) -> Stratum:
        return Stratum("recurrent macro", self.home if economy == "GLOBAL" else economy)

    def _drawn_macro(
        self, world: KnownWorld, week: Week, order: Sequence[ScheduledRelease], count: int, refused: Counter[str]
    ) -> Iterator[ForecastProblem]:
        drawn = 0
        for one in order:
            if drawn == count:
                return
            if not _askable(world, one.figure, refused):
                continue
            drawn += 1
            yield ForecastProblem(
                key=one.key,
                text=templates.macro_text(one.key, one.series, one.scheduled),
                track="recurrent",
                level="macro",
                market=self._macro(one.series.economy).market,
                horizon=one.horizon,
                subtype=one.series.indicator,
                about=one.figure,
                generated_ns=week.generated_ns,
                deadline_ns=week.deadline_ns,
                settled_ns=moment_ns(one.scheduled.at),
                unit=one.series.unit,
                measure=_measure(one.series),
                details=templates.macro_details(one.series, one.scheduled),
            )

    def _drawn_corporate(
        self,
        world: KnownWorld,
        week: Week,
        reports: Sequence[tuple[Company, Scheduled]],
        count: int,
        seed: int,
        refused: Counter[str],
    ) -> Iterator[ForecastProblem]:
        """Metrics of the first companies in the drawn order, as many of each as of the others but for one."""
        companies = reports[: min(companies_drawn(len(reports), self.share), count)]
        if not companies:
            return
        turn, missing = 0, 0
        for (company, report), share in zip(companies, evenly(count, len(companies)), strict=True):
            # What one company lacks, the next one makes up for.
            allowed = min(share + missing, self.metrics)
            missing += share - allowed
            for metric in _metrics(world, company, report, allowed, turn, seed, refused):
                turn, allowed = turn + 1, allowed - 1
                yield _corporate_problem(week, company, report, metric)
            missing += allowed


def _corporate_problem(week: Week, company: Company, report: Scheduled, metric: str) -> ForecastProblem:
    entry, figure = taxonomy().metrics[metric], Figure(company.symbol, metric, report.period)
    # Figures of reports are of quarters, however soon the report comes (table 16).
    key, unit = figure_key(figure, "quarter"), entry.unit(company.currency)
    return ForecastProblem(
        key=key,
        text=templates.corporate_text(key, company, metric, report, unit),
        track="recurrent",
        level="corporate",
        market=company.economy,
        horizon="quarter",
        subtype=metric,
        about=figure,
        generated_ns=week.generated_ns,
        deadline_ns=week.deadline_ns,
        settled_ns=moment_ns(report.at),
        unit=unit,
        measure=entry.measure,
        details=templates.corporate_details(company, metric, report, unit),
    )


def _metrics(
    world: KnownWorld,
    company: Company,
    report: Scheduled,
    count: int,
    turn: int,
    seed: int,
    refused: Counter[str],
) -> list[str]:
    """So many metrics of a company, from one category after another, beginning with the ``turn``-th."""
    known, among = world.metrics(company.symbol), taxonomy().metrics
    categories = list(dict.fromkeys(entry.category for entry in among.values()))
    first = (lot(seed, "category", company.economy) + turn) % len(categories)
    by_category: dict[str, list[str]] = {name: [] for name in (*categories[first:], *categories[:first])}
    for metric in sorted(known, key=lambda name: lot(seed, company.symbol, report.period, name)):
        if metric in among:
            by_category[among[metric].category].append(metric)
    found: list[str] = []
    while len(found) < count and any(by_category.values()):
        for metrics in by_category.values():
            while metrics and len(found) < count:
                metric = metrics.pop(0)
                if _askable(world, Figure(company.symbol, metric, report.period), refused):
                    found.append(metric)
                    break
    return found


def _askable(world: KnownWorld, figure: Figure, refused: Counter[str]) -> bool:
    """Whether anything can be said of a figure: there are earlier ones, and they change."""
    past = [one.value for one in world.history(figure.subject, figure.measure, SAME)]
    if not past:
        refused[UNKNOWN] += 1
    elif len(past) == SAME and len(set(past)) == 1:
        refused[CONSTANT] += 1
    else:
        return True
    return False


def _in_order(
    releases: Sequence[ScheduledRelease], asked: Collection[str], seed: int, week: Week
) -> list[ScheduledRelease]:
    """What is due in the week first; then horizons in turns, and of each the indicators that were asked for least."""
    counts = Counter((key.partition(".")[0], key.rpartition(".")[2]) for key in asked)

    def draw(one: ScheduledRelease) -> int:
        return (counts[one.series.id, one.horizon] << 64) + lot(seed, week.name, one.key)

    due = by_turns((one for one in releases if one.due), lambda one: one.series.indicator, draw)
    others = by_turns((one for one in releases if not one.due), lambda one: one.horizon, draw)
    return due + others


def _reporting(world: KnownWorld, week: Week, seed: int) -> dict[str, list[tuple[Company, Scheduled]]]:
    """Companies by market that are to report between two deadlines, in a drawn order in which sectors take turns."""
    companies = {one.symbol: one for one in world.companies()}
    found: dict[str, dict[str, tuple[Company, Scheduled]]] = defaultdict(dict)
    for report in world.reports(moment_at(week.deadline_ns), moment_at(week.ends_ns)):
        company = companies.get(report.subject)
        if company is not None and moment_ns(report.at) > week.deadline_ns:
            found[company.economy].setdefault(company.symbol, (company, report))
    return {market: _drawn(list(reports.values()), week, seed) for market, reports in found.items()}


def _drawn(reports: Sequence[tuple[Company, Scheduled]], week: Week, seed: int) -> list[tuple[Company, Scheduled]]:
    def sector(one: tuple[Company, Scheduled]) -> str:
        return one[0].sector

    def draw(one: tuple[Company, Scheduled]) -> int:
        return lot(seed, week.name, one[0].economy, one[0].symbol)

    return by_turns(reports, sector, draw)


def _releases(world: KnownWorld, week: Week) -> list[ScheduledRelease]:
    """Everything of macro series that could be asked for in a week."""
    series = {one.id: one for one in world.series()}
    begin = moment_at(week.deadline_ns)
    scheduled = [
        one
        for one in world.releases(begin, moment_at(week.generated_ns) + timedelta(days=MOST_DAYS))
        if one.subject in series and moment_ns(one.at) > week.deadline_ns
    ]
    daily: dict[str, list[Scheduled]] = defaultdict(list)
    found: dict[str, ScheduledRelease] = {}
    for one in scheduled:
        if series[one.subject].frequency == "day":
            daily[one.subject].append(one)
            continue
        horizon = horizon_of(week, one)
        due = moment_ns(one.at) <= week.ends_ns
        release = ScheduledRelease(series[one.subject], one, "week" if due else horizon, due)
        found.setdefault(release.key, release)
    for subject, days in daily.items():
        for one in _days_asked(week, sorted(days, key=lambda day: day.period)):
            release = ScheduledRelease(series[subject], one, horizon_of(week, one), due=False)
            found.setdefault(release.key, release)
    return list(found.values())


def _days_asked(week: Week, days: Sequence[Scheduled]) -> Iterator[Scheduled]:
    """Of a market series: the first day after the deadline, and the last ones of months and, far away, of quarters."""
    if horizon_of(week, days[0]) == "week":
        yield days[0]
    last: dict[tuple[int, int], Scheduled] = {(one.period.year, one.period.month): one for one in days}
    for (_, month), one in last.items():
        # Where a calendar is known for a part of a month alone, its last day there is nobody's end of a month.
        if (_month_end(one.period) - one.period).days > END_DAYS:
            continue
        if horizon_of(week, one) == "month" or (horizon_of(week, one) == "quarter" and month % 3 == 0):
            yield one


def horizon_of(week: Week, scheduled: Scheduled) -> Horizon:
    """How far away the expected truth is from the generation: a week (10 days), a month (45) or a quarter."""
    ahead_ns = moment_ns(scheduled.at) - week.generated_ns
    if ahead_ns <= WEEK_DAYS * DAY_NS:
        return "week"
    return "month" if ahead_ns <= MONTH_DAYS * DAY_NS else "quarter"


def _measure(series: MacroSeries) -> Measure:
    """What its tolerance follows from; of an indicator that the paper does not have, as of other macro figures."""
    indicator = taxonomy().indicators.get(series.indicator)
    return "macro" if indicator is None else indicator.measure


def _month_end(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1) - timedelta(days=1)
