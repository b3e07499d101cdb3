"""Storylines of the simulated world: what they are about, when they are due, and what becomes of them.

Three streams of random numbers make a story: one for what it is about, one for how it is told, and one for how it ends.
The last one is used for nothing else, so that nothing in a story's words before its end depends on that end. The words
by which reports lean depend on the story's *chance*, and the end depends on the chance alone. The mean of the chances
is one half, whatever a story is about, and a story ends early as often if it happens as if it does not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeVar

from openfingym_suites.findeepforecast.problem import ECONOMIES
from openfingym_suites.findeepforecast.world.known import Company
from openfingym_suites.findeepforecast.world.matters import Matter, authorities, matters_by_kind

T = TypeVar("T")
Ending = Literal["done", "short", "dropped", "postponed", "silent", "late", "disputed", "unconfirmed"]
"""How a story ends. ``done`` and ``unconfirmed`` happen as asked, the second without a statement of the authority.
``short`` is less than what was asked. ``dropped`` and ``postponed`` are stated by the authority, and ``silent`` is an
authority that states nothing. ``late`` happens after the day by which it was due. ``disputed`` is stated as asked and
contradicted by a second authority, and may have happened or not.
"""
CHANCES = (0.04, 0.12, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96)
"""Probabilities that a story ends as asked, each as frequent as the others. Their mean is one half."""
WEEKLY_MACRO = 3.6
"""Stories about an economy that are due in a week, in each economy."""
WEEKLY_CORPORATE: Mapping[str, float] = {
    "US": 12.6, "CN": 5.6, "HK": 5.8, "JP": 6.7, "UK": 6.7, "DE": 6.5, "FR": 6.7, "SG": 4.5
}  # fmt: skip
"""Stories about companies that are due in a week, by economy, in proportion to a season's questions about them (the
paper's table 17).
"""
_COUNTED = {"days", "weeks", "months", "seats", "shares", "jobs", "entities", "personnel"}
"""Units of which amounts are whole numbers."""
_EARLY = 0.08
"""Share of stories that end at any time before the last days."""
_DISPUTED = 0.03
"""Share of endings that a second authority contradicts."""
_UNCONFIRMED = 0.03
"""Share of endings as asked that no authority confirms."""


class StoryDraws:
    """Random numbers for one purpose; the same on any machine and in any version of Python.

    Args:
        names: the seed of the world, and names of what the numbers are for.
    """

    def __init__(self, *names: object) -> None:
        # Python promises the same numbers in all versions for random() alone, not for choice() or randint().
        self._random = random.Random("|".join(str(name) for name in names)).random

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random() < probability

    def integer(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, things: Sequence[T]) -> T:
        """One of several things, each as likely as the others."""
        return things[int(self._random() * len(things))]

    def pick_two(self, things: Sequence[T]) -> tuple[T, T]:
        """Two different ones of several things."""
        first = self.integer(0, len(things) - 1)
        # One of all but the first: places from that of the first on are moved by one.
        second = self.integer(0, len(things) - 2)
        return things[first], things[second + (second >= first)]


@dataclass(frozen=True)
class Story:
    """A storyline. No news before its end depends on how it ends, and its chance is never stated."""

    id: str
    """Id of the story: code of the economy, ``M`` for macro or ``C`` for corporate, and its number."""
    subject: str
    """Code of the economy or symbol of the company that it is about."""
    economy: str
    """Code of the economy in whose news it is."""
    actor: str
    """Name of the authority or company that announces it, as reports call it."""
    matter: Matter
    """What may happen."""
    condition: str
    """What is contested: ``happens`` (by the day), ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    """The contested amount, in the unit of the matter; 0 if the matter has no amount."""
    detail: str
    """The contested detail; empty if the matter has none."""
    opened: date
    """Day of the first report."""
    due: date
    """Last day by which it is said to be settled."""
    chance: float
    """Probability that it ends as asked."""
    ending: Ending
    """How it ends."""
    ended: date
    """Day on which its end is seen; if the authority is silent, the day after it was due."""
    happened_on: date | None
    """Day on which it happened; None if it did not happen."""
    amount: float | None
    """The amount that the world records; 1 or 0 if a detail is or is not part of it; None if there is neither."""

    @property
    def source(self) -> str:
        """Name of the authority that decides, as the source of a document."""
        return self.actor[4:] if self.actor.startswith("the ") else self.actor


def draw_stories(
    companies: Sequence[Company], begin: date, end: date, seed: int, density: float, ends: int | None = None
) -> list[Story]:
    """Draw the stories that are due from one day to another, both included.

    Args:
        companies: the companies that corporate stories are about.
        begin: the first day by which a story may be due.
        end: the last day by which a story may be due.
        seed: the number from which every random draw of the world follows.
        density: number of stories as a share of the usual one.
        ends: another seed for how stories end; None for ``seed``.

    Returns:
        The stories by economy, and of each economy by the day by which they are due.
    """
    stories: list[Story] = []
    weeks = ((end - begin).days + 1) / 7
    for economy in ECONOMIES:
        members = [company for company in companies if company.economy == economy]
        usual = {"macro": WEEKLY_MACRO * weeks, "corporate": WEEKLY_CORPORATE[economy] * weeks if members else 0.0}
        for level, number_of_stories in usual.items():
            count = max(1, round(number_of_stories * density)) if number_of_stories else 0
            stories += [
                _story(economy, level, number, members, (begin, end), (seed, seed if ends is None else ends))
                for number in range(count)
            ]
    return sorted(stories, key=lambda story: (story.economy, story.due, story.id))


