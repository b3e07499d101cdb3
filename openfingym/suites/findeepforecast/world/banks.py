"""Books of banks: loans and deposits instead of stock and receivables, and no current assets and liabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.findeepforecast.world.books import Ground, only_where, per_share, prices

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.world.books import Floats


def bank_books(ground: Ground) -> None:
    """Fill in every figure. Revenue is interest and fees; its cost is interest and what is set aside for bad loans."""
    books = _Bank(ground)
    books.begin()
    for quarter in range(ground.draws.shape[1]):
        books.earn(quarter)
        if quarter:
            books.settle(quarter)
    books.write()


class _Bank:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._draws = draws = ground.draws
        self._of: dict[str, Floats] = {}
        self._pays = draws.uniform("payout", 0.25, 0.5)[:, 0]
        self._buys = draws.has("buybacks", 0.5)[:, 0] * draws.uniform("buybacks", 0.1, 0.3)[:, 0]
        self._tax_rate = draws.uniform("tax", 0.17, 0.26)[:, 0]
        self._yield = draws.uniform("yield", 0.010, 0.016) * np.exp(0.02 * draws.lasting("yields", 0.85))
        self._paid = draws.uniform("paid", 0.003, 0.006) * np.exp(0.03 * draws.lasting("paid", 0.85))
        self._costs = draws.uniform("costs", 0.42, 0.58)[:, 0]
        self._noise = {
            name: draws.normal(f"{name} noise") for name in ("cash", "tax", "costs", "debt", "capex", "risk")
        }

    def begin(self) -> None:
        """Balances that are given, and the state of the others at the beginning."""
        ground, draws, rounded = self._ground, self._draws, self._ground.rounded
        scale = ground.revenue / 0.011
        loans = rounded(0.62 * scale)
        deposits = rounded(0.72 * ground.trend / 0.011 * np.exp(0.008 * draws.lasting("deposits", 0.5)))
        bad = np.exp(0.5 * draws.normal("bad")[:, :1] + 0.05 * draws.lasting("bad loans", 0.9))
        given = {
            "Total Loans": loans, "Total Deposits": deposits,
            "Saving Deposits": rounded(deposits * draws.uniform("savings", 0.3, 0.6)
                                       * np.exp(0.008 * draws.normal("savings"))),
            "Non-Performing Loans": rounded(loans * np.clip(0.013 * bad, 0.002, 0.08)),
            "Accrued Expenses": rounded(0.01 * scale * np.exp(0.02 * draws.normal("accrued"))),
            "fees": rounded(ground.revenue * draws.uniform("fees", 0.15, 0.4)),
            "Goodwill": ground.empty() + rounded(0.008 * scale[:, :1]),
        }  # fmt: skip
        self._of = given | {name: ground.empty() for name in (
            "cash", "securities", "plant", "long", "short", "income", "expense", "provisions", "costs", "operating",
            "other", "pretax", "tax", "net", "worn", "flow", "invested", "spent", "issue", "repay", "dividends",
            "bought", "common", "treasury", "retained",
        )}  # fmt: skip
        of, first = self._of, scale[:, 0]
        of["cash"][:, 0] = rounded(0.07 * deposits[:, 0])
        of["long"][:, 0], of["short"][:, 0] = rounded(0.07 * first), rounded(0.03 * first)
        of["plant"][:, 0] = rounded(ground.of_sector("plant")[:, 0] * ground.trend[:, 0])
        of["common"][:, 0] = rounded(0.03 * first)
        of["treasury"][:, 0] = rounded((self._buys > 0) * 0.004 * first)
        owed = deposits[:, 0] + of["long"][:, 0] + of["short"][:, 0] + given["Accrued Expenses"][:, 0]
        held = loans[:, 0] + of["cash"][:, 0] + of["plant"][:, 0] + given["Goodwill"][:, 0]
        whole = owed / (1 - draws.uniform("equity", 0.075, 0.11)[:, 0])
        of["securities"][:, 0] = rounded(np.maximum(whole - held, 0.1 * first))
        of["retained"][:, 0] = held + of["securities"][:, 0] - owed - of["common"][:, 0] + of["treasury"][:, 0]

    def earn(self, quarter: int) -> None:
        """Interest on what was lent and owed before, fees, costs and tax."""
        of, rounded, before, noise = self._of, self._ground.rounded, max(quarter - 1, 0), self._noise
        lent = of["Total Loans"][:, before] + 0.7 * of["securities"][:, before] + 0.5 * of["cash"][:, before]
        owed = of["Total Deposits"][:, before] + 2.2 * (of["long"][:, before] + of["short"][:, before])
        of["income"][:, quarter] = rounded(lent * self._yield[:, quarter])
        of["expense"][:, quarter] = rounded(owed * self._paid[:, quarter])
        risk = 0.0010 * np.exp(0.25 * noise["risk"][:, quarter])
        of["provisions"][:, quarter] = rounded(of["Total Loans"][:, quarter] * risk)
        earned = of["income"][:, quarter] - of["expense"][:, quarter] + of["fees"][:, quarter]
        of["costs"][:, quarter] = rounded(earned * self._costs * (1 + 0.02 * noise["costs"][:, quarter]))
        of["operating"][:, quarter] = rounded(earned - of["provisions"][:, quarter] - of["costs"][:, quarter])
        of["other"][:, quarter] = rounded(0.01 * earned * noise["debt"][:, quarter])
        pretax = of["operating"][:, quarter] + of["other"][:, quarter]
        tax = rounded(np.maximum(pretax, 0) * self._tax_rate * (1 + 0.03 * noise["tax"][:, quarter]))
        of["pretax"][:, quarter], of["tax"][:, quarter] = rounded(pretax), tax
        of["net"][:, quarter] = rounded(pretax - tax)

    def settle(self, quarter: int) -> None:
        """Flows of cash; what is left over buys securities."""
        of, rounded, before, noise = self._of, self._ground.rounded, quarter - 1, self._noise

        def change(name: str) -> Floats:
            grown: Floats = of[name][:, quarter] - of[name][:, before]
            return grown

        worn = of["worn"][:, quarter] = rounded(0.03 * of["plant"][:, before])
        spent = of["spent"][:, quarter] = rounded(worn * 1.1 * np.exp(0.1 * noise["capex"][:, quarter]))
        of["plant"][:, quarter] = of["plant"][:, before] + spent - worn
        of["flow"][:, quarter] = rounded(of["net"][:, quarter] + worn + change("Accrued Expenses"))
        usual = np.maximum(of["net"][:, max(quarter - 4, 0) : quarter].mean(axis=1), 0)
        dividends = of["dividends"][:, quarter] = np.maximum(
            of["dividends"][:, before] if quarter % 4 != 1 else rounded(self._pays * usual), 1.0)  # fmt: skip
        bought = of["bought"][:, quarter] = rounded((self._buys > 0) * (self._buys * usual + 1.0))
        repay = of["repay"][:, quarter] = rounded(
            of["short"][:, before] * 0.8 * np.exp(0.05 * noise["debt"][:, quarter])
        )
        issue = of["issue"][:, quarter] = rounded(repay * np.exp(0.05 * noise["risk"][:, quarter]))
        free = of["cash"][:, before] + of["flow"][:, quarter] - change("Total Loans") - spent
        free += change("Total Deposits") + issue - repay - dividends - bought
        wanted = rounded(0.07 * of["Total Deposits"][:, quarter] * np.exp(0.05 * noise["cash"][:, quarter]))
        of["cash"][:, quarter] = wanted
        of["securities"][:, quarter] = of["securities"][:, before] + free - wanted
        of["invested"][:, quarter] = -change("Total Loans") - spent - (free - wanted)
        after = of["long"][:, before] + of["short"][:, before] + issue - repay
        of["short"][:, quarter] = rounded(0.3 * after)
        of["long"][:, quarter] = rounded(after - of["short"][:, quarter])
        of["common"][:, quarter] = of["common"][:, before]
        of["treasury"][:, quarter] = of["treasury"][:, before] + bought
        of["retained"][:, quarter] = of["retained"][:, before] + of["net"][:, quarter] - dividends

    def write(self) -> None:
        """The figures under their names."""
        ground, of = self._ground, self._of
        revenue = of["income"] + of["fees"]
        cost = of["expense"] + of["provisions"]
        debt = of["long"] + of["short"]
        assets = of["cash"] + of["Total Loans"] + of["securities"] + of["plant"] + of["Goodwill"]
        borrowed = of["Total Deposits"] + of["Accrued Expenses"] + debt
        buys = (self._buys > 0)[:, None]
        lent = of["issue"] - of["repay"] - of["dividends"] - of["bought"]
        deposited = ground.empty()
        deposited[:, 1:] = of["Total Deposits"][:, 1:] - of["Total Deposits"][:, :-1]
        changes = ground.empty()
        changes[:, 1:] = of["Accrued Expenses"][:, 1:] - of["Accrued Expenses"][:, :-1]
        whole = {name: of[name] for name in (
            "Total Loans", "Total Deposits", "Saving Deposits", "Non-Performing Loans", "Accrued Expenses", "Goodwill",
        )} | {
            "Earning Assets": of["Total Loans"] + of["securities"], "Cash and Equivalents": of["cash"],
            "Property Plant & Equip.": of["plant"], "Intangible Assets": of["Goodwill"], "Total Assets": assets,
            "Total Liabilities": borrowed, "Long Term Debt": of["long"], "Short Term Debt": of["short"],
            "Short and Long Term Debt": debt, "Common Stock": of["common"], "Retained Earnings": of["retained"],
            "Treasury Stock": only_where(buys, of["treasury"]),
            "Total Equity": of["common"] + of["retained"] - of["treasury"], "Revenue": revenue,
            "Cost of Revenue": cost, "Gross Profit": revenue - cost, "SG&A Expense": of["costs"],
            "Operating Expense": cost + of["costs"], "Operating Income": of["operating"], "Other Income": of["other"],
            "EBIT": of["pretax"], "EBITDA": of["pretax"] + of["worn"], "Pre-Tax Income": of["pretax"],
            "Income Tax Expense": of["tax"], "Net Income": of["net"], "Interest Income": of["income"],
            "Interest Expense": of["expense"], "Depreciation & Amort.": of["worn"], "Capital Expenditure": of["spent"],
            "Working Capital Changes": changes, "Cash From Operations": of["flow"],
            "Cash from Investing": of["invested"], "Cash from Financing": deposited + lent,
            "Debt Issuance": of["issue"], "Debt Repayment": of["repay"], "Dividend Payments": of["dividends"],
            "Stock Repurchase": only_where(buys, of["bought"]),
            "Net Change in Cash": of["flow"] + of["invested"] + deposited + lent,
            "Free Cash Flow": of["flow"] - of["spent"],
        }  # fmt: skip
        ground.figures.update({name: ground.rounded(values) for name, values in whole.items()})
        per_share(ground, of["net"], of["dividends"], of["bought"], ground.empty(), prices(ground))
