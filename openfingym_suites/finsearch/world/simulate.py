"""Simulating the market from a seed: companies, prices, reports and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openfingym_suites.finsearch.world.equities import PricedLine, price_companies
from openfingym_suites.finsearch.world.indices import PricedIndex, price_indices
from openfingym_suites.finsearch.world.macro import ReleasedFigure, points
from openfingym_suites.finsearch.world.paths import make_paths
from openfingym_suites.finsearch.world.rates import PricedRate, price_rates
from openfingym_suites.finsearch.world.roster import MarketSize, SimulatedCompany, companies
from openfingym_suites.finsearch.world.statements import StatementRow, statement_rows


@dataclass(frozen=True, eq=False)
class SimulatedMarket:
    """A simulated market.

    Attributes:
        size: how large it is.
        seed: the number from which every random draw of it followed.
        companies: its companies.
        lines: the shares of the companies, with prices and actions.
        indices: indices with their levels.
        rates: exchange rates, commodities and futures with their prices.
        reported: every figure of every report, by company in the order of its reports.
        points: every figure of every statistic, with vintages.
    """

    size: MarketSize
    seed: int
    companies: Sequence[SimulatedCompany]
    lines: Sequence[PricedLine]
    indices: Sequence[PricedIndex]
    rates: Sequence[PricedRate]
    reported: Sequence[StatementRow]
    points: Sequence[ReleasedFigure]


def simulate(size: MarketSize | None = None, *, seed: int = 0) -> SimulatedMarket:
    """A simulated market; the same size and seed give the same one.

    Args:
        size: how large it is; None for the default.
        seed: the number from which every random draw follows.
    """
    size = size or MarketSize()
    paths = make_paths(size, seed)
    every = companies(size, seed)
    lines = price_companies(size, seed, paths, every)
    # Each part has streams of random numbers of its own, so that their order does not matter.
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
