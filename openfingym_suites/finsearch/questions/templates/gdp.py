"""Questions on the real GDP of four economies, in vintages."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, shifted, template
from openfingym_suites.finsearch.questions.programs import official
from openfingym_suites.finsearch.questions.templates.macro import ACCOUNTS, COMPUTED, COUNTRIES, GDP, _draft


def _quarter(period: str) -> str:
    """A quarter in words, from its first day."""
    return f"the {('first', 'second', 'third', 'fourth')[(int(period[5:7]) - 1) // 3]} quarter of {period[:4]}"


def _back(period: str, quarters: int) -> str:
    """The first day of the quarter that is so many quarters earlier."""
    months = 12 * int(period[:4]) + int(period[5:7]) - 1 - 3 * quarters
    return f"{months // 12:04d}-{months % 12 + 1:02d}-01"


def _gdp(d: Draw) -> tuple[str, str, str]:
    """One of the economies: its code, its name in words, and its currency."""
    code = d.one(list(COUNTRIES))
    return code, *COUNTRIES[code]


@template("T1", ACCOUNTS, most=6)
def gdp_latest_growth(d: Draw) -> Draft:
    code, name, _ = _gdp(d)
    as_of, lag = d.asked_after(d.one([day for day, _ in d.world.points(code, "2000-06-01")]), 80), d.one([1, 4])
    params = {"series": code, "lag": lag, "change": "percent"}
    words = "the quarter before" if lag == 1 else "the same quarter a year before"
    text = d.one(
        [
            "What is the latest known growth rate of real GDP of {} over {}, in percent, {}?",
            "By the newest data, how fast did real GDP of {} grow over {} (percent, {})?",
        ]
    ).format(name, words, d.digits(2))
    return _draft(text, as_of, official.latest_compared, params, (percent(),), {
        "over the other span": (official.latest_compared, {**params, "lag": 5 - lag}),
        "the quarter before": (official.latest_compared, {**params, "back": 1}),
    }, why=COMPUTED, source="gdp")  # fmt: skip


@template("T2", ACCOUNTS)
def gdp_of_vintage(d: Draw) -> Draft:
    code, name, currency = _gdp(d)
    period = d.one([period for period, _ in d.world.points(code, "2000-06-01", "2023-12-01")])
    vintages, vintage = d.world.vintages(code, period), d.one(["first", "last"])
    place = d.rng.randrange(2, min(12, len(vintages)))
    # A few days after a vintage, which the question then asks about without naming it.
    as_of = f"{shifted(vintages[place].known, 3)}T11:30:00+00:00"
    if not d.first <= as_of[:10] < d.last:
        raise SkipError("not then")
    scale, unit = (1e6, f"trillion {currency}") if code == "JP" else (1e3, f"billion {currency}")
    params = {"series": code, "period": period, "vintage": vintage, "scale": scale}
    known = f"in the estimate available on {d.day(as_of[:10])}"
    estimate = "in its first published estimate" if vintage == "first" else known
    text = f"How large was {GDP} of {name} in {_quarter(period)} {estimate}, in {unit}, {d.digits(3)}?"
    return _draft(text, as_of, official.value_of, params, (AskedValue("GDP", unit=unit, decimals=3),), {
        "the other vintage": (official.value_of, {**params, "vintage": "last" if vintage == "first" else "first"}),
        "the quarter before": (official.value_of, {**params, "period": _back(period, 1)}),
    }, source="gdp")  # fmt: skip


@template("T2", ACCOUNTS)
def gdp_growth(d: Draw) -> Draft:
    code, name, _ = _gdp(d)
    period, kind = (
        d.one([period for period, _ in d.world.points(code, "1982-01-01", "2023-12-01")]),
        d.one(["q", "y", "a"]),
    )
    # The table has vintages from 2000 on; a quarter is published within 300 days of its first.
    as_of = d.asked_after(max("2000-08-01", shifted(period, 300)), 6000)
    base = _back(period, 4 if kind == "y" else 1)
    params = {
        "series": code,
        "period": period,
        "base": base,
        "change": "annualised" if kind == "a" else "percent",
        "power": 4,
    }
    words = {"q": "quarter-over-quarter growth", "y": "year-over-year growth",
             "a": "annualised quarter-over-quarter growth"}[kind]  # fmt: skip
    text = (
        f"In the data of {d.day(as_of[:10])}, "
        f"what is the {words} of real GDP of {name} in {_quarter(period)}, in percent, {d.digits(2)}?"
    )
    other = {"q": {"base": _back(period, 4)}, "y": {"base": _back(period, 1)}, "a": {"change": "percent"}}[kind]
    return _draft(text, as_of, official.compared_periods, params, (percent(),), {
        "another growth rate": (official.compared_periods, {**params, **other}),
    }, why=COMPUTED, source="gdp")  # fmt: skip


@template("T2", ACCOUNTS)
def gdp_revision(d: Draw) -> Draft:
    code, name, _ = _gdp(d)
    period = d.one([period for period, _ in d.world.points(code, "2003-06-01", "2021-12-01")])
    vintages = d.world.vintages(code, period)
    as_of = f"{shifted(vintages[d.rng.randrange(3, len(vintages))].known, 4)}T15:50:00+00:00"
    if not d.first <= as_of[:10] < d.last:
        raise SkipError("not then")
    # Levels of two vintages may be in prices of two years. Growth is not: both of its quarters are of one vintage.
    params = {"series": code, "period": period, "base": _back(period, 1), "change": "percent"}
    text = (
        f"By how many percentage points had the quarter-over-quarter growth of real GDP of {name} in "
        f"{_quarter(period)} been revised by {d.day(as_of[:10])}, compared with its first estimate? "
        f"{d.digits(2).capitalize()}, signed."
    )
    return _draft(text, as_of, _growth_revision, params, (percent("revision", unit="percentage points"),), {
        "growth as revised": (official.compared_periods, params),
        "growth as first estimated": (_first_growth, params),
    }, why=COMPUTED, source="gdp")  # fmt: skip


def _first_growth(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The growth of a period as it was first published, from the figure before it of the same vintage."""
    first = w.vintages(p["series"], p["period"])[0]
    before = [each for each in w.vintages(p["series"], p["base"]) if each.known <= first.known][-1]
    return (official.compared(first.value, before.value, p),)


