"""Storylines of the simulated world: what they are about, when they are due, and what becomes of them.

Three streams of numbers draw a story: what it is about, how it is told, and what becomes of it. The last one is
drawn alone, so that nothing that may be read in a story's words before its end depends on its end: the words that
reports lean by depend on its *chance*, and the end on the chance alone. The mean of the chances is one half
whatever a story is about, and it ends early as often where it happens as where it does not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeVar

from openfingym.suites.findeepforecast.problem import ECONOMIES
from openfingym.suites.findeepforecast.world.known import Company
from openfingym.suites.findeepforecast.world.matters import Matter, authorities, of_level

T = TypeVar("T")
Ending = Literal["done", "short", "dropped", "postponed", "silent", "late", "disputed", "unconfirmed"]
CHANCES = (0.04, 0.12, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96)
"""How likely a story is to end as asked; each as often as the others."""
WEEKLY_MACRO = 3.6
"""Stories that are due in a week, in each economy."""
WEEKLY_CORPORATE: Mapping[str, float] = {
    "US": 12.6, "CN": 5.6, "HK": 5.8, "JP": 6.7, "UK": 6.7, "DE": 6.5, "FR": 6.7, "SG": 4.5
}  # fmt: skip
"""Of companies, in proportion to what a season asks about them (the paper's table 17)."""
_COUNTED = {"days", "weeks", "months", "seats", "shares", "jobs", "entities", "personnel"}
_EARLY = 0.08
_DISPUTED = 0.03
_UNCONFIRMED = 0.03


class Draws:
    """Numbers for one purpose; the same on any machine and version of Python."""

    def __init__(self, *names: object) -> None:
        self._random = random.Random("|".join(str(name) for name in names)).random

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, things: Sequence[T]) -> T:
        """One of some things."""
        return things[int(self._random() * len(things))]

    def two(self, things: Sequence[T]) -> tuple[T, T]:
        """Two different ones of some things."""
        first = self.whole(0, len(things) - 1)
        second = self.whole(0, len(things) - 2)
        return things[first], things[second + (second >= first)]


@dataclass(frozen=True)
class Story:
    """A storyline. What follows ``due`` is not known before its end."""

    id: str
    subject: str
    """Economy or symbol."""
    economy: str
    actor: str
    """Who announces it, as reports name it."""
    matter: Matter
    condition: str
    """What is contested of it: ``happens`` (by the day), ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    detail: str
    opened: date
    """Day of the first report."""
    due: date
    """Last day by which it is said to be settled."""
    chance: float
    ending: Ending
    ended: date
    """Day on which its end is seen; of ``silent`` the day after it was due."""
    happened_on: date | None
    amount: float | None
    """As the record has it; one or nought where a detail is or is not part of it."""

    @property
    def source(self) -> str:
        """The authority that decides, as a document's source."""
        return self.actor[4:] if self.actor.startswith("the ") else self.actor


def draw_stories(
    companies: Sequence[Company], begin: date, end: date, seed: int, density: float, ends: int | None = None
) -> list[Story]:
    """Stories that are due from ``begin`` to ``end``, by economy and due day.

    Args:
        companies: who corporate stories are about.
        begin: first day by which one is due.
        end: last day.
        seed: the world.
        density: share of the usual number of stories.
        ends: another seed for how they end; None for ``seed``.
    """
    found: list[Story] = []
    weeks = ((end - begin).days + 1) / 7
    for economy in ECONOMIES:
        members = [one for one in companies if one.economy == economy]
        counts = {"macro": WEEKLY_MACRO * weeks, "corporate": WEEKLY_CORPORATE[economy] * weeks if members else 0.0}
        for level, count in counts.items():
            whole = max(1, round(count * density)) if count else 0
            found += [
                _story(economy, level, number, members, (begin, end), (seed, seed if ends is None else ends))
                for number in range(whole)
            ]
    return sorted(found, key=lambda one: (one.economy, one.due, one.id))


def _story(
    economy: str,
    level: str,
    number: int,
    members: Sequence[Company],
    days: tuple[date, date],
    seeds: tuple[int, int],
) -> Story:
    name = f"{economy}{'M' if level == 'macro' else 'C'}{number:05d}"
    draws = Draws(seeds[0], "about", name)
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
    due = days[0] + timedelta(days=draws.whole(0, (days[1] - days[0]).days))
    lead = draws.pick(((13, 24), (20, 50), (45, 91)))
    opened = due - timedelta(days=draws.whole(*lead))
    chance = draws.pick(CHANCES)
    about = (name, subject, economy, actor, matter, condition, threshold, detail, opened, due, chance)
    return Story(*about, *_end(Draws(seeds[1], "end", name), condition, matter, threshold, opened, due, chance))


def _matter(level: str, draws: Draws) -> Matter:
    """One of the matters of a type that is drawn first, so that each type is as frequent as any other."""
    return draws.pick(draws.pick(of_level(macro=level == "macro")))


def _end(
    draws: Draws, condition: str, matter: Matter, threshold: float, opened: date, due: date, chance: float
) -> tuple[Ending, date, date | None, float | None]:
    """What becomes of a story: its ending, when it is seen, when it happened, and the amount."""
    as_asked = draws.chance(chance)
    day = due - timedelta(days=draws.whole(0, 2))
    early = draws.chance(_EARLY)
    if early:
        day = opened + timedelta(days=draws.whole(4, (due - opened).days - 3))
    odd = draws.whole(0, 999) / 1000
    steps = draws.whole(1, 3)
    if as_asked:
        amount = _amount(condition, matter, threshold, steps - 1, inside=True)
        ending: Ending = "disputed" if odd < _DISPUTED else "unconfirmed" if odd < _DISPUTED + _UNCONFIRMED else "done"
        return ending, day, day, amount
    if odd < _DISPUTED:
        return "disputed", day, None, None
    ways: tuple[Ending, ...] = ("short", "short", "short", "dropped", "postponed", "silent")
    if condition == "happens":
        ways = ("dropped", "dropped", "postponed", "postponed", "silent", "late")
    ending = draws.pick(ways)
    if ending == "short":
        return ending, day, day, _amount(condition, matter, threshold, steps, inside=False)
    if ending == "silent" and not early:
        return ending, due + timedelta(days=1), None, None
    if ending == "late":
        late = due + timedelta(days=draws.whole(5, 20))
        return ending, day, late, _amount("happens", matter, threshold, 0, inside=True)
    return "dropped" if ending == "silent" else ending, day, None, None


def _amount(condition: str, matter: Matter, threshold: float, steps: int, *, inside: bool) -> float | None:
    """An amount on the asked or the other side of a threshold, some fifths of it away."""
    if not matter.thresholds:
        return None if condition == "happens" else float(inside)
    sign = 1 if inside == (matter.sense == "at_least") else -1
    if matter.unit in _COUNTED:
        return max(1.0, threshold + sign * steps * max(1, round(threshold / 5)))
    return round(threshold * (1 + sign * steps / 5), 6)
