"""Questions taken apart, by hand and against MIRAI's metrics."""

from itertools import combinations

import numpy as np
import pytest

from openfingym.metrics.codes import best_f1
from openfingym.metrics.registry import find_metric
from openfingym.reports.questions.analysis import Part, best_of, by_tool, contributions, faults, transitions
from openfingym.reports.questions.played import CallMade, PlayedQuestion
from openfingym.suites.mirai.answers import CodeAnswer, labels
from openfingym.suites.mirai.breakdown import f1_by_quad, f1_of_questions, fault_of, voted_numbers
from openfingym.suites.mirai.consistency import voted
from openfingym.suites.suite import SuiteQuestion


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
    assert events.part == Part(pytest.approx(0.2), 2)
    assert (counts.tool, counts.calls, counts.part) == ("count_events", 1, Part(0.4, 1))
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
    for place in range(5):
        answers = [CodeAnswer(_codes(row, names)) for row in samples[:, place]]
        assert (together[place] == voted(answers).numbers()).all()


def _codes(row, names):
    """The second-level codes of an answer below their first-level ones."""
    named = [names[number] for number in np.flatnonzero(row)]
    return {code: tuple(one for one in named if len(one) == 3 and one[:2] == code) for code in named if len(code) == 2}


def test_faults_are_those_that_the_tools_told():
    def fault(name, **arguments):
        return fault_of(QUESTION, name, arguments, None, "events")

    assert fault("count_events", head_entities=["USA"]) is None
    assert fault("count_events", date_range={"end_date": "2024-02-04"}) == "future_date"
    assert fault("count_events", head_entities=["XXX"]) == "invalid_country"
    assert fault("get_news_articles") == "unknown_function"
