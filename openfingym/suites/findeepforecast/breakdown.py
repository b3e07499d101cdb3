"""What reports say of the season: accuracy by track and level, what its tools are, and how answers failed.

Failure modes are told by rules from the recorded calls and the answer: they say what a wrong answer looks like, and not
why it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.answers import Reference, decide, unpack, unpack_rows
from openfingym.suites.breakdown import AnsweredCall, Breakdown, ShownMetric
from openfingym.suites.findeepforecast.forecasting.reading import read_canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion

    Numbers = NDArray[np.float64]

QUADRANTS = ("non-recurrent corporate", "non-recurrent macro", "recurrent corporate", "recurrent macro")
"""In the order of the paper's Table 2."""
TOOL_GROUPS = {
    "search_news": "documents", "open_document": "documents", "history": "figures", "calendar": "figures",
    "find": "names", "calculator": "arithmetic",
}  # fmt: skip
NEAR = 0.05
"""Relative distance within which a figure is called a near miss."""
SAME = 0.05
"""Relative distance below which a number is the right one in another scale."""
SCALES = (100.0, 1e3, 1e4, 1e6, 1e8, 1e9)


def forecast_breakdown() -> Breakdown:
    """As the paper's Table 2: of each track corporate, macro and overall; and what failed."""
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
    """What a wrong answer looks like; None for a right one.

    Args:
        question: what was asked.
        calls: the calls that were answered.
        truth: float64[numbers], the packed reference.
        given: float64[numbers], the packed answer.
    """
    reference, answer = _reference(unpack(truth)), unpack(given)
    if decide(reference, answer).outcome == "right":
        return None
    part, named = reference.parts[0], {call.tool for call in calls}
    told = (
        _of_figure(float(part.value), answer, named) if part.type == "number" else _of_event(part.value, answer, named)
    )
    return tuple(name for name, holds in ({"no answer": not answer.strip()} | told).items() if holds)


def _of_figure(right: float, answer: str, named: set[str]) -> dict[str, bool]:
    said = read_canonical(answer).value
    return {
        "near miss": said is not None and abs(said - right) < NEAR * abs(right),
        "wrong sign": said is not None and said * right < 0,
        "another scale": said is not None and _rescaled(right, said),
        "history not looked at": "history" not in named,
    }


def _of_event(right: object, answer: str, named: set[str]) -> dict[str, bool]:
    said = read_canonical(answer).said
    return {
        "missed event": said is False and bool(right),
        "false alarm": said is True and not right,
        "news not looked at": not named & {"search_news", "open_document"},
    }


def _rescaled(right: float, said: float) -> bool:
    if right == 0.0 or said == 0.0:
        return False
    ratio = abs(said / right)
    return any(abs(ratio / scale - 1) < SAME or abs(ratio * scale - 1) < SAME for scale in SCALES)


def _scores(truths: Numbers, given: Numbers) -> Numbers:
    answers = unpack_rows(given)
    right = [decide(one, text).outcome == "right" for one, text in zip(_references(truths), answers, strict=True)]
    return np.asarray(right, dtype=np.float64)


def _classes(truths: Numbers, given: Numbers) -> Mapping[str, Numbers]:
    """Columns of the paper's Table 2: of each track corporate, macro, and overall."""
    scores, groups = _scores(truths, given), [one.group for one in _references(truths)]
    found = {}
    for track, short in (("non-recurrent", "Non-rec."), ("recurrent", "Rec.")):
        for level, column in (("corporate", "Corp."), ("macro", "Mac."), ("", "Ovr.")):
            within = [group[0] == track and level in {"", group[1]} for group in groups]
            found[f"{short} {column}"] = np.where(within, scores, np.nan)
    return found


def _references(truths: Numbers) -> list[Reference]:
    return [_reference(text) for text in unpack_rows(truths)]


@lru_cache(maxsize=4096)
def _reference(text: str) -> Reference:
    return Reference.from_json(text)
