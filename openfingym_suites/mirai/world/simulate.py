"""Simulating a world of countries from a seed: its events as rows of an event database, and its articles."""

from __future__ import annotations

import copy
import functools
import threading
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym_suites.mirai.world.articles import Writer
from openfingym_suites.mirai.world.coverage import cover, mentions
from openfingym_suites.mirai.world.dynamics import Dynamics
from openfingym_suites.mirai.world.geography import make_geography

if TYPE_CHECKING:
    import pandas as pd

BURN_IN = 60
"""Days that are simulated before the first one, so that a world begins with crises, threads and announcements."""
SLOT_MINUTES = 15
"""Minutes of a slot: GDELT adds a file of new rows every quarter of an hour."""


@dataclass(frozen=True)
class SimulationSize:
    """How large a simulated world is. The defaults give some 70,000 events and 20,000 articles."""

    first_day: date = date(2023, 1, 1)
    """The first day that has events."""
    days: int = 425
    """How many days have events. The default ends on 29 February 2024, as in the paper."""
    pairs: int = 600
    """How many pairs of countries have stories of their own; reactions make events between other countries too."""
    stories_a_day: float = 8.5
    """How many stories all pairs together have on a calm day, before threads, regimes and announcements add to them."""

    def __post_init__(self) -> None:
        if not (0 < self.days <= 20_000 and 10 <= self.pairs <= 10_000 and 0.0 < self.stories_a_day <= 10_000):
            raise UsageError(f"{self}: expected 1 to 20000 days, 10 to 10000 pairs and up to 10000 stories a day")


@dataclass(frozen=True)
class Continuation:
    """How a world goes on from a day, otherwise than by its own seed; until then it is the same to the last byte."""

    first_day: date
    """The first day that is drawn anew."""
    seed: int
    """The number from which everything follows from that day on; not negative, of any size."""


@dataclass(frozen=True, eq=False)
class SimulationOutput:
    """What a simulation produced, in the form that :mod:`openfingym_suites.mirai.tables` takes."""

    records: pd.DataFrame
    """One row for each mention of an event in an article: day, head, relation, tail, mentions, url, added (UTC)."""
    texts: pd.DataFrame
    """One row for each article: url, title, text."""


def simulate(
    size: SimulationSize | None = None, *, seed: int = 0, anew: Continuation | None = None
) -> SimulationOutput:
    """Simulate a world.

    Args:
        size: how large the world is; None for the defaults of :class:`SimulationSize`.
        seed: the number from which every random draw of the world follows.
        anew: how the world goes on from a day otherwise than by its seed; None if it does not.

    Returns:
        The events and articles of the world; the same for the same arguments.

    Raises:
        UsageError: the size is out of range, or the world is to go on otherwise from a day that it does not have.
    """
    import pandas as pd

    size = size or SimulationSize()
    if anew is None:
        return _Simulation(size, seed).until(size.days)
    turns = (anew.first_day - size.first_day).days
    if not 0 < turns < size.days:
        raise UsageError(f"a world of {size.days} days from {size.first_day} cannot go on anew from {anew.first_day}")
    # Two threads that ask for the same past wait for one that makes it.
    with _BEGINNING:
        begun, known = _begun(size, seed, turns)
    # A copy, since what is kept must stay as it is.
    going_on = copy.deepcopy(begun)
    going_on.draw_anew(anew.seed)
    new = going_on.until(size.days)
    return SimulationOutput(
        pd.concat([known.records, new.records], ignore_index=True),
        pd.concat([known.texts, new.texts], ignore_index=True),
    )


class _Simulation:
    """A world that moves on day by day.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
    """

    def __init__(self, size: SimulationSize, seed: int) -> None:
        # Each stage has a stream of its own, so that what one stage draws does not shift the draws of the others.
        places, moves, self._news, words = _streams(seed, 4)
        geography = make_geography(size.pairs, places)
        self._first = size.first_day
        self._day = -BURN_IN
        self._dynamics = Dynamics(geography, size.stories_a_day, moves)
        self._writer = Writer(geography.countries, size.first_day, int(words.integers(2**63)))
        self._codes = [country.iso3 for country in geography.countries]

    def draw_anew(self, seed: int) -> None:
        """From the next day on, draw everything by another seed."""
        moves, self._news, words = _streams(seed, 3)
        self._dynamics.draw_anew(moves)
        self._writer.draw_anew(int(words.integers(2**63)))

    def until(self, end: int) -> SimulationOutput:
        """Move on to a day, counted from 0 at the first day that has events.

        Returns:
            The events and articles of the days since the last call, without that day.
        """
        import pandas as pd

        codes, news = self._codes, self._news
        records: list[tuple[date, str, str, str, int, str, np.datetime64]] = []
        texts: list[tuple[str, str, str]] = []
        for day in range(self._day, end):
            stories = self._dynamics.stories_of(day)
            # Days of the burn-in move the world on, but nobody writes of them.
            if day < 0:
                continue
            articles = cover(stories, news)
            today = self._first + timedelta(days=day)
            urls = []
            for number, (title, text, outlet) in enumerate(self._writer.write(day, articles)):
                urls.append(_url(today, number, title, outlet))
                texts.append((urls[-1], title, text))
            for mention in mentions(articles, news):
                act, slot = mention.act, articles[mention.article].slot
                added = np.datetime64(today, "us") + np.timedelta64(slot * SLOT_MINUTES, "m")
                records.append(
                    (today, codes[act.head], act.code, codes[act.tail], mention.count, urls[mention.article], added)
                )
        self._day = end
        columns = ["day", "head", "relation", "tail", "mentions", "url", "added"]
        return SimulationOutput(
            pd.DataFrame.from_records(records, columns=columns),
            pd.DataFrame.from_records(texts, columns=["url", "title", "text"]),
        )


_BEGINNING = threading.Lock()


@functools.lru_cache(maxsize=4)
def _begun(size: SimulationSize, seed: int, days: int) -> tuple[_Simulation, SimulationOutput]:
    """A world after so many days, and what there was in them; kept, since many worlds go on from the same day."""
    simulation = _Simulation(size, seed)
    return simulation, simulation.until(days)


def _streams(seed: int, count: int) -> list[np.random.Generator]:
    """Sources of randomness that follow from a seed and do not depend on each other."""
    return [np.random.Generator(np.random.PCG64(part)) for part in np.random.SeedSequence(seed).spawn(count)]


def _url(day: date, number: int, title: str, outlet: str) -> str:
    """The address of an article, in a domain that says ``simulated``; ``.example`` is reserved and has no hosts."""
    slug = "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split()[:8])
    host = outlet.lower().replace("the ", "").replace(" ", "-")
    return f"https://{host}.simulated.example/{day:%Y/%m/%d}/{number:03d}-{slug}"
