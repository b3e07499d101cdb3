"""Questions on companies that file with the SEC: single figures, and what is computed from a few."""

from __future__ import annotations

from typing import Any

from openfingym.suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, template
from openfingym.suites.finsearch.questions.programs import companies as program
from openfingym.suites.finsearch.questions.templates import filers
from openfingym.suites.finsearch.questions.templates.filers import (
    FILERS,
    FLOWS,
    ITEM_NAMES,
    NAMES,
    POINT,
    POINTS,
    QUARTER,
    YEAR,
    Filer,
    Item,
)

FUNDAMENTALS, DISCLOSURE = "company fundamentals", "disclosure and corporate actions"
FILED = "A filing states the figure: rounding alone may differ."
COMPUTED = "Computed from figures as filed: half a unit of the last asked place more than rounding."
SOURCE = ("company_facts",)


def draft(text: str, as_of: str, what: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
          alternatives: dict[str, Any], *, table: bool = False, why: str = FILED,
          sources: tuple[str, ...] = SOURCE, names: tuple[str, ...] = ()) -> Draft:  # fmt: skip
    """A draft on filers."""
    return Draft(text, as_of, what, params, asks, alternatives, (*NAMES, *ITEM_NAMES, *names), sources, why, table)


def name_of(d: Draw, one: Filer) -> str:
    """A company by its name, or by name and ticker."""
    return d.one([one.name, f"{one.name} ({one.ticker})"])


def _period(one: Filer, item: Item, end: str, **more: Any) -> dict[str, Any]:
    return {"company": one.ticker, "item": item.concept, "end": end, "days": YEAR if item.flow else POINT, **more}


def _later(d: Draw, fact: Any, most: int = 1500) -> str:
    return d.asked_after(fact.filed, most)


# --- T1: what was reported last ----------------------------------------------------------------------------------------


def _known(d: Draw, one: Filer, item: Item) -> str:
    """A time at which a report of the item is out and another is to come."""
    days = QUARTER if item.flow else POINT
    filed = sorted({fact.filed for fact in d.world.facts(one.ticker, item.concept) if days[0] <= fact.days <= days[1]})
    return d.asked_after(d.one(filed[1:]), 85)


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_quarter(d: Draw) -> Draft:
    one = filers.filer(d)
    item = d.one([item for item in FLOWS if d.world.facts(one.ticker, item.concept)])
    as_of = _known(d, one, item)
    params = {"company": one.ticker, "item": item.concept, "days": QUARTER}
    unit, scale, decimals = filers.unit_for(program.latest_reported(d.world, params)[0])
    params["scale"] = scale
    text = d.one(["What was {item} of {name} in the latest single quarter for which its SEC filings report it, in {unit}, {digits}?",
                  "Most recently reported three-month {item} of {name}, per its SEC filings ({unit}, {digits})?"]).format(
        item=item.name, name=name_of(d, one), unit=unit, digits=d.digits(decimals))  # fmt: skip
    return draft(text, as_of, program.latest_reported, params, (AskedValue("value", unit=unit, decimals=decimals),), {
        "the quarter before": (program.latest_reported, {**params, "back": 1}),
        "the latest fiscal year": (program.latest_reported, {**params, "days": YEAR}),
    })  # fmt: skip


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_balance(d: Draw) -> Draft:
    one = filers.filer(d)
    item = d.one([item for item in POINTS if d.world.facts(one.ticker, item.concept)])
    as_of = _known(d, one, item)
    params = {"company": one.ticker, "item": item.concept, "days": POINT}
    unit, scale, decimals = filers.unit_for(program.latest_reported(d.world, params)[0])
    params["scale"] = scale
    text = d.one(["What does {name} show as {item} on its most recent balance sheet filed with the SEC, in {unit}, {digits}?",
                  "{name}'s latest reported {item}, at the end of the last period in its filings ({unit}, {digits})?"]).format(
        item=item.name, name=name_of(d, one), unit=unit, digits=d.digits(decimals))  # fmt: skip
    return draft(text, as_of, program.latest_reported, params, (AskedValue("value", unit=unit, decimals=decimals),), {
        "the balance sheet before": (program.latest_reported, {**params, "back": 1}),
        "two balance sheets before": (program.latest_reported, {**params, "back": 2}),
    })  # fmt: skip


