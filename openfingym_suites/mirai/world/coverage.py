"""News coverage: which articles are written about a day's stories, which acts each reports, and how often."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from openfingym_suites.mirai.world.story import Act, DayStory

SLOTS = 96
"""Quarters of an hour in a day."""
ALONE = 1.25
"""Importance from which a story has articles of its own; less important ones share a round-up."""
WRITTEN = 1.45
"""How many more articles a story has, on average, for each unit of importance above that."""
ROUND_UP = 7
"""The most stories in a round-up."""
MOST_ARTICLES = 14
"""The most articles about one story."""
REACTION = 0.06
"""How often a reaction is mentioned, relative to an act of the story itself."""
MENTIONS = 51
"""The fewest mentions of an act in all articles of its day together: just above the paper's threshold of 50."""


@dataclass(frozen=True)
class Coverage:
    """An article that is to be written."""

    slot: int
    """The quarter of an hour, counted from 0 at midnight UTC, whose file of the event database first has it."""
    stories: tuple[DayStory, ...]
    """The stories that it reports: one, or several if it is a round-up."""
    acts: tuple[Act, ...]
    """The acts that it reports, the main one first."""

    @property
    def is_round_up(self) -> bool:
        """Whether it reports several stories."""
        return len(self.stories) > 1


@dataclass(frozen=True)
class Mention:
    """How often one article of a day mentions an act, as a row of the event database."""

    act: Act
    """The act that is mentioned."""
    article: int
    """Number of the article within its day, from 0."""
    count: int
    """How many times the article mentions the act."""


def cover(stories: list[DayStory], rng: np.random.Generator) -> list[Coverage]:
    """Draw the articles of a day.

    Args:
        stories: the stories of the day.
        rng: the source of all random draws.

    Returns:
        The articles, by the quarter of an hour in which they come.
    """
    articles: list[Coverage] = []
    small: list[DayStory] = []
    for story in stories:
        if story.importance < ALONE:
            small.append(story)
            continue
        count = min(MOST_ARTICLES, 1 + int(rng.poisson(WRITTEN * (story.importance - ALONE))))
        # The first article comes between 02:00 and 21:00, the others some two hours after it.
        begins = int(rng.integers(8, SLOTS - 12))
        for number in range(count):
            slot = min(SLOTS - 1, begins + (int(rng.geometric(0.12)) if number else 0))
            reported = [act for act in story.reactions if rng.random() < 0.75]
            articles.append(Coverage(slot, (story,), (*story.acts, *reported)))
    # Round-ups come in the second half of the day.
    for start in range(0, len(small), ROUND_UP):
        part = tuple(small[start : start + ROUND_UP])
        acts = tuple(act for story in part for act in story.every_act)
        articles.append(Coverage(int(rng.integers(SLOTS // 2, SLOTS)), part, acts))
    # A reaction that no article reports did not become known, and so is no event.
    return sorted(articles, key=lambda article: article.slot)


def mentions(articles: list[Coverage], rng: np.random.Generator) -> list[Mention]:
    """Draw how often each article of a day mentions each of its acts.

    Args:
        articles: the articles of the day, by slot.
        rng: the source of all random draws.

    Returns:
        The mentions, act by act; all articles together mention each act more often than the paper's threshold.
    """
    places: dict[Act, list[int]] = defaultdict(list)
    attention: dict[Act, float] = defaultdict(float)
    # By identity, since a story can be changed and so is not hashable.
    echo: dict[int, float] = {}
    for number, article in enumerate(articles):
        for story in article.stories:
            if id(story) not in echo:
                echo[id(story)] = float(rng.lognormal(2.9, 0.8)) * story.importance
            for act in story.every_act:
                # Several stories may have the same act; the loudest one counts.
                attention[act] = max(attention[act], echo[id(story)] * (1.0 if act in story.acts else REACTION))
        for act in dict.fromkeys(article.acts):
            places[act].append(number)
    rows: list[Mention] = []
    for act, numbers in places.items():
        total = MENTIONS + int(attention[act] * float(rng.lognormal(0.0, 0.2)) * (0.4 + 0.45 * len(numbers)))
        # Evenly over the articles that report the act; what is left over goes to the earliest of them.
        share, rest = divmod(total, len(numbers))
        rows.extend(Mention(act, number, share + (place < rest)) for place, number in enumerate(numbers))
    return rows
