"""Rollouts whose answers come from outside: played to a score, broken off, forgotten, and never answered."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.models import Allowance, DrivenModel, DrivenRequest, from_function
from openfingym.packages.build import build
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.opened import OpenRollout
from openfingym.trajectory import read_rollout

pytestmark = pytest.mark.sandbox
SUBMIT = """
import numpy as np, interface
print(interface.submit(np.zeros(interface.SUBMISSION_SHAPE)))
"""
BLOCK = f"```python\n{SUBMIT}\n```"


@pytest.fixture(scope="module")
def launcher(store_home: Path) -> Iterator[Launcher]:
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as running:
        yield running


def begin(launcher: Launcher, agent: str = "react", **options: object) -> OpenRollout:
    return launcher.open(launcher.packages[0], resolve(agent), **options)  # type: ignore[arg-type]


def calling(name: str, **arguments: object) -> dict[str, object]:
    call = {"id": f"c{time.monotonic_ns()}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def answered(request: DrivenRequest | None) -> str:
    assert request is not None
    return str(request.messages[-1]["content"])


def ours() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "openfingym-open-rollout"}


def test_three_agents_played_to_one_score(launcher: Launcher, tmp_path: Path) -> None:
    async def react() -> OpenRollout:
        rollout = begin(launcher, out=tmp_path)
        request = await rollout.request()
        assert request is await rollout.request(), "the same, until it is answered"
        assert request is not None
        assert request.tools[0]["function"]["name"] == "run_python"  # type: ignore[index]
        assert "there is no file x" in answered(await rollout.answer(calling("read_file", path="x")))
        assert "public loss" in answered(await rollout.answer(calling("run_python", code=SUBMIT)))
        assert await rollout.answer("I am done.") is None
        with pytest.raises(UsageError, match="nothing is asked"):
            await rollout.answer("More.")
        return rollout

    async def codeblock() -> OpenRollout:
        rollout = begin(launcher, "codeblock", out=tmp_path)
        await rollout.request()
        assert "Output:" in answered(await rollout.answer(BLOCK))
        assert await rollout.answer("I am done.") is None
        return rollout

    async def oneshot() -> OpenRollout:
        rollout = begin(launcher, "oneshot", out=tmp_path)
        await rollout.request()
        assert await rollout.answer(BLOCK) is None
        return rollout

    async def together() -> list[tuple[OpenRollout, object]]:
        rollouts = await asyncio.gather(react(), codeblock(), oneshot())
        return [(rollout, await rollout.finish()) for rollout in rollouts]

    played = asyncio.run(together())
    results = [rollout.finish_sync() for rollout, _ in played]
    assert results == [result for _, result in played], "as often as it is wanted"
    assert [(result.state, result.model) for result in results] == [("scored", "driven")] * 3
    program = launcher.run(launcher.packages[0], resolve("oneshot"), model=from_function("f", lambda *_: BLOCK))
    assert {result.total for result in [*results, program]} == {program.total}, "the same answer has the same score"
    assert program.model == "f"
    for rollout, result in zip((rollout for rollout, _ in played), results, strict=True):
        assert result.path is not None
        record = read_rollout(result.path / "trajectory.json")
        assert (record.rewritten, record.model) == (0, "driven")
        assert len(record.conversation()) == len(rollout.messages)


def test_ending_early(launcher: Launcher) -> None:
    nothing, submitted, running = begin(launcher), begin(launcher), begin(launcher)
    assert nothing.finish_sync(timeout_s=60).ended_by == "stopped"
    assert "was not answered" in str(nothing.finish_sync().reason)
    submitted.request_sync(60)
    submitted.answer_sync(calling("run_python", code=SUBMIT), 60)
    assert (submitted.finish_sync(timeout_s=60).state, submitted.over) == ("scored", True)
    running.request_sync(60)
    with pytest.raises(TimeoutError):
        running.answer_sync(calling("run_python", code="import time; time.sleep(60)"), 1.0)
    result = running.finish_sync(now=True, timeout_s=30)
    assert (result.state, result.ended_by) == ("rejected", "cancelled")


def test_a_policy_that_never_answers_is_no_fault_of_the_agent(launcher: Launcher) -> None:
    never, once = begin(launcher, allowance=Allowance(wall_s=0.5)), begin(launcher, allowance=Allowance(wall_s=1.0))
    once.request_sync(60)
    once.answer_sync("Hm.", 60)
    for rollout in (never, once):
        request = rollout.request_sync(60)
        while not rollout.over:
            time.sleep(0.02)
        result = rollout.finish_sync(timeout_s=60)
        assert (result.state, result.boundary) == ("error", "model")
        assert "whoever answers for model 'driven' gave no answer in the last" in str(result.reason)
        assert request is not None
        assert not request.answer("too late")


def test_a_failure_of_the_policy_is_named(launcher: Launcher) -> None:
    rollout = begin(launcher)
    request = rollout.request_sync(60)
    assert request is not None
    request.fail(MemoryError("no room for the cache"))
    result = rollout.finish_sync(timeout_s=60)
    assert (result.state, result.boundary) == ("error", "model")
    assert "MemoryError: no room for the cache" in str(result.reason)


def test_a_model_of_the_callers_fails_by_name(launcher: Launcher) -> None:
    def broken(messages: object, tools: object) -> str:
        raise ZeroDivisionError("policy")

    result = launcher.run(launcher.packages[0], resolve("react"), model=from_function("f", broken))
    assert (result.state, result.boundary) == ("error", "model")
    assert "ZeroDivisionError: policy" in str(result.reason)
    with pytest.raises(UsageError, match="expected a name such as"):
        launcher.run(launcher.packages[0], resolve("react"), model=object())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="asks no model"):
        begin(launcher, "naive")


def test_many_rollouts_ask_one_model(launcher: Launcher) -> None:
    model, agent, package = DrivenModel("policy"), resolve("codeblock"), launcher.packages[0]

    async def main() -> list[object]:
        running = [asyncio.create_task(asyncio.to_thread(launcher.run, package, agent, model=model)) for _ in range(4)]
        ended = asyncio.gather(*running)
        ended.add_done_callback(lambda _: model.close())
        while (request := await model.request()) is not None:
            request.answer("I am done." if len(request.messages) > 2 else BLOCK)
        return [result.state for result in await ended]

    assert asyncio.run(main()) == ["scored"] * 4


def test_what_is_forgotten_leaves_nothing(launcher: Launcher) -> None:
    before, threads = {process.pid for process in psutil.Process().children(recursive=True)}, ours()
    descriptors = psutil.Process().num_fds()
    for number in range(12):
        rollout = begin(launcher)
        rollout.request_sync(60)
        if number == 0:
            rollout.answer_sync(calling("run_python", code="print(1)"), 60)  # one with a sandbox
    waiting = begin(launcher)
    waiter = threading.Thread(target=waiting.request_sync, daemon=True)
    waiter.start()
    del rollout, waiting
    gc.collect()
    give_up = time.monotonic() + 60
    while ours() - threads and time.monotonic() < give_up:
        time.sleep(0.05)
        if not waiter.is_alive():
            gc.collect()
        elif len(ours() - threads) == 1:
            break  # the one that is waited for lives as long as its waiter
    assert len(ours() - threads) <= 1
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before
    assert psutil.Process().num_fds() <= descriptors + 8


def test_the_launcher_ends_what_is_open(store_home: Path) -> None:
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as launcher:
        rollouts = [begin(launcher) for _ in range(3)]
        rollouts[0].request_sync(60)
        rollouts[0].answer_sync(calling("run_python", code="print(1)"), 60)
    assert all(rollout.over for rollout in rollouts)
    assert {rollout.finish_sync().state for rollout in rollouts[:1]} == {"rejected"}
    assert rollouts[0].request_sync(5) is None
