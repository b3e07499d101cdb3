"""A known world as the tools search it: its companies, series and economies by what they are called."""

from __future__ import annotations

import functools
from datetime import date
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError, shown
from openfingym.suites.lookups import like, none_such
from openfingym_suites.findeepforecast.problem import ECONOMIES

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.world.known import Company, KnownWorld, MacroSeries

MOST_ROWS = 200
"""The most rows that one answer gives."""
GLOBAL = "GLOBAL"
"""The economy of a series that belongs to none, such as the price of oil."""
PLACES = (*ECONOMIES, GLOBAL)
"""All economies that can be asked about."""


class SearchedWorld:
    """A known world with names to search by. It does not change: a later question has another one.

    Args:
        world: what was known at the time of the question.
    """

    def __init__(self, world: KnownWorld) -> None:
        self.world = world

    @functools.cached_property
    def companies(self) -> dict[str, Company]:
        """Companies by symbol."""
        return {company.symbol: company for company in self.world.companies()}

    @functools.cached_property
    def series(self) -> dict[str, MacroSeries]:
        """Macro series by id."""
        return {series.id: series for series in self.world.series()}

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """Names of companies by symbol, and titles of series by id."""
        companies = {company.symbol: company.name for company in self.companies.values()}
        return companies | {series.id: series.title for series in self.series.values()}

    @functools.cached_property
    def _folded(self) -> dict[str, str]:
        """Symbols and ids by themselves and by their names, in lower case; a name that two have stands for neither."""
        by_name: dict[str, str] = {}
        twice = set()
        for key, name in self.names.items():
            folded = name.casefold()
            twice |= {folded} & by_name.keys()
            by_name[folded] = key
        # A symbol comes before a name that is spelt like it.
        return {name: key for name, key in by_name.items() if name not in twice} | {
            key.casefold(): key for key in self.names
        }

    def subject(self, asked: str) -> str:
        """The symbol or id that a text states, by itself or by its name.

        Args:
            asked: the text that names it.

        Raises:
            BadCallError: there is none; the message names similar ones.
        """
        if asked in self.series or asked in self.companies:
            return asked
        key = self._folded.get(asked.casefold())
        if key is None:
            raise none_such("company or series", asked, self.names)
        return key

    def subject_or_place(self, asked: str) -> str:
        """The symbol, id or economy that a text states.

        Args:
            asked: the text that names it.

        Raises:
            BadCallError: there is none; the message names similar ones.
        """
        if asked.upper() in PLACES:
            return asked.upper()
        if asked.casefold() in self._folded:
            return self._folded[asked.casefold()]
        alike = "; ".join(f"{key} ({self.names[key]})" for key in like(asked, self.names))
        hint = f" Like it are: {alike}." if alike else ""
        raise BadCallError(
            f"There is no company, series or economy {shown(asked)}; economies are {', '.join(PLACES)}.{hint}"
        )


def day_of(value: object) -> date | None:
    """An argument that is a day; None where it was left out."""
    assert value is None or isinstance(value, date)
    return value
