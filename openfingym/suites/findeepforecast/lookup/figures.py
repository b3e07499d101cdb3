"""Figures: what there is, what was published of it, and when more is due."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

from openfingym.suites.calls import BadCallError
from openfingym.suites.findeepforecast.lookup.world import MOST_ROWS, PLACES, SearchedWorld, day_of
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.lookups import like, near, none_such, plain

DEFAULT_PERIODS = 12
DEFAULT_DAYS = 60
FARTHEST = timedelta(days=1500)
"""How far from the time of the question the calendar is looked at."""
LEVEL = "level"
"""The one measure of a series."""


def find(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``find``."""
    text, kind, economy, limit = (arguments[name] for name in ("text", "kind", "economy", "limit"))
    assert isinstance(text, str)
    names: dict[str, str] = {}
    if kind != "series":
        names |= {
            one.symbol: f"{one.name} {' '.join(one.indices)} {one.sector}"
            for one in searched.companies.values()
            if economy in {"any", one.economy}
        }
    if kind != "company":
        names |= {
            one.id: f"{one.title} {one.indicator} {one.economy}"
            for one in searched.series.values()
            if economy in {"any", one.economy}
        }
    found = like(text, names, limit if isinstance(limit, int) else 10)
    answer: dict[str, object] = {
        "companies": [_company(searched, key) for key in found if key in searched.companies],
        "series": [_series(searched, key) for key in found if key in searched.series],
    }
    if not found:
        answer["note"] = "nothing has any of these words; try others"
    return answer


def _company(searched: SearchedWorld, symbol: str) -> dict[str, object]:
    one = searched.companies[symbol]
    return {
        "symbol": one.symbol,
        "name": one.name,
        "economy": one.economy,
        "indices": list(one.indices),
        "sector": one.sector,
        "currency": one.currency,
    }


def _series(searched: SearchedWorld, name: str) -> dict[str, object]:
    one = searched.series[name]
    return {
        "id": one.id,
        "title": one.title,
        "indicator": one.indicator,
        "economy": one.economy,
        "unit": one.unit,
        "frequency": one.frequency,
    }


def history(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``history``."""
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
        unit = taxonomy().metric(chosen).unit(searched.companies[subject].currency)
        about = {"symbol": subject, "unit": unit}
    limit = periods if isinstance(periods, int) else DEFAULT_PERIODS
    rows = [
        [one.period.isoformat(), one.value, plain(one.at), one.source]
        for one in searched.world.history(subject, chosen, limit)
    ]
    return {**about, "measure": chosen, "columns": ["period_end", "value", "published", "source"], "rows": rows}


def _metric(asked: str, metrics: list[str], symbol: str) -> str:
    folded = {one.casefold(): one for one in metrics}
    if asked.casefold() in folded:
        return folded[asked.casefold()]
    names = dict.fromkeys(metrics, "")
    if not (like(asked, names) or near(asked, names)):
        raise BadCallError(f"{symbol} reports no {asked!r:.80}; call history without measure for what it reports.")
    raise none_such(f"measure of {symbol}", asked, names)


def calendar(searched: SearchedWorld, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``calendar``."""
    asked, start, end = arguments["subject"], day_of(arguments["start"]), day_of(arguments["end"])
    assert isinstance(asked, str)
    if start and end and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    subject, world = searched.subject_or_place(asked), searched.world
    first = world.as_of if start is None else _moment(start, world.as_of)
    last = first + timedelta(days=DEFAULT_DAYS) if end is None else _moment(end, world.as_of) + timedelta(days=1)
    if subject in searched.companies:
        due = [one for one in world.reports(first, last) if one.subject == subject]
    else:
        within = {one.id for one in searched.series.values() if subject in {one.id, one.economy}}
        due = [one for one in world.releases(first, last) if one.subject in within]
    rows = [[one.subject, one.label, one.period.isoformat(), plain(one.at)] for one in due[:MOST_ROWS]]
    answer: dict[str, object] = {"columns": ["subject", "period", "period_end", "scheduled"], "rows": rows}
    if len(due) > MOST_ROWS:
        answer["more_from"] = plain(due[MOST_ROWS].at)
    if not due:
        answer["note"] = "nothing of it is scheduled in these days, as the calendar stands"
    if subject in PLACES:
        answer["of"] = "series; ask for a company's reports by its symbol"
    return answer


def _moment(day: date, as_of: datetime) -> datetime:
    """The beginning of a day, at most some years from the time of the question."""
    moment = datetime.combine(day, time(0), UTC)
    return min(max(moment, as_of - FARTHEST), as_of + FARTHEST)
