"""The set of 635 that is taken from the pool, what is to practise and to train on, and the rest."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from openfingym.errors import DataError
from openfingym.suites.finsearch.questions.drawing import CHINA, GLOBAL

if TYPE_CHECKING:
    from openfingym.suites.finsearch.questions.problem import SearchProblem

TIERS = ("T1", "T2", "T3")
COMPOSITION = {
    (GLOBAL, "T1"): 134,
    (GLOBAL, "T2"): 119,
    (GLOBAL, "T3"): 84,
    (CHINA, "T1"): 111,
    (CHINA, "T2"): 100,
    (CHINA, "T3"): 87,
}
"""Questions of the set. The paper's percentages make 88 of the last and 636 in all, its text says 635: here the
largest part of the smaller subset's hardest tier gives one up.
"""
EARLY, TURN, LATE = "1994-01-01", "2012-01-01", "2026-10-30"
"""Practice and training are asked before the turn, what counts from then on: no answer that is given was unknown when
the first question that counts is asked."""


def compose(pool: list[SearchProblem]) -> dict[str, list[SearchProblem]]:
    """The set (``private``), questions to practise on (``public``), to train on (``train``), and the rest.

    The set takes templates in turn, so that no template has many more questions in it than another.
    """
    found: dict[str, list[SearchProblem]] = {"private": [], "public": [], "train": [], "rest": []}
    for (subset, tier), count in COMPOSITION.items():
        late = [one for one in pool if (one.subset, one.tier) == (subset, tier) and one.question.as_of >= TURN]
        chosen = _in_turn(late)[:count]
        if len(chosen) < count:
            raise DataError(f"the pool has {len(late)} questions of {subset} {tier}; expected {count} at least")
        found["private"] += chosen
        found["rest"] += [one for one in late if one not in chosen]
        early = _in_turn(
            [one for one in pool if (one.subset, one.tier) == (subset, tier) and one.question.as_of < TURN]
        )
        found["public"] += early[:5]
        found["train"] += early[5:]
    # In an order in which any range of questions has all tiers, subsets and languages.
    return {part: sorted(some, key=_shuffled) for part, some in found.items()}


def _shuffled(problem: SearchProblem) -> str:
    return hashlib.sha256(problem.question.id.encode()).hexdigest()


def _in_turn(problems: list[SearchProblem]) -> list[SearchProblem]:
    """The first of every template, then the second, and so on; which comes first is drawn."""
    by: dict[str, list[SearchProblem]] = {}
    for one in problems:
        by.setdefault(one.template, []).append(one)
    rng = random.Random("in turn")
    ordered = sorted(by)
    rng.shuffle(ordered)
    longest = max(map(len, by.values()), default=0)
    return [by[name][turn] for turn in range(longest) for name in ordered if turn < len(by[name])]
