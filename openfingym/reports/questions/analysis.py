"""Questions as they were played, taken apart: by tool that was used, by the order of calls, by what was wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.questions.played import ANSWERED, REPEATED, PlayedQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

START, END = "question", "answer"
"""Where every way through the tools begins, and where that of an answered question ends."""
Step = tuple[str, str]
Scored = tuple[PlayedQuestion, float | None]
"""A question, and its score where it is known."""


@dataclass(frozen=True)
class ScorePart:
    """A score of a part of the questions."""

    score: float | None
    """Its mean; None of no question."""
    questions: int


@dataclass(frozen=True)
class ToolFigures:
    """What came of the calls of a tool."""

    tool: str
    calls: int
    refused: int
    repeated: int
    """Calls that were answered, and had been made before in their question."""
    questions: int
    """In which it answered."""
    part: ScorePart
    """The score of these."""


def mean_of(scores: Iterable[float]) -> ScorePart:
    """A part of these scores, of which those that are NaN are of questions outside of it."""
    known = [score for score in scores if not math.isnan(score)]
    return ScorePart(float(np.mean(known)) if known else None, len(known))


def by_tool(played: Sequence[Scored]) -> list[ToolFigures]:
    """Every tool that was called, the most used first."""
    calls: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    repeated: Counter[str] = Counter()
    for asked, _ in played:
        for tool, fault in faults_of(asked):
            calls[tool] += 1
            refused[tool] += fault not in {None, REPEATED}
            repeated[tool] += fault == REPEATED
    found = []
    for tool, count in sorted(calls.items(), key=lambda pair: (-pair[1], pair[0])):
        used = [(asked, score) for asked, score in played if tool in asked.tools]
        part = mean_of(score for _, score in used if score is not None)
        found.append(ToolFigures(tool, count, refused[tool], repeated[tool], len(used), part))
    return found


def faults_of(asked: PlayedQuestion) -> Iterator[tuple[str, str | None]]:
    """(tool, what was wrong) of each call of a question, None of one that was answered and is new in its attempt."""
    seen: set[tuple[int, str, str]] = set()
    for call in asked.calls:
        key = call.attempt, call.tool, call.arguments
        again = key in seen
        seen.add(key)
        yield call.tool, call.fault or (REPEATED if again else None)


def faults(played: Iterable[PlayedQuestion]) -> dict[str, int]:
    """Calls by what was wrong with them, the most frequent first."""
    counts = Counter(fault for asked in played for _, fault in faults_of(asked) if fault is not None)
    return dict(counts.most_common())


def transitions(played: Iterable[PlayedQuestion]) -> dict[Step, float]:
    """The share of each step from one tool to the next, among all from question to answer; the most frequent first.

    Calls that were refused are no steps. A question without an answer ends with its last call; each of several attempts
    at a question is a way of its own.
    """
    counts: Counter[Step] = Counter()
    for asked in played:
        for attempt in sorted({call.attempt for call in asked.calls}) or [1]:
            way = [START, *(call.tool for call in asked.calls if call.fault is None and call.attempt == attempt)]
            counts.update(pairwise([*way, END] if asked.state == ANSWERED else way))
    total = sum(counts.values())
    return {step: count / total for step, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}


def contributions(played: Sequence[Scored]) -> dict[Step, float]:
    """How much more often each step is on the way to a correct answer than to another, the most helpful first; empty
    where there are not both.
    """
    right = transitions(asked for asked, score in played if score is not None and score > 0.0)
    wrong = transitions(asked for asked, score in played if score is not None and not score > 0.0)
    if not right or not wrong:
        return {}
    gains = {step: right.get(step, 0.0) - wrong.get(step, 0.0) for step in (*right, *wrong)}
    return dict(sorted(gains.items(), key=lambda pair: (-pair[1], pair[0])))


def best_of(scores: NDArray[np.float64]) -> list[float]:
    """Max@k for every k up to the number of samples: the best score of k samples of a question, mean over questions.

    It is the mean over all ways to choose k of the samples, so that their order cannot matter.

    Args:
        scores: float64[samples, questions].
    """
    count = len(scores)
    ordered = np.sort(scores, axis=0)
    found = []
    for k in range(1, count + 1):
        weights = np.array([math.comb(place, k - 1) for place in range(count)]) / math.comb(count, k)
        found.append(float((weights @ ordered).mean()))
    return found
