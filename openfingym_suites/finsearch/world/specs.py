"""Tables of the vault ``finsearch`` besides those of the bundled vault: their columns, keys and known times.

A vault of a user's own with some of these tables is searched by the same tools; see ``docs/finsearch-data.md``.
"""

from __future__ import annotations

from openfingym.vault.spec import TableSpec

INSTRUMENTS = TableSpec(
    name="instruments",
    columns={
        "symbol": "VARCHAR",  # HLVP.US, 660101.SH, 76012.HK, USDCNY-ONSHORE, TN2406.FUT; real ones: AAPL, EURUSD
        "aliases": "VARCHAR[]",
        "name": "VARCHAR",
        "name_zh": "VARCHAR",
        "company": "VARCHAR",  # of `statements`; lines of a dual listing have one
        "share_class": "VARCHAR",  # common, A, H
        "exchange": "VARCHAR",  # MIC, or OTC
        "calendar": "VARCHAR",  # of exchange-calendars, or weekdays
        "timezone": "VARCHAR",
        "currency": "VARCHAR",
        "country": "VARCHAR",
        "kind": "VARCHAR",  # stock, index, fx, fx fixing, fx reference, commodity, future
        "industry": "VARCHAR",
        "industry_zh": "VARCHAR",
        "quote_unit": "VARCHAR",
        "listed": "DATE",
        "delisted": "DATE",
        "expires": "DATE",
        "held_in": "VARCHAR",  # table with its prices: bars, or market
        "dataset": "VARCHAR",  # of market, with commas between several; otherwise empty
        "channel": "VARCHAR",  # of market: the channel, or what comes before open, high, low, close and volume
        "simulated": "BOOLEAN",
    },
    key=("symbol",),
    about="listed",
    known_basis="before the first session; a delisting, or another name, is a vintage, known when it was announced",
)
BARS = TableSpec(
    name="bars",
    columns={
        "symbol": "VARCHAR",
        "date": "DATE",
        "open": "DOUBLE",
        "high": "DOUBLE",
        "low": "DOUBLE",
        "close": "DOUBLE",
        "volume": "DOUBLE",
        "open_at": "TIMESTAMP",
        "close_at": "TIMESTAMP",
    },
    key=("symbol", "date"),
    about="date",
    known_basis="the close of the session, close_at; prices are as traded, never adjusted",
)
ACTIONS = TableSpec(
    name="actions",
    columns={
        "symbol": "VARCHAR",
        "kind": "VARCHAR",  # split, dividend
        "announced": "DATE",
        "ex_date": "DATE",
        "record_date": "DATE",
        "pay_date": "DATE",
        "new_shares": "DOUBLE",  # for old_shares; of a split alone
        "old_shares": "DOUBLE",
        "amount": "DOUBLE",  # per share, before tax; of a dividend alone
        "currency": "VARCHAR",
    },
    key=("symbol", "kind", "ex_date"),
    about="ex_date",
    known_basis="the announcement, after the close of its day; of real splits, the close of the first "
    "day in new shares",
)
STATEMENTS = TableSpec(
    name="statements",
    columns={
        "company": "VARCHAR",
        "statement": "VARCHAR",  # income, balance, cash flow, per share, shares, non-GAAP
        "item": "VARCHAR",
        "item_zh": "VARCHAR",
        "segment": "VARCHAR",  # empty for the company as a whole
        "fiscal_year": "INTEGER",  # of the period itself; named after the year in which the fiscal year ends
        "fiscal_period": "VARCHAR",  # Q1 Q2 Q3 H1 9M FY; Q4 and H2 are in no report
        "period_start": "DATE",  # NULL for a point in time
        "period_end": "DATE",
        "standard": "VARCHAR",  # US GAAP, IFRS, CAS, non-GAAP
        "currency": "VARCHAR",
        "unit": "VARCHAR",  # million USD, thousand USD, CNY, million CNY, USD per share, shares
        "scale": "DOUBLE",  # value * scale is in whole units of currency, or in shares
        "value": "DOUBLE",
        "form": "VARCHAR",  # annual report, interim report, quarterly report, restatement
        "report": "VARCHAR",
        "filed": "DATE",
    },
    key=("company", "item", "segment", "standard", "period_start", "period_end"),
    about="period_end",
    known_basis="publication of the report; a figure that a later report gives otherwise is a new vintage",
)
SERIES = TableSpec(
    name="series",
    columns={"series": "VARCHAR", "reference_date": "DATE", "value": "DOUBLE", "release": "VARCHAR"},
    key=("series", "reference_date"),
    about="reference_date",
    known_basis="time of the release; first, revised and benchmark figures are vintages",
)
SERIES_INFO = TableSpec(
    name="series_info",
    columns={
        "series": "VARCHAR",
        "name": "VARCHAR",
        "name_zh": "VARCHAR",
        "units": "VARCHAR",
        "frequency": "VARCHAR",
        "adjustment": "VARCHAR",
        "country": "VARCHAR",
        "topic": "VARCHAR",
        "definition": "VARCHAR",
        "source": "VARCHAR",
        "held_in": "VARCHAR",  # table with the values: series, macro, gdp, market, fomc_statements
        "dataset": "VARCHAR",  # of market, otherwise empty
        "channel": "VARCHAR",  # of market, otherwise the series' name in its table, or a column of fomc_statements
        "simulated": "BOOLEAN",
    },
    key=("series",),
    known_basis="with the first value of the series",
)
CONSTITUENTS = TableSpec(
    name="constituents",
    columns={"index_symbol": "VARCHAR", "symbol": "VARCHAR", "since": "DATE", "until": "DATE"},
    key=("index_symbol", "symbol", "since"),
    about="since",
    known_basis="announcement of the index's review; a row with a last day is a vintage of the one without",
)
PAGES = TableSpec(
    name="pages",
    columns={
        "url": "VARCHAR",
        "title": "VARCHAR",
        "site": "VARCHAR",
        "language": "VARCHAR",  # en, zh
        "kind": "VARCHAR",  # report, announcement, news, market note, release, profile, data page, guide, post, filing
        "symbols": "VARCHAR[]",
        "published": "TIMESTAMP",
        "text": "VARCHAR",
        "flaw": "VARCHAR",  # what is wrong with it, never shown: empty, stale, wrong unit, adjusted, other definition,
        # rumour, instructs
        "simulated": "BOOLEAN",
    },
    about="published",
    text=("title", "text"),
    known_basis="publication of the page; a stale copy is published later than what it says",
)
SPECS = (INSTRUMENTS, BARS, ACTIONS, STATEMENTS, SERIES, SERIES_INFO, CONSTITUENTS, PAGES)
REAL = ("macro", "gdp", "company_facts", "filings", "filing_calendar", "fomc_statements", "market")
"""Tables of the bundled vault that are in the world too."""
