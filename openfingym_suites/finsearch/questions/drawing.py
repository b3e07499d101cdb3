"""How a question is drawn at random: what a template is given, and what it returns.

A template is a function that takes a :class:`Draw` and returns a :class:`Draft`. It raises :class:`SkipError` if what
it drew does not make a sound question. One template is one structure: which figures are looked up, and what is
computed from them.
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
    from openfingym_suites.finsearch.questions.sources import Sources, VaultSources

GLOBAL, CHINA = "global", "greater-china"
Program = Callable[["Sources", dict[str, Any]], Any]
"""Computes the values of an answer from sources and parameters: a tuple, or for a table a list of tuples."""
HOURS = ("02:10", "07:45", "11:30", "15:50", "19:20", "22:40")
"""Times of day at which questions are asked, in UTC: before, during and after the sessions of Asia, Europe and
America, so that the latest figure depends on the hour."""


class SkipError(OpenFinGymError):
    """What was drawn does not make a sound question, so another one is drawn."""


@dataclass(frozen=True)
class AskedValue:
    """One value that a question asks for: what the reference says of it, before the value itself is computed."""

    name: str
    """What the value is called in the answer, such as ``rate``; for a table the heading of its column."""
    type: PartType = "number"
    unit: str | None = None
    """Unit in which a number is asked for; None for a number without one."""
    decimals: int | None = None
    """Decimals that the question asks for; None if it names none."""
    rule: Rule = "rounding"
    """Rule by which a number is compared with the reference."""
    tolerance: float | None = None
    """How far an answer may be from the reference, in the unit asked for; for the rules that have a tolerance."""
    accept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other spellings that are accepted for a text, by the text."""
    choices: tuple[str, ...] = ()
    """All texts that could be the answer: to name another one, beside the right one or in its place, is wrong."""


def percent(name: str = "change", decimals: int = 2, unit: str = "%") -> AskedValue:
    """A percentage that is computed from figures which may themselves be rounded.

    Args:
        name: what the value is called in the answer.
        decimals: decimals that the question asks for.
        unit: unit of the value, ``%`` or ``percentage points``.
    """
    # One and a half units of the last asked place: the answer is rounded, and so may be the figures that it is made of.
    return AskedValue(name, unit=unit, decimals=decimals, rule="within", tolerance=1.5 * 10.0**-decimals)


@dataclass(frozen=True)
class Draft:
    """A question as a template returns it, without its answer."""

    text: str
    as_of: str
    """Time at which the question is asked: UTC, ISO 8601."""
    program: Program
    """Computes the true answer."""
    params: dict[str, Any]
    """Parameters of the program, as JSON values."""
    asks: tuple[AskedValue, ...]
    """Values that are asked for, in the order in which the program returns them."""
    alternatives: Mapping[str, tuple[Program, dict[str, Any]]]
    """Other readings of the text, by what they are: each a program with its parameters, whose answer must be decided
    wrong."""
    names: tuple[str, ...]
    """Names that may be in the text, of companies, items, currency pairs and series: no two questions may differ by
    these alone."""
    sources: tuple[str, ...]
    """Tables that the figures are from."""
    why: str
    """Reason for the tolerance: why an answer may differ as much as it may, and no more."""
    table: bool = False
    """Whether the answer is a table of rows."""
    ordered: bool = True
    """Whether the order of the rows counts."""
    real: bool = True
    """Whether the figures are real ones, and not of the simulated market."""


@dataclass(frozen=True)
class Template:
    """A structure of questions, and how many of them are drawn."""

    name: str
    draw: Callable[[Draw], Draft]
    tier: str
    """Tier of the paper: ``T1`` latest figures, ``T2`` single figures, ``T3`` investigations."""
    topic: str
    subsets: tuple[str, ...]
    most: int
    """Most questions of this template in one subset of the pool."""


TEMPLATES: list[Template] = []
"""All templates, in the order in which their modules were imported. The pool depends on it: of two questions that are
too much alike, the one drawn first stays."""


def template(
    tier: str, topic: str, *, subsets: Sequence[str] = (GLOBAL,), most: int = 6
) -> Callable[[Callable[[Draw], Draft]], Callable[[Draw], Draft]]:
    """Register a function as a template.

    Args:
        tier: tier of its questions: ``T1``, ``T2`` or ``T3``.
        topic: topic of its questions, a tag by which results are broken down.
        subsets: subsets of the pool for which it draws.
        most: most questions that it may add to one subset.
    """

    def add(function: Callable[[Draw], Draft]) -> Callable[[Draw], Draft]:
        # The name seeds the draws and is part of every question's id: a renamed function draws other questions.
        name = function.__name__.replace("_", "-")
        TEMPLATES.append(Template(name, function, tier, topic, tuple(subsets), most))
        return function

    return add


