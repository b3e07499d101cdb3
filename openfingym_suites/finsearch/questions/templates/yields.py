"""Questions on US Treasury par yields; what those on the Federal Reserve's target range share with them."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    AskedValue,
    Draft,
    Draw,
    SkipError,
    month_end,
    recent,
    template,
)
from openfingym_suites.finsearch.questions.programs import market
from openfingym_suites.finsearch.questions.sources import FED_LOWER, FED_UPPER

BONDS, POLICY = "fixed income", "central banks"
TENORS = {"3M": "3-month", "6M": "6-month", "1Y": "1-year", "2Y": "2-year", "3Y": "3-year", "5Y": "5-year",
          "7Y": "7-year", "10Y": "10-year", "20Y": "20-year", "30Y": "30-year"}  # fmt: skip
PUBLISHED = "The Treasury publishes each yield with two decimals: rounding alone may differ."
BOUNDS = [FED_LOWER, FED_UPPER]
CURVE = ("US Treasury", "Treasury", *TENORS.values())


def _draft(text: str, as_of: str, program: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
           alternatives: dict[str, Any], *, table: bool = False, source: str = "market: US Treasury par yields",
           why: str = PUBLISHED) -> Draft:  # fmt: skip
    """A draft of a question on Treasury yields, or with another source on the target range."""
    return Draft(text, as_of, program, params, asks, alternatives, CURVE, (source,), why, table)


def _tenor(d: Draw) -> tuple[str, str]:
    """One of the tenors: its symbol, and what a text calls it."""
    key = d.one(list(TENORS))
    return f"UST{key}", TENORS[key]


def _pair(d: Draw) -> tuple[list[str], str]:
    """The symbols of two tenors, the longer first, and their spread in words."""
    short, long = d.some(list(TENORS), 2)
    return [f"UST{long}", f"UST{short}"], f"{TENORS[long]} minus {TENORS[short]}"


def _days(d: Draw, symbol: str = "UST10Y") -> list[str]:
    return [day for day, _ in d.world.closes(symbol)]


def _era(d: Draw, low: int, high: int, most: int = 1500) -> tuple[str, list[str]]:
    """A time, and consecutive days with a yield that end before it.

    Args:
        d: what the question is drawn with.
        low: least number of days.
        high: one more than the largest number of days.
        most: days after the last of them by which the question is asked.

    Raises:
        SkipError: the series is too short.
    """
    days = _days(d)
    # From 2002 to 2006 the series has a gap. Questions that count take days after it alone; of earlier questions each
    # day is kept or left out by chance, and a span may have days from before the gap too.
    days = [day for day in days if (day > "2006") == (d.first >= "2012" or d.rng.random() < 0.4)]
    count = d.rng.randrange(low, high)
    if len(days) <= count:
        raise SkipError("the span is longer than the series")
    place = d.rng.randrange(len(days) - count)
    chosen = days[place : place + count]
    return d.asked_after(chosen[-1], most), chosen


def _legs(symbol: str, **more: Any) -> dict[str, Any]:
    """Parameters of a program on one yield."""
    return {"legs": [[symbol, 1]], **more}


@template("T1", BONDS)
def yield_latest(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    as_of = d.asked_around(_days(d))
    params = _legs(symbol, first=recent(as_of))
    text = d.one(
        [
            "What is the latest {} US Treasury par yield? Percent, {}.",
            "Give the most recently published {} Treasury constant-maturity (par curve) yield in percent, {}.",
        ]
    ).format(tenor, d.digits(2))
    shorter = "UST2Y" if symbol != "UST2Y" else "UST1Y"
    return _draft(text, as_of, market.latest_level, params, (AskedValue("yield", unit="%", decimals=2),), {
        "the day before": (market.latest_level, {**params, "back": 1}),
        "another tenor": (market.latest_level, {**params, "legs": [[shorter, 1]]}),
    })  # fmt: skip


@template("T1", BONDS)
def yield_latest_spread(d: Draw) -> Draft:
    pair, words = _pair(d)
    as_of = d.asked_around(_days(d))
    params = {"yields": pair, "first": recent(as_of)}
    text = d.one(
        [
            "How steep is the US Treasury curve now: {}, in basis points, by the latest par yields ({})?",
            "What is the latest {} spread of US Treasury par yields in basis points, {}?",
        ]
    ).format(words, d.digits(0))
    ask = AskedValue("spread", unit="basis points", decimals=0)
    return _draft(text, as_of, market.latest_spread, params, (ask,), {
        "the day before": (market.latest_spread, {**params, "back": 1}),
        "the other way round": (market.latest_spread, {**params, "yields": pair[::-1]}),
    })  # fmt: skip


@template("T1", BONDS)
def yield_latest_move(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    as_of, count = d.asked_around(_days(d)), d.one([1, 5, 20])
    params = _legs(symbol, first=recent(as_of), days=count, scale=100.0)
    span = {1: "the business day before", 5: "five business days before", 20: "twenty business days before"}[count]
    text = (
        f"By how many basis points does the latest {tenor} US Treasury par yield differ from that of {span}? "
        "A signed whole number."
    )
    ask = AskedValue("change", unit="basis points", decimals=0)
    return _draft(text, as_of, market.latest_change, params, (ask,), {
        "in percent of the yield": (market.latest_change, {**params, "percent": True}),
        "over another span": (market.latest_change, {**params, "days": 3}),
    })  # fmt: skip


@template("T1", BONDS)
def yield_latest_since(d: Draw) -> Draft:
    (symbol, tenor), since = _tenor(d), d.one(["month", "year"])
    as_of = d.asked_around(_days(d))
    params = _legs(symbol, first=recent(as_of), since=since, scale=100.0)
    text = (
        f"Since the end of the previous {since}, "
        f"how far has the {tenor} US Treasury par yield moved up to the latest one published? "
        f"Basis points, signed, {d.digits(0)}."
    )
    ask = AskedValue("change", unit="basis points", decimals=0)
    return _draft(text, as_of, market.latest_since, params, (ask,), {
        "since the other": (market.latest_since, {**params, "since": "month" if since == "year" else "year"}),
        "from the day before": (market.latest_change, {**params, "days": 1}),
    })  # fmt: skip


@template("T1", BONDS, most=4)
def yield_latest_day(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    as_of = d.asked_around(_days(d))
    params = _legs(symbol, first=recent(as_of))
    text = (
        f"For which date is the newest {tenor} US Treasury par yield available, "
        f"and what is it in percent ({d.digits(2)})?"
    )
    asks = (AskedValue("date", "date"), AskedValue("yield", unit="%", decimals=2))
    return _draft(text, as_of, market.latest_date, params, asks, {"the day before": (_day_before, params)})


def _day_before(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The day before the latest, and its rate."""
    return market.rates(w, p)[-2]


