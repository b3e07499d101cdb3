"""What reports say of calls and classes, by hand."""

import numpy as np
import pytest

from openfingym.metrics.registry import find_metric
from openfingym.suites.mirai.analysis import (
    Call,
    Part,
    Played,
    contributions,
    f1_by_function,
    f1_by_quad,
    faults,
    transitions,
)
from openfingym.suites.mirai.answers import labels, parsed_set

PLAYED = (
    Played(
        frozenset({"042", "190"}),
        parsed_set({"04": ["042", "043"], "19": ["193"]}),
        (Call("count_events", "a"), Call("get_events", "b"), Call("get_events", "b")),
    ),
    Played(
        frozenset({"010"}),
        parsed_set({"02": ["020"]}),
        (Call("get_events", "c", "future_date"), Call("get_events", "d"), Call("map", "", "unknown_function")),
    ),
    Played(frozenset({"112"}), parsed_set("no answer"), (Call("get_events", "e", "future_date"),)),
)


def test_f1_is_that_of_the_bank():
    place = {code: number for number, code in enumerate(labels())}
    truth, answers = np.zeros((3, len(place))), np.zeros((3, len(place)))
    for row, each in enumerate(PLAYED):
        for code in each.truth:
            truth[row, [place[code], place[code[:2]]]] = 1.0
        for code in each.named:
            answers[row, place[code]] = 1.0
    bank = find_metric("second_level_f1").compute({"y_true": truth, "y_pred": answers})
    assert np.mean([each.f1 for each in PLAYED]) == pytest.approx(bank)


def test_classes_and_functions():
    assert f1_by_quad(PLAYED) == {
        "verbal cooperation": Part(pytest.approx((2 / 3 + 0.0) / 2), 2),
        "material cooperation": Part(0.0, 0),
        "verbal conflict": Part(0.0, 1),
        "material conflict": Part(0.0, 1),
    }
    assert f1_by_function(PLAYED) == {
        "count_events": Part(pytest.approx(0.4), 1),
        "get_events": Part(pytest.approx(0.2), 2),
    }
    assert list(f1_by_function(PLAYED)) == ["count_events", "get_events"]


def test_ways_through_the_functions():
    steps = transitions(PLAYED)
    assert sum(steps.values()) == pytest.approx(1.0)
    assert steps["get_events", "answer"] == pytest.approx(2 / 6)
    right = transitions(PLAYED, lambda each: each.correct)
    assert right == {
        ("count_events", "get_events"): 0.25,
        ("get_events", "answer"): 0.25,
        ("get_events", "get_events"): 0.25,
        ("question", "count_events"): 0.25,
    }
    gains = contributions(PLAYED)
    assert gains["question", "get_events"] == -0.5
    assert gains["question", "count_events"] == 0.25
    assert sum(gains.values()) == pytest.approx(0.0)
    assert transitions(()) == {}


def test_what_went_wrong():
    assert faults(PLAYED) == {"future_date": 2, "repeated_action": 1, "unknown_function": 1}
