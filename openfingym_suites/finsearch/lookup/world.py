"""What the tools share: a view of the vault, and the instruments, series and issuers in it by name."""

from __future__ import annotations

import functools
from datetime import date, timedelta
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError

if TYPE_CHECKING:
    from openfingym.vault.view import Row, View

MOST_ROWS = 400
"""Most rows in one answer of a tool."""


class SearchedView:
    """A view of the vault, as the tools search it.

    Args:
        view: what was known at the time of the question.

    Attributes:
        tables: names of the tables that the view has; a vault of a user's own may lack some.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.tables = frozenset(view.tables)
        # UTC+14 is where days begin first.
        latest = view.time + timedelta(hours=14)
        self.today: date | None = None if view.hindsight else latest.date()
        """The last day that has begun anywhere; None with hindsight, where there is no such day."""

    def need(self, table: str, what: str) -> None:
        """Refuse a call for which the world has no table.

        Args:
            table: name of the table.
            what: what the table has, in words for the agent.

        Raises:
            BadCallError: the world has no such table.
        """
        if table not in self.tables:
            raise BadCallError(f"There are no {what} in this world.")

    @functools.cached_property
    def instruments(self) -> list[Row]:
        """Rows of the instruments that were known, in order of their symbols; none in a world without the table."""
        if "instruments" not in self.tables:
            return []
        return self.view.current("instruments", order=["symbol"])

    @functools.cached_property
    def series(self) -> list[Row]:
        """Rows of the series that were known, in order of their ids."""
        return self.view.current("series_info", order=["series"])

    @functools.cached_property
    def issuers(self) -> dict[str, str]:
        """Names of the companies with facts as filed, by ticker."""
        if "company_facts" not in self.tables:
            return {}
        names: dict[str, str] = {}
        for ticker in sorted(str(ticker) for ticker in self.view.counts("company_facts", "ticker") if ticker):
            # A company may have changed its name: the one of its latest filing counts.
            newest = self.view.rows(
                "company_facts", {"ticker": ticker}, columns=["entity"], order=["-known_at"], limit=1
            )
            names[ticker] = str(newest[0]["entity"])
        return names