@template("T2", BONDS)
def yield_on_day(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    as_of, days = _era(d, 2, 3)
    params = _legs(symbol, day=days[1], first=days[0], last=days[1])
    text = f"What was the {tenor} US Treasury par yield on {d.day(days[1])}? In percent, {d.digits(2)}."
    other = "UST30Y" if symbol != "UST30Y" else "UST20Y"
    return _draft(text, as_of, market.level_on, params, (AskedValue("yield", unit="%", decimals=2),), {
        "the day before": (market.level_on, {**params, "day": days[0]}),
        "another tenor": (market.level_on, {**params, "legs": [[other, 1]]}),
    })  # fmt: skip


@template("T2", BONDS)
def yield_spread_on_day(d: Draw) -> Draft:
    pair, words = _pair(d)
    as_of, days = _era(d, 2, 3)
    params = {"yields": pair, "day": days[1], "first": days[0], "last": days[1]}
    text = (
        f"At the close of {d.day(days[1])}, what was the spread {words} of US Treasury par yields, in basis points "
        f"({d.digits(0)}, negative if inverted)?"
    )
    return _draft(text, as_of, market.spread_on, params, (AskedValue("spread", unit="basis points", decimals=0),), {
        "the day before": (market.spread_on, {**params, "day": days[0]}),
        "the other way round": (market.spread_on, {**params, "yields": pair[::-1]}),
    })  # fmt: skip


@template("T2", BONDS)
def yield_of_month(d: Draw) -> Draft:
    (symbol, tenor), which = _tenor(d), d.one(["mean", "highest", "lowest", "last"])
    as_of, days = _era(d, 40, 41)
    month = days[20][:7]
    params = _legs(symbol, first=f"{month}-01", last=month_end(month), which=which)
    words = {"mean": "monthly average of the daily", "highest": "highest daily", "lowest": "lowest daily",
             "last": "end-of-month"}[which]  # fmt: skip
    text = f"What was the {words} {tenor} US Treasury par yield in {d.day(month)}, in percent, {d.digits(2)}?"
    other = "last" if which == "mean" else "mean"
    return _draft(text, as_of, market.period_statistic, params, (AskedValue("yield", unit="%", decimals=2),), {
        f"the {other}": (market.period_statistic, {**params, "which": other}),
    }, why="From yields with two decimals: rounding alone may differ.")  # fmt: skip


@template("T2", BONDS)
def yield_between_days(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    as_of, days = _era(d, 15, 260)
    params = _legs(symbol, scale=100.0, to=days[-1], first=days[0], last=days[-1], **{"from": days[0]})
    text = (
        f"The {tenor} US Treasury par yield: by how many basis points did it rise or fall between {d.day(days[0])} and "
        f"{d.day(days[-1])}? Signed, {d.digits(0)}."
    )
    ask = AskedValue("change", unit="basis points", decimals=0)
    return _draft(text, as_of, market.change_between, params, (ask,), {
        "in percent of the yield": (market.change_between, {**params, "percent": True}),
        "from the day after": (market.change_between, {**params, "from": days[1]}),
    })  # fmt: skip


def _months(days: list[str]) -> tuple[str, str]:
    """The first and the last month of a span of days."""
    return days[0][:7], days[-1][:7]


@template("T3", BONDS)
def yield_largest_month(d: Draw) -> Draft:
    (symbol, tenor), which = _tenor(d), d.one(["rise", "fall"])
    as_of, days = _era(d, 1300, 2050)
    first, last = _months(days)
    start = next(day for day in days if day[:7] > first)
    params = _legs(symbol, first=f"{first}-01", last=month_end(last), which=which, scale=100.0)
    text = (
        f"From {d.day(start[:7])} to {d.day(last)}, "
        f"which month saw the largest {which} of the {tenor} US Treasury par yield from one month-end to the next? "
        f"The month, and the change in basis points, {d.digits(0)}."
    )
    asks = (AskedValue("month", "date"), AskedValue("change", unit="basis points", decimals=0))
    return _draft(text, as_of, market.largest_month, params, asks, {
        "the runner-up": (market.largest_month, {**params, "rank": 1}),
        "in percent of the yield": (market.largest_month, {**params, "percent": True}),
        "the other direction": (market.largest_month, {**params, "which": "rise" if which == "fall" else "fall"}),
    })  # fmt: skip


@template("T3", BONDS)
def yield_inverted_days(d: Draw) -> Draft:
    pair, words = _pair(d)
    as_of, days = _era(d, 300, 2000)
    params = {"yields": pair, "first": days[0], "last": days[-1]}
    count, *_ = market.inverted_days(d.world, params)
    if count < 3:
        raise SkipError("hardly inverted")
    text = (
        f"Counting daily US Treasury par yields from {d.day(days[0])} to {d.day(days[-1])}: "
        f"on how many days was the spread {words} negative, and on which dates was it so first and last?"
    )
    asks = (
        AskedValue("days", decimals=0, rule="exact"),
        AskedValue("first", "date"),
        AskedValue("last", "date"),
    )
    return _draft(text, as_of, market.inverted_days, params, asks, {
        "the other way round": (market.inverted_days, {**params, "yields": pair[::-1]}),
    }, why="Yields have two decimals, so that a spread is negative or not: a count is exact.")  # fmt: skip


@template("T3", BONDS)
def yield_extreme_spread(d: Draw) -> Draft:
    (pair, words), which = _pair(d), d.one(["widest", "narrowest"])
    as_of, days = _era(d, 400, 2000)
    params = {"yields": pair, "first": days[0], "last": days[-1], "which": which}
    if abs(market.extreme_spread(d.world, params)[1] - market.extreme_spread(d.world, {**params, "rank": 1})[1]) < 0.5:
        raise SkipError("two days are equal")
    text = (
        f"On which date between {d.day(days[0])} and {d.day(days[-1])} was the US Treasury spread {words} (par yields) "
        f"{'largest' if which == 'widest' else 'smallest'}, and how many basis points was it ({d.digits(0)})?"
    )
    asks = (AskedValue("date", "date"), AskedValue("spread", unit="basis points", decimals=0))
    other_end = "widest" if which == "narrowest" else "narrowest"
    return _draft(text, as_of, market.extreme_spread, params, asks, {
        "the runner-up": (market.extreme_spread, {**params, "rank": 1}),
        "the other end": (market.extreme_spread, {**params, "which": other_end}),
    })  # fmt: skip


@template("T3", BONDS)
def yield_large_days(d: Draw) -> Draft:
    (symbol, tenor), which = _tenor(d), d.one(["rise", "fall"])
    as_of, days = _era(d, 250, 1200)
    params = _legs(symbol, first=days[0], last=days[-1], which=which, scale=100.0, size=0.0)
    moves = sorted((abs(move) for _, move in market.large_days(d.world, params)), reverse=True)
    count = d.rng.randrange(3, 9)
    if len(moves) <= count or moves[count - 1] - moves[count] < 0.5:
        raise SkipError("no threshold lies between two changes")
    # Yields have two decimals, so changes are whole basis points: the threshold lies half a point above one of them.
    params["size"] = round(moves[count]) + 0.5
    text = (
        f"List all dates after {d.day(days[0])} and up to {d.day(days[-1])} on which the {tenor} US "
        f"Treasury par yield {'rose' if which == 'rise' else 'fell'} by at least {round(moves[count]) + 1} "
        f"basis points from the day before, with the change in basis points ({d.digits(0)}), by date ascending."
    )
    asks = (AskedValue("date", "date"), AskedValue("change", unit="basis points", decimals=0))
    return _draft(text, as_of, market.large_days, params, asks, {
        "the other direction": (market.large_days, {**params, "which": "rise" if which == "fall" else "fall"}),
        "a lower threshold": (market.large_days, {**params, "size": params["size"] - 1.0}),
    }, table=True)  # fmt: skip


@template("T3", BONDS)
def yield_yearly_table(d: Draw) -> Draft:
    (symbol, tenor), which = _tenor(d), d.one(["mean", "highest", "lowest", "last"])
    first = d.rng.randrange(2007, 2016) if d.first >= "2012" else d.one([1994, 1995, 1996, 1997, 2006])
    years = d.rng.randrange(3, 5)
    as_of = d.asked_after(f"{first + years - 1}-12-31", 1500)
    params = _legs(symbol, first=f"{first}-01-01", last=f"{first + years - 1}-12-31", which=which)
    words = {"mean": "average", "highest": "highest", "lowest": "lowest", "last": "year-end"}[which]
    text = (
        f"What was the {words} {tenor} US Treasury par yield in "
        f"each calendar year from {first} to {first + years - 1}? "
        f"A table of years and percent, {d.digits(2)}."
    )
    other = "last" if which == "mean" else "mean"
    asks = (AskedValue("year", "date"), AskedValue("yield", unit="%", decimals=2))
    return _draft(text, as_of, market.yearly_table, params, asks, {
        f"the {other}": (market.yearly_table, {**params, "which": other}),
    }, table=True)  # fmt: skip


@template("T3", BONDS, most=4)
def yield_longest_run(d: Draw) -> Draft:
    (symbol, tenor), which = _tenor(d), d.one(["rises", "falls"])
    as_of, days = _era(d, 500, 1800)
    params = _legs(symbol, first=days[0], last=days[-1], which=which)
    runs = [market.longest_run(d.world, {**params, "rank": rank}) for rank in (0, 1)]
    if runs[0][2] == runs[1][2]:
        raise SkipError("two runs are equally long")
    text = (
        f"Between {d.day(days[0])} and {d.day(days[-1])}, for how many consecutive business days "
        f"at most did the {tenor} US Treasury par yield {'rise' if which == 'rises' else 'fall'} "
        "(each day strictly against the day before), and what were the first and the last of these days?"
    )
    asks = (
        AskedValue("first", "date"),
        AskedValue("last", "date"),
        AskedValue("days", decimals=0, rule="exact"),
    )
    return _draft(text, as_of, market.longest_run, params, asks, {
        "the runner-up": (market.longest_run, {**params, "rank": 1}),
        "the other direction": (market.longest_run, {**params, "which": "falls" if which == "rises" else "rises"}),
    })  # fmt: skip
