"""Questions on companies that file with the SEC: several of them, other currencies, splits and segments."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    percent,
    template,
)
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import QUARTER, YEAR
from openfingym_suites.finsearch.questions.templates import filers
from openfingym_suites.finsearch.questions.templates.companies import COMPUTED, DISCLOSURE, FUNDAMENTALS, draft, name_of
from openfingym_suites.finsearch.questions.templates.company_histories import CROSS, _span
from openfingym_suites.finsearch.questions.templates.filers import FILERS, FLOWS, POINTS, Filer, ReportedItem
from openfingym_suites.finsearch.questions.templates.pairs import CURRENCIES

CONVERTED = "Rates are commonly shown with four or five digits: 1e-5 of the amount."
CONVERSION = ("company_facts", "market: ECB reference rates")
_BY_TICKER = {filer.ticker: filer for filer in FILERS}
SPLITS = (
    (_BY_TICKER["AAPL"], 7.0, "2014-06-09"),
    (_BY_TICKER["AAPL"], 4.0, "2020-08-31"),
    (_BY_TICKER["GOOGL"], 20.0, "2022-07-15"),
    (_BY_TICKER["NVDA"], 4.0, "2021-07-20"),
    (_BY_TICKER["NVDA"], 10.0, "2024-06-07"),
)
"""Splits of the companies: new shares for an old one, and the day by which the split had been made."""


def _reporting(d: Draw, item: ReportedItem, year: int) -> list[tuple[Filer, str, str]]:
    """Companies whose own reports of a fiscal year and of the year before have an item, with the last days of both."""
    reporting = []
    for filer in FILERS:
        ends = filers.fiscal_ends(d, filer)
        try:
            for each in (year, year - 1):
                filers.own_filing(d, filer, item.concept, ends[each], item.days_of_year)
        except (SkipError, KeyError):
            continue
        reporting.append((filer, ends[year], ends[year - 1]))
    return reporting


@template("T3", FUNDAMENTALS, most=6)
def filers_compared(d: Draw) -> Draft:
    item, of = d.one([*FLOWS[:4], *FLOWS[7:9], *FLOWS[12:18], *POINTS[:8]]), d.one(["value", "growth"])
    year = d.rng.randrange(2011, 2026)
    chosen = _reporting(d, item, year)
    if len(chosen) < 3 or d.rng.random() < 0.3:
        chosen = d.some(chosen, min(3, len(chosen)))
    if len(chosen) < 2:
        raise SkipError("too few companies")
    companies: list[list[Any]] = [
        [filer.name, {"company": filer.ticker, "end": end, "base": base}] for filer, end, base in chosen
    ]
    params = {
        "companies": companies,
        "item": item.concept,
        "days": item.days_of_year,
        "of": of,
        "scale": 1e6,
    }
    if of == "growth" and any(
        program.value(d.world, {**params, **own, "end": own[at]}) <= 0 for _, own in companies for at in ("end", "base")
    ):
        raise SkipError("growth of a loss says nothing")
    reports = [filers.own_filing(d, filer, item.concept, end, item.days_of_year) for filer, end, _ in chosen]
    as_of = d.asked_after(max(report.filed for report in reports), 1500)
    listed = ", ".join(f"{filer.name} ({filer.ticker})" for filer, *_ in chosen)
    ask = AskedValue("value", unit="million USD", decimals=0) if of == "value" else percent("growth")
    company = AskedValue(
        "company",
        "text",
        accept={filer.name: (filer.ticker,) for filer in FILERS},
        choices=tuple(filer.name for filer in FILERS),
    )
    when = f"in fiscal year {year}" if item.flow else f"at the end of fiscal year {year}"
    shape = d.one(["table", "first", "total"] if of == "value" else ["table", "first"])
    measure = f"{item.name} {when}" if of == "value" else f"growth of {item.name} {when} over the year before"
    note = (
        "(fiscal years as each company names them; figures as first reported; "
        f"{'million USD' if of == 'value' else 'percent'}, {d.digits(ask.decimals or 0)})"
    )
    if shape == "table":
        before = [[name, {**own, "end": own["base"]}] for name, own in companies]
        text = f"Rank {listed} by {measure}, the largest first, in a table of companies and figures {note}."
        return draft(text, as_of, program.ranked_companies, params, (company, ask), {
            "the fiscal year before": (program.ranked_companies, {**params, "companies": before}),
        }, table=True, why=COMPUTED)  # fmt: skip
    if shape == "total":
        text = f"Add up {measure} over {listed} {note}: what is the total?"
        ask = AskedValue("total", unit="million USD", decimals=0)
        return draft(text, as_of, program.total_of_companies, params, (ask,), {
            "the largest alone": (_largest, params),
        })  # fmt: skip
    text = f"Which of {listed} had the largest {measure}, and what was it {note}?"
    return draft(text, as_of, program.first_of_companies, params, (company, ask), {
        "the runner-up": (program.first_of_companies, {**params, "rank": 1}),
    }, why=COMPUTED)  # fmt: skip


def _largest(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The largest figure of several companies."""
    return (program.ranked_companies(w, p)[0][1],)


