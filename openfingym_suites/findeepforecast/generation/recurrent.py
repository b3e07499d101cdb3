"""Generating recurrent problems: calendars say what will be disclosed, and templates ask for its figures.

Macro: every release of a monthly or quarterly series that is scheduled between this deadline and the next. Besides,
until the week's share is filled: closes of market series on the first day after the deadline, at the end of a month or
of a quarter, and releases that are further away. Corporate: companies whose report is scheduled between this deadline
and the next, at most a share of those of a market; their metrics are drawn from the categories in turns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from openfingym.questions.question import Measure, moment_at, moment_ns
from openfingym_suites.findeepforecast.generation import templates
from openfingym_suites.findeepforecast.generation.keys import figure_key
from openfingym_suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym_suites.findeepforecast.generation.sampling import by_turns, companies_drawn, evenly, lot
from openfingym_suites.findeepforecast.problem import Figure, ForecastProblem, Horizon
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import Company, KnownWorld, MacroSeries, Scheduled
from openfingym_suites.findeepforecast.world.periods import month_end

LEVEL = "level"
"""The one measure of a macro series."""
MOST_DAYS = 100
"""The most days from the generation to the expected truth."""
END_DAYS = 4
"""The most days by which the last trading day of a month may be before its end."""
SAME = 3
"""How many last prints must be the same for a figure not to be asked for, since it does not change."""
UNKNOWN, CONSTANT = "no earlier figure", "unchanging figure"
"""Reasons why a figure is not asked for."""


@dataclass(frozen=True)
class ScheduledRelease:
    """A scheduled figure of a macro series that could be asked for."""

    series: MacroSeries
    scheduled: Scheduled
    horizon: Horizon
    due: bool
    """Whether it is a statistical release between the week's deadline and the next; these come before all others."""

    @property
    def figure(self) -> Figure:
        """The figure that is released."""
        return Figure(self.series.id, LEVEL, self.scheduled.period)

    @property
    def key(self) -> str:
        """The key of a problem about it."""
        return figure_key(self.figure, self.horizon)


