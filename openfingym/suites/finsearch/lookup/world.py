"""What the tools share: a view, and what there is in it by name."""

from __future__ import annotations

import functools
from datetime import date, timedelta
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError

if TYPE_CHECKING:
    from openfingym.vault.view import Row, View

MOST_ROWS = 400
"""Rows that one answer gives at most."""


class Searched:
    """A view as the tools see it.

    Args:
        view: what was known at the time of the question.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.tables = frozenset(view.tables)
        latest = view.time + timedelta(hours=14)
        self.today: date | None = None if view.hindsight else latest.date()
        """The day it is where days begin first: no day after it has begun anywhere."""

    def need(self, table: str, what: str) -> None:
        """Refuse where the world has no such table."""
        if table not in self.tables:
            raise BadCallError(f"There are no {what} in this world.")

    @functools.cached_property
    def instruments(self) -> list[Row]:
        """Instruments that were known, in order of their symbols."""
        return self.view.current("instruments", order=["symbol"])

    @functools.cached_property
    def series(self) -> list[Row]:
        """Series that were known, in order."""
        return self.view.current("series_info", order=["series"])

    @functools.cached_property
    def issuers(self) -> dict[str, str]:
        """Companies with facts as filed: names that were known, by ticker."""
        if "company_facts" not in self.tables:
            return {}
        names: dict[str, str] = {}
        for ticker in sorted(str(ticker) for ticker in self.view.counts("company_facts", "ticker") if ticker):
            newest = self.view.rows(
                "company_facts", {"ticker": ticker}, columns=["entity"], order=["-known_at"], limit=1
            )
            names[ticker] = str(newest[0]["entity"])
        return names
