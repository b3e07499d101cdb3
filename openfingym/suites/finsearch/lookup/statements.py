"""Figures of companies: those of real issuers as filed, in XBRL, and those of the simulated ones as reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from openfingym.suites.calls import BadCallError
from openfingym.suites.finsearch.lookup.quotes import instrument
from openfingym.suites.finsearch.lookup.world import MOST_ROWS, Searched
from openfingym.suites.lookups import none_such, plain, table
from openfingym.vault.conditions import Between, Condition
from openfingym.vault.search import words
from openfingym.vault.view import Row

MOST_NAMES = 200
"""Items that are named where too many rows would be given."""
_FILED = ("item", "period_start", "period_end", "value", "unit", "filed", "form", "accession", "dimensions")
_REPORTED = ("item", "item_zh", "segment", "fiscal_year", "fiscal_period", "period_start", "period_end", "value",
             "unit", "standard", "form", "filed")  # fmt: skip
_LABELS = {
    "revenue": ("Revenues", "RevenueFromContractWithCustomerExcludingAssessedTax", "SalesRevenueNet", "Revenue"),
    "net sales": ("RevenueFromContractWithCustomerExcludingAssessedTax", "SalesRevenueNet", "Revenues"),
    "net income": ("NetIncomeLoss", "ProfitLoss"),
    "cost of revenue": ("CostOfRevenue", "CostOfGoodsAndServicesSold", "CostOfGoodsSold"),
    "gross profit": ("GrossProfit",),
    "operating income": ("OperatingIncomeLoss",),
    "research and development expenses": ("ResearchAndDevelopmentExpense",),
    "income tax expense": ("IncomeTaxExpenseBenefit",),
    "total assets": ("Assets",),
    "total liabilities": ("Liabilities",),
    "total equity": ("StockholdersEquity", "Equity"),
    "total current assets": ("AssetsCurrent",),
    "total current liabilities": ("LiabilitiesCurrent",),
    "inventories": ("InventoryNet",),
    "accounts receivable": ("AccountsReceivableNetCurrent",),
    "retained earnings": ("RetainedEarningsAccumulatedDeficit",),
    "basic earnings per share": ("EarningsPerShareBasic",),
    "diluted earnings per share": ("EarningsPerShareDiluted",),
    "cash and cash equivalents": ("CashAndCashEquivalentsAtCarryingValue", "CashAndCashEquivalents"),
    "capital expenditures": ("PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquireProductiveAssets"),
    "net cash provided by operating activities": ("NetCashProvidedByUsedInOperatingActivities",),
    "net cash provided by investing activities": ("NetCashProvidedByUsedInInvestingActivities",),
    "net cash provided by financing activities": ("NetCashProvidedByUsedInFinancingActivities",),
    "goodwill": ("Goodwill",),
    "shares outstanding": ("CommonStockSharesOutstanding", "EntityCommonStockSharesOutstanding"),
}
"""Concepts that a label of a statement stands for."""


def statement(world: Searched, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``statement``."""
    company = arguments["company"]
    start, end = arguments["start"], arguments["end"]
    assert isinstance(company, str)
    if isinstance(start, date) and isinstance(end, date) and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    ticker = _issuer(world, company)
    if ticker is not None:
        return _filed(world, ticker, arguments)
    world.need("statements", f"figures of {company[:80]!r}")
    found = _company(world, company)
    if isinstance(found, list):
        return {"candidates": found, "note": "several companies may be meant; ask again with one of these"}
    return _reported(world, found, arguments)


def _issuer(world: Searched, asked: str) -> str | None:
    """Ticker of a real issuer that is called so."""
    folded = asked.casefold().strip()
    for ticker, name in world.issuers.items():
        short = re.sub(r"[,.]| inc$| corp(oration)?$", "", name.casefold().rstrip("."))
        if folded in {ticker.casefold(), name.casefold(), short.strip()}:
            return ticker
    return None


def _company(world: Searched, asked: str) -> str | list[dict[str, object]]:
    """A company of ``statements`` by its id, the symbol of one of its lines, or a name."""
    found: object = None
    if "instruments" in world.tables:
        found = [
            one for one in world.instruments if one["company"] and asked.casefold() == str(one["company"]).casefold()
        ]
        if not found:
            one = instrument(world, asked) if _like_something(world, asked) else None
            found = [one] if isinstance(one, dict) else one
        if isinstance(found, list) and found:
            companies = {str(one.get("company", "")) for one in found}
            if len(companies) == 1 and companies != {""}:
                return companies.pop()
    if not found and world.view.count("statements", {"company": asked}):
        return asked
    if isinstance(found, list):
        symbols = {str(one["symbol"]) for one in found}
        lines = [one for one in world.instruments if one["symbol"] in symbols and one["company"]]
        if len({one["company"] for one in lines}) == 1:
            return str(lines[0]["company"])
        if lines:
            return [{name: one[name] for name in ("company", "symbol", "name", "name_zh")} for one in lines]
    names = {str(one["symbol"]): str(one["name"]) for one in world.instruments if one["company"]}
    raise none_such("company with statements", asked, {**world.issuers, **names})


def _like_something(world: Searched, asked: str) -> bool:
    try:
        instrument(world, asked)
    except BadCallError:
        return False
    return True


