"""Pages of real texts: filings, and statements of the FOMC, as the bundled vault has them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING

from openfingym_suites.finsearch.world.pages.page import WebPage

if TYPE_CHECKING:
    from openfingym.vault import View


def real_pages(view: View) -> Iterator[WebPage]:
    """A page for each filing and each statement, known from the time at which it is in its own table."""
    for number, row in enumerate(view.rows("filings")):
        known, filed = row["known_at"], row["filed"]
        assert isinstance(known, datetime)
        assert isinstance(filed, date)
        name = str(row["accession"] or f"{row['cik']}-{number:02d}")
        yield WebPage(
            url=f"https://www.sec.gov/Archives/edgar/data/{row['cik']}/{name}",
            title=f"{row['company']}: {row['form']} filed {filed}",
            site="www.sec.gov",
            language="en",
            kind="filing",
            symbols=[str(row["ticker"])] if row["ticker"] else [],
            published=known,
            text=str(row["text"]),
            simulated=False,
        )
    for row in view.rows("fomc_statements"):
        known, day = row["known_at"], row["date"]
        assert isinstance(known, datetime)
        assert isinstance(day, date)
        kind = str(row["kind"]).replace("_", " ")
        yield WebPage(
            url=f"https://www.federalreserve.gov/monetarypolicy/{day:%Y%m%d}-{row['kind']}",
            title=f"Federal Reserve, {kind}, {day}",
            site="www.federalreserve.gov",
            language="en",
            kind="filing",
            symbols=[],
            published=known,
            text=str(row["text"]),
            simulated=False,
        )
