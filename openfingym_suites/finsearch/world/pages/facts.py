"""Facts that pages are written from: the tables of the simulated market, all of them or as of a time.

A page is written from the facts that are known when it is published, and from nothing else. So facts from which
everything after a time was deleted make the same pages up to that time; a test holds the writers of pages to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from openfingym_suites.finsearch.world.calendars import ExchangeSessions, Hours
from openfingym_suites.finsearch.world.equities import ShareAction
from openfingym_suites.finsearch.world.frames import after_close, before_opening
from openfingym_suites.finsearch.world.indices import PricedIndex, Review
from openfingym_suites.finsearch.world.macro import BALANCE, DAILY, STATISTICS, ReleasedFigure
from openfingym_suites.finsearch.world.rates import PricedRate
from openfingym_suites.finsearch.world.roster import SimulatedCompany
from openfingym_suites.finsearch.world.statements import StatementRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym_suites.finsearch.world.simulate import SimulatedMarket

_T = TypeVar("_T", StatementRow, ReleasedFigure)
FigureKey = tuple[str, str, str, date | None, date]
"""What a figure is of: item, segment, standard, first and last day of its period."""


@dataclass(frozen=True, eq=False)
class InstrumentPrices:
    """Prices of an instrument, with its names and what else pages say of it."""

    symbol: str
    name: str
    name_zh: str
    kind: str
    """Kind of instrument, as in the table ``instruments``."""
    hours: Hours
    currency: str
    unit: str
    """Unit of its prices in words."""
    company: SimulatedCompany | None
    """Company that issued it; None for what is no share."""
    share_class: str
    """``common``, ``A`` or ``H``; empty for what is no share."""
    days: tuple[date, ...]
    """Days of its sessions, in order."""
    closed: NDArray[np.int64]
    """Time of the close of each session, in microseconds since 1970."""
    values: NDArray[np.float64]
    """float64[sessions, 5]: open, high, low, close and volume, as traded."""
    actions: tuple[tuple[ShareAction, datetime], ...]
    """Splits and dividends, each with the time of its announcement."""
    known_at: datetime
    """Time from which the instrument is known."""

    def until(self, moment: datetime) -> int:
        """How many sessions had closed at a time."""
        return int(np.searchsorted(self.closed, _micros(moment), side="right"))

    def close_at(self, place: int) -> datetime:
        """The time at which a session closed, by its place among the sessions."""
        return datetime.fromtimestamp(int(self.closed[place]) / 1e6, UTC)


@dataclass(frozen=True, eq=False)
class Facts:
    """All facts of the simulated market, as far as they are known.

    Attributes:
        seed: the number from which the writers' own random draws follow.
        prices: prices of the instruments, by symbol.
        reported: rows of reports by id of the company, in the order of known times.
        points: figures of statistics by series, in the order of known times.
        reviews: reviews of indices, each with the symbol of its index and the time of its announcement.
        companies: companies that are known, by id.
        first_day: first day of the world.
        last_day: last day on which pages are written.
    """

    seed: int
    prices: Mapping[str, InstrumentPrices]
    reported: Mapping[str, Sequence[StatementRow]]
    points: Mapping[str, Sequence[ReleasedFigure]]
    reviews: Sequence[tuple[str, Review, datetime]]
    companies: Mapping[str, SimulatedCompany]
    first_day: date
    last_day: date

    def until(self, moment: datetime) -> Facts:
        """The facts without anything that became known after a time."""
        prices = {}
        for symbol, history in self.prices.items():
            if history.known_at <= moment:
                count = history.until(moment)
                prices[symbol] = replace(
                    history,
                    days=history.days[:count],
                    closed=history.closed[:count],
                    values=history.values[:count],
                    actions=tuple(each for each in history.actions if each[1] <= moment),
                )
        # A company is known with the first of its shares.
        companies = {history.company.id for history in prices.values() if history.company}
        return replace(
            self,
            prices=prices,
            reported=_known(self.reported, moment),
            points=_known(self.points, moment),
            reviews=[each for each in self.reviews if each[2] <= moment],
            companies={name: company for name, company in self.companies.items() if name in companies},
        )


def facts_of(world: SimulatedMarket) -> Facts:
    """All facts of a simulated market."""
    prices = {}
    for line in world.lines:
        share, company = line.line, line.company
        actions = tuple((action, after_close(action.announced, share.hours)) for action in line.actions)
        prices[share.symbol] = _prices(
            share.symbol, company.name, company.name_zh, "stock", share.hours, share.currency,
            f"{share.currency} per share", line.times, line.bars, company=company, share_class=share.share_class,
            actions=actions,
        )  # fmt: skip
    others: list[PricedIndex | PricedRate] = [*world.indices, *world.rates]
    for other in others:
        kind, unit = ("index", "points") if isinstance(other, PricedIndex) else (other.kind, other.quote_unit)
        prices[other.symbol] = _prices(
            other.symbol, other.name, other.name_zh, kind, other.hours, other.currency, unit, other.times, other.bars
        )
    reviews = [(index.symbol, review, after_close(review.announced, index.hours))
               for index in world.indices for review in index.reviews]  # fmt: skip
    return Facts(
        world.seed,
        prices,
        _grouped(world.reported, lambda row: row.company),
        _grouped(world.points, lambda point: point.series),
        reviews,
        {company.id: company for company in world.companies},
        world.size.first_day,
        world.size.last_day,
    )


def statistic_names() -> dict[str, tuple[str, str, str, str]]:
    """The names in English and Chinese, the units and the country of each simulated statistic, by its series."""
    periodic = {each.id: (each.name, each.name_zh, each.units, each.country) for each in (*STATISTICS, BALANCE)}
    daily = {series: (name, name_zh, units, country) for series, name, name_zh, units, country, _, _ in DAILY}
    return periodic | daily


class KnownFigures:
    """Figures of a company as they become known: of each figure, the vintage that was known last.

    Args:
        rows: rows of its reports, in the order of known times.
    """

    def __init__(self, rows: Sequence[StatementRow]) -> None:
        self._rows = rows
        self._place = 0
        self._latest: dict[FigureKey, StatementRow] = {}

    def at(self, moment: datetime) -> dict[FigureKey, StatementRow]:
        """The figures that are known at a time, which must not be earlier than in the call before."""
        while self._place < len(self._rows) and self._rows[self._place].known_at <= moment:
            row = self._rows[self._place]
            self._latest[key_of(row)] = row
            self._place += 1
        return self._latest


def key_of(row: StatementRow) -> FigureKey:
    """What the figure of a row is of, the same for all vintages of it."""
    return (row.item, row.segment, row.standard, row.period_start, row.period_end)


def _prices(
    symbol: str,
    name: str,
    name_zh: str,
    kind: str,
    hours: Hours,
    currency: str,
    unit: str,
    times: ExchangeSessions,
    values: NDArray[np.float64],
    *,
    company: SimulatedCompany | None = None,
    share_class: str = "",
    actions: tuple[tuple[ShareAction, datetime], ...] = (),
) -> InstrumentPrices:
    """The price history of an instrument from its sessions and bars."""
    days = tuple(day.date() for day in times.days)
    closed = times.close_at.as_unit("us").asi8.astype(np.int64)
    known_at = before_opening(days[0], hours)
    return InstrumentPrices(
        symbol,
        name,
        name_zh,
        kind,
        hours,
        currency,
        unit,
        company,
        share_class,
        days,
        closed,
        values,
        actions,
        known_at,
    )


def _grouped(rows: Iterable[_T], group: Callable[[_T], str]) -> dict[str, Sequence[_T]]:
    """Rows by group, in the order of known times."""
    groups: dict[str, list[_T]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    return {name: sorted(members, key=lambda row: row.known_at) for name, members in groups.items()}


def _known(groups: Mapping[str, Sequence[_T]], moment: datetime) -> dict[str, Sequence[_T]]:
    """The rows of each group that are known at a time."""
    return {name: [row for row in rows if row.known_at <= moment] for name, rows in groups.items()}


def _micros(moment: datetime) -> int:
    """A time in microseconds since 1970."""
    return round(moment.timestamp() * 1e6)
