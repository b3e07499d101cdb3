"""Books of the simulated banks: loans and deposits instead of inventory and receivables, nothing current or fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.findeepforecast.world.books import CompanyGroup, only_where, per_share, prices

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.world.books import Floats


def bank_books(group: CompanyGroup) -> None:
    """Fill in every figure of banks.

    Revenue is interest and fees. Its cost is interest paid and provisions for bad loans.
    """
    books = _Bank(group)
    books.begin()
    for quarter in range(group.draws.shape[1]):
        books.earn(quarter)
        if quarter:
            books.settle(quarter)
    books.write()


class _Bank:
    """The books of all banks, quarter after quarter: each quarter follows from the one before.

    ``self._book`` has the figures while they are made, each float64[banks, quarters].
    """

    def __init__(self, group: CompanyGroup) -> None:
        self._group = group
        self._draws = draws = group.draws
        self._book: dict[str, Floats] = {}
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
        """Loans, deposits and what else is drawn for all quarters; of all other balances, those of quarter 0."""
        group, draws, rounded = self._group, self._draws, self._group.rounded
        # A bank's size: its revenue of a quarter is some 1.1 % of its assets.
        scale = group.revenue / 0.011
        loans = rounded(0.62 * scale)
        deposits = rounded(0.72 * group.trend / 0.011 * np.exp(0.008 * draws.lasting("deposits", 0.5)))
        bad = np.exp(0.5 * draws.normal("bad")[:, :1] + 0.05 * draws.lasting("bad loans", 0.9))
        given = {
            "Total Loans": loans, "Total Deposits": deposits,
            "Saving Deposits": rounded(deposits * draws.uniform("savings", 0.3, 0.6)
                                       * np.exp(0.008 * draws.normal("savings"))),
            "Non-Performing Loans": rounded(loans * np.clip(0.013 * bad, 0.002, 0.08)),
            "Accrued Expenses": rounded(0.01 * scale * np.exp(0.02 * draws.normal("accrued"))),
            "fees": rounded(group.revenue * draws.uniform("fees", 0.15, 0.4)),
            "Goodwill": group.empty() + rounded(0.008 * scale[:, :1]),
        }  # fmt: skip
        self._book = given | {name: group.empty() for name in (
            "cash", "securities", "plant", "long", "short", "income", "expense", "provisions", "costs", "operating",
            "other", "pretax", "tax", "net", "worn", "flow", "invested", "spent", "issue", "repay", "dividends",
            "bought", "common", "treasury", "retained",
        )}  # fmt: skip
        book, first = self._book, scale[:, 0]
        book["cash"][:, 0] = rounded(0.07 * deposits[:, 0])
        book["long"][:, 0], book["short"][:, 0] = rounded(0.07 * first), rounded(0.03 * first)
        book["plant"][:, 0] = rounded(group.of_sector("plant")[:, 0] * group.trend[:, 0])
        book["common"][:, 0] = rounded(0.03 * first)
        book["treasury"][:, 0] = rounded((self._buys > 0) * 0.004 * first)
        owed = deposits[:, 0] + book["long"][:, 0] + book["short"][:, 0] + given["Accrued Expenses"][:, 0]
        held = loans[:, 0] + book["cash"][:, 0] + book["plant"][:, 0] + given["Goodwill"][:, 0]
        whole = owed / (1 - draws.uniform("equity", 0.075, 0.11)[:, 0])
        # Securities make up what is missing to a usual share of equity, and retained earnings close the balance sheet.
        book["securities"][:, 0] = rounded(np.maximum(whole - held, 0.1 * first))
        book["retained"][:, 0] = held + book["securities"][:, 0] - owed - book["common"][:, 0] + book["treasury"][:, 0]

    def earn(self, quarter: int) -> None:
        """Income of a quarter: interest on what was lent and owed at its beginning, fees, costs and tax."""
        book, rounded, before, noise = self._book, self._group.rounded, max(quarter - 1, 0), self._noise
        lent = book["Total Loans"][:, before] + 0.7 * book["securities"][:, before] + 0.5 * book["cash"][:, before]
        owed = book["Total Deposits"][:, before] + 2.2 * (book["long"][:, before] + book["short"][:, before])
        book["income"][:, quarter] = rounded(lent * self._yield[:, quarter])
        book["expense"][:, quarter] = rounded(owed * self._paid[:, quarter])
        risk = 0.0010 * np.exp(0.25 * noise["risk"][:, quarter])
        book["provisions"][:, quarter] = rounded(book["Total Loans"][:, quarter] * risk)
        earned = book["income"][:, quarter] - book["expense"][:, quarter] + book["fees"][:, quarter]
        book["costs"][:, quarter] = rounded(earned * self._costs * (1 + 0.02 * noise["costs"][:, quarter]))
        book["operating"][:, quarter] = rounded(earned - book["provisions"][:, quarter] - book["costs"][:, quarter])
        book["other"][:, quarter] = rounded(0.01 * earned * noise["debt"][:, quarter])
        pretax = book["operating"][:, quarter] + book["other"][:, quarter]
        tax = rounded(np.maximum(pretax, 0) * self._tax_rate * (1 + 0.03 * noise["tax"][:, quarter]))
        book["pretax"][:, quarter], book["tax"][:, quarter] = rounded(pretax), tax
        book["net"][:, quarter] = rounded(pretax - tax)

    def settle(self, quarter: int) -> None:
        """Flows of cash of a quarter, and the balances at its end. Cash that is left over buys securities."""
        book, rounded, before, noise = self._book, self._group.rounded, quarter - 1, self._noise

        def change(name: str) -> Floats:
            difference: Floats = book[name][:, quarter] - book[name][:, before]
            return difference

        worn = book["worn"][:, quarter] = rounded(0.03 * book["plant"][:, before])
        spent = book["spent"][:, quarter] = rounded(worn * 1.1 * np.exp(0.1 * noise["capex"][:, quarter]))
        book["plant"][:, quarter] = book["plant"][:, before] + spent - worn
        book["flow"][:, quarter] = rounded(book["net"][:, quarter] + worn + change("Accrued Expenses"))
        usual = np.maximum(book["net"][:, max(quarter - 4, 0) : quarter].mean(axis=1), 0)
        dividends = book["dividends"][:, quarter] = np.maximum(
            book["dividends"][:, before] if quarter % 4 != 1 else rounded(self._pays * usual), 1.0)  # fmt: skip
        bought = book["bought"][:, quarter] = rounded((self._buys > 0) * (self._buys * usual + 1.0))
        repay = book["repay"][:, quarter] = rounded(
            book["short"][:, before] * 0.8 * np.exp(0.05 * noise["debt"][:, quarter])
        )
        issue = book["issue"][:, quarter] = rounded(repay * np.exp(0.05 * noise["risk"][:, quarter]))
        free = book["cash"][:, before] + book["flow"][:, quarter] - change("Total Loans") - spent
        free += change("Total Deposits") + issue - repay - dividends - bought
        wanted = rounded(0.07 * book["Total Deposits"][:, quarter] * np.exp(0.05 * noise["cash"][:, quarter]))
        book["cash"][:, quarter] = wanted
        book["securities"][:, quarter] = book["securities"][:, before] + free - wanted
        book["invested"][:, quarter] = -change("Total Loans") - spent - (free - wanted)
        after = book["long"][:, before] + book["short"][:, before] + issue - repay
        book["short"][:, quarter] = rounded(0.3 * after)
        book["long"][:, quarter] = rounded(after - book["short"][:, quarter])
        book["common"][:, quarter] = book["common"][:, before]
        book["treasury"][:, quarter] = book["treasury"][:, before] + bought
        book["retained"][:, quarter] = book["retained"][:, before] + book["net"][:, quarter] - dividends

    def write(self) -> None:
        """Put the figures under the names of their items."""
        group, book = self._group, self._book
        revenue = book["income"] + book["fees"]
        cost = book["expense"] + book["provisions"]
        debt = book["long"] + book["short"]
        assets = book["cash"] + book["Total Loans"] + book["securities"] + book["plant"] + book["Goodwill"]
        borrowed = book["Total Deposits"] + book["Accrued Expenses"] + debt
        buys = (self._buys > 0)[:, None]
        lent = book["issue"] - book["repay"] - book["dividends"] - book["bought"]
        deposited = group.empty()
        deposited[:, 1:] = book["Total Deposits"][:, 1:] - book["Total Deposits"][:, :-1]
        changes = group.empty()
        changes[:, 1:] = book["Accrued Expenses"][:, 1:] - book["Accrued Expenses"][:, :-1]
        items = {name: book[name] for name in (
            "Total Loans", "Total Deposits", "Saving Deposits", "Non-Performing Loans", "Accrued Expenses", "Goodwill",
        )} | {
            "Earning Assets": book["Total Loans"] + book["securities"], "Cash and Equivalents": book["cash"],
            "Property Plant & Equip.": book["plant"], "Intangible Assets": book["Goodwill"], "Total Assets": assets,
            "Total Liabilities": borrowed, "Long Term Debt": book["long"], "Short Term Debt": book["short"],
            "Short and Long Term Debt": debt, "Common Stock": book["common"], "Retained Earnings": book["retained"],
            "Treasury Stock": only_where(buys, book["treasury"]),
            "Total Equity": book["common"] + book["retained"] - book["treasury"], "Revenue": revenue,
            "Cost of Revenue": cost, "Gross Profit": revenue - cost, "SG&A Expense": book["costs"],
            "Operating Expense": cost + book["costs"], "Operating Income": book["operating"],
            "Other Income": book["other"], "EBIT": book["pretax"], "EBITDA": book["pretax"] + book["worn"],
            "Pre-Tax Income": book["pretax"], "Income Tax Expense": book["tax"], "Net Income": book["net"],
            "Interest Income": book["income"], "Interest Expense": book["expense"],
            "Depreciation & Amort.": book["worn"], "Capital Expenditure": book["spent"],
            "Working Capital Changes": changes, "Cash From Operations": book["flow"],
            "Cash from Investing": book["invested"],
            "Cash from Financing": deposited + lent, "Debt Issuance": book["issue"], "Debt Repayment": book["repay"],
            "Dividend Payments": book["dividends"], "Stock Repurchase": only_where(buys, book["bought"]),
            "Net Change in Cash": book["flow"] + book["invested"] + deposited + lent,
            "Free Cash Flow": book["flow"] - book["spent"],
        }  # fmt: skip
        group.figures.update({name: group.rounded(values) for name, values in items.items()})
        per_share(group, book["net"], book["dividends"], book["bought"], group.empty(), prices(group))
