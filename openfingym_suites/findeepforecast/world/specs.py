"""Tables of the simulated world's vault: their columns, keys and known times.

They hold the season and the years before it. A row's known time says since when an agent may see it.
"""

from __future__ import annotations

from openfingym.vault.spec import TableSpec

COMPANIES = TableSpec(
    name="companies",
    columns={
        "symbol": "VARCHAR",
        "name": "VARCHAR",
        "economy": "VARCHAR",
        "indices": "VARCHAR[]",
        "sector": "VARCHAR",
        "currency": "VARCHAR",
        "zone": "VARCHAR",  # name of the time zone, such as Asia/Tokyo
        "financial": "BOOLEAN",
        "fiscal_year_end": "INTEGER",  # month, from 1 to 12
    },
    key=("symbol",),
    known_basis="before the first report; members of an index are those of the season throughout",
)
REPORT_CALENDAR = TableSpec(
    name="report_calendar",
    columns={
        "symbol": "VARCHAR",
        "period_end": "DATE",
        "label": "VARCHAR",  # such as 2025 Q3
        "scheduled_at": "TIMESTAMP",
    },
    key=("symbol", "period_end"),
    about="scheduled_at",
    known_basis="the announcement of the date; a date that is moved is a vintage",
)
REPORTED = TableSpec(
    name="reported",
    columns={
        "symbol": "VARCHAR",
        "item": "VARCHAR",  # a metric of the taxonomy that is not derived from others
        "period_end": "DATE",
        "label": "VARCHAR",
        "value": "DOUBLE",
        "unit": "VARCHAR",
    },
    key=("symbol", "item", "period_end"),
    about="period_end",
    known_basis="publication of the report; a restatement is a vintage",
)
REPORTED_FIGURES = TableSpec(
    name="reported",
    columns={name: kind for name, kind in REPORTED.columns.items() if name not in {"label", "unit"}},
    about="period_end",
    known_basis=REPORTED.known_basis,
)
"""The table ``reported`` of a world of one rollout, many of which are held in memory: what tools read, and no key."""
MACRO_SERIES = TableSpec(
    name="macro_series",
    columns={
        "id": "VARCHAR",
        "indicator": "VARCHAR",
        "economy": "VARCHAR",
        "title": "VARCHAR",
        "unit": "VARCHAR",
        "frequency": "VARCHAR",  # day, month, quarter
        "authority": "VARCHAR",
    },
    key=("id",),
    known_basis="before the first release",
)
RELEASE_CALENDAR = TableSpec(
    name="release_calendar",
    columns={"id": "VARCHAR", "period_end": "DATE", "label": "VARCHAR", "scheduled_at": "TIMESTAMP"},
    key=("id", "period_end"),
    about="scheduled_at",
    known_basis="the announcement of the time; a release that is moved is a vintage",
)
MACRO = TableSpec(
    name="macro",
    columns={"id": "VARCHAR", "period_end": "DATE", "value": "DOUBLE"},
    key=("id", "period_end"),
    about="period_end",
    known_basis="the release, or the close of the market; a revision is a vintage",
)
MACRO_FIGURES = TableSpec(name="macro", columns=MACRO.columns, about="period_end", known_basis=MACRO.known_basis)
"""The table ``macro`` of a world of one rollout, without a key."""
NEWS = TableSpec(
    name="news",
    columns={
        "id": "VARCHAR",
        "published_at": "TIMESTAMP",
        "source": "VARCHAR",
        "official": "BOOLEAN",
        "subject": "VARCHAR",  # code of an economy or symbol of a company; empty if it is about neither
        "story": "VARCHAR",  # the desk's name of the story, which its later pieces share; empty if there is none
        "title": "VARCHAR",
        "body": "VARCHAR",
    },
    about="published_at",
    text=("title", "body"),
    known_basis="publication",
)
RULINGS = TableSpec(
    name="rulings",
    columns={
        "story": "VARCHAR",
        "happened_on": "DATE",  # empty where it did not happen
        "amount": "DOUBLE",  # in the unit of the story, such as basis points; empty where it has none
        "source": "VARCHAR",
    },
    key=("story",),
    known_basis="the day after the story ended: what the world records, in the place of experts; no tool shows it",
)
TABLES = (COMPANIES, REPORT_CALENDAR, REPORTED, MACRO_SERIES, RELEASE_CALENDAR, MACRO, NEWS, RULINGS)
