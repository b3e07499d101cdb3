"""Batch tasks as environments of their instances."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

import openfingym
from openfingym.envs.batch import BatchEnv
from openfingym.envs.varying import Varying
from openfingym.errors import UsageError

TASK = "treasury-forecast"
PROGRAM = """
import interface, numpy as np
shape = interface.contract["submission_shape"]
interface.submit(np.repeat(interface.load_test_inputs()[:, -1:], shape[1], axis=1))
"""


@pytest.fixture(scope="module")
def env() -> Iterator[BatchEnv]:
    made = openfingym.make(TASK, split="train", reward="relative", backend="inline")
    assert isinstance(made.unwrapped, BatchEnv)
    yield made.unwrapped
    made.close()


def repeated(observation: dict[str, np.ndarray], info: dict[str, object]) -> np.ndarray:
    """The last value of each window, as its forecast."""
    return np.repeat(observation["test_inputs"][:, -1:], info["submission_shape"][1], axis=1)  # type: ignore[index]


def test_each_episode_is_the_next_instance(env: BatchEnv) -> None:
    env.reset(options={"index": 4})
    digests = set()
    for index in (5, 6):
        observation, info = env.reset()
        assert (info["split"], info["instance"]) == ("train", index)
        assert env.observation_space.contains(observation)
        assert f"float64 {info['submission_shape']}" in env.instruction
        assert env.action_space.sample().shape == info["submission_shape"]  # type: ignore[union-attr]
        _, reward, terminated, _, end = env.step(repeated(observation, info))
        assert (reward, terminated, end["instance"], end["state"]) == (-1.0, True, index, "scored")
        digests.add(end["task_digest"])
    assert len(digests) == 2
    assert env.package.manifest.digest not in digests


def test_an_index_chooses_and_a_seed_begins(env: BatchEnv) -> None:
    assert env.reset(options={"index": 3})[1]["instance"] == 3
    assert env.reset()[1]["instance"] == 4
    first = env.reset(seed=11)[1]["instance"]
    following = env.reset()[1]["instance"]
    assert env.reset(seed=11)[1]["instance"] == first != env.reset(seed=12)[1]["instance"]
    assert following == (first + 1) % openfingym.instances.COUNT  # type: ignore[operator]
    env.reset(options={"index": openfingym.instances.COUNT - 1})
    assert env.reset()[1]["instance"] == 0
    for wrong in ({"index": -1}, {"index": True}, {"index": "3"}, {"indx": 3}):
        with pytest.raises(UsageError):
            env.reset(options=wrong)  # type: ignore[arg-type]


def test_the_same_instance_has_the_same_data(env: BatchEnv) -> None:
    one, other = (env.reset(options={"index": 2})[0] for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert all(one[name] is not other[name] for name in one)
    third = env.reset(options={"index": 1})[0]
    assert any(one[name].shape != third[name].shape or (one[name] != third[name]).any() for name in one)


@pytest.mark.sandbox
def test_a_program_is_run_where_the_instance_is() -> None:
    env = openfingym.make(TASK, split="validation", index=2, action="code", reward="relative")
    for _ in range(2):
        assert env.reset()[1]["instance"] == 2
        _, reward, _, _, info = env.step(PROGRAM)
        assert (reward, info["split"], info["instance"]) == (pytest.approx(-1.0), "validation", 2)
    with pytest.raises(UsageError, match="keeps to instance 2"):
        env.reset(options={"index": 3})
    env.close()


def test_gymnasiums_vectors_hold_instances_of_any_shape() -> None:
    def one() -> gymnasium.Env:  # type: ignore[type-arg]
        return openfingym.make(TASK, split="train", reward="relative", backend="inline")

    vector = gymnasium.vector.SyncVectorEnv([one, one])
    observations, infos = vector.reset(seed=1)
    assert len(set(infos["instance"])) == 2
    answers = tuple(
        np.repeat(inputs[:, -1:], shape[1], axis=1)
        for inputs, shape in zip(observations["test_inputs"], infos["submission_shape"], strict=True)
    )
    assert vector.step(answers)[1].tolist() == [-1.0, -1.0]
    vector.close()


def test_what_cannot_be_made() -> None:
    with pytest.raises(UsageError, match="leave out fresh"):
        openfingym.make("crypto-forecast", split="train", fresh=True)
    with pytest.raises(UsageError, match="name another split"):
        openfingym.make(TASK, index=3)


def test_the_space_of_arrays_of_any_length() -> None:
    space = Varying(-1.0, 1.0, (2, 3), np.float64, seed=0)
    assert space.contains(space.sample())
    assert space.contains(np.zeros((7, 0)))
    for wrong in (np.zeros(3), np.full((2, 3), 2.0), np.zeros((2, 3), np.float32), np.full((2, 3), np.nan), 0.0):
        assert not space.contains(wrong)
    assert space == copy.deepcopy(space) != Varying(-1.0, 2.0, (2, 3), np.float64)
    whole = Varying(-5, 5, (4,), np.int64, seed=1)
    assert whole.contains(whole.sample())
