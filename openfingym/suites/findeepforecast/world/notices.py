"""What offices, exchanges and companies say themselves: a short text of each release, report and changed date.

They are official and of no story. Polls of economists are not official; they know of a release before it comes what
such polls know, and so do companies of their next quarter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.macro import Release, closed_day
from openfingym.suites.findeepforecast.world.periods import MONTHS, label
from openfingym.suites.findeepforecast.world.reports import QuarterlyReport, utc_time
from openfingym.suites.findeepforecast.world.size import BY_CODE, WorldSize
from openfingym.suites.findeepforecast.world.statistics import SimulatedStatistic
from openfingym.suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.suites.findeepforecast.world.books import Floats

POLLSTER = "Marlow Poll of Economists"
TOLD = (
    "Revenue", "Gross Profit", "Operating Income", "EBITDA", "Net Income", "EPS (Basic)", "EPS (Diluted)",
    "Cash From Operations", "Capital Expenditure", "Free Cash Flow", "Cash and Equivalents", "Inventory",
    "Short and Long Term Debt", "Total Loans", "Total Deposits", "Total Assets", "Total Equity",
)  # fmt: skip
"""Items that the text of a report names; the others are in its tables."""
GUIDES, GUIDED = 0.45, 0.02
"""Share of companies that say what revenue they expect of the next quarter, and how far off they are."""
YEARS_OF_TEXTS = 2
"""How long before the season texts begin."""


@dataclass(frozen=True)
class Notice:
    """A text, and when it was published."""

    name: str
    at: datetime
    source: str
    official: bool
    subject: str
    title: str
    body: str


def notices_frame(
    size: WorldSize,
    seed: int,
    reports: Sequence[QuarterlyReport],
    figures: Mapping[str, Floats],
    releases: Sequence[Release],
) -> pd.DataFrame:
    """Rows of the table ``news``: texts without a story."""
    import pandas as pd

    first = utc_time(size.season - timedelta(days=366 * YEARS_OF_TEXTS), "00:00", "UTC")
    found = [*_of_reports(seed, reports, figures), *_of_releases(seed, releases), *_of_weeks(releases)]
    found.append(_storm(size, seed))
    kept = sorted((one for one in found if one.at >= first), key=lambda one: (one.at, one.name))
    last = utc_time(size.last_day + timedelta(days=1), "00:00", "UTC")
    rows = [
        (one.name, one.at, one.source, one.official, one.subject, "", one.title, one.body, one.at)
        for one in kept
        if one.at < last
    ]
    columns = ["id", "published_at", "source", "official", "subject", "story", "title", "body", "known_at"]
    return pd.DataFrame(rows, columns=columns)


def _of_reports(seed: int, reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats]) -> Iterator[Notice]:
    rng = stream(seed, "guidance")
    guides = rng.uniform(size=max(report.firm.number for report in reports) + 1) < GUIDES
    off = rng.standard_normal((len(guides), figures["Revenue"].shape[1] + 1))
    for report in reports:
        firm, name = report.firm, f"{report.firm.symbol}-{report.label.replace(' ', '')}"
        who = f"{firm.name} ({firm.symbol})"
        for number, (new, known) in enumerate(report.dates[1:], start=1):
            old = report.dates[number - 1][0]
            if new != known:
                yield Notice(f"date-{name}-{number}", known, firm.name, True, firm.symbol,
                             f"{who} moves its report of {report.label} to {_clock(new, firm.economy.zone)}",
                             f"{who} will publish its report of {report.label} on {_clock(new, firm.economy.zone)}, "
                             f"and not on {_clock(old, firm.economy.zone)} as it said before.")  # fmt: skip
        if report.published is None:
            continue
        body = _said(report, figures)
        if guides[firm.number] and report.quarter + 1 < figures["Revenue"].shape[1]:
            coming = figures["Revenue"][firm.number, report.quarter + 1]
            middle = coming * (1 + GUIDED * off[firm.number, report.quarter])
            body += (f" For the next quarter {firm.name} expects revenue between {_number(0.975 * middle, 0)} and "
                     f"{_number(1.025 * middle, 0)} million {firm.economy.currency}.")  # fmt: skip
        revenue = (
            f"{_number(float(figures['Revenue'][firm.number, report.quarter]), 1)} million {firm.economy.currency}"
        )
        yield Notice(f"report-{name}", report.published, firm.name, True, firm.symbol,
                     f"{who} reports {report.label}: revenue {revenue}", body)  # fmt: skip
        if report.restated is not None:
            yield Notice(f"restated-{name}", report.restated, firm.name, True, firm.symbol,
                         f"{who} restates its report of {report.label}",
                         f"{who} has restated its report of {report.label}: a part of the revenue, first given as "
                         f"{revenue}, was taken back. Profit, receivables and equity are lower too.")  # fmt: skip


def _said(report: QuarterlyReport, figures: Mapping[str, Floats]) -> str:
    firm, place = report.firm, (report.firm.number, report.quarter)
    year = report.quarter - 4
    end = report.period_end
    day = f"{end.day} {MONTHS[end.month]} {end.year}"
    parts = [f"{firm.name} ({firm.symbol}) has published its report of {report.label}, the quarter to {day}."]
    for item in TOLD:
        if item not in figures or np.isnan(figures[item][place]):
            continue
        unit = taxonomy().metric(item).unit(firm.economy.currency)
        decimals = 2 if item.startswith("EPS") else 1
        text = f"{item}: {_number(float(figures[item][place]), decimals)} {unit}"
        before = float(figures[item][firm.number, year]) if year >= 1 else float("nan")
        parts.append(f"{text} (a year before {_number(before, decimals)})." if not np.isnan(before) else f"{text}.")
    return " ".join(parts)


def _of_releases(seed: int, releases: Sequence[Release]) -> Iterator[Notice]:
    before: dict[str, Release] = {}
    pairs = enumerate(itertools.pairwise(releases))
    following = {place: other for place, (one, other) in pairs if one.statistic.id == other.statistic.id}
    for place, release in enumerate(releases):
        one = release.statistic
        if one.frequency == "day":
            continue
        yield from _moved(release)
        if release.prints:
            earlier = before.get(one.id)
            yield from _poll(seed, release, earlier)
            yield _published(release, earlier, following.get(place))
            for number, (value, when) in enumerate(release.prints[1:], start=1):
                period = label(release.period_end, one.frequency)
                yield Notice(f"revised-{_name(release)}-{number}", when, one.authority, True, _subject(one),
                             f"Revised: {one.title} for {period} is {_with_unit(one, value)}",
                             f"{one.authority} revised {one.title} for {period} to {_with_unit(one, value)}. It was "
                             f"first given as {_with_unit(one, release.prints[0][0])}.")  # fmt: skip
        before[one.id] = release


def _published(release: Release, earlier: Release | None, following: Release | None) -> Notice:
    one, period = release.statistic, label(release.period_end, release.statistic.frequency)
    value, when = release.prints[0]
    zone = BY_CODE[one.home].zone
    body = f"{one.authority} has published {one.title} for {period}: {_with_unit(one, value)}."
    if earlier is not None and earlier.prints and earlier.prints[0][1] < when:
        stands = [known for known in earlier.prints if known[1] <= when][-1][0]
        body += f" The figure for {label(earlier.period_end, one.frequency)} stands at {_with_unit(one, stands)}."
    if following is not None:
        dates = [planned for planned, told in following.dates if told <= when]
        if dates:
            body += (f" The next release, for {label(following.period_end, one.frequency)}, is scheduled for "
                     f"{_clock(dates[-1], zone)}.")  # fmt: skip
    return Notice(f"release-{_name(release)}", when, one.authority, True, _subject(one),
                  f"{one.title} for {period}: {_with_unit(one, value)}", body)  # fmt: skip


def _moved(release: Release) -> Iterator[Notice]:
    one, zone = release.statistic, BY_CODE[release.statistic.home].zone
    for number, (new, known) in enumerate(release.dates[1:], start=1):
        period, old = label(release.period_end, one.frequency), release.dates[number - 1][0]
        yield Notice(f"date-{_name(release)}-{number}", known, one.authority, True, _subject(one),
                     f"{one.authority} moves the release of {one.title} for {period}",
                     f"{one.title} for {period} will be published on {_clock(new, zone)}, and not on "
                     f"{_clock(old, zone)}.")  # fmt: skip


def _poll(seed: int, release: Release, earlier: Release | None) -> Iterator[Notice]:
    """A poll before a release: about half of what is new in it is known to economists."""
    if earlier is None or not earlier.prints:
        return
    one = release.statistic
    rng = stream(seed, "poll", one.id, release.period_end)
    value, when = release.prints[0]
    step = abs(one.start if one.form in {"rate", "level"} else value) * (one.noise or 0.01)
    step = max(0.1, step) if one.form == "yearly" else step
    expected = round(value + 0.5 * step * float(rng.standard_normal()), one.decimals) + 0.0
    told = utc_time(when.date() - timedelta(days=int(rng.integers(3, 7))), "12:00", "UTC")
    if told <= earlier.prints[0][1]:
        return
    period = label(release.period_end, one.frequency)
    yield Notice(f"poll-{_name(release)}", told, POLLSTER, False, _subject(one),
                 f"Poll: economists see {one.title} for {period} at {_with_unit(one, expected)}",
                 f"Economists expect {one.title} for {period} at {_with_unit(one, expected)}, the median of those that "
                 f"were asked. The figure for {label(earlier.period_end, one.frequency)} was first given as "
                 f"{_with_unit(one, earlier.prints[0][0])}.")  # fmt: skip


def _of_weeks(releases: Sequence[Release]) -> Iterator[Notice]:
    """What the markets of an economy closed at in a week, after its last session."""
    weeks: dict[tuple[str, tuple[int, int]], dict[str, tuple[SimulatedStatistic, float, date, datetime]]] = {}
    for release in releases:
        one = release.statistic
        if one.frequency == "day" and release.prints:
            (value, when) = release.prints[0]
            key = (one.economy, release.period_end.isocalendar()[:2])
            weeks.setdefault(key, {})[one.id] = (one, value, release.period_end, when)
    for (economy, (year, week)), found in weeks.items():
        when = max(when for *_, when in found.values()) + timedelta(minutes=30)
        day = max(day for _, _, day, _ in found.values())
        name = "the world" if economy not in BY_CODE else BY_CODE[economy].name
        lines = "; ".join(f"{one.title}: {_with_unit(one, value)}" for one, value, _, _ in found.values())
        yield Notice(f"week-{economy}-{year}W{week:02d}", when, f"Market Data Service of {name}", True,
                     "" if economy not in BY_CODE else economy,
                     f"Markets of {name} in the week to {day.day} {MONTHS[day.month]} {day.year}",
                     f"Last values of the week to {day.day} {MONTHS[day.month]} {day.year}. {lines}.")  # fmt: skip


def _storm(size: WorldSize, seed: int) -> Notice:
    day = closed_day(size, seed)
    published = utc_time(day, "05:40", "Asia/Hong_Kong")
    return Notice(f"closed-HK-{day}", published, "Stock Exchange of Hong Kong", True, "HK",
                  f"Markets of Hong Kong stay closed on {day.day} {MONTHS[day.month]} {day.year}",
                  "A typhoon signal is in force, and there will be no session today. No closing values of today will "
                  "be published.")  # fmt: skip


def _name(release: Release) -> str:
    return f"{release.statistic.id.replace(':', '-')}-{release.period_end}"


def _subject(one: SimulatedStatistic) -> str:
    return one.economy if one.economy in BY_CODE else ""


def _with_unit(one: SimulatedStatistic, value: float) -> str:
    return f"{_number(value, one.decimals)} {one.unit}"


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def _clock(time: datetime, zone: str) -> str:
    local = time.astimezone(ZoneInfo(zone))
    return (
        f"{local.day} {MONTHS[local.month]} {local.year}, {local:%H:%M} local time ({time.astimezone(UTC):%H:%M} UTC)"
    )
