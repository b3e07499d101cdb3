"""The companies of the simulated world: members of nine indices, with their sectors and fiscal years."""

from __future__ import annotations

from dataclasses import dataclass

from openfingym_suites.findeepforecast.world.names import Symbols, full_name, stems
from openfingym_suites.findeepforecast.world.size import BY_CODE, Economy, WorldSize
from openfingym_suites.finsearch.world.draws import stream

INDICES = {"UK": "FTSE 100", "DE": "DAX 40", "FR": "CAC 40", "JP": "Nikkei 225", "CN": "CSI 300", "HK": "HSI",
           "SG": "STI"}  # fmt: skip
"""The index of each economy but the US, which has the S&P 500 and the NASDAQ 100."""


@dataclass(frozen=True)
class Sector:
    """A sector, and how its companies do business.

    Attributes:
        name: name of the sector.
        endings: words with which the names of its companies may end.
        margin: share of revenue that remains after the cost of revenue.
        overhead: share of revenue spent on selling and administration.
        research: share of revenue spent on research; 0 if the sector reports none.
        growth: growth of revenue a year, as a share.
        season: how much the quarters of a year differ regularly, as a share of revenue.
        noise: how much the revenue of a quarter differs from its regular course, as a share of it.
        stock: inventory, in days of the cost of revenue; 0 if the sector holds none.
        plant: property, plant and equipment, in times the revenue of a quarter.
    """

    name: str
    endings: tuple[str, ...]
    margin: float
    overhead: float
    research: float
    growth: float
    season: float
    noise: float
    stock: float
    plant: float


BANKS = "Financials"
"""Name of the sector whose companies are banks. Banks have books of their own, so most of its figures are 0."""
SECTORS = (
    Sector("Information Technology", ("Devices", "Systems", "Software"), 0.56, 0.18, 0.14, 0.10, 0.05, 0.022, 55, 1.2),
    Sector("Industrials", ("Engineering", "Motion", "Works"), 0.31, 0.14, 0.03, 0.05, 0.05, 0.020, 80, 1.6),
    Sector("Consumer Discretionary", ("Brands", "Stores", "Motors"), 0.38, 0.22, 0.02, 0.05, 0.14, 0.025, 75, 1.5),
    Sector(BANKS, ("Bancorp", "Bank", "Financial", "Trust"), 0.0, 0.0, 0.0, 0.05, 0.01, 0.018, 0, 0.9),
    Sector("Health Care", ("Therapeutics", "Medical", "Diagnostics"), 0.61, 0.26, 0.13, 0.07, 0.02, 0.016, 95, 1.1),
    Sector("Consumer Staples", ("Foods", "Home", "Provisions"), 0.36, 0.20, 0.01, 0.04, 0.04, 0.012, 60, 1.4),
    Sector("Energy", ("Energy", "Resources", "Petroleum"), 0.27, 0.07, 0.004, 0.02, 0.05, 0.050, 35, 3.5),
    Sector("Communication Services", ("Media", "Networks", "Telecom"), 0.54, 0.25, 0.04, 0.04, 0.04, 0.012, 0, 2.6),
    Sector("Utilities", ("Power", "Water", "Grid"), 0.34, 0.09, 0.0, 0.03, 0.16, 0.020, 20, 6.0),
    Sector("Materials", ("Chemicals", "Metals", "Minerals"), 0.26, 0.10, 0.015, 0.03, 0.05, 0.032, 70, 2.4),
)  # fmt: skip


@dataclass(frozen=True)
class Listed:
    """A company of the world, with the traits from which its books are made.

    Attributes:
        number: place of the company among all companies of the world, from 0.
        symbol: ticker with the code of the economy, such as ``HLMR.US``.
        name: name of the company.
        economy: the economy in which the company is listed.
        indices: names of the indices of which it is a member.
        sector: the sector of the company.
        year_end: the month with which its fiscal year ends, from 1 to 12.
    """

    number: int
    symbol: str
    name: str
    economy: Economy
    indices: tuple[str, ...]
    sector: Sector
    year_end: int

    @property
    def financial(self) -> bool:
        """Whether it is a bank."""
        return self.sector.name == BANKS

    @property
    def units_per_million(self) -> float:
        """How many of the units in which it reports make up a million: Japanese companies report whole millions, all
        others tenths of a million.
        """
        return 1.0 if self.economy.code == "JP" else 10.0

    @property
    def shift(self) -> int:
        """How many months after the calendar's quarters its own quarters end; -1 is a month before them.

        A quarter has the name of the calendar quarter in which most of it lies: one that ends in October is a third
        quarter.
        """
        return (0, 1, -1)[self.year_end % 3]


def listed(size: WorldSize, seed: int) -> tuple[Listed, ...]:
    """Draw the companies of a world.

    Args:
        size: how many companies each economy has.
        seed: the number from which every random draw of the world follows.

    Returns:
        The companies, economy by economy, in the order of their numbers.
    """
    words = dict(stems(seed))
    symbols = Symbols()
    companies: list[Listed] = []
    for code, count in size.companies.items():
        economy = BY_CODE[code]
        rng = stream(seed, "roster", code)
        # Sectors take turns, so that each economy has companies of all of them.
        first_sector = int(rng.integers(len(SECTORS)))
        for number in range(count):
            stem = next(words[code])
            sector = SECTORS[(first_sector + number) % len(SECTORS)]
            name = full_name(code, stem, sector.endings[int(rng.integers(len(sector.endings)))])
            year_end = economy.year_ends[int(rng.integers(len(economy.year_ends)))]
            if sector.name == BANKS:
                # Banks keep the quarters of the calendar.
                year_end = 3 if code == "JP" else 12
            companies.append(
                Listed(
                    len(companies),
                    symbols.of(code, stem, number),
                    name,
                    economy,
                    _indices(code, number, count),
                    sector,
                    year_end,
                )
            )
    return tuple(companies)


def _indices(code: str, number: int, count: int) -> tuple[str, ...]:
    """The indices of which a company is a member.

    In the default world 84 of 516 US companies are in both indices and 16 in the NASDAQ 100 alone, and 22 of 300
    Chinese companies are in the HSI too. Other worlds keep these shares.

    Args:
        code: code of the economy.
        number: place of the company among those of its economy, from 0.
        count: how many companies the economy has.
    """
    if code == "US":
        alone, both = _share(count, 16, 516), _share(count, 84, 516)
        if number < alone:
            return ("NASDAQ 100",)
        return ("S&P 500", "NASDAQ 100") if number < alone + both else ("S&P 500",)
    if code == "CN" and number < _share(count, 22, 300):
        return ("CSI 300", "HSI")
    return (INDICES[code],)


def _share(count: int, part: int, whole: int) -> int:
    return round(count * part / whole)
