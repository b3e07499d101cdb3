"""What reports say of financial search: accuracy by tier and subset, calls by kind of tool, and how answers failed.

Failure modes are decided by rules from the recorded calls and the answer. They are heuristics: they say what a wrong
answer looks like, and not what its model thought. An answer may look like several of them, or like none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.answers import Reference, decide
from openfingym.answers.packing import unpack, unpack_rows
from openfingym.suites.breakdown import AnsweredCall, Breakdown, ShownMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion

    Numbers = NDArray[np.float64]

PLUG_IN, SEARCH = "financial plug-in", "search"
TOOL_GROUPS = {
    "search": SEARCH, "open_page": SEARCH, "quote": PLUG_IN, "series": PLUG_IN, "statement": PLUG_IN,
    "calculator": "arithmetic",
}  # fmt: skip
"""Groups of tools by which reports count calls, by name of the tool."""
TIERS = ("T1", "T2", "T3")
STALE_DAYS = 3
"""Days, as over a long weekend, after which a page says nothing of the latest session any more."""
NEAR = 0.05
"""Relative difference from the right price within which a wrong one may be another price of the same day."""
SAME = 0.005
"""Relative difference below which two numbers are taken for one, stated in different units."""
SCALES = (10.0, 100.0, 1e3, 1e4, 1e6, 1e8, 1e9)
"""Ratios of units that are mistaken for one another, as hundreds for percent or 亿 (1e8) for millions."""
MANY_CALLS, LONG_ANSWER = 10, 400
"""Calls, and characters of an answer, from which on a question of one figure was made too much of."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DAY_IN_URL = re.compile(r"/(\d{4})/(\d\d)/(\d\d)/")
_PRICE = re.compile(r"\b(open|high|low|clos|price|level|settle)|开盘|收盘|最高|最低|点位|股价", re.IGNORECASE)
_PERIOD = re.compile(r"fiscal|quarter|\bmonths to|财年|季度|止.{1,3}个月|半年", re.IGNORECASE)
_LATEST = re.compile(r"latest|most recent|newest|now\b|today|as things stand|最新|最近|目前|现在|今天", re.IGNORECASE)


def finsearch_breakdown() -> Breakdown:
    """The paper's breakdown: the mean of subsets, each the mean of its tiers, and the classes of its analyses."""
    return Breakdown(
        figures=(
            ShownMetric("grouped_accuracy", "mean of subsets"),
            ShownMetric("decided_accuracy", "all questions"),
        ),
        score=_scores,
        score_title="accuracy",
        classes=_classes,
        classes_title="subset and tier",
        tool_groups=TOOL_GROUPS,
        tiers=TIERS,
        failures=failure_modes,
        failures_note=(
            "Heuristics, by rules from recorded calls and answers (docs/finsearch.md): what a wrong answer looks "
            "like, and not why. An answer may look like several, and what looks like none is in the last column."
        ),
    )


def failure_modes(
    question: SuiteQuestion, calls: Sequence[AnsweredCall], truth: Numbers, given: Numbers
) -> tuple[str, ...] | None:
    """What a wrong answer looks like; None for a right one.

    Args:
        question: the question that was asked.
        calls: calls of tools that were answered, in order.
        truth: float64[numbers], the packed reference.
        given: float64[numbers], the packed answer.
    """
    reference, answer = _reference(unpack(truth)), unpack(given)
    verdict = decide(reference, answer)
    if verdict.outcome == "right":
        return None
    plug_in = [call for call in calls if TOOL_GROUPS.get(call.tool) == PLUG_IN]
    search = [call for call in calls if TOOL_GROUPS.get(call.tool) == SEARCH]
    numbers = _numbers(reference, answer)
    modes = {
        "no answer": verdict.state in {"empty", "declined"},
        "shallow search": not plug_in and sum(call.tool == "open_page" for call in search) < 2,
        "stale evidence": _stale(question, calls),
        "unit or currency": any(_rescaled(right, said) for right, said in numbers),
        "report calendar": bool(_PERIOD.search(question.text)) and bool(plug_in or search) and bool(numbers),
        "plug-in not called": not plug_in,
        "another price": bool(_PRICE.search(question.text)) and any(_near(right, said) for right, said in numbers),
        "over-complication": question.tags[:1] == ("T1",) and (len(calls) >= MANY_CALLS or len(answer) >= LONG_ANSWER),
    }
    return tuple(name for name, holds in modes.items() if holds)


def _stale(question: SuiteQuestion, calls: Sequence[AnsweredCall]) -> bool:
    """Whether a question on the latest figure was answered from days that end too long before it was asked, by the last
    call: the date in the address of the page that it opened, or the last day that it asked for.
    """
    if not calls or not _LATEST.search(question.text):
        return False
    today = date.fromisoformat(question.as_of[:10])
    try:
        arguments = json.loads(calls[-1].arguments)
        match = _DAY_IN_URL.search(str(arguments.get("url", "")))
        last = date(*map(int, match.groups())) if match else date.fromisoformat(str(arguments["end"]))
    except (ValueError, KeyError, AttributeError):
        # The call names no day, or its arguments are no object: nothing says that it is stale.
        return False
    return (today - last).days > STALE_DAYS


def _numbers(reference: Reference, answer: str) -> list[tuple[float, float]]:
    """The right number and the first number of the answer, as one pair, where one number is asked for; else none."""
    match = _NUMBER.search(answer)
    if match is None or len(reference.parts) != 1 or reference.parts[0].type != "number":
        return []
    return [(float(reference.parts[0].value), float(match[0].replace(",", "")))]


def _rescaled(right: float, said: float) -> bool:
    """Whether a number is the right one in another unit, or the inverse of it: a rate quoted the other way round."""
    if right == 0.0 or said == 0.0:
        return False
    ratio = abs(said / right)
    return any(abs(ratio / scale - 1) < SAME or abs(ratio * scale - 1) < SAME for scale in SCALES) or (
        abs(said * right - 1) < SAME and abs(ratio - 1) > SAME
    )


def _near(right: float, said: float) -> bool:
    return right != 0.0 and abs(said / right - 1) < NEAR


def _scores(truths: Numbers, given: Numbers) -> Numbers:
    """float64[questions]: 1 for each answer that is decided right, 0 for the others."""
    pairs = zip(_references(truths), unpack_rows(given), strict=True)
    right = [decide(reference, answer).outcome == "right" for reference, answer in pairs]
    return np.asarray(right, dtype=np.float64)


def _classes(truths: Numbers, given: Numbers) -> Mapping[str, Numbers]:
    """The scores of each subset and tier, with NaN for questions of others."""
    scores, groups = _scores(truths, given), [" ".join(reference.group) for reference in _references(truths)]
    named = sorted(set(groups) - {""})
    return {name: np.where([group == name for group in groups], scores, np.nan) for name in named}


def _references(truths: Numbers) -> list[Reference]:
    return [_reference(text) for text in unpack_rows(truths)]


# A report asks for the scores of many agents on the same questions.
@lru_cache(maxsize=4096)
def _reference(text: str) -> Reference:
    return Reference.from_json(text)
