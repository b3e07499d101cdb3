"""Tasks as environments of their instances."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

import openfingym
from openfingym.envs.varying import Varying
from openfingym.envs.walk import WalkEnv
from openfingym.errors import UsageError
from tests.openfingym.envs.walking import last_value, walked

TASK = "treasury-forecast"
PROGRAM = """
import interface, numpy as np
interface.predict_each(lambda inputs: np.repeat(inputs[:, -1:], interface.HORIZON, axis=1))
"""


@pytest.fixture(scope="module")
def env() -> Iterator[WalkEnv]:
    made = openfingym.make(TASK, split="train", reward="relative", backend="inline")
    assert isinstance(made.unwrapped, WalkEnv)
    yield made.unwrapped
    made.close()


def test_each_episode_is_the_next_instance(env: WalkEnv) -> None:
    env.reset(options={"index": 4})
    digests = set()
    for index in (5, 6):
        _, info = env.reset()
        assert (info["split"], info["instance"]) == ("train", index)
        assert str(info["submission_shape"][1:])[1:] in env.instruction
        assert env.action_space.sample().shape == info["shape"] == info["submission_shape"][1:]  # type: ignore[union-attr]
        assert len(env.load_train()[0]) == info["arrays"]["train_inputs"]["shape"][0]
        steps = walked(env, seed=None, index=index)
        assert len(steps) == info["windows"]["private"]
        _, reward, terminated, _, end = steps[-1]
        assert (reward, terminated, end["instance"], end["state"]) == (pytest.approx(-1.0), True, index, "scored")
        digests.add(end["task_digest"])
    assert len(digests) == 2
    assert env.package.manifest.digest not in digests


def test_an_index_chooses_and_a_seed_begins(env: WalkEnv) -> None:
    assert env.reset(options={"index": 3})[1]["instance"] == 3
    assert env.reset()[1]["instance"] == 4
    first = env.reset(seed=11)[1]["instance"]
    following = env.reset()[1]["instance"]
    assert env.reset(seed=11)[1]["instance"] == first != env.reset(seed=12)[1]["instance"]
    assert following == (first + 1) % openfingym.instances.INSTANCE_COUNT  # type: ignore[operator]
    env.reset(options={"index": openfingym.instances.INSTANCE_COUNT - 1})
    assert env.reset()[1]["instance"] == 0
    for wrong in ({"index": -1}, {"index": True}, {"index": "3"}, {"indx": 3}):
        with pytest.raises(UsageError):
            env.reset(options=wrong)  # type: ignore[arg-type]


def test_the_same_instance_has_the_same_data(env: WalkEnv) -> None:
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
    assert len({inputs.shape for inputs in observations["inputs"]}) == 2
    ended: dict[int, float] = {}
    while len(ended) < 2:
        shown = zip(observations["inputs"], infos["shape"], strict=True)
        answers = tuple(last_value({"inputs": inputs}, {"shape": shape}) for inputs, shape in shown)
        observations, rewards, terminated, _, infos = vector.step(answers)
        ended |= {place: rewards[place] for place in np.flatnonzero(terminated)}
        infos["shape"] = [env.action_space.current for env in vector.envs]
    assert [ended[place] for place in (0, 1)] == pytest.approx([-1.0, -1.0])
    vector.close()


def test_gymnasiums_vectors_hold_a_task_whose_windows_have_one_shape() -> None:
    vector = gymnasium.vector.SyncVectorEnv([lambda: openfingym.make(TASK)] * 2)
    observations, infos = vector.reset(seed=0)
    assert isinstance(vector.action_space, gymnasium.spaces.Box)
    for number in range(3):
        assert infos["window"].tolist() == [number] * 2
        answers = np.repeat(observations["inputs"][:, 0, -1:], 5, axis=1)
        observations, rewards, _, _, infos = vector.step(answers)
        assert rewards.tolist() == [0.0, 0.0]
    vector.close()


def test_windows_with_different_numbers_of_rows() -> None:
    env = openfingym.make("equity-excess-return-forecast", split="train", index=0, reward="relative")
    assert isinstance(env.action_space, Varying)
    (*_, (_, reward, *_, info)) = walked(env, lambda _, info: np.zeros(info["shape"]))
    assert info["state"] == "scored", info["reason"]
    assert reward < 0
    env.close()


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
