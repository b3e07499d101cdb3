"""What a program takes figures from: the tables of a vault or, to prove that it can be answered, the tools alone.

Days are texts as ISO dates throughout, so that they compare as they are. Sources show what was known at the one time
that they were made for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from openfingym.vault import Vault
    from openfingym.vault.view import View

FIRST_DAY, LAST_DAY = "0000-01-01", "9999-12-31"
"""Before and after every day that anything is about."""
FACT = ("period_start", "period_end", "value", "form", "filed")
"""Columns that the facts of real issuers and the statements of simulated companies share."""
FED_LOWER, FED_UPPER = "FED_TARGET_LOWER", "FED_TARGET_UPPER"
"""The bounds of the Federal Reserve's target range, as the tools call these series."""
END = datetime(2100, 1, 1, tzinfo=UTC)
"""A time by which everything is known."""


class Bar(NamedTuple):
    """Prices and volume of an instrument on a day, as traded; None for those that there are not."""

    date: str
    open: float | None
    high: float | None
    low: float | None
    close: float
    volume: float | None


class Fact(NamedTuple):
    """A figure as a company filed it once: one vintage of it."""

    start: str | None
    """First day of its period; None for a figure at a point in time."""
    end: str
    """Last day of its period, or the point in time."""
    value: float
    """The figure in whole units of currency, or in shares."""
    form: str
    """Form of the filing, such as ``10-K``."""
    filed: str
    """Day of the filing."""
    accession: str
    """Number of the filing, or the id of a simulated report."""

    @property
    def days(self) -> int:
        """Length of its period in days, both ends included; 0 at a point in time."""
        return 0 if self.start is None else (date.fromisoformat(self.end) - date.fromisoformat(self.start)).days + 1


class Vintage(NamedTuple):
    """A figure of a series as it was known from a day on."""

    known: str
    """Day from which it was known, in UTC."""
    value: float


