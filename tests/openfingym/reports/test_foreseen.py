"""What a plan could tell, from the recorded errors of baselines."""

from __future__ import annotations

import math

import pytest

from openfingym.reports import foreseen as module
from openfingym.reports.foreseen import foreseen
from openfingym.reports.statistics import detectable_in_errors
from openfingym.results.baselines import BaselineResult
from tests.openfingym.reports.made import OWN_DATA


def row(task, agent, relative, half=0.1, **changes):
    interval = (relative * math.exp(-half), relative * math.exp(half))
    fields = {"family": "forecasting", "data_kind": "real", "key": "k", "state": "scored", "reason": None, "total": 0.1}
    fields |= {"relative_interval": interval}
    return BaselineResult(
        task=task, agent=agent, relative_total=relative, metrics={}, wall_s=1.0, seed=0, **(fields | changes)
    )


@pytest.fixture
def record(monkeypatch):
    def kept(*rows):
        monkeypatch.setattr(module, "recorded", lambda: list(rows))

    return kept


def test_of_few_datasets_it_is_the_error_over_items(record):
    # The naive answer has no error, and an oracle none of interest.
    halves = {"a": 0.1, "b": 0.2, "c": 0.4, "naive": 0.0, "oracle": 9.0}
    others = [row("other", "a", 0.9), row("fx-forecast", "of unknown error", 0.9, relative_interval=None)]
    record(*(row("fx-forecast", agent, 0.9, half) for agent, half in halves.items()), *others)
    (found,), unknown = foreseen(["fx-forecast", "gone"], 2)
    error = 0.2 / 4.302652729749464
    assert found.difference == pytest.approx(-math.expm1(-detectable_in_errors(2.0) * error))
    assert (found.tasks, found.datasets, found.seeds, found.over, unknown) == (("fx-forecast",), 1, 2, "item", ["gone"])
    assert found.sentence == (
        f"with 2 seeds on this task (real data) a difference below {found.difference:.1%} of the loss cannot be told, "
        "and none at all of other tasks"
    )
    # More repeats on the same items tell no more; on tapes of their own they do.
    (more,), _ = foreseen(["fx-forecast"], 8)
    assert more.difference == found.difference
    (apart,), _ = foreseen(["fx-forecast"], 4, own_tapes=True)
    assert math.log1p(-apart.difference) == pytest.approx(math.log1p(-found.difference) / 2.0)


def test_tasks_on_one_dataset_go_together_unless_each_rollout_has_a_tape_of_its_own(record):
    tasks = ["fx-forecast", "fx-forecast-v2"]
    record(*(row(task, "a", 0.9, 0.2) for task in tasks))

    def lower(tasks, **how):
        ((found,), _) = foreseen(tasks, 1, **how)
        assert found.datasets == 1
        return -math.log1p(-found.difference)

    assert lower(tasks) == pytest.approx(lower(tasks[:1]))
    # Of independent tapes there are two: the degrees of freedom are more, too.
    assert lower(tasks, own_tapes=True) < 0.72 * lower(tasks[:1], own_tapes=True)


def test_of_many_datasets_it_is_how_far_they_differ(record):
    logs = [0.1, -0.1, 0.3, -0.2, 0.05, 0.0]
    record(*(row(task, "a", math.exp(log)) for task, log in zip(OWN_DATA, logs, strict=True)))
    (found,), unknown = foreseen(OWN_DATA, 1)
    mean = math.fsum(logs) / 6.0
    error = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / 5.0 / 6.0)
    assert -math.log1p(-found.difference) == pytest.approx(detectable_in_errors(5.0) * error)
    assert (found.over, found.datasets, unknown) == ("task", 6, [])
    assert found.sentence == (
        f"with 1 seed on these 6 tasks (real data) a difference below {found.difference:.1%} of the loss cannot be told"
    )
    # Of agents that are each recorded on a few datasets alone, the errors over items are left.
    record(*(row(task, f"agent-{task}", 0.9) for task in OWN_DATA))
    assert foreseen(OWN_DATA, 1)[0][0].over == "item"


def test_real_and_simulated_data_are_foreseen_apart_and_nothing_is_made_up(record):
    record(row("a", "x", 0.9), row("b", "x", 0.9, data_kind="simulated"), row("c", "x", 0.9, state="rejected"))
    found, unknown = foreseen(["a", "b", "c"], 1)
    assert ([one.data_kind for one in found], unknown) == (["real", "simulated"], ["c"])
    assert foreseen([], 1) == ([], [])
