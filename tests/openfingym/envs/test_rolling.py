"""Rolling forecasts as a Gymnasium environment: on training bars, and on hidden ones through a real verifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from openfingym.envs.rolling import RollingEnv
from openfingym.errors import UsageError


@pytest.fixture
def env() -> Iterator[RollingEnv]:
    env = RollingEnv("equity-rolling-forecast")
    yield env
    env.close()


@pytest.fixture
def hidden() -> Iterator[RollingEnv]:
    env = RollingEnv("equity-rolling-forecast", split="test")
    yield env
    env.close()


def play(env: RollingEnv, seed: int, *, foresight: bool = False) -> list[float]:
    """Rewards of an episode of zeros, or of what will happen, read off the episode that has it in memory."""
    env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        action = np.zeros(env.action_space.shape)
        if foresight:
            assert env._train is not None
            action = env._train._returns[len(rewards)]
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        over = terminated or truncated
    return rewards


def test_passes_the_checker(env: RollingEnv) -> None:
    with warnings.catch_warnings():
        # Returns have a unit; scaling them to [-1, 1] would hide it.
        warnings.filterwarnings("ignore", message=".*symmetric and normalized.*")
        check_env(env, skip_render_check=True)


def test_training_episodes_begin_where_the_seed_says(env: RollingEnv) -> None:
    first, again, other = (env.reset(seed=seed)[0]["bars"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_training_bars_are_the_public_ones(env: RollingEnv) -> None:
    observation, info = env.reset(seed=3)
    public = env.package.array("train_bars")
    start = info["time_index"] - len(observation["bars"]) + 1
    assert np.array_equal(observation["bars"], public[start : start + len(observation["bars"])])


def test_a_reward_tells_of_the_past_and_perfect_forecasts_earn_none_of_it(env: RollingEnv) -> None:
    horizon = env.task.spec.contract.horizon
    zeros, perfect = play(env, 4), play(env, 4, foresight=True)
    assert zeros[: horizon - 1] == [0.0] * (horizon - 1)
    assert all(reward < 0.0 for reward in zeros[horizon:])
    assert perfect == pytest.approx([0.0] * len(zeros), abs=1e-12)


def test_the_next_bar_follows(env: RollingEnv) -> None:
    before, _ = env.reset(seed=5)
    after, *_ = env.step(np.zeros(3))
    assert np.array_equal(before["bars"][1:], after["bars"][:-1])


@pytest.mark.parametrize("action", [np.zeros(2), np.zeros((1, 3)), np.full(3, np.nan), np.full(3, 99.0)])
def test_a_wrong_action_is_told_and_changes_nothing(env: RollingEnv, action: np.ndarray) -> None:
    before, _ = env.reset(seed=6)
    with pytest.raises(UsageError):
        env.step(action)
    after, *_ = env.step(np.zeros(3))
    assert np.array_equal(before["bars"][1:], after["bars"][:-1])


def test_an_action_that_is_no_array_of_real_numbers_is_told(env: RollingEnv) -> None:
    env.reset(seed=0)
    shape = env.action_space.shape
    assert shape is not None
    for wrong in (None, "up", np.zeros(shape, complex), np.full(shape, 10**400, object), np.ma.masked_all(shape)):
        with pytest.raises(UsageError, match="an action"):
            env.step(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected a dict"):
        env.reset(options="x")  # type: ignore[arg-type]


def test_no_step_before_reset_or_after_the_end(env: RollingEnv) -> None:
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(3))
    play(env, 7)
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(3))
    with pytest.raises(UsageError, match="split='test'"):
        env.result()
    env.reset(seed=7)
    env.close()
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(3))


def test_hidden_episodes_are_played_once_and_scored(hidden: RollingEnv) -> None:
    count = hidden.package.manifest.n_private
    seen = []
    for _ in range(count):
        _, info = hidden.reset(seed=1)
        seen.append(info["time_index"])
        over = False
        while not over:
            _, _, terminated, truncated, _ = hidden.step(np.zeros(3))
            over = terminated or truncated
    assert seen == sorted(set(seen))
    with pytest.raises(UsageError, match="episodes-exhausted"):
        hidden.reset()
    result = hidden.result()
    assert result.state == "scored"
    assert result.total == result.baseline_total  # zeros are the baseline
    assert result.relative_total == pytest.approx(1.0)
    assert (result.relative_interval, result.verdict) == ((1.0, 1.0), "no difference")


def test_practice_is_not_scored() -> None:
    env = RollingEnv("equity-rolling-forecast", split="practice")
    try:
        env.reset()
        env.step(np.zeros(3))
        assert env.result().state == "rejected"
    finally:
        env.close()


def test_no_such_split() -> None:
    with pytest.raises(UsageError, match="known: 'train', 'practice', 'test'"):
        RollingEnv("equity-rolling-forecast", split="all")  # type: ignore[arg-type]


def test_another_kind_of_task() -> None:
    with pytest.raises(UsageError, match="forecast task"):
        RollingEnv("treasury-forecast")
