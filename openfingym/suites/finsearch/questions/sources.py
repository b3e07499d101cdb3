"""Where a program takes figures from: the tables of a vault, or, to prove that a question can be answered, tools alone.

Days are ISO texts throughout. A source answers as of a time, which it was made for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from openfingym.vault import Vault
    from openfingym.vault.view import View

FIRST_DAY, LAST_DAY = "0000-01-01", "9999-12-31"
FACT = ("period_start", "period_end", "value", "form", "filed")
FED_LOWER, FED_UPPER = "FED_TARGET_LOWER", "FED_TARGET_UPPER"
END = datetime(2100, 1, 1, tzinfo=UTC)


class Bar(NamedTuple):
    """What an instrument did on a day; prices that there are not are None."""

    date: str
    open: float | None
    high: float | None
    low: float | None
    close: float
    volume: float | None


class Fact(NamedTuple):
    """A figure as a company filed it: one vintage."""

    start: str | None
    """First day of its period; None for a figure at a point in time."""
    end: str
    value: float
    form: str
    filed: str
    accession: str

    @property
    def days(self) -> int:
        """Length of its period in days; 0 at a point in time."""
        return 0 if self.start is None else (date.fromisoformat(self.end) - date.fromisoformat(self.start)).days + 1


class Vintage(NamedTuple):
    """A figure of a series as it was known from a day on."""

    known: str
    value: float


class Sources(ABC):
    """What was known at a time."""

    @abstractmethod
    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars of an instrument, oldest first, as traded."""

    @abstractmethod
    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(period, value) of a series, oldest first, each in the vintage that was known last."""

    @abstractmethod
    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages of a period of a series, oldest first."""

    @abstractmethod
    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed of an item in whole dollars, yuan or shares, first filed first.

        Args:
            company: a ticker of the SEC's companies, or the name of a simulated one.
            item: a concept of XBRL, or an item of a simulated company's statements.
            end: last day of the period; None for all.
            segment: the segment, as dimensions of XBRL or by its name; None for the company as a whole.
            standard: accounting standard of a simulated company's figure; None for whatever there is.
        """

    @abstractmethod
    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """(first day, ``split`` or ``dividend``, new shares for one or amount a share), oldest first."""

    def closes(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(day, close), oldest first."""
        return [(bar.date, bar.close) for bar in self.bars(symbol, first, last)]


class VaultSources(Sources):
    """A vault as of a time."""

    def __init__(self, vault: Vault, as_of: str | None) -> None:
        """Open it.

        Args:
            vault: the vault ``finsearch``, or ``bundled`` for questions on real data alone.
            as_of: UTC, ISO 8601; None for everything, to draw parameters.
        """
        self._kept = _kept(vault)
        self._time = datetime.fromisoformat(as_of) if as_of else END

    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars of an instrument."""
        kept = self._kept.bars(symbol)
        return kept.bars[self._rows(kept, first, last)]

    def closes(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(day, close), oldest first."""
        kept = self._kept.bars(symbol)
        return kept.closes[self._rows(kept, first, last)]

    def _rows(self, kept: _Bars, first: str, last: str) -> slice:
        known = bisect_right(kept.known, self._time)
        return slice(bisect_left(kept.days, first), min(known, bisect_right(kept.days, last)))

    def instruments(self, kind: str) -> list[dict[str, Any]]:
        """The simulated instruments of a kind, as rows; to draw from."""
        return self._kept.instruments(kind)

    def currency(self, company: str) -> str:
        """In which currency a simulated company reports."""
        return str(self._kept.currency(company))

    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """Periods and values of a series."""
        latest = {
            period: value
            for period, known, value in self._kept.series(series)
            if known <= self._time and first <= period <= last
        }
        return sorted(latest.items())

    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages of a period of a series."""
        found = self._kept.series(series)
        return [Vintage(_day(known), value) for at, known, value in found if at == period and known <= self._time]

    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed of an item."""
        found = self._kept.facts(company, item, segment, standard)
        return [fact for known, fact in found if known <= self._time and (end is None or fact.end == end)]

    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """Splits and dividends."""
        return [action for known, action in self._kept.actions(symbol) if known <= self._time]


class _Bars(NamedTuple):
    """Bars of an instrument, oldest first, which is the order in which they became known."""

    known: list[datetime]
    days: list[str]
    bars: list[Bar]
    closes: list[tuple[str, float]]


