"""Walking through an environment to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Answer = Callable[[dict[str, np.ndarray], dict[str, Any]], np.ndarray]


def last_value(observation: dict[str, np.ndarray], info: dict[str, Any]) -> np.ndarray:
    """The last value of a window with one item, as its forecast."""
    return np.repeat(observation["inputs"][0, -1:], info["shape"][0], axis=0)


def walked(
    env: Any, answer: Answer = last_value, *, seed: int | None = 0, **options: object
) -> list[tuple[Any, float, bool, bool, dict[str, Any]]]:
    """Every step of an episode, in which each window is answered."""
    observation, info = env.reset(seed=seed, options=options)
    steps = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        assert env.observation_space.contains(observation)
        steps.append(env.step(answer(observation, info)))
        observation, info = steps[-1][0], steps[-1][4]
    return steps


def answers_of(values: np.ndarray) -> Answer:
    """Answers that are known beforehand, the rows of one fold, to windows in their order."""
    left = list(values)

    def answer(observation: dict[str, np.ndarray], _: dict[str, Any]) -> np.ndarray:
        items = len(next(iter(observation.values())))
        taken = np.array(left[:items])
        del left[:items]
        return taken

    return answer
