"""What one row achieved: figures worked out by hand, and runs that must not be in them."""

from __future__ import annotations

import math
from statistics import fmean, geometric_mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym import catalog
from openfingym.reports.cells import Cost, cells_of, task_cells_of
from openfingym.reports.groups import ALL, UNKNOWN, families_of, grouped
from openfingym.reports.runs import RunConfig
from tests.openfingym.reports.made import OWN_DATA, failed, scored

FORECASTS = list(OWN_DATA)
BY = ("agent", "model")


def cells(*results, by=BY):
    groups = grouped(results, by)
    return cells_of(groups, families_of(groups, {}))


def task_cells(*results):
    (group,) = grouped(results, BY)
    return {cell.task: cell for cell in task_cells_of(group, families_of([group], {}))}


def test_skill_is_one_minus_the_geometric_mean_over_tasks_of_runs():
    losses = {task: [0.5 + 0.1 * n, 1.2, 0.7][: 1 + n % 3] for n, task in enumerate(FORECASTS)}
    (cell,) = cells(*(scored(x, task=task, seed=seed) for task, some in losses.items() for seed, x in enumerate(some)))
    assert (cell.family, cell.tasks, cell.counts.scored) == ("forecasting", 6, sum(map(len, losses.values())))
    # Every task weighs the same, however often it was run.
    assert cell.skill.value == pytest.approx(1.0 - geometric_mean(geometric_mean(some) for some in losses.values()))
    assert cell.skill.low < cell.skill.value < cell.skill.high
    assert cell.skill_scored == pytest.approx(cell.skill.value)
    assert cell.reward == pytest.approx(fmean(0.1 * fmean(some) for some in losses.values()))
    assert cell.better == pytest.approx(np.mean([x < 1.0 for some in losses.values() for x in some]))


def test_a_rejected_run_counts_as_the_baseline_and_a_failure_of_ours_as_nothing():
    good = [scored(0.5, task=task) for task in FORECASTS]
    (alone,) = cells(*good)
    (with_ours,) = cells(
        *good, *(failed(state, seed=n) for n, state in enumerate(("error", "deferred", "void"), start=1))
    )
    assert (with_ours.counts.error, with_ours.counts.deferred, with_ours.counts.void) == (1, 1, 1)
    assert (with_ours.skill, with_ours.reward, with_ours.counts.success) == (alone.skill, alone.reward, 1.0)
    (cell,) = cells(*good, failed("rejected", task=FORECASTS[0], seed=1), failed("rejected", task="fx-forecast"))
    assert cell.skill.value == pytest.approx(1.0 - math.exp((5.0 * math.log(0.5) + 0.5 * math.log(0.5) + 0.0) / 7.0))
    assert cell.skill_scored == pytest.approx(0.5)
    assert cell.counts.success == 6 / 8
    assert (cell.tasks, cell.reward) == (7, pytest.approx(0.05))


def test_an_agent_that_never_delivers_has_no_skill():
    (cell,) = cells(*(failed("rejected", task=task) for task in FORECASTS))
    assert (cell.skill.value, cell.skill_scored, cell.reward, cell.counts.success, cell.better) == (
        None,
        None,
        None,
        0.0,
        0.0,
    )
    assert cell.cost == Cost(None, None, None)
    (ours,) = cells(*(failed("error", task=task) for task in FORECASTS))
    assert (ours.tasks, ours.skill.value, ours.counts.success, ours.better, ours.pass_at) == (0, None, None, None, ())


