"""The books of the simulated companies: every figure of every quarter, such that statements add up.

All companies are simulated at once: a figure is an array, float64[companies, quarters], in millions of the company's
currency; what a company does not report is not a number. Flows are of the quarter, balances of its end. Quarter 0 is
the state that the first report starts from, and has balances alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.findeepforecast.world.roster import Listed
from openfingym.suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MARKET_SIZE = {"US": 1.5, "CN": 0.9, "HK": 1.0, "JP": 1.0, "UK": 1.1, "DE": 1.6, "FR": 1.6, "SG": 0.6}
PERSISTENCE = 0.6
"""Of what is unusual of a quarter's revenue, the part that is left in the next one."""


@dataclass(eq=False)
class BookDraws:
    """Random numbers of the books: for every figure a stream of its own."""

    seed: int
    kind: str
    shape: tuple[int, int]

    def normal(self, name: str) -> Floats:
        """Standard normal numbers, one for each company and quarter."""
        return stream(self.seed, "books", self.kind, name).standard_normal(self.shape)

    def uniform(self, name: str, low: float = 0.0, high: float = 1.0) -> Floats:
        """A number of each company between two, [companies, 1]."""
        return stream(self.seed, "books", self.kind, name).uniform(low, high, (self.shape[0], 1))

    def has(self, name: str, chance: float) -> NDArray[np.bool_]:
        """Whether a company has something, [companies, 1]."""
        return self.uniform(f"has {name}") < chance

    def lasting(self, name: str, persistence: float) -> Floats:
        """Normal numbers of variance 1 that are like the ones before them."""
        found = self.normal(name)
        for quarter in range(1, self.shape[1]):
            new = found[:, quarter] * np.sqrt(1 - persistence**2)
            found[:, quarter] = persistence * found[:, quarter - 1] + new
        return found


@dataclass(eq=False)
class Ground:
    """What companies of one kind share: their traits and the course of their revenue.

    Attributes:
        firms: the companies.
        draws: random numbers.
        cents: smallest unit of their figures, as parts of one, [companies, 1].
        trend: revenue without what is unusual of a quarter.
        figures: what is made of it, by name of the item.
    """

    firms: Sequence[Listed]
    draws: BookDraws
    cents: Floats
    trend: Floats
    revenue: Floats
    figures: dict[str, Floats] = field(default_factory=dict)

    def rounded(self, values: Floats) -> Floats:
        """In the unit in which the companies report; of all quarters, or of one [companies]."""
        cents = self.cents if values.ndim == 2 else self.cents[:, 0]
        return np.round(values * cents) / cents + 0.0

    def of_sector(self, name: str) -> Floats:
        """A number of each company's sector, [companies, 1]."""
        return np.array([[getattr(firm.sector, name)] for firm in self.firms], np.float64)

    def empty(self) -> Floats:
        """Zeros, [companies, quarters]."""
        return np.zeros(self.draws.shape)


def make_ground(firms: Sequence[Listed], first_number: int, quarters: int, seed: int, kind: str) -> Ground:
    """The ground of some companies.

    Args:
        firms: the companies.
        first_number: number in its year, from 0, of quarter 0.
        quarters: how many quarters there are.
        seed: the world.
        kind: names their random numbers.
    """
    draws = BookDraws(seed, kind, (len(firms), quarters))
    ground = Ground(firms, draws, np.array([[1.0 if firm.economy.code == "JP" else 10.0] for firm in firms]),
                    np.zeros(draws.shape), np.zeros(draws.shape))  # fmt: skip
    sizes = np.array([[MARKET_SIZE[firm.economy.code] * firm.economy.per_dollar] for firm in firms])
    base = sizes * np.clip(2200 * np.exp(1.0 * draws.normal("size")[:, :1]), 120, 60_000)
    growth = ground.of_sector("growth") + 0.05 * draws.normal("growth")[:, :1]
    pattern = stream(seed, "books", kind, "pattern").standard_normal((len(firms), 4))
    pattern -= pattern.mean(axis=1, keepdims=True)
    pattern *= ground.of_sector("season") * draws.uniform("season", 0.3, 1.3)
    time = np.arange(quarters)
    course = growth / 4 * time + pattern[:, (first_number + time) % 4]
    unusual = ground.of_sector("noise") * draws.uniform("noise", 0.8, 2.2) * draws.lasting("revenue", PERSISTENCE)
    ground.trend = base * np.exp(growth / 4 * time)
    ground.revenue = ground.rounded(base * np.exp(course + unusual))
    return ground


def keep_books(firms: Sequence[Listed], first_number: int, quarters: int, seed: int) -> dict[str, Floats]:
    """Every figure of every company, by name of the item; see the module.

    Args:
        firms: the companies, in the order of their numbers.
        first_number: number in its year, from 0, of quarter 0.
        quarters: how many quarters there are, with quarter 0.
        seed: the world.
    """
    from openfingym.suites.findeepforecast.world.banks import bank_books
    from openfingym.suites.findeepforecast.world.businesses import business_books

    figures: dict[str, Floats] = {}
    for kind, make in (("businesses", business_books), ("banks", bank_books)):
        own = [firm for firm in firms if firm.financial == (kind == "banks")]
        if not own:
            continue
        places = [firm.number for firm in own]
        ground = make_ground(own, first_number, quarters, seed, kind)
        make(ground)
        for name, values in ground.figures.items():
            whole = figures.setdefault(name, np.full((len(firms), quarters), np.nan))
            whole[places] = values
    return figures


def per_share(ground: Ground, net: Floats, dividends: Floats, bought: Floats, issued: Floats, price: Floats) -> None:
    """Shares, and figures per share: net income over the mean of the shares at the beginning and at the end."""
    figures, draws = ground.figures, ground.draws
    yearly = np.maximum(4 * net[:, 1:5].mean(axis=1, keepdims=True), 0.04 * ground.revenue[:, :1])
    shares = ground.empty()
    shares[:, :1] = np.round(draws.uniform("multiple", 11, 26) * yearly / price[:, :1], 3)
    for quarter in range(1, draws.shape[1]):
        more = (issued[:, quarter] - bought[:, quarter]) / price[:, quarter]
        shares[:, quarter] = np.round(shares[:, quarter - 1] + np.maximum(more, -0.01 * shares[:, quarter - 1]), 3)
    mean = shares.copy()
    mean[:, 1:] = (shares[:, 1:] + shares[:, :-1]) / 2
    figures["Shares Outstanding"] = shares
    figures["Share Price"] = price
    figures["EPS (Basic)"] = np.round(net / mean, 2) + 0.0
    figures["EPS (Diluted)"] = np.round(net / (mean * draws.uniform("dilution", 1.004, 1.03)), 2) + 0.0
    figures["Dividends Per Share"] = np.where(dividends > 0, np.round(dividends / mean, 4), np.nan)


def prices(ground: Ground) -> Floats:
    """Prices of shares at the ends of quarters."""
    usual = np.array([[{"JP": 2600.0, "HK": 38.0, "CN": 26.0, "SG": 6.0, "UK": 14.0}.get(firm.economy.code, 88.0)]
                      for firm in ground.firms])  # fmt: skip
    steps = 0.015 + 0.09 * ground.draws.normal("price")
    steps[:, 0] = 0.5 * ground.draws.normal("first price")[:, 0]
    return np.round(usual * np.exp(np.cumsum(steps, axis=1)), 2)


def only_where(has: NDArray[np.bool_] | np.bool_, values: Floats) -> Floats:
    """Values of companies that have something; of the others not a number, for they do not report it."""
    return np.where(has, values, np.nan)
