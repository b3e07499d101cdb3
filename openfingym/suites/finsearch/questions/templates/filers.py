"""Companies that file with the SEC, their items and fiscal periods, to draw questions from."""

from __future__ import annotations

from typing import NamedTuple

from openfingym.suites.finsearch.questions.drawing import Draw, SkipError, days_between
from openfingym.suites.finsearch.questions.programs.companies import HALF, NINE_MONTHS, POINT, QUARTER, YEAR
from openfingym.suites.finsearch.questions.sources import Fact


class Filer(NamedTuple):
    """A company."""

    ticker: str
    name: str
    year_end: str
    """When its fiscal year ends, in words."""


FILERS = (
    Filer("AAPL", "Apple", "in late September"),
    Filer("NVDA", "NVIDIA", "in late January"),
    Filer("GOOGL", "Alphabet", "on December 31"),
    Filer("SNOW", "Snowflake", "on January 31"),
    Filer("MRVL", "Marvell Technology", "around the end of January"),
)
OTHERS = (Filer("MSFT", "Microsoft", "on June 30"), Filer("AMZN", "Amazon", "on December 31"),
          Filer("NFLX", "Netflix", "on December 31"))  # fmt: skip
NAMES = tuple(part for one in (*FILERS, *OTHERS) for part in (one.name, one.ticker))


class Item(NamedTuple):
    """An item of a statement: concept of XBRL and what it is called in a question."""

    concept: str
    name: str
    flow: bool
    """Over a period; otherwise at a point in time."""


_FLOWS = {
    "NetIncomeLoss": "net income (US GAAP)",
    "OperatingIncomeLoss": "operating income (US GAAP)",
    "GrossProfit": "gross profit (gross margin in dollars)",
    "ResearchAndDevelopmentExpense": "research and development expense",
    "SellingGeneralAndAdministrativeExpense": "selling, general and administrative expense",
    "SellingAndMarketingExpense": "sales and marketing expense",
    "GeneralAndAdministrativeExpense": "general and administrative expense",
    "IncomeTaxExpenseBenefit": "provision for income taxes",
    "IncomeTaxesPaidNet": "cash paid for income taxes, net",
    "OperatingExpenses": "total operating expenses",
    "CostOfRevenue": "cost of revenue",
    "CostOfGoodsAndServicesSold": "cost of sales",
    "ShareBasedCompensation": "share-based compensation expense (cash flow statement)",
    "NetCashProvidedByUsedInOperatingActivities": "net cash provided by operating activities",
    "NetCashProvidedByUsedInInvestingActivities": "net cash provided by (used in) investing activities",
    "NetCashProvidedByUsedInFinancingActivities": "net cash provided by (used in) financing activities",
    "PaymentsForRepurchaseOfCommonStock": "payments for repurchases of common stock",
    "PaymentsToAcquirePropertyPlantAndEquipment": "payments to acquire property, plant and equipment",
    "PaymentsOfDividends": "payments of dividends",
    "Revenues": "total revenue",
    "SalesRevenueNet": "total net sales",
    "RevenueFromContractWithCustomerExcludingAssessedTax": "revenue from contracts with customers",
    "NonoperatingIncomeExpense": "total other income (expense), net",
    "InterestExpense": "interest expense",
    "ComprehensiveIncomeNetOfTax": "total comprehensive income",
    "DepreciationDepletionAndAmortization": "depreciation and amortization (cash flow statement)",
    "AmortizationOfIntangibleAssets": "amortization of intangible assets",
    "IncreaseDecreaseInInventories": (
        "cash flow effect of the change in inventories (an increase of inventories positive)"
    ),
}
_POINTS = {
    "Assets": "total assets",
    "AssetsCurrent": "total current assets",
    "Liabilities": "total liabilities",
    "LiabilitiesCurrent": "total current liabilities",
    "StockholdersEquity": "total shareholders' equity",
    "RetainedEarningsAccumulatedDeficit": "retained earnings (accumulated deficit)",
    "CashAndCashEquivalentsAtCarryingValue": "cash and cash equivalents",
    "AccountsReceivableNetCurrent": "accounts receivable, net (current)",
    "AccountsPayableCurrent": "accounts payable (current)",
    "InventoryNet": "inventories",
    "Goodwill": "goodwill",
    "PropertyPlantAndEquipmentNet": "property, plant and equipment, net",
    "LongTermDebtNoncurrent": "non-current long-term debt",
    "OtherAssetsNoncurrent": "other non-current assets",
    "AccumulatedOtherComprehensiveIncomeLossNetOfTax": "accumulated other comprehensive income (loss)",
    "UnrecognizedTaxBenefits": "gross unrecognized tax benefits",
}
FLOWS = tuple(Item(concept, name, True) for concept, name in _FLOWS.items())
POINTS = tuple(Item(concept, name, False) for concept, name in _POINTS.items())
ITEM_NAMES = tuple(item.name for item in (*FLOWS, *POINTS))
_ORDINALS = ("first", "second", "third")


