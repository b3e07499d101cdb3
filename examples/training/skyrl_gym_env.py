r"""OpenFinGym as an environment of SkyRL: a copy of this file, its rows and four settings are all that is needed.

    python skyrl_gym_env.py data/openfingym                          # rows: train.parquet and validation.parquet
    PYTHONPATH=. python -m skyrl.train.entrypoints.main_base \
        data.train_data="['data/openfingym/train.parquet']" data.val_data="['data/openfingym/validation.parquet']" \\
        environment.env_class=openfingym generator.max_turns=12 ...

with ``import skyrl_gym_env`` in your entry point, on every worker, so that the environment is registered.

SkyRL's environments take text and give text: the agent is ``codeblock``, which answers with one program a turn. All is
synchronous, in a pool of 32 threads, and every episode of a batch is open at once: have as many places as episodes
(train_batch_size * n_samples_per_prompt), or those that wait for one hold the threads that the others need.

A reward must be a number, and an exception ends the run. A failure of ours, of the sandbox for one, is therefore given
``NEUTRAL`` here and told in the metrics; ``Verified`` below, around SkyRL's generator, takes it out of the loss.
"""

import os
import sys
from pathlib import Path
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

from openfingym.training import Desk, training_tasks

TASKS = os.environ.get("TASKS", "nifty50-forecast,global-volatility-forecast").split(",")
PLACES = int(os.environ.get("PLACES", "64"))
NEUTRAL = 0.0
"""The reward where there is none: the baseline's, which is nobody's merit and nobody's fault."""
_desks: dict[str, Desk] = {}  # kept: a process starts one verifier for all episodes of a split


def desk(split: str = "train") -> Desk:
    """What opens the episodes of a split, in this process."""
    tasks = training_tasks() if TASKS == ["training"] else TASKS
    return _desks.setdefault(split, Desk(tasks, split=split, agent="codeblock", places=PLACES))


class FinEnv(BaseTextEnv):
    """One episode: an instance of a task, which the row names."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Open nothing yet; ``extras`` are the columns of the row, and ``max_turns``."""
        super().__init__()
        row = extras or {}
        self.row = row["task"], int(row["index"]), int(row.get("seed", 0))
        self.desk, self.max_turns = desk(row.get("split", "train")), int(row.get("max_turns", 12))
        self.episode: Any = None

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """The conversation so far: the agent's own system message and the task, in place of the row's prompt."""
        task, index, seed = self.row
        self.episode = self.desk.open_sync(task, index, seed=seed)
        if self.episode.over:  # a failure of ours, which may pass
            self.episode = self.desk.open_sync(task, index, seed=seed)
        return list(self.episode.messages) or prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Give the agent's loop an answer; its programs run in the sandbox, and their output is the observation."""
        self.turns += 1
        told = self.episode.answer_sync(action)
        if self.episode.over or self.turns >= self.max_turns:
            return BaseTextEnvStepOutput(observations=[], reward=self.finish(), done=True, metadata=self.get_metrics())
        said = [{"role": message["role"], "content": message["content"]} for message in told]
        return BaseTextEnvStepOutput(observations=said, reward=0.0, done=False, metadata={})

    def finish(self) -> float:
        """End the episode; the verified reward of what was handed in by then."""
        self.episode.finish_sync()
        return NEUTRAL if self.episode.reward is None else self.episode.reward

    def get_metrics(self) -> dict[str, Any]:
        """Of an episode that SkyRL broke off, too: it asks for them, but for no reward."""
        if self.episode is None:
            return {}
        reward, result = self.finish(), self.episode.result
        scored = result is not None and result.state == "scored"
        return {"verified_reward": reward, "ours": float(self.episode.reward is None), "scored": float(scored)}

    def close(self) -> None:
        """Give the place back. After an exception SkyRL does not call this; the desk then does it by itself."""
        if self.episode is not None:
            self.episode.finish_sync()


class Verified:
    """A generator around SkyRL's own which takes failures of ours out of the loss, and has nothing go unrewarded.

    SkyRL breaks off an episode that gets too long for its context; its reward would be 0, better than a failure's.
    Return it from your experiment's ``get_generator``: ``return Verified(super().get_generator(...))``.
    """

    def __init__(self, generator: Any) -> None:
        """Around a ``GeneratorInterface``, one whose rows are whole trajectories (not ``step_wise_trajectories``)."""
        self.generator = generator

    async def generate(self, input_batch: dict[str, Any], **more: Any) -> dict[str, Any]:
        """As of the generator, with rewards and loss masks put right."""
        output = await self.generator.generate(input_batch, **more)
        ids = input_batch.get("trajectory_ids") or output.get("trajectory_ids")
        metrics = output["env_metrics"]
        groups = [getattr(one, "instance_id", number) for number, one in enumerate(ids or metrics)]
        verified = [found.get("verified_reward", NEUTRAL) for found in metrics]
        for number, found in enumerate(metrics):
            reward = verified[number]
            if found.get("ours"):
                others = [
                    other
                    for group, other, told in zip(groups, verified, metrics, strict=True)
                    if group == groups[number] and not told.get("ours")
                ]
                # No token of it is learnt from, and as the mean of its group it moves none of the others'.
                reward = sum(others) / len(others) if others else NEUTRAL
                output["loss_masks"][number] = [0] * len(output["loss_masks"][number])
                if output.get("stop_reasons"):
                    output["stop_reasons"][number] = "error"
            given = output["rewards"][number]
            output["rewards"][number] = (
                [0.0] * (len(given) - 1) + [reward] if isinstance(given, list) and given else reward
            )
        return output


if "openfingym" not in skyrl_gym.envs.registration.registry:  # a second registration of an id raises
    skyrl_gym.register(id="openfingym", entry_point=FinEnv)


def rows(split: str, n: int) -> list[dict[str, Any]]:
    """Rows of a data set; the prompt is a placeholder that :meth:`FinEnv.init` replaces."""
    told = [{"role": "user", "content": "OpenFinGym"}]
    return [{"prompt": told, "env_class": "openfingym", **row} for row in desk(split).rows(n)]


if __name__ == "__main__":
    import pandas as pd

    out = Path(sys.argv[1] if len(sys.argv) > 1 else "data/openfingym")
    out.mkdir(parents=True, exist_ok=True)
    for split, n in (("train", 1000), ("validation", 64)):
        pd.DataFrame(rows(split, n)).to_parquet(out / f"{split}.parquet")
        print(out / f"{split}.parquet", n)
