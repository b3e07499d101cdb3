"""What reports say of agents beyond scores: F1 by class and by function, the order of calls, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.mirai import taxonomy
from openfingym.suites.mirai.answers import CodeAnswer, Unparsed

if TYPE_CHECKING:
    from openfingym.suites.mirai.arguments import Fault

START, END = "question", "answer"
"""Where every way through the functions begins and ends."""
REPEATED = "repeated_action"
"""What a call is that was made before, with the same arguments."""


@dataclass(frozen=True)
class Call:
    """A call of a function that an agent made."""

    name: str
    """Name of the function; any text, where there is no such function."""
    arguments: str = ""
    """Its arguments as they were written, by which repeated calls are known."""
    fault: Fault | None = None
    """What was wrong with it; None for a call that was answered."""


@dataclass(frozen=True)
class Played:
    """A question as an agent played it."""

    truth: frozenset[str]
    """True second-level codes."""
    answer: CodeAnswer | Unparsed | None
    """None where there was none."""
    calls: tuple[Call, ...] = ()

    @property
    def named(self) -> frozenset[str]:
        """Second-level codes that were named."""
        if not isinstance(self.answer, CodeAnswer):
            return frozenset()
        return frozenset(code for codes in self.answer.codes.values() for code in codes)

    @property
    def f1(self) -> float:
        """F1 of second-level codes; 0 where there was no answer."""
        return _f1(self.truth, self.named)

    @property
    def correct(self) -> bool:
        """Whether a true second-level code was named."""
        return bool(self.truth & self.named)


@dataclass(frozen=True)
class Part:
    """A score of a part of the questions."""

    f1: float
    """Mean F1 of second-level codes."""
    questions: int


def f1_by_quad(played: Iterable[Played]) -> dict[str, Part]:
    """F1 of the second-level codes of each quadratic class alone, over the questions with a true code of it."""
    everything = list(played)
    found = {}
    for number, name in taxonomy.QUAD_NAMES.items():
        pairs = [(_of_quad(each.truth, number), _of_quad(each.named, number)) for each in everything]
        found[name] = _part([_f1(true, named) for true, named in pairs if true])
    return found


def f1_by_function(played: Iterable[Played]) -> dict[str, Part]:
    """F1 over the questions in which each function was called and answered, the best first."""
    everything = list(played)
    names = {call.name for each in everything for call in each.calls if call.fault is None}
    parts = {
        name: _part(
            [each.f1 for each in everything if any(call.name == name and not call.fault for call in each.calls)]
        )
        for name in names
    }
    return dict(sorted(parts.items(), key=lambda pair: (-pair[1].f1, pair[0])))


def transitions(
    played: Iterable[Played], kept: Callable[[Played], bool] = lambda _: True
) -> dict[tuple[str, str], float]:
    """The tool-transition graph: the share of each step from one function to the next, among all from the question
    to the answer.

    Args:
        played: questions as they were played; those without an answer end with their last call.
        kept: which of them count, such as the correct ones.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for each in filter(kept, played):
        way = [START, *(call.name for call in each.calls if call.fault is None)]
        counts.update(pairwise([*way, END] if isinstance(each.answer, CodeAnswer) else way))
    total = sum(counts.values())
    return {step: count / total for step, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}


def contributions(played: Sequence[Played]) -> dict[tuple[str, str], float]:
    """How much more often each step is on the way to a correct answer than to another, the most helpful first."""
    right = transitions(played, lambda each: each.correct)
    wrong = transitions(played, lambda each: not each.correct)
    gains = {step: right.get(step, 0.0) - wrong.get(step, 0.0) for step in (*right, *wrong)}
    return dict(sorted(gains.items(), key=lambda pair: (-pair[1], pair[0])))


def faults(played: Iterable[Played]) -> Mapping[str, int]:
    """Calls that were refused, by what was wrong with them, and repeated ones, the most frequent first."""
    counts: Counter[str] = Counter()
    for each in played:
        seen: set[tuple[str, str]] = set()
        for call in each.calls:
            if call.fault is not None:
                counts[call.fault] += 1
            elif (call.name, call.arguments) in seen:
                counts[REPEATED] += 1
            seen.add((call.name, call.arguments))
    return dict(counts.most_common())


def _of_quad(codes: Iterable[str], number: int) -> frozenset[str]:
    return frozenset(code for code in codes if taxonomy.quad_of(code) == number)


def _f1(true: frozenset[str], named: frozenset[str]) -> float:
    return 2.0 * len(true & named) / (len(true) + len(named)) if true or named else 0.0


def _part(scores: Sequence[float]) -> Part:
    return Part(float(np.mean(scores)) if scores else 0.0, len(scores))
