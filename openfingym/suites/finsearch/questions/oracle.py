"""The proof that a question can be answered: its program, fed by what the tools answer and by nothing else.

What an agent has is a call by name with JSON, and JSON back. So has this: figures are taken from the answers of calls,
counted, and given to the same program that computed the truth from the vault's tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError
from openfingym.suites.finsearch.questions.sources import FIRST_DAY, LAST_DAY, Bar, Fact, Sources, Vintage, action_value

if TYPE_CHECKING:
    from openfingym.suites.suite import Lookup

EARLIEST = "1960-01-01"
"""No figure is about an earlier day."""
SCALES = {"thousand": 1e3, "million": 1e6}


class ToolSources(Sources):
    """What the tools answer.

    Attributes:
        calls: how many calls were made; none is made twice.
    """

    def __init__(self, lookup: Lookup) -> None:
        """Take figures through calls of tools."""
        self._lookup = lookup
        self._known: dict[str, Any] = {}

    @property
    def calls(self) -> int:
        """How many different calls were made."""
        return len(self._known)

    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars by the tool ``quote``, Treasury yields by ``series``."""
        if symbol.startswith("UST"):
            return [Bar(day, None, None, None, value, None) for day, value in self.points(symbol, first, last)]
        rows = self._paged("quote", {"symbol": symbol}, "date", first, last)
        return [
            Bar(row["date"], row.get("open"), row.get("high"), row.get("low"), row["close"], row.get("volume"))
            for row in rows
        ]

    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """Periods and values by the tool ``series``."""
        rows = self._paged("series", {"id": series}, "reference_date", first, last)
        return [(row["reference_date"], row["value"]) for row in rows]

    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages by the tool ``series``."""
        rows = self._paged("series", {"id": series, "vintage": "all"}, "reference_date", period, period)
        return [Vintage(row["known_from"][:10], row["value"]) for row in rows]

    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed by the tool ``statement``."""
        wanted = {"company": company, "item": item, "vintage": "all", "segments": "only" if segment else "none"}
        rows = self._paged("statement", wanted, "period_end", end or FIRST_DAY, end or LAST_DAY)
        found = [
            Fact(
                row["period_start"], row["period_end"], row["value"] * SCALES.get(str(row["unit"]).split()[0], 1.0),
                row["form"], row["filed"], row.get("accession", ""),
            )
            for row in rows
            if (row.get("dimensions") or row.get("segment") or None) == segment
            and (standard is None or row["standard"] == standard)
            and row["value"] is not None
        ]  # fmt: skip
        return sorted(found, key=lambda fact: fact.filed)

    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """Splits and dividends by the tool ``quote``, in months."""
        answer = self._call("quote", {"symbol": symbol, "start": "1990-01-01", "interval": "month"})
        return [(one["ex_date"], one["kind"], action_value(one)) for one in answer.get("actions", [])]

    def _paged(self, tool: str, wanted: Mapping[str, str], dated: str, first: str, last: str) -> list[dict[str, Any]]:
        """All rows of a span of days, of as many calls as that takes."""
        rows: list[dict[str, Any]] = []
        start: str | None = max(first, EARLIEST)
        while start:
            arguments = {**wanted, "start": start, **({"end": last} if last != LAST_DAY else {})}
            answer = self._call(tool, arguments)
            names = answer["columns"]
            rows = [row for row in rows if row[dated] < start]
            rows += [dict(zip(names, row, strict=True)) for row in answer["rows"]]
            following = answer.get("more_from")
            if following == start:
                raise DataError(f"{tool} with {arguments} shows no more than its first rows")
            start = following
        return rows

    def _call(self, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
        key = f"{tool} {sorted(arguments.items())}"
        if key not in self._known:
            found = self._lookup(tool, arguments)
            if not found.valid or not isinstance(found.value, dict):
                raise DataError(f"{tool} with {arguments} answers: {found.text[:300]}")
            self._known[key] = found.value
        value: dict[str, Any] = self._known[key]
        return value
