"""Books of the simulated companies that are not banks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.findeepforecast.world.books import CompanyGroup, only_where, per_share, prices

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.world.books import Floats

_QUARTER_DAYS = 90.0
"""Days of a quarter, roughly."""


def business_books(group: CompanyGroup) -> None:
    """Fill in every figure of companies whose revenue is drawn. Each step needs the figures of those before it."""
    _income_above_interest(group)
    _working_capital(group)
    _fixed_assets(group)
    _Financing(group).run()


def _income_above_interest(group: CompanyGroup) -> None:
    """The income statement from revenue to earnings before interest and tax."""
    figures, draws, revenue, trend = group.figures, group.draws, group.revenue, group.trend
    margin = group.of_sector("margin") * np.exp(0.10 * draws.normal("margin")[:, :1])
    margin = np.clip(margin + 0.008 * draws.lasting("margins", 0.7), 0.05, 0.92)
    # Overhead and research are planned: they follow the trend more than the quarter.
    steady = 0.6 * trend + 0.4 * revenue
    cost = group.rounded(revenue * (1 - margin))
    overhead = group.of_sector("overhead") * draws.uniform("overhead", 0.8, 1.15)
    sold = group.rounded(steady * overhead * (1 + 0.015 * draws.normal("overheads")))
    research = group.rounded(steady * group.of_sector("research") * draws.uniform("research", 0.6, 1.3)
                              * (1 + 0.015 * draws.normal("researches")))  # fmt: skip
    figures["Revenue"], figures["Cost of Revenue"] = revenue, cost
    figures["Gross Profit"] = group.rounded(revenue - cost)
    figures["SG&A Expense"] = sold
    figures["R&D Expense"] = only_where(group.of_sector("research") > 0, research)
    figures["Operating Expense"] = group.rounded(cost + sold + research)
    figures["Operating Income"] = group.rounded(revenue - cost - sold - research)
    figures["Other Income"] = group.rounded(revenue * (0.004 * draws.lasting("other income", 0.5) + 0.001))
    figures["EBIT"] = group.rounded(figures["Operating Income"] + figures["Other Income"])
    figures["Lease Expense"] = group.rounded(trend * draws.uniform("lease", 0.004, 0.02))


def _working_capital(group: CompanyGroup) -> None:
    """Short-term assets and debts of the business, and the cash that their change sets free or ties up."""
    figures, draws, revenue = group.figures, group.draws, group.revenue
    cost = figures["Cost of Revenue"]

    def days(name: str, low: float, high: float, flow: Floats) -> Floats:
        """A balance as a number of days, drawn for each company, of a flow of the quarter."""
        noise = 1 + 0.025 * draws.lasting(name, 0.5)
        return group.rounded(flow * draws.uniform(name, low, high) / _QUARTER_DAYS * noise)

    figures["Accounts Receivable"] = days("receivable", 25, 70, revenue)
    stock = group.of_sector("stock")
    inventory = group.rounded(stock / _QUARTER_DAYS * draws.uniform("stock", 0.6, 1.4)
                               * (0.5 * cost + 0.5 * group.trend * (cost / revenue).mean(axis=1, keepdims=True))
                               * (1 + 0.025 * draws.lasting("stocks", 0.5)))  # fmt: skip
    # What a sector has none of is not reported, which is different from 0.
    figures["Inventory"] = only_where(stock > 0, inventory)
    figures["Accounts Payable"] = days("payable", 25, 75, cost)
    figures["Accrued Expenses"] = days("accrued", 20, 50, 0.35 * group.trend + 0.05 * revenue)
    deferred = days("deferred", 20, 70, 0.5 * group.trend)
    figures["Deferred Revenue"] = only_where(draws.has("deferred", 0.4), deferred)
    figures["other current assets"] = days("other current", 5, 25, group.trend)
    net = group.empty()
    for name in ("Accounts Receivable", "Inventory", "other current assets"):
        net += np.nan_to_num(figures[name])
    for name in ("Accounts Payable", "Accrued Expenses", "Deferred Revenue"):
        net -= np.nan_to_num(figures[name])
    change = group.empty()
    # What is tied up in more working capital is missing in cash.
    change[:, 1:] = -(net[:, 1:] - net[:, :-1])
    figures["Working Capital Changes"] = group.rounded(change)


def _fixed_assets(group: CompanyGroup) -> None:
    """Plant, goodwill and other intangible assets, quarter after quarter, and the cash that is invested in them."""
    figures, draws, revenue = group.figures, group.draws, group.revenue
    shape = draws.shape
    acquires = draws.has("acquisitions", 0.3)
    bought = group.rounded(acquires * revenue * np.abs(0.006 + 0.004 * draws.normal("acquisitions")) + acquires)
    sells = draws.has("divestitures", 0.15)
    sold = group.rounded(sells * revenue * np.abs(0.003 + 0.0015 * draws.normal("divestitures")) + sells)
    has_goodwill = acquires | draws.has("goodwill", 0.5)
    plant, goodwill, rights = group.empty(), group.empty(), group.empty()
    plant[:, :1] = group.rounded(group.of_sector("plant") * group.trend[:, :1] * draws.uniform("plant", 0.7, 1.4))
    goodwill[:, :1] = group.rounded(has_goodwill * group.trend[:, :1] * draws.uniform("goodwill", 0.2, 2.0))
    rights[:, :1] = group.rounded(group.trend[:, :1] * draws.uniform("rights", 0.1, 0.8))
    worn, spent, translated = group.empty(), group.empty(), group.empty()
    life = draws.uniform("life", 0.022, 0.034)[:, 0]
    more = draws.uniform("capex", 0.95, 1.25)[:, 0]
    noise, wear = 1 + 0.08 * draws.normal("capex noise"), np.exp(0.04 * draws.normal("wear"))
    abroad = draws.uniform("abroad", 0.0, 1.0)[:, 0, None] * 0.03 * draws.normal("currency")
    for quarter in range(1, shape[1]):
        before = quarter - 1
        # Plant wears out and is replaced, a little more than it wears out; 2 % of the other intangibles fade.
        used = group.rounded(plant[:, before] * life * wear[:, quarter])
        faded = group.rounded(rights[:, before] * 0.02)
        spent[:, quarter] = group.rounded(used * more * noise[:, quarter] + sold[:, quarter])
        plant[:, quarter] = plant[:, before] + spent[:, quarter] - used - sold[:, quarter]
        # Of the price of an acquisition, 70 % is goodwill and the rest other intangible assets.
        part = group.rounded(0.7 * bought[:, quarter])
        goodwill[:, quarter] = goodwill[:, before] + part
        rights[:, quarter] = rights[:, before] - faded + (bought[:, quarter] - part)
        worn[:, quarter] = used + faded
        # Assets abroad gain or lose value with currencies. That is no income: it goes straight into equity.
        for held in (plant, goodwill, rights):
            gain = group.rounded(held[:, quarter] * abroad[:, quarter])
            held[:, quarter] += gain
            translated[:, quarter] += gain
    figures["Property Plant & Equip."] = group.rounded(plant)
    figures["Goodwill"] = only_where(has_goodwill, group.rounded(goodwill))
    figures["Intangible Assets"] = group.rounded(goodwill + rights)
    figures["Depreciation & Amort."] = group.rounded(worn)
    figures["Capital Expenditure"] = group.rounded(spent)
    figures["Acquisitions"] = only_where(acquires, bought)
    figures["Divestitures"] = only_where(sells, sold)
    figures["Cash from Investing"] = group.rounded(sold - spent - bought)
    figures["translated"] = group.rounded(translated)


class _Financing:
    """Debt, cash, tax, dividends and equity, quarter after quarter: each quarter follows from the one before.

    ``self._book`` has the figures while they are made, each float64[companies, quarters].
    """

    def __init__(self, group: CompanyGroup) -> None:
        self._group = group
        self._draws = draws = group.draws
        self._trend = group.trend
        named = ("cash", "long", "short", "interest", "earned", "pretax", "tax", "net", "operating", "issue", "repay",
                 "dividends", "bought", "stock", "common", "treasury", "retained")  # fmt: skip
        self._book = {name: group.empty() for name in named}
        self._rate = draws.uniform("rate", 0.007, 0.014)[:, 0]
        self._tax_rate = draws.uniform("tax", 0.17, 0.27)[:, 0]
        self._cash_ratio = draws.uniform("cash ratio", 0.35, 1.1)[:, 0]
        self._short_share = draws.uniform("short share", 0.08, 0.28)[:, 0]
        self._pays = draws.has("dividends", 0.7)[:, 0] * draws.uniform("payout", 0.2, 0.5)[:, 0]
        self._buys = draws.has("buybacks", 0.6)[:, 0] * draws.uniform("buybacks", 0.1, 0.35)[:, 0]
        self._issues = draws.has("stock", 0.65)[:, 0]
        self._odd = draws.has("extraordinary", 0.1) * group.rounded(0.006 * self._trend * draws.normal("extraordinary"))
        self._ended = draws.has("discontinued", 0.05) * group.rounded(
            0.004 * self._trend * draws.normal("discontinued")
        )
        self._noise = {name: draws.normal(f"{name} noise") for name in ("interest", "tax", "repay", "cash", "bought")}

    def run(self) -> None:
        """Fill in the figures. Quarter 0 has income, from which the first dividends follow, but no flows of cash."""
        self._begin()
        for quarter in range(self._draws.shape[1]):
            self._earn(quarter)
            if quarter:
                self._settle(quarter)
        self._state()

    def _begin(self) -> None:
        """Balances of quarter 0, in proportion to revenue."""
        book, trend, rounded = self._book, self._trend[:, 0], self._group.rounded
        debt = trend * self._draws.uniform("debt", 0.6, 3.2)[:, 0]
        book["short"][:, 0] = rounded(debt * self._short_share)
        book["long"][:, 0] = rounded(debt * (1 - self._short_share))
        book["cash"][:, 0] = rounded(trend * self._cash_ratio)
        book["common"][:, 0] = rounded(trend * self._draws.uniform("common", 0.2, 1.2)[:, 0])
        book["treasury"][:, 0] = rounded((self._buys > 0) * trend * self._draws.uniform("treasury", 0.05, 0.4)[:, 0])

    def _earn(self, quarter: int) -> None:
        """Interest, tax and net income of a quarter. Interest is on what was owed and held at its beginning."""
        book, rounded, noise, before = self._book, self._group.rounded, self._noise, max(quarter - 1, 0)
        debt = book["long"][:, before] + book["short"][:, before]
        interest = rounded(debt * self._rate * (1 + 0.02 * noise["interest"][:, quarter]))
        earned = rounded(book["cash"][:, before] * 0.006 * (1 + 0.05 * noise["cash"][:, quarter]))
        pretax = self._group.figures["EBIT"][:, quarter] + earned - interest
        tax = rounded(np.maximum(pretax, 0) * self._tax_rate * (1 + 0.04 * noise["tax"][:, quarter]))
        book["interest"][:, quarter], book["earned"][:, quarter] = interest, earned
        book["pretax"][:, quarter], book["tax"][:, quarter] = rounded(pretax), tax
        book["net"][:, quarter] = rounded(pretax - tax + self._odd[:, quarter] + self._ended[:, quarter])

    def _settle(self, quarter: int) -> None:
        """Flows of cash of a quarter, and the balances at its end."""
        book, rounded, noise, before = self._book, self._group.rounded, self._noise, quarter - 1
        figures, trend = self._group.figures, self._trend[:, quarter]
        book["operating"][:, quarter] = rounded(
            book["net"][:, quarter]
            + figures["Depreciation & Amort."][:, quarter]
            + figures["Working Capital Changes"][:, quarter]
        )
        usual = np.maximum(book["net"][:, max(quarter - 4, 0) : quarter].mean(axis=1), 0)
        # Boards set dividends once a year. Who pays any pays some in every quarter, or `_write` would leave them out.
        same = book["dividends"][:, before] if quarter % 4 != 1 else rounded(self._pays * usual)
        dividends = book["dividends"][:, quarter] = np.where(
            (self._pays > 0) & (same == 0), rounded(0.004 * trend), same
        )
        bought = rounded((self._buys > 0) * (self._buys * usual + 0.002 * trend)
                         * np.exp(0.15 * noise["bought"][:, quarter]))  # fmt: skip
        book["bought"][:, quarter] = bought
        issued = book["stock"][:, quarter] = rounded(
            self._issues * 0.003 * trend * np.exp(0.1 * noise["bought"][:, before])
        )
        free = book["cash"][:, before] + book["operating"][:, quarter] + figures["Cash from Investing"][:, quarter]
        free += issued - dividends - bought
        self._borrow(quarter, free, trend * self._cash_ratio)
        book["common"][:, quarter] = book["common"][:, before] + issued
        book["treasury"][:, quarter] = book["treasury"][:, before] + bought
        kept = book["net"][:, quarter] - dividends + figures["translated"][:, quarter]
        book["retained"][:, quarter] = book["retained"][:, before] + kept

    def _borrow(self, quarter: int, free: Floats, wanted: Floats) -> None:
        """Repay debt and take up new debt.

        Args:
            quarter: number of the quarter.
            free: cash at its end, were no debt repaid or taken up, float64[companies].
            wanted: cash that the companies like to hold, float64[companies].
        """
        book, rounded, before = self._book, self._group.rounded, quarter - 1
        debt = book["long"][:, before] + book["short"][:, before]
        due = book["short"][:, before] * np.clip(0.75 + 0.06 * self._noise["repay"][:, quarter], 0.4, 0.95)
        # Who has far more cash than wanted repays more than is due.
        extra = np.clip(0.4 * (free - due - 1.3 * wanted), 0, 0.1 * debt)
        repay = rounded(due + extra)
        usual = due * np.clip(0.98 + 0.05 * self._noise["cash"][:, quarter], 0.5, 1.4)
        # Most of what is repaid is borrowed again, and always so much that cash stays above 80 % of what is wanted.
        issue = rounded(np.maximum(usual, 0.8 * wanted + repay - free))
        book["repay"][:, quarter], book["issue"][:, quarter] = repay, issue
        book["cash"][:, quarter] = rounded(free + issue - repay)
        after = debt + issue - repay
        book["short"][:, quarter] = rounded(
            after * self._short_share * np.exp(0.05 * self._noise["bought"][:, quarter])
        )
        book["long"][:, quarter] = rounded(after - book["short"][:, quarter])

    def _state(self) -> None:
        """The totals of the balance sheet, and equity with its parts."""
        figures, book, rounded, draws = self._group.figures, self._book, self._group.rounded, self._draws
        liquid = ("Accounts Receivable", "Inventory")
        current = (
            book["cash"] + figures.pop("other current assets") + sum(np.nan_to_num(figures[name]) for name in liquid)
        )
        owed = book["short"] + sum(
            np.nan_to_num(figures[name]) for name in ("Accounts Payable", "Accrued Expenses", "Deferred Revenue")
        )
        fixed = figures["Property Plant & Equip."] + figures["Intangible Assets"]
        # Pensions and other assets never change. Other assets are so large that 30 to 55 % of all is equity at first.
        pensions = rounded(self._trend[:, :1] * draws.uniform("pensions", 0.1, 0.8))
        liabilities = owed + book["long"] + pensions
        others = self._trend[:, :1] * draws.uniform("other assets", 0.1, 1.0)
        least = liabilities[:, :1] / (1 - draws.uniform("equity", 0.3, 0.55)) - (current + fixed)[:, :1]
        assets = current + fixed + rounded(np.maximum(others, least))
        course = np.exp(0.03 * np.cumsum(draws.normal("minority course"), axis=1))
        minority = rounded(draws.has("minority", 0.3) * 0.05 * self._trend[:, :1] * course)
        preferred = draws.has("preferred", 0.08) * rounded(0.1 * self._trend[:, :1]) + self._group.empty()
        equity = assets - liabilities
        paid_in = book["common"] - book["treasury"] + minority + preferred
        # Retained earnings close the balance sheet of quarter 0. Later it closes by itself, as every flow is in it
        # twice, but for the minority's share: what the minority gains the others lose.
        book["retained"] += (equity - paid_in)[:, :1] - (minority - minority[:, :1])
        # Only needed for equity; it is no item of the taxonomy.
        figures.pop("translated")
        self._write(
            {
                "Total Current Assets": current, "Total Current Liabilities": owed, "Total Assets": assets,
                "Total Liabilities": liabilities, "Total Equity": paid_in + book["retained"],
                "Minority Interest": np.where(minority > 0, minority, np.nan),
                "Preferred Stock": np.where(preferred > 0, preferred, np.nan),
            }
        )  # fmt: skip

    def _write(self, totals: dict[str, Floats]) -> None:
        """Put the figures under the names of their items."""
        group, book = self._group, self._book
        # Items that only some companies report: those that have some in every quarter.
        some = {
            "Stock Repurchase": book["bought"], "Stock Issuance": book["stock"], "Dividend Payments": book["dividends"],
            "Treasury Stock": book["treasury"],
        }  # fmt: skip
        some = {
            name: only_where((values[:, 1:] > 0).all(axis=1, keepdims=True), values) for name, values in some.items()
        }
        some["Extraordinary Items"] = only_where((self._odd != 0).any(axis=1, keepdims=True), self._odd)
        some["Discontinued Operations"] = only_where((self._ended != 0).any(axis=1, keepdims=True), self._ended)
        investing = group.figures["Cash from Investing"]
        financing = book["issue"] - book["repay"] + book["stock"] - book["bought"] - book["dividends"]
        every = totals | some | {
            "Cash and Equivalents": book["cash"], "Long Term Debt": book["long"], "Short Term Debt": book["short"],
            "Short and Long Term Debt": book["long"] + book["short"], "Common Stock": book["common"],
            "Retained Earnings": book["retained"], "Interest Expense": book["interest"],
            "Interest Income": book["earned"], "Pre-Tax Income": book["pretax"], "Income Tax Expense": book["tax"],
            "Net Income": book["net"], "EBITDA": group.figures["EBIT"] + group.figures["Depreciation & Amort."],
            "Cash From Operations": book["operating"], "Cash from Financing": financing,
            "Debt Repayment": book["repay"], "Debt Issuance": book["issue"],
            "Net Change in Cash": book["operating"] + investing + financing,
            "Free Cash Flow": book["operating"] - group.figures["Capital Expenditure"],
        }  # fmt: skip
        # Sums of rounded figures are rounded again: in binary they are off by a little.
        group.figures.update({name: group.rounded(values) for name, values in every.items()})
        per_share(group, book["net"], book["dividends"], book["bought"], book["stock"], prices(group))
