"""What the tools share: a known world, and what there is in it by name."""

from __future__ import annotations

import functools
from datetime import date
from typing import TYPE_CHECKING

from openfingym.suites.calls import BadCallError, shown
from openfingym.suites.findeepforecast.problem import ECONOMIES
from openfingym.suites.lookups import like, none_such

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.world.known import Company, KnownWorld, MacroSeries

MOST_ROWS = 200
"""Rows that one answer gives at most."""
GLOBAL = "GLOBAL"
"""What is said of a series that belongs to no economy, such as the price of oil."""
PLACES = (*ECONOMIES, GLOBAL)


class SearchedWorld:
    """A known world as the tools see it: the same as of any later time, with nothing that came after it.

    Args:
        world: what was known at the time of the question.
    """

    def __init__(self, world: KnownWorld) -> None:
        self.world = world

    @functools.cached_property
    def companies(self) -> dict[str, Company]:
        """Companies by symbol."""
        return {one.symbol: one for one in self.world.companies()}

    @functools.cached_property
    def series(self) -> dict[str, MacroSeries]:
        """Series by id."""
        return {one.id: one for one in self.world.series()}

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """What companies and series are called, by symbol and id."""
        companies = {one.symbol: one.name for one in self.companies.values()}
        return companies | {one.id: one.title for one in self.series.values()}

    @functools.cached_property
    def _folded(self) -> dict[str, str]:
        """Symbols and ids by themselves and by their names, without regard to case; a name of two is of none."""
        found: dict[str, str] = {}
        twice = set()
        for key, name in self.names.items():
            folded = name.casefold()
            twice |= {folded} & found.keys()
            found[folded] = key
        return {name: key for name, key in found.items() if name not in twice} | {
            key.casefold(): key for key in self.names
        }

    def subject(self, asked: str) -> str:
        """The symbol or id that a text says, by itself or by its name.

        Raises:
            BadCallError: there is none; says what is like it.
        """
        if asked in self.series or asked in self.companies:
            return asked
        found = self._folded.get(asked.casefold())
        if found is None:
            raise none_such("company or series", asked, self.names)
        return found

    def subject_or_place(self, asked: str) -> str:
        """The same, or one of the economies.

        Raises:
            BadCallError: it is neither.
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
