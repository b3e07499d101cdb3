"""Questions on companies that file with the SEC, of tier T3: one company over several periods."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, template
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import NINE_MONTHS, YEAR
from openfingym_suites.finsearch.questions.templates import filers
from openfingym_suites.finsearch.questions.templates.companies import COMPUTED, FUNDAMENTALS, draft, name_of
from openfingym_suites.finsearch.questions.templates.filers import FLOWS, POINTS, Filer, ReportedItem

CROSS = "cross-source analysis"
BY_CONCEPT = {item.concept: item for item in (*FLOWS, *POINTS)}
REVENUES = ("Revenues", "SalesRevenueNet", "RevenueFromContractWithCustomerExcludingAssessedTax")
NUMERATORS = (
    "ResearchAndDevelopmentExpense",
    "OperatingIncomeLoss",
    "NetIncomeLoss",
    "GrossProfit",
    "Liabilities",
    "StockholdersEquity",
)
"""Concepts whose ratio to revenue, or to total assets, is asked for."""
SUMMED = (
    "PaymentsForRepurchaseOfCommonStock",
    "PaymentsOfDividends",
    "ResearchAndDevelopmentExpense",
    "NetIncomeLoss",
    "PaymentsToAcquirePropertyPlantAndEquipment",
    "ShareBasedCompensation",
    "IncomeTaxExpenseBenefit",
    "NetCashProvidedByUsedInOperatingActivities",
)
"""Concepts whose sum over several years is asked for."""


def _years(d: Draw, filer: Filer, item: ReportedItem, low: int, high: int) -> list[list[Any]]:
    """Consecutive fiscal years whose own reports all have an item, each as ``["2015", last day]``.

    Args:
        d: what the question is drawn with.
        filer: the company whose reports they are.
        item: the item that each report must have.
        low: least number of years.
        high: one more than the largest number of years.

    Raises:
        SkipError: there are too few such years, or one within the span is missing.
    """
    ends = filers.fiscal_ends(d, filer)
    reported = []
    for year, end in ends.items():
        try:
            filers.own_filing(d, filer, item.concept, end, item.days_of_year)
        except SkipError:
            continue
        reported.append([str(year), end])
    count = d.rng.randrange(low, high)
    if len(reported) < count:
        raise SkipError("too few years")
    place = d.rng.randrange(len(reported) - count + 1)
    chosen = reported[place : place + count]
    # Between two years that are there, one may have no report of its own.
    if int(chosen[-1][0]) - int(chosen[0][0]) != count - 1:
        raise SkipError("a year is missing")
    return chosen


def _params(filer: Filer, item: ReportedItem, years: list[list[Any]], **more: Any) -> dict[str, Any]:
    """Parameters of a program on the figures of several fiscal years."""
    return {"company": filer.ticker, "item": item.concept, "days": item.days_of_year, "years": years, **more}


def _asked(d: Draw, filer: Filer, item: ReportedItem, end: str) -> str:
    """A time at which the report of the fiscal year that ends on a day is out."""
    return d.asked_after(filers.own_filing(d, filer, item.concept, end, item.days_of_year).filed, 1500)


def _span(years: list[list[Any]]) -> str:
    return f"fiscal years {years[0][0]} to {years[-1][0]}"


def _when(item: ReportedItem) -> str:
    """What comes before the fiscal years in a text."""
    return "for" if item.flow else "at the end of each of"


@template("T3", FUNDAMENTALS, most=6)
def filer_yearly_values(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:20], *POINTS])
    years = _years(d, filer, item, 3, 7)
    params = _params(filer, item, years, scale=1e6)
    text = (
        f"Compile {name_of(d, filer)}'s {item.name} {_when(item)} {_span(years)} as first reported "
        f"in the annual report of each year: a table of fiscal years and million USD, {d.digits(0)}."
    )
    asks = (AskedValue("fiscal year", "date"), AskedValue("value", unit="million USD", decimals=0))
    return draft(text, _asked(d, filer, item, years[-1][1]), program.yearly_values, params, asks, {
        "as restated last": (program.yearly_values, {**params, "vintage": "last"}),
        "a year off": (_a_year_off, params),
    }, table=True)  # fmt: skip


def _a_year_off(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The figures of the years, each named as the year before: fiscal years taken for those in which they begin."""
    return [(str(int(year) - 1), value) for year, value in program.yearly_values(w, p)]


