"""Forecasts from the pair's own past, and what all baselines share: rankings and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from openfingym_suites.mirai.answers import CodeAnswer

if TYPE_CHECKING:
    from openfingym.vault import View
    from openfingym_suites.mirai.question import RelationQuestion

    Forecaster = Callable[[View, RelationQuestion], CodeAnswer]
    """A forecast from what was known at the time of a question."""

FREQUENT = 0.15
"""Share of the days with events of the pair on which a relation must have been to be named by :func:`frequency`."""
THRESHOLDS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Probabilities that are tried as the least one with which a relation is named. The paper's are the last four; a
relation that comes once a week has a probability below all of those.
"""


def recurrency(view: View, question: RelationQuestion) -> CodeAnswer:
    """Every relation that there ever was from head to tail, scored by how lately: k / t for its last day k, and the day
    t that is asked about, both counted from the first day of the database (strict recurrency, Gastinger et al. 2024).
    """
    rows = view.rows("events", {"head": question.head, "tail": question.tail}, columns=["date", "relation"])
    last: dict[str, date] = {}
    for row in rows:
        code, day = str(row["relation"]), _day(row["date"])
        last[code] = max(last.get(code, day), day)
    if not last:
        return CodeAnswer({})
    first = _day(view.rows("events", columns=["date"], order=["date"], limit=1)[0]["date"])
    # Counted from 1, so that a relation of the first day has a score above 0 and is named.
    days = (question.day - first).days + 1
    return ranked({code: ((day - first).days + 1) / days for code, day in last.items()})


def frequency(view: View, question: RelationQuestion) -> CodeAnswer:
    """Relations scored by the share of the pair's days with events on which they occurred. Those with a share of at
    least :data:`FREQUENT` are named; if there are none, the most frequent relation alone.
    """
    where = {"head": question.head, "tail": question.tail}
    days = len(view.counts("events", "date", where))
    counts = view.counts("events", "relation", where)
    return named({str(code): count / days for code, count in counts.items()}, FREQUENT)


def ranked(scores: Mapping[str, float]) -> CodeAnswer:
    """All relations with a score above 0, the highest first; those of equal scores in the order of their codes."""
    order = sorted((code for code, score in scores.items() if score > 0.0), key=lambda code: (-scores[code], code))
    codes: dict[str, tuple[str, ...]] = {}
    for code in order:
        codes[code[:2]] = (*codes.get(code[:2], ()), code)
    return CodeAnswer(codes, {code: scores[code] for code in order})


def named(scores: Mapping[str, float], threshold: float) -> CodeAnswer:
    """The relations with at least this score; if there are none, the one with the highest."""
    if not scores:
        return CodeAnswer({})
    # Of equal scores always the same code, so that a forecast does not depend on the order of a dictionary.
    best = max(scores, key=lambda code: (scores[code], code))
    return ranked({code: score for code, score in scores.items() if score >= threshold or code == best})


def best_threshold(chances: Sequence[Mapping[str, float]], answers: Sequence[set[str]]) -> float:
    """The threshold of :data:`THRESHOLDS` whose F1 of second-level relations, averaged over questions, is highest.

    Args:
        chances: probabilities of relations for each question.
        answers: the true relations of each question, at least one.
    """

    def f1(threshold: float) -> float:
        total = 0.0
        for scores, true in zip(chances, answers, strict=True):
            forecast = set(named(scores, threshold).scores)
            total += 2.0 * len(forecast & true) / (len(forecast) + len(true))
        return total

    return max(THRESHOLDS, key=f1)


def _day(value: object) -> date:
    assert isinstance(value, date)
    return value
