"""The environment of examples/training/skyrl_gym_env.py, made and stepped as SkyRL's generator does."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from openfingym.training import training_tasks

from ..conftest import example, required
from ..same_episode import FAILURE, INDEX, SPLIT, TASK, TEXTS, check, desk, ours_failing

skyrl_gym = required("skyrl_gym")
ours = example("skyrl_gym_env")
ROW = {"task": TASK, "index": INDEX, "split": SPLIT, "seed": 0}


@pytest.fixture(autouse=True)
def desks() -> Any:
    ours._desks[SPLIT] = desk("codeblock")
    yield
    ours._desks.pop(SPLIT).close()


def played(answers: tuple[str, ...], max_turns: int = 12) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The steps of an episode and its metrics, in the order of SkyRL's ``agent_loop``."""
    env = skyrl_gym.make("openfingym", env_config={}, extras={**ROW, "max_turns": max_turns})
    history, _ = env.init([{"role": "user", "content": "OpenFinGym"}])
    assert history[-1]["role"] == "user"
    steps: list[dict[str, Any]] = []
    for answer in answers:
        steps.append(env.step(answer))
        assert all(told["role"] == "user" for told in steps[-1]["observations"])
        if steps[-1]["done"]:
            break
    metrics = env.get_metrics()
    env.close()
    return steps, metrics


def test_the_same_episode() -> None:
    steps, metrics = played(TEXTS)
    assert [step["done"] for step in steps] == [False, True]
    check(sum(step["reward"] for step in steps))
    check(metrics["verified_reward"])
    assert "submission 1" in steps[0]["observations"][0]["content"]


def test_failures_and_limits_of_the_agent() -> None:
    steps, metrics = played(FAILURE)
    assert steps[-1]["done"]
    assert (steps[-1]["reward"], metrics["ours"]) == (-1.0, 0.0)
    steps, _ = played(TEXTS, max_turns=1)  # what was accepted counts
    check(steps[-1]["reward"])
    steps, metrics = played(("```python\nprint(1)\n```",))  # SkyRL breaks off an episode that gets too long
    assert steps[-1]["reward"] == 0.0
    assert metrics["verified_reward"] == -1.0


def test_several_at_once_in_threads() -> None:
    with ThreadPoolExecutor(3) as pool:
        for steps, _ in pool.map(played, [TEXTS] * 3):
            assert steps[-1]["done"]
            check(steps[-1]["reward"])


def test_a_failure_of_ours_is_masked() -> None:
    ours._desks.pop(SPLIT).close()
    with ours_failing() as broken:
        ours._desks[SPLIT] = desk("codeblock", **broken)
        steps, metrics = played(TEXTS)
    assert steps[0]["done"]
    assert (steps[0]["reward"], metrics["ours"]) == (ours.NEUTRAL, 1.0)


class Generator:
    """Two groups of rollouts: one of ours failed, and one was broken off by SkyRL, which knows no reward of it."""

    async def generate(self, input_batch: dict[str, Any]) -> dict[str, Any]:
        found = [
            {"verified_reward": 0.5, "ours": 0.0},
            {"verified_reward": 0.0, "ours": 1.0},
            {"verified_reward": -1.0, "ours": 0.0},
            {"verified_reward": 0.0, "ours": 1.0},
        ]
        return {
            "rewards": [[0.0, 0.5], [0.0, 0.0], [0.0, 0.0, 0.0], [0.0]],
            "loss_masks": [[1, 1], [1, 1], [1, 1, 1], [1]],
            "stop_reasons": ["stop", "stop", "length", "stop"],
            "env_metrics": found,
        }


def test_the_generator_masks_and_completes() -> None:
    ids = [SimpleNamespace(instance_id=group) for group in ("a", "a", "a", "b")]
    output = asyncio.run(ours.Verified(Generator()).generate({"trajectory_ids": ids}))
    assert output["rewards"] == [[0.0, 0.5], [0.0, -0.25], [0.0, 0.0, -1.0], [0.0]]
    assert output["loss_masks"] == [[1, 1], [0, 0], [1, 1, 1], [0]]
    assert output["stop_reasons"] == ["stop", "error", "length", "error"]


def test_rows_are_what_the_environment_reads() -> None:
    assert set(ours.TASKS) <= set(training_tasks())
    (row,) = ours.rows(SPLIT, 1)
    assert row["env_class"] == "openfingym"
    env = skyrl_gym.make(row["env_class"], env_config={}, extras={key: row[key] for key in row if key != "prompt"})
    assert env.row == (TASK, 0, 0)
    env.close()
