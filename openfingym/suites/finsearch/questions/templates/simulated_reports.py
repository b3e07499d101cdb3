"""Questions on the reports of simulated companies, most of Greater China."""

from __future__ import annotations

from typing import Any

from openfingym.suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    percent,
    template,
)
from openfingym.suites.finsearch.questions.programs import companies as program
from openfingym.suites.finsearch.questions.programs.companies import HALF, NINE_MONTHS, POINT, QUARTER, YEAR
from openfingym.suites.finsearch.questions.templates.simulated_markets import _named

BOTH = (GLOBAL, CHINA)
FUNDAMENTALS, MACRO = "company fundamentals", "macroeconomy"
FILED = "The report states the figure: rounding alone may differ."
COMPUTED = "Computed from figures as published: half a unit of the last asked place more than rounding."
FLOWS = {
    "Revenue": ("revenue", "营业收入"),
    "Operating income": ("operating income", "营业利润"),
    "Net income": ("net income", "净利润"),
    "Net income attributable to shareholders": (
        "net income attributable to shareholders",
        "归属于母公司股东的净利润",
    ),
    "Research and development expenses": ("research and development expenses", "研发费用"),
    "Cost of revenue": ("cost of revenue", "营业成本"),
    "Income tax expense": ("income tax expense", "所得税费用"),
    "Net cash provided by operating activities": (
        "net cash provided by operating activities",
        "经营活动产生的现金流量净额",
    ),
    "Capital expenditures": ("capital expenditures", "购建固定资产等支付的现金"),
}
"""Items over a period, with what questions call them in English and Chinese."""
POINTS = {
    "Total assets": ("total assets", "资产总计"),
    "Total liabilities": ("total liabilities", "负债合计"),
    "Inventories": ("inventories", "存货"),
    "Total equity": ("total equity", "所有者权益合计"),
    "Cash and cash equivalents": ("cash and cash equivalents", "货币资金"),
    "Accounts receivable": ("accounts receivable", "应收账款"),
    "Goodwill": ("goodwill", "商誉"),
}
"""Items at a point in time, with what questions call them in English and Chinese."""
ADJUSTED = {
    "Adjusted net income": ("adjusted net income", "经调整净利润"),
    "Adjusted EBITDA": ("adjusted EBITDA", "经调整EBITDA"),
    "Free cash flow": ("free cash flow", "自由现金流"),
}
"""Non-GAAP items, with what questions call them in English and Chinese."""
WORDS = tuple(word for both in (*FLOWS.values(), *POINTS.values()) for word in both)
STANDARDS = {
    "CAS": ("Chinese accounting standards", "中国会计准则"),
    "IFRS": ("IFRS", "国际财务报告准则"),
    "US GAAP": ("US GAAP", "美国公认会计准则"),
}


class _Company:
    """A simulated company and the accounting standard under which its figures are asked for.

    Args:
        d: what the question is drawn with.
        prefix: how its id begins: ``US``, ``CN`` or ``HK``; empty for any company of the question's subset.
    """

    def __init__(self, d: Draw, prefix: str = "") -> None:
        wanted = prefix or ("US" if d.subset == GLOBAL else ("CN", "HK"))
        rows = [row for row in d.world.instruments("stock") if row["company"].startswith(wanted)]
        # Of a company with A and H shares, the A share stands for it: it would else be drawn twice as often.
        self.row = d.one(
            [row for row in rows if not (row["symbol"].endswith("HK") and row["company"].startswith("CN"))]
        )
        self.id = self.row["company"]
        on_mainland = self.id.startswith("CN")
        self.standard = "CAS" if on_mainland else self._only_standard(d)
        self.currency = "CNY" if on_mainland else d.world.currency(self.id)

    def _only_standard(self, d: Draw) -> str:
        """The standard of a company that reports under one alone."""
        standards = ("US GAAP", "IFRS")
        return next(standard for standard in standards if d.world.facts(self.id, "Revenue", None, None, standard))

    def ends(self, d: Draw) -> list[str]:
        """The last days of the fiscal years that were reported in full, oldest first."""
        facts = d.world.facts(self.id, "Revenue", None, None, self.standard)
        return sorted({fact.end for fact in facts if YEAR[0] <= fact.days <= YEAR[1]})

    def call(self, d: Draw) -> str:
        """The company in words of the question's language, with its symbol."""
        english, chinese = _named(self.row)
        return d.say(f"{english} ({self.row['symbol']})", f"{chinese}（{self.row['symbol']}）")

    def unit(self, d: Draw, value: float) -> tuple[str, float, int]:
        """Unit in which an amount is asked for: its name, its size in whole units of currency, and the decimals."""
        if d.zh:
            # Chinese counts in hundred millions and in ten thousands.
            word = {"CNY": "元", "HKD": "港元", "USD": "美元"}.get(self.currency, self.currency)
            return (f"亿{word}", 1e8, 2) if abs(value) >= 1e8 else (f"万{word}", 1e4, 2)
        return f"million {self.currency}", 1e6, 2