def test_of_too_few_datasets_the_interval_is_over_items_however_many_runs_there_are():
    def runs(seeds, half, spread=0.0, tasks=FORECASTS[:5]):
        return [
            scored(loss, task=task, seed=seed, relative_interval=(loss * math.exp(-half), loss * math.exp(half)))
            for task in tasks
            for seed in range(seeds)
            for loss in [0.5 * math.exp(spread * (-1) ** seed)]
        ]

    (once,), (often,) = cells(*runs(1, 0.2)), cells(*runs(12, 0.2))
    assert (once.skill.over, once.tasks) == ("item", 5)
    # Five parts, each known by its own interval; repeats that are identical change nothing.
    ends = [1.0 - 0.5 * math.exp(sign * 0.2 / math.sqrt(5.0)) for sign in (1.0, -1.0)]
    assert [once.skill.low, once.skill.high] == pytest.approx(ends)
    assert (often.skill.low, often.skill.high) == pytest.approx((once.skill.low, once.skill.high))
    (unlike,) = cells(*runs(12, 0.2, spread=0.1))
    assert unlike.skill.low < often.skill.low < often.skill.high < unlike.skill.high
    # Without an error over items, the number of runs is no evidence.
    (nothing,) = cells(*(scored(0.5 + 0.01 * n, seed=n) for n in range(12)))
    assert (nothing.skill.low, nothing.skill.high, nothing.skill.over) == (None, None, None)
    (enough,) = cells(*runs(1, 0.2), scored(0.6, task=FORECASTS[5]))
    assert enough.skill.over == "task"


def test_tasks_of_one_series_are_one_dataset():
    series = ["treasury-forecast", *(f"treasury-forecast-v{n}" for n in range(2, 8))]
    interval = (0.4, 0.625)
    (cell,) = cells(*(scored(0.5, task=task, relative_interval=interval) for task in series))
    assert (cell.tasks, cell.skill.over) == (7, "item")
    # No narrower than that of one of them.
    assert (cell.skill.low, cell.skill.high) == pytest.approx((1.0 - interval[1], 1.0 - interval[0]))
    (bare,) = cells(*(scored(0.5, task=task) for task in series))
    assert bare.skill.over is None


def test_real_and_simulated_data_never_meet():
    results = [
        scored(0.5, task=task, data_kind=kind)
        for task in FORECASTS
        for kind in ("simulated", "real", "specified", "odd")
    ]
    found = cells(*results, scored(9.0, task=FORECASTS[0], data_kind="simulated", seed=1))
    assert [cell.data_kind for cell in found] == ["real", "simulated", "specified", "odd"]
    assert [cell.tasks for cell in found] == [6] * 4
    assert [cell.skill.value == pytest.approx(0.5) for cell in found] == [True, False, True, True]


def test_the_sampling_interval_is_that_of_a_single_scored_run():
    sure = scored(0.5, relative_interval=(0.4, 0.6))
    assert task_cells(sure)["treasury-forecast"].sampling == (pytest.approx(0.4), pytest.approx(0.6))
    again = scored(0.5, seed=1, relative_interval=(0.4, 0.6))
    for several in ([sure, again], [failed("rejected")], [failed("error")], [sure, failed("rejected", seed=1)]):
        assert task_cells(*several)["treasury-forecast"].sampling is None


def test_builds_of_a_task_are_tasks_of_their_own():
    found = task_cells(scored(0.5), scored(0.7, task_digest="e" * 64), scored(0.9, task="fx-forecast"))
    assert {task: cell.skill.value for task, cell in found.items()} == pytest.approx(
        {"fx-forecast": 0.1, "treasury-forecast@dddddddd": 0.5, "treasury-forecast@eeeeeeee": 0.3}
    )
    assert {cell.family for cell in found.values()} == {"forecasting"}


