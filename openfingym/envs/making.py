"""``openfingym.make``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from openfingym.envs.batch import BatchEnv
from openfingym.results import RewardName
from openfingym.task import Task


def make(
    task: str | Path | Task,
    *,
    action: Literal["predictions", "code"] = "predictions",
    reward: RewardName = "loss",
    backend: str = "auto",
) -> BatchEnv:
    """Make the environment of a task, building its package on first use.

    Args:
        task: a task's name, its folder, or a task.
        action: ``predictions``: an array float64[n_test, horizon, channels]; ``code``: the source of
            a Python program that is run in isolation and submits.
        reward: ``loss`` is the negated loss; ``grpo`` is -min(loss, 5), and -6 for a failure of the agent.
        backend: where code runs: ``auto``, ``docker`` or ``sandbox``.

    Raises:
        TaskNotFoundError: no such task.
        UsageError: an unknown ``action`` or ``reward``.
    """
    return BatchEnv(task, action=action, reward=reward, backend=backend)