@template("T3", CROSS, subsets=(GLOBAL, CHINA), most=8)
def filer_in_currency(d: Draw) -> Draft:
    code = d.one(["CNY", "HKD"]) if d.subset == CHINA else d.one(["EUR", "GBP", "CHF", "JPY", "CAD"])
    filer, item = filers.draw_filer(d), d.one([*FLOWS[:4], *POINTS[:7]])
    year, end, fact = filers.draw_year(d, filer, item)
    # The legs of a currency give its price in dollars; inverted, they turn dollars into it.
    legs: list[list[Any]] = [[symbol, -power] for symbol, power in CURRENCIES[code][2]]
    # Fiscal years end on weekends too: the rate is that of the last fixing up to then.
    rate_day = d.world.closes(legs[0][0], last=end)[-1][0]
    scale, unit, zh_unit = (
        (1e8, f"亿{CURRENCIES[code][1]}", "亿")
        if d.zh
        else (1e12, f"trillion {code}", "")
        if code == "JPY"
        else (1e9, f"billion {code}", "")
    )
    params = {
        "company": filer.ticker,
        "item": item.concept,
        "end": end,
        "days": item.days_of_year,
        "scale": scale,
        "legs": legs,
        "rate_day": rate_day,
    }
    digits = 3
    amount = program.in_currency(d.world, params)[0]
    text = d.say(
        f"Translate {name_of(d, filer)}'s {item.name} {'for' if item.flow else 'at the end of'} fiscal year {year} "
        f"(as first reported) into {CURRENCIES[code][0]} at the ECB reference rate of {d.day(rate_day)} "
        f"(crosses through the euro): how many {unit}, {d.digits(digits)}?",
        f"将{filer.name}（{filer.ticker}）{year}财年{'的' if item.flow else '末的'}{ZH[item.concept]}"
        f"（首次披露数，美国公认会计准则）按{d.day(rate_day)}欧洲央行参考汇率"
        f"（交叉汇率经欧元套算）折算为{CURRENCIES[code][1]}，"
        f"是多少{zh_unit}{CURRENCIES[code][1]}？"
        f"{d.digits(digits)}。",
    )
    ask = AskedValue(
        "amount", unit=unit, decimals=digits, rule="within", tolerance=round(max(0.0015, abs(amount) * 1e-5), 4)
    )
    reverse = {**params, "legs": [[symbol, -power] for symbol, power in legs]}
    return draft(text, d.asked_after(fact.filed, 1500), program.in_currency, params, (ask,), {
        "left in dollars": (program.item_value, params),
        "at the inverse rate": (program.in_currency, reverse),
    }, why=CONVERTED, sources=CONVERSION, names=(code, *CURRENCIES[code][:2], *ZH.values()))  # fmt: skip


ZH = {
    "NetIncomeLoss": "净利润",
    "OperatingIncomeLoss": "营业利润",
    "GrossProfit": "毛利",
    "ResearchAndDevelopmentExpense": "研发费用",
    "Assets": "总资产",
    "AssetsCurrent": "流动资产合计",
    "Liabilities": "总负债",
    "LiabilitiesCurrent": "流动负债合计",
    "StockholdersEquity": "股东权益合计",
    "RetainedEarningsAccumulatedDeficit": "留存收益",
    "CashAndCashEquivalentsAtCarryingValue": "现金及现金等价物",
}
"""Chinese names of items by concept."""