class Draw:
    """What a template draws with. The order of its random draws decides every question that follows.

    Attributes:
        rng: the only source of randomness.
        world: all figures, whenever they became known: to choose parameters by, never to compute an answer.
        subset: the subset of the suite that the question belongs to.
        zh: whether the question is asked in Chinese.
        first, last: days between which the question is asked, as ISO dates.
    """

    def __init__(self, seed: str, world: VaultSources, subset: str, first: str, last: str, *, zh: bool) -> None:
        self.rng = random.Random(seed)
        self.world = world
        self.subset = subset
        self.zh = zh
        self.first, self.last = first, last

    def say(self, english: str, chinese: str) -> str:
        """The one of two texts that is in the language of the question.

        Both are made before this is called, so what is drawn for them is drawn in either language.
        """
        return chinese if self.zh else english

    def one(self, values: Sequence[Any]) -> Any:
        """One of several values, each as likely as the others.

        Raises:
            SkipError: there are none.
        """
        if not values:
            raise SkipError("there is nothing to choose from")
        return values[self.rng.randrange(len(values))]

    def some(self, values: Sequence[Any], count: int) -> list[Any]:
        """Several different ones of some values, in their order.

        Raises:
            SkipError: there are fewer than wanted.
        """
        if len(values) < count:
            raise SkipError("there is not enough to choose from")
        return [values[place] for place in sorted(self.rng.sample(range(len(values)), count))]

    def day(self, iso: str) -> str:
        """A day, month or year in words of the question's language, from ``2020-05-03``, ``2020-05`` or ``2020``."""
        parts = iso.split("-")
        if self.zh:
            return "".join(f"{int(part)}{unit}" for part, unit in zip(parts, "年月日", strict=False))
        if len(parts) == 1:
            return iso
        month = calendar.month_name[int(parts[1])]
        return f"{month} {int(parts[2])}, {parts[0]}" if len(parts) == 3 else f"{month} {parts[0]}"

    def digits(self, decimals: int) -> str:
        """The precision that is asked for, in words of the question's language."""
        if self.zh:
            return "四舍五入取整数" if decimals == 0 else f"保留{'零一两三四五六'[decimals]}位小数"
        if decimals == 0:
            return "rounded to the nearest integer"
        names = ("", "one decimal place", "two decimal places", "three decimal places", "four decimal places")
        return f"rounded to {names[decimals]}"

    def asked_around(self, days: Sequence[str]) -> str:
        """A time at which a latest quote is asked for: on a day with a quote, early or late, or in a gap between two
        such days, as a weekend or a holiday.

        Args:
            days: days with a quote, oldest first, as ISO dates.

        Raises:
            SkipError: nothing was quoted in the days in which questions are asked.
        """
        low, high = bisect_left(days, self.first), bisect_left(days, self.last)
        if high - low < 3:
            raise SkipError("nothing was quoted then")
        place = self.rng.randrange(low, high - 1)
        # In a gap the latest quote is not of today, which is the harder case: it is preferred to consecutive days.
        for _ in range(12):
            gap = days_between(days[place], days[place + 1])
            if gap > 1 or self.rng.random() < 0.45:
                break
            place = self.rng.randrange(low, high - 1)
        # More than ten days are no holiday but an interruption of the series, in which "the latest" would be years old.
        later = self.rng.randrange(gap) if gap <= 10 else 0
        return self.at(shifted(days[place], later))

    def asked_after(self, day: str, most: int = 500) -> str:
        """A time after a day, at which what is dated that day is known.

        Args:
            day: day after which the question is asked, as an ISO date.
            most: days after it by which the question is asked.

        Raises:
            SkipError: no such time is within the days in which questions are asked.
        """
        # Two days later, what is dated that day is known in every time zone, whatever hour is drawn.
        low, high = max(shifted(day, 2), self.first), min(shifted(day, most), self.last)
        if low >= high:
            raise SkipError(f"{day} is not before a time of a question")
        return self.at(shifted(low, self.rng.randrange(days_between(low, high))))

    def at(self, day: str) -> str:
        """One of the hours of a day at which questions are asked: UTC, ISO 8601."""
        return f"{day}T{self.one(HOURS)}:00+00:00"


def recent(as_of: str, days: int = 400) -> str:
    """A day before a time, so early that the latest figure is after it: with it as the first day, a tool does not have
    to show all of history.
    """
    return shifted(as_of[:10], -days)


def month_end(month: str) -> str:
    """The last day of a month: ``2020-02-29`` for ``2020-02``."""
    year, number = int(month[:4]), int(month[5:7])
    return f"{month}-{calendar.monthrange(year, number)[1]:02d}"


def month_after(month: str, by: int) -> str:
    """The month that is so many months later: ``2021-01`` for ``2020-11`` and 2."""
    year, number = divmod(12 * int(month[:4]) + int(month[5:]) - 1 + by, 12)
    return f"{year:04d}-{number + 1:02d}"


def shifted(day: str, by: int) -> str:
    """The day that is so many days later, as an ISO date."""
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()


def days_between(first: str, last: str) -> int:
    """How many days the second day is after the first."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days
