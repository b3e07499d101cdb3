"""The books of the simulated companies: every figure of every quarter, such that statements add up.

All companies are simulated at once. A figure is an array float64[companies, quarters], in millions of the company's
currency, and NaN where a company does not report it. Flows are those of the quarter, balances those of its last day.
Quarter 0 is the state from which the first report starts; only its balances mean anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.findeepforecast.world.roster import Listed
from openfingym_suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MARKET_SIZE = {"US": 1.5, "CN": 0.9, "HK": 1.0, "JP": 1.0, "UK": 1.1, "DE": 1.6, "FR": 1.6, "SG": 0.6}
"""How large the companies of an economy are, relative to those of the others."""
PERSISTENCE = 0.6
"""The share of a quarter's unusual revenue that is left in the next quarter."""


@dataclass(eq=False)
class BookDraws:
    """Random numbers of the books. Every name has a stream of its own, so a new figure changes no other."""

    seed: int
    """The number from which every random draw of the world follows."""
    kind: str
    """Kind of companies, ``businesses`` or ``banks``, which is part of every name."""
    shape: tuple[int, int]
    """Number of companies and number of quarters."""

    def normal(self, name: str) -> Floats:
        """Independent standard normal numbers, float64[companies, quarters]."""
        return stream(self.seed, "books", self.kind, name).standard_normal(self.shape)

    def uniform(self, name: str, low: float = 0.0, high: float = 1.0) -> Floats:
        """A number between ``low`` and ``high`` for each company, float64[companies, 1]."""
        return stream(self.seed, "books", self.kind, name).uniform(low, high, (self.shape[0], 1))

    def has(self, name: str, chance: float) -> NDArray[np.bool_]:
        """Whether each company has something, bool[companies, 1].

        Args:
            name: what it is.
            chance: the probability that a company has it.
        """
        return self.uniform(f"has {name}") < chance

    def lasting(self, name: str, persistence: float) -> Floats:
        """Standard normal numbers, each correlated with the one of the quarter before, float64[companies, quarters].

        Args:
            name: what the numbers are for.
            persistence: the correlation of two quarters in turn, from 0 to 1.
        """
        values = self.normal(name)
        for quarter in range(1, self.shape[1]):
            # The share of what is new that keeps the variance at 1.
            new = values[:, quarter] * np.sqrt(1 - persistence**2)
            values[:, quarter] = persistence * values[:, quarter - 1] + new
        return values


@dataclass(eq=False)
class CompanyGroup:
    """The companies of one kind, with the revenue that all their other figures start from.

    Attributes:
        firms: the companies.
        draws: random numbers of their books.
        units_per_million: how many of the units in which a company reports make up a million, float64[companies, 1].
        trend: revenue as it would be without seasons and surprises, float64[companies, quarters].
        revenue: revenue as it is, float64[companies, quarters].
        figures: the figures that are made so far, by name of the item; each float64[companies, quarters].
    """

    firms: Sequence[Listed]
    draws: BookDraws
    units_per_million: Floats
    trend: Floats
    revenue: Floats
    figures: dict[str, Floats] = field(default_factory=dict)

    def rounded(self, values: Floats) -> Floats:
        """Values rounded to the unit in which each company reports.

        Args:
            values: values of all quarters, float64[companies, quarters], or of one quarter, float64[companies].
        """
        units = self.units_per_million if values.ndim == 2 else self.units_per_million[:, 0]
        # Adding 0.0 turns -0.0, as which a small loss may be rounded, into 0.0.
        return np.round(values * units) / units + 0.0

    def of_sector(self, name: str) -> Floats:
        """A number of each company's sector, float64[companies, 1].

        Args:
            name: name of the sector's attribute.
        """
        return np.array([[getattr(firm.sector, name)] for firm in self.firms], np.float64)

    def empty(self) -> Floats:
        """Zeros, float64[companies, quarters]."""
        return np.zeros(self.draws.shape)


def make_group(firms: Sequence[Listed], first_number: int, quarters: int, seed: int, kind: str) -> CompanyGroup:
    """Draw the revenue of companies of one kind.

    Args:
        firms: the companies.
        first_number: place of quarter 0 in its calendar year, from 0 to 3.
        quarters: how many quarters there are.
        seed: the number from which every random draw of the world follows.
        kind: kind of the companies, which keeps their random numbers apart from those of others.
    """
    draws = BookDraws(seed, kind, (len(firms), quarters))
    units = np.array([[firm.units_per_million] for firm in firms])
    group = CompanyGroup(firms, draws, units, np.zeros(draws.shape), np.zeros(draws.shape))
    # Revenue of a quarter is lognormal around 2,200 million dollars, times the size of the market, in local currency.
    sizes = np.array([[MARKET_SIZE[firm.economy.code] * firm.economy.per_dollar] for firm in firms])
    base = sizes * np.clip(2200 * np.exp(1.0 * draws.normal("size")[:, :1]), 120, 60_000)
    growth = group.of_sector("growth") + 0.05 * draws.normal("growth")[:, :1]
    # The regular difference of each quarter of the year; the four of a company add up to nothing.
    pattern = stream(seed, "books", kind, "pattern").standard_normal((len(firms), 4))
    pattern -= pattern.mean(axis=1, keepdims=True)
    pattern *= group.of_sector("season") * draws.uniform("season", 0.3, 1.3)
    time = np.arange(quarters)
    course = growth / 4 * time + pattern[:, (first_number + time) % 4]
    # What no regularity explains, a part of which continues in the next quarter.
    unusual = group.of_sector("noise") * draws.uniform("noise", 0.8, 2.2) * draws.lasting("revenue", PERSISTENCE)
    group.trend = base * np.exp(growth / 4 * time)
    group.revenue = group.rounded(base * np.exp(course + unusual))
    return group