def test_families_are_the_catalogues_and_an_unknown_task_is_said_to_be():
    known = {info.name: info.family for info in catalog.tasks()}
    names = ["ou-generation", "amazon-fraud", "equity-trading", "treasury-forecast", "gone"]
    groups = grouped([scored(0.5, task=name) for name in names], BY)
    assert families_of(groups, {}) == {name: known.get(name, UNKNOWN) for name in names}
    # A task can be named as the build or the slice of another one.
    named = [scored(0.5), scored(0.4, task_digest="e" * 64), scored(0.3, task="treasury-forecast@dddddddd")]
    named += [scored(0.3, questions="1-9"), scored(0.2, task="treasury-forecast@dddddddd questions 1-9")]
    assert sorted(len(mine) for group in grouped(named, BY) for mine in group.tasks.values()) == [1] * 5
    # A build can be made whose digest begins as that of another.
    near = grouped([scored(0.5), scored(0.4, task_digest="d" * 9 + "e" * 55)], BY)
    assert [list(group.tasks) for group in near] == [["treasury-forecast@dddddddddd", "treasury-forecast@ddddddddde"]]
    builds = grouped([scored(0.5), scored(0.5, task_digest="e" * 64)], BY)
    assert set(families_of(builds, {}).values()) == {"forecasting"}


def test_the_family_of_a_task_known_by_its_folder_alone_is_what_its_runs_state():
    mine, again, odd, ours = (
        scored(0.5, task="mine"),
        scored(0.5, task="mine", agent="naive"),
        scored(0.5, task="odd"),
        scored(0.5),
    )
    made = {
        again.rollout_id: RunConfig(family="fraud"),
        odd.rollout_id: RunConfig(family="<b>"),
        ours.rollout_id: RunConfig(family="fraud"),  # the catalogue knows better
    }
    found = families_of(grouped([again, mine, odd, ours], BY), made)
    assert found == {"mine": "fraud", "odd": UNKNOWN, "treasury-forecast": "forecasting"}


def test_families_come_in_the_papers_order_and_all_together_last():
    found = cells(
        *(
            scored(0.5, task=task)
            for task in ("amazon-fraud", "gone", "ou-generation", "treasury-forecast", "equity-trading")
        )
    )
    assert [cell.family for cell in found] == ["forecasting", "generation", "trading", "fraud", UNKNOWN, ALL]
    assert found[-1].tasks == 5
    # The paper's rewards have no common scale.
    assert found[-1].reward is None


def test_a_row_of_one_family_has_a_cell_over_all_where_another_has_several():
    both = (scored(0.5), scored(0.5, task="ou-generation"))
    found = cells(*both, scored(0.5, agent="narrow"), scored(0.5, agent="far", data_kind="simulated"))
    assert [(cell.row[0], cell.family) for cell in found] == [
        *(("narrow", family) for family in ("forecasting", ALL)),
        *(("ridge", family) for family in ("forecasting", "generation", ALL)),
        ("far", "forecasting"),
    ]


def test_the_papers_rewards():
    fraud = scored(0.5, task="amazon-fraud", metrics={"auroc": 0.9, "recall_at_k": 0.6})
    rewards = {cell.family: cell.reward for cell in cells(fraud, scored(0.5, task="equity-trading"), scored(0.5))}
    assert rewards == {
        "forecasting": pytest.approx(0.05),
        "trading": pytest.approx(-0.05),
        "fraud": pytest.approx(1.5),
        ALL: None,
    }
    assert cells(scored(0.5, task="amazon-fraud"))[0].reward is None


def test_a_success_costs_what_all_tries_cost():
    tries = [
        scored(0.5, cost_usd=0.2, prompt_tokens=100, completion_tokens=10, wall_s=30.0),
        failed("rejected", seed=1, cost_usd=0.5, prompt_tokens=300, completion_tokens=90, wall_s=50.0),
        scored(0.5, seed=2, cost_usd=0.1, prompt_tokens=0, completion_tokens=0, wall_s=10.0),
    ]
    assert Cost.of(tries) == Cost(pytest.approx(0.4), pytest.approx(250.0), pytest.approx(45.0))
    unpriced = scored(0.5, seed=3)
    assert Cost.of([*tries, unpriced]).usd is None
    assert Cost.of([unpriced]) == Cost(None, None, 10.0)
    (cell,) = cells(*tries, failed("error", seed=4, cost_usd=100.0, wall_s=1e6))
    assert cell.cost == Cost.of(tries)


