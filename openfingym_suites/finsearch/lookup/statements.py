"""The tool ``statement``: figures of real issuers as filed, in XBRL, and of simulated companies as reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from openfingym.suites.calls import BadCallError
from openfingym.suites.lookups import none_such, plain, table
from openfingym.vault.conditions import Between, Condition
from openfingym.vault.search import words
from openfingym.vault.view import Row
from openfingym_suites.finsearch.lookup.quotes import instrument
from openfingym_suites.finsearch.lookup.world import MOST_ROWS, SearchedView

MOST_NAMES = 200
"""Most items that are named where there are too many rows to give."""
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
"""Concepts that a label of a statement may stand for: issuers file an item under several, and change them over time."""


def statement(world: SearchedView, arguments: Mapping[str, object]) -> object:
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
    company_id = _company(world, company)
    if isinstance(company_id, list):
        return {"candidates": company_id, "note": "several companies may be meant; ask again with one of these"}
    return _reported(world, company_id, arguments)


def _issuer(world: SearchedView, asked: str) -> str | None:
    """The ticker of the real issuer with a ticker or a name; None if there is none."""
    folded = asked.casefold().strip()
    for ticker, name in world.issuers.items():
        # "Apple" and "NVIDIA" are meant for Apple Inc. and NVIDIA Corp.
        short = re.sub(r"[,.]| inc$| corp(oration)?$", "", name.casefold().rstrip("."))
        if folded in {ticker.casefold(), name.casefold(), short.strip()}:
            return ticker
    return None


def _company(world: SearchedView, asked: str) -> str | list[Row]:
    """The id of the company of ``statements`` with an id, a line's symbol or a name, or the lines that may be meant.

    Raises:
        BadCallError: there are none.
    """
    lines = [row for row in world.instruments if row["company"]]
    # An id of a company first, which all its lines share.
    named: list[Row] = [row for row in lines if str(row["company"]).casefold() == asked.casefold()]
    named = named or _instruments_like(world, asked)
    # A vault of a user's own may have statements, and no instruments to name their companies.
    if not named and world.view.count("statements", {"company": asked}):
        return asked
    symbols = {str(row["symbol"]) for row in named}
    meant = [row for row in lines if row["symbol"] in symbols]
    if len({row["company"] for row in meant}) == 1:
        return str(meant[0]["company"])
    if meant:
        return [{name: row[name] for name in ("company", "symbol", "name", "name_zh")} for row in meant]
    names = {str(row["symbol"]): str(row["name"]) for row in lines}
    raise none_such("company with statements", asked, {**world.issuers, **names})


def _instruments_like(world: SearchedView, asked: str) -> list[Row]:
    """The instrument that is called so, or those that may be meant; none where nothing is called so."""
    try:
        found = instrument(world, asked)
    except BadCallError:
        return []
    return [found] if isinstance(found, dict) else found


def _filed(world: SearchedView, ticker: str, arguments: Mapping[str, object]) -> object:
    """The answer for a real issuer: XBRL facts."""
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


def _concepts(world: SearchedView, ticker: str, item: object) -> tuple[list[str] | None, str]:
    """Concepts that an item stands for, and what the answer says of them; None for all concepts.

    Args:
        world: the view that is searched.
        ticker: ticker of the issuer.
        item: what the agent asks for: a concept, a label, words of a concept, or None.

    Raises:
        BadCallError: the issuer has nothing like it.
    """
    if not isinstance(item, str):
        return None, ""
    there = {str(name) for name in world.view.counts("company_facts", "concept", {"ticker": ticker})}
    exact = [name for name in there if name.casefold() == item.casefold().removeprefix("us-gaap:")]
    if exact:
        return exact, ""
    if known := [name for name in _LABELS.get(item.casefold().strip(), ()) if name in there]:
        return known, f"{item} stands for {', '.join(known)}"
    # Words of names in camel case: "IncomeTaxExpenseBenefit" has those of "income tax expense".
    spaced = {name: set(words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))) for name in there}
    asked = set(words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", item)))
    # The shortest first: it has the fewest words besides those that were asked for.
    matches = sorted((name for name in there if asked and asked <= spaced[name]), key=lambda name: (len(name), name))
    if not matches:
        raise none_such(f"item of {ticker}", item, {name: " ".join(sorted(spaced[name])) for name in sorted(there)})
    more = f", and {len(matches) - 8} more" if len(matches) > 8 else ""
    return matches[:8], f"concepts with these words: {', '.join(matches[:8])}{more}" if len(matches) > 1 else ""


def _reported(world: SearchedView, company: str, arguments: Mapping[str, object]) -> object:
    """The answer for a company of the table ``statements``."""
    where: dict[str, Condition] = {"company": company, "period_end": _span(arguments)}
    if arguments["fiscal_year"] is not None:
        where["fiscal_year"] = arguments["fiscal_year"]  # type: ignore[assignment]
    if arguments["fiscal_period"] != "any":
        where["fiscal_period"] = str(arguments["fiscal_period"])
    rows = world.view.rows("statements", where)
    segments = arguments["segments"]
    # Shares of a class are of a segment, and belong to the company as a whole.
    rows = [row for row in rows if segments == "all" or bool(row["segment"]) == (segments == "only")
            or (row["statement"] == "shares" and segments == "none")]  # fmt: skip
    item = arguments["item"]
    if isinstance(item, str):
        rows = _named(item, rows, world, company)
    rows = _chosen(rows, ("item", "segment", "standard", "period_start", "period_end"), arguments)
    lines = [row for row in world.instruments if row["company"] == company]
    about: dict[str, object] = {"company": company, "vintage": arguments["vintage"]}
    if lines:
        about |= {
            "name": lines[0]["name"],
            "lines": [row["symbol"] for row in lines],
            "simulated": lines[0]["simulated"],
        }
    names = [name for name in _REPORTED if name != "segment" or any(row["segment"] for row in rows)]
    return _tabled(about, rows, names)


def _named(item: str, rows: list[Row], world: SearchedView, company: str) -> list[Row]:
    """Rows of the item with an English or Chinese name, or of all items that have its words.

    Raises:
        BadCallError: the company has rows, and none of them is of such an item.
    """
    folded = item.casefold().strip()
    exact = [row for row in rows if folded in {str(row["item"]).casefold(), str(row["item_zh"]).casefold()}]
    if exact:
        return exact
    asked = set(words(item))
    matches = [row for row in rows if asked and asked <= set(words(f"{row['item']} {row['item_zh']}"))]
    if matches or not rows:
        return matches
    there = world.view.counts("statements", "item", {"company": company})
    raise none_such(f"item of {company}", item, {str(name): "" for name in there})


def _span(arguments: Mapping[str, object]) -> Between:
    """The days between which periods end, as a condition."""
    start, end = arguments["start"], arguments["end"]
    assert start is None or isinstance(start, date)
    assert end is None or isinstance(end, date)
    return Between(start, end)


def _chosen(rows: Sequence[Row], key: tuple[str, ...], arguments: Mapping[str, object]) -> list[Row]:
    """The vintages that were asked for, in order of items and periods.

    Args:
        rows: rows in the order of known times.
        key: columns that are the same in all vintages of a figure.
        arguments: arguments of the call.
    """
    if arguments["vintage"] == "all":
        chosen = list(rows)
    else:
        by_key: dict[tuple[object, ...], Row] = {}
        for row in rows:
            subject = tuple(row[name] for name in key)
            if arguments["vintage"] == "latest" or subject not in by_key:
                by_key[subject] = row
        chosen = list(by_key.values())

    def place(row: Row) -> tuple[str, ...]:
        return (str(row["item"]), str(row["period_end"]), str(row["period_start"] or ""))

    return sorted(chosen, key=place)


def _tabled(about: dict[str, object], rows: list[Row], names: list[str]) -> dict[str, object]:
    """Rows as a table; where they are too many, the first ones of one item, or the names of several items.

    Args:
        about: what the answer says beside the table.
        rows: the rows, in order.
        names: columns that are shown.
    """
    if len(rows) <= MOST_ROWS:
        note = {} if rows else {"note": "nothing of this was known; try other periods or leave out conditions"}
        return {**note, **about, "count": len(rows), **table(rows, names)}
    items = sorted({str(row["item"]) for row in rows})
    # Rows of one item are in order of periods, so the rest can be asked for by a later start.
    if len(items) == 1:
        cut = rows[:MOST_ROWS]
        return {**about, "count": len(rows), **table(cut, names), "more_from": plain(rows[MOST_ROWS]["period_end"])}
    return {
        **about,
        "count": len(rows),
        "items": items[:MOST_NAMES],
        "note": f"{len(rows)} figures of {len(items)} items; name an item, or narrow start and end",
    }
