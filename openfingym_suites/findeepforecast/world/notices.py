"""What offices, exchanges and companies publish themselves: a short text on each release, report and changed date.

These texts are official and belong to no story. Polls of economists are not official. A poll knows a part of what a
release will say, and so does a company that says what revenue it expects of its next quarter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.macro import Release, closed_day
from openfingym_suites.findeepforecast.world.periods import MONTHS, label
from openfingym_suites.findeepforecast.world.reports import QuarterlyReport, utc_time
from openfingym_suites.findeepforecast.world.size import BY_CODE, WorldSize
from openfingym_suites.findeepforecast.world.statistics import SimulatedStatistic
from openfingym_suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_suites.findeepforecast.world.books import Floats

POLLSTER = "Marlow Poll of Economists"
"""Source of polls; it does not exist."""
ITEMS_IN_TEXT = (
    "Revenue", "Gross Profit", "Operating Income", "EBITDA", "Net Income", "EPS (Basic)", "EPS (Diluted)",
    "Cash From Operations", "Capital Expenditure", "Free Cash Flow", "Cash and Equivalents", "Inventory",
    "Short and Long Term Debt", "Total Loans", "Total Deposits", "Total Assets", "Total Equity",
)  # fmt: skip
"""Items that the text of a report names; the others are in its tables alone."""
GUIDANCE_SHARE, GUIDANCE_ERROR = 0.45, 0.02
"""Share of the companies that say what revenue they expect of the next quarter, and the standard deviation of the error
in the middle of the range that they give, as a share of that revenue.
"""
YEARS_OF_TEXTS = 2
"""How many years before the season the texts begin."""


@dataclass(frozen=True)
class Notice:
    """A text that is no part of a story."""

    name: str
    """Id of the text, by which it is opened."""
    at: datetime
    """The time at which it is published, in UTC."""
    source: str
    """Name of the office, exchange, company or pollster that publishes it."""
    official: bool
    """Whether it comes from an authority or from the company itself."""
    subject: str
    """Code of the economy or symbol of the company that it is about; empty if it is about the whole world."""
    title: str
    """Its title."""
    body: str
    """Its text."""


def notices_frame(
    size: WorldSize,
    seed: int,
    reports: Sequence[QuarterlyReport],
    figures: Mapping[str, Floats],
    releases: Sequence[Release],
    until: datetime | None = None,
) -> pd.DataFrame:
    """Rows of the table ``news`` that belong to no story, in the order in which they were published.

    Args:
        size: the days of the world and of its season.
        seed: the number from which every random draw of the world follows.
        reports: the reports of all companies.
        figures: figures of the books by item, each float64[companies, quarters].
        releases: the releases of all series.
        until: the time before which texts are published; None for the end of the world's last day.
    """
    import pandas as pd

    first = utc_time(size.season - timedelta(days=366 * YEARS_OF_TEXTS), "00:00", "UTC")
    end = until or utc_time(size.last_day + timedelta(days=1), "00:00", "UTC")
    notices = [
        *_report_notices(seed, reports, figures, first, end),
        *_release_notices(seed, releases),
        *_week_notices(releases),
    ]
    notices.append(_storm_notice(size, seed))
    published = sorted(
        (notice for notice in notices if first <= notice.at < end), key=lambda notice: (notice.at, notice.name)
    )
    rows = [
        (
            notice.name,
            notice.at,
            notice.source,
            notice.official,
            notice.subject,
            "",
            notice.title,
            notice.body,
            notice.at,
        )
        for notice in published
    ]
    columns = ["id", "published_at", "source", "official", "subject", "story", "title", "body", "known_at"]
    return pd.DataFrame(rows, columns=columns)


def _report_notices(
    seed: int, reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats], first: datetime, end: datetime
) -> Iterator[Notice]:
    """The texts of companies: dates that are moved, reports, and restatements; reports from one time to another."""
    rng = stream(seed, "guidance")
    # By number of the company, and by quarter.
    guides = rng.uniform(size=max(report.firm.number for report in reports) + 1) < GUIDANCE_SHARE
    errors = rng.standard_normal((len(guides), figures["Revenue"].shape[1] + 1))
    for report in reports:
        firm, name = report.firm, f"{report.firm.symbol}-{report.label.replace(' ', '')}"
        who = f"{firm.name} ({firm.symbol})"
        for number, (new, known) in enumerate(report.dates[1:], start=1):
            old = report.dates[number - 1][0]
            # A report that comes early, at the time at which its date becomes known, needs no notice of the date.
            if new != known:
                yield Notice(f"date-{name}-{number}", known, firm.name, True, firm.symbol,
                             f"{who} moves its report of {report.label} to {_clock(new, firm.economy.zone)}",
                             f"{who} will publish its report of {report.label} on {_clock(new, firm.economy.zone)}, "
                             f"and not on {_clock(old, firm.economy.zone)} as it said before.")  # fmt: skip
        if report.published is None:
            continue
        revenue = (
            f"{_number(float(figures['Revenue'][firm.number, report.quarter]), 1)} million {firm.economy.currency}"
        )
        if report.restated is not None:
            yield Notice(f"restated-{name}", report.restated, firm.name, True, firm.symbol,
                         f"{who} restates its report of {report.label}",
                         f"{who} has restated its report of {report.label}: a part of the revenue, first given as "
                         f"{revenue}, was taken back. Profit, receivables and equity are lower too.")  # fmt: skip
        # Most of the time goes into these texts, of which none is wanted that nobody sees.
        if not first <= report.published < end:
            continue
        body = _report_text(report, figures)
        if guides[firm.number] and report.quarter + 1 < figures["Revenue"].shape[1]:
            coming = figures["Revenue"][firm.number, report.quarter + 1]
            middle = coming * (1 + GUIDANCE_ERROR * errors[firm.number, report.quarter])
            body += (f" For the next quarter {firm.name} expects revenue between {_number(0.975 * middle, 0)} and "
                     f"{_number(1.025 * middle, 0)} million {firm.economy.currency}.")  # fmt: skip
        yield Notice(f"report-{name}", report.published, firm.name, True, firm.symbol,
                     f"{who} reports {report.label}: revenue {revenue}", body)  # fmt: skip


def _report_text(report: QuarterlyReport, figures: Mapping[str, Floats]) -> str:
    """The text of a report, with the figures of the same quarter a year before."""
    firm, place = report.firm, (report.firm.number, report.quarter)
    year_before = report.quarter - 4
    end = report.period_end
    day = f"{end.day} {MONTHS[end.month]} {end.year}"
    parts = [f"{firm.name} ({firm.symbol}) has published its report of {report.label}, the quarter to {day}."]
    for item in ITEMS_IN_TEXT:
        if item not in figures or np.isnan(figures[item][place]):
            continue
        unit = read_taxonomy().metric(item).unit(firm.economy.currency)
        decimals = 2 if item.startswith("EPS") else 1
        text = f"{item}: {_number(float(figures[item][place]), decimals)} {unit}"
        # Quarter 0 of the books has no report, so nothing is compared with it.
        before = float(figures[item][firm.number, year_before]) if year_before >= 1 else float("nan")
        parts.append(f"{text} (a year before {_number(before, decimals)})." if not np.isnan(before) else f"{text}.")
    return " ".join(parts)


def _release_notices(seed: int, releases: Sequence[Release]) -> Iterator[Notice]:
    """The texts on monthly and quarterly series: dates that are moved, polls, releases, and revisions."""
    before: dict[str, Release] = {}
    # Releases are in the order of their series, and of each series by period. The key is a release's place among them.
    following = {
        place: next_one
        for place, (release, next_one) in enumerate(itertools.pairwise(releases))
        if release.statistic.id == next_one.statistic.id
    }
    for place, release in enumerate(releases):
        statistic = release.statistic
        if statistic.frequency == "day":
            continue
        yield from _moved_notices(release)
        if release.prints:
            earlier = before.get(statistic.id)
            yield from _poll_notice(seed, release, earlier)
            yield _release_notice(release, earlier, following.get(place))
            period, first = label(release.period_end, statistic.frequency), release.prints[0][0]
            for number, (value, when) in enumerate(release.prints[1:], start=1):
                yield Notice(f"revised-{_name(release)}-{number}", when, statistic.authority, True, _subject(statistic),
                             f"Revised: {statistic.title} for {period} is {_with_unit(statistic, value)}",
                             f"{statistic.authority} revised {statistic.title} for {period} to "
                             f"{_with_unit(statistic, value)}. It was first given as "
                             f"{_with_unit(statistic, first)}.")  # fmt: skip
        before[statistic.id] = release


def _release_notice(release: Release, earlier: Release | None, following: Release | None) -> Notice:
    """The text of a release.

    Args:
        release: the release.
        earlier: the release of the period before; None if there is none.
        following: the release of the next period; None if there is none.
    """
    statistic, period = release.statistic, label(release.period_end, release.statistic.frequency)
    value, when = release.prints[0]
    zone = BY_CODE[statistic.home].zone
    body = f"{statistic.authority} has published {statistic.title} for {period}: {_with_unit(statistic, value)}."
    # Only what is known at the time of the release may be in its text: the figure of the period before as it stands
    # then, and the date of the next release as it is announced then.
    if earlier is not None and earlier.prints and earlier.prints[0][1] < when:
        stands = [known for known in earlier.prints if known[1] <= when][-1][0]
        body += (f" The figure for {label(earlier.period_end, statistic.frequency)} stands at "
                 f"{_with_unit(statistic, stands)}.")  # fmt: skip
    if following is not None:
        dates = [planned for planned, announced in following.dates if announced <= when]
        if dates:
            body += (f" The next release, for {label(following.period_end, statistic.frequency)}, is scheduled for "
                     f"{_clock(dates[-1], zone)}.")  # fmt: skip
    return Notice(f"release-{_name(release)}", when, statistic.authority, True, _subject(statistic),
                  f"{statistic.title} for {period}: {_with_unit(statistic, value)}", body)  # fmt: skip


def _moved_notices(release: Release) -> Iterator[Notice]:
    """A text for each time at which a release is moved."""
    statistic, zone = release.statistic, BY_CODE[release.statistic.home].zone
    for number, (new, known) in enumerate(release.dates[1:], start=1):
        period, old = label(release.period_end, statistic.frequency), release.dates[number - 1][0]
        yield Notice(f"date-{_name(release)}-{number}", known, statistic.authority, True, _subject(statistic),
                     f"{statistic.authority} moves the release of {statistic.title} for {period}",
                     f"{statistic.title} for {period} will be published on {_clock(new, zone)}, and not on "
                     f"{_clock(old, zone)}.")  # fmt: skip


def _poll_notice(seed: int, release: Release, earlier: Release | None) -> Iterator[Notice]:
    """A poll before a release: about half of what is new in it is known to economists.

    Args:
        seed: the number from which every random draw of the world follows.
        release: the release, which is published.
        earlier: the release of the period before; None if there is none, for which there is no poll.
    """
    if earlier is None or not earlier.prints:
        return
    statistic = release.statistic
    rng = stream(seed, "poll", statistic.id, release.period_end)
    value, when = release.prints[0]
    # The error is half of a usual step from one period to the next. Series that are changes themselves may be near 0,
    # so that a share of their value says nothing: theirs is at least 0.1 percentage points.
    step = abs(statistic.start if statistic.form in {"rate", "level"} else value) * (statistic.noise or 0.01)
    step = max(0.1, step) if statistic.form == "yearly" else step
    expected = round(value + 0.5 * step * float(rng.standard_normal()), statistic.decimals) + 0.0
    published = utc_time(when.date() - timedelta(days=int(rng.integers(3, 7))), "12:00", "UTC")
    # No poll before the figure of the period before is there, which it states.
    if published <= earlier.prints[0][1]:
        return
    period = label(release.period_end, statistic.frequency)
    yield Notice(f"poll-{_name(release)}", published, POLLSTER, False, _subject(statistic),
                 f"Poll: economists see {statistic.title} for {period} at {_with_unit(statistic, expected)}",
                 f"Economists expect {statistic.title} for {period} at {_with_unit(statistic, expected)}, the median "
                 f"of those that were asked. The figure for {label(earlier.period_end, statistic.frequency)} was first "
                 f"given as {_with_unit(statistic, earlier.prints[0][0])}.")  # fmt: skip


def _week_notices(releases: Sequence[Release]) -> Iterator[Notice]:
    """The last values of a week of an economy's daily series, half an hour after the last of them is known."""
    # By economy and ISO week, and by series, of which later days of the week replace earlier ones.
    weeks: dict[tuple[str, tuple[int, int]], dict[str, tuple[SimulatedStatistic, float, date, datetime]]] = {}
    for release in releases:
        statistic = release.statistic
        if statistic.frequency == "day" and release.prints:
            (value, when) = release.prints[0]
            key = (statistic.economy, release.period_end.isocalendar()[:2])
            weeks.setdefault(key, {})[statistic.id] = (statistic, value, release.period_end, when)
    for (economy, (year, week)), values in weeks.items():
        published = max(when for *_, when in values.values()) + timedelta(minutes=30)
        day = max(day for _, _, day, _ in values.values())
        name = "the world" if economy not in BY_CODE else BY_CODE[economy].name
        lines = "; ".join(f"{series.title}: {_with_unit(series, value)}" for series, value, _, _ in values.values())
        yield Notice(f"week-{economy}-{year}W{week:02d}", published, f"Market Data Service of {name}", True,
                     "" if economy not in BY_CODE else economy,
                     f"Markets of {name} in the week to {day.day} {MONTHS[day.month]} {day.year}",
                     f"Last values of the week to {day.day} {MONTHS[day.month]} {day.year}. {lines}.")  # fmt: skip


