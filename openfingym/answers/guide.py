"""Linting questions by the eleven rules of the guide against ambiguity (Hu et al. 2025, Table 4).

Each rule looks at a question's words, in English or Chinese, and at its reference if there is one. A rule finds words
that are known to be ambiguous; that it finds nothing does not make a question clear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from openfingym.answers.reference import Reference

Severity = Literal["error", "warning"]


class GuideFinding(NamedTuple):
    """An ambiguity that a rule finds in a question."""

    rule: str
    """The name of the rule, such as ``fiscal-year``."""
    severity: Severity
    """``error`` if the question has two readings with two answers, ``warning`` if that is likely."""
    found: str
    """The words of the question that are ambiguous; empty if words are missing."""
    advice: str
    """What to write instead."""


@dataclass(frozen=True)
class GuideRule:
    """One rule of the guide."""

    name: str
    """The name of the rule, by which findings refer to it."""
    description: str
    """What a question that follows the rule does."""
    bad: str
    """The guide's example of a question that breaks the rule."""
    good: str
    """The guide's example of a question that follows it."""
    look: Callable[[str, Reference | None], Iterator[GuideFinding]]
    """Finds where a question, perhaps with its reference, breaks the rule."""


def lint(text: str, reference: Reference | None = None) -> tuple[GuideFinding, ...]:
    """Everything in a question that the guide objects to, in the order of its rules.

    Args:
        text: the question, in English or Chinese.
        reference: the right answer, from which type, unit and precision are known; None if there is none.
    """
    return tuple(finding for rule in RULES for finding in rule.look(text, reference))


def _of(words: str) -> re.Pattern[str]:
    """A pattern that finds these words in any case."""
    return re.compile(words, re.IGNORECASE)


# What the rules know words by. Some patterns exclude longer terms that are not ambiguous, such as "net income" where
# "income" is looked for. Chinese words have no \b around them, since Chinese has no spaces between words.


