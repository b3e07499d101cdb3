"""Questions on the reports of simulated companies, most of Greater China."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    percent,
    template,
)
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import HALF, NINE_MONTHS, POINT, QUARTER, YEAR
from openfingym_suites.finsearch.questions.templates.simulated_companies import (
    ADJUSTED,
    COMPUTED,
    FLOWS,
    FUNDAMENTALS,
    POINTS,
    ReportingCompany,
    draft,
    draw_item,
    first_fact,
    fiscal_year,
    params_of,
    standard_words,
)
from openfingym_suites.finsearch.questions.templates.simulated_instruments import BOTH


@template("T2", FUNDAMENTALS, subsets=BOTH, most=10)
def sim_year_item(d: Draw) -> Draft:
    company, flow = ReportingCompany(d), d.rng.random() < 0.6
    item, words = draw_item(d, FLOWS if flow else POINTS)
    end = d.one(company.ends(d)[1:])
    params = params_of(company, item, end, YEAR if flow else POINT)
    fact = first_fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    year = fiscal_year(end)
    text = d.say(
        f"What was the amount of {company.mention(d)}'s {words} "
        f"{'for fiscal year' if flow else 'as of the end of fiscal year'} {year}, "
        f"under {standard_words(d, company)}, as first reported, in {unit}, {d.digits(decimals)}?",
        d.one(
            [
                "{name}{year}财年{when}{item}是多少{unit}（{standard}，首次披露数，{digits}）？",
                "按{standard}，{name}首次披露的{year}财年{when}{item}为多少{unit}？{digits}。",
            ]
        ).format(
            name=company.mention(d),
            year=year,
            when="的" if flow else "末",
            item=words,
            unit=unit,
            standard=standard_words(d, company),
            digits=d.digits(decimals),
        ),
    )
    ends = company.ends(d)
    before = ends[ends.index(end) - 1]
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), {
        "the year before": (program.item_value, {**params, "end": before}),
        "in thousands": (program.item_value, {**params, "scale": scale / 1000.0}),
    })  # fmt: skip


@template("T2", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_part_of_year(d: Draw) -> Draft:
    company = ReportingCompany(d)
    item, words = draw_item(d, FLOWS)
    days = d.one([HALF, NINE_MONTHS, QUARTER]) if company.id[:2] != "HK" else HALF
    facts = [
        fact
        for fact in d.world.facts(company.id, item, None, None, company.standard)
        if days[0] <= fact.days <= days[1]
    ]
    fact = d.one(facts)
    params = params_of(company, item, fact.end, days)
    if first_fact(d, params) != fact:
        raise SkipError("a restatement")
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    span = {
        HALF: ("six months", "六个月"),
        NINE_MONTHS: ("nine months", "九个月"),
        QUARTER: ("three months", "三个月"),
    }[days]
    text = d.say(
        f"In the {span[0]} to {d.day(fact.end)}, what was {company.mention(d)}'s {words}, "
        f"under {standard_words(d, company)}, in {unit}, {d.digits(decimals)}?",
        f"截至{d.day(fact.end)}止{span[1]}，"
        f"{company.mention(d)}的{words}是多少{unit}（{standard_words(d, company)}，{d.digits(decimals)}）？",
    )
    others = {"in thousands": (program.item_value, {**params, "scale": scale / 1000.0})}
    if days != QUARTER:
        others["a year before"] = (program.item_value, {**params, "end": f"{int(fact.end[:4]) - 1}{fact.end[4:]}"})
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), others)


@template("T2", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_growth(d: Draw) -> Draft:
    company, flow = ReportingCompany(d), d.rng.random() < 0.7
    item, words = draw_item(d, FLOWS if flow else POINTS)
    ends = company.ends(d)
    place = d.rng.randrange(1, len(ends))
    params = params_of(company, item, ends[place], YEAR if flow else POINT, base=ends[place - 1])
    fact, old = first_fact(d, params), first_fact(d, {**params, "end": ends[place - 1]})
    if fact.value <= 0 or old.value <= 0:
        raise SkipError("growth of a loss says nothing")
    year = fiscal_year(ends[place])
    text = d.say(
        f"Year over year, by how many percent did {company.mention(d)}'s {words} {'of' if flow else 'at the end of'} "
        f"fiscal year {year} change (each year as first reported, {standard_words(d, company)}, {d.digits(2)})?",
        f"{company.mention(d)}{year}财年{'' if flow else '末'}{words}同比变动百分之几"
        f"（两年均取首次披露数，{standard_words(d, company)}，{d.digits(2)}）？",
    )
    return draft(company, text, d.asked_after(fact.filed, 1200), program.growth, params, (percent("growth"),), {
        "the difference in millions": (program.difference, {**params, "scale": 1e6}),
        "the ratio": (_ratio_to_base, params),
    }, why=COMPUTED)  # fmt: skip


def _ratio_to_base(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """One year as a percentage of the year before."""
    return (program.growth(w, p)[0] + 100.0,)


@template("T2", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_margin(d: Draw) -> Draft:
    company = ReportingCompany(d)
    item, words = draw_item(d, {key: value for key, value in FLOWS.items() if key != "Revenue"})
    end = d.one(company.ends(d)[1:])
    params = params_of(company, item, end, YEAR, below="Revenue", factor=100.0)
    fact = first_fact(d, params)
    text = d.say(
        f"For fiscal year {fiscal_year(end)}, what percentage of {company.mention(d)}'s revenue was its {words} "
        f"({standard_words(d, company)}, {d.digits(2)})?",
        f"{fiscal_year(end)}财年，{company.mention(d)}的{words}占营业收入的比例是多少"
        f"（%，{standard_words(d, company)}，{d.digits(2)}）？",
    )
    ends = company.ends(d)
    return draft(company, text, d.asked_after(fact.filed, 1200), program.ratio, params, (percent("ratio"),), {
        "a year before": (program.ratio, {**params, "end": ends[ends.index(end) - 1]}),
        "the other way round": (program.ratio, {**params, "item": "Revenue", "below": item}),
    }, why=COMPUTED)  # fmt: skip


@template("T2", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_adjusted(d: Draw) -> Draft:
    company = ReportingCompany(d)
    item, words = draw_item(d, ADJUSTED)
    end = d.one(company.ends(d)[1:])
    params = {**params_of(company, item, end, YEAR), "standard": "non-GAAP"}
    fact = first_fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    text = d.say(
        f"What non-GAAP {words} did {company.mention(d)} report for fiscal year {fiscal_year(end)}, "
        f"in {unit}, {d.digits(decimals)}?",
        f"{company.mention(d)}{fiscal_year(end)}财年披露的{words}（非公认会计准则口径）是多少{unit}？"
        f"{d.digits(decimals)}。",
    )
    strict = {
        **params,
        "item": "Net cash provided by operating activities" if item == "Free cash flow" else "Net income",
        "standard": company.standard,
    }
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), {
        "by the accounting standard": (program.item_value, strict),
    }, names=tuple(word for both in ADJUSTED.values() for word in both))  # fmt: skip


@template("T1", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_latest_report(d: Draw) -> Draft:
    company = ReportingCompany(d)
    item, words = draw_item(d, POINTS)
    filed = sorted({fact.filed for fact in d.world.facts(company.id, item, None, None, company.standard)})
    as_of = d.asked_after(d.one(filed[1:]), 60)
    params = {"company": company.id, "item": item, "days": POINT, "standard": company.standard}
    unit, scale, decimals = company.unit(d, d.world.facts(company.id, item, None, None, company.standard)[-1].value)
    params["scale"] = scale
    text = d.say(
        d.one(
            [
                (
                    "On the latest balance sheet that {name} has published ({standard}), "
                    "what amount of {item} is stated, in {unit}, {digits}?"
                ),
                "{name}: most recently reported {item} ({standard}), in {unit}, {digits}?",
            ]
        ),
        d.one(
            [
                "{name}最近一期已披露资产负债表中的{item}是多少{unit}（{standard}，{digits}）？",
                "按{standard}，{name}最新披露的{item}为多少{unit}？{digits}。",
            ]
        ),
    ).format(
        name=company.mention(d), item=words, unit=unit, standard=standard_words(d, company), digits=d.digits(decimals)
    )
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return draft(company, text, as_of, program.latest_reported, params, (ask,), {
        "the balance sheet before": (program.latest_reported, {**params, "back": 1}),
        "in thousands": (program.latest_reported, {**params, "scale": scale / 1000.0}),
    })  # fmt: skip


@template("T3", FUNDAMENTALS, subsets=(CHINA,), most=8)
def sim_single_quarter(d: Draw) -> Draft:
    company = ReportingCompany(d, "CN")
    item, words = draw_item(d, FLOWS)
    end = d.one(company.ends(d)[1:])
    year, number = fiscal_year(end), d.one([2, 3, 4])
    ends = {1: f"{year}-03-31", 2: f"{year}-06-30", 3: f"{year}-09-30", 4: end}
    spans = {1: QUARTER, 2: HALF, 3: NINE_MONTHS, 4: YEAR}
    params = {
        "company": company.id,
        "item": item,
        "standard": "CAS",
        "end": ends[number],
        "days": spans[number],
        "less": ends[number - 1],
        "less_days": spans[number - 1],
    }
    # A shares give the year to date alone: a quarter is one such figure less the one before.
    fact, less = first_fact(d, params), first_fact(d, {**params, "end": ends[number - 1], "days": spans[number - 1]})
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    text = d.say(
        f"{company.mention(d)} publishes cumulative figures. "
        f"What was its {words} in the {('second', 'third', 'fourth')[number - 2]} quarter of {year} alone "
        f"({standard_words(d, company)}, as first reported, {unit}, {d.digits(decimals)})?",
        f"{company.mention(d)}{year}年第{'二三四'[number - 2]}季度单季的{words}是多少{unit}"
        f"（由累计数相减，{standard_words(d, company)}，首次披露数，{d.digits(decimals)}）？",
    )
    ask = AskedValue("value", unit=unit, decimals=decimals, rule="within", tolerance=0.015)
    return draft(company, text, d.asked_after(max(fact.filed, less.filed), 1200), single_quarter, params, (ask,), {
        "the cumulative figure": (program.item_value, params),
        "the part before": (program.item_value, {**params, "end": params["less"], "days": params["less_days"]}),
    }, why=COMPUTED)  # fmt: skip


def single_quarter(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """A cumulative figure less the one a quarter before."""
    return (program.value(w, p) - program.value(w, {**p, "end": p["less"], "days": p["less_days"]}),)


@template("T3", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_yearly_values(d: Draw) -> Draft:
    company, flow, growth = ReportingCompany(d), d.rng.random() < 0.7, d.rng.random() < 0.4
    item, words = draw_item(d, FLOWS if flow else POINTS)
    ends = company.ends(d)
    count = d.rng.randrange(4, 7)
    if len(ends) < count:
        raise SkipError("too few years")
    place = d.rng.randrange(len(ends) - count + 1)
    years = [[fiscal_year(end), end] for end in ends[place : place + count]]
    params = params_of(company, item, years[-1][1], YEAR if flow else POINT, years=years)
    fact = first_fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    values = program.yearly_values(d.world, params)
    if growth and any(value <= 0 for _, value in values):
        raise SkipError("growth of a loss says nothing")
    when = d.say("for" if flow else "at the ends of", "" if flow else "末")
    if growth:
        text = d.say(
            f"Tabulate the year-over-year growth of {company.mention(d)}'s {words} {when} fiscal years "
            f"{years[1][0]} to {years[-1][0]} "
            f"({standard_words(d, company)}, as first reported, percent, {d.digits(2)}).",
            f"请列表给出{company.mention(d)}{years[1][0]}至{years[-1][0]}各财年{when}{words}的同比增速"
            f"（{standard_words(d, company)}，首次披露数，%，{d.digits(2)}）。",
        )
        asks = (AskedValue("fiscal year", "date"), percent("growth"))
        return draft(company, text, d.asked_after(fact.filed, 1200), program.yearly_growth, params, asks, {
            "a year off": (_growth_off, params),
        }, why=COMPUTED, table=True)  # fmt: skip
    text = d.say(
        f"List {company.mention(d)}'s {words} {when} fiscal years {years[0][0]} to {years[-1][0]} as first reported "
        f"({standard_words(d, company)}, {unit}, {d.digits(decimals)}), in a table by year.",
        f"{company.mention(d)}{years[0][0]}至{years[-1][0]}各财年{when}{words}分别是多少"
        f"{unit}（{standard_words(d, company)}，首次披露数，{d.digits(decimals)}）？"
        "请按年份列表。",
    )
    asks = (AskedValue("fiscal year", "date"), AskedValue("value", unit=unit, decimals=decimals))
    return draft(company, text, d.asked_after(fact.filed, 1200), program.yearly_values, params, asks, {
        "a year off": (_year_off, params),
    }, table=True)  # fmt: skip


def _year_off(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The figures, each named as the year before."""
    return [(str(int(year) - 1), value) for year, value in program.yearly_values(w, p)]


def _growth_off(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Growth, each named as the year before."""
    return [(str(int(year) - 1), value) for year, value in program.yearly_growth(w, p)]