def _draft(company: _Company, text: str, as_of: str, what: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
           alternatives: dict[str, Any], *, why: str = FILED, table: bool = False,
           names: tuple[str, ...] = ()) -> Draft:  # fmt: skip
    """A draft of a question on a simulated company; ``names`` are those in its text besides its own and the items'."""
    every = (company.row["symbol"], *_named(company.row), *WORDS, *names)
    return Draft(
        text, as_of, what, params, asks, alternatives, every, ("statements (simulated)",), why, table, real=False
    )


def _item(d: Draw, items: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """One of some items: its name in the statements, and what the text calls it."""
    key = d.one(list(items))
    return key, d.say(*items[key])


def _params(company: _Company, item: str, end: str, days: tuple[int, int], **more: Any) -> dict[str, Any]:
    return {"company": company.id, "item": item, "end": end, "days": days, "standard": company.standard, **more}


def _fact(d: Draw, params: dict[str, Any]) -> Any:
    """The figure that the parameters name, as first filed.

    Raises:
        SkipError: it was not reported.
    """
    facts = program.filed(d.world, params)
    if not facts:
        raise SkipError("not reported")
    return facts[0]


def _fiscal_year(end: str) -> str:
    """A fiscal year is named after the calendar year in which it ends."""
    return end[:4]


def _standard(d: Draw, company: _Company) -> str:
    return d.say(*STANDARDS[company.standard])


@template("T2", FUNDAMENTALS, subsets=BOTH, most=10)
def sim_year_item(d: Draw) -> Draft:
    company, flow = _Company(d), d.rng.random() < 0.6
    item, words = _item(d, FLOWS if flow else POINTS)
    end = d.one(company.ends(d)[1:])
    params = _params(company, item, end, YEAR if flow else POINT)
    fact = _fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    year = _fiscal_year(end)
    text = d.say(
        f"What was the amount of {company.call(d)}'s {words} "
        f"{'for fiscal year' if flow else 'as of the end of fiscal year'} {year}, "
        f"under {_standard(d, company)}, as first reported, in {unit}, {d.digits(decimals)}?",
        d.one(
            [
                "{name}{year}财年{when}{item}是多少{unit}（{standard}，首次披露数，{digits}）？",
                "按{standard}，{name}首次披露的{year}财年{when}{item}为多少{unit}？{digits}。",
            ]
        ).format(
            name=company.call(d),
            year=year,
            when="的" if flow else "末",
            item=words,
            unit=unit,
            standard=_standard(d, company),
            digits=d.digits(decimals),
        ),
    )
    ends = company.ends(d)
    before = ends[ends.index(end) - 1]
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), {
        "the year before": (program.item_value, {**params, "end": before}),
        "in thousands": (program.item_value, {**params, "scale": scale / 1000.0}),
    })  # fmt: skip


@template("T2", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_part_of_year(d: Draw) -> Draft:
    company = _Company(d)
    item, words = _item(d, FLOWS)
    days = d.one([HALF, NINE_MONTHS, QUARTER]) if company.id[:2] != "HK" else HALF
    facts = [
        fact
        for fact in d.world.facts(company.id, item, None, None, company.standard)
        if days[0] <= fact.days <= days[1]
    ]
    fact = d.one(facts)
    params = _params(company, item, fact.end, days)
    if _fact(d, params) != fact:
        raise SkipError("a restatement")
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    span = {
        HALF: ("six months", "六个月"),
        NINE_MONTHS: ("nine months", "九个月"),
        QUARTER: ("three months", "三个月"),
    }[days]
    text = d.say(
        f"In the {span[0]} to {d.day(fact.end)}, what was {company.call(d)}'s {words}, "
        f"under {_standard(d, company)}, in {unit}, {d.digits(decimals)}?",
        f"截至{d.day(fact.end)}止{span[1]}，"
        f"{company.call(d)}的{words}是多少{unit}（{_standard(d, company)}，{d.digits(decimals)}）？",
    )
    others = {"in thousands": (program.item_value, {**params, "scale": scale / 1000.0})}
    if days != QUARTER:
        others["a year before"] = (program.item_value, {**params, "end": f"{int(fact.end[:4]) - 1}{fact.end[4:]}"})
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), others)


