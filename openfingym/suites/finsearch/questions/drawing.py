"""How a question is drawn: what a template is given, and what it gives.

A template is a function of a :class:`Draw` that gives a :class:`Draft`, or raises :class:`SkipError` where what it drew
makes no sound question. One template is one structure: which figures are looked up and what is made of them.
"""

from __future__ import annotations

import calendar
import random
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    from openfingym.answers.reference import PartType, Rule
    from openfingym.suites.finsearch.questions.sources import Sources, VaultSources

GLOBAL, CHINA = "global", "greater-china"
Program = Callable[["Sources", dict[str, Any]], Any]
HOURS = ("02:10", "07:45", "11:30", "15:50", "19:20", "22:40")
"""Times of day at which questions are asked, in UTC."""


class SkipError(OpenFinGymError):
    """What was drawn makes no sound question; another is drawn."""


@dataclass(frozen=True)
class AskedValue:
    """A value that is asked for: a part of the answer without its value."""

    name: str
    type: PartType = "number"
    unit: str | None = None
    decimals: int | None = None
    rule: Rule = "rounding"
    tolerance: float | None = None
    accept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other spellings of a text, by the text."""
    choices: tuple[str, ...] = ()
    """All texts that could be the answer."""


@dataclass(frozen=True)
class Draft:
    """A question as a template gives it."""

    text: str
    as_of: str
    program: Program
    params: dict[str, Any]
    asks: tuple[AskedValue, ...]
    alternatives: Mapping[str, tuple[Program, dict[str, Any]]]
    """Other readings that the guide against ambiguity names, each as a program with its parameters."""
    names: tuple[str, ...]
    """Names in the text, of companies, items, pairs and series: what may not be all that differs from another."""
    sources: tuple[str, ...]
    """Where the figures are from."""
    why: str
    """Why an answer may differ as much as it may, and no more."""
    table: bool = False
    ordered: bool = True
    real: bool = True


@dataclass(frozen=True)
class Template:
    """A structure of questions."""

    name: str
    draw: Callable[[Draw], Draft]
    tier: str
    topic: str
    subsets: tuple[str, ...]
    most: int
    """Most questions of it in a subset of the pool."""


TEMPLATES: list[Template] = []
"""All, in the order in which they were stated."""


def template(
    tier: str, topic: str, *, subsets: Sequence[str] = (GLOBAL,), most: int = 6
) -> Callable[[Callable[[Draw], Draft]], Callable[[Draw], Draft]]:
    """Make a function a template."""

    def add(function: Callable[[Draw], Draft]) -> Callable[[Draw], Draft]:
        name = function.__name__.replace("_", "-")
        TEMPLATES.append(Template(name, function, tier, topic, tuple(subsets), most))
        return function

    return add


class Draw:
    """What a template draws with.

    Attributes:
        rng: all that is random.
        world: everything, whenever it was known: to choose parameters by, never to compute an answer.
        subset: the subset of the suite that the question belongs to.
        zh: whether it is asked in Chinese.
        first, last: days between which it is asked.
    """

    def __init__(self, seed: str, world: VaultSources, subset: str, first: str, last: str, *, zh: bool) -> None:
        self.rng = random.Random(seed)
        self.world = world
        self.subset = subset
        self.zh = zh
        self.first, self.last = first, last

    def say(self, english: str, chinese: str) -> str:
        """In the language of the question."""
        return chinese if self.zh else english

    def one(self, some: Sequence[Any]) -> Any:
        """One of some."""
        if not some:
            raise SkipError("there is nothing to choose from")
        return some[self.rng.randrange(len(some))]

    def some(self, values: Sequence[Any], count: int) -> list[Any]:
        """Several of some, in their order."""
        if len(values) < count:
            raise SkipError("there is not enough to choose from")
        return [values[place] for place in sorted(self.rng.sample(range(len(values)), count))]

    def day(self, iso: str) -> str:
        """A day, month or year in words."""
        parts = iso.split("-")
        if self.zh:
            return "".join(f"{int(part)}{unit}" for part, unit in zip(parts, "年月日", strict=False))
        if len(parts) == 1:
            return iso
        month = calendar.month_name[int(parts[1])]
        return f"{month} {int(parts[2])}, {parts[0]}" if len(parts) == 3 else f"{month} {parts[0]}"

    def digits(self, decimals: int) -> str:
        """The precision that is asked for, in words."""
        if self.zh:
            return "四舍五入取整数" if decimals == 0 else f"保留{'零一两三四五六'[decimals]}位小数"
        if decimals == 0:
            return "rounded to the nearest integer"
        names = ("", "one decimal place", "two decimal places", "three decimal places", "four decimal places")
        return f"rounded to {names[decimals]}"

    def asked_around(self, days: Sequence[str]) -> str:
        """A time between the first and the last of the days on which something was quoted: on such a day, early or
        late, or in a gap between two, such as a weekend or a holiday.
        """
        low, high = bisect_left(days, self.first), bisect_left(days, self.last)
        if high - low < 3:
            raise SkipError("nothing was quoted then")
        place = self.rng.randrange(low, high - 1)
        for _ in range(12):
            gap = _days_between(days[place], days[place + 1])
            if gap > 1 or self.rng.random() < 0.45:
                break
            place = self.rng.randrange(low, high - 1)
        later = self.rng.randrange(gap) if gap <= 10 else 0
        return self.at(_shifted(days[place], later))

    def asked_after(self, day: str, most: int = 500) -> str:
        """A time at most so many days after a day."""
        low, high = max(_shifted(day, 2), self.first), min(_shifted(day, most), self.last)
        if low >= high:
            raise SkipError(f"{day} is not before a time of a question")
        return self.at(_shifted(low, self.rng.randrange(_days_between(low, high))))

    def at(self, day: str) -> str:
        """A time of a day."""
        return f"{day}T{self.one(HOURS)}:00+00:00"


def recent(as_of: str, days: int = 400) -> str:
    """A day so long before a time that what is latest is after it, so that no tool has to show all of history."""
    return _shifted(as_of[:10], -days)


def month_end(month: str) -> str:
    """The last day of a month."""
    year, number = int(month[:4]), int(month[5:7])
    return f"{month}-{calendar.monthrange(year, number)[1]:02d}"


def _shifted(day: str, by: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()


def _days_between(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


shifted, days_between = _shifted, _days_between
