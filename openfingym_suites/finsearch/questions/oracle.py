"""The proof that a question can be answered: its program, fed by the answers of the tools and by nothing else.

An agent calls a tool by its name with JSON and gets JSON back. This does the same: figures are taken from the answers
of calls, which are counted, and given to the program that computed the truth from the tables of the vault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError
from openfingym_suites.finsearch.questions.sources import FIRST_DAY, LAST_DAY, Bar, Fact, Sources, Vintage, action_value

if TYPE_CHECKING:
    from openfingym.suites.suite import Lookup

EARLIEST = "1960-01-01"
"""No figure of the vault is about an earlier day."""
SCALES = {"thousand": 1e3, "million": 1e6}
"""What a figure is multiplied by to be in whole units, by the first word of its unit."""


class ToolSources(Sources):
    """What was known at a time, as the tools answer.

    Args:
        lookup: calls a tool by its name with its arguments, as of the time of a question.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._answers: dict[str, Any] = {}

    @property
    def calls(self) -> int:
        """How many calls were made; none is made twice."""
        return len(self._answers)

    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars from the tool ``quote``; of Treasury yields, which are no instrument, from ``series``."""
        if symbol.startswith("UST"):
            return [Bar(day, None, None, None, value, None) for day, value in self.points(symbol, first, last)]
        rows = self._paged("quote", {"symbol": symbol}, "date", first, last)
        return [
            Bar(row["date"], row.get("open"), row.get("high"), row.get("low"), row["close"], row.get("volume"))
            for row in rows
        ]

    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """Periods and values from the tool ``series``."""
        rows = self._paged("series", {"id": series}, "reference_date", first, last)
        return [(row["reference_date"], row["value"]) for row in rows]

    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages from the tool ``series``."""
        rows = self._paged("series", {"id": series, "vintage": "all"}, "reference_date", period, period)
        return [Vintage(row["known_from"][:10], row["value"]) for row in rows]

    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed, from the tool ``statement``."""
        wanted = {"company": company, "item": item, "vintage": "all", "segments": "only" if segment else "none"}
        rows = self._paged("statement", wanted, "period_end", end or FIRST_DAY, end or LAST_DAY)
        facts = [
            Fact(
                row["period_start"], row["period_end"], row["value"] * SCALES.get(str(row["unit"]).split()[0], 1.0),
                row["form"], row["filed"], row.get("accession", ""),
            )
            for row in rows
            if (row.get("dimensions") or row.get("segment") or None) == segment
            and (standard is None or row["standard"] == standard)
            and row["value"] is not None
        ]  # fmt: skip
        # The tool sorts by item and period; programs want the order in which facts were filed.
        return sorted(facts, key=lambda fact: fact.filed)

    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """Splits and dividends from the tool ``quote``."""
        # Bars of months, so that one call spans all of history.
        answer = self._call("quote", {"symbol": symbol, "start": "1990-01-01", "interval": "month"})
        return [(row["ex_date"], row["kind"], action_value(row)) for row in answer.get("actions", [])]

    def _paged(self, tool: str, wanted: Mapping[str, str], dated: str, first: str, last: str) -> list[dict[str, Any]]:
        """All rows of a span of days, by as many calls as that takes.

        Args:
            tool: name of the tool.
            wanted: its arguments but the span, by name.
            dated: name of the column with the day by which the tool continues.
            first: first day of the span, as an ISO date.
            last: last day of the span, as an ISO date.

        Raises:
            DataError: a call is refused, or the tool does not get beyond the first rows of a day.
        """
        rows: list[dict[str, Any]] = []
        start: str | None = max(first, EARLIEST)
        while start:
            arguments = {**wanted, "start": start, **({"end": last} if last != LAST_DAY else {})}
            answer = self._call(tool, arguments)
            names = answer["columns"]
            # A page may end within the rows of a day, which the next page begins with: they are taken from that one.
            rows = [row for row in rows if row[dated] < start]
            rows += [dict(zip(names, row, strict=True)) for row in answer["rows"]]
            following = answer.get("more_from")
            if following == start:
                raise DataError(f"{tool} with {arguments} shows no more than its first rows")
            start = following
        return rows

    def _call(self, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
        key = f"{tool} {sorted(arguments.items())}"
        if key not in self._answers:
            observation = self._lookup(tool, arguments)
            if not observation.valid or not isinstance(observation.value, dict):
                raise DataError(f"{tool} with {arguments} answers: {observation.text[:300]}")
            self._answers[key] = observation.value
        value: dict[str, Any] = self._answers[key]
        return value