@template("T2", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_growth(d: Draw) -> Draft:
    company, flow = _Company(d), d.rng.random() < 0.7
    item, words = _item(d, FLOWS if flow else POINTS)
    ends = company.ends(d)
    place = d.rng.randrange(1, len(ends))
    params = _params(company, item, ends[place], YEAR if flow else POINT, base=ends[place - 1])
    fact, old = _fact(d, params), _fact(d, {**params, "end": ends[place - 1]})
    if fact.value <= 0 or old.value <= 0:
        raise SkipError("growth of a loss says nothing")
    year = _fiscal_year(ends[place])
    text = d.say(
        f"Year over year, by how many percent did {company.call(d)}'s {words} {'of' if flow else 'at the end of'} "
        f"fiscal year {year} change (each year as first reported, {_standard(d, company)}, {d.digits(2)})?",
        f"{company.call(d)}{year}财年{'' if flow else '末'}{words}同比变动百分之几"
        f"（两年均取首次披露数，{_standard(d, company)}，{d.digits(2)}）？",
    )
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.growth, params, (percent("growth"),), {
        "the difference in millions": (program.difference, {**params, "scale": 1e6}),
        "the ratio": (_ratio_to_base, params),
    }, why=COMPUTED)  # fmt: skip


def _ratio_to_base(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """One year as a percentage of the year before."""
    return (program.growth(w, p)[0] + 100.0,)


@template("T2", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_margin(d: Draw) -> Draft:
    company = _Company(d)
    item, words = _item(d, {key: value for key, value in FLOWS.items() if key != "Revenue"})
    end = d.one(company.ends(d)[1:])
    params = _params(company, item, end, YEAR, below="Revenue", factor=100.0)
    fact = _fact(d, params)
    text = d.say(
        f"For fiscal year {_fiscal_year(end)}, what percentage of {company.call(d)}'s revenue was its {words} "
        f"({_standard(d, company)}, {d.digits(2)})?",
        f"{_fiscal_year(end)}财年，{company.call(d)}的{words}占营业收入的比例是多少"
        f"（%，{_standard(d, company)}，{d.digits(2)}）？",
    )
    ends = company.ends(d)
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.ratio, params, (percent("ratio"),), {
        "a year before": (program.ratio, {**params, "end": ends[ends.index(end) - 1]}),
        "the other way round": (program.ratio, {**params, "item": "Revenue", "below": item}),
    }, why=COMPUTED)  # fmt: skip


@template("T2", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_adjusted(d: Draw) -> Draft:
    company = _Company(d)
    item, words = _item(d, ADJUSTED)
    end = d.one(company.ends(d)[1:])
    params = {**_params(company, item, end, YEAR), "standard": "non-GAAP"}
    fact = _fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    text = d.say(
        f"What non-GAAP {words} did {company.call(d)} report for fiscal year {_fiscal_year(end)}, "
        f"in {unit}, {d.digits(decimals)}?",
        f"{company.call(d)}{_fiscal_year(end)}财年披露的{words}（非公认会计准则口径）是多少{unit}？"
        f"{d.digits(decimals)}。",
    )
    strict = {
        **params,
        "item": "Net cash provided by operating activities" if item == "Free cash flow" else "Net income",
        "standard": company.standard,
    }
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), {
        "by the accounting standard": (program.item_value, strict),
    }, names=tuple(word for both in ADJUSTED.values() for word in both))  # fmt: skip


@template("T1", FUNDAMENTALS, subsets=BOTH, most=8)
def sim_latest_report(d: Draw) -> Draft:
    company = _Company(d)
    item, words = _item(d, POINTS)
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
    ).format(name=company.call(d), item=words, unit=unit, standard=_standard(d, company), digits=d.digits(decimals))
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return _draft(company, text, as_of, program.latest_reported, params, (ask,), {
        "the balance sheet before": (program.latest_reported, {**params, "back": 1}),
        "in thousands": (program.latest_reported, {**params, "scale": scale / 1000.0}),
    })  # fmt: skip


