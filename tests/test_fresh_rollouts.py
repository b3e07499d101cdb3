"""Rollouts on fresh tapes: their own inputs reach the agent, whoever it is and however it runs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import openfingym
from openfingym import store
from openfingym.agents import Agent, resolve
from openfingym.errors import UsageError
from openfingym.results import read_run
from openfingym.rollouts import Plan, select
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.rollouts.selection import expand

TASKS = ("crypto-forecast", "ba2motifs-fraud", "crypto-rolling-forecast")
TELLS = """
import hashlib, interface, numpy as np
train, seen = interface.load_train()[0], []
for window in interface.iter_test():
    seen.append(window.inputs)
    window.predict(np.zeros(window.shape))
test = np.concatenate(seen)
print(*(hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest() for part in (train, test)))
"""


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher.for_tasks(TASKS, backend="sandbox") as started:
        yield started


@pytest.mark.sandbox
def test_a_program_in_the_sandbox_sees_its_own_inputs(launcher: Launcher, tmp_path: Path) -> None:
    package = launcher.packages[0]
    seen = []
    for fresh in (True, True, False):
        result = launcher.run(package, Agent("test", "program", TELLS), RolloutOrder(fresh=fresh), out=tmp_path)
        assert (result.state, result.tape) == ("scored", "fresh" if fresh else "given"), result.reason
        assert result.path is not None
        assert read_run(result.path).tape == result.tape
        train, test = (result.path / "output.log").read_text().split()
        assert train == digest(package.array("train_inputs"))
        seen.append(test)
    assert seen[-1] == digest(package.read_truth()["test_inputs"][package.manifest.n_public :])
    assert len(set(seen)) == 3
    package.verify_public()
    own = f"{os.getpid()}-*"  # other processes may be at work in the same store
    assert list((store.home() / ".staging").glob(own)) == []


@pytest.mark.sandbox
@pytest.mark.parametrize("place", range(len(TASKS)))
def test_the_baseline_is_one_on_every_tape(launcher: Launcher, place: int) -> None:
    package = launcher.packages[place]
    results = [launcher.run(package, resolve("naive"), RolloutOrder(fresh=True)) for _ in range(2)]
    assert [result.state for result in results] == ["scored", "scored"]
    if place != 1:  # the baseline of graphs draws scores, as the agent does from a seed of its own
        assert [result.relative_total for result in results] == [1.0, 1.0]
        assert results[0].total != results[1].total


@pytest.mark.sandbox
def test_an_agent_that_talks_has_its_own_inputs(launcher: Launcher) -> None:
    from openfingym.models.spec import ModelSpec

    model = ModelSpec.parse("stand-in/competent")
    package = launcher.packages[0]
    launcher.warm(package, resolve("oneshot"), 1)
    results = [
        launcher.run(package, resolve("oneshot"), RolloutOrder(fresh=fresh), model=model) for fresh in (True, False)
    ]
    assert [(result.state, result.tape) for result in results] == [("scored", "fresh"), ("scored", "given")]
    assert results[0].total != results[1].total


def test_the_oracle_knows_no_other_tape(launcher: Launcher) -> None:
    with pytest.raises(UsageError, match="has a fresh tape"):
        launcher.run(launcher.packages[0], resolve("oracle"), RolloutOrder(fresh=True))


def test_inline_and_the_environment_see_them_too() -> None:
    result = openfingym.run("crypto-forecast", agent="naive", backend="inline", out=None, fresh=True)
    assert (result.tape, result.relative_total) == ("fresh", 1.0)
    env = openfingym.make("crypto-forecast", fresh=True)
    try:
        seen = []
        for _ in range(2):
            observation, _ = env.reset(seed=0)
            assert env.observation_space.contains(observation)
            seen.append(observation["inputs"].tobytes())
            done = False
            while not done:
                _, _, done, _, info = env.step(np.zeros(env.action_space.shape))
            assert (info["tape"], info["relative_total"]) == ("fresh", 1.0)
        first = env.package.read_truth()["test_inputs"][env.package.manifest.n_public]
        assert len({*seen, first.tobytes()}) == 3
    finally:
        env.close()


def test_what_cannot_be_drawn_is_refused_where_it_is_asked_for_by_name() -> None:
    for ask in (
        lambda: openfingym.run("treasury-forecast", out=None, backend="inline", fresh=True),
        lambda: openfingym.make("treasury-forecast", fresh=True),
    ):
        with pytest.raises(UsageError, match="cannot be drawn anew"):
            ask()
    with pytest.raises(UsageError, match="hidden bars"):
        openfingym.make("crypto-rolling-forecast", fresh=True)


def test_a_plan_asks_for_every_rollout_and_fresh_ones_are_other_rollouts() -> None:
    data = {"tasks": ["crypto-forecast"], "agents": ["naive"]}
    specs = {}
    for fresh in (False, True):
        plan = Plan.make({**data, "fresh": fresh})
        (specs[fresh],) = expand(plan, select(plan), {"crypto-forecast": "d" * 64})
    assert (specs[False].fresh, specs[True].fresh) == (False, True)
    assert specs[False].identity != specs[True].identity
    assert "fresh" not in json.dumps(specs[False].inputs)
