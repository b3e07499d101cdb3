"""Questions on companies that file with the SEC, of tier T2: a figure of a period, or what is computed from a few."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, template
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import HALF, NINE_MONTHS, QUARTER, YEAR
from openfingym_suites.finsearch.questions.templates import filers
from openfingym_suites.finsearch.questions.templates.companies import (
    COMPUTED,
    DISCLOSURE,
    FUNDAMENTALS,
    _later,
    _period,
    draft,
    name_of,
)
from openfingym_suites.finsearch.questions.templates.filers import FLOWS, OTHERS, POINTS


@template("T2", FUNDAMENTALS, most=10)
def filer_year_item(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d, all_of_them=True), d.one(FLOWS)
    if filer in OTHERS:
        year, end = d.one(list(filers.fiscal_ends(d, filer).items()))
        fact = next(fact for fact in d.world.facts(filer.ticker, item.concept, end) if YEAR[0] <= fact.days <= YEAR[1])
    else:
        year, end, fact = filers.draw_year(d, filer, item)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = _period(filer, item, end, scale=scale)
    text = d.one(
        [
            "For the fiscal year {year}, what was {name}'s {item}? (in {unit}, {digits})",
            "What did {name} first report as its {item} for fiscal year {year}, in {unit}, {digits}?",
            "{name}, fiscal year {year}: {item}, as filed with the SEC for that year, in {unit} ({digits})?",
        ]
    ).format(year=year, name=name_of(d, filer), item=item.name, unit=unit, digits=d.digits(decimals))
    before = filers.fiscal_ends(d, filer).get(year - 1)
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.item_value, params, (ask,), {
        **({"the fiscal year before": (program.item_value, {**params, "end": before})} if before else {}),
        "the fourth quarter alone": (_last_quarter_or_less, params),
    })  # fmt: skip


def _last_quarter_or_less(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """What a reader takes who stops at the quarter that ends with the year, or else at a tenth of the year."""
    quarter = [fact for fact in w.facts(p["company"], p["item"], p["end"]) if QUARTER[0] <= fact.days <= QUARTER[1]]
    return (quarter[0].value / p["scale"] if quarter else program.value(w, p) / 10.0,)


@template("T2", FUNDAMENTALS, most=10)
def filer_point_item(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(POINTS)
    year, end, fact = filers.draw_year(d, filer, item)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = _period(filer, item, end, scale=scale)
    text = d.one(
        [
            "What was the amount of {name}'s {item} as of the end of the fiscal year {year}? (in {unit}, {digits})",
            "As of {day}, the end of its fiscal year {year}, what did {name} report as {item}, in {unit}, {digits}?",
            "State {item} on the balance sheet that closed {name}'s fiscal year {year} ({unit}, {digits}).",
        ]
    ).format(year=year, name=name_of(d, filer), item=item.name, unit=unit, digits=d.digits(decimals), day=d.day(end))
    before = filers.fiscal_ends(d, filer).get(year - 1)
    alternatives: dict[str, Any] = {"in the wrong unit": (program.item_value, {**params, "scale": scale / 1000.0})}
    if before:
        alternatives["a year before"] = (program.item_value, {**params, "end": before})
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.item_value, params, (ask,), alternatives)


@template("T2", FUNDAMENTALS, most=10)
def filer_quarter_item(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    item = d.one([*FLOWS[:12], *POINTS[:10]])
    year = d.one(list(filers.fiscal_ends(d, filer)))
    number = d.rng.randrange(3)
    end = filers.quarters(d, filer, year)[number]
    fact = filers.own_filing(d, filer, item.concept, end, item.days_of_quarter)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = {**_period(filer, item, end, scale=scale), "days": item.days_of_quarter}
    when = filers.quarter_words(number, year)
    text = (
        f"What was {item.name} of {name_of(d, filer)} in {when} alone (three months), in {unit}, {d.digits(decimals)}?"
        if item.flow
        else (
            f"At the end of {when}, what amount of {item.name} did {name_of(d, filer)} report, "
            f"in {unit}, {d.digits(decimals)}?"
        )
    )
    alternatives = {
        "a year later": (program.item_value, {**params, "end": filers.quarters(d, filer, year)[number - 1]})
    }
    if item.flow and number:
        alternatives["year to date"] = (program.item_value, {**params, "days": HALF if number == 1 else NINE_MONTHS})
    alternatives["in the wrong unit"] = (program.item_value, {**params, "scale": scale / 1000.0})
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.item_value, params, (ask,), alternatives)


@template("T2", FUNDAMENTALS, most=8)
def filer_year_growth(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:16], *POINTS[:8]])
    year, end, fact = filers.draw_year(d, filer, item)
    base = filers.fiscal_ends(d, filer)[year - 1]
    filers.own_filing(d, filer, item.concept, base, item.days_of_year)
    params = _period(filer, item, end, base=base)
    words = "from the fiscal year before" if item.flow else "from the end of the fiscal year before"
    text = (
        f"By how many percent did {name_of(d, filer)}'s {item.name} change in fiscal year {year} {words}, "
        "each figure as first reported for its own year? "
        f"{d.digits(2).capitalize()}."
    )
    if program.value(d.world, params) * program.value(d.world, {**params, "end": base}) <= 0:
        raise SkipError("growth of a loss says nothing")
    return draft(text, _later(d, fact), program.growth, params, (percent("growth"),), {
        "the difference in millions": (program.difference, {**params, "scale": 1e6}),
        "the year before": (_growth_before, {**params, "before": filers.fiscal_ends(d, filer).get(year - 2, base)}),
    }, why=COMPUTED)  # fmt: skip


def _growth_before(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """Growth of the year before."""
    return program.growth(w, {**p, "end": p["base"], "base": p["before"]}) if p["base"] != p["before"] else (-100.0,)


@template("T2", FUNDAMENTALS, most=8)
def filer_year_ratio(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    kind = d.one(["margin", "current", "debt", "share"])
    pick = {item.concept: item for item in (*FLOWS, *POINTS)}
    if kind == "margin":
        above = pick[d.one(["NetIncomeLoss", "OperatingIncomeLoss", "ResearchAndDevelopmentExpense", "GrossProfit"])]
        below = pick[d.one(["Revenues", "SalesRevenueNet", "RevenueFromContractWithCustomerExcludingAssessedTax"])]
    elif kind == "current":
        above, below = pick["AssetsCurrent"], pick["LiabilitiesCurrent"]
    elif kind == "debt":
        above, below = pick["Liabilities"], pick["Assets"]
    else:
        above = pick[d.one(["CashAndCashEquivalentsAtCarryingValue", "InventoryNet", "Goodwill", "StockholdersEquity"])]
        below = pick["Assets"]
    year, end, fact = filers.draw_year(d, filer, above)
    filers.own_filing(d, filer, below.concept, end, below.days_of_year)
    factor = 1.0 if kind == "current" else 100.0
    params = _period(filer, above, end, below=below.concept, factor=factor)
    when = f"for fiscal year {year}" if above.flow else f"at the end of fiscal year {year}"
    text = {
        "margin": (
            f"What share of {below.name} was {name_of(d, filer)}'s {above.name} {when}, in percent, {d.digits(2)}?"
        ),
        "current": (
            "What was the current ratio (total current assets over total "
            f"current liabilities) of {name_of(d, filer)} {when}, {d.digits(2)}?"
        ),
        "debt": (
            "What was the debt-to-asset ratio, total liabilities over total assets, "
            f"of {name_of(d, filer)} {when}, in percent, {d.digits(2)}?"
        ),
        "share": f"{name_of(d, filer)}: {above.name} as a percentage of total assets {when}, {d.digits(2)}?",
    }[kind]
    ask = AskedValue("ratio", decimals=2, rule="within", tolerance=0.015) if kind == "current" else percent("ratio")
    before = filers.fiscal_ends(d, filer)[year - 1]
    return draft(text, _later(d, fact), program.ratio, params, (ask,), {
        "the other way round": (program.ratio, {**params, "item": below.concept, "below": above.concept}),
        "a year before": (program.ratio, {**params, "end": before}),
    }, why=COMPUTED)  # fmt: skip


@template("T2", DISCLOSURE, most=8)
def filer_restated(d: Draw) -> Draft:
    filer, item, kind = filers.draw_filer(d), d.one([*FLOWS, *POINTS]), d.one(["first", "last", "difference"])
    year, end, fact = filers.draw_year(d, filer, item)
    params = _period(filer, item, end)
    vintages = program.filed(d.world, params)
    if vintages[0].value == vintages[-1].value:
        raise SkipError("never restated")
    _, scale, decimals = filers.unit_for(fact.value)
    # A restatement that does not show in millions is asked for in thousands.
    if round(vintages[0].value / scale) == round(vintages[-1].value / scale):
        scale = 1e3
    unit = "million USD" if scale == 1e6 else "thousand USD"
    params["scale"] = scale
    as_of = d.asked_after(vintages[-1].filed, 2500)
    name, when = name_of(d, filer), f"for fiscal year {year}" if item.flow else f"as of the end of fiscal year {year}"
    text = {
        "first": (
            f"{name} later restated its {item.name} {when}. "
            f"What was the figure as originally reported, in {unit}, {d.digits(0)}?"
        ),
        "last": (
            f"What is {name}'s {item.name} {when} in the most recent filing that states it "
            f"(restated or reclassified), in {unit}, {d.digits(0)}?"
        ),
        "difference": (
            f"By how much does the latest filed figure of {name}'s {item.name} {when} "
            f"differ from the one first filed (latest minus first), in {unit}, {d.digits(0)}?"
        ),
    }[kind]
    params["vintage"] = kind
    what = program.restated_by if kind == "difference" else program.item_value
    other = {**params, "vintage": "last" if kind == "first" else "first"}
    return draft(text, as_of, what, params, (AskedValue("value", unit=unit, decimals=decimals),), {
        "the other vintage": (program.item_value, other),
    })  # fmt: skip


@template("T2", FUNDAMENTALS, most=8)
def filer_half_year(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(FLOWS[:16])
    year = d.one(list(filers.fiscal_ends(d, filer)))
    number = d.one([1, 2])
    end = filers.quarters(d, filer, year)[number]
    days = HALF if number == 1 else NINE_MONTHS
    fact = filers.own_filing(d, filer, item.concept, end, days)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = {**_period(filer, item, end, scale=scale), "days": days}
    text = (
        f"In the first {'six' if number == 1 else 'nine'} months of fiscal year {year}, "
        f"what was {name_of(d, filer)}'s {item.name}, in {unit}, {d.digits(decimals)}?"
    )
    year_end = filers.fiscal_ends(d, filer)[year]
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.item_value, params, (ask,), {
        "the latest quarter alone": (_quarter_or_half, params),
        "the whole year": (program.item_value, {**params, "end": year_end, "days": YEAR}),
    })  # fmt: skip


def _quarter_or_half(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """What a reader takes who stops at the last quarter, or else at half."""
    quarter = [fact for fact in w.facts(p["company"], p["item"], p["end"]) if QUARTER[0] <= fact.days <= QUARTER[1]]
    return (quarter[0].value / p["scale"] if quarter else program.value(w, p) / 2.0,)


@template("T2", FUNDAMENTALS, most=6)
def filer_per_share(d: Draw) -> Draft:
    filer, concept = filers.draw_filer(d, all_of_them=True), d.one(["EarningsPerShareDiluted", "EarningsPerShareBasic"])
    ends = filers.fiscal_ends(d, filer)
    year = d.one(list(ends))
    facts = [fact for fact in d.world.facts(filer.ticker, concept, ends[year]) if YEAR[0] <= fact.days <= YEAR[1]]
    if filer not in OTHERS:
        filers.own_filing(d, filer, concept, ends[year], YEAR)
    params = {"company": filer.ticker, "item": concept, "end": ends[year], "days": YEAR}
    words = "diluted" if concept.endswith("Diluted") else "basic"
    # Figures per share are restated when shares are split, and hardly ever for another reason.
    split = len(facts) > 1 and facts[-1].value != facts[0].value
    text = (
        f"What {words} earnings per share (US GAAP) did {name_of(d, filer)} report for fiscal "
        f"year {year} in its filing for that year{', before later share splits' if split else ''}? "
        f"In USD, {d.digits(2)}."
    )
    other = "EarningsPerShareBasic" if words == "diluted" else "EarningsPerShareDiluted"
    ask = AskedValue("EPS", unit="USD", decimals=2)
    return draft(text, d.asked_after(facts[-1 if split else 0].filed, 1500), program.item_value, params, (ask,), {
        "the other count of shares": (program.item_value, {**params, "item": other}),
        "as restated later": (program.item_value, {**params, "vintage": "last"}),
        **({"a year before": (program.item_value, {**params, "end": ends[year - 1]})} if year - 1 in ends else {}),
    })  # fmt: skip


@template("T2", DISCLOSURE, most=6)
def filer_filed_on(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    year, end, fact = filers.draw_year(d, filer, POINTS[0])
    params = _period(filer, POINTS[0], end, scale=1e6)
    text = (
        f"On which date did {name_of(d, filer)} file the annual report for fiscal year {year} with the SEC, "
        f"and what total assets did its balance sheet show, in million USD, {d.digits(0)}?"
    )
    asks = (AskedValue("filed", "date"), AskedValue("total assets", unit="million USD", decimals=0))
    return draft(text, d.asked_after(fact.filed, 2000), program.first_filing, params, asks, {
        "when it was a comparative": (program.first_filing, {**params, "vintage": "last"}),
        "a year before": (program.first_filing, {**params, "end": filers.fiscal_ends(d, filer)[year - 1]}),
    })  # fmt: skip


@template("T2", FUNDAMENTALS, most=8)
def filer_trailing_year(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(FLOWS[:16])
    year, number = d.one(list(filers.fiscal_ends(d, filer))), d.rng.randrange(3)
    ends, before = filers.quarters(d, filer, year), filers.quarters(d, filer, year - 1)
    part = (QUARTER, HALF, NINE_MONTHS)[number]
    fact = filers.own_filing(d, filer, item.concept, ends[number], part)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = {
        "company": filer.ticker,
        "item": item.concept,
        "end": ends[number],
        "part": part,
        "part_before": before[number],
        "year_end": filers.fiscal_ends(d, filer)[year - 1],
        "scale": scale,
    }
    text = (
        f"Trailing twelve months to the end of {filers.quarter_words(number, year)}: "
        f"what was {name_of(d, filer)}'s {item.name} (last fiscal year plus this year to date "
        f"minus the year-ago year to date, each as first filed), in {unit}, {d.digits(decimals)}?"
    )
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.trailing_year, params, (ask,), {
        "the last fiscal year": (program.item_value, {**params, "end": params["year_end"], "days": YEAR}),
        "the year to date": (program.item_value, {**params, "days": part}),
    })  # fmt: skip


@template("T2", FUNDAMENTALS, most=6)
def filer_half_on_half(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(FLOWS[:14])
    year, end, fact = filers.draw_year(d, filer, item)
    half = filers.quarters(d, filer, year)[1]
    filers.own_filing(d, filer, item.concept, half, HALF)
    params = {**_period(filer, item, end), "half": half}
    text = (
        f"Half over half: by how many percent was {name_of(d, filer)}'s {item.name} in the second half of fiscal "
        f"year {year} above or below that of the first half (second half = fiscal year minus first six months)? "
        f"{d.digits(2).capitalize()}."
    )
    first = program.value(d.world, {**params, "end": half, "days": HALF})
    if first <= 0 or fact.value - first <= 0:
        raise SkipError("growth of a loss says nothing")
    year_before = filers.fiscal_ends(d, filer)[year - 1]
    return draft(text, _later(d, fact), program.half_on_half, params, (percent("change"),), {
        "the fiscal year over the one before": (program.growth, {**params, "base": year_before}),
    }, why=COMPUTED)  # fmt: skip


_DIFFERENCES = (
    (
        "NetCashProvidedByUsedInOperatingActivities",
        "PaymentsToAcquirePropertyPlantAndEquipment",
        "free cash flow, defined as {0} less {1}",
    ),
    ("AssetsCurrent", "LiabilitiesCurrent", "working capital, {0} minus {1}"),
    ("GrossProfit", "ResearchAndDevelopmentExpense", "the amount by which {0} exceeded {1}"),
    ("CashAndCashEquivalentsAtCarryingValue", "LongTermDebtNoncurrent", "{0} less {1}"),
    ("PaymentsForRepurchaseOfCommonStock", "PaymentsOfDividends", "the difference between {0} and {1}"),
)
"""Two concepts, and what is made of them in words."""


@template("T2", FUNDAMENTALS, most=6)
def filer_net_of_two(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    pick = {item.concept: item for item in (*FLOWS, *POINTS)}
    first, second, words = d.one(_DIFFERENCES)
    above, below = pick[first], pick[second]
    year, end, fact = filers.draw_year(d, filer, above)
    filers.own_filing(d, filer, second, end, below.days_of_year)
    unit, scale, decimals = filers.unit_for(fact.value)
    params = {**_period(filer, above, end, scale=scale), "items": [[first, 1.0], [second, -1.0]]}
    when = f"in fiscal year {year}" if above.flow else f"at the end of fiscal year {year}"
    text = (
        f"How large was {words.format(above.name, below.name)}, "
        f"of {name_of(d, filer)} {when}, in {unit}, {d.digits(decimals)}?"
    )
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(text, _later(d, fact), program.sum_of_items, params, (ask,), {
        "the first item alone": (program.item_value, params),
        "the sum": (program.sum_of_items, {**params, "items": [[first, 1.0], [second, 1.0]]}),
    })  # fmt: skip
