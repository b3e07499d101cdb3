"""The plug-in of verifiers, run by verifiers itself against an endpoint on this machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openfingym.training import training_tasks

from ..conftest import required
from ..same_episode import INDEX, SPLIT, TASK, check, endpoint

vf = required("verifiers.v1")
clients = required("verifiers.v1.clients")

TASKSET = {"id": "openfingym-v1", "tasks": [TASK], "split": SPLIT, "start": INDEX, "backend": "sandbox"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with endpoint() as url:
        yield url


def played(url: str, model: str, taskset: dict[str, Any] | None = None, **agent: Any) -> Any:
    """The trace of one rollout, played by verifiers."""
    config = vf.resolve_env_config({"taskset": {**TASKSET, **(taskset or {})}, "agent": agent})

    async def run() -> Any:
        env = vf.load_environment(config)
        slot = next(iter(env.slots(next(iter(env.taskset)), 1)))
        client = clients.EvalClientConfig(base_url=url, api_key_var="A_KEY")
        async with env.serving():
            return await env.run_slot(slot, vf.ModelContext(model=model, client=client), asyncio.Semaphore(1))

    (trace,) = asyncio.run(run()).traces
    return trace


def test_the_same_episode(url: str) -> None:
    trace = played(url, "stand-in/same")
    assert trace.ok, trace.errors
    check(trace.reward)
    # The conversation only grows: one branch, with the tools on it, is one training sample.
    (branch,) = trace.branches
    assert trace.num_turns == 2
    assert [message.role for message in branch.messages][-3:] == ["assistant", "tool", "assistant"]
    assert trace.metrics["scored"] == 1.0
    assert trace.metrics["relative_total"] > 0.0


def test_an_agent_that_hands_in_nothing_gets_the_floor(url: str) -> None:
    trace = played(url, "stand-in/nothing")
    assert trace.ok
    assert trace.reward == -1.0


def test_a_limit_of_verifiers_is_the_agents_to_keep(url: str) -> None:
    trace = played(url, "stand-in/forever", max_turns=2)
    assert trace.stop_condition == "max_turns"
    assert trace.ok, trace.errors
    assert trace.reward == -1.0
    # What was accepted by then counts.
    trace = played(url, "stand-in/same", max_turns=1)
    assert trace.stop_condition == "max_turns"
    check(trace.reward)


def test_the_time_of_verifiers_is_the_agents_to_keep(url: str) -> None:
    before = time.monotonic()
    trace = played(url, "stand-in/sleeper", timeout={"rollout": 4.0})
    assert trace.ok, trace.errors
    assert trace.stop_condition is not None
    assert trace.reward == -1.0
    # Its program would have slept for ten minutes.
    assert time.monotonic() - before < 300.0


def test_a_failure_that_is_not_the_agents_is_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym_v1.harness.PATIENCE_S", 0.5)
    trace = played("http://127.0.0.1:9/v1", "stand-in/same", retries={"max_retries": 0})
    assert not trace.ok
    assert trace.rewards.get("verified") is None


def test_a_verifier_that_is_away_is_no_reward(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.training.machinery.PATIENCE_S", 0.2)
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "none")
    trace = played(url, "stand-in/same", {"verifier": "http://127.0.0.1:9"}, retries={"max_retries": 0})
    assert not trace.ok
    assert "127.0.0.1:9" in trace.errors[0].message
    assert trace.rewards.get("verified") is None


def test_the_command_of_the_documentation(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "k")
    command = Path(sys.executable).with_name("vf-eval")
    options = ["-n", "2", "-r", "2", "-m", "stand-in/same", "--client.base-url", url, "--client.api-key-var", "A_KEY"]
    tasks = ["--env.taskset.tasks", json.dumps([TASK]), "--env.taskset.start", str(INDEX), "--no-push", "--no-rich"]
    done = subprocess.run(
        [command, "openfingym-v1", *options, *tasks, "-o", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("*/traces.jsonl")
    found = [trace for line in file.read_text().splitlines() for trace in json.loads(line).get("traces", [])]
    assert len(found) == 4
    for trace in found:
        assert not trace.get("errors")
        if trace["task"]["data"]["index"] == INDEX:
            check(trace["rewards"]["verified"]["score"])


def test_tasks_are_loaded_lazily_and_have_keys_of_their_own() -> None:
    config = vf.resolve_env_config({"taskset": {**TASKSET, "tasks": ["training"], "start": 0, "instances": 2}})
    tasks = list(vf.load_environment(config).taskset)
    keys = [task.key for task in tasks]
    assert len(set(keys)) == len(keys) == 2 * len(training_tasks())
    assert not any(key.startswith(f"{TASK}/") for key in keys)
    assert keys[0].endswith("/train/0")
    # What is trained on where nobody says what is not held out.
    assert vf.resolve_env_config({"taskset": {"id": "openfingym-v1"}}).taskset.tasks[0] in training_tasks()
