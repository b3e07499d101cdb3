"""The server of OpenEnv's protocol, played by verifiers' own taskset for it; and the MCP's SDK of major version 2."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openfingym.models.testing import StandIn
from openfingym.models.testing.conversation import CompletionRequest, Reply

from ..conftest import required
from ..same_episode import INDEX, PROGRAM, TASK, check
from ..serving import check_both_ways, command

vf = required("verifiers.v1")

ACTIONS = [
    {"type": "call_tool", "tool_name": "run_python", "arguments": {"code": PROGRAM}},
    {"type": "call_tool", "tool_name": "finish", "arguments": {}},
]


class Actor:
    """Answers with one action after the other."""

    def respond(self, request: CompletionRequest) -> Reply:
        given = sum(message.role == "assistant" for message in request.messages)
        return Reply(json.dumps(ACTIONS[given]))


@pytest.fixture
def endpoint() -> Iterator[str]:
    with StandIn(policies={"stand-in/actor": Actor()}) as server:
        yield server.base_url


def test_the_taskset_for_openenv_gets_the_verified_reward(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from verifiers.v1 import clients

    monkeypatch.setenv("A_KEY", "k")

    async def rewards(url: str) -> Any:
        taskset = {"id": "openenv", "base_url": url, "resets": [{"index": INDEX}]}
        # The default runtime is a machine of a service that wants a login.
        player = {"runtime": {"type": "subprocess"}, "harness": {"id": "null"}}
        config = vf.resolve_env_config({"taskset": taskset, "player": player})
        env = vf.load_environment(config)
        client = clients.EvalClientConfig(base_url=endpoint, api_key_var="A_KEY")
        (slot,) = env.slots(next(iter(env.taskset.load())))
        async with env.serving():
            return await env.run_slot(
                slot, vf.ModelContext(model="stand-in/actor", client=client), asyncio.Semaphore(1)
            )

    with command("env", "serve", "--openenv", TASK, "--port", "0", "--backend", "sandbox") as url:
        episode = asyncio.run(rewards(url))
    (trace,) = episode.traces
    assert trace.ok, trace.errors
    check(trace.reward)


def test_the_sdk_of_the_model_context_protocol_2(tmp_path: Path) -> None:
    check_both_ways(tmp_path)