def fiscal_ends(d: Draw, one: Filer) -> dict[int, str]:
    """Last day by fiscal year, named after the year in which it ends."""
    found = {fact.end for fact in d.world.facts(one.ticker, "NetIncomeLoss") if YEAR[0] <= fact.days <= YEAR[1]}
    return {int(end[:4]): end for end in sorted(found)}


def filer(d: Draw, *, all_of_them: bool = False) -> Filer:
    """One of the companies, those with many filings more often."""
    return d.one([*FILERS[:3], *FILERS, *(OTHERS if all_of_them else ())])


def own_filing(d: Draw, one: Filer, item: str, end: str, days: tuple[int, int]) -> Fact:
    """The fact that was first filed for a period, in the period's own report and not as a comparative later.

    Raises:
        SkipError: there is none.
    """
    facts = [fact for fact in d.world.facts(one.ticker, item, end) if days[0] <= fact.days <= days[1]]
    if not facts or days_between(end, facts[0].filed) > 125:
        raise SkipError("the report of the period itself is not there")
    return facts[0]


def year_of(d: Draw, one: Filer, item: Item) -> tuple[int, str, Fact]:
    """A fiscal year with a report of its own that has the item."""
    ends = fiscal_ends(d, one)
    year = d.one(list(ends))
    return year, ends[year], own_filing(d, one, item.concept, ends[year], YEAR if item.flow else POINT)


def quarters(d: Draw, one: Filer, year: int) -> list[str]:
    """The last days of the first three quarters of a fiscal year, as far as they are known."""
    ends = fiscal_ends(d, one)
    if year not in ends or year - 1 not in ends:
        raise SkipError("the fiscal year is not known")
    low, high = ends[year - 1], ends[year]
    found = {fact.end for fact in d.world.facts(one.ticker, "NetIncomeLoss") if QUARTER[0] <= fact.days <= QUARTER[1]}
    inside = sorted(end for end in found if low < end < high)
    if len(inside) != 3:
        raise SkipError("not all quarters are known")
    return inside


def quarter_words(number: int, year: int) -> str:
    """The first quarter of fiscal year 2020."""
    return f"the {_ORDINALS[number]} quarter of fiscal year {year}"


def unit_for(value: float) -> tuple[str, float, int]:
    """(unit, scale, decimals) in which a figure in US dollars is asked for."""
    return ("million USD", 1e6, 0) if abs(value) >= 2e8 else ("thousand USD", 1e3, 0)


__all__ = ["FILERS", "FLOWS", "HALF", "ITEM_NAMES", "NAMES", "NINE_MONTHS", "OTHERS", "POINT", "POINTS", "QUARTER", "YEAR",
           "Filer", "Item", "filer", "fiscal_ends", "own_filing", "quarter_words", "quarters", "unit_for", "year_of"]  # fmt: skip
