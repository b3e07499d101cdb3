"""Writing the articles of a simulated world: a title and some paragraphs, put together from frames and clauses."""

from __future__ import annotations

import random
from collections import deque
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeVar

from openfingym_suites.mirai.world.wording import (
    EARLIER,
    LEADS,
    MORE,
    NOISE,
    NOTICES,
    OUTLETS,
    QUOTES,
    RUMOURS,
    SUMMARIES,
    TOPIC_LINES,
    phrases,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym_suites.mirai.taxonomy import ListedCountry
    from openfingym_suites.mirai.world.coverage import Coverage
    from openfingym_suites.mirai.world.story import Act, Announcement, DayStory

T = TypeVar("T")
REMEMBERED = 4
"""How many of a country's last acts towards another articles may come back to."""
# Not strftime's, whose names follow the locale of the process.
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Writer:
    """Writes the articles of a world day by day, and remembers earlier acts, to which articles may come back.

    Args:
        countries: the countries of the world, in the order by which acts number them.
        first_day: the date of day 0.
        seed: seed of the wording, which changes nothing of what happens.
    """

    def __init__(self, countries: tuple[ListedCountry, ...], first_day: date, seed: int) -> None:
        self._names = tuple(_names(country) for country in countries)
        self._first = first_day
        self._random = random.Random(seed)
        self._past: dict[tuple[int, int], deque[Act]] = {}

    def write(self, day: int, articles: list[Coverage]) -> list[tuple[str, str, str]]:
        """Write the articles of a day; days are written in order.

        Args:
            day: the day, counted from 0 at the first day of the world.
            articles: what each of its articles reports.

        Returns:
            The title, text and outlet of each article, in the same order.
        """
        written, titles = [], set()
        for article in articles:
            outlet = self._pick(OUTLETS)
            title = self._title(article)
            # No two articles of a day have the same title.
            if title in titles:
                title = f"{title} - {outlet}"
            while title in titles:
                title = f"{title}, updated"
            titles.add(title)
            body = self._round_up(day, article) if article.is_round_up else self._report(day, article)
            written.append((title, "\n\n".join(body), outlet))
        # Only after all articles of the day, none of which may report its own day as earlier news.
        for article in articles:
            for act in article.acts:
                self._past.setdefault((act.head, act.tail), deque(maxlen=REMEMBERED)).append(act)
        return written

    def draw_anew(self, seed: int) -> None:
        """From the next day on, word articles by another seed."""
        self._random = random.Random(seed)

    def _title(self, article: Coverage) -> str:
        story = article.stories[0]
        if article.is_round_up:
            return f"{self._pick(SUMMARIES)}: {self._name(story.actor)}, {self._name(article.stories[-1].actor)}"
        main = article.acts[0] if self._random.random() < 0.75 else self._pick(story.acts)
        return self._clause(main, story.topic)

    def _report(self, day: int, article: Coverage) -> list[str]:
        """The paragraphs of an article about one story."""
        story, chance = article.stories[0], self._random.random
        others = list(article.acts[1:])
        self._random.shuffle(others)
        lead = self._sentence(self._pick(LEADS), article.acts[0], story, day)
        sentences = [self._sentence(self._pick(MORE), act, story, day) for act in others]
        half = (len(sentences) + 1) // 2
        # First paragraph: the main act, and half of the others.
        parts = [" ".join([lead, *sentences[:half]])]
        # Then what is announced, if anything is.
        if story.notice is not None:
            parts.append(self._notice(day, story, story.notice))
        # Then the other half, and a quotation.
        middle = sentences[half:]
        if chance() < 0.6:
            middle.append(self._filled(self._pick(QUOTES[story.kind.tone]), story))
        if middle:
            parts.append(" ".join(middle))
        # Last paragraph: background, rumours, earlier news, and what has nothing to do with it.
        ends = [TOPIC_LINES[story.topic]] if chance() < 0.5 else []
        if story.rumour:
            ends += self._random.sample(RUMOURS, 2)
        past = self._past.get((story.actor, story.target)) or self._past.get((story.target, story.actor))
        if past and chance() < 0.5:
            ends.append(self._sentence(self._pick(EARLIER), self._pick(tuple(past)), story, day))
        if chance() < 0.6 or not ends:
            ends.append(self._pick(NOISE))
        return [*parts, " ".join(ends)]

    def _round_up(self, day: int, article: Coverage) -> list[str]:
        """The paragraphs of an article about several stories: one for each, and a last one."""
        parts = []
        for story in article.stories:
            lead = self._sentence(self._pick(LEADS), story.acts[0], story, day)
            sentences = [self._sentence(self._pick(MORE), act, story, day) for act in story.every_act[1:]]
            if story.notice is not None:
                sentences.append(self._notice(day, story, story.notice))
            parts.append(" ".join([lead, *sentences]))
        return [*parts, self._pick(NOISE)]

    def _sentence(self, frame: str, act: Act, story: DayStory, day: int) -> str:
        clause = self._clause(act, story.topic)
        weekday = _WEEKDAYS[(self._first + timedelta(days=day)).weekday()]
        # Within a sentence a clause begins with a small letter, unless its first word is a name.
        name = clause.startswith((*self._names[act.head], *self._names[act.tail]))
        low = clause if name else clause[0].lower() + clause[1:]
        return frame.format(clause=clause, clause_low=low, weekday=weekday)

    def _clause(self, act: Act, topic: str) -> str:
        clause = self._pick(phrases()[act.code]).format(s=self._name(act.head), o=self._name(act.tail), topic=topic)
        return clause[0].upper() + clause[1:]

    def _notice(self, day: int, story: DayStory, notice: Announcement) -> str:
        text = self._pick(NOTICES[notice.scheme])
        host = self._name(notice.host)
        sentence = text.format(
            s=self._name(story.actor), o=self._name(story.target), host=host, when=self._when(day, notice.day)
        )
        return sentence[0].upper() + sentence[1:]

    def _when(self, day: int, due: int) -> str:
        """A later day, in one of the ways in which newspapers name it."""
        ahead, then = due - day, self._first + timedelta(days=due)
        ways = [
            f"on {then.day} {_MONTHS[then.month - 1]}",
            f"on {_MONTHS[then.month - 1]} {then.day}",
            f"in {ahead} days",
        ]
        if ahead == 1:
            ways = ["tomorrow", "within a day", f"on {_WEEKDAYS[then.weekday()]}"]
        elif ahead <= 6:
            ways.append(f"this coming {_WEEKDAYS[then.weekday()]}")
        elif ahead > 20:
            third = ("early in", "in the middle of", "late in")[min(2, (then.day - 1) // 10)]
            ways.append(f"{third} {_MONTHS[then.month - 1]}")
        elif ahead % 7 == 0:
            ways.append(f"in {('one week', 'two weeks')[ahead // 7 - 1]}")
        return self._pick(tuple(ways))

    def _filled(self, text: str, story: DayStory) -> str:
        return text.format(s=self._name(story.actor), o=self._name(story.target), topic=story.topic)

    def _name(self, country: int) -> str:
        """The usual name of a country or, one time in five, one of its other names."""
        names = self._names[country]
        return names[0] if len(names) == 1 or self._random.random() < 0.8 else self._pick(names[1:])

    def _pick(self, choices: Sequence[T]) -> T:
        # Not Random.choice: only the numbers of random() are promised to be the same in every version of Python.
        return choices[int(self._random.random() * len(choices))]


def _names(country: ListedCountry) -> tuple[str, ...]:
    """The names of a country that can stand in a sentence: the usual one, and others without punctuation."""
    return (country.name, *(name for name in country.other_names if not set(name) & set(",(;.")))
