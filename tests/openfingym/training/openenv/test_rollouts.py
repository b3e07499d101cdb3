"""Verified rollouts that are played over OpenEnv: a real sandbox, a real verifier, real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openfingym.training.openenv.served import Served
from openfingym.training.openenv.serving import SESSIONS, application
from openfingym.training.openenv.tools import RESERVED, inner, outer

from ..serving import Server, asked, served

TASK = "treasury-forecast"
PROGRAM = """
import numpy as np, interface
steps, channels = interface.SUBMISSION_SHAPE[1:]
interface.predict_each(lambda shown: np.repeat(shown[:, -1:, :channels], steps, axis=1))
print("saved")
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    def made() -> Any:
        offered = Served([TASK], ("train", "test"), places=2, backend="sandbox")
        return application(offered, sessions=4)

    with served(made) as running:
        yield running


def call(tool: str, **arguments: object) -> dict[str, Any]:
    return {"type": "step", "data": {"type": "call_tool", "tool_name": tool, "arguments": arguments}}


@pytest.mark.sandbox
def test_a_rollout_is_played_by_tools_and_verified(server: Server) -> None:
    with server.socket() as socket:
        before = asked(socket, {"type": "step", "data": {"type": "list_tools"}})["data"]
        first = asked(socket, {"type": "reset", "data": {"index": 3}})["data"]
        assert set(first["observation"]) == {"instruction", "messages"}
        assert [message["role"] for message in first["observation"]["messages"]] == ["system", "user"]
        assert first["reward"] is None
        offered = asked(socket, {"type": "step", "data": {"type": "list_tools"}})["data"]["observation"]["tools"]
        assert offered == before["observation"]["tools"]
        assert [tool["name"] for tool in offered] == ["run_python", "read_file", "write_file", "finish"]
        told = asked(socket, call("run_python", code="print(42)"))["data"]
        assert told == {
            "observation": {"tool_name": "run_python", "result": "42", "error": None},
            "reward": None,
            "done": False,
        }
        malformed = asked(socket, {"type": "step", "data": {"tool_name": "read_file", "arguments": "x"}})
        assert malformed["data"]["code"] == "VALIDATION_ERROR"
        # With the last window answered, nothing more can be done.
        ended = asked(socket, call("run_python", code=PROGRAM))["data"]
        assert ended["done"] is True
        assert ended["observation"]["result"] == "saved"
        assert ended["reward"] == 0.0  # the naive answer is the baseline
        assert ended["observation"]["outcome"]["state"] == "scored"
        assert ended["observation"]["outcome"]["relative_total"] == 1.0
        assert asked(socket, call("run_python", code="print(1)"))["data"]["code"] == "EXECUTION_ERROR"
        again = asked(socket, {"type": "reset", "data": {"index": 3}})["data"]
        assert again["observation"] == first["observation"]


@pytest.mark.sandbox
def test_who_speaks_mcp_alone_needs_no_reset(server: Server) -> None:
    name = server.rpc("openenv/session/create")["result"]["session_id"]
    tools = server.rpc("tools/list", session_id=name)["result"]["tools"]
    assert {"run_python", "finish"} <= {tool["name"] for tool in tools}
    told = server.rpc("tools/call", session_id=name, name="run_python", arguments={"code": "print(6 * 7)"})["result"]
    assert told["data"] == "42"
    assert server.rpc("tools/call", session_id=name, name="dance")["error"]["code"] == -32602
    ended = server.rpc("tools/call", session_id=name, name="finish")["result"]
    assert (ended["done"], ended["reward"]) == (True, -1.0)  # nothing was answered
    over = server.rpc("tools/call", session_id=name, name="run_python", arguments={"code": "print(1)"})
    assert over["error"]["code"] == -32603
    assert server.rpc("openenv/session/close", session_id=name)["result"]["closed"] is True


@pytest.mark.sandbox
def test_a_client_that_dies_in_a_call_gives_its_place_back(server: Server) -> None:
    for _ in range(4):  # of two places
        with server.socket() as socket:
            assert asked(socket, {"type": "reset"})["type"] == "observation"
            socket.send(json.dumps(call("run_python", code="import time; time.sleep(600)")))
            socket.socket.shutdown(2)
    with server.socket() as socket:
        assert asked(socket, {"type": "reset"})["type"] == "observation"
    assert len(server.app[SESSIONS]) <= 4


@pytest.mark.sandbox
def test_a_failure_of_ours_is_an_error_and_no_reward() -> None:
    def made() -> Any:
        offered = Served([TASK], ("train",), backend="sandbox", verifier="http://127.0.0.1:9")
        return application(offered, sessions=1)

    with served(made) as running, running.socket() as socket:
        told = asked(socket, {"type": "reset"})
        assert told["type"] == "error"
        assert told["data"]["code"] == "EXECUTION_ERROR"
        assert told["data"].get("reward") is None


def test_no_tool_has_a_name_that_openenv_keeps_for_itself() -> None:
    for name in RESERVED:
        assert outer(name) not in RESERVED
        assert inner(outer(name)) == inner(name) == name
    assert outer("run_python") == inner("run_python") == "run_python"
    offered = Served(["equity-trading"], tools=True)
    offered.prepare()
    names = [tool["name"] for tool in offered.tools("equity-trading")]
    assert not RESERVED & set(names)
    assert "take_step" in names
