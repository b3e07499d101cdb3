"""A linter of questions: the eleven rules of the guide against ambiguity (Hu et al. 2025, Table 4).

Each rule looks at a question's words, in English or Chinese, and at its reference where there is one. A rule finds what
a word is known to be ambiguous for; that it finds nothing does not make a question clear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from openfingym.answers.reference import Reference

Severity = Literal["error", "warning"]


class GuideFinding(NamedTuple):
    """What a rule says of a question."""

    rule: str
    severity: Severity
    """``error``: two readings with two answers; ``warning``: likely so."""
    found: str
    """The words that are ambiguous."""
    advice: str


@dataclass(frozen=True)
class GuideRule:
    """One rule of the guide."""

    name: str
    description: str
    bad: str
    """The guide's example of a question that breaks it."""
    good: str
    """The guide's example of one that does not."""
    look: Callable[[str, Reference | None], Iterator[GuideFinding]]


def lint(text: str, reference: Reference | None = None) -> tuple[GuideFinding, ...]:
    """Everything that the guide has against a question, in the order of its rules.

    Args:
        text: the question, in English or Chinese.
        reference: its answer, which tells of its unit and precision; None where it is not known.
    """
    return tuple(finding for rule in RULES for finding in rule.look(text, reference))


def _of(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


_YEAR = r"(?:19|20)[0-9]{2}"
_FLOW = (
    r"revenues?|net sales|(?:net|operating|gross|pre-?tax) (?:income|profit|loss|margin)"
    r"|cost of (?:sales|revenue|goods sold)|earnings|EPS"
    r"|EBITDA?|cash (?:flow|used|provided)|expenses?|capex|capital expenditures?|dividends? paid"
    r"|营业收入|营业总收入|收入|净利润|毛利|利润|现金流|每股收益|费用|成本"
)
_STOCK = (
    r"(?:total |current |non-current |net )?assets|(?:total |current )?liabilities"
    r"|(?:shareholders'?|stockholders'?|total) equity"
    r"|cash and cash equivalents|inventor(?:y|ies)|paid-in capital|goodwill"
    r"|(?:accounts )?receivables?|total debt|long-term debt"
    r"|总资产|资产总额|总负债|负债合计|所有者权益|股东权益|货币资金|存货|商誉|应收账款"
)
_FUNDAMENTAL = _of(rf"\b(?:{_FLOW}|{_STOCK})\b|营业收入|净利润|总资产|总负债|毛利|股东权益|每股收益")
_FLOWS, _STOCKS = (
    _of(rf"\b(?:{_FLOW})|营业收入|净利润|毛利"),
    _of(rf"\b(?:{_STOCK})|总资产|总负债|股东权益|货币资金|存货"),
)
_COMPANY_YEAR = _of(
    rf"\b(?:in|for|during|of)\s+(?:the\s+year\s+)?{_YEAR}\b|{_YEAR}\s*年(?!度|报|[0-9]|第|末|底|上|下|[一二三四]季)"
)
_FISCAL = _of(
    r"fiscal|FY\s*'?[0-9]{2}|calendar year|quarter|Q[1-4]|财年|会计年度|年度|年报|季度|自然年|\bas of\b"
    r"|\bas at\b|months ended|year ended|半年"
)
_MACRO = _of(
    r"\b(?:GDP|CPI|PPI|PMI|unemployment|inflation|Treasury|index|country|government|national"
    r"|province|city)\b|国内生产总值|全国|失业率|居民消费"
)
_POINT = _of(
    r"\bas (?:of|at)\b|at the (?:end|close|beginning)|year[- ]end|period[- ]end|end of"
    r"|balance sheet|on (?:[A-Z][a-z]+ [0-9]|[0-9])|末|截至|期末|年底|时点"
)
_OVER = _of(
    rf"\b(?:in|for|during|over)\s+(?:the\s+)?(?:fiscal\s+(?:year\s+)?|FY\s*|calendar\s+year\s+"
    rf"|year\s+)?{_YEAR}|{_YEAR}\s*(?:财年|年度|年)(?!末|底)"
)
_VAGUE = _of(
    r"(?<!net )(?<!operating )(?<!gross )(?<!comprehensive )(?<!interest )(?<!tax )(?<!disposable )(?<!personal )"
    r"(?<!other )(?<!pretax )(?<!pre-tax )\bincome\b(?! (?:statement|tax|before|from|attributable|per))"
    r"|(?<!net )(?<!operating )(?<!gross )\bprofits?\b(?! (?:margin|before|attributable|for the))"
    r"|(?<!operating )(?<!free )\bcash flow\b(?! (?:from|statement|used|provided|effect))"
    r"|(?<!per share )(?<!retained )\bearnings\b(?! per| before| call| release| date)|\bsales figures?\b"
    r"|\boperating revenues?\b|(?<![净毛业总])利润(?!率|总额|表)"
)
_GAAP = _of(
    r"\bnet income\b|\boperating income\b|\bearnings per share\b|\bEPS\b|(?<!retained )\bearnings\b(?! call"
    r"| release| date)|\bgross margin\b(?! in dollars)|\bEBITDA?\b|\bfree cash flow\b"
    r"|(?<!disposable )(?<!personal )\bincome\b(?! tax| statement)"
)
_STANDARD = _of(
    r"GAAP|IFRS|CAS\b|as reported|accounting standards|10-K|10-Q|20-F|annual report|filed|filing|准则|财报|年报|报告"
)
_MONEY = _of(
    rf"\b(?:{_FLOW}|{_STOCK}|market cap(?:itali[sz]ation)?|turnover|price|GDP)\b|市值|成交额|营业收入|净利润|总资产"
)
_NO_MONEY = _of(
    r"margin|growth|ratio|\bpoints\b|\bIDX\b|percent|%|per cent|proportion|share of|how many|rate\b|index|which|when"
    r"|date|率|比例|占比|同比|环比|百分|指数|哪|多少家"
)
_CURRENCY = _of(
    r"\b(?:USD|HKD|CNY|CNH|RMB|EUR|GBP|JPY|CHF|AUD|CAD|SGD|TWD|KRW|INR|NZD|SEK|NOK|DKK|PLN"
    r"|CZK|HUF|TRY|ZAR|BRL|MXN|RUB|THB|IDR|MYR|PHP|ILS|RON|BGN|dollars?|yuan|euros?"
    r"|pounds?|yen|francs?|renminbi|won|rupees?|cents?)\b"
    r"|[$€£¥￥]|美元|港元|人民币|欧元|日元|英镑|亿元|万元|百万元|元\b|元[）)，,。？?]|单位[:：]"
)
_INDUSTRY = _of(r"\b(?:what|which)\s+(?:industry|sector)\b|\bindustry (?:classification|is)\b|\bsectors?\b|行业|板块")
_CLASSIFIED = _of(
    r"GICS|ICB|SIC\b|NAICS|Shenwan|SW level|CSRC|CITIC|WIND|申万|证监会|中信|国证|恒生行业"
    r"|classification standard|according to"
)
_CAP = _of(r"market (?:cap(?:itali[sz]ation)?|value)|总市值|市值")
_LISTED_TWICE = _of(
    r"dual[- ]list|multi[- ]list|cross[- ]list|two exchanges|both (?:in )?(?:Hong Kong|Shanghai"
    r"|Shenzhen)|A[- +/]?H|H[- ]shares?|两地上市|A股和H股|A\+H|H股"
)
_FORMULA = _of(
    r"calculated as|computed as|sum of|[×x*]\s*|multiplied|plus|based on|only (?:A|H)-shares?|按.*计算|之和|加总|仅"
)
_FUTURES = _of(
    r"(?:Treasury|bond|note|T-note|T-bond|10-year|5-year|2-year|30-year)[^.?]{0,30}futures?|国债期货"
    r"|\b(?:ZN|ZB|ZF|ZT|UB|TY)\b"
)
_NOTATION = _of(r"decimal|32nds?|hexadecimal|points|[0-9]+'[0-9]{2}|小数|十进制")
_RMB = _of(
    r"RMB|renminbi|yuan exchange|yuan rate|dollar to yuan|USD\s*/?\s*(?:to\s*)?RMB"
    r"|(?:exchange rate|汇率)[^.?。]{0,20}(?:yuan|人民币)|(?:人民币|yuan)[^.?。]{0,20}(?:exchange rate|汇率)"
)
_RMB_RATE = _of(r"exchange rate|汇率|USD\s*/|to (?:RMB|yuan)|against")
_RMB_KIND = _of(
    r"\bECB\b|European Central Bank|欧洲央行|欧洲中央银行|\bCNY\b|\bCNH\b|onshore|offshore|central parity"
    r"|fixing|interbank|CFETS|在岸|离岸|中间价|银行间|即期"
)
_PRECISE = _of(
    r"round|decimal|nearest|integer|whole number|significant|exact|in tenths|保留|取整|整数|小数|精确|四舍五入"
)
_NUMERIC = _of(
    r"\bhow (?:much|many|large|high)\b|\b(?:value|price|rate|revenue|income|margin|percentage"
    r"|ratio|amount|total|level|yield|change|growth|assets"
    r"|liabilities|equity|EPS|index|cap|CPI|GDP|close|closing|opening)\b|多少|几|数值|率|价|额|收入|利润|指数"
)
_ASKS_NO_NUMBER = _of(
    r"^\s*(?:who|when|where|which (?:company|companies|stock|bank|country|date|day|month|year"
    r"|industry|sector|exchange)|on (?:which|what) (?:date|day)|what (?:industry|date|day|month"
    r"|is the company's industry)|is\b|are\b|did\b|does\b|was\b|were\b)"
    r"|哪(?:一|家|个|年|天|只|些)|是否|什么(?:时候|行业)"
)
_UNIT = _of(
    r"\bin (?:\w+ )?(?:thousands?|millions?|billions?|trillions?|percent(?:age)?(?: points?)?|%"
    r"|basis points|dollars|USD|CNY|HKD|EUR|GBP|JPY|points|shares|barrels|tonnes|tons|days|months"
    r"|years|units|persons|people)\b"
    r"|\b(?:thousands?|millions?|billions?|trillions?|percentage(?: points?)?|percent"
    r"|basis points?|per cent|per (?:share|ounce|barrel|ton)|how many)\b|%|unit|单位|亿|万|百分|个基点|美元"
    r"|港元|元|点位|多少点|base year|index points|ratio|\bVIX\b|\bIDX\b|=\s*100|\bPMI\b|\bindex\b|指数"
    r"|exchange rate|汇率"
)  # fmt: skip


def _fiscal_year(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    year = _COMPANY_YEAR.search(text)
    item = _FUNDAMENTAL.search(text)
    if year and item and not _FISCAL.search(text) and not _MACRO.search(text):
        yield GuideFinding(
            "fiscal-year", "error", year[0], 'say "fiscal year" or "calendar year"; they differ for many companies'
        )


def _timing(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    stock, flow = _STOCKS.search(text), _FLOWS.search(text)
    if stock and not flow and _OVER.search(text) and not _POINT.search(text):
        yield GuideFinding(
            "timing", "error", stock[0], 'what a balance sheet states is "as of the end of" a period, not "in" it'
        )
    as_of = re.search(r"\bas (?:of|at)\b(?! (?:reported|the (?:date|time) of))|截至", text)
    if flow and not stock and as_of and not re.search(r"year|quarter|months|period|fiscal|年|季", text, re.IGNORECASE):
        yield GuideFinding("timing", "error", flow[0], "what flows is over a period: name the period, not a day")


def _item(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    if vague := _VAGUE.search(text):
        yield GuideFinding(
            "item-naming",
            "error",
            vague[0],
            "name the item as the statement does, such as net income or operating income",
        )
    if reference is not None and reference.columns and len(reference.columns) == 1:
        name = reference.columns[0].name
        told = name.casefold() == "eps" and "per share" in text.casefold()
        if _FUNDAMENTAL.search(name) and not told and name.casefold() not in text.casefold():
            yield GuideFinding(
                "item-naming", "warning", name, "the reference calls the item otherwise than the question does"
            )


def _gaap(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    item = _GAAP.search(text)
    if item and not _STANDARD.search(text) and not _MACRO.search(text):
        yield GuideFinding("gaap", "warning", item[0], "say GAAP, non-GAAP or IFRS: companies publish both")


def _currency(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    item = _MONEY.search(text)
    if item and not _NO_MONEY.search(text) and not _CURRENCY.search(text) and not _unit_told(reference):
        yield GuideFinding("currency", "error", item[0], "name the currency, such as USD or CNY")


def _industry(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    word = _INDUSTRY.search(text)
    if word and not _CLASSIFIED.search(text):
        yield GuideFinding(
            "industry", "error", word[0], "name the standard and its level, such as Shenwan Level 1 or GICS sector"
        )


def _market_cap(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    word = _CAP.search(text)
    if word and _LISTED_TWICE.search(text) and not _FORMULA.search(text):
        yield GuideFinding(
            "market-cap",
            "error",
            word[0],
            "state the formula: (A-share price × A-share count) + (H-share price × H-share count)",
        )


def _futures(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    word = _FUTURES.search(text)
    if not word or _NOTATION.search(text):
        return
    if reference is None or not any(part.type == "number" for part in reference.columns):
        yield GuideFinding(
            "futures-quote", "error", word[0], "say decimal or 32nds, or accept 113'08'5 and 113.265625 alike"
        )


def _rmb(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    word = _RMB.search(text)
    if word and _RMB_RATE.search(text) and not _RMB_KIND.search(text):
        yield GuideFinding("rmb", "error", word[0], "say onshore (CNY), offshore (CNH), or the central parity rate")


def _precision(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    if (
        _asks_number(text, reference)
        and not _counts(reference)
        and not _PRECISE.search(text)
        and not re.search(r"\bhow many\b|多少[家个只天次]", text, re.IGNORECASE)
    ):
        yield GuideFinding("precision", "error", "", "say how it is rounded, such as to two decimal places")


def _unit(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    named = _UNIT.search(text) or _CURRENCY.search(text)
    if _asks_number(text, reference) and not _counts(reference) and not named:
        yield GuideFinding("unit", "error", "", "state the unit, such as million USD or %")


def _asks_number(text: str, reference: Reference | None) -> bool:
    if reference is not None and reference.columns:
        return any(part.type == "number" for part in reference.columns)
    return bool(_NUMERIC.search(text)) and not _ASKS_NO_NUMBER.search(text)


def _counts(reference: Reference | None) -> bool:
    """Whether all numbers of the answer are counts, which have no decimals."""
    parts = () if reference is None else reference.columns
    numbers = [part for part in parts if part.type == "number"]
    return bool(numbers) and all(part.decimals == 0 and part.unit in {None, "basis points"} for part in numbers)


def _unit_told(reference: Reference | None) -> bool:
    """Whether the answer is of a kind that is no money."""
    return reference is not None and bool(reference.columns) and not any(p.type == "number" for p in reference.columns)


RULES = (
    GuideRule("fiscal-year", "calendar and fiscal years are told apart", "What was NVIDIA's revenue in 2024?",
              "What was NVIDIA's revenue for fiscal year 2024?", _fiscal_year),
    GuideRule("timing", "flows are over a period, balances at a point in time",
              "What were the company's assets in fiscal year 2023?",
              "What were the company's total assets as of the end of fiscal year 2023?", _timing),
    GuideRule("item-naming", "items are named as the statements name them", "What was the company's operating revenue?",
              "What was the company's operating income?", _item),
    GuideRule("gaap", "GAAP and non-GAAP figures are told apart", "What was the company's income?",
              "What was the company's net income, based on U.S. GAAP standards?", _gaap),
    GuideRule("currency", "the currency is named", "What was the company's revenue?",
              "What was the company's revenue in millions of USD?", _currency),
    GuideRule("industry", "the standard of classification is named", "What industry is the company in?",
              "What is the company's industry classification according to the Shenwan Level 1 standard?", _industry),
    GuideRule("market-cap", "the value of a company listed twice has a formula",
              "What is the total market cap of a company dual-listed in Hong Kong and Shanghai?",
              "What is the total market cap of the dual-listed company, calculated as (A-share price × A-share count) "
              "+ (H-share price × H-share count)?", _market_cap),
    GuideRule("futures-quote", "quotes in 32nds and decimals are both accepted",
              "What was the settlement price of the 10-year Treasury note futures?",
              "What was the settlement price of the 10-year Treasury note futures, as a decimal?", _futures),
    GuideRule("rmb", "onshore, offshore and interbank rates are told apart", "What is the USD to RMB exchange rate?",
              "What is the onshore USD to CNY exchange rate as of [Date]?", _rmb),
    GuideRule("precision", "the rounding is stated", "What is the profit margin?",
              "What is the profit margin in percentage, rounded to two decimal places?", _precision),
    GuideRule("unit", "the unit is stated", "What was the revenue?",
              "What was the revenue in billions of USD, rounded to the nearest integer?", _unit),
)  # fmt: skip
"""The rules, in the guide's order."""