class _Kept:
    """Rows of a vault with the times from which they were known, read once."""

    def __init__(self, vault: Vault) -> None:
        self.view: View = vault.hindsight(END.isoformat())
        self.tables = {table.name for table in vault.manifest.tables}
        self.read: dict[tuple[str, ...], Any] = {}

    def bars(self, symbol: str) -> _Bars:
        def read() -> _Bars:
            found = self._market(symbol) or self._simulated_bars(symbol)
            bars = [bar for _, bar in found]
            return _Bars(
                [known for known, _ in found], [bar.date for bar in bars], bars, [(bar.date, bar.close) for bar in bars]
            )

        return self._once(("bars", symbol), read)

    def series(self, name: str) -> list[tuple[str, datetime, float]]:
        return self._once(("series", name), lambda: self._series(name))

    def facts(self, company: str, item: str, segment: str | None, standard: str | None) -> list[tuple[datetime, Fact]]:
        def read() -> list[tuple[datetime, Fact]]:
            where = {"ticker": company, "concept": item, "dimensions": segment}
            rows = self._found("company_facts", where)
            if rows or "statements" not in self.tables:
                return [
                    (row["known_at"], _fact(row, 1.0, row["accession"])) for row in rows if row["value"] is not None
                ]
            where = {"company": company, "item": item, "segment": segment or ""}
            rows = self._found("statements", where | ({"standard": standard} if standard else {}))
            return [(row["known_at"], _fact(row, row["scale"], row["report"])) for row in rows]

        return self._once(("facts", company, item, segment or "", standard or ""), read)

    def actions(self, symbol: str) -> list[tuple[datetime, tuple[str, str, float]]]:
        def read() -> list[tuple[datetime, tuple[str, str, float]]]:
            rows = self._found("actions", {"symbol": symbol}, order=["ex_date"]) if "actions" in self.tables else []
            return [(row["known_at"], (str(row["ex_date"]), row["kind"], action_value(row))) for row in rows]

        return self._once(("actions", symbol), read)

    def instruments(self, kind: str) -> list[dict[str, Any]]:
        if "instruments" not in self.tables:
            return []
        where = {"kind": kind, "simulated": True}
        return list(
            self._once(("instruments", kind), lambda: self._found("instruments", where, order=["symbol"], current=True))
        )

    def currency(self, company: str) -> str:
        return str(self._found("statements", {"company": company, "item": "Revenue"})[0]["currency"])

    def _found(
        self, table: str, where: Mapping[str, Any] | None = None, order: Sequence[str] = (), *, current: bool = False
    ) -> list[dict[str, Any]]:
        """Rows of a table, whose values have the types of its columns."""
        return list((self.view.current if current else self.view.rows)(table, where, order=order))

    def _once(self, key: tuple[str, ...], read: Callable[[], Any]) -> Any:
        if key not in self.read:
            self.read[key] = read()
        return self.read[key]

    def _market(self, symbol: str) -> list[tuple[datetime, Bar]]:
        if symbol in STOCKS:
            dataset, start = STOCKS[symbol]
            names = [start + name for name in ("open", "high", "low", "close", "volume")]
            parts = [self._channel(dataset, name) for name in names]
            return [(known, _bar(day, [part[day][1] for part in parts])) for day, (known, _) in parts[3].items()]
        found: dict[str, tuple[datetime, float]] = {}
        for dataset, channel in places_of(symbol):
            found |= self._channel(dataset, channel)
        return [(known, Bar(day, None, None, None, value, None)) for day, (known, value) in sorted(found.items())]

    def _simulated_bars(self, symbol: str) -> list[tuple[datetime, Bar]]:
        if "bars" not in self.tables:
            return []
        rows = self._found("bars", {"symbol": symbol}, order=["date"])
        names = ("open", "high", "low", "close", "volume")
        return [(row["known_at"], _bar(str(row["date"]), [_number(row[name]) for name in names])) for row in rows]

    def _channel(self, dataset: str, channel: str) -> dict[str, tuple[datetime, float]]:
        rows = self._found("market", {"dataset": dataset, "channel": channel}, order=["date"])
        return {str(row["date"]): (row["known_at"], row["value"]) for row in rows}

    def _series(self, name: str) -> list[tuple[str, datetime, float]]:
        if name in (FED_LOWER, FED_UPPER):
            column = "target_lower" if name == FED_LOWER else "target_upper"
            rows = self._found("fomc_statements", order=["known_at"])
            found = [(str(row["date"]), row["known_at"], row[column]) for row in rows]
        else:
            for table in ("macro", "gdp", "series"):
                if table in self.tables and (rows := self._found(table, {"series": name}, order=["known_at"])):
                    break
            found = [(str(row["reference_date"]), row["known_at"], row["value"]) for row in rows]
        return [one for one in found if one[2] is not None and not math.isnan(one[2])]


STOCKS = {
    "AAPL": ("us-stocks-ohlcv", "aapl_"),
    "IBM": ("us-stocks-ohlcv", "ibm_"),
    "MSFT": ("us-stocks-ohlcv", "msft_"),
    "GOOG": ("goog-ohlcv", ""),
}
"""Real shares: data set of the table ``market``, and how the names of their channels begin."""


def places_of(symbol: str) -> list[tuple[str, str]]:
    """(data set, channel) of the table ``market`` where a real rate or yield is.

    ``USDCNY`` is a pair of the ECB's reference rates, ``UST10Y`` a Treasury yield: 1993 to 2002, and again from 2006.
    """
    if symbol.startswith("UST"):
        return [(dataset, symbol[3:].lower()) for dataset in ("ust-par-yields-1993", "ust-par-yields")]
    if len(symbol) == 6 and symbol.isalpha():
        channel = f"{symbol[:3]}_{symbol[3:]}".lower()
        return [("ecb-fx", channel), ("ecb-fx-8", channel)]
    return []


def action_value(row: Mapping[str, Any]) -> float:
    """New shares for an old one, or the amount of a dividend a share."""
    return row["new_shares"] / row["old_shares"] if row["kind"] == "split" else row["amount"]


def _kept(vault: Vault) -> _Kept:
    if vault.digest not in _KEPT:
        _KEPT.clear()  # one vault at a time
        _KEPT[vault.digest] = _Kept(vault)
    return _KEPT[vault.digest]


_KEPT: dict[str, _Kept] = {}


def _fact(row: Mapping[str, Any], scale: float, report: str) -> Fact:
    start, end, value, form, filed = (row[name] for name in FACT)
    return Fact(None if start is None else str(start), str(end), value * scale, form, str(filed), report)


def _bar(day: str, values: Sequence[float | None]) -> Bar:
    opened, high, low, close, volume = values
    assert close is not None
    return Bar(day, opened, high, low, close, volume)


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _day(known: datetime) -> str:
    return known.date().isoformat()


def first_of(facts: Iterable[Fact], days: tuple[int, int] = (0, 0)) -> Fact | None:
    """The fact that was filed first, of those whose period is so many days long."""
    return next((fact for fact in facts if days[0] <= fact.days <= days[1]), None)