@template("T3", CROSS, most=5)
def filer_at_average_rate(d: Draw) -> Draft:
    filer, item = filers.draw_filer(d), d.one(FLOWS[:4])
    year, end, fact = filers.draw_year(d, filer, item)
    symbol, code, power = d.one(
        [("EURUSD", "EUR", -1), ("GBPUSD", "GBP", -1), ("USDCHF", "CHF", 1), ("USDCAD", "CAD", 1)]
    )
    params = {
        "company": filer.ticker,
        "item": item.concept,
        "end": end,
        "days": YEAR,
        "scale": 1e6,
        "symbol": symbol,
        "power": power,
    }
    amount = program.in_average_rate(d.world, params)[0]
    text = (
        f"Using the simple average of the ECB's daily {symbol[:3]}/{symbol[3:]} reference "
        f"rates over the company's own fiscal year, what was {name_of(d, filer)}'s {item.name} of fiscal year {year} "
        f"(ended {d.day(end)}) in million {code}, {d.digits(0)}?"
    )
    ask = AskedValue(
        "amount", unit=f"million {code}", decimals=0, rule="within", tolerance=round(max(1.5, abs(amount) * 1e-5), 1)
    )
    calendar = {**params, "legs": [[symbol, power]], "rate_day": d.world.closes(symbol, last=end)[-1][0]}
    return draft(text, d.asked_after(fact.filed, 1500), program.in_average_rate, params, (ask,), {
        "at the rate of the last day": (program.in_currency, calendar),
        "in dollars": (program.item_value, params),
    }, why=CONVERTED, sources=CONVERSION, names=(code, symbol[:3], symbol[3:]))  # fmt: skip


@template("T3", CROSS, most=5)
def filer_market_value(d: Draw) -> Draft:
    concept = "EntityCommonStockSharesOutstanding"
    facts = [fact for fact in d.world.facts("AAPL", concept) if fact.filed < "2013-02-20"]
    fact = d.one(facts)
    if len({other.value for other in facts if other.filed == fact.filed}) > 1:
        raise SkipError("two filings of the day state other numbers")
    days = [day for day, _ in d.world.closes("AAPL", fact.filed)][1:40]
    day = d.one(days)
    params = {"company": "AAPL", "item": concept, "filed": fact.filed, "symbol": "AAPL", "day": day, "scale": 1e9}
    form = "annual report (10-K)" if fact.form == "10-K" else f"{fact.form} filing"
    text = (
        f"What was Apple's market capitalization in billion USD, {d.digits(2)}, computed as the unadjusted AAPL "
        f"closing price of {d.day(day)} times the shares outstanding "
        f"stated on the cover of the {form} of {d.day(fact.filed)}?"
    )
    before = d.world.closes("AAPL", last=day)[-2][0]
    ask = AskedValue("value", unit="billion USD", decimals=2)
    return draft(text, d.asked_after(day, 1500), program.market_value, params, (ask,), {
        "at the close of the day before": (program.market_value, {**params, "day": before}),
    }, sources=("company_facts", "market: daily bars of US shares"))  # fmt: skip


@template("T3", DISCLOSURE, most=5)
def filer_split_earnings(d: Draw) -> Draft:
    filer, split, day = d.one(SPLITS)
    item = ReportedItem(d.one(["EarningsPerShareDiluted", "EarningsPerShareBasic"]), "", True)
    ends = filers.fiscal_ends(d, filer)
    last = max(year for year, end in ends.items() if end < day)
    years = [[str(year), ends[year]] for year in range(last - d.rng.randrange(1, 3), last + 1)]
    for _, end in years:
        filers.own_filing(d, filer, item.concept, end, YEAR)
    params = {
        "company": filer.ticker,
        "item": item.concept,
        "days": YEAR,
        "years": years,
        "split": split,
        "before": day,
    }
    words = "diluted" if item.concept.endswith("Diluted") else "basic"
    text = (
        f"{name_of(d, filer)} split its shares {split:g} for 1 in {d.day(day[:7])}. "
        f"For {_span(years)}, tabulate {words} earnings per share (US GAAP) as first reported for each year, and what "
        f"they are per share after that split (first reported figure divided by {split:g}), in USD, {d.digits(2)}."
    )
    asks = (
        AskedValue("fiscal year", "date"),
        AskedValue("as reported", unit="USD", decimals=2),
        AskedValue("after the split", unit="USD", decimals=2),
    )
    return draft(text, d.asked_after(day, 1500), program.earnings_in_new_shares, params, asks, {
        "never divided": (program.earnings_in_new_shares, {**params, "split": 1.0}),
    }, table=True)  # fmt: skip


