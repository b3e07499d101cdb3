"""How large the simulated world is, and the economies that it has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from openfingym.errors import UsageError
from openfingym.suites.finsearch.world.calendars import HONG_KONG, LONDON, NEW_YORK, SHANGHAI, Hours

TOKYO = Hours("XTKS", "Asia/Tokyo", "09:00", "15:30")
FRANKFURT = Hours("XETR", "Europe/Berlin", "09:00", "17:30")
PARIS = Hours("XPAR", "Europe/Paris", "09:00", "17:30")
SINGAPORE = Hours("XSES", "Asia/Singapore", "09:00", "17:00")
FIRST_SEASON, LAST_SEASON = date(2025, 1, 6), date(2025, 12, 1)


@dataclass(frozen=True)
class Economy:
    """An economy of the world.

    Attributes:
        code: its code in :data:`~openfingym.suites.findeepforecast.problem.ECONOMIES`.
        name: its name in questions.
        currency: code of the currency in which its companies report.
        per_dollar: currency units of a US dollar at the beginning, roughly.
        hours: sessions of its exchange, and its time zone.
        report_at: hours of the day at which companies publish their reports, local time.
        delays: days from the end of a quarter to its report, from the first company to the last.
        year_ends: last months of companies' fiscal years, in turn; some are no ends of a quarter of the calendar.
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
        """Its time zone (IANA)."""
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
BY_CODE = {one.code: one for one in ECONOMIES_OF_WORLD}


@dataclass(frozen=True)
class WorldSize:
    """How large it is. The defaults are the paper's: 1,314 companies that are members of nine indices, ten weeks from
    27 October 2025.

    Attributes:
        us, cn, hk, jp, uk, de, fr, sg: companies of each economy. Of those of the US a share is in the NASDAQ 100, and
            some of them in it alone; some of China's are in the HSI too.
        first_day: first day of everything.
        season: Monday of the season's first week.
        weeks: weeks of the season.
        last_day: last day of everything.
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
        if min(counts.values()) < 1 or max(counts.values()) > 900:
            raise UsageError(f"{self}: expected 1 to 900 companies in each economy")
        if not date(2021, 1, 4) <= self.first_day <= self.season - timedelta(days=3 * 365):
            raise UsageError(f"{self}: expected a first day from 2021-01-04 to three years before the season")
        if not self.season + timedelta(weeks=self.weeks + 14) <= self.last_day <= date(2026, 6, 26):
            raise UsageError(f"{self}: expected a last day from 14 weeks after the season to 2026-06-26")

    @classmethod
    def small(cls) -> Self:
        """A world for tests: 45 companies, and all series."""
        return cls(us=14, cn=7, hk=4, jp=7, uk=4, de=3, fr=3, sg=3)

    @property
    def companies(self) -> dict[str, int]:
        """Companies by economy."""
        return {one.code: int(getattr(self, one.code.lower())) for one in ECONOMIES_OF_WORLD}