def _storm_notice(size: WorldSize, seed: int) -> Notice:
    """The text by which the storm becomes known that closes Hong Kong's markets, early on its day."""
    day = closed_day(size, seed)
    published = utc_time(day, "05:40", "Asia/Hong_Kong")
    return Notice(f"closed-HK-{day}", published, "Stock Exchange of Hong Kong", True, "HK",
                  f"Markets of Hong Kong stay closed on {day.day} {MONTHS[day.month]} {day.year}",
                  "A typhoon signal is in force, and there will be no session today. No closing values of today will "
                  "be published.")  # fmt: skip


def _name(release: Release) -> str:
    """A part of ids of texts: the series and the period of a release."""
    return f"{release.statistic.id.replace(':', '-')}-{release.period_end}"


def _subject(statistic: SimulatedStatistic) -> str:
    """Code of the economy that a series is about; empty if it is about the whole world."""
    return statistic.economy if statistic.economy in BY_CODE else ""


def _with_unit(statistic: SimulatedStatistic, value: float) -> str:
    return f"{_number(value, statistic.decimals)} {statistic.unit}"


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def _clock(time: datetime, zone: str) -> str:
    """A time in words, as it is in a time zone and in UTC."""
    local = time.astimezone(ZoneInfo(zone))
    return (
        f"{local.day} {MONTHS[local.month]} {local.year}, {local:%H:%M} local time ({time.astimezone(UTC):%H:%M} UTC)"
    )