SEGMENTS = {
    "us-gaap:StatementBusinessSegmentsAxis=aapl:GreaterChinaSegmentMember": ("Greater China segment", "大中华区分部"),
    "us-gaap:StatementBusinessSegmentsAxis=aapl:AmericasSegmentMember": ("Americas segment", "美洲分部"),
    "us-gaap:StatementBusinessSegmentsAxis=aapl:EuropeSegmentMember": ("Europe segment", "欧洲分部"),
    "us-gaap:StatementBusinessSegmentsAxis=aapl:JapanSegmentMember": ("Japan segment", "日本分部"),
    "srt:ProductOrServiceAxis=aapl:IPhoneMember": ("iPhone", "iPhone"),
    "srt:ProductOrServiceAxis=aapl:IPadMember": ("iPad", "iPad"),
    "srt:ProductOrServiceAxis=aapl:MacMember": ("Mac", "Mac"),
    "srt:ProductOrServiceAxis=us-gaap:ServiceMember": ("services", "服务业务"),
}
"""Apple's segments and products, as dimensions of its facts, with their names in English and Chinese;
the first is Greater China's."""
SALES = "RevenueFromContractWithCustomerExcludingAssessedTax"
"""Concept of Apple's net sales, which it also files by segment and product."""


def _segment(d: Draw) -> tuple[str, str, str]:
    """A segment of Apple: its key, and its name in English and Chinese; of Greater China's questions mostly its own."""
    keys = [*SEGMENTS] if d.subset == GLOBAL else [*SEGMENTS][:1] * 6 + [*SEGMENTS]
    key = d.one(keys)
    return key, *SEGMENTS[key]


@template("T3", FUNDAMENTALS, subsets=(GLOBAL, CHINA), most=6)
def segment_share(d: Draw) -> Draft:
    segment, name, zh = _segment(d)
    facts = [fact for fact in d.world.facts("AAPL", SALES, None, segment) if YEAR[0] <= fact.days <= YEAR[1]]
    ends = sorted({fact.end for fact in facts})
    count = d.rng.randrange(2, min(5, len(ends) + 1))
    place = d.rng.randrange(len(ends) - count + 1)
    years = [[end[:4], end] for end in ends[place : place + count]]
    known = max(next(fact.filed for fact in facts if fact.end == end) for _, end in years)
    params = {"company": "AAPL", "item": SALES, "days": YEAR, "segment": segment, "years": years}
    text = d.say(
        f"What share of Apple's total net sales came from {name} in each of {_span(years)}? "
        f"In percent, {d.digits(2)}, as a table.",
        f"苹果公司（AAPL）{years[0][0]}至{years[-1][0]}各财年中，"
        f"{zh}的净销售额占公司净销售总额的比例分别是多少？"
        f"请列表，以百分比表示，{d.digits(2)}。",
    )
    other = next(key for key in SEGMENTS if key != segment)
    asks = (AskedValue("fiscal year", "date"), percent("share"))
    return draft(text, d.asked_after(known, 1500), program.segment_shares, params, asks, {
        "another segment": (program.segment_shares, {**params, "segment": other}),
    }, table=True, why=COMPUTED, names=(name, zh, "苹果公司"))  # fmt: skip


@template("T2", FUNDAMENTALS, subsets=(GLOBAL, CHINA), most=8)
def segment_value(d: Draw) -> Draft:
    segment, name, zh = _segment(d)
    days = d.one([YEAR, QUARTER])
    fact = d.one([fact for fact in d.world.facts("AAPL", SALES, None, segment) if days[0] <= fact.days <= days[1]])
    params = {"company": "AAPL", "item": SALES, "end": fact.end, "days": days, "segment": segment, "scale": 1e6}
    if program.filed(d.world, params)[0] != fact:
        raise SkipError("a comparative")
    span = ("fiscal year", "财年") if days == YEAR else ("fiscal quarter", "财季")
    text = d.say(
        f"How large were Apple's net sales of {name} in the {span[0]} "
        f"that ended on {d.day(fact.end)}, in million USD, {d.digits(0)}?",
        f"苹果公司（AAPL）在截至{d.day(fact.end)}的{span[1]}里，{zh}的净销售额是多少百万美元？{d.digits(0)}。",
    )
    other = next(key for key in SEGMENTS if key != segment)
    ask = AskedValue("sales", unit="million USD", decimals=0)
    return draft(text, d.asked_after(fact.filed, 1200), program.item_value, params, (ask,), {
        "of the whole company": (program.item_value, {**params, "segment": None}),
        "of another segment": (program.item_value, {**params, "segment": other}),
    }, names=(name, zh, "苹果公司"))  # fmt: skip
