"""Trading accounts for Stable-Baselines3, as its ``VecEnv``; SB3 is imported when an adapter is made."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from openfingym.envs.making import make_vec
from openfingym.envs.trading_vector import Info, Observations, TradingVectorEnv
from openfingym.errors import UsageError
from openfingym.task import Task
from openfingym.trading.compiled.layout import Floats

__all__ = ["adapt", "make_vec_env"]


def make_vec_env(task: str | Path | Task, num_envs: int, **options: object) -> Any:
    """Make the training environments of a trading task as a ``VecEnv`` of Stable-Baselines3.

    Args:
        task: a trading task's name, its folder, or a task.
        num_envs: number of accounts, each of which is an environment to Stable-Baselines3.
        options: options of :class:`~openfingym.envs.trading_vector.TradingVectorEnv` but ``autoreset_mode``; actions
            are of single precision by default, as SB3's are.

    Raises:
        TaskNotFoundError: no task has this name.
        UsageError: an option is unknown or impossible, or Stable-Baselines3 is not installed.
    """
    env = make_vec(task, num_envs, **{"action_dtype": "float32", **options, "autoreset_mode": AutoresetMode.SAME_STEP})
    return adapt(cast("TradingVectorEnv", env))


def adapt(env: TradingVectorEnv) -> Any:
    """A vector environment as a ``VecEnv`` of Stable-Baselines3.

    Args:
        env: the vector environment, made with ``autoreset_mode`` ``SAME_STEP``.

    Raises:
        UsageError: the environment is of another mode, or Stable-Baselines3 is not installed.
    """
    if env.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
        raise UsageError("Stable-Baselines3 resets within a step; make the environment with autoreset_mode SAME_STEP")
    try:
        vec_env = importlib.import_module("stable_baselines3.common.vec_env").VecEnv
    except ImportError as error:
        raise UsageError("Stable-Baselines3 is not installed; pip install 'openfingym[sb3]'") from error
    # The class is put together here, since its base exists only once Stable-Baselines3 is imported. ``Adapter`` comes
    # first, so that its methods take the place of the abstract ones.
    adapter = type("TradingVecEnv", (Adapter, vec_env), {"__doc__": Adapter.__doc__})(env)
    vec_env.__init__(adapter, env.num_envs, env.single_observation_space, env.single_action_space)
    return adapter


class Adapter:
    """The methods of a ``VecEnv`` of Stable-Baselines3, on a vector environment of ours.

    ``step`` gives observations float32[N, size], rewards float32[N], ``dones`` bool[N] and a list of N dicts with
    ``equity`` (cash) and ``refusals``. Where an episode ended, the observation is the first one of the next episode,
    and the dict has ``terminal_observation``, ``TimeLimit.truncated`` and, as SB3's Monitor gives it, ``episode`` with
    the return ``r``, the length ``l`` in steps and the time ``t`` in seconds since the adapter was made.
    """

    num_envs: int
    _seeds: list[int | None]
    _options: list[dict[str, object]]

    def __init__(self, env: TradingVectorEnv) -> None:
        self.env = env
        self.num_envs = env.num_envs
        self.reset_infos: list[Info] = []
        self._seeds, self._options = [None] * env.num_envs, [{}] * env.num_envs
        self._made = time.monotonic()
        self._returns, self._lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, np.int64)
        self._actions: Floats = np.zeros(0)

    def reset(self) -> Observations:
        """Start an episode in every account, with the seeds and options that were set for it.

        Raises:
            UsageError: options were set, and not ``start`` for every account.
        """
        options: dict[str, object] | None = None
        if any(self._options):
            if any(set(own) != {"start"} for own in self._options):
                raise UsageError(f"options are {self._options}; expected none, or 'start' for every account")
            options = {"start": [own["start"] for own in self._options]}
        seen, info = self.env.reset(seed=self._seeds, options=options)
        # Seeds and options are for one reset, as SB3 has them.
        self._seeds, self._options = [None] * self.num_envs, [{}] * self.num_envs
        self._returns[:], self._lengths[:] = 0.0, 0
        self.reset_infos = _by_account(info)
        return seen

    def step_async(self, actions: Floats) -> None:
        """Keep the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Observations, NDArray[np.float32], NDArray[np.bool_], list[Info]]:
        """Step every account."""
        seen, rewards, terminated, truncated, info = self.env.step(self._actions)
        over = terminated | truncated
        infos = _by_account(info)
        self._returns += rewards
        self._lengths += 1
        if over.any():
            ends, finals = (
                _by_account(cast("Info", info["final_info"])),
                cast("Sequence[Observations]", info["final_obs"]),
            )
            for i in np.flatnonzero(over).tolist():
                infos[i] = {
                    **ends[i],
                    "terminal_observation": finals[i],
                    "TimeLimit.truncated": bool(truncated[i]),
                    "episode": {
                        "r": float(self._returns[i]),
                        "l": int(self._lengths[i]),
                        "t": round(time.monotonic() - self._made, 6),
                    },
                }
                self.reset_infos[i] = {"equity": cast("Floats", info["equity"])[i], "refusals": 0}
            self._returns[over], self._lengths[over] = 0.0, 0
        return seen, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of the environment, which its accounts share, once for each of them."""
        return [getattr(self.env, attr_name)] * len(self._places(indices))

    def set_attr(
        self,
        attr_name: str,
        value: object,  # noqa: ARG002
        indices: int | Iterable[int] | None = None,  # noqa: ARG002
    ) -> None:
        """Refused: accounts are no environments of their own."""
        raise UsageError(f"{attr_name!r} cannot be set; the accounts share one environment, whose options are final")

    def env_method(self, method_name: str, *_: object, **__: object) -> list[Any]:
        """Refused: accounts are no environments of their own."""
        raise UsageError(f"{method_name!r} cannot be called of each account; they share one environment, `env`")

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Whether accounts report their episodes as a wrapper does: as SB3's Monitor, they do."""
        return [wrapper_class.__name__ == "Monitor"] * len(self._places(indices))

    def _places(self, indices: int | Iterable[int] | None) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)


def _by_account(info: Info) -> list[Info]:
    equity, refusals = (cast("Floats", info[name]).tolist() for name in ("equity", "refusals"))
    return [{"equity": a, "refusals": b} for a, b in zip(equity, refusals, strict=True)]