_YEAR = r"(?:19|20)[0-9]{2}"
_FLOW = (
    r"revenues?|net sales|(?:net|operating|gross|pre-?tax) (?:income|profit|loss|margin)"
    r"|cost of (?:sales|revenue|goods sold)|earnings|EPS"
    r"|EBITDA?|cash (?:flow|used|provided)|expenses?|capex|capital expenditures?|dividends? paid"
    r"|营业收入|营业总收入|收入|净利润|毛利|利润|现金流|每股收益|费用|成本"
)
"""Items that are over a period, of statements of income and cash flow."""
_STOCK = (
    r"(?:total |current |non-current |net )?assets|(?:total |current )?liabilities"
    r"|(?:shareholders'?|stockholders'?|total) equity"
    r"|cash and cash equivalents|inventor(?:y|ies)|paid-in capital|goodwill"
    r"|(?:accounts )?receivables?|total debt|long-term debt"
    r"|总资产|资产总额|总负债|负债合计|所有者权益|股东权益|货币资金|存货|商誉|应收账款"
)
"""Items that are at a point in time, of balance sheets."""
_FUNDAMENTAL = _of(
    rf"\b(?:{_FLOW}|{_STOCK})\b"
    r"|营业收入|净利润|总资产|总负债|毛利|股东权益|每股收益"
)
_FLOWS = _of(rf"\b(?:{_FLOW})|营业收入|净利润|毛利")
_STOCKS = _of(rf"\b(?:{_STOCK})|总资产|总负债|股东权益|货币资金|存货")
_COMPANY_YEAR = _of(
    rf"\b(?:in|for|during|of)\s+(?:the\s+year\s+)?{_YEAR}\b"
    rf"|{_YEAR}\s*年(?!度|报|[0-9]|第|末|底|上|下|[一二三四]季)"
)
"""A year that is not said to be a fiscal year, a quarter or a day."""
_FISCAL = _of(
    r"fiscal|FY\s*'?[0-9]{2}|calendar year|quarter|Q[1-4]|财年|会计年度|年度|年报|季度|自然年|\bas of\b"
    r"|\bas at\b|months ended|year ended|半年"
)
"""Words that tell a fiscal year from a calendar year."""
_MACRO = _of(
    r"\b(?:GDP|CPI|PPI|PMI|unemployment|inflation|Treasury|index|country|government|national"
    r"|province|city)\b|国内生产总值|全国|失业率|居民消费"
)
"""Subjects that are no companies, and have no fiscal years and accounting standards of their own."""
_POINT = _of(
    r"\bas (?:of|at)\b|at the (?:end|close|beginning)|year[- ]end|period[- ]end|end of"
    r"|balance sheet|on (?:[A-Z][a-z]+ [0-9]|[0-9])|末|截至|期末|年底|时点"
)
"""Words for a point in time."""
_OVER = _of(
    rf"\b(?:in|for|during|over)\s+(?:the\s+)?(?:fiscal\s+(?:year\s+)?|FY\s*|calendar\s+year\s+"
    rf"|year\s+)?{_YEAR}|{_YEAR}\s*(?:财年|年度|年)(?!末|底)"
)
"""Words for a period of a year."""
_VAGUE = _of(
    r"(?<!net )(?<!operating )(?<!gross )(?<!comprehensive )(?<!interest )(?<!tax )(?<!disposable )(?<!personal )"
    r"(?<!other )(?<!pretax )(?<!pre-tax )\bincome\b(?! (?:statement|tax|before|from|attributable|per))"
    r"|(?<!net )(?<!operating )(?<!gross )\bprofits?\b(?! (?:margin|before|attributable|for the))"
    r"|(?<!operating )(?<!free )\bcash flow\b(?! (?:from|statement|used|provided|effect))"
    r"|(?<!per share )(?<!retained )\bearnings\b(?! per| before| call| release| date)|\bsales figures?\b"
    r"|\boperating revenues?\b|(?<![净毛业总])利润(?!率|总额|表)"
)
"""Words that may mean several items of a statement."""
_GAAP = _of(
    r"\bnet income\b|\boperating income\b|\bearnings per share\b|\bEPS\b|(?<!retained )\bearnings\b(?! call"
    r"| release| date)|\bgross margin\b(?! in dollars)|\bEBITDA?\b|\bfree cash flow\b"
    r"|(?<!disposable )(?<!personal )\bincome\b(?! tax| statement)"
)
"""Items that companies publish by GAAP and adjusted."""
_STANDARD = _of(
    r"GAAP|IFRS|CAS\b|as reported|accounting standards|10-K|10-Q|20-F|annual report|filed|filing"
    r"|准则|财报|年报|报告"
)
_MONEY = _of(
    rf"\b(?:{_FLOW}|{_STOCK}|market cap(?:itali[sz]ation)?|turnover|price|GDP)\b"
    r"|市值|成交额|营业收入|净利润|总资产"
)
_NO_MONEY = _of(
    r"margin|growth|ratio|\bpoints\b|\bIDX\b|percent|%|per cent|proportion|share of|how many|rate\b|index|which|when"
    r"|date|率|比例|占比|同比|环比|百分|指数|哪|多少家"
)
"""Words of questions whose answer is no amount of money."""
_CURRENCY = _of(
    r"\b(?:USD|HKD|CNY|CNH|RMB|EUR|GBP|JPY|CHF|AUD|CAD|SGD|TWD|KRW|INR|NZD|SEK|NOK|DKK|PLN"
    r"|CZK|HUF|TRY|ZAR|BRL|MXN|RUB|THB|IDR|MYR|PHP|ILS|RON|BGN|dollars?|yuan|euros?"
    r"|pounds?|yen|francs?|renminbi|won|rupees?|cents?)\b"
    r"|[$€£¥￥]|美元|港元|人民币|欧元|日元|英镑|亿元|万元|百万元|元\b|元[）)，,。？?]|单位[:：]"
)
_INDUSTRY = _of(
    r"\b(?:what|which)\s+(?:industry|sector)\b|\bindustry (?:classification|is)\b|\bsectors?\b"
    r"|行业|板块"
)
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
    r"calculated as|computed as|sum of|[×x*]\s*|multiplied|plus|based on|only (?:A|H)-shares?"
    r"|按.*计算|之和|加总|仅"
)
# The two letters are the symbols of the Treasury futures of CME.
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
"""Words that tell the onshore, the offshore and the official rate apart."""
_PRECISE = _of(
    r"round|decimal|nearest|integer|whole number|significant|exact|in tenths"
    r"|保留|取整|整数|小数|精确|四舍五入"
)
_NUMERIC = _of(
    r"\bhow (?:much|many|large|high)\b|\b(?:value|price|rate|revenue|income|margin|percentage"
    r"|ratio|amount|total|level|yield|change|growth|assets"
    r"|liabilities|equity|EPS|index|cap|CPI|GDP|close|closing|opening)\b"
    r"|多少|几|数值|率|价|额|收入|利润|指数"
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
    """A year of a company that may be its fiscal year or the calendar year."""
    year = _COMPANY_YEAR.search(text)
    item = _FUNDAMENTAL.search(text)
    if year and item and not _FISCAL.search(text) and not _MACRO.search(text):
        yield GuideFinding(
            "fiscal-year", "error", year[0], 'say "fiscal year" or "calendar year"; they differ for many companies'
        )


def _timing(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    """A balance that is asked for over a period, or a flow at a point in time."""
    stock, flow = _STOCKS.search(text), _FLOWS.search(text)
    # A question that names both kinds of items may have the time of either.
    if stock and not flow and _OVER.search(text) and not _POINT.search(text):
        yield GuideFinding(
            "timing", "error", stock[0], 'what a balance sheet states is "as of the end of" a period, not "in" it'
        )
    as_of = re.search(r"\bas (?:of|at)\b(?! (?:reported|the (?:date|time) of))|截至", text)
    if flow and not stock and as_of and not re.search(r"year|quarter|months|period|fiscal|年|季", text, re.IGNORECASE):
        yield GuideFinding("timing", "error", flow[0], "what flows is over a period: name the period, not a day")


def _item(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    """An item that is named otherwise than in the statement, or in the reference."""
    if vague := _VAGUE.search(text):
        yield GuideFinding(
            "item-naming",
            "error",
            vague[0],
            "name the item as the statement does, such as net income or operating income",
        )
    if reference is not None and len(reference.columns) == 1:
        name = reference.columns[0].name
        abbreviated = name.casefold() == "eps" and "per share" in text.casefold()
        if _FUNDAMENTAL.search(name) and not abbreviated and name.casefold() not in text.casefold():
            yield GuideFinding(
                "item-naming", "warning", name, "the reference calls the item otherwise than the question does"
            )


def _gaap(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    """An item that companies publish both by GAAP and adjusted."""
    item = _GAAP.search(text)
    if item and not _STANDARD.search(text) and not _MACRO.search(text):
        yield GuideFinding("gaap", "warning", item[0], "say GAAP, non-GAAP or IFRS: companies publish both")


def _currency(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    """An amount of money without its currency."""
    item = _MONEY.search(text)
    if item and not _NO_MONEY.search(text) and not _CURRENCY.search(text) and not _asks_no_number(reference):
        yield GuideFinding("currency", "error", item[0], "name the currency, such as USD or CNY")


def _industry(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    """An industry without the standard that classifies it."""
    word = _INDUSTRY.search(text)
    if word and not _CLASSIFIED.search(text):
        yield GuideFinding(
            "industry", "error", word[0], "name the standard and its level, such as Shenwan Level 1 or GICS sector"
        )


def _market_cap(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    """The value of a company with shares on two exchanges, which have two prices, without a formula."""
    word = _CAP.search(text)
    if word and _LISTED_TWICE.search(text) and not _FORMULA.search(text):
        yield GuideFinding(
            "market-cap",
            "error",
            word[0],
            "state the formula: (A-share price × A-share count) + (H-share price × H-share count)",
        )


def _futures(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    """A price of Treasury futures, which are quoted in 32nds, without its notation."""
    word = _FUTURES.search(text)
    if not word or _NOTATION.search(text):
        return
    # Answers are compared by value: against a number, either notation is right.
    if reference is None or not any(part.type == "number" for part in reference.columns):
        yield GuideFinding(
            "futures-quote", "error", word[0], "say decimal or 32nds, or accept 113'08'5 and 113.265625 alike"
        )


def _rmb(text: str, _reference: Reference | None) -> Iterator[GuideFinding]:
    """A rate of the renminbi, of which there is one onshore, one offshore and an official one."""
    word = _RMB.search(text)
    if word and _RMB_RATE.search(text) and not _RMB_KIND.search(text):
        yield GuideFinding("rmb", "error", word[0], "say onshore (CNY), offshore (CNH), or the central parity rate")


def _precision(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    """A number without its rounding."""
    if (
        _asks_number(text, reference)
        and not _counts(reference)
        and not _PRECISE.search(text)
        and not re.search(r"\bhow many\b|多少[家个只天次]", text, re.IGNORECASE)
    ):
        yield GuideFinding("precision", "error", "", "say how it is rounded, such as to two decimal places")


def _unit(text: str, reference: Reference | None) -> Iterator[GuideFinding]:
    """A number without its unit."""
    named = _UNIT.search(text) or _CURRENCY.search(text)
    if _asks_number(text, reference) and not _counts(reference) and not named:
        yield GuideFinding("unit", "error", "", "state the unit, such as million USD or %")


def _asks_number(text: str, reference: Reference | None) -> bool:
    """Whether a number is asked for, as the reference or else the words say."""
    if reference is not None and reference.columns:
        return any(part.type == "number" for part in reference.columns)
    return bool(_NUMERIC.search(text)) and not _ASKS_NO_NUMBER.search(text)


def _counts(reference: Reference | None) -> bool:
    """Whether all numbers of the answer are counts, which need neither rounding nor a unit."""
    parts = () if reference is None else reference.columns
    numbers = [part for part in parts if part.type == "number"]
    return bool(numbers) and all(part.decimals == 0 and part.unit in {None, "basis points"} for part in numbers)


def _asks_no_number(reference: Reference | None) -> bool:
    """Whether the reference is known to have no number, and so no amount of money."""
    return (
        reference is not None
        and bool(reference.columns)
        and not any(part.type == "number" for part in reference.columns)
    )


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
