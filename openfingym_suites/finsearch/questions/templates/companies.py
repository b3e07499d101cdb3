"""Questions on companies that file with the SEC: single figures, and what is computed from a few."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, percent, template
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import POINT, QUARTER, YEAR
from openfingym_suites.finsearch.questions.templates import filers
from openfingym_suites.finsearch.questions.templates.filers import (
    FILERS,
    FLOWS,
    ITEM_NAMES,
    NAMES,
    POINTS,
    Filer,
    ReportedItem,
)

FUNDAMENTALS, DISCLOSURE = "company fundamentals", "disclosure and corporate actions"
FILED = "A filing states the figure: rounding alone may differ."
COMPUTED = "Computed from figures as filed: half a unit of the last asked place more than rounding."
SOURCE = ("company_facts",)


def draft(text: str, as_of: str, what: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
          alternatives: dict[str, Any], *, table: bool = False, why: str = FILED,
          sources: tuple[str, ...] = SOURCE, names: tuple[str, ...] = ()) -> Draft:  # fmt: skip
    """A draft of a question on companies that file with the SEC; ``names`` are those in its text besides theirs."""
    return Draft(text, as_of, what, params, asks, alternatives, (*NAMES, *ITEM_NAMES, *names), sources, why, table)


def name_of(d: Draw, filer: Filer) -> str:
    """A company by its name, or by its name and ticker."""
    return d.one([filer.name, f"{filer.name} ({filer.ticker})"])


def _period(filer: Filer, item: ReportedItem, end: str, **more: Any) -> dict[str, Any]:
    """Parameters of a program for the figure of a fiscal year, or at its end."""
    return {"company": filer.ticker, "item": item.concept, "end": end, "days": item.days_of_year, **more}


def _later(d: Draw, fact: Any, most: int = 1500) -> str:
    """A time at which a fact has been filed."""
    return d.asked_after(fact.filed, most)


# --- T1: what was reported last ---------------------------------------------------------------------------------------


def _known(d: Draw, filer: Filer, item: ReportedItem) -> str:
    """A time at which one report of an item is out and the next is to come."""
    low, high = item.days_of_quarter
    filed = sorted({fact.filed for fact in d.world.facts(filer.ticker, item.concept) if low <= fact.days <= high})
    # Reports of a company are a quarter apart: 85 days after one of them, the next is not out.
    return d.asked_after(d.one(filed[1:]), 85)


def _latest_figure(
    d: Draw, items: tuple[ReportedItem, ...]
) -> tuple[Filer, ReportedItem, str, dict[str, Any], AskedValue]:
    """What a question on a figure that was reported last has: company, item, time, parameters, and what it asks for."""
    filer = filers.draw_filer(d)
    item = d.one([item for item in items if d.world.facts(filer.ticker, item.concept)])
    as_of = _known(d, filer, item)
    params: dict[str, Any] = {"company": filer.ticker, "item": item.concept, "days": item.days_of_quarter}
    # The unit is that of the company's latest figure, whenever the question is asked, so that it tells nothing.
    unit, scale, decimals = filers.unit_for(program.latest_reported(d.world, params)[0])
    return filer, item, as_of, {**params, "scale": scale}, AskedValue("value", unit=unit, decimals=decimals)


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_quarter(d: Draw) -> Draft:
    filer, item, as_of, params, ask = _latest_figure(d, FLOWS)
    text = d.one(
        [
            (
                "What was {item} of {name} in the latest single quarter for which its SEC filings report it, "
                "in {unit}, {digits}?"
            ),
            "Most recently reported three-month {item} of {name}, per its SEC filings ({unit}, {digits})?",
        ]
    ).format(item=item.name, name=name_of(d, filer), unit=ask.unit, digits=d.digits(ask.decimals or 0))
    return draft(text, as_of, program.latest_reported, params, (ask,), {
        "the quarter before": (program.latest_reported, {**params, "back": 1}),
        "the latest fiscal year": (program.latest_reported, {**params, "days": YEAR}),
    })  # fmt: skip


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_balance(d: Draw) -> Draft:
    filer, item, as_of, params, ask = _latest_figure(d, POINTS)
    text = d.one(
        [
            "What does {name} show as {item} on its most recent balance sheet filed with the SEC, in {unit}, {digits}?",
            "{name}'s latest reported {item}, at the end of the last period in its filings ({unit}, {digits})?",
        ]
    ).format(item=item.name, name=name_of(d, filer), unit=ask.unit, digits=d.digits(ask.decimals or 0))
    return draft(text, as_of, program.latest_reported, params, (ask,), {
        "the balance sheet before": (program.latest_reported, {**params, "back": 1}),
        "two balance sheets before": (program.latest_reported, {**params, "back": 2}),
    })  # fmt: skip


@template("T1", DISCLOSURE, most=6)
def filer_latest_report(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one([FLOWS[0], FLOWS[1]])
    as_of = _known(d, filer, item)
    params = {"company": filer.ticker, "item": "Assets", "days": POINT}
    text = d.one(
        [
            (
                "Which balance sheet date is the latest for which {name} has reported to the SEC, "
                "and on which date was it filed first?"
            ),
            "Up to which balance sheet date has {name} reported so far (10-K or 10-Q), and when was that filed?",
            (
                "The last day of the most recent fiscal period that {name} has reported in a 10-K or 10-Q, "
                "and the filing date?"
            ),
        ]
    ).format(name=name_of(d, filer))
    asks = (AskedValue("period end", "date"), AskedValue("filed", "date"))
    return draft(text, as_of, program.latest_reported_day, params, asks, {
        "the period before": (program.latest_reported_day, {**params, "back": 1}),
    })  # fmt: skip


@template("T1", FUNDAMENTALS, most=8)
def filer_latest_growth(d: Draw) -> Draft:
    filer = filers.draw_filer(d)
    item = d.one([item for item in FLOWS[:12] if d.world.facts(filer.ticker, item.concept)])
    as_of = _known(d, filer, item)
    params = {"company": filer.ticker, "item": item.concept, "days": QUARTER}
    text = (
        f"Year over year, how did the latest reported quarterly {item.name} of {name_of(d, filer)} change, "
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
    filer = d.one(FILERS)
    above = d.one([item for item in FLOWS[:5] if d.world.facts(filer.ticker, item.concept)])
    below = next(item for item in FLOWS if item.concept == _revenue(d, filer, "2018-06-30"))
    as_of = _known(d, filer, above)
    params = {"company": filer.ticker, "item": above.concept, "below": below.concept, "days": QUARTER}
    text = (
        f"For the latest quarter in {name_of(d, filer)}'s SEC filings, "
        f"what was {above.name} as a percentage of {below.name}, {d.digits(2)}?"
    )
    return draft(text, as_of, program.latest_margin, params, (percent("share"),), {
        "the quarter before": (program.latest_margin, {**params, "back": 1}),
        "of the latest fiscal year": (program.latest_margin, {**params, "days": YEAR}),
    }, why=COMPUTED)  # fmt: skip


def _revenue(d: Draw, filer: Filer, after: str) -> str:
    """The concept under which a company files its quarterly revenue after a day: it changed with the standard of 2018.

    Raises:
        SkipError: it files none.
    """
    for concept in ("RevenueFromContractWithCustomerExcludingAssessedTax", "Revenues", "SalesRevenueNet"):
        facts = d.world.facts(filer.ticker, concept)
        if any(fact.end > after and QUARTER[0] <= fact.days <= QUARTER[1] for fact in facts):
            return concept
    raise SkipError("no revenue")


@template("T1", DISCLOSURE, most=6)
def filer_latest_shares(d: Draw) -> Draft:
    filer = d.one(FILERS)
    item = ReportedItem("EntityCommonStockSharesOutstanding", "shares outstanding", False)
    if not d.world.facts(filer.ticker, item.concept):
        item = ReportedItem("CommonStockSharesOutstanding", "shares outstanding", False)
    as_of = _known(d, filer, item)
    params = {"company": filer.ticker, "item": item.concept, "days": POINT, "scale": 1e6}
    where = "on the cover of its" if item.concept.startswith("Entity") else "on the balance sheet of its"
    text = d.one(
        [
            "How many million shares of {name} were outstanding {where} most recent 10-Q or 10-K, {digits}?",
            (
                "Latest count of {name}'s common shares outstanding, as stated {where} newest periodic report, "
                "in millions ({digits})?"
            ),
        ]
    ).format(name=name_of(d, filer), where=where, digits=d.digits(3))
    return draft(text, as_of, program.latest_reported, params, (AskedValue("shares", unit="million", decimals=3),), {
        "the report before": (program.latest_reported, {**params, "back": 1}),
    })  # fmt: skip
