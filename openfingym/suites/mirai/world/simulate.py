"""A simulated world from a seed: its events as rows of an event database, and its articles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.suites.mirai.world.articles import Writer
from openfingym.suites.mirai.world.coverage import cover, mentions
from openfingym.suites.mirai.world.dynamics import Dynamics
from openfingym.suites.mirai.world.geography import make_geography

if TYPE_CHECKING:
    import pandas as pd

BURN_IN = 60
"""Days that pass before the first one, so that a world does not begin at rest."""
SLOT_MINUTES = 15


@dataclass(frozen=True)
class SimulationSize:
    """How large a simulated world is. The defaults give some 70,000 events and 20,000 articles."""

    first_day: date = date(2023, 1, 1)
    days: int = 425
    """To 29 February 2024, as in the paper."""
    pairs: int = 600
    """Pairs of countries that deal with each other of themselves; reactions join others."""
    stories_a_day: float = 8.5
    """Stories of all pairs in calm times, before threads, regimes and announcements add to them."""

    def __post_init__(self) -> None:
        if not (0 < self.days <= 20_000 and 10 <= self.pairs <= 10_000 and 0.0 < self.stories_a_day <= 10_000):
            raise UsageError(f"{self}: expected 1 to 20000 days, 10 to 10000 pairs and up to 10000 stories a day")


@dataclass(frozen=True, eq=False)
class SimulationOutput:
    """What a simulation made, in the form that :mod:`openfingym.suites.mirai.tables` takes."""

    records: pd.DataFrame
    """One row for each mention of an event in an article: day, head, relation, tail, mentions, url, added (UTC)."""
    texts: pd.DataFrame
    """One row for each article: url, title, text."""


def simulate(size: SimulationSize | None = None, *, seed: int = 0) -> SimulationOutput:
    """A world; the same seed and size give the same one.

    Raises:
        UsageError: the size is out of range.
    """
    import pandas as pd

    size = size or SimulationSize()
    root = np.random.SeedSequence(seed)
    places, moves, news, words = (np.random.Generator(np.random.PCG64(part)) for part in root.spawn(4))
    geography = make_geography(size.pairs, places)
    dynamics = Dynamics(geography, size.stories_a_day, moves)
    writer = Writer(geography.countries, size.first_day, int(words.integers(2**63)))
    codes = [country.iso3 for country in geography.countries]
    records: list[tuple[date, str, str, str, int, str, np.datetime64]] = []
    texts: list[tuple[str, str, str]] = []
    for day in range(-BURN_IN, size.days):
        stories = dynamics.stories_of(day)
        if day < 0:
            continue
        articles = cover(stories, news)
        when = size.first_day + timedelta(days=day)
        urls = []
        for number, (title, text, outlet) in enumerate(writer.write(day, articles)):
            urls.append(_url(when, number, title, outlet))
            texts.append((urls[-1], title, text))
        for mention in mentions(articles, news):
            act, slot = mention.act, articles[mention.article].slot
            added = np.datetime64(when, "us") + np.timedelta64(slot * SLOT_MINUTES, "m")
            records.append(
                (when, codes[act.head], act.code, codes[act.tail], mention.count, urls[mention.article], added)
            )
    columns = ["day", "head", "relation", "tail", "mentions", "url", "added"]
    return SimulationOutput(
        pd.DataFrame.from_records(records, columns=columns),
        pd.DataFrame.from_records(texts, columns=["url", "title", "text"]),
    )


def _url(day: date, number: int, title: str, outlet: str) -> str:
    """An address that says what it is: ``.example`` is reserved, and nothing is there."""
    slug = "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split()[:8])
    place = outlet.lower().replace("the ", "").replace(" ", "-")
    return f"https://{place}.simulated.example/{day:%Y/%m/%d}/{number:03d}-{slug}"
