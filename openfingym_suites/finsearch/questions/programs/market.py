"""What is true of exchange rates, yields and prices."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.sources import Sources

Params = dict[str, Any]


def rates(w: Sources, p: Params) -> list[tuple[str, float]]:
    """(day, rate) on the days that all legs have; a rate is the product of its legs, each to a power: 1 or -1."""
    first, last = p.get("first", "0000-01-01"), p.get("last", "9999-12-31")
    product = {day: p.get("amount", 1.0) for day, _ in w.closes(p["legs"][0][0], first, last)}
    for symbol, power in p["legs"]:
        leg = dict(w.closes(symbol, first, last))
        product = {day: rate * leg[day] ** power for day, rate in product.items() if day in leg}
    return sorted(product.items())


def month_ends(daily: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """(month, last value in it) from (day, value), oldest first."""
    # A later day of a month overwrites the earlier ones.
    return sorted({day[:7]: value for day, value in daily}.items())


def change(new: float, old: float, p: Params) -> float:
    """A change as a percentage, or as a difference times a scale."""
    return 100.0 * (new / old - 1.0) if p.get("percent") else (new - old) * p.get("scale", 1.0)


def latest_level(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest rate."""
    return (rates(w, p)[-1 - p.get("back", 0)][1],)


def latest_change(w: Sources, p: Params) -> tuple[Any, ...]:
    """How much the latest rate differs from the one so many days with a rate before."""
    quotes = rates(w, p)
    return (change(quotes[-1][1], quotes[-1 - p.get("days", 1)][1], p),)


