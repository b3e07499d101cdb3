"""What reports break down of the season: accuracy by track and level, groups of tools, and how answers failed.

Failure modes are found by rules from the recorded calls and the answer: they say what a wrong answer looks like, and
not why it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.answers import Reference, decide
from openfingym.answers.packing import unpack, unpack_rows
from openfingym.suites.breakdown import AnsweredCall, Breakdown, ShownMetric
from openfingym_suites.findeepforecast.forecasting.reading import read_canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion

    Numbers = NDArray[np.float64]

QUADRANTS = ("non-recurrent corporate", "non-recurrent macro", "recurrent corporate", "recurrent macro")
"""Tracks and levels, in the order of the paper's Table 2."""
TOOL_GROUPS = {
    "search_news": "documents", "open_document": "documents", "history": "figures", "calendar": "figures",
    "find": "names", "calculator": "arithmetic",
}  # fmt: skip
"""The group of each tool, by which reports count calls."""
NEAR = 0.05
"""Relative error below which a wrong figure is called a near miss."""
SAME = 0.05
"""Relative error below which a number in another scale is called the right one."""
SCALES = (100.0, 1e3, 1e4, 1e6, 1e8, 1e9)
"""Factors by which figures are mistaken: per cent, thousands, 万, millions, 亿 and billions."""


def forecast_breakdown() -> Breakdown:
    """The breakdown of the paper's Table 2 (each track corporate, macro and overall), and how answers failed."""
    return Breakdown(
        figures=(
            ShownMetric("decided_accuracy", "accuracy"),
            ShownMetric("grouped_accuracy", "mean of tracks"),
            ShownMetric("forecast_brier", "Brier"),
        ),
        score=_scores,
        score_title="accuracy",
        classes=_classes,
        classes_title="track and level",
        tool_groups=TOOL_GROUPS,
        day=lambda question: date.fromisoformat(question.as_of[:10]),
        tiers=QUADRANTS,
        failures=failure_modes,
        failures_note=(
            "Heuristics, by rules from recorded calls and answers (docs/findeepforecast-task.md): what a wrong answer "
            "looks like, and not why. An answer may look like several, and what looks like none is in the last column."
        ),
    )


def failure_modes(
    question: SuiteQuestion,  # noqa: ARG001 - calls and answers say enough
    calls: Sequence[AnsweredCall],
    truth: Numbers,
    given: Numbers,
) -> tuple[str, ...] | None:
    """What a wrong answer looks like, none or several failure modes; None for a right one.

    Args:
        question: the question that was asked.
        calls: the calls of tools that were answered.
        truth: the packed reference, float64[numbers].
        given: the packed answer, float64[numbers].
    """
    reference, answer = _reference(unpack(truth)), unpack(given)
    if decide(reference, answer).outcome == "right":
        return None
    part, called = reference.parts[0], {call.tool for call in calls}
    modes = (
        _of_figure(float(part.value), answer, called)
        if part.type == "number"
        else _of_event(part.value, answer, called)
    )
    return tuple(name for name, holds in ({"no answer": not answer.strip()} | modes).items() if holds)


def _of_figure(right: float, answer: str, called: set[str]) -> dict[str, bool]:
    """Which failure modes hold for a wrong forecast of a figure."""
    stated = read_canonical(answer).value
    return {
        "near miss": stated is not None and abs(stated - right) < NEAR * abs(right),
        "wrong sign": stated is not None and stated * right < 0,
        "another scale": stated is not None and _rescaled(right, stated),
        "history not looked at": "history" not in called,
    }


def _of_event(right: object, answer: str, called: set[str]) -> dict[str, bool]:
    """Which failure modes hold for a wrong forecast of an event."""
    said = read_canonical(answer).said
    return {
        "missed event": said is False and bool(right),
        "false alarm": said is True and not right,
        "news not looked at": not called & {"search_news", "open_document"},
    }


def _rescaled(right: float, stated: float) -> bool:
    """Whether a number is nearly the right one times or over a usual scale, whatever its sign."""
    if right == 0.0 or stated == 0.0:
        return False
    ratio = abs(stated / right)
    return any(abs(ratio / scale - 1) < SAME or abs(ratio * scale - 1) < SAME for scale in SCALES)


def _scores(truths: Numbers, given: Numbers) -> Numbers:
    """Whether each answer is right, float64[questions] of 1 and 0."""
    answers = unpack_rows(given)
    pairs = zip(_references(truths), answers, strict=True)
    right = [decide(reference, text).outcome == "right" for reference, text in pairs]
    return np.asarray(right, dtype=np.float64)


def _classes(truths: Numbers, given: Numbers) -> Mapping[str, Numbers]:
    """Scores by the columns of the paper's Table 2, each track corporate, macro and overall; NaN outside the column."""
    scores, groups = _scores(truths, given), [reference.group for reference in _references(truths)]
    columns = {}
    # An empty level stands for both.
    for track, short in (("non-recurrent", "Non-rec."), ("recurrent", "Rec.")):
        for level, column in (("corporate", "Corp."), ("macro", "Mac."), ("", "Ovr.")):
            within = [group[0] == track and level in {"", group[1]} for group in groups]
            columns[f"{short} {column}"] = np.where(within, scores, np.nan)
    return columns


def _references(truths: Numbers) -> list[Reference]:
    return [_reference(text) for text in unpack_rows(truths)]


@lru_cache(maxsize=4096)
def _reference(text: str) -> Reference:
    return Reference.from_json(text)