@template("T1", DISCLOSURE, most=6)
def filer_latest_report(d: Draw) -> Draft:
    one, item = filers.filer(d), d.one([FLOWS[0], FLOWS[1]])
    as_of = _known(d, one, item)
    params = {"company": one.ticker, "item": "Assets", "days": POINT}
    text = d.one(["Which balance sheet date is the latest for which {name} has reported to the SEC, and on which date was it filed first?",
                  "Up to which balance sheet date has {name} reported so far (10-K or 10-Q), and when was that filed?",
                  "The last day of the most recent fiscal period that {name} has reported in a 10-K or 10-Q, and the filing date?"]).format(name=name_of(d, one))  # fmt: skip
    asks = (AskedValue("period end", "date"), AskedValue("filed", "date"))
    return draft(text, as_of, program.latest_reported_day, params, asks, {
        "the period before": (program.latest_reported_day, {**params, "back": 1}),
    })  # fmt: skip


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_growth(d: Draw) -> Draft:
    one = filers.filer(d)
    item = d.one([item for item in FLOWS[:12] if d.world.facts(one.ticker, item.concept)])
    as_of = _known(d, one, item)
    params = {"company": one.ticker, "item": item.concept, "days": QUARTER}
    text = (
        f"Year over year, how did the latest reported quarterly {item.name} of {name_of(d, one)} change, "
        "against the comparative figure in the same filing? "
        f"In percent, {d.digits(2)}."
    )
    return draft(text, as_of, program.latest_reported_growth, params, (percent("growth"),), {
        "sequentially": (_sequential, params),
    }, why=COMPUTED)  # fmt: skip


def _sequential(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The latest quarter compared with the one before it, in percent."""
    new, old = (program.latest_period_of(w, {**p, "back": back}).value for back in (0, 1))
    return (100.0 * (new / old - 1.0),)


@template("T1", FUNDAMENTALS, most=6)
def filer_latest_margin(d: Draw) -> Draft:
    one = d.one(FILERS)
    above = d.one([item for item in FLOWS[:5] if d.world.facts(one.ticker, item.concept)])
    below = next(item for item in FLOWS if item.concept == _revenue(d, one, "2018-06-30"))
    as_of = _known(d, one, above)
    params = {"company": one.ticker, "item": above.concept, "below": below.concept, "days": QUARTER}
    text = (
        f"For the latest quarter in {name_of(d, one)}'s SEC filings, "
        f"what was {above.name} as a percentage of {below.name}, {d.digits(2)}?"
    )
    return draft(text, as_of, program.latest_margin, params, (percent("share"),), {
        "the quarter before": (program.latest_margin, {**params, "back": 1}),
        "of the latest fiscal year": (program.latest_margin, {**params, "days": YEAR}),
    }, why=COMPUTED)  # fmt: skip


def _revenue(d: Draw, one: Filer, after: str) -> str:
    for concept in ("RevenueFromContractWithCustomerExcludingAssessedTax", "Revenues", "SalesRevenueNet"):
        if any(
            fact.end > after and QUARTER[0] <= fact.days <= QUARTER[1] for fact in d.world.facts(one.ticker, concept)
        ):
            return concept
    raise SkipError("no revenue")


@template("T1", DISCLOSURE, most=6)
def filer_latest_shares(d: Draw) -> Draft:
    one, concept = d.one(FILERS), "CommonStockSharesOutstanding"
    item = Item("EntityCommonStockSharesOutstanding", "shares outstanding", False)
    if not d.world.facts(one.ticker, item.concept):
        item = Item(concept, "shares outstanding", False)
    as_of = _known(d, one, item)
    params = {"company": one.ticker, "item": item.concept, "days": POINT, "scale": 1e6}
    where = "on the cover of its" if item.concept.startswith("Entity") else "on the balance sheet of its"
    text = d.one(["How many million shares of {name} were outstanding {where} most recent 10-Q or 10-K, {digits}?",
                  "Latest count of {name}'s common shares outstanding, as stated {where} newest periodic report, in millions ({digits})?"]).format(
        name=name_of(d, one), where=where, digits=d.digits(3))  # fmt: skip
    return draft(text, as_of, program.latest_reported, params, (AskedValue("shares", unit="million", decimals=3),), {
        "the report before": (program.latest_reported, {**params, "back": 1}),
    })  # fmt: skip