class Sources(ABC):
    """What was known at a time. Spans of days include both ends."""

    @abstractmethod
    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars of an instrument, oldest first, as traded."""

    @abstractmethod
    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(period, value) of a series, oldest first, each in its latest vintage; a period is named by its first day."""

    @abstractmethod
    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages of one period of a series, oldest first."""

    @abstractmethod
    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed of an item, in whole units of currency or in shares, in the order of filing.

        Args:
            company: a ticker of the SEC's companies, or the name of a simulated one.
            item: a concept of XBRL, or an item of a simulated company's statements.
            end: last day of the period; None for all.
            segment: the segment, as dimensions of XBRL or by its name; None for the company as a whole.
            standard: accounting standard of a simulated company's figure; None for whatever there is.
        """

    @abstractmethod
    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """(ex-date, ``split`` or ``dividend``, new shares for an old one or amount a share), oldest first."""

    def closes(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(day, close), oldest first."""
        return [(bar.date, bar.close) for bar in self.bars(symbol, first, last)]


class VaultSources(Sources):
    """The tables of a vault as of a time.

    Args:
        vault: the vault ``finsearch``, or ``bundled`` for questions about real figures alone.
        as_of: the time, UTC, ISO 8601; None for everything that ever became known, to draw parameters.
    """

    def __init__(self, vault: Vault, as_of: str | None) -> None:
        self._rows = _rows_of(vault)
        self._time = datetime.fromisoformat(as_of) if as_of else END

    def bars(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[Bar]:
        """Daily bars of an instrument."""
        kept = self._rows.bars(symbol)
        return kept.bars[self._span(kept, first, last)]

    def closes(self, symbol: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """(day, close), oldest first."""
        kept = self._rows.bars(symbol)
        return kept.closes[self._span(kept, first, last)]

    def _span(self, kept: _Bars, first: str, last: str) -> slice:
        """The bars of some days that are known at the time."""
        # Bars are sorted by day, which is the order in which they became known: all bounds are found by bisection.
        known = bisect_right(kept.known, self._time)
        return slice(bisect_left(kept.days, first), min(known, bisect_right(kept.days, last)))

    def instruments(self, kind: str) -> list[dict[str, Any]]:
        """Rows of the simulated instruments of a kind, whenever they became known; to draw from."""
        return self._rows.instruments(kind)

    def currency(self, company: str) -> str:
        """Code of the currency in which a simulated company reports."""
        return str(self._rows.currency(company))

    def points(self, series: str, first: str = FIRST_DAY, last: str = LAST_DAY) -> list[tuple[str, float]]:
        """Periods and values of a series, each in its latest vintage."""
        # Rows come in the order of known times, so a later vintage of a period overwrites the earlier ones.
        latest = {
            period: value
            for period, known, value in self._rows.series(series)
            if known <= self._time and first <= period <= last
        }
        return sorted(latest.items())

    def vintages(self, series: str, period: str) -> list[Vintage]:
        """All vintages of a period of a series."""
        rows = self._rows.series(series)
        return [Vintage(_day(known), value) for about, known, value in rows if about == period and known <= self._time]

    def facts(
        self, company: str, item: str, end: str | None = None, segment: str | None = None, standard: str | None = None
    ) -> list[Fact]:
        """What a company filed of an item."""
        rows = self._rows.facts(company, item, segment, standard)
        return [fact for known, fact in rows if known <= self._time and (end is None or fact.end == end)]

    def actions(self, symbol: str) -> list[tuple[str, str, float]]:
        """Splits and dividends."""
        return [action for known, action in self._rows.actions(symbol) if known <= self._time]


class _Bars(NamedTuple):
    """Bars of an instrument, oldest first, which is the order in which they became known.

    Attributes:
        known: the time from which each bar is known.
        days: the day of each bar.
        bars: the bars.
        closes: day and close of each bar.
    """

    known: list[datetime]
    days: list[str]
    bars: list[Bar]
    closes: list[tuple[str, float]]


class _VaultRows:
    """Rows of a vault with the times from which they are known, each read once: thousands of questions are drawn and
    proved from the same rows, as of a time each.
    """

    def __init__(self, vault: Vault) -> None:
        self.view: View = vault.hindsight(END.isoformat())
        self.tables = {table.name for table in vault.manifest.tables}
        self.cache: dict[tuple[str, ...], Any] = {}

    def bars(self, symbol: str) -> _Bars:
        def read() -> _Bars:
            rows = self._market(symbol) or self._simulated_bars(symbol)
            bars = [bar for _, bar in rows]
            return _Bars(
                [known for known, _ in rows], [bar.date for bar in bars], bars, [(bar.date, bar.close) for bar in bars]
            )

        return self._cached(("bars", symbol), read)

    def series(self, name: str) -> list[tuple[str, datetime, float]]:
        return self._cached(("series", name), lambda: self._series(name))

    def facts(self, company: str, item: str, segment: str | None, standard: str | None) -> list[tuple[datetime, Fact]]:
        def read() -> list[tuple[datetime, Fact]]:
            # A real issuer is tried first: tickers of simulated companies are none of the SEC's.
            where = {"ticker": company, "concept": item, "dimensions": segment}
            rows = self._select("company_facts", where)
            if rows or "statements" not in self.tables:
                return [
                    (row["known_at"], _fact(row, 1.0, row["accession"])) for row in rows if row["value"] is not None
                ]
            where = {"company": company, "item": item, "segment": segment or ""}
            rows = self._select("statements", where | ({"standard": standard} if standard else {}))
            return [(row["known_at"], _fact(row, row["scale"], row["report"])) for row in rows]

        return self._cached(("facts", company, item, segment or "", standard or ""), read)

    def actions(self, symbol: str) -> list[tuple[datetime, tuple[str, str, float]]]:
        def read() -> list[tuple[datetime, tuple[str, str, float]]]:
            rows = self._select("actions", {"symbol": symbol}, order=["ex_date"]) if "actions" in self.tables else []
            return [(row["known_at"], (str(row["ex_date"]), row["kind"], action_value(row))) for row in rows]

        return self._cached(("actions", symbol), read)

    def instruments(self, kind: str) -> list[dict[str, Any]]:
        if "instruments" not in self.tables:
            return []
        where = {"kind": kind, "simulated": True}

        def read() -> list[dict[str, Any]]:
            return self._select("instruments", where, order=["symbol"], current=True)

        return list(self._cached(("instruments", kind), read))

    def currency(self, company: str) -> str:
        return str(self._select("statements", {"company": company, "item": "Revenue"})[0]["currency"])

    def _select(
        self, table: str, where: Mapping[str, Any] | None = None, order: Sequence[str] = (), *, current: bool = False
    ) -> list[dict[str, Any]]:
        """Rows of a table, whose values have the types of its columns."""
        return list((self.view.current if current else self.view.rows)(table, where, order=order))

    def _cached(self, key: tuple[str, ...], read: Callable[[], Any]) -> Any:
        if key not in self.cache:
            self.cache[key] = read()
        return self.cache[key]

    def _market(self, symbol: str) -> list[tuple[datetime, Bar]]:
        if symbol in STOCKS:
            dataset, start = STOCKS[symbol]
            names = [start + name for name in ("open", "high", "low", "close", "volume")]
            parts = [self._channel(dataset, name) for name in names]
            # The days are those with a close, with which a day's bar is known.
            return [(known, _bar(day, [part[day][1] for part in parts])) for day, (known, _) in parts[3].items()]
        closes: dict[str, tuple[datetime, float]] = {}
        for dataset, channel in places_of(symbol):
            closes |= self._channel(dataset, channel)
        return [(known, Bar(day, None, None, None, value, None)) for day, (known, value) in sorted(closes.items())]

    def _simulated_bars(self, symbol: str) -> list[tuple[datetime, Bar]]:
        if "bars" not in self.tables:
            return []
        rows = self._select("bars", {"symbol": symbol}, order=["date"])
        names = ("open", "high", "low", "close", "volume")
        return [(row["known_at"], _bar(str(row["date"]), [_number(row[name]) for name in names])) for row in rows]

    def _channel(self, dataset: str, channel: str) -> dict[str, tuple[datetime, float]]:
        rows = self._select("market", {"dataset": dataset, "channel": channel}, order=["date"])
        return {str(row["date"]): (row["known_at"], row["value"]) for row in rows}

    def _series(self, name: str) -> list[tuple[str, datetime, float]]:
        if name in (FED_LOWER, FED_UPPER):
            column = "target_lower" if name == FED_LOWER else "target_upper"
            rows = self._select("fomc_statements", order=["known_at"])
            points = [(str(row["date"]), row["known_at"], row[column]) for row in rows]
        else:
            for table in ("macro", "gdp", "series"):
                if table in self.tables and (rows := self._select(table, {"series": name}, order=["known_at"])):
                    break
            points = [(str(row["reference_date"]), row["known_at"], row["value"]) for row in rows]
        return [point for point in points if point[2] is not None and not math.isnan(point[2])]


STOCKS = {
    "AAPL": ("us-stocks-ohlcv", "aapl_"),
    "IBM": ("us-stocks-ohlcv", "ibm_"),
    "MSFT": ("us-stocks-ohlcv", "msft_"),
    "GOOG": ("goog-ohlcv", ""),
}
"""Real shares by symbol: their data set in the table ``market``, and how the names of their channels begin."""


def places_of(symbol: str) -> list[tuple[str, str]]:
    """The data sets and channels of the table ``market`` that have a real rate or yield; none for other symbols.

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


def _rows_of(vault: Vault) -> _VaultRows:
    """The rows of a vault, shared by all sources on it in this process."""
    if vault.digest not in _ROWS:
        _ROWS.clear()  # one vault at a time
        _ROWS[vault.digest] = _VaultRows(vault)
    return _ROWS[vault.digest]


_ROWS: dict[str, _VaultRows] = {}


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
