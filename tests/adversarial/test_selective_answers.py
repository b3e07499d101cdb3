"""Whoever answers only where it is good gains nothing in a report.

The attack: answering only where it is good, and failing elsewhere, ranked above an agent that always answers as well,
and was "cannot be told apart" with 2 of 30 scored.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.reports.report import make_report
from openfingym.reports.text_table import overall
from tests.openfingym.reports.made import failed, runs, scored

TASKS = [f"task-{n:02}" for n in range(30)]


def of(agent, losses, seeds=1):
    """A run of each task and seed with its loss; a failure where there is none."""
    return [
        failed("rejected", agent=agent, task=task, seed=seed)
        if loss is None
        else scored(loss, agent=agent, task=task, seed=seed)
        for task, loss in zip(TASKS, losses, strict=False)
        for seed in range(seeds)
    ]


def judged(*results):
    """The rows by rank, and what is said of the first two in order of their names."""
    report = make_report(runs(*results), ("agent",))
    return [cell.row[0] for cell in overall(report, "real")], report.comparisons[0]


@pytest.mark.parametrize("answered", [0, 1, 2])
@pytest.mark.parametrize("good", [0.01, 0.9])
def test_a_few_good_answers_are_no_match_for_an_answer_to_everything(answered, good):
    spread = random.Random(1)
    always = of("ridge", [spread.lognormvariate(0.0, 0.2) for _ in TASKS])
    ranked, found = judged(*of("careless", [good] * answered + [None] * (30 - answered)), *always)
    assert ranked == ["ridge", "careless"]
    assert (found.a, found.verdict, found.scored, found.judged) == (("careless",), "worse", (answered, 30), (30, 30))
    assert found.sentence.startswith("ridge is better than careless on real data: its loss, a failure counted as 100")
    assert f"ridge was scored in 30 of 30 runs, careless in {answered} of 30" in found.sentence


def test_who_fails_often_and_is_far_better_where_it_answers_is_not_said_to_be_alike():
    always = of("ridge", [1.0 + 0.01 * n for n in range(30)])
    ranked, found = judged(*of("careless", [0.01] * 12 + [None] * 18), *always)
    assert (ranked, found.verdict) == (["ridge", "careless"], "no difference")
    assert found.sentence.startswith("ridge is scored more often than careless on real data (Holm-adjusted p = ")
    assert "cannot be told apart" not in found.sentence
    assert "ridge was scored in 30 of 30 runs, careless in 12 of 30" in found.sentence


@pytest.mark.parametrize("seeds", [6, 9])
def test_few_tasks_with_many_seeds_are_no_way_round_it(seeds):
    ranked, found = judged(*of("careless", [0.1, None, None], seeds), *of("ridge", [1.1, 1.1, 1.1], seeds))
    assert (ranked, found.verdict, found.scored) == (["ridge", "careless"], "too few", (seeds, 3 * seeds))
    assert found.loss_ratio.value > 1.0


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.01, 1e6), st.booleans()), min_size=6, max_size=12).filter(
        lambda answers: not all(kept for _, kept in answers)
    )
)
def test_leaving_answers_out_never_pays(answers):
    """Two agents whose answers are the same, however bad, but that one of them leaves some out."""
    always = of("always", [loss for loss, _ in answers])
    ranked, found = judged(*always, *of("selective", [loss if kept else None for loss, kept in answers]))
    assert ranked == ["always", "selective"]
    assert found.verdict in {"better", "no difference"}
    assert found.loss_ratio.value < 1.0
    assert found.losses == 0
