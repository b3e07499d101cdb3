"""Pages of the web, and the addresses of the simulated ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class WebPage:
    """A row of the table ``pages``, by its columns; it is known from its publication on."""

    url: str
    title: str
    site: str
    language: str
    kind: str
    symbols: list[str]
    published: datetime
    text: str
    flaw: str = ""
    """What is wrong with it; empty for a page that is right."""
    simulated: bool = True

    @property
    def known_at(self) -> datetime:
        """The time from which it is known."""
        return self.published


SITES = {
    "reports": "disclosures.simulated.example",
    "news": "marketwire.simulated.example",
    "news zh": "caijing.simulated.example",
    "data": "quickquotes.simulated.example",
    "data zh": "hangqing.simulated.example",
    "offices": "statistics.simulated.example",
    "guide": "handbook.simulated.example",
    "posts": "board.simulated.example",
    "exchange": "exchange.simulated.example",
}
"""Sites of the simulated web by what they have: the domain ``.example`` is reserved, and nothing is there."""


def address(site: str, day: date, *parts: object) -> str:
    """An address on a site: its day, and words of what the page is about.

    Args:
        site: what the site has, a key of :data:`SITES`.
        day: day of the publication.
        parts: what the page is about; of letters that are no ASCII nothing is left.
    """
    slug = "-".join("".join(letter if letter.isalnum() and letter.isascii() else " " for letter in str(part)).lower()
                    for part in parts)  # fmt: skip
    return f"https://{SITES[site]}/{day:%Y/%m/%d}/{'-'.join(slug.replace('-', ' ').split())}"


def at(day: date, clock: str, zone: str) -> datetime:
    """A time of a day in a time zone, in UTC."""
    return datetime.combine(day, time.fromisoformat(clock), ZoneInfo(zone)).astimezone(UTC)


def later(moment: datetime, minutes: int) -> datetime:
    """The time that is so many minutes later."""
    return moment + timedelta(minutes=minutes)
