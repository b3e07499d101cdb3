"""How answers to financial questions are taken apart: by tier and subset, and by what wrong ones look like."""

import json

import numpy as np
import pytest

from openfingym.answers import Part, Reference
from openfingym.answers.packing import WIDTH, pack
from openfingym.suites.breakdown import AnsweredCall
from openfingym.suites.suite import SuiteQuestion
from openfingym_suites.finsearch.breakdown import failure_modes, finsearch_breakdown

RIGHT = Reference(parts=(Part("close", "number", 41.25, unit="USD", decimals=2),), group=("global", "T1"))
ASKED = SuiteQuestion(
    "q", "Latest closing price of ABCD.US, in USD?", "2024-03-08T12:00:00+00:00", {}, ("T1", "global")
)


def call(tool, **arguments):
    return AnsweredCall(tool, json.dumps(arguments))


def modes(answer, *calls, question=ASKED):
    return failure_modes(question, calls, pack(RIGHT.to_json(), WIDTH), pack(answer, WIDTH))


FRESH = call("quote", symbol="ABCD.US", start="2024-02-01", end="2024-03-08")


def test_a_right_answer_failed_in_no_way():
    assert modes("41.25", FRESH) is None


@pytest.mark.parametrize(
    ("answer", "calls", "expected"),
    [
        ("unknown", (FRESH,), {"no answer"}),
        ("", (FRESH,), {"no answer"}),
        ("4125", (FRESH,), {"unit or currency"}),
        ("0.04125", (FRESH,), {"unit or currency"}),
        ("41.90", (FRESH,), {"another price"}),
        ("77.00", (FRESH,), set()),
        ("77.00", (call("quote", symbol="ABCD.US", end="2024-02-01"),), {"stale evidence"}),
        ("77.00", (), {"shallow search", "plug-in not called"}),
        (
            "77.00",
            (call("search", query="x"), call("open_page", url="https://a.example/2024/01/05/x")),
            {"shallow search", "plug-in not called", "stale evidence"},
        ),
        ("77.00", (FRESH,) * 12, {"over-complication"}),
    ],
)
def test_what_a_wrong_answer_looks_like(answer, calls, expected):
    assert set(modes(answer, *calls)) == expected


def test_a_period_is_the_matter_of_questions_about_periods():
    asked = SuiteQuestion("q", "Revenue for fiscal year 2023?", ASKED.as_of, {}, ("T2", "global"))
    assert "report calendar" in modes("77.00", call("statement", company="ABCD.US"), question=asked)


@pytest.mark.parametrize("url", [None, 3, "https://a.example/2024/99/99/x", ["x"]])
def test_whatever_was_called_is_no_error(url):
    assert modes("77.00", AnsweredCall("open_page", json.dumps({"url": url})), AnsweredCall("quote", "[]")) is not None


def test_accuracy_is_told_by_subset_and_tier():
    other = Reference(parts=RIGHT.parts, group=("greater-china", "T3"))
    truths = np.stack([pack(one.to_json(), WIDTH) for one in (RIGHT, RIGHT, other)])
    given = np.stack([pack(text, WIDTH) for text in ("41.25", "3", "41.25")])
    breakdown = finsearch_breakdown()
    np.testing.assert_array_equal(breakdown.score(truths, given), [1.0, 0.0, 1.0])
    classes = breakdown.classes(truths, given)
    np.testing.assert_array_equal(classes["global T1"], [1.0, 0.0, np.nan])
    np.testing.assert_array_equal(classes["greater-china T3"], [np.nan, np.nan, 1.0])
