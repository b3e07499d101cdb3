"""What the writers of pages know: the tables, and nothing that they do not say; all of it, or as of a time.

Pages are written from facts alone. Those of a page that is published at a time are the facts known then, so facts from
which everything later was deleted make the same pages up to their time; a test holds them to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from openfingym.suites.finsearch.world.calendars import ExchangeSessions, Hours
from openfingym.suites.finsearch.world.equities import PricedIndex, Review, ShareAction
from openfingym.suites.finsearch.world.frames import after_close, before_opening
from openfingym.suites.finsearch.world.macro import BALANCE, DAILY, STATISTICS, Point
from openfingym.suites.finsearch.world.rates import PricedRate
from openfingym.suites.finsearch.world.roster import SimulatedCompany
from openfingym.suites.finsearch.world.statements import StatementRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.finsearch.world.simulate import SimulatedMarket

_T = TypeVar("_T", StatementRow, Point)
Key = tuple[str, str, str, date | None, date]


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of an instrument, with what it is called."""

    symbol: str
    name: str
    name_zh: str
    kind: str
    hours: Hours
    currency: str
    unit: str
    company: SimulatedCompany | None
    share_class: str
    days: tuple[date, ...]
    closed: NDArray[np.int64]
    """Microseconds since 1970 of each close, in order."""
    values: NDArray[np.float64]
    actions: tuple[tuple[ShareAction, datetime], ...]
    """Splits and dividends with the time of their announcement."""
    known_at: datetime

    def until(self, moment: datetime) -> int:
        """How many sessions were closed at a time."""
        return int(np.searchsorted(self.closed, _micros(moment), side="right"))

    def close_at(self, place: int) -> datetime:
        """When a session closed."""
        return datetime.fromtimestamp(int(self.closed[place]) / 1e6, UTC)


@dataclass(frozen=True, eq=False)
class Facts:
    """All tables, as far as they are known.

    Attributes:
        seed: the world, for the writers' own chance.
        prices: prices by symbol.
        reported: rows of reports by company, in the order of known times.
        points: figures of statistics by series, in that order.
        reviews: reviews of indices, each with its symbol and the time of its announcement.
        companies: companies by id, of which anything is known.
        first_day: first day of the world.
        last_day: last day on which pages are written.
    """

    seed: int
    prices: Mapping[str, Prices]
    reported: Mapping[str, Sequence[StatementRow]]
    points: Mapping[str, Sequence[Point]]
    reviews: Sequence[tuple[str, Review, datetime]]
    companies: Mapping[str, SimulatedCompany]
    first_day: date
    last_day: date

    def until(self, moment: datetime) -> Facts:
        """Without anything that became known after a time."""
        prices = {}
        for symbol, one in self.prices.items():
            if one.known_at <= moment:
                count = one.until(moment)
                acted = tuple(each for each in one.actions if each[1] <= moment)
                prices[symbol] = replace(
                    one, days=one.days[:count], closed=one.closed[:count], values=one.values[:count], actions=acted
                )
        companies = {one.company.id: one.company for one in prices.values() if one.company}
        return replace(
            self,
            prices=prices,
            reported=_known(self.reported, moment),
            points=_known(self.points, moment),
            reviews=[each for each in self.reviews if each[2] <= moment],
            companies={name: company for name, company in self.companies.items() if name in companies},
        )


def facts_of(world: SimulatedMarket) -> Facts:
    """The facts of a world."""
    prices = {}
    for line in world.lines:
        one, company = line.line, line.company
        acted = tuple((action, after_close(action.announced, one.hours)) for action in line.actions)
        prices[one.symbol] = _prices(
            one.symbol, company.name, company.name_zh, "stock", one.hours, one.currency, f"{one.currency} per share",
            line.times, line.bars, company=company, share_class=one.share_class, actions=acted,
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
    """Names in English and Chinese, units and country of the simulated statistics."""
    found = {one.id: (one.name, one.name_zh, one.units, one.country) for one in (*STATISTICS, BALANCE)}
    return found | {one[0]: (one[1], one[2], one[3], one[4]) for one in DAILY}


class Growing:
    """Figures of a company as they become known: of each key, the vintage that was known last.

    Args:
        rows: rows in the order of known times.
    """

    def __init__(self, rows: Sequence[StatementRow]) -> None:
        self._rows = rows
        self._place = 0
        self._latest: dict[Key, StatementRow] = {}

    def at(self, moment: datetime) -> dict[Key, StatementRow]:
        """The figures known at a time, which is not before one that was asked for already."""
        while self._place < len(self._rows) and self._rows[self._place].known_at <= moment:
            row = self._rows[self._place]
            self._latest[key_of(row)] = row
            self._place += 1
        return self._latest


def key_of(row: StatementRow) -> Key:
    """What a row is about."""
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
) -> Prices:
    days = tuple(day.date() for day in times.days)
    closed = times.close_at.as_unit("us").asi8.astype(np.int64)
    known_at = before_opening(days[0], hours)
    return Prices(symbol, name, name_zh, kind, hours, currency, unit, company, share_class, days, closed, values,
                  actions, known_at)  # fmt: skip


def _grouped(rows: Iterable[_T], group: Callable[[_T], str]) -> dict[str, Sequence[_T]]:
    found: dict[str, list[_T]] = {}
    for row in rows:
        found.setdefault(group(row), []).append(row)
    return {name: sorted(each, key=lambda row: row.known_at) for name, each in found.items()}


def _known(groups: Mapping[str, Sequence[_T]], moment: datetime) -> dict[str, Sequence[_T]]:
    return {name: [row for row in rows if row.known_at <= moment] for name, rows in groups.items()}


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6)