def keep_books(firms: Sequence[Listed], first_number: int, quarters: int, seed: int) -> dict[str, Floats]:
    """Draw every figure of every company.

    Args:
        firms: the companies, in the order of their numbers.
        first_number: place of quarter 0 in its calendar year, from 0 to 3.
        quarters: how many quarters there are, quarter 0 included.
        seed: the number from which every random draw of the world follows.

    Returns:
        The figures by name of the item, each float64[companies, quarters]; see the module.
    """
    # Here, because both import this module.
    from openfingym_suites.findeepforecast.world.banks import bank_books
    from openfingym_suites.findeepforecast.world.businesses import business_books

    figures: dict[str, Floats] = {}
    for kind, make in (("businesses", business_books), ("banks", bank_books)):
        own = [firm for firm in firms if firm.financial == (kind == "banks")]
        if not own:
            continue
        places = [firm.number for firm in own]
        group = make_group(own, first_number, quarters, seed, kind)
        make(group)
        for name, values in group.figures.items():
            # NaN for companies of the other kind, which do not report the item.
            of_all = figures.setdefault(name, np.full((len(firms), quarters), np.nan))
            of_all[places] = values
    return figures


def per_share(
    group: CompanyGroup, net: Floats, dividends: Floats, bought: Floats, issued: Floats, price: Floats
) -> None:
    """Fill in shares and figures per share.

    Earnings and dividends per share are over the mean of the shares at the beginning and at the end of the quarter. All
    arrays are float64[companies, quarters].

    Args:
        group: the companies, whose figures are filled in.
        net: net income.
        dividends: dividends paid.
        bought: cash spent on buying back shares.
        issued: cash that new shares brought in.
        price: price of a share at the end of each quarter.
    """
    figures, draws = group.figures, group.draws
    # So many shares that the price is 11 to 26 times the first year's earnings, of which a loss is no measure.
    yearly = np.maximum(4 * net[:, 1:5].mean(axis=1, keepdims=True), 0.04 * group.revenue[:, :1])
    shares = group.empty()
    shares[:, :1] = np.round(draws.uniform("multiple", 11, 26) * yearly / price[:, :1], 3)
    for quarter in range(1, draws.shape[1]):
        # At most 1 % of the shares are retired in a quarter, whatever was spent: a falling price must not leave none.
        more = (issued[:, quarter] - bought[:, quarter]) / price[:, quarter]
        shares[:, quarter] = np.round(shares[:, quarter - 1] + np.maximum(more, -0.01 * shares[:, quarter - 1]), 3)
    mean = shares.copy()
    mean[:, 1:] = (shares[:, 1:] + shares[:, :-1]) / 2
    figures["Shares Outstanding"] = shares
    figures["Share Price"] = price
    figures["EPS (Basic)"] = np.round(net / mean, 2) + 0.0
    figures["EPS (Diluted)"] = np.round(net / (mean * draws.uniform("dilution", 1.004, 1.03)), 2) + 0.0
    figures["Dividends Per Share"] = np.where(dividends > 0, np.round(dividends / mean, 4), np.nan)


def prices(group: CompanyGroup) -> Floats:
    """Draw the prices of shares at the ends of quarters, float64[companies, quarters], in the companies' currencies.

    They are random walks around usual prices of the economy, and do not depend on what the companies earn.
    """
    usual = np.array([[{"JP": 2600.0, "HK": 38.0, "CN": 26.0, "SG": 6.0, "UK": 14.0}.get(firm.economy.code, 88.0)]
                      for firm in group.firms])  # fmt: skip
    steps = 0.015 + 0.09 * group.draws.normal("price")
    steps[:, 0] = 0.5 * group.draws.normal("first price")[:, 0]
    return np.round(usual * np.exp(np.cumsum(steps, axis=1)), 2)


def only_where(has: NDArray[np.bool_] | np.bool_, values: Floats) -> Floats:
    """The values of companies that have something, and NaN for the others, which do not report it."""
    return np.where(has, values, np.nan)