@template("T3", FUNDAMENTALS, subsets=(CHINA,), most=8)
def sim_single_quarter(d: Draw) -> Draft:
    company = _Company(d, "CN")
    item, words = _item(d, FLOWS)
    end = d.one(company.ends(d)[1:])
    year, number = _fiscal_year(end), d.one([2, 3, 4])
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
    fact, less = _fact(d, params), _fact(d, {**params, "end": ends[number - 1], "days": spans[number - 1]})
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    text = d.say(
        f"{company.call(d)} publishes cumulative figures. "
        f"What was its {words} in the {('second', 'third', 'fourth')[number - 2]} quarter of {year} alone "
        f"({_standard(d, company)}, as first reported, {unit}, {d.digits(decimals)})?",
        f"{company.call(d)}{year}年第{'二三四'[number - 2]}季度单季的{words}是多少{unit}"
        f"（由累计数相减，{_standard(d, company)}，首次披露数，{d.digits(decimals)}）？",
    )
    ask = AskedValue("value", unit=unit, decimals=decimals, rule="within", tolerance=0.015)
    return _draft(company, text, d.asked_after(max(fact.filed, less.filed), 1200), single_quarter, params, (ask,), {
        "the cumulative figure": (program.item_value, params),
        "the part before": (program.item_value, {**params, "end": params["less"], "days": params["less_days"]}),
    }, why=COMPUTED)  # fmt: skip


def single_quarter(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """A cumulative figure less the one a quarter before."""
    return (program.value(w, p) - program.value(w, {**p, "end": p["less"], "days": p["less_days"]}),)


@template("T3", FUNDAMENTALS, subsets=BOTH, most=6)
def sim_yearly_values(d: Draw) -> Draft:
    company, flow, growth = _Company(d), d.rng.random() < 0.7, d.rng.random() < 0.4
    item, words = _item(d, FLOWS if flow else POINTS)
    ends = company.ends(d)
    count = d.rng.randrange(4, 7)
    if len(ends) < count:
        raise SkipError("too few years")
    place = d.rng.randrange(len(ends) - count + 1)
    years = [[_fiscal_year(end), end] for end in ends[place : place + count]]
    params = _params(company, item, years[-1][1], YEAR if flow else POINT, years=years)
    fact = _fact(d, params)
    unit, scale, decimals = company.unit(d, fact.value)
    params["scale"] = scale
    values = program.yearly_values(d.world, params)
    if growth and any(value <= 0 for _, value in values):
        raise SkipError("growth of a loss says nothing")
    when = d.say("for" if flow else "at the ends of", "" if flow else "末")
    if growth:
        text = d.say(
            f"Tabulate the year-over-year growth of {company.call(d)}'s {words} {when} fiscal years "
            f"{years[1][0]} to {years[-1][0]} ({_standard(d, company)}, as first reported, percent, {d.digits(2)}).",
            f"请列表给出{company.call(d)}{years[1][0]}至{years[-1][0]}各财年{when}{words}的同比增速"
            f"（{_standard(d, company)}，首次披露数，%，{d.digits(2)}）。",
        )
        asks = (AskedValue("fiscal year", "date"), percent("growth"))
        return _draft(company, text, d.asked_after(fact.filed, 1200), program.yearly_growth, params, asks, {
            "a year off": (_growth_off, params),
        }, why=COMPUTED, table=True)  # fmt: skip
    text = d.say(
        f"List {company.call(d)}'s {words} {when} fiscal years {years[0][0]} to {years[-1][0]} as first reported "
        f"({_standard(d, company)}, {unit}, {d.digits(decimals)}), in a table by year.",
        f"{company.call(d)}{years[0][0]}至{years[-1][0]}各财年{when}{words}分别是多少"
        f"{unit}（{_standard(d, company)}，首次披露数，{d.digits(decimals)}）？"
        "请按年份列表。",
    )
    asks = (AskedValue("fiscal year", "date"), AskedValue("value", unit=unit, decimals=decimals))
    return _draft(company, text, d.asked_after(fact.filed, 1200), program.yearly_values, params, asks, {
        "a year off": (_year_off, params),
    }, table=True)  # fmt: skip


def _year_off(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The figures, each named as the year before."""
    return [(str(int(year) - 1), value) for year, value in program.yearly_values(w, p)]


def _growth_off(w: Any, p: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Growth, each named as the year before."""
    return [(str(int(year) - 1), value) for year, value in program.yearly_growth(w, p)]
