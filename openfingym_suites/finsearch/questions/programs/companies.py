"""What is true of companies, from what they filed with the SEC."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.sources import Fact, Sources

Params = dict[str, Any]
YEAR, QUARTER, HALF, NINE_MONTHS, POINT = (350, 380), (80, 100), (170, 190), (260, 285), (0, 0)
"""Least and most days of a period: a fiscal year has twelve months, or 52 or 53 weeks; a point in time has no days."""


def filed(w: Sources, p: Params) -> list[Fact]:
    """What was filed of an item for the period of this length that ends on this day, first filed first."""
    low, high = p["days"]
    facts = w.facts(p["company"], p["item"], p["end"], p.get("segment"), p.get("standard"))
    return [fact for fact in facts if low <= fact.days <= high]


def value(w: Sources, p: Params) -> float:
    """The figure as first filed, or as filed last, in the unit that is asked for."""
    return filed(w, p)[-1 if p.get("vintage") == "last" else 0].value / p.get("scale", 1.0)


def item_value(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure of a period."""
    return (value(w, p),)


def restated_by(w: Sources, p: Params) -> tuple[Any, ...]:
    """The change of a figure from the first filing that has it to the last."""
    vintages = filed(w, p)
    return ((vintages[-1].value - vintages[0].value) / p.get("scale", 1.0),)


