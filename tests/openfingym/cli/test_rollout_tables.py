"""What a finished run says of skill: the report's figure with its interval, or how little it is over."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from openfingym.cli.rollout_tables import _foreseen, print_ended
from openfingym.reports.report import make_report
from openfingym.results import RolloutResult
from tests.openfingym.reports.made import failed, runs, scored

TASKS = [f"made-up-{n}" for n in range(6)]


def said(capsys: pytest.CaptureFixture[str], results: list[RolloutResult], *, as_json: bool = False) -> str:
    work = SimpleNamespace(done=[], specs=results)
    print_ended(results, Path("runs"), work=work, wall_s=1.0, as_json=as_json)  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_the_skill_is_that_of_the_report_with_its_interval(capsys):
    results = [scored(0.5 + 0.05 * n, task=task) for n, task in enumerate(TASKS)]
    # In any order, as rollouts end.
    results = [failed("rejected", task=TASKS[0], seed=1), *results[::-1]]
    expected = make_report(runs(*sorted(results, key=lambda run: (run.task, run.seed)))).cells[0].skill
    assert expected.enough
    text = said(capsys, results)
    assert f"{expected.value:+.3f} [{expected.low:+.3f}, {expected.high:+.3f}]" in text
    (group,) = json.loads(said(capsys, results, as_json=True))["groups"]
    (skill,) = group["skill"]
    assert (skill["value"], skill["low"], skill["high"]) == (expected.value, expected.low, expected.high)
    assert (skill["tasks"], skill["runs"], skill["over"], skill["data_kind"]) == (6, 7, "task", "real")
    assert group["median_skill"] == pytest.approx(0.375)


def test_too_little_for_an_interval_is_said_and_kinds_of_data_stay_apart(capsys):
    results = [scored(0.5), scored(0.5, seed=1), scored(2.0, data_kind="simulated", task="b")]
    text = said(capsys, results)
    assert "real: +0.500 (only 1 task, 2 runs)" in text
    assert "simulated: -1.000 (only 1 task, 1 run)" in text
    assert "+0.000 (only 1 task, 1 run)" in said(capsys, [scored(1.0)])
    many = [scored(0.5 + 0.01 * seed, seed=seed) for seed in range(6)]
    assert "+0.475 (only 1 task, 6 runs)" in said(capsys, many)
    sure = [scored(0.5, seed=seed, relative_interval=(0.4, 0.625)) for seed in range(6)]
    assert "+0.500 [+0.375, +0.600], of these tasks alone" in said(capsys, sure)
    assert "(only" not in said(capsys, [failed("rejected")])


def test_of_other_hidden_data_than_the_recorded_nothing_is_foreseen():
    plain = {"split": "test", "real": False, "clock": None, "questions": None, "seeds": (0, 1), "attempts": 3}
    plan = SimpleNamespace(**plain, fresh=False)
    ((told,), unknown) = _foreseen(plan, ["fx-forecast", "gone"])
    assert (told.seeds, told.tasks, unknown) == (6, ("fx-forecast",), ["gone"])
    # More repeats tell more only where each has hidden data of its own.
    ((apart,), _) = _foreseen(SimpleNamespace(**plain, fresh=True), ["fx-forecast"])
    assert apart.difference < told.difference
    for change in ({"real": True}, {"clock": "simulated"}, {"questions": "1-5"}):
        assert _foreseen(SimpleNamespace(**{**plain, **change}, fresh=False), ["fx-forecast"]) == ([], ["fx-forecast"])
    assert _foreseen(SimpleNamespace(**{**plain, "split": "train"}, fresh=False), ["fx-forecast"]) == ([], [])


def test_a_bad_agent_gains_nothing_by_failing_in_what_is_shown(capsys):
    """Its skill would: a rejected run counts there as the baseline, which it is worse than."""
    bad = [scored(2.0, task=task, agent="bad") for task in TASKS]
    careless = [scored(2.0, task=TASKS[0], agent="careless")]
    careless += [failed("rejected", task=task, agent="careless") for task in TASKS[1:]]
    text = said(capsys, [*bad, *careless])
    shown = {line.split()[0]: line.split() for line in text.splitlines() if line.strip().startswith(("bad", "care"))}
    assert [shown[agent][7] for agent in ("bad", "careless")] == ["2.00", "52.1"]
    assert "a rejected run counted as 100 times the baseline" in text
    assert "penalized" not in said(capsys, bad)


def test_errors_say_whose_failure_they_are_and_how_many_are_not_shown(capsys):
    down = [failed("error", boundary="model", reason="it cannot be reached", seed=seed) for seed in range(7)]
    text = said(capsys, [failed("error", boundary="sandbox", reason="no disk", model="m"), *down])
    assert "m seed 0: a failure of ours, not a score: no disk" in text
    assert text.count("the endpoint's failure, not a score: it cannot be reached") == 4
    assert "and 3 more\n" in text
    assert "more" not in said(capsys, down[:5])
