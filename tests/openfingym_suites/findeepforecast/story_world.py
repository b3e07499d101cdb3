"""A world of a few made-up companies and the storylines about them: the parts of a KnownWorld that events need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta

from openfingym_suites.findeepforecast.generation.protocols import Week
from openfingym_suites.findeepforecast.problem import ECONOMIES, Figure, ForecastEvent
from openfingym_suites.findeepforecast.world.known import Company, Document, MacroSeries, Published, Ruling, Scheduled
from openfingym_suites.findeepforecast.world.outcomes import decided
from openfingym_suites.findeepforecast.world.stories import story_frames

FIRST_THURSDAY = datetime(2025, 10, 30, tzinfo=UTC)
BEGIN, END = date(2025, 9, 15), date(2026, 4, 9)


def made_up_companies(of_each: int = 12) -> list[Company]:
    return [
        Company(
            f"{economy}{number:03d}", f"Brixholm {number} {economy} Works", economy, ("X 50",), "Energy", "USD", False
        )
        for economy in ECONOMIES
        for number in range(of_each)
    ]


def week_of(number: int) -> Week:
    """A week of the season, from 0 on: generated on Thursday at 08:00 in Singapore, answered until Sunday 23:59."""
    generated = FIRST_THURSDAY + timedelta(weeks=number)
    deadline = generated + timedelta(days=3, hours=15, minutes=59)
    year, week, _ = generated.isocalendar()
    ends = deadline + timedelta(weeks=1)
    return Week(f"{year}-W{week:02d}", *(round(one.timestamp()) * 10**9 for one in (generated, deadline, ends)))


@dataclass
class StoryWorld:
    """A KnownWorld over rows of news and rulings."""

    members: Sequence[Company]
    documents: Sequence[Document]
    rulings: dict[str, tuple[date | None, float | None, datetime]]
    as_of: datetime
    simulated: bool = True
    _nothing: tuple[()] = field(default=(), repr=False)

    @classmethod
    def made(cls, seed: int, *, density: float = 1.0, companies: int = 12, ends: int | None = None) -> StoryWorld:
        members = made_up_companies(companies)
        news, rulings = story_frames(members, BEGIN, END, seed, density=density, ends=ends)
        documents = [
            Document(
                row.id,
                row.published_at.to_pydatetime(),
                row.source,
                row.official,
                row.title,
                row.body,
                row.subject,
                row.story,
            )
            for row in news.itertuples()
        ]
        known = {}
        for row in rulings.itertuples():
            amount = None if row.amount != row.amount else float(row.amount)
            known[row.story] = (row.happened_on or None, amount, row.known_at.to_pydatetime())
        return cls(members, documents, known, datetime(2026, 6, 1, tzinfo=UTC))

    def at(self, moment: datetime) -> StoryWorld:
        return replace(self, as_of=moment, documents=[one for one in self.documents if one.at < moment])

    def companies(self) -> Sequence[Company]:
        return self.members

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        return [one for one in self.documents if begin <= one.at < min(end, self.as_of)]

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        words = set(re.findall(r"\w+", text.lower()))
        its = [one for one in self.documents if subject in (None, one.subject) and one.at < self.as_of]
        return sorted(its, key=lambda one: -len(words & set(re.findall(r"\w+", one.body.lower()))))[:limit]

    def document(self, name: str) -> Document | None:
        return next((one for one in self.documents if one.id == name and one.at < self.as_of), None)

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        happened_on, amount, known_at = self.rulings.get(event.story, (None, None, self.as_of))
        if event.story in self.rulings and known_at <= self.as_of and happened_on and happened_on <= event.by:
            return Ruling(decided(event, happened_on, amount), known_at, "record")
        morning = datetime.combine(event.by + timedelta(days=1), time(6), UTC)
        return Ruling(False, morning, "record") if self.as_of >= morning else None

    def series(self) -> Sequence[MacroSeries]:
        return self._nothing

    def metrics(self, symbol: str) -> Sequence[str]:
        return self._nothing

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        return self._nothing

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        return self._nothing

    def scheduled(self, figure: Figure) -> Scheduled | None:
        return None

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        return self._nothing

    def first_print(self, figure: Figure) -> Published | None:
        return None

    def latest_print(self, figure: Figure) -> Published | None:
        return None
