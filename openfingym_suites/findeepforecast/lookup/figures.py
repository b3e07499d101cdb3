"""The tools for figures: which there are, what was published of one, and when more is due."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

from openfingym.suites.calls import BadCallError
from openfingym.suites.lookups import like, near, none_such, plain
from openfingym_suites.findeepforecast.lookup.world import MOST_ROWS, PLACES, SearchedWorld, day_of
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy

DEFAULT_PERIODS = 12
"""How many periods the history of a figure has if no number is asked for."""
DEFAULT_DAYS = 60
"""How many days of the calendar are given if no end is asked for."""
FARTHEST = timedelta(days=1500)
"""How far from the time of the question the calendar can be looked at."""
LEVEL = "level"
"""The one measure of a macro series."""


def find(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``find``, as JSON.

    Args:
        searched: the world as of the time of the question.
        arguments: the checked arguments of the call.
    """
    text, kind, economy, limit = (arguments[name] for name in ("text", "kind", "economy", "limit"))
    assert isinstance(text, str)
    # What is searched for each symbol or id: its name, and what else it is known by.
    names: dict[str, str] = {}
    if kind != "series":
        names |= {
            company.symbol: f"{company.name} {' '.join(company.indices)} {company.sector}"
            for company in searched.companies.values()
            if economy in {"any", company.economy}
        }
    if kind != "company":
        names |= {
            series.id: f"{series.title} {series.indicator} {series.economy}"
            for series in searched.series.values()
            if economy in {"any", series.economy}
        }
    keys = like(text, names, limit if isinstance(limit, int) else 10)
    answer: dict[str, object] = {
        "companies": [_company(searched, key) for key in keys if key in searched.companies],
        "series": [_series(searched, key) for key in keys if key in searched.series],
    }
    if not keys:
        answer["note"] = "nothing has any of these words; try others"
    return answer


def _company(searched: SearchedWorld, symbol: str) -> dict[str, object]:
    company = searched.companies[symbol]
    return {
        "symbol": company.symbol,
        "name": company.name,
        "economy": company.economy,
        "indices": list(company.indices),
        "sector": company.sector,
        "currency": company.currency,
    }


def _series(searched: SearchedWorld, name: str) -> dict[str, object]:
    series = searched.series[name]
    return {
        "id": series.id,
        "title": series.title,
        "indicator": series.indicator,
        "economy": series.economy,
        "unit": series.unit,
        "frequency": series.frequency,
    }


def history(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``history``, as JSON.

    Args:
        searched: the world as of the time of the question.
        arguments: the checked arguments of the call.
    """
    asked, measure, periods = (arguments[name] for name in ("subject", "measure", "periods"))
    assert isinstance(asked, str)
    subject = searched.subject(asked)
    about: dict[str, object]
    if subject in searched.series:
        if measure is not None and str(measure).casefold() != LEVEL:
            raise BadCallError(f"{subject} is a series, which has the measure {LEVEL} alone; leave measure out.")
        chosen, about = LEVEL, _series(searched, subject)
    else:
        metrics = list(searched.world.metrics(subject))
        if measure is None:
            return {**_company(searched, subject), "measures": metrics}
        chosen = _metric(str(measure), metrics, subject)
        unit = read_taxonomy().metric(chosen).unit(searched.companies[subject].currency)
        about = {"symbol": subject, "unit": unit}
    limit = periods if isinstance(periods, int) else DEFAULT_PERIODS
    rows = [
        [published.period.isoformat(), published.value, plain(published.at), published.source]
        for published in searched.world.history(subject, chosen, limit)
    ]
    return {**about, "measure": chosen, "columns": ["period_end", "value", "published", "source"], "rows": rows}


def _metric(asked: str, metrics: list[str], symbol: str) -> str:
    """The metric of a company that a text names, in any case.

    Raises:
        BadCallError: it reports none of that name; the message names similar ones.
    """
    folded = {metric.casefold(): metric for metric in metrics}
    if asked.casefold() in folded:
        return folded[asked.casefold()]
    names = dict.fromkeys(metrics, "")
    if not (like(asked, names) or near(asked, names)):
        raise BadCallError(f"{symbol} reports no {asked!r:.80}; call history without measure for what it reports.")
    raise none_such(f"measure of {symbol}", asked, names)


def calendar(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``calendar``, as JSON.

    Args:
        searched: the world as of the time of the question.
        arguments: the checked arguments of the call.
    """
    asked, start, end = arguments["subject"], day_of(arguments["start"]), day_of(arguments["end"])
    assert isinstance(asked, str)
    if start and end and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    subject, world = searched.subject_or_place(asked), searched.world
    first = world.as_of if start is None else _moment(start, world.as_of)
    # The last day that is asked for is included.
    last = first + timedelta(days=DEFAULT_DAYS) if end is None else _moment(end, world.as_of) + timedelta(days=1)
    if subject in searched.companies:
        due = [scheduled for scheduled in world.reports(first, last) if scheduled.subject == subject]
    else:
        within = {series.id for series in searched.series.values() if subject in {series.id, series.economy}}
        due = [scheduled for scheduled in world.releases(first, last) if scheduled.subject in within]
    rows = [
        [scheduled.subject, scheduled.label, scheduled.period.isoformat(), plain(scheduled.at)]
        for scheduled in due[:MOST_ROWS]
    ]
    answer: dict[str, object] = {"columns": ["subject", "period", "period_end", "scheduled"], "rows": rows}
    if len(due) > MOST_ROWS:
        answer["more_from"] = plain(due[MOST_ROWS].at)
    if not due:
        answer["note"] = "nothing of it is scheduled in these days, as the calendar stands"
    if subject in PLACES:
        answer["of"] = "series; ask for a company's reports by its symbol"
    return answer


def _moment(day: date, as_of: datetime) -> datetime:
    """The beginning of a day in UTC, moved to within :data:`FARTHEST` of the time of the question.

    Otherwise a day such as 9999-12-31 would have no day after it.
    """
    moment = datetime.combine(day, time(0), UTC)
    return min(max(moment, as_of - FARTHEST), as_of + FARTHEST)