def _story(
    economy: str,
    level: str,
    number: int,
    members: Sequence[Company],
    days: tuple[date, date],
    seeds: tuple[int, int],
) -> Story:
    """Draw a story.

    Args:
        economy: code of its economy.
        level: ``macro`` or ``corporate``.
        number: its place among the stories of its economy and level, from 0.
        members: the companies of its economy.
        days: the first and the last day by which it may be due.
        seeds: the seed of what it is about, and the seed of how it ends.
    """
    name = f"{economy}{'M' if level == 'macro' else 'C'}{number:05d}"
    draws = StoryDraws(seeds[0], "about", name)
    matter = _matter(level, draws)
    if level == "macro":
        subject, actor = economy, authorities()[economy, matter.kind]
    else:
        company = draws.pick(members)
        subject, actor = company.symbol, company.name
    condition = "happens"
    if draws.chance(0.7):
        condition = matter.sense or "detail"
    threshold = draws.pick(matter.thresholds) if matter.thresholds else 0.0
    detail = draws.pick(matter.details) if matter.details else ""
    due = days[0] + timedelta(days=draws.integer(0, (days[1] - days[0]).days))
    # Days from the first report to the day by which it is due: horizons are short, middling and long alike.
    lead = draws.pick(((13, 24), (20, 50), (45, 91)))
    opened = due - timedelta(days=draws.integer(*lead))
    chance = draws.pick(CHANCES)
    ending, ended, happened_on, amount = _end(
        StoryDraws(seeds[1], "end", name), condition, matter, threshold, opened, due, chance
    )
    return Story(
        id=name,
        subject=subject,
        economy=economy,
        actor=actor,
        matter=matter,
        condition=condition,
        threshold=threshold,
        detail=detail,
        opened=opened,
        due=due,
        chance=chance,
        ending=ending,
        ended=ended,
        happened_on=happened_on,
        amount=amount,
    )


def _matter(level: str, draws: StoryDraws) -> Matter:
    """Draw a type of event, and then one of its matters, so that each type is as frequent as any other."""
    return draws.pick(draws.pick(matters_by_kind(macro=level == "macro")))


def _end(
    draws: StoryDraws, condition: str, matter: Matter, threshold: float, opened: date, due: date, chance: float
) -> tuple[Ending, date, date | None, float | None]:
    """Draw what becomes of a story.

    Returns:
        How it ends, the day on which that is seen, the day on which it happened, and the amount; see :class:`Story`.
    """
    as_asked = draws.chance(chance)
    # The day is drawn whatever the outcome, so that it says nothing about it.
    day = due - timedelta(days=draws.integer(0, 2))
    early = draws.chance(_EARLY)
    if early:
        day = opened + timedelta(days=draws.integer(4, (due - opened).days - 3))
    rarity = draws.integer(0, 999) / 1000
    steps = draws.integer(1, 3)
    if as_asked:
        amount = _amount(condition, matter, threshold, steps - 1, inside=True)
        ending: Ending = "done"
        if rarity < _DISPUTED:
            ending = "disputed"
        elif rarity < _DISPUTED + _UNCONFIRMED:
            ending = "unconfirmed"
        return ending, day, day, amount
    if rarity < _DISPUTED:
        return "disputed", day, None, None
    endings: tuple[Ending, ...] = ("short", "short", "short", "dropped", "postponed", "silent")
    # Nothing can fall short if only the day is asked about, but it can come too late.
    if condition == "happens":
        endings = ("dropped", "dropped", "postponed", "postponed", "silent", "late")
    ending = draws.pick(endings)
    if ending == "short":
        return ending, day, day, _amount(condition, matter, threshold, steps, inside=False)
    # That the authority was silent is only seen after the day by which it was due, so this is no early end.
    if ending == "silent" and not early:
        return ending, due + timedelta(days=1), None, None
    if ending == "late":
        late = due + timedelta(days=draws.integer(5, 20))
        return ending, day, late, _amount(condition, matter, threshold, 0, inside=True)
    return "dropped" if ending == "silent" else ending, day, None, None


def _amount(condition: str, matter: Matter, threshold: float, steps: int, *, inside: bool) -> float | None:
    """The amount that is announced in the end, some fifths of the threshold away from it.

    Args:
        condition: what is contested about the story.
        matter: what may happen.
        threshold: the contested amount.
        steps: by how many fifths of the threshold the amount differs from it; 0 for the threshold itself.
        inside: whether the amount is as asked, and not short of it.

    Returns:
        The amount; of a matter without one, 1 or 0 if its detail is or is not part of it, or None if only the day is
        contested.
    """
    if not matter.thresholds:
        return None if condition == "happens" else float(inside)
    sign = 1 if inside == (matter.sense == "at_least") else -1
    if matter.unit in _COUNTED:
        return max(1.0, threshold + sign * steps * max(1, round(threshold / 5)))
    return round(threshold * (1 + sign * steps / 5), 6)
