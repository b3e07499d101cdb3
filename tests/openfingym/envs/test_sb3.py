"""The adapter for Stable-Baselines3: what SB3 makes of single environments, and without SB3 its contract."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from openfingym.envs.sb3 import Adapter, adapt, make_vec_env
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.errors import UsageError
from tests.openfingym.envs.test_trading import COSTS, walk

INSTALLED = importlib.util.find_spec("stable_baselines3") is not None
OPTIONS = {"lookback": 3, "steps": 7, "action_dtype": "float32"}


def accounts(count: int = 4) -> TradingVectorEnv:
    return TradingVectorEnv(count, walk(), COSTS, autoreset_mode=AutoresetMode.SAME_STEP, **OPTIONS)


def played(adapter, steps: int = 25) -> list:
    """What an adapter gives, and beside it what single environments do that are reset as SB3 does it."""
    singles = [TradingEnv(walk(), COSTS, **OPTIONS) for _ in range(adapter.num_envs)]
    adapter._seeds = [5 + i for i in range(adapter.num_envs)]
    first = np.stack([env.reset(seed=5 + i)[0] for i, env in enumerate(singles)])
    assert np.array_equal(adapter.reset(), first)
    singles[0].action_space.seed(0)
    returns, ended = np.zeros((len(singles), 2)), 0
    for _ in range(steps):
        asked = np.stack([singles[0].action_space.sample() for _ in singles])
        adapter.step_async(asked)
        seen, rewards, dones, infos = adapter.step_wait()
        assert (rewards.dtype, dones.dtype, len(infos)) == (np.float32, np.bool_, len(singles))
        for i, env in enumerate(singles):
            expected, reward, terminated, truncated, info = env.step(asked[i])
            returns[i] += (reward, 1)
            assert (rewards[i], dones[i]) == (np.float32(reward), terminated or truncated)
            assert {name: infos[i][name] for name in ("equity", "refusals")} == {
                name: info[name] for name in ("equity", "refusals")
            }
            assert ("terminal_observation" in infos[i]) == ("episode" in infos[i]) == dones[i]
            if dones[i]:
                ended += 1
                assert np.array_equal(infos[i]["terminal_observation"], expected)
                assert infos[i]["TimeLimit.truncated"] == (truncated and not terminated)
                assert (infos[i]["episode"]["r"], infos[i]["episode"]["l"]) == pytest.approx(tuple(returns[i]))
                returns[i] = 0.0
                expected = env.reset()[0]
            assert np.array_equal(seen[i], expected)
    assert ended >= 3 * len(singles)
    return infos


def test_steps_are_those_of_single_environments() -> None:
    assert all("equity" in info for info in played(Adapter(accounts())))


def test_options_are_starts_and_used_once() -> None:
    adapter = Adapter(accounts(2))
    adapter._options = [{"start": 20}, {"start": 30}]
    wanted = accounts(2).reset(options={"start": [20, 30]})[0]
    assert np.array_equal(adapter.reset(), wanted)
    assert not np.array_equal(adapter.reset(), wanted)
    adapter._options = [{"start": 20}, {}]
    with pytest.raises(UsageError, match="'start' for every account"):
        adapter.reset()


def test_what_accounts_share() -> None:
    adapter = Adapter(accounts(3))
    assert adapter.get_attr("render_mode", [0, 2]) == [None, None]
    with pytest.raises(AttributeError):
        adapter.get_attr("nothing")
    for refused in (lambda: adapter.set_attr("market", None), lambda: adapter.env_method("render")):
        with pytest.raises(UsageError, match="share one environment"):
            refused()


def test_another_autoreset_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="SAME_STEP"):
        adapt(TradingVectorEnv(2, walk(), COSTS))


def test_without_stable_baselines_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "stable_baselines3"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)  # whether it is installed or not
    with pytest.raises(UsageError, match=r"openfingym\[sb3\]"):
        adapt(accounts())


@pytest.mark.skipif(not INSTALLED, reason="Stable-Baselines3 is not installed")
def test_stable_baselines_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # or it leaves a folder a run among temporary files
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecEnv

    adapter = adapt(accounts())
    assert isinstance(adapter, VecEnv)
    played(adapter)
    env = make_vec_env("equity-trading", 4, steps=20)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(256)
    assert model.ep_info_buffer
    assert {episode["l"] for episode in model.ep_info_buffer} == {20}
    returns, lengths = evaluate_policy(model, env, n_eval_episodes=4, return_episode_rewards=True)
    assert lengths == [20] * 4
    assert np.isfinite(returns).all()