def _growth_revision(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The change of the growth of a period from its first publication to now."""
    return (official.compared_periods(w, p)[0] - _first_growth(w, p)[0],)


@template("T3", ACCOUNTS)
def gdp_worst_quarter(d: Draw) -> Draft:
    (code, name, _), which, lag = _gdp(d), d.one(["rise", "fall"]), d.one([1, 4])
    first = d.rng.randrange(1981, 2004)
    last = first + d.rng.randrange(9, 16)
    as_of = d.asked_after(f"{max(last + 1, 2001)}-10-01", 2800)
    params = {
        "series": code,
        "first": _back(f"{first}-01-01", lag),
        "last": f"{last}-10-01",
        "which": which,
        "lag": lag,
        "change": "percent",
    }
    words = "quarter over quarter" if lag == 1 else "year over year"
    text = (
        f"In which quarter from the first of {first} to the last of {last} did real GDP "
        f"of {name} {'grow' if which == 'rise' else 'shrink'} most{' (or grow least)' if which == 'fall' else ''}, "
        f"{words}, by the data available on {d.day(as_of[:10])}? "
        f"Name the first month of the quarter (YYYY-MM) and the rate in percent, {d.digits(2)}."
    )
    return _draft(text, as_of, official.largest_change, params, (AskedValue("quarter", "date"), percent("growth")), {
        "the runner-up": (official.largest_change, {**params, "rank": 1}),
        "the other span": (official.largest_change, {**params, "lag": 5 - lag}),
    }, why=COMPUTED, source="gdp")  # fmt: skip


@template("T3", ACCOUNTS)
def gdp_compared(d: Draw) -> Draft:
    codes = d.some(list(COUNTRIES), d.rng.randrange(3, 5))
    first, years = d.rng.randrange(1981, 2017), d.rng.randrange(1, 7)
    month = d.one(["01", "04", "07", "10"])
    start, end = f"{first}-{month}-01", f"{first + years}-{month}-01"
    as_of = d.asked_after(max("2001-02-01", shifted(end, 330)), 4000)
    named = [[COUNTRIES[code][0].removeprefix("the "), code] for code in codes]
    rate = d.rng.random() < 0.5 and years > 1
    params = {
        "named": named,
        "from": start,
        "to": end,
        "change": "annualised" if rate else "percent",
        "power": 1.0 / years,
    }
    text = (
        f"Rank {', '.join(name for name, _ in named)} by "
        f"{'average annual (compound) growth' if rate else 'total growth'} of real "
        f"GDP between {_quarter(start)} and {_quarter(end)}, by data as of {d.day(as_of[:10])}: "
        f"a table of names and percent, {d.digits(2)}, the fastest first."
    )
    ask = AskedValue(
        "economy",
        "text",
        choices=tuple(name.removeprefix("the ") for name, _ in COUNTRIES.values()),
        accept={
            "United States": ("US", "USA"),
            "euro area": ("eurozone",),
            "Switzerland": ("CHE",),
            "Japan": ("JP",),
        },
    )
    return _draft(text, as_of, official.growth_of_several, params, (ask, percent("growth")), {
        "one quarter later": (official.growth_of_several, {**params, "to": _back(end, -1)}),
    }, table=True, why=COMPUTED, source="gdp")  # fmt: skip


@template("T3", ACCOUNTS)
def gdp_table(d: Draw) -> Draft:
    (code, name, _), lag = _gdp(d), d.one([1, 4])
    count = d.rng.randrange(5, 10)
    start = d.one([period for period, _ in d.world.points(code, "1999-01-01", "2020-01-01")])
    end = _back(start, -count)
    as_of = d.asked_after(max("2000-08-01", shifted(end, 330)), 3000)
    params = {"series": code, "first": _back(start, lag), "last": end, "lag": lag, "change": "percent"}
    text = (
        f"Tabulate {'quarter-over-quarter' if lag == 1 else 'year-over-year'} real GDP growth of "
        f"{name} for every quarter from {_quarter(start)} through {_quarter(end)}, as published by "
        f"{d.day(as_of[:10])}: first month of the quarter (YYYY-MM) and percent, {d.digits(2)}, oldest first."
    )
    other = {**params, "lag": 5 - lag, "first": _back(start, 5 - lag)}
    return _draft(text, as_of, official.growth_table, params, (AskedValue("quarter", "date"), percent("growth")), {
        "the other span": (official.growth_table, other),
    }, table=True, why=COMPUTED, source="gdp")  # fmt: skip
