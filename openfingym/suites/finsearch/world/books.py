"""The books of a simulated company: every figure of every fiscal quarter, such that statements add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.finsearch.world.draws import stream
from openfingym.suites.finsearch.world.equities import PricedLine
from openfingym.suites.finsearch.world.fiscal import Quarter
from openfingym.suites.finsearch.world.names import REGIONS, REGIONS_ZH
from openfingym.suites.finsearch.world.roster import SimulatedCompany

if TYPE_CHECKING:
    from openfingym.suites.finsearch.world.paths import Floats

PER_DOLLAR = {"USD": 1.0, "EUR": 0.85, "JPY": 115.0, "CNY": 6.7, "HKD": 7.8}
"""Rough values, for sizes alone."""
EARNINGS_MULTIPLE = 21.0


@dataclass(frozen=True)
class Item:
    """A line of a statement."""

    name: str
    name_zh: str
    statement: str
    flow: bool = True
    """Whether it is of a period; otherwise of its end."""


ITEMS = (
    Item("Revenue", "营业收入", "income"),
    Item("Cost of revenue", "营业成本", "income"),
    Item("Gross profit", "毛利", "income"),
    Item("Research and development expenses", "研发费用", "income"),
    Item("Selling, general and administrative expenses", "销售及管理费用", "income"),
    Item("Operating income", "营业利润", "income"),
    Item("Interest expense", "利息费用", "income"),
    Item("Income before income taxes", "利润总额", "income"),
    Item("Income tax expense", "所得税费用", "income"),
    Item("Net income", "净利润", "income"),
    Item("Net income attributable to non-controlling interests", "少数股东损益", "income"),
    Item("Net income attributable to shareholders", "归属于母公司股东的净利润", "income"),
    Item("Cash and cash equivalents", "货币资金", "balance", flow=False),
    Item("Accounts receivable", "应收账款", "balance", flow=False),
    Item("Inventories", "存货", "balance", flow=False),
    Item("Total current assets", "流动资产合计", "balance", flow=False),
    Item("Property, plant and equipment", "固定资产", "balance", flow=False),
    Item("Goodwill", "商誉", "balance", flow=False),
    Item("Total assets", "资产总计", "balance", flow=False),
    Item("Total current liabilities", "流动负债合计", "balance", flow=False),
    Item("Long-term debt", "长期借款", "balance", flow=False),
    Item("Total liabilities", "负债合计", "balance", flow=False),
    Item("Additional paid-in capital", "资本公积", "balance", flow=False),
    Item("Retained earnings", "未分配利润", "balance", flow=False),
    Item("Total equity", "所有者权益合计", "balance", flow=False),
    Item("Net cash provided by operating activities", "经营活动产生的现金流量净额", "cash flow"),
    Item("Depreciation and amortization", "折旧与摊销", "cash flow"),
    Item("Capital expenditures", "购建固定资产支付的现金", "cash flow"),
    Item("Net cash provided by investing activities", "投资活动产生的现金流量净额", "cash flow"),
    Item("Dividends paid", "分配股利支付的现金", "cash flow"),
    Item("Net cash provided by financing activities", "筹资活动产生的现金流量净额", "cash flow"),
    Item("Adjusted net income", "经调整净利润", "non-GAAP"),
    Item("Adjusted EBITDA", "经调整EBITDA", "non-GAAP"),
    Item("Free cash flow", "自由现金流", "non-GAAP"),
)
BY_NAME = {item.name: item for item in ITEMS}
BASIC_EPS = Item("Basic earnings per share", "基本每股收益", "per share")
DILUTED_EPS = Item("Diluted earnings per share", "稀释每股收益", "per share")
WEIGHTED = Item("Weighted average shares, basic", "加权平均股数", "shares")
OUTSTANDING = Item("Shares outstanding", "期末总股本", "shares", flow=False)


@dataclass(frozen=True, eq=False)
class CompanyBooks:
    """Figures by item: float64[quarters] in the company's unit; balances at the end of each quarter.

    Attributes:
        figures: by name of item.
        segments: revenue by name of segment, with its Chinese name; they add up to revenue, and so do regions.
        regions: revenue by name of region, with its Chinese name.
        weighted: average shares of each quarter, as if nothing had been split.
        outstanding: shares of each line at the end of each quarter, as they were then, by class.
        diluted: diluted shares over basic ones.
    """

    figures: dict[str, Floats]
    segments: dict[tuple[str, str], Floats]
    regions: dict[tuple[str, str], Floats]
    weighted: Floats
    outstanding: dict[str, Floats]
    diluted: float


def keep_books(company: SimulatedCompany, lines: list[PricedLine], periods: list[Quarter], seed: int) -> CompanyBooks:
    """The books of a company."""
    rng = stream(seed, "books", company.id)
    count = len(periods)
    decimals = 2 if company.scale == 1.0 else 0
    industry = company.industry

    def rounded(values: Floats) -> Floats:
        return np.round(values, decimals) + 0.0

    margin = np.clip(industry.margin + np.cumsum(0.006 * rng.standard_normal(count)), 0.1, 0.85)
    capital = sum(line.line.shares * float(line.bars[0, 3]) / PER_DOLLAR[line.line.currency] for line in lines)
    usual = max(industry.margin * 0.36, 0.05)
    start = capital * PER_DOLLAR[company.currency] / EARNINGS_MULTIPLE / 4 / (usual * 0.74) / company.scale
    path = (industry.growth * 0.75 + 0.01) / 4 + 0.03 * rng.standard_normal(count)
    season = np.array([1 + 0.08 * float(rng.standard_normal()) for _ in range(4)])
    seasonal = np.array([season[quarter.number - 1] for quarter in periods])
    revenue = rounded(start * np.exp(np.cumsum(path)) * seasonal)
    figures = _income(company, rng, revenue, margin, rounded)
    _balance(company, rng, figures, rounded)
    adjusted = rounded(figures["Depreciation and amortization"] * 0.3)
    figures["Adjusted net income"] = figures["Net income attributable to shareholders"] + adjusted
    figures["Adjusted EBITDA"] = (
        figures["Operating income"] + figures["Depreciation and amortization"] + rounded(adjusted * 1.25)
    )
    regions = REGIONS if company.home == "us" else REGIONS_ZH
    # Sums of rounded figures are written down as they would be, without the noise of floating point.
    figures = {name: np.round(values, decimals) + 0.0 for name, values in figures.items()}
    yearly = (1.0 - 0.004) if company.home == "us" else 1.0
    trend = yearly ** (np.arange(count) / 4)
    first_lines = [line.line.shares for line in lines]
    outstanding = {
        line.line.share_class: np.array(
            [
                np.round(shares * trend[place] * line.split_factor(quarter.end)) if quarter.end >= line.line.listed
                or line is lines[0] else 0.0
                for place, quarter in enumerate(periods)
            ]
        )
        for line, shares in zip(lines, first_lines, strict=True)
    }  # fmt: skip
    splits = np.array([lines[0].split_factor(quarter.end) for quarter in periods])
    ends = sum(outstanding.values()) / splits
    weighted = (ends + np.append(ends[:1], ends[:-1])) / 2
    return CompanyBooks(
        figures,
        _parts(rng, figures["Revenue"], industry.segments, decimals),
        _parts(rng, figures["Revenue"], regions, decimals),
        weighted,
        outstanding,
        1.0 + float(rng.uniform(0.002, 0.03)),
    )


def _income(
    company: SimulatedCompany,
    rng: np.random.Generator,
    revenue: Floats,
    margin: Floats,
    rounded: Callable[[Floats], Floats],
) -> dict[str, Floats]:
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
    others = rounded(np.abs(net) * 0.03)
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
        "Net income attributable to non-controlling interests": others,
        "Net income attributable to shareholders": net - others,
    }


def _balance(
    company: SimulatedCompany,
    rng: np.random.Generator,
    figures: dict[str, Floats],
    rounded: Callable[[Floats], Floats],
) -> None:
    revenue, net = figures["Revenue"], figures["Net income"]
    count = len(revenue)
    noise = [np.exp(0.08 * rng.standard_normal(count)) for _ in range(6)]
    receivables, inventories = rounded(revenue * 0.6 * noise[0]), rounded(revenue * 0.45 * noise[1])
    other_current = rounded(revenue * 0.2 * noise[2])
    depreciation, spent = rounded(revenue * 0.05 * noise[3]), rounded(revenue * 0.065 * noise[4])
    plant = rounded(revenue[0] * 2.0) + np.cumsum(spent - depreciation)
    goodwill = rounded(revenue[0] * 0.8) + np.cumsum(rounded(revenue * 0.5) * (rng.uniform(size=count) < 0.06))
    debt = rounded(revenue * 1.6)
    current = rounded(revenue * 0.9 * noise[5])
    paid = rounded(np.maximum(net, 0.0) * 0.25)
    paid_in = rounded(revenue[0] * 3.0) + np.cumsum(rounded(revenue * 0.01))
    retained = rounded(revenue[0] * 1.2) + np.cumsum(net - paid)
    equity = paid_in + retained
    others = receivables + inventories + other_current + plant + goodwill
    short = np.maximum(rounded(revenue * 0.3) - (debt + current + equity - others), 0.0)
    debt = debt + short
    cash = debt + current + equity - others
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
    del company


def _parts(
    rng: np.random.Generator, whole: Floats, named: tuple[tuple[str, str], ...], decimals: int
) -> dict[tuple[str, str], Floats]:
    """Parts that add up to the whole, whose weights move slowly."""
    weights = np.exp(
        0.5 * rng.standard_normal(len(named)) + np.cumsum(0.03 * rng.standard_normal((len(whole), len(named))), axis=0)
    )
    weights /= weights.sum(axis=1, keepdims=True)
    found = {}
    left = whole.copy()
    for place, name in enumerate(named[:-1]):
        found[name] = np.round(whole * weights[:, place], decimals)
        left = left - found[name]
    found[named[-1]] = np.round(left, decimals)
    return found
