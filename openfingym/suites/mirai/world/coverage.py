"""Which articles a day's stories get, which acts each of them tells, and how often they are mentioned."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from openfingym.suites.mirai.world.story import Act, DayStory

SLOTS = 96
"""Quarters of an hour in a day."""
ALONE = 1.25
"""Importance from which a story has articles of its own; below it, it is in a round-up."""
WRITTEN = 1.45
"""Further articles of a story for each unit of importance above that."""
ROUND_UP = 7
"""Stories of a round-up."""
MOST_ARTICLES = 14
REACTION = 0.06
"""How much is made of a reaction, beside the story."""
MENTIONS = 51
"""The fewest mentions of an act in all articles of its day: one more than the threshold of the paper."""


@dataclass(frozen=True)
class Coverage:
    """An article that is to be written."""

    slot: int
    """Quarter of an hour of its day, from 0, in which it was found."""
    stories: tuple[DayStory, ...]
    """What it tells of; one, or several of a round-up."""
    acts: tuple[Act, ...]
    """The acts in it, the main one first."""

    @property
    def is_round_up(self) -> bool:
        """Whether it tells of several stories."""
        return len(self.stories) > 1


@dataclass(frozen=True)
class Mention:
    """How often one article of a day mentions an act, as a row of the event database."""

    act: Act
    article: int
    """Number of the article within its day."""
    count: int


def cover(stories: list[DayStory], rng: np.random.Generator) -> list[Coverage]:
    """The articles of a day, in the order in which they were found."""
    found: list[Coverage] = []
    small: list[DayStory] = []
    for story in stories:
        if story.importance < ALONE:
            small.append(story)
            continue
        count = min(MOST_ARTICLES, 1 + int(rng.poisson(WRITTEN * (story.importance - ALONE))))
        begins = int(rng.integers(8, SLOTS - 12))
        for number in range(count):
            slot = min(SLOTS - 1, begins + (int(rng.geometric(0.12)) if number else 0))
            told = [act for act in story.reactions if rng.random() < 0.75]
            found.append(Coverage(slot, (story,), (*story.acts, *told)))
    for start in range(0, len(small), ROUND_UP):
        part = tuple(small[start : start + ROUND_UP])
        acts = tuple(act for story in part for act in story.every_act)
        found.append(Coverage(int(rng.integers(SLOTS // 2, SLOTS)), part, acts))
    # Reactions that no article told of did not become known, and so are no events.
    return sorted(found, key=lambda article: article.slot)


def mentions(articles: list[Coverage], rng: np.random.Generator) -> list[Mention]:
    """How often each article of a day mentions each of its acts: in all, every act is above the paper's threshold."""
    places: dict[Act, list[int]] = defaultdict(list)
    made_of: dict[Act, float] = defaultdict(float)
    echo: dict[int, float] = {}
    for number, article in enumerate(articles):
        for story in article.stories:
            if id(story) not in echo:
                echo[id(story)] = float(rng.lognormal(2.9, 0.8)) * story.importance
            for act in story.every_act:
                made_of[act] = max(made_of[act], echo[id(story)] * (1.0 if act in story.acts else REACTION))
        for act in dict.fromkeys(article.acts):
            places[act].append(number)
    found: list[Mention] = []
    for act, numbers in places.items():
        total = MENTIONS + int(made_of[act] * float(rng.lognormal(0.0, 0.2)) * (0.4 + 0.45 * len(numbers)))
        share, rest = divmod(total, len(numbers))
        found.extend(Mention(act, number, share + (place < rest)) for place, number in enumerate(numbers))
    return found
