"""Rewards: their scale, that they are monotone, and that what has no skill earns no more than the baseline."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.adversarial.promise import survey
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.instances import build_instance
from openfingym.packages.build import build
from openfingym.results import RolloutResult, State
from openfingym.training.rewards import (
    FLOOR,
    REWARDS,
    Executed,
    bounded,
    graded,
    of_relative_total,
    require_reward,
    reward_of,
)

TOTALS = st.floats(0.01, 100.0)
"""Relative totals, as scores have them."""
KINDS = ("treasury-forecast", "yield-curve-forecast", "equity-excess-return-forecast", "equity-rolling-forecast")
"""Tasks of kinds whose instances are quickly built and scored."""
INSTANCES = 6


def result_of(state: State, relative_total: float | None = None) -> RolloutResult:
    return RolloutResult(
        rollout_id="r",
        task="t",
        task_digest="0" * 64,
        data_kind="simulated",
        agent="react",
        backend="sandbox",
        seed=0,
        state=state,
        total=relative_total,
        relative_total=relative_total,
    )


@given(TOTALS, TOTALS)
def test_less_loss_is_more_reward_on_a_bounded_scale(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert -1.0 < of_relative_total(high) <= of_relative_total(low) < 1.0
    if high > low * (1 + 1e-9):
        assert of_relative_total(high) < of_relative_total(low)


@given(st.floats(0.0, 0.99))
def test_a_gain_and_a_loss_of_one_size_cancel_out(skill: float) -> None:
    assert of_relative_total(1 - skill) == pytest.approx(-of_relative_total(1 + skill))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.lists(st.floats(-5, 5), min_size=8, max_size=8))
def test_a_bet_without_direction_earns_nothing_on_average(truth: list[float], bet: list[float]) -> None:
    """The bet and its opposite, of any size and on rows that move together, against a baseline of 0."""
    errors, moves = np.array(truth), np.array(bet[: len(truth)])
    base = np.mean(errors**2)
    if base < 1e-6:
        return
    for power in (1.0, 0.5):  # mean squared and root mean squared error
        up, down = (float(min(100.0, (np.mean((errors + sign * moves) ** 2) / base) ** power)) for sign in (1, -1))
        assert of_relative_total(up) + of_relative_total(down) <= 1e-9


def test_a_reward_that_is_convex_about_the_baseline_would_pay_for_volatility() -> None:
    """Why the form is not (1 - r) / (1 + r): a guess of the direction in which all rows move together earns by it."""
    moved, bet = 1.0, 0.3
    totals = [(moved - sign * bet) ** 2 / moved**2 for sign in (1, -1)]
    assert sum((1 - total) / (1 + total) for total in totals) > 0.05
    assert sum(map(of_relative_total, totals)) < 0


def test_the_baseline_is_zero_and_a_failure_is_below_every_score() -> None:
    assert bounded(result_of("scored", 1.0)) == graded(result_of("scored", 1.0)) == 0.0
    assert bounded(result_of("rejected")) == FLOOR < of_relative_total(100.0)


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("state", ["error", "void", "deferred"])
def test_a_failure_of_ours_has_no_reward(name: str, state: State) -> None:
    assert reward_of(name, result_of(state)) is None


@pytest.mark.parametrize(("name", "scored", "failed"), [("grpo", -5.0, -6.0), ("loss", -7.0, -100.0)])
def test_the_rewards_of_the_paper_and_of_the_environments_stay(name: str, scored: float, failed: float) -> None:
    assert reward_of(name, result_of("scored", 7.0)) == scored
    assert reward_of(name, result_of("rejected")) == failed


def test_progress_that_was_executed_earns_credit_below_every_score() -> None:
    stages = [Executed(), Executed(parsed=True), Executed(True, True), Executed(True, True, True)]
    earned = [graded(result_of("rejected"), stage) for stage in stages]
    assert earned[0] == FLOOR
    assert all(one < other for one, other in pairwise(earned))  # type: ignore[operator]
    assert earned[-1] < graded(result_of("scored", 100.0))  # type: ignore[operator]
    assert graded(result_of("scored", 0.9), Executed()) == graded(result_of("scored", 0.9), stages[-1])


def test_an_unknown_reward_is_named() -> None:
    with pytest.raises(UsageError, match="known: 'bounded', 'graded'"):
        require_reward("best")


@pytest.mark.parametrize("total", [-0.1, math.nan, math.inf])
def test_what_is_no_relative_total_has_no_reward(total: float) -> None:
    with pytest.raises(UsageError, match="at least 0"):
        of_relative_total(total)


@pytest.mark.parametrize("name", KINDS)
def test_no_answer_without_skill_earns_more_than_the_baseline_over_instances(name: str, tmp_path: Path) -> None:
    """The standing set: constants, noise, copies, volatility without direction."""
    package, earned = build(load_task(name)), defaultdict(list)
    for index in range(INSTANCES):
        folder = tmp_path / str(index)
        folder.mkdir()
        instance = build_instance(package, "train", index, folder)
        for trial in survey(instance, instance.read_truth()).trials:
            if trial.relative is not None:
                earned[trial.name].append(of_relative_total(trial.relative))
    assert earned
    # Each is as often tried as there are answers: its mean may lie above 0 by chance, and by no more than that.
    for answer, rewards in earned.items():
        error = max(np.std(rewards), 0.01) / math.sqrt(len(rewards))
        assert np.mean(rewards) < 4 * error, answer
    assert np.mean([np.mean(rewards) for rewards in earned.values()]) < 0
