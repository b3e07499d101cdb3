"""``make`` and ``make_vec``: which environment a task gives, and what is said where it gives none."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openfingym
from openfingym.envs.batch import BatchEnv
from openfingym.envs.rolling import RollingEnv
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_hidden import HiddenTradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.envs.walk import WalkEnv
from openfingym.errors import TaskNotFoundError, UsageError


@pytest.mark.parametrize(
    ("task", "split", "kind"),
    [
        ("treasury-forecast", None, WalkEnv),
        ("yield-curve-forecast", None, WalkEnv),
        ("equity-excess-return-forecast", None, WalkEnv),
        ("cert-fraud", None, BatchEnv),
        ("equity-rolling-forecast", None, RollingEnv),
        ("equity-rolling-forecast", "test", RollingEnv),
        ("crypto-trading", None, TradingEnv),
        ("crypto-trading", "train", TradingEnv),
        ("crypto-trading", "practice", HiddenTradingEnv),
        ("crypto-trading", "test", HiddenTradingEnv),
    ],
)
def test_a_task_gives_its_environment(task: str, split: str | None, kind: type) -> None:
    env = openfingym.make(task, split=split)  # type: ignore[arg-type]
    assert type(env) is kind
    env.close()


def test_a_trading_environment_has_the_tasks_market_and_training_bars() -> None:
    env = openfingym.make("crypto-trading")
    assert isinstance(env, TradingEnv)
    contract = openfingym.load_task("crypto-trading").spec.contract
    assert env.market.fee_bps == contract.fee_bps  # type: ignore[union-attr]
    assert env.bars.symbols == contract.symbols  # type: ignore[union-attr]
    free = openfingym.make("crypto-trading", lookback=4, reward="pnl", initial_cash=5.0)
    assert free.layout["features"].shape[0] == 4  # type: ignore[union-attr]
    assert free.reset(seed=0)[1]["equity"] == 5.0


def test_gymnasium_makes_the_same() -> None:
    env = gymnasium.make("openfingym/equity-trading-v0", lookback=3)
    assert isinstance(env.unwrapped, TradingEnv)
    assert env.unwrapped.layout["features"].shape[0] == 3
    vector = gymnasium.make_vec("openfingym/equity-trading-v0", num_envs=3)
    assert isinstance(vector, TradingVectorEnv)
    assert np.asarray(vector.reset(seed=0)[0]).shape[0] == 3


def test_what_was_made_says_how() -> None:
    env = openfingym.make("equity-trading", lookback=3, render_mode="ansi")
    again = gymnasium.make(env.spec)
    assert again.spec.id == "openfingym/equity-trading-v0"
    assert again.unwrapped.layout == env.layout
    assert np.array_equal(again.reset(seed=1)[0], env.reset(seed=1)[0])
    assert gymnasium.spec(env.spec.id).kwargs == {"task": "equity-trading"}, "of others, nothing changes"
    vector = openfingym.make_vec("equity-trading", num_envs=3, lookback=2)
    assert gymnasium.make_vec(vector.spec).observation_space == vector.observation_space
    batch = openfingym.make("treasury-forecast")
    assert type(gymnasium.make(batch.spec).unwrapped) is WalkEnv


def test_gymnasiums_checker_passes_with_rendering() -> None:
    check_env(openfingym.make("equity-trading", render_mode="ansi"))


def test_many_at_once() -> None:
    env = openfingym.make_vec("equity-trading", num_envs=8, lookback=2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (8, env.single_observation_space.shape[0])  # type: ignore[index]
    _, rewards, *_ = env.step(np.full((8, 3), 1.0 / 3.0))
    assert rewards.shape == (8,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "treasury-forecast", "split": "practice"}, "no instances are of the split .practice."),
        ({"task": "equity-trading", "split": "hidden"}, "known: 'train', 'practice', 'test'"),
        ({"task": "equity-trading", "lookbak": 3}, "unknown option 'lookbak' of TradingEnv"),
        ({"task": "treasury-forecast", "lookback": 3}, "unknown option 'lookback' of WalkEnv"),
        ({"task": "equity-trading", "split": "test", "reward": "pnl"}, "unknown option 'reward' of HiddenTradingEnv"),
    ],
)
def test_what_cannot_be_made(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        openfingym.make(**arguments)  # type: ignore[arg-type]


def test_only_trading_is_vectorised() -> None:
    with pytest.raises(UsageError, match="SyncVectorEnv"):
        openfingym.make_vec("treasury-forecast", num_envs=2)
    with pytest.raises(TaskNotFoundError, match="did you mean"):
        openfingym.make_vec("equity-tradin", num_envs=2)
