"""Analysing questions as they were played: by the tools that were used, the order of calls, and what was wrong with
them.
"""

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
"""The node at which every way through the tools begins, and the one at which that of an answered question ends."""
Step = tuple[str, str]
"""A step from one tool to the next."""
Scored = tuple[PlayedQuestion, float | None]
"""A question with its score; None if the score is not known."""


@dataclass(frozen=True)
class ScorePart:
    """The mean score of a part of the questions."""

    score: float | None
    """The mean score; None if no question belongs to the part."""
    questions: int
    """How many questions belong to the part."""


@dataclass(frozen=True)
class ToolFigures:
    """Figures on the calls of a tool."""

    tool: str
    """Name of the tool."""
    calls: int
    """How often it was called."""
    refused: int
    """How many calls were refused."""
    repeated: int
    """How many calls were answered that had been made before in their question."""
    questions: int
    """How many questions it answered in."""
    part: ScorePart
    """The mean score of these questions."""


def mean_of(scores: Iterable[float]) -> ScorePart:
    """The mean of scores, of which NaN are of questions that do not belong to the part."""
    known = [score for score in scores if not math.isnan(score)]
    return ScorePart(float(np.mean(known)) if known else None, len(known))


def by_tool(played: Sequence[Scored]) -> list[ToolFigures]:
    """Figures on every tool that was called, the most used first."""
    calls: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    repeated: Counter[str] = Counter()
    for asked, _ in played:
        for tool, fault in faults_of(asked):
            calls[tool] += 1
            refused[tool] += fault not in {None, REPEATED}
            repeated[tool] += fault == REPEATED
    figures = []
    for tool, count in sorted(calls.items(), key=lambda pair: (-pair[1], pair[0])):
        used = [(asked, score) for asked, score in played if tool in asked.tools]
        part = mean_of(score for _, score in used if score is not None)
        figures.append(ToolFigures(tool, count, refused[tool], repeated[tool], len(used), part))
    return figures


def faults_of(asked: PlayedQuestion) -> Iterator[tuple[str, str | None]]:
    """The tool of each call of a question, and what was wrong with the call: None if it was answered, and had not been
    made before in its attempt.
    """
    seen: set[tuple[int, str, str]] = set()
    for call in asked.calls:
        key = call.attempt, call.tool, call.arguments
        again = key in seen
        seen.add(key)
        yield call.tool, call.fault or (REPEATED if again else None)


def faults(played: Iterable[PlayedQuestion]) -> dict[str, int]:
    """How many calls had each fault, the most frequent fault first."""
    counts = Counter(fault for asked in played for _, fault in faults_of(asked) if fault is not None)
    return dict(counts.most_common())


def transitions(played: Iterable[PlayedQuestion]) -> dict[Step, float]:
    """The share of each step from one tool to the next among all steps from question to answer, the largest first.

    Calls that were refused are no steps. A question without an answer ends with its last call, and each of several
    attempts at a question is a way of its own.
    """
    counts: Counter[Step] = Counter()
    for asked in played:
        for attempt in sorted({call.attempt for call in asked.calls}) or [1]:
            way = [START, *(call.tool for call in asked.calls if call.fault is None and call.attempt == attempt)]
            counts.update(pairwise([*way, END] if asked.state == ANSWERED else way))
    total = sum(counts.values())
    return {step: count / total for step, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}


def contributions(played: Sequence[Scored]) -> dict[Step, float]:
    """How much larger the share of each step is on the way to a correct answer than to a wrong one, the largest
    difference first; empty if there are no correct or no wrong answers.
    """
    right = transitions(asked for asked, score in played if score is not None and score > 0.0)
    wrong = transitions(asked for asked, score in played if score is not None and not score > 0.0)
    if not right or not wrong:
        return {}
    gains = {step: right.get(step, 0.0) - wrong.get(step, 0.0) for step in (*right, *wrong)}
    return dict(sorted(gains.items(), key=lambda pair: (-pair[1], pair[0])))


def best_of(scores: NDArray[np.float64]) -> list[float]:
    """Max@k for every k up to the number of samples: the best score of k samples of a question, mean over questions.

    It is the mean over all ways to choose k of the samples, so that their order does not matter.

    Args:
        scores: the score of each sample, float64[samples, questions].
    """
    count = len(scores)
    ordered = np.sort(scores, axis=0)
    best = []
    for k in range(1, count + 1):
        # A sample is the best of k chosen ones if the k - 1 others are among those that score less.
        weights = np.array([math.comb(place, k - 1) for place in range(count)]) / math.comb(count, k)
        best.append(float((weights @ ordered).mean()))
    return best
