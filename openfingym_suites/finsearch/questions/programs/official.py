"""What is true of macroeconomic series, of national accounts, and of the Federal Reserve's target range."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.sources import Sources

Params = dict[str, Any]


def compared(new: float, old: float, p: Params) -> float:
    """A change as a percentage, a yearly rate in percent, or a difference."""
    if p["change"] == "percent":
        return 100.0 * (new / old - 1.0)
    if p["change"] == "annualised":
        return 100.0 * ((new / old) ** p["power"] - 1.0)
    return (new - old) / p.get("scale", 1.0)


def latest_value(w: Sources, p: Params) -> tuple[Any, ...]:
    """The value of the latest period that is known, in its latest vintage."""
    return (w.points(p["series"])[-1 - p.get("back", 0)][1] / p.get("scale", 1.0),)


def latest_period(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest period that is known, and its value."""
    period, value = w.points(p["series"])[-1]
    return (period[:7], value / p.get("scale", 1.0))


def latest_compared(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest period compared with one so many periods before, all as known now."""
    values = [value for _, value in w.points(p["series"])]
    back = p.get("back", 0)
    return (compared(values[-1 - back], values[-1 - back - p["lag"]], p),)


def latest_revision(w: Sources, p: Params) -> tuple[Any, ...]:
    """The change of the figure of the period before the latest since it was first published."""
    period, _ = w.points(p["series"])[-2]
    vintages = w.vintages(p["series"], period)
    return ((vintages[-1].value - vintages[0].value) / p.get("scale", 1.0),)


def value_of(w: Sources, p: Params) -> tuple[Any, ...]:
    """The value of a period as it was first published, or as it is known now."""
    vintages = w.vintages(p["series"], p["period"])
    return (vintages[0 if p["vintage"] == "first" else -1].value / p.get("scale", 1.0),)


def revision_of(w: Sources, p: Params) -> tuple[Any, ...]:
    """The change of the value of a period from its first publication to now."""
    vintages = w.vintages(p["series"], p["period"])
    return (compared(vintages[-1].value, vintages[0].value, p),)


def value_known_on(w: Sources, p: Params) -> tuple[Any, ...]:
    """The value of a period as it was known at the end of a day."""
    known = [vintage for vintage in w.vintages(p["series"], p["period"]) if vintage.known <= p["day"]]
    return (known[-1].value / p.get("scale", 1.0),)


def compared_periods(w: Sources, p: Params) -> tuple[Any, ...]:
    """One period compared with another, both as known now."""
    values = dict(w.points(p["series"]))
    return (compared(values[p["period"]], values[p["base"]], p),)


def extreme_period(w: Sources, p: Params) -> tuple[Any, ...]:
    """The period of the highest or lowest value, as known now, and the value."""
    sign = -1.0 if p["which"] == "lowest" else 1.0
    ordered = sorted(w.points(p["series"], p["first"], p["last"]), key=lambda point: -sign * point[1])
    period, value = ordered[p.get("rank", 0)]
    return (period[:7], value / p.get("scale", 1.0))


def largest_change(w: Sources, p: Params) -> tuple[Any, ...]:
    """The period of the largest rise or fall from so many periods before, as known now, and its size."""
    points = w.points(p["series"], p["first"], p["last"])
    # Each period beside the one so many periods before it.
    pairs = zip(points, points[p.get("lag", 1) :], strict=False)
    moves = [(period[:7], compared(new, old, p)) for (_, old), (period, new) in pairs]
    sign = -1.0 if p["which"] == "fall" else 1.0
    return sorted(moves, key=lambda move: -sign * move[1])[p.get("rank", 0)]


def count_periods(w: Sources, p: Params) -> tuple[Any, ...]:
    """The number of periods in which the value was above, or below, a level, as known now."""
    above = p["which"] == "above"
    values = [value for _, value in w.points(p["series"], p["first"], p["last"])]
    return (sum(value > p["level"] if above else value < p["level"] for value in values),)


def yearly_means(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(year, mean or sum of its periods) as known now."""
    years: dict[str, list[float]] = {}
    for period, value in w.points(p["series"], p["first"], p["last"]):
        years.setdefault(period[:4], []).append(value)
    sums = p["which"] == "sum"
    return [
        (year, sum(values) / (1.0 if sums else len(values)) / p.get("scale", 1.0))
        for year, values in sorted(years.items())
    ]


def growth_table(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(period, change from so many periods before) of a span of periods, as known now."""
    points = w.points(p["series"], p["first"], p["last"])
    # Each period beside the one so many periods before it.
    pairs = zip(points, points[p["lag"] :], strict=False)
    return [(period[:7], compared(new, old, p)) for (_, old), (period, new) in pairs]


def difference_of_series(w: Sources, p: Params) -> tuple[Any, ...]:
    """The period in which one series exceeded another most, or least, and the difference, as known now."""
    first, second = (dict(w.points(series, p["first"], p["last"])) for series in p["pair"])
    sign = -1.0 if p["which"] == "least" else 1.0
    periods = sorted(first.keys() & second.keys())
    differences = [(period[:7], (first[period] - second[period]) / p["scale"]) for period in periods]
    return sorted(differences, key=lambda row: -sign * row[1])[p.get("rank", 0)]


def largest_revision(w: Sources, p: Params) -> tuple[Any, ...]:
    """The period of a span whose value was changed most since it was first published, and the change."""
    revisions = []
    for period, _ in w.points(p["series"], p["first"], p["last"]):
        vintages = w.vintages(p["series"], period)
        revisions.append((period[:7], (vintages[-1].value - vintages[0].value) / p.get("scale", 1.0)))
    return sorted(revisions, key=lambda row: -abs(row[1]))[p.get("rank", 0)]


def growth_of_several(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(name, change between two periods) of several series, the largest first, as known now."""
    changes = []
    for name, series in p["named"]:
        values = dict(w.points(series))
        changes.append((name, compared(values[p["to"]], values[p["from"]], p)))
    return sorted(changes, key=lambda row: -row[1])


def target_range(w: Sources, p: Params) -> tuple[Any, ...]:
    """The Federal Reserve's target range after the latest decision up to a day, or up to now: lower and upper."""
    last = p.get("day", "9999-12-31")
    lower, upper = (w.points(series, last=last)[-1 - p.get("back", 0)][1] for series in p["bounds"])
    return (lower, upper)


def last_change(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the latest statement that changed the target range, and by how many basis points."""
    # The range moves as a whole, so its upper bound tells.
    upper = w.points(p["bounds"][1])
    moves = [(day, 100.0 * (new - old)) for (_, old), (day, new) in itertools.pairwise(upper) if new != old]
    return moves[-1 - p.get("back", 0)]


def target_changes(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(day, change in basis points, new upper bound) of all changes of the target range in a span of days."""
    # From the beginning, so that the first change of the span is measured from the statement before it.
    statements = itertools.pairwise(w.points(p["bounds"][1], last=p["last"]))
    return [(day, 100.0 * (new - old), new) for (_, old), (day, new) in statements if new != old and day >= p["first"]]


def target_total(w: Sources, p: Params) -> tuple[Any, ...]:
    """The total change of the upper bound in a span of days, in basis points, and how many statements changed it."""
    moves = target_changes(w, p)
    return (sum(move for _, move, _ in moves), len(moves))


def yields_on_decisions(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of a statement on which a yield changed most from the day before, in a span of days, and the change in
    basis points.
    """
    days = [day for day, _ in w.points(p["bounds"][1], p["first"], p["last"])]
    closes = w.closes(p["yield"])
    moves = {day: 100.0 * (new - old) for (_, old), (day, new) in itertools.pairwise(closes)}
    ordered = sorted(((day, moves[day]) for day in days if day in moves), key=lambda row: -abs(row[1]))
    return ordered[p.get("rank", 0)]