def _filed(world: Searched, ticker: str, arguments: Mapping[str, object]) -> object:
    """Facts of a real issuer."""
    if arguments["fiscal_year"] is not None or arguments["fiscal_period"] != "any":
        raise BadCallError(
            f"figures of {ticker} are XBRL facts as filed, in which years and quarters are those of the filing and not "
            "of the fact; leave out fiscal_year and fiscal_period, and give start and end, between which periods end."
        )
    concepts, note = _concepts(world, ticker, arguments["item"])
    where: dict[str, Condition] = {"ticker": ticker, "period_end": _span(arguments)}
    if concepts is not None:
        where["concept"] = concepts
    rows = world.view.rows("company_facts", where)
    rows = [{**row, "item": row["concept"]} for row in rows]
    segments = arguments["segments"]
    rows = [row for row in rows if segments == "all" or bool(row["dimensions"]) == (segments == "only")]
    rows = _chosen(rows, ("taxonomy", "concept", "unit", "period_start", "period_end", "dimensions"), arguments)
    about = {
        "company": ticker,
        "name": world.issuers[ticker],
        "standard": "as filed with the SEC, in whole units",
        "vintage": arguments["vintage"],
    }
    if note:
        about["note"] = note
    names = list(_FILED) if segments != "none" else list(_FILED[:-1])
    return _tabled(about, rows, names)


def _concepts(world: Searched, ticker: str, item: object) -> tuple[list[str] | None, str]:
    """Concepts that an item stands for; None for all of them."""
    if not isinstance(item, str):
        return None, ""
    there = {str(name) for name in world.view.counts("company_facts", "concept", {"ticker": ticker})}
    exact = [name for name in there if name.casefold() == item.casefold().removeprefix("us-gaap:")]
    if exact:
        return exact, ""
    if known := [name for name in _LABELS.get(item.casefold().strip(), ()) if name in there]:
        return known, f"{item} stands for {', '.join(known)}"
    spaced = {name: set(words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))) for name in there}
    asked = set(words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", item)))
    found = sorted((name for name in there if asked and asked <= spaced[name]), key=lambda name: (len(name), name))
    if not found:
        raise none_such(f"item of {ticker}", item, {name: " ".join(sorted(spaced[name])) for name in sorted(there)})
    more = f", and {len(found) - 8} more" if len(found) > 8 else ""
    return found[:8], f"concepts with these words: {', '.join(found[:8])}{more}" if len(found) > 1 else ""


def _reported(world: Searched, company: str, arguments: Mapping[str, object]) -> object:
    """Figures of a simulated company."""
    where: dict[str, Condition] = {"company": company, "period_end": _span(arguments)}
    if arguments["fiscal_year"] is not None:
        where["fiscal_year"] = arguments["fiscal_year"]  # type: ignore[assignment]
    if arguments["fiscal_period"] != "any":
        where["fiscal_period"] = str(arguments["fiscal_period"])
    rows = world.view.rows("statements", where)
    segments = arguments["segments"]
    rows = [row for row in rows if segments == "all" or bool(row["segment"]) == (segments == "only")
            or (row["statement"] == "shares" and segments == "none")]  # fmt: skip
    item = arguments["item"]
    if isinstance(item, str):
        rows = _named(item, rows, world, company)
    rows = _chosen(rows, ("item", "segment", "standard", "period_start", "period_end"), arguments)
    lines = [one for one in world.instruments if one["company"] == company] if "instruments" in world.tables else []
    about: dict[str, object] = {"company": company, "vintage": arguments["vintage"]}
    if lines:
        about |= {
            "name": lines[0]["name"],
            "lines": [one["symbol"] for one in lines],
            "simulated": lines[0]["simulated"],
        }
    names = [name for name in _REPORTED if name != "segment" or any(row["segment"] for row in rows)]
    return _tabled(about, rows, names)


def _named(item: str, rows: list[Row], world: Searched, company: str) -> list[Row]:
    """Rows of an item by its English or Chinese name, or of all items with its words."""
    folded = item.casefold().strip()
    exact = [row for row in rows if folded in {str(row["item"]).casefold(), str(row["item_zh"]).casefold()}]
    if exact:
        return exact
    asked = set(words(item))
    found = [row for row in rows if asked and asked <= set(words(f"{row['item']} {row['item_zh']}"))]
    if found or not rows:
        return found
    there = world.view.counts("statements", "item", {"company": company})
    raise none_such(f"item of {company}", item, {str(name): "" for name in there})


def _span(arguments: Mapping[str, object]) -> Between:
    start, end = arguments["start"], arguments["end"]
    assert start is None or isinstance(start, date)
    assert end is None or isinstance(end, date)
    return Between(start, end)


def _chosen(rows: Sequence[Row], key: tuple[str, ...], arguments: Mapping[str, object]) -> list[Row]:
    """Rows in order, of each key those vintages that were asked for; rows come in the order of known times."""
    if arguments["vintage"] == "all":
        chosen = list(rows)
    else:
        by_key: dict[tuple[object, ...], Row] = {}
        for row in rows:
            of = tuple(row[name] for name in key)
            if arguments["vintage"] == "latest" or of not in by_key:
                by_key[of] = row
        chosen = list(by_key.values())

    def place(row: Row) -> tuple[str, ...]:
        return (str(row["item"]), str(row["period_end"]), str(row["period_start"] or ""))

    return sorted(chosen, key=place)


def _tabled(about: dict[str, object], rows: list[Row], names: list[str]) -> dict[str, object]:
    if len(rows) <= MOST_ROWS:
        note = {} if rows else {"note": "nothing of this was known; try other periods or leave out conditions"}
        return {**note, **about, "count": len(rows), **table(rows, names)}
    items = sorted({str(row["item"]) for row in rows})
    if len(items) == 1:
        cut = rows[:MOST_ROWS]
        return {**about, "count": len(rows), **table(cut, names), "more_from": plain(rows[MOST_ROWS]["period_end"])}
    return {
        **about,
        "count": len(rows),
        "items": items[:MOST_NAMES],
        "note": f"{len(rows)} figures of {len(items)} items; name an item, or narrow start and end",
    }
