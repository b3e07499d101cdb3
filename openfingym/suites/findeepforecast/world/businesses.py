"""Books of companies that are no banks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.findeepforecast.world.books import Ground, only_where, per_share, prices

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.world.books import Floats

_TREND_DAYS = 90.0


def business_books(ground: Ground) -> None:
    """Fill in every figure."""
    _income_above_interest(ground)
    _working_capital(ground)
    _fixed_assets(ground)
    _Financing(ground).run()


def _income_above_interest(ground: Ground) -> None:
    figures, draws, revenue, trend = ground.figures, ground.draws, ground.revenue, ground.trend
    margin = ground.of_sector("margin") * np.exp(0.10 * draws.normal("margin")[:, :1])
    margin = np.clip(margin + 0.008 * draws.lasting("margins", 0.7), 0.05, 0.92)
    steady = 0.6 * trend + 0.4 * revenue
    cost = ground.rounded(revenue * (1 - margin))
    overhead = ground.of_sector("overhead") * draws.uniform("overhead", 0.8, 1.15)
    sold = ground.rounded(steady * overhead * (1 + 0.015 * draws.normal("overheads")))
    research = ground.rounded(steady * ground.of_sector("research") * draws.uniform("research", 0.6, 1.3)
                              * (1 + 0.015 * draws.normal("researches")))  # fmt: skip
    figures["Revenue"], figures["Cost of Revenue"] = revenue, cost
    figures["Gross Profit"] = ground.rounded(revenue - cost)
    figures["SG&A Expense"] = sold
    figures["R&D Expense"] = only_where(ground.of_sector("research") > 0, research)
    figures["Operating Expense"] = ground.rounded(cost + sold + research)
    figures["Operating Income"] = ground.rounded(revenue - cost - sold - research)
    figures["Other Income"] = ground.rounded(revenue * (0.004 * draws.lasting("other income", 0.5) + 0.001))
    figures["EBIT"] = ground.rounded(figures["Operating Income"] + figures["Other Income"])
    figures["Lease Expense"] = ground.rounded(trend * draws.uniform("lease", 0.004, 0.02))


def _working_capital(ground: Ground) -> None:
    figures, draws, revenue = ground.figures, ground.draws, ground.revenue
    cost = figures["Cost of Revenue"]

    def days(name: str, low: float, high: float, of: Floats) -> Floats:
        noise = 1 + 0.025 * draws.lasting(name, 0.5)
        return ground.rounded(of * draws.uniform(name, low, high) / _TREND_DAYS * noise)

    figures["Accounts Receivable"] = days("receivable", 25, 70, revenue)
    stock = ground.of_sector("stock")
    inventory = ground.rounded(stock / _TREND_DAYS * draws.uniform("stock", 0.6, 1.4)
                               * (0.5 * cost + 0.5 * ground.trend * (cost / revenue).mean(axis=1, keepdims=True))
                               * (1 + 0.025 * draws.lasting("stocks", 0.5)))  # fmt: skip
    figures["Inventory"] = only_where(stock > 0, inventory)
    figures["Accounts Payable"] = days("payable", 25, 75, cost)
    figures["Accrued Expenses"] = days("accrued", 20, 50, 0.35 * ground.trend + 0.05 * revenue)
    deferred = days("deferred", 20, 70, 0.5 * ground.trend)
    figures["Deferred Revenue"] = only_where(draws.has("deferred", 0.4), deferred)
    figures["other current assets"] = days("other current", 5, 25, ground.trend)
    net = ground.empty()
    for name in ("Accounts Receivable", "Inventory", "other current assets"):
        net += np.nan_to_num(figures[name])
    for name in ("Accounts Payable", "Accrued Expenses", "Deferred Revenue"):
        net -= np.nan_to_num(figures[name])
    change = ground.empty()
    change[:, 1:] = -(net[:, 1:] - net[:, :-1])
    figures["Working Capital Changes"] = ground.rounded(change)


def _fixed_assets(ground: Ground) -> None:
    figures, draws, revenue = ground.figures, ground.draws, ground.revenue
    shape = draws.shape
    acquires = draws.has("acquisitions", 0.3)
    bought = ground.rounded(acquires * revenue * np.abs(0.006 + 0.004 * draws.normal("acquisitions")) + acquires)
    sells = draws.has("divestitures", 0.15)
    sold = ground.rounded(sells * revenue * np.abs(0.003 + 0.0015 * draws.normal("divestitures")) + sells)
    has_goodwill = acquires | draws.has("goodwill", 0.5)
    plant, goodwill, rights = ground.empty(), ground.empty(), ground.empty()
    plant[:, :1] = ground.rounded(ground.of_sector("plant") * ground.trend[:, :1] * draws.uniform("plant", 0.7, 1.4))
    goodwill[:, :1] = ground.rounded(has_goodwill * ground.trend[:, :1] * draws.uniform("goodwill", 0.2, 2.0))
    rights[:, :1] = ground.rounded(ground.trend[:, :1] * draws.uniform("rights", 0.1, 0.8))
    worn, spent, translated = ground.empty(), ground.empty(), ground.empty()
    life = draws.uniform("life", 0.022, 0.034)[:, 0]
    more = draws.uniform("capex", 0.95, 1.25)[:, 0]
    noise, wear = 1 + 0.08 * draws.normal("capex noise"), np.exp(0.04 * draws.normal("wear"))
    abroad = draws.uniform("abroad", 0.0, 1.0)[:, 0, None] * 0.03 * draws.normal("currency")
    for quarter in range(1, shape[1]):
        before = quarter - 1
        used = ground.rounded(plant[:, before] * life * wear[:, quarter])
        faded = ground.rounded(rights[:, before] * 0.02)
        spent[:, quarter] = ground.rounded(used * more * noise[:, quarter] + sold[:, quarter])
        plant[:, quarter] = plant[:, before] + spent[:, quarter] - used - sold[:, quarter]
        part = ground.rounded(0.7 * bought[:, quarter])
        goodwill[:, quarter] = goodwill[:, before] + part
        rights[:, quarter] = rights[:, before] - faded + (bought[:, quarter] - part)
        worn[:, quarter] = used + faded
        # What is abroad is worth more or less as currencies move, which is no income and goes into equity.
        for held in (plant, goodwill, rights):
            more_now = ground.rounded(held[:, quarter] * abroad[:, quarter])
            held[:, quarter] += more_now
            translated[:, quarter] += more_now
    figures["Property Plant & Equip."] = ground.rounded(plant)
    figures["Goodwill"] = only_where(has_goodwill, ground.rounded(goodwill))
    figures["Intangible Assets"] = ground.rounded(goodwill + rights)
    figures["Depreciation & Amort."] = ground.rounded(worn)
    figures["Capital Expenditure"] = ground.rounded(spent)
    figures["Acquisitions"] = only_where(acquires, bought)
    figures["Divestitures"] = only_where(sells, sold)
    figures["Cash from Investing"] = ground.rounded(sold - spent - bought)
    figures["translated"] = ground.rounded(translated)


class _Financing:
    """Debt, cash, tax, dividends and equity, quarter after quarter: each follows from the ones before."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._draws = draws = ground.draws
        self._trend = ground.trend
        named = ("cash", "long", "short", "interest", "earned", "pretax", "tax", "net", "operating", "issue", "repay",
                 "dividends", "bought", "stock", "common", "treasury", "retained")  # fmt: skip
        self._of = {name: ground.empty() for name in named}
        self._rate = draws.uniform("rate", 0.007, 0.014)[:, 0]
        self._tax_rate = draws.uniform("tax", 0.17, 0.27)[:, 0]
        self._cash_ratio = draws.uniform("cash ratio", 0.35, 1.1)[:, 0]
        self._short_share = draws.uniform("short share", 0.08, 0.28)[:, 0]
        self._pays = draws.has("dividends", 0.7)[:, 0] * draws.uniform("payout", 0.2, 0.5)[:, 0]
        self._buys = draws.has("buybacks", 0.6)[:, 0] * draws.uniform("buybacks", 0.1, 0.35)[:, 0]
        self._issues = draws.has("stock", 0.65)[:, 0]
        self._odd = draws.has("extraordinary", 0.1) * ground.rounded(
            0.006 * self._trend * draws.normal("extraordinary")
        )
        self._ended = draws.has("discontinued", 0.05) * ground.rounded(
            0.004 * self._trend * draws.normal("discontinued")
        )
        self._noise = {name: draws.normal(f"{name} noise") for name in ("interest", "tax", "repay", "cash", "bought")}

    def run(self) -> None:
        """Fill in the figures."""
        self._begin()
        for quarter in range(self._draws.shape[1]):
            self._earn(quarter)
            if quarter:
                self._settle(quarter)
        self._state()

    def _begin(self) -> None:
        of, trend, rounded = self._of, self._trend[:, 0], self._ground.rounded
        debt = trend * self._draws.uniform("debt", 0.6, 3.2)[:, 0]
        of["short"][:, 0] = rounded(debt * self._short_share)
        of["long"][:, 0] = rounded(debt * (1 - self._short_share))
        of["cash"][:, 0] = rounded(trend * self._cash_ratio)
        of["common"][:, 0] = rounded(trend * self._draws.uniform("common", 0.2, 1.2)[:, 0])
        of["treasury"][:, 0] = rounded((self._buys > 0) * trend * self._draws.uniform("treasury", 0.05, 0.4)[:, 0])

    def _earn(self, quarter: int) -> None:
        """What is earned, taxed and left; interest is on what was owed and held before."""
        of, rounded, noise, before = self._of, self._ground.rounded, self._noise, max(quarter - 1, 0)
        debt = of["long"][:, before] + of["short"][:, before]
        interest = rounded(debt * self._rate * (1 + 0.02 * noise["interest"][:, quarter]))
        earned = rounded(of["cash"][:, before] * 0.006 * (1 + 0.05 * noise["cash"][:, quarter]))
        pretax = self._ground.figures["EBIT"][:, quarter] + earned - interest
        tax = rounded(np.maximum(pretax, 0) * self._tax_rate * (1 + 0.04 * noise["tax"][:, quarter]))
        of["interest"][:, quarter], of["earned"][:, quarter] = interest, earned
        of["pretax"][:, quarter], of["tax"][:, quarter] = rounded(pretax), tax
        of["net"][:, quarter] = rounded(pretax - tax + self._odd[:, quarter] + self._ended[:, quarter])

    def _settle(self, quarter: int) -> None:
        """What is paid out, borrowed and paid back; balances at the end of the quarter."""
        of, rounded, noise, before = self._of, self._ground.rounded, self._noise, quarter - 1
        figures, trend = self._ground.figures, self._trend[:, quarter]
        of["operating"][:, quarter] = rounded(
            of["net"][:, quarter]
            + figures["Depreciation & Amort."][:, quarter]
            + figures["Working Capital Changes"][:, quarter]
        )
        usual = np.maximum(of["net"][:, max(quarter - 4, 0) : quarter].mean(axis=1), 0)
        # Dividends change once a year, as boards do.
        same = of["dividends"][:, before] if quarter % 4 != 1 else rounded(self._pays * usual)
        dividends = of["dividends"][:, quarter] = np.where((self._pays > 0) & (same == 0), rounded(0.004 * trend), same)
        bought = rounded((self._buys > 0) * (self._buys * usual + 0.002 * trend)
                         * np.exp(0.15 * noise["bought"][:, quarter]))  # fmt: skip
        of["bought"][:, quarter] = bought
        issued = of["stock"][:, quarter] = rounded(
            self._issues * 0.003 * trend * np.exp(0.1 * noise["bought"][:, before])
        )
        free = of["cash"][:, before] + of["operating"][:, quarter] + figures["Cash from Investing"][:, quarter]
        free += issued - dividends - bought
        self._borrow(quarter, free, trend * self._cash_ratio)
        of["common"][:, quarter] = of["common"][:, before] + issued
        of["treasury"][:, quarter] = of["treasury"][:, before] + bought
        kept = of["net"][:, quarter] - dividends + figures["translated"][:, quarter]
        of["retained"][:, quarter] = of["retained"][:, before] + kept

    def _borrow(self, quarter: int, free: Floats, wanted: Floats) -> None:
        of, rounded, before = self._of, self._ground.rounded, quarter - 1
        debt = of["long"][:, before] + of["short"][:, before]
        due = of["short"][:, before] * np.clip(0.75 + 0.06 * self._noise["repay"][:, quarter], 0.4, 0.95)
        extra = np.clip(0.4 * (free - due - 1.3 * wanted), 0, 0.1 * debt)
        repay = rounded(due + extra)
        usual = due * np.clip(0.98 + 0.05 * self._noise["cash"][:, quarter], 0.5, 1.4)
        issue = rounded(np.maximum(usual, 0.8 * wanted + repay - free))
        of["repay"][:, quarter], of["issue"][:, quarter] = repay, issue
        of["cash"][:, quarter] = rounded(free + issue - repay)
        after = debt + issue - repay
        of["short"][:, quarter] = rounded(after * self._short_share * np.exp(0.05 * self._noise["bought"][:, quarter]))
        of["long"][:, quarter] = rounded(after - of["short"][:, quarter])

    def _state(self) -> None:
        """The balance sheet and what remains of the statements."""
        figures, of, rounded, draws = self._ground.figures, self._of, self._ground.rounded, self._draws
        liquid = ("Accounts Receivable", "Inventory")
        current = (
            of["cash"] + figures.pop("other current assets") + sum(np.nan_to_num(figures[name]) for name in liquid)
        )
        owed = of["short"] + sum(
            np.nan_to_num(figures[name]) for name in ("Accounts Payable", "Accrued Expenses", "Deferred Revenue")
        )
        fixed = figures["Property Plant & Equip."] + figures["Intangible Assets"]
        # What else is owed and owned stays as it is; the latter is such that the company is not all debt.
        pensions = rounded(self._trend[:, :1] * draws.uniform("pensions", 0.1, 0.8))
        liabilities = owed + of["long"] + pensions
        others = self._trend[:, :1] * draws.uniform("other assets", 0.1, 1.0)
        least = liabilities[:, :1] / (1 - draws.uniform("equity", 0.3, 0.55)) - (current + fixed)[:, :1]
        assets = current + fixed + rounded(np.maximum(others, least))
        course = np.exp(0.03 * np.cumsum(draws.normal("minority course"), axis=1))
        minority = rounded(draws.has("minority", 0.3) * 0.05 * self._trend[:, :1] * course)
        preferred = draws.has("preferred", 0.08) * rounded(0.1 * self._trend[:, :1]) + self._ground.empty()
        equity = assets - liabilities
        paid_in = of["common"] - of["treasury"] + minority + preferred
        # What minorities gain the others lose.
        of["retained"] += (equity - paid_in)[:, :1] - (minority - minority[:, :1])
        figures.pop("translated")
        self._write(
            {
                "Total Current Assets": current, "Total Current Liabilities": owed, "Total Assets": assets,
                "Total Liabilities": liabilities, "Total Equity": paid_in + of["retained"],
                "Minority Interest": np.where(minority > 0, minority, np.nan),
                "Preferred Stock": np.where(preferred > 0, preferred, np.nan),
            }
        )  # fmt: skip

    def _write(self, totals: dict[str, Floats]) -> None:
        ground, of = self._ground, self._of
        some = {
            "Stock Repurchase": of["bought"], "Stock Issuance": of["stock"], "Dividend Payments": of["dividends"],
            "Treasury Stock": of["treasury"],
        }  # fmt: skip
        some = {
            name: only_where((values[:, 1:] > 0).all(axis=1, keepdims=True), values) for name, values in some.items()
        }
        some["Extraordinary Items"] = only_where((self._odd != 0).any(axis=1, keepdims=True), self._odd)
        some["Discontinued Operations"] = only_where((self._ended != 0).any(axis=1, keepdims=True), self._ended)
        investing = ground.figures["Cash from Investing"]
        financing = of["issue"] - of["repay"] + of["stock"] - of["bought"] - of["dividends"]
        whole = totals | some | {
            "Cash and Equivalents": of["cash"], "Long Term Debt": of["long"], "Short Term Debt": of["short"],
            "Short and Long Term Debt": of["long"] + of["short"], "Common Stock": of["common"],
            "Retained Earnings": of["retained"], "Interest Expense": of["interest"], "Interest Income": of["earned"],
            "Pre-Tax Income": of["pretax"], "Income Tax Expense": of["tax"], "Net Income": of["net"],
            "EBITDA": ground.figures["EBIT"] + ground.figures["Depreciation & Amort."],
            "Cash From Operations": of["operating"], "Cash from Financing": financing, "Debt Repayment": of["repay"],
            "Debt Issuance": of["issue"], "Net Change in Cash": of["operating"] + investing + financing,
            "Free Cash Flow": of["operating"] - ground.figures["Capital Expenditure"],
        }  # fmt: skip
        ground.figures.update({name: ground.rounded(values) for name, values in whole.items()})
        per_share(ground, of["net"], of["dividends"], of["bought"], of["stock"], prices(ground))
