"""The set of 635 questions that is taken from the pool, questions to practise and to train on, and the rest."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from openfingym.errors import DataError
from openfingym_suites.finsearch.questions.drawing import CHINA, GLOBAL

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.problem import SearchProblem

TIERS = ("T1", "T2", "T3")
COMPOSITION = {
    (GLOBAL, "T1"): 134,
    (GLOBAL, "T2"): 119,
    (GLOBAL, "T3"): 84,
    (CHINA, "T1"): 111,
    (CHINA, "T2"): 100,
    (CHINA, "T3"): 87,
}
"""Questions of the set by subset and tier. The paper's percentages make 88 of the last and 636 in all, but its text
says 635: here the hardest tier of the smaller subset gives one up.
"""
EARLY, TURN, LATE = "1994-01-01", "2012-01-01", "2026-10-30"
"""Practice and training are asked before the turn, what counts from then on: no answer that is given was unknown when
the first question that counts is asked."""


def compose(pool: list[SearchProblem]) -> dict[str, list[SearchProblem]]:
    """The set (``private``), questions to practise on (``public``), to train on (``train``), and the rest (``rest``).

    The set takes templates in turn, so that no template has many more questions in it than another.

    Raises:
        DataError: the pool has too few questions of a subset and tier.
    """
    parts: dict[str, list[SearchProblem]] = {"private": [], "public": [], "train": [], "rest": []}
    for (subset, tier), count in COMPOSITION.items():
        own = [problem for problem in pool if (problem.subset, problem.tier) == (subset, tier)]
        late = [problem for problem in own if problem.question.as_of >= TURN]
        chosen = _in_turn(late)[:count]
        if len(chosen) < count:
            raise DataError(f"the pool has {len(late)} questions of {subset} {tier}; expected {count} at least")
        parts["private"] += chosen
        parts["rest"] += [problem for problem in late if problem not in chosen]
        early = _in_turn([problem for problem in own if problem.question.as_of < TURN])
        parts["public"] += early[:5]
        parts["train"] += early[5:]
    # By time, so that no tool shows later than a question that is still to come; the rest is in any order.
    return {
        part: sorted(problems, key=lambda problem: (problem.question.moment, _shuffled(problem)))
        for part, problems in parts.items()
    }


def _shuffled(problem: SearchProblem) -> str:
    """A key by which questions are in an order that looks random, and stays when others are added."""
    return hashlib.sha256(problem.question.id.encode()).hexdigest()


def _in_turn(problems: list[SearchProblem]) -> list[SearchProblem]:
    """The first question of every template, then the second of every template, and so on; the order of templates is
    drawn, the same each time.
    """
    by_template: dict[str, list[SearchProblem]] = {}
    for problem in problems:
        by_template.setdefault(problem.template, []).append(problem)
    rng = random.Random("in turn")
    templates = sorted(by_template)
    rng.shuffle(templates)
    longest = max(map(len, by_template.values()), default=0)
    return [by_template[name][turn] for turn in range(longest) for name in templates if turn < len(by_template[name])]