@dataclass(frozen=True)
class CalendarGenerator:
    """The library's own recurrent generator."""

    share: float = 0.3
    """The largest share of the companies of a market that report in a week, that is asked about."""
    metrics: int = 12
    """The most metrics of a report that are asked for."""
    home: str = "US"
    """The market in which series that belong to no single economy are asked."""

    def capacity(self, world: KnownWorld, week: Week, asked: Collection[str], seed: int) -> Mapping[Stratum, int]:
        """See :class:`~openfingym_suites.findeepforecast.generation.protocols.RecurrentGenerator`."""
        releases = (release for release in _releases(world, week) if release.key not in asked)
        capacity = Counter(self._macro(release.series.economy) for release in releases)
        for market, reports in _reporting(world, week, seed).items():
            drawn = companies_drawn(len(reports), self.share)
            capacity[Stratum("recurrent corporate", market)] = drawn * self.metrics
        return capacity

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym_suites.findeepforecast.generation.protocols.RecurrentGenerator`."""
        refused = Counter[str]()
        releases = defaultdict(list)
        for release in _releases(world, week):
            if release.key not in asked:
                releases[self._macro(release.series.economy)].append(release)
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
        """The stratum in which a series of an economy is asked."""
        return Stratum("recurrent macro", self.home if economy == "GLOBAL" else economy)

    def _drawn_macro(
        self, world: KnownWorld, week: Week, order: Sequence[ScheduledRelease], count: int, refused: Counter[str]
    ) -> Iterator[ForecastProblem]:
        """Problems about the first releases in an order that can be asked for, so many of them."""
        drawn = 0
        for release in order:
            if drawn == count:
                return
            if not _askable(world, release.figure, refused):
                continue
            drawn += 1
            series, scheduled = release.series, release.scheduled
            yield ForecastProblem(
                key=release.key,
                text=templates.macro_text(release.key, series, scheduled),
                track="recurrent",
                level="macro",
                market=self._macro(series.economy).market,
                horizon=release.horizon,
                subtype=series.indicator,
                about=release.figure,
                generated_ns=week.generated_ns,
                deadline_ns=week.deadline_ns,
                settled_ns=moment_ns(scheduled.at),
                unit=series.unit,
                measure=_measure(series),
                details=templates.macro_details(series, scheduled),
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
        """Problems about metrics of the first companies in the drawn order; their numbers differ by one at most.

        Args:
            world: what is known when the week is generated.
            week: the week that asks.
            reports: companies that report, with their reports, in the drawn order.
            count: how many problems are wanted.
            seed: seed of the season.
            refused: counts figures that cannot be asked for, by the reason.
        """
        companies = reports[: min(companies_drawn(len(reports), self.share), count)]
        if not companies:
            return
        # `turn` counts all metrics of the market, so that each company begins with another category.
        turn, missing = 0, 0
        for (company, report), share in zip(companies, evenly(count, len(companies)), strict=True):
            # What one company lacks, the next one makes up for, up to its own limit.
            allowed = min(share + missing, self.metrics)
            missing += share - allowed
            for metric in _metrics(world, company, report, allowed, turn, seed, refused):
                turn, allowed = turn + 1, allowed - 1
                yield _corporate_problem(week, company, report, metric)
            missing += allowed


def _corporate_problem(week: Week, company: Company, report: Scheduled, metric: str) -> ForecastProblem:
    entry, figure = read_taxonomy().metrics[metric], Figure(company.symbol, metric, report.period)
    # The horizon of a report's figures is a quarter, however soon the report comes (table 16 of the paper).
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
    """Metrics of a company that can be asked for, from one category after another.

    Args:
        world: what is known when the week is generated.
        company: the company that reports.
        report: its report, as the calendar has it.
        count: the most metrics to choose.
        turn: how many categories the first one is behind the market's own first one.
        seed: seed of the season.
        refused: counts figures that cannot be asked for, by the reason.
    """
    known, entries = world.metrics(company.symbol), read_taxonomy().metrics
    categories = list(dict.fromkeys(entry.category for entry in entries.values()))
    first = (lot(seed, "category", company.economy) + turn) % len(categories)
    by_category: dict[str, list[str]] = {name: [] for name in (*categories[first:], *categories[:first])}
    for metric in sorted(known, key=lambda name: lot(seed, company.symbol, report.period, name)):
        if metric in entries:
            by_category[entries[metric].category].append(metric)
    chosen: list[str] = []
    while len(chosen) < count and any(by_category.values()):
        for metrics in by_category.values():
            # One metric of each category in a round; one that cannot be asked for does not use up the turn.
            while metrics and len(chosen) < count:
                metric = metrics.pop(0)
                if _askable(world, Figure(company.symbol, metric, report.period), refused):
                    chosen.append(metric)
                    break
    return chosen


def _askable(world: KnownWorld, figure: Figure, refused: Counter[str]) -> bool:
    """Whether there is something to forecast: the figure has earlier prints, and they change. If not, it is counted."""
    past = [published.value for published in world.history(figure.subject, figure.measure, SAME)]
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
    """What is due in the week first; then horizons in turns, and within each the series that were asked for least.

    Args:
        releases: the releases that could be asked for.
        asked: keys of the season's earlier problems.
        seed: seed of the season.
        week: the week that asks.
    """
    # A key begins with its series and ends with its horizon.
    counts = Counter((key.partition(".")[0], key.rpartition(".")[2]) for key in asked)

    def draw(release: ScheduledRelease) -> int:
        # A lot has 64 bits: the count decides, and the lot among equal counts.
        return (counts[release.series.id, release.horizon] << 64) + lot(seed, week.name, release.key)

    due = (release for release in releases if release.due)
    others = (release for release in releases if not release.due)
    in_turns = by_turns(due, lambda release: release.series.indicator, draw)
    return in_turns + by_turns(others, lambda release: release.horizon, draw)


def _reporting(world: KnownWorld, week: Week, seed: int) -> dict[str, list[tuple[Company, Scheduled]]]:
    """Companies that report between this deadline and the next, with their reports, by market.

    They are in a drawn order in which sectors take turns.
    """
    companies = {company.symbol: company for company in world.companies()}
    by_market: dict[str, dict[str, tuple[Company, Scheduled]]] = defaultdict(dict)
    for report in world.reports(moment_at(week.deadline_ns), moment_at(week.ends_ns)):
        company = companies.get(report.subject)
        if company is not None and moment_ns(report.at) > week.deadline_ns:
            # The first report of a company that is due in the week.
            by_market[company.economy].setdefault(company.symbol, (company, report))
    return {market: _drawn(list(reports.values()), week, seed) for market, reports in by_market.items()}


def _drawn(reports: Sequence[tuple[Company, Scheduled]], week: Week, seed: int) -> list[tuple[Company, Scheduled]]:
    def sector(row: tuple[Company, Scheduled]) -> str:
        return row[0].sector

    def draw(row: tuple[Company, Scheduled]) -> int:
        return lot(seed, week.name, row[0].economy, row[0].symbol)

    return by_turns(reports, sector, draw)


def _releases(world: KnownWorld, week: Week) -> list[ScheduledRelease]:
    """All releases of macro series that could be asked for in a week."""
    series = {listed.id: listed for listed in world.series()}
    begin, end = moment_at(week.deadline_ns), moment_at(week.generated_ns) + timedelta(days=MOST_DAYS)
    daily: dict[str, list[Scheduled]] = defaultdict(list)
    releases: dict[str, ScheduledRelease] = {}
    for scheduled in world.releases(begin, end):
        # A release at the very deadline would be known to whoever answers last.
        if scheduled.subject not in series or moment_ns(scheduled.at) <= week.deadline_ns:
            continue
        if series[scheduled.subject].frequency == "day":
            daily[scheduled.subject].append(scheduled)
            continue
        due = moment_ns(scheduled.at) <= week.ends_ns
        horizon = "week" if due else _horizon(week, scheduled)
        release = ScheduledRelease(series[scheduled.subject], scheduled, horizon, due)
        releases.setdefault(release.key, release)
    for subject, days in daily.items():
        for day in _days_asked(week, sorted(days, key=lambda day: day.period)):
            release = ScheduledRelease(series[subject], day, _horizon(week, day), due=False)
            releases.setdefault(release.key, release)
    return list(releases.values())


def _days_asked(week: Week, days: Sequence[Scheduled]) -> Iterator[Scheduled]:
    """The days of a market series that are asked about: the first one after the deadline, the last one of a month that
    is a month away, and the last one of a quarter that is further away.

    Args:
        week: the week that asks.
        days: the days that the calendar has of the series, at least one, in their order.
    """
    if _horizon(week, days[0]) == "week":
        yield days[0]
    last = {(day.period.year, day.period.month): day for day in days}
    for (year, month), day in last.items():
        # If the calendar only reaches into a month, the last day that it has there is not the end of the month.
        if (month_end(year, month) - day.period).days > END_DAYS:
            continue
        horizon = _horizon(week, day)
        if horizon == "month" or (horizon == "quarter" and month % 3 == 0):
            yield day


def _horizon(week: Week, scheduled: Scheduled) -> Horizon:
    return week.horizon(moment_ns(scheduled.at))


def _measure(series: MacroSeries) -> Measure:
    """What the tolerance of a series follows from; an indicator that is not the paper's counts as a macro figure."""
    indicator = read_taxonomy().indicators.get(series.indicator)
    return "macro" if indicator is None else indicator.measure
