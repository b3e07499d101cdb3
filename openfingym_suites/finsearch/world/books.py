"""The books of a simulated company: every figure of every fiscal quarter, so that its statements add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.equities import PricedLine
from openfingym_suites.finsearch.world.fiscal import Quarter
from openfingym_suites.finsearch.world.names import REGIONS, REGIONS_ZH
from openfingym_suites.finsearch.world.roster import SimulatedCompany

if TYPE_CHECKING:
    from openfingym_suites.finsearch.world.paths import Floats

PER_DOLLAR = {"USD": 1.0, "EUR": 0.85, "JPY": 115.0, "CNY": 6.7, "HKD": 7.8}
"""Rough exchange rates, currency units per US dollar, by which companies get a likely size."""
EARNINGS_MULTIPLE = 21.0
"""Market value over yearly earnings with which a company starts."""


@dataclass(frozen=True)
class StatementItem:
    """An item of a statement."""

    name: str
    name_zh: str
    statement: str
    """Statement that it is on: income, balance, cash flow, per share, shares or non-GAAP."""
    flow: bool = True
    """Whether its figures are of a period; otherwise they are of the end of one."""


ITEMS = (
    StatementItem("Revenue", "营业收入", "income"),
    StatementItem("Cost of revenue", "营业成本", "income"),
    StatementItem("Gross profit", "毛利", "income"),
    StatementItem("Research and development expenses", "研发费用", "income"),
    StatementItem("Selling, general and administrative expenses", "销售及管理费用", "income"),
    StatementItem("Operating income", "营业利润", "income"),
    StatementItem("Interest expense", "利息费用", "income"),
    StatementItem("Income before income taxes", "利润总额", "income"),
    StatementItem("Income tax expense", "所得税费用", "income"),
    StatementItem("Net income", "净利润", "income"),
    StatementItem("Net income attributable to non-controlling interests", "少数股东损益", "income"),
    StatementItem("Net income attributable to shareholders", "归属于母公司股东的净利润", "income"),
    StatementItem("Cash and cash equivalents", "货币资金", "balance", flow=False),
    StatementItem("Accounts receivable", "应收账款", "balance", flow=False),
    StatementItem("Inventories", "存货", "balance", flow=False),
    StatementItem("Total current assets", "流动资产合计", "balance", flow=False),
    StatementItem("Property, plant and equipment", "固定资产", "balance", flow=False),
    StatementItem("Goodwill", "商誉", "balance", flow=False),
    StatementItem("Total assets", "资产总计", "balance", flow=False),
    StatementItem("Total current liabilities", "流动负债合计", "balance", flow=False),
    StatementItem("Long-term debt", "长期借款", "balance", flow=False),
    StatementItem("Total liabilities", "负债合计", "balance", flow=False),
    StatementItem("Additional paid-in capital", "资本公积", "balance", flow=False),
    StatementItem("Retained earnings", "未分配利润", "balance", flow=False),
    StatementItem("Total equity", "所有者权益合计", "balance", flow=False),
    StatementItem("Net cash provided by operating activities", "经营活动产生的现金流量净额", "cash flow"),
    StatementItem("Depreciation and amortization", "折旧与摊销", "cash flow"),
    StatementItem("Capital expenditures", "购建固定资产支付的现金", "cash flow"),
    StatementItem("Net cash provided by investing activities", "投资活动产生的现金流量净额", "cash flow"),
    StatementItem("Dividends paid", "分配股利支付的现金", "cash flow"),
    StatementItem("Net cash provided by financing activities", "筹资活动产生的现金流量净额", "cash flow"),
    StatementItem("Adjusted net income", "经调整净利润", "non-GAAP"),
    StatementItem("Adjusted EBITDA", "经调整EBITDA", "non-GAAP"),
    StatementItem("Free cash flow", "自由现金流", "non-GAAP"),
)
BY_NAME = {item.name: item for item in ITEMS}
BASIC_EPS = StatementItem("Basic earnings per share", "基本每股收益", "per share")
DILUTED_EPS = StatementItem("Diluted earnings per share", "稀释每股收益", "per share")
WEIGHTED = StatementItem("Weighted average shares, basic", "加权平均股数", "shares")
OUTSTANDING = StatementItem("Shares outstanding", "期末总股本", "shares", flow=False)


@dataclass(frozen=True, eq=False)
class CompanyBooks:
    """The figures of a company, each float64[quarters]; amounts are in the unit of its reports.

    Attributes:
        figures: figures by name of item: flows of each quarter, balances at its end.
        segments: revenue of each segment, by its names in English and Chinese; the segments add up to revenue.
        regions: revenue of each region, by its names in English and Chinese; the regions add up to revenue.
        weighted: average number of shares in each quarter, as if no share had ever been split.
        outstanding: shares of each class at the end of each quarter, as they were then, after splits.
        diluted: diluted shares over basic shares, the same in all quarters.
    """

    figures: dict[str, Floats]
    segments: dict[tuple[str, str], Floats]
    regions: dict[tuple[str, str], Floats]
    weighted: Floats
    outstanding: dict[str, Floats]
    diluted: float


def keep_books(company: SimulatedCompany, lines: list[PricedLine], periods: list[Quarter], seed: int) -> CompanyBooks:
    """The books of a company.

    Args:
        company: the company whose books they are.
        lines: its shares on exchanges, with their prices; the oldest first.
        periods: the fiscal quarters that the books are of, without a gap.
        seed: the number from which every random draw of the world follows.
    """
    # The order of the draws below decides all figures: a new one belongs at the end.
    rng = stream(seed, "books", company.id)
    count = len(periods)
    decimals = 2 if company.scale == 1.0 else 0
    industry = company.industry

    def rounded(values: Floats) -> Floats:
        # Adding 0.0 turns a negative zero into a zero.
        return np.round(values, decimals) + 0.0

    # Gross margin wanders slowly around that of the industry.
    margin = np.clip(industry.margin + np.cumsum(0.006 * rng.standard_normal(count)), 0.1, 0.85)
    # The first revenue follows from the first price: market value in US dollars, over the earnings multiple, is what
    # the company earns a year; over its net margin, about three quarters of the operating one, that gives revenue.
    capital = sum(line.line.shares * float(line.bars[0, 3]) / PER_DOLLAR[line.line.currency] for line in lines)
    operating_margin = max(industry.margin * 0.36, 0.05)
    start = capital * PER_DOLLAR[company.currency] / EARNINGS_MULTIPLE / 4 / (operating_margin * 0.74) / company.scale
    path = (industry.growth * 0.75 + 0.01) / 4 + 0.03 * rng.standard_normal(count)
    season = np.array([1 + 0.08 * float(rng.standard_normal()) for _ in range(4)])
    seasonal = np.array([season[quarter.number - 1] for quarter in periods])
    revenue = rounded(start * np.exp(np.cumsum(path)) * seasonal)
    figures = _income(company, rng, revenue, margin, rounded)
    _balance(rng, figures, rounded)
    # Adjusted figures leave out a cost that has no cash in it, as a share of depreciation.
    adjusted = rounded(figures["Depreciation and amortization"] * 0.3)
    figures["Adjusted net income"] = figures["Net income attributable to shareholders"] + adjusted
    figures["Adjusted EBITDA"] = (
        figures["Operating income"] + figures["Depreciation and amortization"] + rounded(adjusted * 1.25)
    )
    regions = REGIONS if company.home == "us" else REGIONS_ZH
    # Sums of rounded figures are written down as they would be, without the noise of floating point.
    figures = {name: np.round(values, decimals) + 0.0 for name, values in figures.items()}
    outstanding, weighted = _shares(company, lines, periods)
    return CompanyBooks(
        figures,
        _parts(rng, figures["Revenue"], industry.segments, decimals),
        _parts(rng, figures["Revenue"], regions, decimals),
        weighted,
        outstanding,
        1.0 + float(rng.uniform(0.002, 0.03)),
    )


def _shares(
    company: SimulatedCompany, lines: list[PricedLine], periods: list[Quarter]
) -> tuple[dict[str, Floats], Floats]:
    """Shares of each class at the end of each quarter, and the average number of shares in each quarter.

    Args:
        company: the company whose shares they are.
        lines: its shares on exchanges, with their splits; the oldest first.
        periods: the fiscal quarters that the books are of.
    """
    # Companies listed in the US buy back 0.4 % of their shares a year.
    yearly = (1.0 - 0.004) if company.home == "us" else 1.0
    trend = yearly ** (np.arange(len(periods)) / 4)
    listed = [line.line.shares for line in lines]
    outstanding = {
        line.line.share_class: np.array(
            [
                np.round(shares * trend[place] * line.split_factor(quarter.end)) if quarter.end >= line.line.listed
                or line is lines[0] else 0.0
                for place, quarter in enumerate(periods)
            ]
        )
        for line, shares in zip(lines, listed, strict=True)
    }  # fmt: skip
    # Averages are of unsplit shares, and are multiplied by the splits up to the day of a report.
    splits = np.array([lines[0].split_factor(quarter.end) for quarter in periods])
    ends = sum(outstanding.values()) / splits
    weighted = (ends + np.append(ends[:1], ends[:-1])) / 2
    return outstanding, weighted


def _income(
    company: SimulatedCompany,
    rng: np.random.Generator,
    revenue: Floats,
    margin: Floats,
    rounded: Callable[[Floats], Floats],
) -> dict[str, Floats]:
    """The income statement of each quarter, from revenue and gross margin down to net income, by name of item."""
    count, industry = len(revenue), company.industry
    cost = rounded(revenue * (1 - margin))
    research = rounded(revenue * industry.research * np.exp(0.05 * rng.standard_normal(count)))
    share = max(industry.margin * 0.62 - industry.research, 0.05)
    selling = rounded(revenue * share * np.exp(0.06 * rng.standard_normal(count)))
    operating = revenue - cost - research - selling
    interest = rounded(revenue * 0.012 * np.exp(0.2 * rng.standard_normal(count)))
    before_tax = operating - interest
    tax = rounded(np.where(before_tax > 0, before_tax * 0.22 * np.exp(0.08 * rng.standard_normal(count)), 0.0))
    net = before_tax - tax
    minority = rounded(np.abs(net) * 0.03)
    return {
        "Revenue": revenue,
        "Cost of revenue": cost,
        "Gross profit": revenue - cost,
        "Research and development expenses": research,
        "Selling, general and administrative expenses": selling,
        "Operating income": operating,
        "Interest expense": interest,
        "Income before income taxes": before_tax,
        "Income tax expense": tax,
        "Net income": net,
        "Net income attributable to non-controlling interests": minority,
        "Net income attributable to shareholders": net - minority,
    }


def _balance(rng: np.random.Generator, figures: dict[str, Floats], rounded: Callable[[Floats], Floats]) -> None:
    """Add balance sheet and cash flow statement of each quarter to the figures.

    Cash is what makes assets equal liabilities and equity, and financing is what makes the three cash flows add up to
    the change of cash.
    """
    revenue, net = figures["Revenue"], figures["Net income"]
    count = len(revenue)
    noise = [np.exp(0.08 * rng.standard_normal(count)) for _ in range(6)]
    receivables, inventories = rounded(revenue * 0.6 * noise[0]), rounded(revenue * 0.45 * noise[1])
    other_current = rounded(revenue * 0.2 * noise[2])
    depreciation, spent = rounded(revenue * 0.05 * noise[3]), rounded(revenue * 0.065 * noise[4])
    # Plant grows by what is spent on it beyond its depreciation; goodwill grows now and then, by an acquisition.
    plant = rounded(revenue[0] * 2.0) + np.cumsum(spent - depreciation)
    goodwill = rounded(revenue[0] * 0.8) + np.cumsum(rounded(revenue * 0.5) * (rng.uniform(size=count) < 0.06))
    debt = rounded(revenue * 1.6)
    current = rounded(revenue * 0.9 * noise[5])
    paid = rounded(np.maximum(net, 0.0) * 0.25)
    paid_in = rounded(revenue[0] * 3.0) + np.cumsum(rounded(revenue * 0.01))
    retained = rounded(revenue[0] * 1.2) + np.cumsum(net - paid)
    equity = paid_in + retained
    others = receivables + inventories + other_current + plant + goodwill
    # As much is borrowed as leaves cash of at least 30 % of a quarter's revenue.
    short = np.maximum(rounded(revenue * 0.3) - (debt + current + equity - others), 0.0)
    debt = debt + short
    cash = debt + current + equity - others
    # What was before the first quarter is not known: cash is taken to have been a tenth less.
    change = np.diff(cash, prepend=cash[0] - rounded(cash[:1] * 0.1)[0])
    operating = rounded(
        net + depreciation - 0.4 * np.diff(receivables + inventories, prepend=receivables[0] + inventories[0])
    )
    bought = np.diff(goodwill, prepend=goodwill[0])
    investing = -(spent + bought)
    figures |= {
        "Cash and cash equivalents": cash,
        "Accounts receivable": receivables,
        "Inventories": inventories,
        "Total current assets": cash + receivables + inventories + other_current,
        "Property, plant and equipment": plant,
        "Goodwill": goodwill,
        "Total assets": cash + others,
        "Total current liabilities": current,
        "Long-term debt": debt,
        "Total liabilities": current + debt,
        "Additional paid-in capital": paid_in,
        "Retained earnings": retained,
        "Total equity": equity,
        "Net cash provided by operating activities": operating,
        "Depreciation and amortization": depreciation,
        "Capital expenditures": spent,
        "Net cash provided by investing activities": investing,
        "Dividends paid": paid,
        "Net cash provided by financing activities": change - operating - investing,
        "Free cash flow": operating - spent,
    }


def _parts(
    rng: np.random.Generator, whole: Floats, named: tuple[tuple[str, str], ...], decimals: int
) -> dict[tuple[str, str], Floats]:
    """Parts that add up to a whole, with weights that move slowly.

    Args:
        rng: source of randomness, from which weights are drawn.
        whole: float64[quarters], what the parts add up to.
        named: names of the parts, in English and Chinese.
        decimals: decimals to which each part is rounded.
    """
    weights = np.exp(
        0.5 * rng.standard_normal(len(named)) + np.cumsum(0.03 * rng.standard_normal((len(whole), len(named))), axis=0)
    )
    weights /= weights.sum(axis=1, keepdims=True)
    parts = {}
    rest = whole.copy()
    for place, name in enumerate(named[:-1]):
        parts[name] = np.round(whole * weights[:, place], decimals)
        rest = rest - parts[name]
    # The last part is what the others leave, so that rounding does not break the sum.
    parts[named[-1]] = np.round(rest, decimals)
    return parts
