"""Companies that file with the SEC, the items that they report, and their fiscal periods, to draw questions from."""

from __future__ import annotations

from typing import NamedTuple

from openfingym_suites.finsearch.questions.drawing import Draw, SkipError, days_between
from openfingym_suites.finsearch.questions.programs.companies import POINT, QUARTER, YEAR
from openfingym_suites.finsearch.questions.sources import Fact


class Filer(NamedTuple):
    """A company that files with the SEC."""

    ticker: str
    name: str


FILERS = (
    Filer("AAPL", "Apple"),
    Filer("NVDA", "NVIDIA"),
    Filer("GOOGL", "Alphabet"),
    Filer("SNOW", "Snowflake"),
    Filer("MRVL", "Marvell Technology"),
)
"""Companies of which all facts are there; fiscal years end in September, January and December."""
OTHERS = (Filer("MSFT", "Microsoft"), Filer("AMZN", "Amazon"), Filer("NFLX", "Netflix"))
"""Companies of which single filings are there."""
NAMES = tuple(part for filer in (*FILERS, *OTHERS) for part in (filer.name, filer.ticker))


class ReportedItem(NamedTuple):
    """An item of a statement: its XBRL concept, and what a question calls it."""

    concept: str
    name: str
    flow: bool
    """Whether it is a flow over a period; otherwise it is a balance at a point in time."""

    @property
    def days_of_year(self) -> tuple[int, int]:
        """Least and most days of the period of a figure for a fiscal year."""
        return YEAR if self.flow else POINT

    @property
    def days_of_quarter(self) -> tuple[int, int]:
        """Least and most days of the period of a figure for a quarter."""
        return QUARTER if self.flow else POINT


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
FLOWS = tuple(ReportedItem(concept, name, True) for concept, name in _FLOWS.items())
POINTS = tuple(ReportedItem(concept, name, False) for concept, name in _POINTS.items())
ITEM_NAMES = tuple(item.name for item in (*FLOWS, *POINTS))
_ORDINALS = ("first", "second", "third")


def fiscal_ends(d: Draw, filer: Filer) -> dict[int, str]:
    """The last day of each fiscal year that was reported, by the calendar year in which it ends."""
    ends = {fact.end for fact in d.world.facts(filer.ticker, "NetIncomeLoss") if YEAR[0] <= fact.days <= YEAR[1]}
    return {int(end[:4]): end for end in sorted(ends)}


def draw_filer(d: Draw, *, all_of_them: bool = False) -> Filer:
    """One of the companies, those with many filings twice as often.

    Args:
        d: what the question is drawn with.
        all_of_them: whether it may be one of which single filings are there.
    """
    return d.one([*FILERS[:3], *FILERS, *(OTHERS if all_of_them else ())])


def own_filing(d: Draw, filer: Filer, concept: str, end: str, days: tuple[int, int]) -> Fact:
    """The fact that was filed first for a period, in the period's own report and not as a comparative later.

    Args:
        d: what the question is drawn with.
        filer: the company that filed it.
        concept: XBRL concept of the item.
        end: last day of the period, as an ISO date.
        days: least and most days of the period.

    Raises:
        SkipError: there is none.
    """
    facts = [fact for fact in d.world.facts(filer.ticker, concept, end) if days[0] <= fact.days <= days[1]]
    # A report is due within four months of the end of its period; what is filed later has the figure for comparison.
    if not facts or days_between(end, facts[0].filed) > 125:
        raise SkipError("the report of the period itself is not there")
    return facts[0]


def draw_year(d: Draw, filer: Filer, item: ReportedItem) -> tuple[int, str, Fact]:
    """A fiscal year whose own report has an item: the year, its last day, and the fact.

    Raises:
        SkipError: the report of the year that was drawn does not have the item.
    """
    ends = fiscal_ends(d, filer)
    year = d.one(list(ends))
    return year, ends[year], own_filing(d, filer, item.concept, ends[year], item.days_of_year)


def quarters(d: Draw, filer: Filer, year: int) -> list[str]:
    """The last days of the first three quarters of a fiscal year.

    Raises:
        SkipError: not all of them are known.
    """
    ends = fiscal_ends(d, filer)
    if year not in ends or year - 1 not in ends:
        raise SkipError("the fiscal year is not known")
    low, high = ends[year - 1], ends[year]
    quarterly = [fact for fact in d.world.facts(filer.ticker, "NetIncomeLoss") if QUARTER[0] <= fact.days <= QUARTER[1]]
    inside = sorted({fact.end for fact in quarterly if low < fact.end < high})
    if len(inside) != 3:
        raise SkipError("not all quarters are known")
    return inside


def quarter_words(number: int, year: int) -> str:
    """A quarter in words, such as "the first quarter of fiscal year 2020" for 0 and 2020."""
    return f"the {_ORDINALS[number]} quarter of fiscal year {year}"


def unit_for(value: float) -> tuple[str, float, int]:
    """Unit in which a figure in US dollars is asked for: its name, its size in dollars, and the decimals asked for."""
    return ("million USD", 1e6, 0) if abs(value) >= 2e8 else ("thousand USD", 1e3, 0)
