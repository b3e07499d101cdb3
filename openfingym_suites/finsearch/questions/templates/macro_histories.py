"""Questions on US economic series over several years, as known on a day, of tier T3."""

from __future__ import annotations

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, template
from openfingym_suites.finsearch.questions.programs import official
from openfingym_suites.finsearch.questions.templates.macro import (
    COMPUTED,
    MACRO,
    REVISED,
    _ask,
    _asked,
    _change,
    _draft,
    _first_released,
    _month,
    _series,
    _unit,
)


@template("T3", MACRO)
def macro_largest_change(d: Draw) -> Draft:
    (name, series), which, lag = _series(d), d.one(["rise", "fall"]), d.one([1, 12])
    points = [period for period, _ in d.world.points(name, last="2015-12-01")]
    count = d.rng.randrange(60, min(184, len(points) - 14))
    place = d.rng.randrange(lag, len(points) - count)
    as_of = _asked(d)
    words, ask, more = _change(series)
    params = {
        "series": name,
        # The first change of the span is from a period before it.
        "first": points[place - lag],
        "last": points[place + count - 1],
        "which": which,
        "lag": lag,
        **more,
    }
    text = (
        f"In data as known on {d.day(as_of[:10])}, in which month from {d.day(_month(points[place]))} to "
        f"{d.day(_month(points[place + count - 1]))} did {series.name} have its largest "
        f"{'month-over-month' if lag == 1 else 'year-over-year'} {'increase' if which == 'rise' else 'decrease'}"
        f"{' in percent' if series.level else ''}? The month and the {words}, {d.digits(ask.decimals or 0)}."
    )
    return _draft(text, as_of, official.largest_change, params, (AskedValue("month", "date"), ask), {
        "the runner-up": (official.largest_change, {**params, "rank": 1}),
        "the other direction": (official.largest_change, {**params, "which": "rise" if which == "fall" else "fall"}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", MACRO)
def macro_extreme(d: Draw) -> Draft:
    (name, series), which = _series(d), d.one(["highest", "lowest"])
    points = [period for period, _ in d.world.points(name, last="2016-05-01")]
    count = d.rng.randrange(70, min(220, len(points)))
    place = d.rng.randrange(0, len(points) - count)
    as_of = _asked(d)
    params = {"series": name, "first": points[place], "last": points[place + count - 1], "which": which}
    day = d.day(as_of[:10])
    text = (
        f"Using the vintage available on {day}: "
        f"in which month between {d.day(_month(points[place]))} and {d.day(_month(points[place + count - 1]))} "
        f"was {series.name} at its {which}, and what was the value{_unit(series)}, {d.digits(series.decimals)}?"
    )
    return _draft(text, as_of, official.extreme_period, params, (AskedValue("month", "date"), _ask(series)), {
        "the runner-up": (official.extreme_period, {**params, "rank": 1}),
        "the other end": (official.extreme_period, {**params, "which": "lowest" if which == "highest" else "highest"}),
    })  # fmt: skip


@template("T3", MACRO)
def macro_count(d: Draw) -> Draft:
    (name, series), which = (
        _series(d, ["UNRATE", "TCU", "GACDFSA066MSFRBPHI", "HOUST", "HSN1F", "PERMIT"]),
        d.one(["above", "below"]),
    )
    points = d.world.points(name, last="2016-05-01")
    count = d.rng.randrange(60, 184)
    place = d.rng.randrange(0, len(points) - count)
    values = sorted(value for _, value in points[place : place + count])
    # A level within the values of the span, of two digits, as a person would choose it.
    level = float(f"{values[int(count * d.rng.uniform(0.1, 0.9))]:.2g}")
    as_of = _asked(d)
    params = {
        "series": name,
        "first": points[place][0],
        "last": points[place + count - 1][0],
        "which": which,
        "level": level,
    }
    text = (
        f"In how many months from {d.day(_month(points[place][0]))} to "
        f"{d.day(_month(points[place + count - 1][0]))} was {series.name} strictly {which} {level:g} "
        f"({'index points' if series.unit is None else series.unit}), in data as of {d.day(as_of[:10])}?"
    )
    return _draft(text, as_of, official.count_periods, params, (AskedValue("months", decimals=0, rule="exact"),), {
        "on the other side": (official.count_periods, {**params, "which": "below" if which == "above" else "above"}),
    }, why="A count is exact.")  # fmt: skip


@template("T3", MACRO)
def macro_yearly(d: Draw) -> Draft:
    name, series = _series(
        d, ["UNRATE", "TCU", "BOPTEXP", "BOPTIMP", "RSAFS", "HSN1F", "HOUST", "PERMIT", "TTLCONS", "PAYEMS"]
    )
    sums = name in ("BOPTEXP", "BOPTIMP", "RSAFS") and d.rng.random() < 0.7
    # From the second year on, so that no year lacks its first months.
    start = int(d.world.points(name)[0][0][:4]) + 1
    first = d.rng.randrange(start, 2010)
    last = first + d.rng.randrange(3, 6)
    as_of = _asked(d)
    scale = 1000.0 if series.unit == "million USD" else 1.0
    unit = "billion USD" if scale == 1000.0 else series.unit
    params = {
        "series": name,
        "first": f"{first}-01-01",
        "last": f"{last}-12-31",
        "which": "sum" if sums else "mean",
        "scale": scale,
    }
    decimals = 1 if scale == 1000.0 or name not in ("UNRATE", "TCU") else 2
    text = (
        f"Give a table with the {'total' if sums else 'average of the monthly figures'} "
        f"of {series.name} for each calendar year from {first} to {last}, "
        f"in {str(unit).replace('%', 'percent')}, {d.digits(decimals)}, as known on {d.day(as_of[:10])}."
    )
    asks = (AskedValue("year", "date"), AskedValue("value", unit=unit, decimals=decimals))
    return _draft(text, as_of, official.yearly_means, params, asks, {
        "mean and sum exchanged": (official.yearly_means, {**params, "which": "mean" if sums else "sum"}),
    }, table=True)  # fmt: skip


@template("T3", MACRO, most=5)
def macro_trade_gap(d: Draw) -> Draft:
    which = d.one(["most", "least"])
    first, count = d.rng.randrange(1993, 2010), d.rng.randrange(4, 8)
    last = min(first + count, 2015)
    as_of = _asked(d)
    params = {
        "pair": ["BOPTIMP", "BOPTEXP"],
        "first": f"{first}-01-01",
        "last": f"{last}-12-31",
        "which": which,
        "scale": 1000.0,
    }
    text = (
        f"In which month from January {first} to December {last} was the US trade deficit "
        f"(imports minus exports of goods and services) {'widest' if which == 'most' else 'narrowest'} "
        f"by data known on {d.day(as_of[:10])}, and how many billion USD was it, {d.digits(1)}?"
    )
    asks = (AskedValue("month", "date"), AskedValue("deficit", unit="billion USD", decimals=1))
    return _draft(text, as_of, official.difference_of_series, params, asks, {
        "the runner-up": (official.difference_of_series, {**params, "rank": 1}),
        "exports minus imports": (official.difference_of_series, {**params, "pair": ["BOPTEXP", "BOPTIMP"]}),
    })  # fmt: skip


@template("T3", MACRO)
def macro_largest_revision(d: Draw) -> Draft:
    name, series = _series(d, REVISED)
    periods = _first_released(d, name)[:-1]
    if len(periods) < 4:
        raise SkipError("too few periods")
    first, last = periods[0], periods[d.rng.randrange(3, len(periods))]
    # Asked after all their vintages, so that the last revision is the one that the text dates.
    known = max(d.world.vintages(name, period)[-1].known for period in periods)
    as_of = d.asked_after(known, 2500)
    params = {"series": name, "first": first, "last": last}
    text = (
        f"Among the months from {d.day(_month(first))} to {d.day(_month(last))}, for which one was the figure of "
        f"{series.name} revised most, up or down, "
        f"between its first publication and {d.day(known)}, and by how much{_unit(series)}? "
        f"Signed, {d.digits(series.decimals)}."
    )
    asks = (AskedValue("month", "date"), _ask(series, "revision"))
    return _draft(text, as_of, official.largest_revision, params, asks, {
        "the runner-up": (official.largest_revision, {**params, "rank": 1}),
    })  # fmt: skip