def latest_date(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the latest rate, and the rate."""
    day, rate = rates(w, p)[-1]
    return (day, rate)


def latest_since(w: Sources, p: Params) -> tuple[Any, ...]:
    """How much the latest rate differs from the last one of the month or the year before."""
    quotes = rates(w, p)
    # "2024" of a day is its year, "2024-05" its month.
    length = 4 if p["since"] == "year" else 7
    before = [rate for day, rate in quotes if day[:length] < quotes[-1][0][:length]]
    return (change(quotes[-1][1], before[-1], p),)


def latest_of_days(w: Sources, p: Params) -> tuple[Any, ...]:
    """The mean, the highest or the lowest of the latest rates."""
    values = [rate for _, rate in rates(w, p)[-p["days"] :]]
    return ({"mean": sum(values) / len(values), "highest": max(values), "lowest": min(values)}[p["which"]],)


def level_on(w: Sources, p: Params) -> tuple[Any, ...]:
    """The rate of a day."""
    return (dict(rates(w, p))[p["day"]],)


def change_between(w: Sources, p: Params) -> tuple[Any, ...]:
    """How much the rate of one day differs from that of an earlier one."""
    rate_on = dict(rates(w, p))
    return (change(rate_on[p["to"]], rate_on[p["from"]], p),)


def period_statistic(w: Sources, p: Params) -> tuple[Any, ...]:
    """The mean, the highest, the lowest or the last rate of a span of days."""
    values = [rate for _, rate in rates(w, p)]
    statistics = {"mean": sum(values) / len(values), "highest": max(values), "lowest": min(values), "last": values[-1]}
    return (statistics[p["which"]],)


def extreme_day(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the highest or lowest rate, and the rate."""
    sign = -1.0 if p["which"] == "lowest" else 1.0
    # Of two days with the same rate, the earlier comes first.
    ordered = sorted(rates(w, p), key=lambda quote: (-sign * quote[1], quote[0]))
    return ordered[p.get("rank", 0)]


def largest_day(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the largest rise or fall from the rate before, and its size."""
    moves = [(day, change(new, old, p)) for (_, old), (day, new) in itertools.pairwise(rates(w, p))]
    sign = -1.0 if p["which"] == "fall" else 1.0
    return sorted(moves, key=lambda move: -sign * move[1])[p.get("rank", 0)]


def largest_month(w: Sources, p: Params) -> tuple[Any, ...]:
    """The month of the largest rise or fall, from month-end to month-end, and its size."""
    ends = month_ends(rates(w, p))
    moves = [(month, change(new, old, p)) for (_, old), (month, new) in itertools.pairwise(ends)]
    sign = -1.0 if p["which"] == "fall" else 1.0
    return sorted(moves, key=lambda move: -sign * move[1])[p.get("rank", 0)]


def large_days(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(day, change) of all days on which the rate rose, or fell, by more than a size from the rate before."""
    moves = [(day, change(new, old, p)) for (_, old), (day, new) in itertools.pairwise(rates(w, p))]
    rises = p["which"] == "rise"
    return [(day, move) for day, move in moves if (move > p["size"] if rises else move < -p["size"])]


def yearly_table(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(year, statistic) of each year."""
    years: dict[str, list[float]] = {}
    for day, rate in rates(w, p):
        years.setdefault(day[:4], []).append(rate)
    take: Any = {"mean": lambda v: sum(v) / len(v), "highest": max, "lowest": min, "last": lambda v: v[-1]}[p["which"]]
    return [(year, take(values)) for year, values in sorted(years.items())]


def yearly_changes(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(year, change from the last rate of the year before) of each year."""
    last = sorted({day[:4]: rate for day, rate in rates(w, p)}.items())
    return [(year, change(new, old, p)) for (_, old), (year, new) in itertools.pairwise(last)]


def longest_run(w: Sources, p: Params) -> tuple[Any, ...]:
    """The longest run of consecutive rises, or falls, of daily or month-end rates: first, last, and how many."""
    quotes = month_ends(rates(w, p)) if p.get("monthly") else rates(w, p)
    sign = -1.0 if p["which"] == "falls" else 1.0
    runs: list[tuple[str, str, int]] = []
    start: str | None = None
    for (_, old), (day, new) in itertools.pairwise(quotes):
        if sign * (new - old) > 0:
            # A run begins with its first rise, or goes on by one more.
            start = start or day
            if runs and runs[-1][0] == start:
                runs[-1] = (start, day, runs[-1][2] + 1)
            else:
                runs.append((start, day, 1))
        else:
            start = None
    # Sorting keeps the order of equals, so of two runs of one length the earlier is first.
    return sorted(runs, key=lambda run: -run[2])[p.get("rank", 0)]


def drawdown(w: Sources, p: Params) -> tuple[Any, ...]:
    """The largest fall from a peak: day of the peak, day of the trough, and the fall in percent."""
    worst, peak = ("", "", 0.0), None
    for day, rate in rates(w, p):
        if peak is None or rate > peak[1]:
            peak = (day, rate)
        fall = 100.0 * (rate / peak[1] - 1.0)
        if fall < worst[2]:
            worst = (peak[0], day, fall)
    return worst


def count_days(w: Sources, p: Params) -> tuple[Any, ...]:
    """On how many days the rate was above, or below, a level."""
    above = p["which"] == "above"
    return (sum(rate > p["level"] if above else rate < p["level"] for _, rate in rates(w, p)),)


def first_day_beyond(w: Sources, p: Params) -> tuple[Any, ...]:
    """The first day on which the rate was above, or below, a level, and the rate."""
    above = p["which"] == "above"
    return next((day, rate) for day, rate in rates(w, p) if (rate > p["level"] if above else rate < p["level"]))


def against_the_others(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the largest rise of the last of several rates, among the days on which they did not all move in one
    direction, and all rates on it.
    """
    rates_on = [dict(rates(w, {**p, "legs": legs})) for legs in p["pairs"]]
    days = sorted(set.intersection(*(set(each) for each in rates_on)))
    at_odds = []
    for before, day in itertools.pairwise(days):
        # Days before the start are there only to measure the first change from.
        if day < p["start"]:
            continue
        moves = [each[day] - each[before] for each in rates_on]
        if not (all(move > 0 for move in moves) or all(move < 0 for move in moves)):
            at_odds.append((moves[-1], day))
    _, day = sorted(at_odds, reverse=True)[p.get("rank", 0)]
    return (day, *(each[day] for each in rates_on))


def most_changed(w: Sources, p: Params) -> tuple[Any, ...]:
    """The rate that rose, or fell, most of several between two days, and its change in percent."""
    changes = []
    for name, legs in p["named"]:
        rate_on = dict(rates(w, {"legs": legs, "first": p["from"], "last": p["to"]}))
        changes.append((name, 100.0 * (rate_on[p["to"]] / rate_on[p["from"]] - 1.0)))
    sign = -1.0 if p["which"] == "fell" else 1.0
    return sorted(changes, key=lambda row: -sign * row[1])[p.get("rank", 0)]


def changes_of_several(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(name, change in percent between two days) of several rates, the largest first."""
    changes = []
    for name, legs in p["named"]:
        rate_on = dict(rates(w, {"legs": legs, "first": p["from"], "last": p["to"]}))
        changes.append((name, 100.0 * (rate_on[p["to"]] / rate_on[p["from"]] - 1.0)))
    return sorted(changes, key=lambda row: -row[1])


def spreads(w: Sources, p: Params) -> list[tuple[str, float]]:
    """(day, first yield minus second in basis points) on the days that have both."""
    first, last = p.get("first", "0000-01-01"), p.get("last", "9999-12-31")
    long, short = (dict(w.closes(symbol, first, last)) for symbol in p["yields"])
    return [(day, 100.0 * (long[day] - short[day])) for day in sorted(long.keys() & short.keys())]


def latest_spread(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest spread between two yields, in basis points."""
    return (spreads(w, p)[-1 - p.get("back", 0)][1],)


def spread_on(w: Sources, p: Params) -> tuple[Any, ...]:
    """The spread of a day between two yields, in basis points."""
    return (dict(spreads(w, p))[p["day"]],)


def extreme_spread(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the widest, or narrowest, spread between two yields, and the spread in basis points."""
    sign = -1.0 if p["which"] == "narrowest" else 1.0
    return sorted(spreads(w, p), key=lambda row: -sign * row[1])[p.get("rank", 0)]


def inverted_days(w: Sources, p: Params) -> tuple[Any, ...]:
    """On how many days the first yield was below the second, and the first and the last of them."""
    # Rounded, because the difference of two equal yields may be a tiny negative number.
    days = [day for day, spread in spreads(w, p) if round(spread, 6) < 0]
    return (len(days), days[0], days[-1])


def bar_value(bar: Any, before: Any, p: Params) -> float:
    """A figure of a day's bar: a price, the volume, or what is computed from it and the bar before."""
    field = p["field"]
    if field == "range":
        return 100.0 * (bar.high - bar.low) / bar.low
    if field == "gap":
        return 100.0 * (bar.open / before.close - 1.0)
    if field == "change":
        return 100.0 * (bar.close / before.close - 1.0)
    if field == "move":
        return bar.close - before.close
    if field == "intraday":
        return 100.0 * (bar.close / bar.open - 1.0)
    return getattr(bar, field) / p.get("scale", 1.0)


def latest_bar(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure of the latest bar."""
    bars = w.bars(p["symbol"], p.get("first", "0000-01-01"))
    back = p.get("back", 0)
    return (bar_value(bars[-1 - back], bars[-2 - back], p),)


def latest_bar_between(w: Sources, p: Params) -> tuple[Any, ...]:
    """The latest close, with the low and the high of its day."""
    bar = w.bars(p["symbol"], p.get("first", "0000-01-01"))[-1 - p.get("back", 0)]
    return ({"value": bar.close, "low": bar.low, "high": bar.high},)


def bar_on(w: Sources, p: Params) -> tuple[Any, ...]:
    """A figure of the bar of a day."""
    bars = w.bars(p["symbol"], p["first"], p["day"])
    return (bar_value(bars[-1], bars[-2], p),)


def volume_of_month(w: Sources, p: Params) -> tuple[Any, ...]:
    """Shares traded in a span of days."""
    return (sum(bar.volume or 0.0 for bar in w.bars(p["symbol"], p["first"], p["last"])) / p["scale"],)


def split_adjusted_return(w: Sources, p: Params) -> tuple[Any, ...]:
    """What an owner of one share gained between two closes, in percent of the first, splits counted."""
    closes = dict(w.closes(p["symbol"], p["from"], p["to"]))
    shares = 1.0
    for day, kind, ratio in w.actions(p["symbol"]) if p.get("adjusted", True) else []:
        # Prices are as traded, so a split multiplies the shares: one bought on the first day is several on the last.
        if kind == "split" and p["from"] < day <= p["to"]:
            shares *= ratio
    return (100.0 * (shares * closes[p["to"]] / closes[p["from"]] - 1.0),)
