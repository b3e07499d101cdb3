"""Questions taken apart, by hand and against MIRAI's metrics."""

from itertools import combinations

import numpy as np
import pytest

from openfingym.metrics.codes import best_f1, voted_f1
from openfingym.metrics.registry import find_metric
from openfingym.reports.questions.analysis import ScorePart, best_of, by_tool, contributions, faults, transitions
from openfingym.reports.questions.played import CallMade, PlayedQuestion, _asked, _samples
from openfingym.suites.breakdown import Breakdown
from openfingym.suites.suite import AnswerForm, SuiteQuestion
from openfingym_suites.mirai.answers import labels
from openfingym_suites.mirai.breakdown import f1_by_quad, f1_of_questions, fault_of, voted_numbers


def asked(state: str, *calls: CallMade) -> PlayedQuestion:
    return PlayedQuestion(1, state, True, len(calls), (), calls)


PLAYED = (
    (
        asked(
            "answered",
            CallMade("count_events", "a", None),
            CallMade("get_events", "b", None),
            CallMade("get_events", "b", None),
        ),
        0.4,
    ),
    (
        asked(
            "answered",
            CallMade("get_events", "c", "future_date"),
            CallMade("get_events", "d", None),
            CallMade("map", "", "unknown_function"),
        ),
        0.0,
    ),
    (asked("unparsed", CallMade("get_events", "e", "future_date")), 0.0),
)
QUESTION = SuiteQuestion("q", "?", "2024-02-03T23:59:59.999999+00:00", {})


def test_tools_and_what_went_wrong():
    counts, events = by_tool(PLAYED)[1], by_tool(PLAYED)[0]
    assert (events.tool, events.calls, events.refused, events.repeated, events.questions) == ("get_events", 5, 2, 1, 2)
    assert events.part == ScorePart(pytest.approx(0.2), 2)
    assert (counts.tool, counts.calls, counts.part) == ("count_events", 1, ScorePart(0.4, 1))
    assert faults(one for one, _ in PLAYED) == {"future_date": 2, "repeated_call": 1, "unknown_function": 1}


def test_ways_through_the_tools():
    steps = transitions(one for one, _ in PLAYED)
    assert sum(steps.values()) == pytest.approx(1.0)
    assert steps["get_events", "answer"] == pytest.approx(2 / 6)
    gains = contributions(PLAYED)
    assert gains["question", "get_events"] == -0.5
    assert gains["question", "count_events"] == 0.25
    assert sum(gains.values()) == pytest.approx(0.0)
    assert contributions(PLAYED[:1]) == {}


def test_attempts_are_told_apart():
    row = {"question": 3, "state": "answered", "begun": True, "actions": 5, "tags": []}
    look = {"tool": "look", "arguments": {"at": 1}}
    actions = [
        {"attempt": 1, "of": 3},
        look,
        look,
        {"attempt": 2, "of": 3, "before": 0.25},
        look,
        {"attempt": 3, "of": 3, "before": None},
        {"answer": 0.5, "before": 0.75},
    ]
    found = _asked(row, {2: actions}, None, Breakdown(), None)
    assert found.attempts == (0.25, None, 0.75)
    assert faults([found]) == {"repeated_call": 1}
    assert transitions([found])["question", "look"] == pytest.approx(2 / 5)
    read = AnswerForm(("level",), "a number", lambda answer: np.array([answer]), float)
    samples = _samples([found], read)
    assert samples is not None
    assert samples[:, 0, 0].tolist() == [0.25, 0.0, 0.75]
    assert _samples([found, asked("answered")], read) is None
    # Whatever an agent calls, the page has a name for it.
    others = _asked(row, {2: [{"tool": "x" * 10_000}, look]}, None, Breakdown(), None, frozenset({"look"}))
    assert [(call.tool, call.fault) for call in others.calls] == [("(no such tool)", "unknown_tool"), ("look", None)]


def test_best_of_k_is_the_mean_over_all_choices():
    scores = np.random.default_rng(3).uniform(size=(5, 7))
    for k, found in enumerate(best_of(scores), 1):
        chosen = [scores[list(some)].max(axis=0).mean() for some in combinations(range(5), k)]
        assert found == pytest.approx(np.mean(chosen))


def test_mirai_parts_are_those_of_the_bank():
    generator = np.random.default_rng(5)
    names = labels()
    samples = np.zeros((3, 40, len(names)))
    for answers in samples:
        for row in answers:
            for place in generator.choice(np.arange(20, len(names)), size=generator.integers(1, 6), replace=False):
                row[[place, names.index(names[place][:2])]] = 1.0
    truths, given = samples[0], samples[1]
    bank = find_metric("second_level_f1").compute({"y_true": truths, "y_pred": given})
    assert f1_of_questions(truths, given).mean() == pytest.approx(bank)
    assert best_of(np.stack([f1_of_questions(truths, one) for one in samples[1:]]))[-1] == pytest.approx(
        best_f1(truths, np.stack(list(samples[1:]), axis=2))
    )
    for parts in f1_by_quad(truths, truths).values():
        assert np.nanmin(parts) == 1.0
    together = voted_numbers(samples)
    bank = voted_f1(truths, np.stack(list(samples), axis=2))
    assert f1_of_questions(truths, together).mean() == pytest.approx(bank)
    assert ((together[:, 20:] > 0).any(axis=1) <= (together[:, :20] > 0).any(axis=1)).all()


def test_faults_are_those_that_the_tools_told():
    def fault(name, **arguments):
        return fault_of(QUESTION, name, arguments, None, "events")

    assert fault("count_events", head_entities=["USA"]) is None
    assert fault("count_events", date_range={"end_date": "2024-02-04"}) == "future_date"
    assert fault("count_events", head_entities=["QQQ"]) == "invalid_country"
    assert fault("get_news_articles") == "unknown_function"