@template("T3", FUNDAMENTALS, most=6)
def filer_yearly_growth(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:16], *POINTS[:8]])
    years = _years(d, filer, item, 4, 7)
    params = _params(filer, item, years)
    # A change from a negative figure has no sign that readers agree on.
    if any(value <= 0 for _, value in program.yearly_values(d.world, params)):
        raise SkipError("growth of a loss says nothing")
    text = (
        f"What was the year-over-year growth of {name_of(d, filer)}'s {item.name} in each of fiscal "
        f"years {years[1][0]}–{years[-1][0]}, from the figures first reported for each year? "
        f"A table in percent, {d.digits(2)}."
    )
    asks = (AskedValue("fiscal year", "date"), percent("growth"))
    return draft(text, _asked(d, filer, item, years[-1][1]), program.yearly_growth, params, asks, {
        "from restated figures": (program.yearly_growth, {**params, "vintage": "last"}),
        "over the whole span": (_same_growth, params),
    }, table=True, why=COMPUTED)  # fmt: skip


def _same_growth(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Compound growth of the span, in each year."""
    return [(year, program.compound_growth(w, p)[0]) for year, _ in p["years"][1:]]


@template("T3", FUNDAMENTALS, most=6)
def filer_yearly_ratio(d: Draw) -> Draft:
    filer, changes = filers.draw_filer(d), d.rng.random() < 0.5
    above = BY_CONCEPT[d.one(NUMERATORS)]
    below = BY_CONCEPT[d.one(REVENUES)] if above.flow else BY_CONCEPT["Assets"]
    years = _years(d, filer, above, 4, 6)
    for _, end in years:
        filers.own_filing(d, filer, below.concept, end, below.days_of_year)
    params = _params(filer, above, years, below=below.concept, factor=100.0)
    name = name_of(d, filer)
    if changes:
        text = (
            f"What is the year-over-year change in the proportion of {name}'s {above.name} "
            f"to its {below.name} for each of fiscal years {years[1][0]} to {years[-1][0]}? "
            f"Please provide the change in percentage points, {d.digits(2)}."
        )
        return draft(text, _asked(d, filer, above, years[-1][1]), program.ratio_changes, params,
                     (AskedValue("fiscal year", "date"), percent("change", unit="percentage points")), {
            "the proportion itself": (_ratio_later, params),
        }, table=True, why=COMPUTED)  # fmt: skip
    text = (
        f"{above.name[:1].upper()}{above.name[1:]} as a percentage of {below.name}: "
        f"list it for {name}, {_span(years)}, {d.digits(2)}."
    )
    asks = (AskedValue("fiscal year", "date"), percent("ratio"))
    return draft(text, _asked(d, filer, above, years[-1][1]), program.yearly_ratio, params, asks, {
        "changes of it": (_changes_with_first, params),
    }, table=True, why=COMPUTED)  # fmt: skip


def _ratio_later(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The ratio of all years but the first."""
    return program.yearly_ratio(w, p)[1:]


def _changes_with_first(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Changes of the ratio, with 0 for the first year."""
    return [(p["years"][0][0], 0.0), *program.ratio_changes(w, p)]


@template("T3", FUNDAMENTALS, most=8)
def filer_best_year(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:18], *POINTS[:10]])
    of, which = d.one(["value", "growth"]), d.one(["highest", "lowest"])
    years = _years(d, filer, item, 5, 12)
    params = _params(filer, item, years, of=of, which=which, scale=1e6)
    if of == "growth" and any(value <= 0 for _, value in program.yearly_values(d.world, params)):
        raise SkipError("growth of a loss says nothing")
    ask = AskedValue("value", unit="million USD", decimals=0) if of == "value" else percent("growth")
    # The growth of the first year would need the year before it.
    first = years[1 if of == "growth" else 0][0]
    what = f"{item.name}" if of == "value" else f"growth of {item.name} over the year before, in percent"
    text = (
        f"In which fiscal year from {first} to {years[-1][0]} did {name_of(d, filer)} have its {which} {what} "
        "(figures as first reported for each year), "
        f"and what was it{' in million USD' if of == 'value' else ''}, {d.digits(ask.decimals or 0)}?"
    )
    asks = (AskedValue("fiscal year", "date"), ask)
    return draft(text, _asked(d, filer, item, years[-1][1]), program.best_year, params, asks, {
        "the runner-up": (program.best_year, {**params, "rank": 1}),
        "the other end": (program.best_year, {**params, "which": "lowest" if which == "highest" else "highest"}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", FUNDAMENTALS, most=6)
def filer_compound_growth(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:16], *POINTS[:8]])
    years = _years(d, filer, item, 4, 11)
    params = _params(filer, item, years)
    if program.yearly_values(d.world, params)[0][1] <= 0 or program.yearly_values(d.world, params)[-1][1] <= 0:
        raise SkipError("growth of a loss says nothing")
    text = (
        f"What was the compound annual growth rate of {name_of(d, filer)}'s {item.name} from "
        f"fiscal year {years[0][0]} to fiscal year {years[-1][0]}, in percent, {d.digits(2)}?"
    )
    whole = {**params, "end": years[-1][1], "base": years[0][1]}
    return draft(text, _asked(d, filer, item, years[-1][1]), program.compound_growth, params, (percent("growth"),), {
        "total growth": (program.growth, whole),
        "a year less": (program.compound_growth, {**params, "years": years[1:]}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", FUNDAMENTALS, most=6)
def filer_sum_of_years(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    item = BY_CONCEPT[d.one(SUMMED)]
    years = _years(d, filer, item, 3, 9)
    params = {**_params(filer, item, years, scale=1e9), "ends": [end for _, end in years]}
    text = (
        f"Cumulatively over {_span(years)} (both included), "
        f"what was {name_of(d, filer)}'s {item.name}, in billions of USD, {d.digits(2)}?"
    )
    ask = AskedValue("total", unit="billion USD", decimals=2)
    return draft(text, _asked(d, filer, item, years[-1][1]), program.sum_of_periods, params, (ask,), {
        "without the first year": (program.sum_of_periods, {**params, "ends": [end for _, end in years[1:]]}),
        "in millions": (program.sum_of_periods, {**params, "scale": 1e6}),
    })  # fmt: skip


@template("T3", FUNDAMENTALS, most=8)
def filer_last_quarter(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(FLOWS[:18])
    year, end, fact = filers.draw_year(d, filer, item)
    nine = filers.quarters(d, filer, year)[2]
    filers.own_filing(d, filer, item.concept, nine, NINE_MONTHS)
    params = {"company": filer.ticker, "item": item.concept, "end": end, "nine": nine, "days": YEAR, "scale": 1e6}
    text = (
        f"Derive {name_of(d, filer)}'s {item.name} in the fourth quarter of fiscal year {year} as the "
        f"fiscal year less the first nine months, each as first filed, in million USD, {d.digits(0)}."
    )
    ask = AskedValue("value", unit="million USD", decimals=0)
    return draft(text, d.asked_after(fact.filed, 1500), program.rest_of_year, params, (ask,), {
        "the whole year": (program.item_value, params),
        "the first nine months": (program.item_value, {**params, "end": nine, "days": NINE_MONTHS}),
    })  # fmt: skip
