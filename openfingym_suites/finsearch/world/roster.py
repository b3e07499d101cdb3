"""The companies of the simulated market, with their listings, fiscal years, currencies and accounting standards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from openfingym.errors import UsageError
from openfingym_suites.finsearch.world.calendars import HONG_KONG, NEW_YORK, SHANGHAI, Hours
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.names import INDUSTRIES, STEMS, STEMS_ZH, Industry

FISCAL_ENDS = (12, 12, 12, 12, 1, 3, 6, 9, 12, 5)
"""Last months of the fiscal years of companies listed in the US, in turn."""


@dataclass(frozen=True)
class MarketSize:
    """How large the simulated part is. The defaults give some 300,000 bars and 24,000 pages.

    Attributes:
        first_day: first day of prices; reports go back two years before a listing.
        last_day: last day of prices, reports, statistics and pages.
        us: number of companies listed in the US.
        mainland: number of companies with A shares alone.
        hong_kong: number of companies with shares in Hong Kong alone.
        dual: number of companies with A shares and H shares.
    """

    first_day: date = date(2009, 1, 5)
    last_day: date = date(2026, 5, 29)
    us: int = 30
    mainland: int = 18
    hong_kong: int = 8
    dual: int = 12

    def __post_init__(self) -> None:
        most = len(STEMS_ZH)
        chinese = self.mainland + self.hong_kong + self.dual
        if not (1 <= self.us <= len(STEMS) and self.dual >= 1 and self.mainland >= 1 and self.hong_kong >= 1):
            raise UsageError(f"{self}: expected 1 to {len(STEMS)} US companies, and at least one of every other kind")
        if chinese > most:
            raise UsageError(f"{self}: expected at most {most} companies of Greater China")
        if not date(2009, 1, 5) <= self.first_day <= self.last_day - timedelta(days=400) <= date(2025, 4, 24):
            raise UsageError(f"{self}: expected at least 400 days within 2009-01-05 and 2026-05-29")


@dataclass(frozen=True)
class ShareLine:
    """A class of shares of a company, which trades on one exchange."""

    symbol: str
    share_class: str
    """``common``, ``A`` or ``H``."""
    hours: Hours
    exchange: str
    """MIC of the exchange."""
    currency: str
    """Currency in which it trades."""
    listed: date
    """First day of trading."""
    shares: float
    """Number of shares of this class at the listing."""


@dataclass(frozen=True)
class SimulatedCompany:
    """A company that does not exist."""

    id: str
    name: str
    name_zh: str
    home: str
    """Region: us, cn or hk."""
    industry: Industry
    fiscal_end: int
    """Last month of the fiscal year."""
    currency: str
    """Currency of its reports."""
    standards: tuple[str, ...]
    """Accounting standards of its reports, the main one first."""
    scale: float
    """Whole units of currency in one of the unit of its reports: 1, 1e3 or 1e6."""
    unit: str
    """Unit of its reports in words, such as ``million USD``."""
    lines: tuple[ShareLine, ...]
    """Its shares, the first listed first."""

    @property
    def listed(self) -> date:
        """The day of the first listing."""
        return min(line.listed for line in self.lines)


def companies(size: MarketSize, seed: int) -> tuple[SimulatedCompany, ...]:
    """All companies of a world.

    Args:
        size: how many of each kind there are.
        seed: the number from which every random draw of the world follows.
    """
    return (*_american(size, seed), *_chinese(size, seed))


def _listing(size: MarketSize, number: int, draw: float) -> date:
    """The day of a listing: half of the companies are there from the beginning, others come in the first two thirds.

    Args:
        size: how large the world is.
        number: number of the company among those of its region.
        draw: a random number from 0 to 1.
    """
    if number % 2 == 0:
        return size.first_day
    days = (size.last_day - size.first_day).days * 2 // 3
    return size.first_day + timedelta(days=int(60 + draw * max(days - 60, 1)))


def _american(size: MarketSize, seed: int) -> Iterator[SimulatedCompany]:
    """The companies that are listed in the US."""
    for number, stem in enumerate(STEMS[: size.us]):
        rng = stream(seed, "company", "us", number)
        industry = INDUSTRIES[number % len(INDUSTRIES)]
        ending = industry.endings[int(rng.integers(len(industry.endings)))]
        # Halvern Photonics is HLVP: the first letter, two consonants, and the first letter of the ending.
        letters = [letter for letter in stem.upper() if letter.isalpha()]
        ticker = letters[0] + "".join(letter for letter in letters[1:] if letter not in "AEIOUY")[:2] + ending[0]
        thousands = number % 3 == 2
        # Some companies of other countries report in their own currency.
        currency = {7: "EUR", 16: "JPY", 25: "EUR"}.get(number, "USD")
        scale = 1e3 if thousands else 1e6
        exchange = "XNYS" if number % 2 else "XNAS"
        line = ShareLine(
            f"{ticker}.US",
            "common",
            NEW_YORK,
            exchange,
            "USD",
            _listing(size, number, float(rng.uniform())),
            round(float(10 ** rng.uniform(8.0, 9.3)), -5),
        )
        yield SimulatedCompany(
            f"US{number:02d}",
            f"{stem} {ending}",
            "",
            "us",
            industry,
            FISCAL_ENDS[number % len(FISCAL_ENDS)],
            currency,
            ("US GAAP",) if currency == "USD" else ("IFRS",),
            scale,
            f"{'thousand' if thousands else 'million'} {currency}",
            (line,),
        )


def _chinese(size: MarketSize, seed: int) -> Iterator[SimulatedCompany]:
    """The companies of Greater China: with A shares, with shares in Hong Kong, and with both."""
    kinds = ["cn"] * size.mainland + ["hk"] * size.hong_kong + ["dual"] * size.dual
    for number, (kind, (stem, stem_zh)) in enumerate(zip(kinds, STEMS_ZH, strict=False)):
        rng = stream(seed, "company", "cn", number)
        industry = INDUSTRIES[number % len(INDUSTRIES)]
        place = int(rng.integers(len(industry.endings)))
        listed = _listing(size, number, float(rng.uniform()))
        shares = round(float(10 ** rng.uniform(8.7, 9.8)), -6)
        lines = []
        if kind != "hk":
            shanghai = number % 3 != 2
            code = (
                f"66{number:02d}{number * 7 % 90 + 10}.SH" if shanghai else f"33{number:02d}{number * 7 % 90 + 10}.SZ"
            )
            lines.append(ShareLine(code, "A", SHANGHAI, "XSHG" if shanghai else "XSHE", "CNY", listed, shares))
        if kind != "cn":
            # The H shares of a dual listing come 500 days after the A shares, and are three for every ten of them.
            h_listed = listed if kind == "hk" else min(listed + timedelta(days=500), size.last_day - timedelta(days=90))
            h_shares = shares if kind == "hk" else round(shares * 0.3, -6)
            lines.append(
                ShareLine(f"76{number:02d}{number * 3 % 10}.HK", "H", HONG_KONG, "XHKG", "HKD", h_listed, h_shares)
            )
        in_dollars = kind == "hk" and number % 2 == 0
        unit, scale = {"cn": ("CNY", 1.0), "hk": ("thousand CNY", 1e3), "dual": ("million CNY", 1e6)}[kind]
        yield SimulatedCompany(
            f"{'HK' if kind == 'hk' else 'CN'}{number:02d}",
            f"{stem} {industry.endings[place]}",
            f"{stem_zh}{industry.endings_zh[place]}",
            "hk" if kind == "hk" else "cn",
            industry,
            3 if in_dollars else 12,
            "HKD" if in_dollars else "CNY",
            {"cn": ("CAS",), "hk": ("IFRS",), "dual": ("CAS", "IFRS")}[kind],
            scale,
            "thousand HKD" if in_dollars else unit,
            tuple(lines),
        )
