"""The size of the simulated world, and its economies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from openfingym.errors import UsageError
from openfingym_suites.finsearch.world.calendars import HONG_KONG, LONDON, NEW_YORK, SHANGHAI, Hours

TOKYO = Hours("XTKS", "Asia/Tokyo", "09:00", "15:30")
FRANKFURT = Hours("XETR", "Europe/Berlin", "09:00", "17:30")
PARIS = Hours("XPAR", "Europe/Paris", "09:00", "17:30")
SINGAPORE = Hours("XSES", "Asia/Singapore", "09:00", "17:00")
LAST_TRADING_DAY = date(2026, 6, 26)
"""The last day for which the exchanges' holidays are sure to be known; their calendars end with June 2026."""
MOST_COMPANIES = 900
"""The most companies of an economy. Symbols of digits are only different for the first 997 (see ``names``)."""


@dataclass(frozen=True)
class Economy:
    """An economy of the world.

    Attributes:
        code: code of the economy, one of :data:`~openfingym_suites.findeepforecast.problem.ECONOMIES`.
        name: name of the economy in questions.
        currency: code of the currency in which its companies report.
        per_dollar: price of a US dollar in that currency when the world begins, roughly.
        hours: days and hours at which its exchange is open, with its time zone.
        report_at: times of day at which companies publish their reports, in local time; each company keeps to one.
        delays: the fewest and the most days from the end of a quarter to a company's report on it.
        year_ends: months with which fiscal years end, from 1 to 12; a company's is drawn from these, so that a month
            that stands more often is likelier. Some are not the last month of a calendar quarter.
    """

    code: str
    name: str
    currency: str
    per_dollar: float
    hours: Hours
    report_at: tuple[str, ...]
    delays: tuple[int, int]
    year_ends: tuple[int, ...]

    @property
    def zone(self) -> str:
        """Name of its time zone, such as ``Asia/Tokyo``."""
        return self.hours.zone


ECONOMIES_OF_WORLD = (
    Economy("US", "United States", "USD", 1.0, NEW_YORK, ("07:00", "08:00", "16:05", "16:15"), (26, 52),
            (12, 12, 12, 9, 12, 6, 12, 12, 3, 1, 12, 12, 10, 12, 12, 12)),
    Economy("CN", "China", "CNY", 7.1, SHANGHAI, ("17:30", "18:30", "20:00"), (25, 50), (12,)),
    Economy("HK", "Hong Kong", "HKD", 7.79, HONG_KONG, ("12:30", "16:45", "18:00"), (34, 58), (12, 12, 3, 12, 6)),
    Economy("JP", "Japan", "JPY", 148.0, TOKYO, ("13:00", "15:45", "16:30"), (30, 52), (3, 3, 3, 12, 3, 2, 3, 3)),
    Economy("UK", "United Kingdom", "GBP", 0.76, LONDON, ("07:00",), (32, 66), (12, 12, 3, 12, 6, 1)),
    Economy("DE", "Germany", "EUR", 0.88, FRANKFURT, ("07:00", "07:30"), (22, 46), (12, 12, 9, 12)),
    Economy("FR", "France", "EUR", 0.88, PARIS, ("07:00", "17:45"), (28, 56), (12, 12, 12, 6)),
    Economy("SG", "Singapore", "SGD", 1.31, SINGAPORE, ("07:30", "17:30"), (30, 52), (12, 12, 3)),
)  # fmt: skip
BY_CODE = {economy.code: economy for economy in ECONOMIES_OF_WORLD}


@dataclass(frozen=True)
class WorldSize:
    """The size of a world. The defaults are the paper's: 1,314 companies that are members of nine indices, and ten
    weeks from 27 October 2025.

    Attributes:
        us: how many companies the United States have; a share of them is in the NASDAQ 100, some of these in it alone.
        cn: how many companies China has; some of them are in the HSI too.
        hk: how many companies Hong Kong has.
        jp: how many companies Japan has.
        uk: how many companies the United Kingdom has.
        de: how many companies Germany has.
        fr: how many companies France has.
        sg: how many companies Singapore has.
        first_day: the first day of the world; nothing is known of the time before.
        season: the Monday of the season's first week.
        weeks: how many weeks the season has.
        last_day: the last day of the world, by which the season's questions are decided.
    """

    us: int = 516
    cn: int = 300
    hk: int = 63
    jp: int = 225
    uk: int = 100
    de: int = 40
    fr: int = 40
    sg: int = 30
    first_day: date = date(2022, 1, 3)
    season: date = date(2025, 10, 27)
    weeks: int = 10
    last_day: date = date(2026, 5, 29)

    def __post_init__(self) -> None:
        counts = self.companies
        if min(counts.values()) < 1 or max(counts.values()) > MOST_COMPANIES:
            raise UsageError(f"{self}: expected 1 to {MOST_COMPANIES} companies in each economy")
        # Three years, so that every series and company has a past to forecast from.
        if not date(2021, 1, 4) <= self.first_day <= self.season - timedelta(days=3 * 365):
            raise UsageError(f"{self}: expected a first day from 2021-01-04 to three years before the season")
        # Fourteen weeks: questions ask about a day at most 92 days after they are generated.
        if not self.season + timedelta(weeks=self.weeks + 14) <= self.last_day <= LAST_TRADING_DAY:
            raise UsageError(f"{self}: expected a last day from 14 weeks after the season to {LAST_TRADING_DAY}")

    @classmethod
    def small(cls) -> Self:
        """A world for tests: 45 companies, and all series."""
        return cls(us=14, cn=7, hk=4, jp=7, uk=4, de=3, fr=3, sg=3)

    @property
    def companies(self) -> dict[str, int]:
        """How many companies each economy has, by its code."""
        return {economy.code: int(getattr(self, economy.code.lower())) for economy in ECONOMIES_OF_WORLD}