def test_pass_at_k_is_averaged_over_the_same_tasks_for_every_k():
    one = [scored(x, seed=n) for n, x in enumerate((0.5, 2.0, 3.0))] + [failed("rejected", seed=3)]
    other = [
        scored(0.5, task="fx-forecast"),
        failed("rejected", task="fx-forecast", seed=1),
        failed("error", task="fx-forecast", seed=2),
    ]
    (cell,) = cells(*one, *other)
    assert [(at.k, at.scored, at.better) for at in cell.pass_at] == [
        (1, pytest.approx((3 / 4 + 1 / 2) / 2), pytest.approx((1 / 4 + 1 / 2) / 2)),
        (2, pytest.approx(1.0), pytest.approx((1 / 2 + 1.0) / 2)),
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["better", "worse", "rejected", "error"])), min_size=1, max_size=40
    )
)
@settings(max_examples=50)
def test_more_tries_never_make_success_less_likely(outcomes):
    kinds = {"better": lambda **at: scored(0.5, **at), "worse": lambda **at: scored(2.0, **at)}
    results = [
        kinds[how](task=FORECASTS[task], seed=n) if how in kinds else failed(how, task=FORECASTS[task], seed=n)
        for n, (task, how) in enumerate(outcomes)
    ]
    (cell,) = cells(*results)
    for before, after in zip(cell.pass_at, cell.pass_at[1:], strict=False):
        assert before.scored <= after.scored + 1e-12
        assert before.better <= after.better + 1e-12
    assert all(at.better <= at.scored + 1e-12 for at in cell.pass_at)


def test_rows_are_what_was_asked_for():
    results = [scored(0.5, agent=agent, model=model) for agent in ("react", "oneshot") for model in ("b", "a", None)]
    assert [group.row for group in grouped(results, BY)] == [
        (a, m) for a in ("oneshot", "react") for m in ("-", "a", "b")
    ]
    assert [group.row for group in grouped(results, ("model",))] == [("-",), ("a",), ("b",)]
    assert [sum(map(len, group.tasks.values())) for group in grouped(results, ("agent",))] == [3, 3]


def test_a_task_has_its_spread_and_an_interval_over_its_items():
    found = task_cells(*(scored(x, seed=n) for n, x in enumerate((0.4, 0.5, 0.6))), failed("rejected", seed=9))[
        "treasury-forecast"
    ]
    assert found.skill.value == pytest.approx(1.0 - (0.4 * 0.5 * 0.6) ** 0.25)
    assert (found.best, found.worst, found.skill.over) == (pytest.approx(0.6), pytest.approx(0.0), None)
    assert found.total == pytest.approx(0.05)
    often = task_cells(*(scored(0.4 + 0.02 * n, seed=n, relative_interval=(0.3, 0.6)) for n in range(6)))
    assert often["treasury-forecast"].skill.over == "item"


def test_better_than_the_baseline_is_beyond_the_sampling_error():
    sure = [scored(0.5, seed=0, relative_interval=(0.4, 0.6)), scored(0.9, seed=1, relative_interval=(0.7, 1.2))]
    (cell,) = cells(*sure, scored(0.9, seed=2), scored(1.3, seed=3, relative_interval=(1.1, 1.5)))
    # Of the third nothing is known but its score; it is from before there were intervals.
    assert cell.better == 2 / 4
    assert cell.pass_at[0].better == pytest.approx(2 / 4)


def test_a_single_run_of_a_task_has_its_own_interval():
    one, two = FORECASTS[:2]
    found = task_cells(
        scored(0.5, task=one, relative_interval=(0.4, 0.7)), *(scored(0.5, task=two, seed=s) for s in (0, 1))
    )
    assert found[one].sampling == pytest.approx((0.3, 0.6))
    assert (found[one].skill.low, found[one].skill.high) == pytest.approx((1.0 - 0.7, 1.0 - 0.25 / 0.7))
    assert found[two].sampling is None
    assert task_cells(failed("rejected", task=one))[one].sampling is None
