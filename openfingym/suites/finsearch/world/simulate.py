"""The simulated part of the world from a seed: companies, prices, reports and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openfingym.suites.finsearch.world.equities import PricedIndex, PricedLine, price_companies, price_indices
from openfingym.suites.finsearch.world.macro import Point, points
from openfingym.suites.finsearch.world.paths import make_paths
from openfingym.suites.finsearch.world.rates import PricedRate, price_rates
from openfingym.suites.finsearch.world.roster import MarketSize, SimulatedCompany, companies
from openfingym.suites.finsearch.world.statements import StatementRow, statement_rows


@dataclass(frozen=True, eq=False)
class SimulatedMarket:
    """What a simulation made.

    Attributes:
        size: how large it is.
        seed: the world.
        companies: who there is.
        lines: their shares, with prices and actions.
        indices: indices with prices.
        rates: exchange rates, commodities and futures with prices.
        reported: every figure of every report.
        points: every figure of every statistic.
    """

    size: MarketSize
    seed: int
    companies: Sequence[SimulatedCompany]
    lines: Sequence[PricedLine]
    indices: Sequence[PricedIndex]
    rates: Sequence[PricedRate]
    reported: Sequence[StatementRow]
    points: Sequence[Point]


def simulate(size: MarketSize | None = None, *, seed: int = 0) -> SimulatedMarket:
    """A world; the same seed and size give the same one."""
    size = size or MarketSize()
    paths = make_paths(size, seed)
    every = companies(size, seed)
    lines = price_companies(size, seed, paths, every)
    return SimulatedMarket(
        size,
        seed,
        every,
        lines,
        price_indices(size, seed, paths, lines),
        price_rates(size, seed, paths),
        statement_rows(size, seed, every, lines),
        points(size, seed, paths),
    )