def first_filing(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day on which a figure was first filed, or filed last, and the figure."""
    vintages = filed(w, p)
    return (vintages[-1 if p.get("vintage") == "last" else 0].filed, value(w, p))


def growth(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure compared with that of an earlier period, in percent."""
    return (100.0 * (value(w, p) / value(w, {**p, "end": p["base"]}) - 1.0),)


def difference(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure less that of an earlier period."""
    return (value(w, p) - value(w, {**p, "end": p["base"]}),)


def ratio(w: Sources, p: Params) -> tuple[Any, ...]:
    """One item over another of the same period or day, times a factor."""
    below = {**p, "item": p["below"], "days": p.get("days_below", p["days"])}
    return (p["factor"] * value(w, p) / value(w, below),)


def sum_of_items(w: Sources, p: Params) -> tuple[Any, ...]:
    """Several items of one period with their signs."""
    return (sum(sign * value(w, {**p, "item": item}) for item, sign in p["items"]),)


def sum_of_periods(w: Sources, p: Params) -> tuple[Any, ...]:
    """One item summed over several periods."""
    return (sum(value(w, {**p, "end": end}) for end in p["ends"]),)


def rest_of_year(w: Sources, p: Params) -> tuple[Any, ...]:
    """The last quarter: the fiscal year less its first nine months."""
    year = value(w, {**p, "days": (350, 380)})
    return (year - value(w, {**p, "end": p["nine"], "days": (260, 285)}),)


def trailing_year(w: Sources, p: Params) -> tuple[Any, ...]:
    """The twelve months to the end of a quarter: the last fiscal year, plus this year so far, less the same part of the
    last year, each as first filed.
    """
    this = value(w, {**p, "days": p["part"]})
    before = value(w, {**p, "end": p["part_before"], "days": p["part"]})
    return (value(w, {**p, "end": p["year_end"], "days": (350, 380)}) + this - before,)


def half_on_half(w: Sources, p: Params) -> tuple[Any, ...]:
    """The second half of a fiscal year compared with its first, in percent."""
    first = value(w, {**p, "end": p["half"], "days": (170, 190)})
    second = value(w, {**p, "days": (350, 380)}) - first
    return (100.0 * (second / first - 1.0),)


def latest_period_of(w: Sources, p: Params) -> Fact:
    """The fact of the latest period of this length, as first filed."""
    low, high = p["days"]
    facts = [
        fact
        for fact in w.facts(p["company"], p["item"], None, p.get("segment"), p.get("standard"))
        if low <= fact.days <= high
    ]
    ends = sorted({fact.end for fact in facts})
    end = ends[-1 - p.get("back", 0)]
    # Facts are in the order in which they were filed, so the first of the period is the one in its own report.
    return next(fact for fact in facts if fact.end == end)


def latest_reported(w: Sources, p: Params) -> tuple[Any, ...]:
    """The figure of the latest period that was reported."""
    return (latest_period_of(w, p).value / p.get("scale", 1.0),)


def latest_reported_day(w: Sources, p: Params) -> tuple[Any, ...]:
    """The last day of the latest period that was reported, and the day on which it was filed."""
    fact = latest_period_of(w, p)
    return (fact.end, fact.filed)


def latest_reported_growth(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest period compared with that a year before, as filed for comparison beside it, in percent."""
    fact = latest_period_of(w, p)
    low, high = p["days"]
    year = str(int(fact.end[:4]) - 1)
    # The comparative is in the same filing and ends twelve months earlier. A fiscal year of 52 or 53 weeks may end in
    # the next month, so one month off is allowed where the calendar year is not the one before.
    same = [
        other
        for other in w.facts(p["company"], p["item"], None, p.get("segment"), p.get("standard"))
        if low <= other.days <= high
        and other.accession == fact.accession
        and other.end != fact.end
        and abs(months(other.end) - months(fact.end) + 12) <= int(other.end[:4] != year)
    ]
    return (100.0 * (fact.value / same[-1].value - 1.0),)


def months(day: str) -> int:
    """Months since year 0 of the month whose end is nearest."""
    # A period that ends in the first week of a month is taken for one of the month before.
    return 12 * int(day[:4]) + int(day[5:7]) - (int(day[8:]) <= 7)


def latest_margin(w: Sources, p: Params) -> tuple[Any, ...]:
    """One item over another, of the latest period that was reported, in percent."""
    fact = latest_period_of(w, p)
    below = next(other for other in w.facts(p["company"], p["below"], fact.end) if other.start == fact.start)
    return (100.0 * fact.value / below.value,)


def yearly_values(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, figure) of several years."""
    return [(year, value(w, {**p, "end": end})) for year, end in p["years"]]


def yearly_growth(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, change from the year before in percent) of several years, from figures as first filed."""
    values = [value(w, {**p, "end": end}) for _, end in p["years"]]
    changes = zip(p["years"][1:], values, values[1:], strict=False)
    return [(year, 100.0 * (new / old - 1.0)) for (year, _), old, new in changes]


def yearly_ratio(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, one item over another, times a factor) of several years."""
    return [(year, ratio(w, {**p, "end": end})[0]) for year, end in p["years"]]


def ratio_changes(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, change of a ratio from the year before in percentage points)."""
    ratios = yearly_ratio(w, p)
    return [(year, new - old) for (_, old), (year, new) in itertools.pairwise(ratios)]


def best_year(w: Sources, p: Params) -> tuple[Any, ...]:
    """The fiscal year with the highest figure, growth or ratio, or the lowest, and the figure."""
    table = {"value": yearly_values, "growth": yearly_growth, "ratio": yearly_ratio}[p["of"]](w, p)
    sign = -1.0 if p["which"] == "lowest" else 1.0
    return sorted(table, key=lambda row: -sign * row[1])[p.get("rank", 0)]


def compound_growth(w: Sources, p: Params) -> tuple[Any, ...]:
    """Compound yearly growth between two fiscal years, in percent."""
    (first, start), (last, end) = p["years"][0], p["years"][-1]
    years = int(last) - int(first)
    return (100.0 * ((value(w, {**p, "end": end}) / value(w, {**p, "end": start})) ** (1.0 / years) - 1.0),)


def ranked_companies(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(company, figure, growth or ratio) of several companies, the largest first."""
    take = {"value": item_value, "growth": growth, "ratio": ratio}[p["of"]]
    rows = [(name, take(w, {**p, **own})[0]) for name, own in p["companies"]]
    return sorted(rows, key=lambda row: -row[1])


def first_of_companies(w: Sources, p: Params) -> tuple[Any, ...]:
    """The company with the largest figure, growth or ratio, and the figure."""
    return ranked_companies(w, p)[p.get("rank", 0)]


def total_of_companies(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure summed over several companies."""
    return (sum(amount for _, amount in ranked_companies(w, p)),)


def in_currency(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure in US dollars, translated at the rate of a day: the product of its legs, each to a power."""
    amount = value(w, p)
    for symbol, power in p["legs"]:
        amount *= dict(w.closes(symbol, p["rate_day"], p["rate_day"]))[p["rate_day"]] ** power
    return (amount,)


def in_average_rate(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure of a period in US dollars, translated at the mean of the daily rates of the period; a power of -1 is for
    a rate that is quoted in dollars.
    """
    fact = filed(w, p)[0]
    closes = w.closes(p["symbol"], fact.start or fact.end, fact.end)
    mean = sum(rate for _, rate in closes) / len(closes)
    return (fact.value / p["scale"] * (mean if p["power"] == 1 else 1.0 / mean),)


def market_value(w: Sources, p: Params) -> tuple[Any, ...]:
    """Shares outstanding as stated on the cover of a filing times the close of a day."""
    shares = next(fact for fact in w.facts(p["company"], p["item"]) if fact.filed == p["filed"])
    close = dict(w.closes(p["symbol"], p["day"], p["day"]))[p["day"]]
    return (shares.value * close / p["scale"],)


def earnings_in_new_shares(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, figure a share as first filed, figure a share in today's shares) over a split."""
    rows = []
    for year, end in p["years"]:
        first = filed(w, {**p, "end": end})[0].value
        rows.append((year, first, first / p["split"] if end < p["before"] else first))
    return rows


def segment_shares(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(fiscal year, share of a segment in the whole, in percent), both from the filing that has the segment first."""
    rows = []
    for year, end in p["years"]:
        part = filed(w, {**p, "end": end})[0]
        whole = next(fact for fact in filed(w, {**p, "end": end, "segment": None}) if fact.start == part.start)
        rows.append((year, 100.0 * part.value / whole.value))
    return rows
