"""The simulated companies and the items of their reports, to draw questions from."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import GLOBAL, AskedValue, Draft, Draw, SkipError
from openfingym_suites.finsearch.questions.programs import companies as program
from openfingym_suites.finsearch.questions.programs.companies import YEAR
from openfingym_suites.finsearch.questions.templates.simulated_instruments import names_of

FUNDAMENTALS = "company fundamentals"
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
"""All names of items, which are blotted out where questions are compared."""
STANDARDS = {
    "CAS": ("Chinese accounting standards", "中国会计准则"),
    "IFRS": ("IFRS", "国际财务报告准则"),
    "US GAAP": ("US GAAP", "美国公认会计准则"),
}


class ReportingCompany:
    """A simulated company and the accounting standard under which its figures are asked for.

    Args:
        d: what the question is drawn with.
        prefix: how its id begins: ``US``, ``CN`` or ``HK``; empty for any company of the question's subset.

    Attributes:
        row: row of the instrument that stands for the company.
        id: id of the company in the table ``statements``.
        standard: accounting standard of the figures: ``CAS``, ``IFRS`` or ``US GAAP``.
        currency: code of the currency in which the company reports.
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
        return next(each for each in standards if d.world.facts(self.id, "Revenue", None, None, each))

    def ends(self, d: Draw) -> list[str]:
        """The last days of the fiscal years that were reported in full, oldest first."""
        facts = d.world.facts(self.id, "Revenue", None, None, self.standard)
        return sorted({fact.end for fact in facts if YEAR[0] <= fact.days <= YEAR[1]})

    def mention(self, d: Draw) -> str:
        """The company in words of the question's language, with its symbol."""
        english, chinese = names_of(self.row)
        return d.say(f"{english} ({self.row['symbol']})", f"{chinese}（{self.row['symbol']}）")

    def unit(self, d: Draw, value: float) -> tuple[str, float, int]:
        """Unit in which an amount is asked for: its name, its size in whole units of currency, and the decimals."""
        if d.zh:
            # Chinese counts in hundred millions and in ten thousands.
            word = {"CNY": "元", "HKD": "港元", "USD": "美元"}.get(self.currency, self.currency)
            return (f"亿{word}", 1e8, 2) if abs(value) >= 1e8 else (f"万{word}", 1e4, 2)
        return f"million {self.currency}", 1e6, 2


def draft(company: ReportingCompany, text: str, as_of: str, what: Any, params: dict[str, Any],
          asks: tuple[AskedValue, ...], alternatives: dict[str, Any], *, why: str = FILED, table: bool = False,
          names: tuple[str, ...] = ()) -> Draft:  # fmt: skip
    """A draft of a question on a simulated company; ``names`` are those in its text besides its own and the items'."""
    every = (company.row["symbol"], *names_of(company.row), *WORDS, *names)
    return Draft(
        text, as_of, what, params, asks, alternatives, every, ("statements (simulated)",), why, table, real=False
    )


def draw_item(d: Draw, items: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """One of some items: its name in the statements, and what the text calls it."""
    key = d.one(list(items))
    return key, d.say(*items[key])


def params_of(company: ReportingCompany, item: str, end: str, days: tuple[int, int], **more: Any) -> dict[str, Any]:
    """Parameters of a program for the figure of a period, or of its last day."""
    return {"company": company.id, "item": item, "end": end, "days": days, "standard": company.standard, **more}


def first_fact(d: Draw, params: dict[str, Any]) -> Any:
    """The figure that the parameters name, as first filed.

    Raises:
        SkipError: it was not reported.
    """
    facts = program.filed(d.world, params)
    if not facts:
        raise SkipError("not reported")
    return facts[0]


def fiscal_year(end: str) -> str:
    """A fiscal year is named after the calendar year in which it ends."""
    return end[:4]


def standard_words(d: Draw, company: ReportingCompany) -> str:
    """The company's accounting standard in words of the question's language."""
    return d.say(*STANDARDS[company.standard])
