"""What the tools share: a view, what there is in it by name, and tables as JSON."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from openfingym.suites.finsearch.lookup.calls import BadCallError, shown
from openfingym.vault.search import words

if TYPE_CHECKING:
    from openfingym.vault.view import Row, View

MOST_ROWS = 400
"""Rows that one answer gives at most."""
MOST_CANDIDATES = 10


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


def plain(value: object) -> object:
    """A value of a table as JSON: days and times as ISO 8601."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> dict[str, object]:
    """Rows as JSON: names of columns, and lists of values."""
    return {"columns": list(columns), "rows": [[plain(row[name]) for name in columns] for row in rows]}


def like(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """Keys whose key or name is like a text: those with most of its words first, then those written alike."""
    asked = set(words(text))
    scored = []
    for key, name in names.items():
        has = set(words(f"{key} {name}"))
        common = len(asked & has)
        if common:
            scored.append((-common, len(has), key))
    best = [key for _, _, key in sorted(scored)[:most]]
    return best or near(text, names, most)


def near(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """Keys that are written like a text."""
    folded = {key.casefold(): key for key in names}
    return [folded[each] for each in difflib.get_close_matches(text.casefold()[:200], folded, n=most, cutoff=0.6)]


def none_such(what: str, asked: str, names: Mapping[str, str]) -> BadCallError:
    """That there is no such thing, with those that are like it."""
    alike = like(asked, names)
    listed = "; ".join(f"{key} ({names[key]})" if names[key] else key for key in alike)
    hint = f" Like it are: {listed}." if alike else " Nothing is like it; try other words, or search."
    return BadCallError(f"There is no {what} {shown(asked)}.{hint}")
