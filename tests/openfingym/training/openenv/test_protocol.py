"""OpenEnv's wire protocol, frame by frame, as a client meets it: real sockets, every type of frame, every error."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from openfingym.envs.making import make
from openfingym.errors import TaskNotFoundError
from openfingym.instances import INSTANCE_COUNT
from openfingym.training.openenv.served import Served
from openfingym.training.openenv.serving import SESSIONS, application
from openfingym.training.openenv.wire import MAX_FRAME

from ..serving import Server, asked, served

TASK, OTHER = "equity-rolling-forecast", "crypto-rolling-forecast"
STEP: dict[str, Any] = {"type": "step", "data": {"action": []}}
RESET: dict[str, Any] = {"type": "reset", "data": {"seed": 5}}


@pytest.fixture(scope="module", autouse=True)
def action(store_home: Path) -> None:
    """Every step holds its cash, with a number for each column of the task."""
    shape = make(TASK).action_space.shape
    assert shape is not None
    STEP["data"]["action"] = [0.0] * shape[0]


@pytest.fixture(scope="module")
def server(store_home: Path) -> Iterator[Server]:
    def made() -> Any:
        return application(Served([TASK, OTHER]), sessions=20, idle_s=600.0)

    with served(made) as running:
        yield running


def sessions(server: Server) -> int:
    return len(server.app[SESSIONS])


def settled(server: Server, count: int) -> int:
    """Number of sessions, as soon as it is this one, or after a while."""
    deadline = time.monotonic() + 20.0
    while sessions(server) != count and time.monotonic() < deadline:
        time.sleep(0.01)
    return sessions(server)


def code(told: dict[str, Any]) -> str:
    assert told["type"] == "error"
    assert isinstance(told["data"]["message"], str)
    return str(told["data"]["code"])


def test_an_episode_is_the_one_of_the_environment(server: Server) -> None:
    env = make(TASK)
    shown, _ = env.reset(seed=5)
    with server.socket() as socket:
        told = asked(socket, {"type": "reset", "data": {"seed": 5, "episode_id": "mine", "nobody": "knows"}})
        assert told["type"] == "observation"
        assert set(told["data"]) == {"observation", "reward", "done"}
        assert told["data"]["observation"]["observation"]["bars"] == shown["bars"].tolist()
        assert told["data"]["reward"] is None
        assert told["data"]["done"] is False
        steps, done = 0, False
        while not done:
            shown, reward, terminated, truncated, _ = env.step(env.action_space.sample() * 0.0)
            told = asked(socket, STEP)["data"]
            steps, done = steps + 1, told["done"]
            assert told["observation"]["observation"]["bars"] == shown["bars"].tolist()
            assert math.isclose(told["reward"], reward, rel_tol=0.0, abs_tol=0.0)
            assert done == (terminated or truncated)
        assert told["observation"]["info"]["terminated"] is False
        state = asked(socket, {"type": "state"})
        chosen = {"task": TASK, "split": "train", "index": 5 % INSTANCE_COUNT}
        assert state == {"type": "state", "data": {"episode_id": "mine", "step_count": steps, **chosen}}
        assert code(asked(socket, STEP)) == "EXECUTION_ERROR"  # it is over
        assert asked(socket, RESET)["type"] == "observation"
        socket.send('{"type": "close"}')
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20.0)
    assert settled(server, 0) == 0


ERRORS: list[tuple[str | bytes, str]] = [
    ("{", "INVALID_JSON"),
    ("", "INVALID_JSON"),
    ("NaN", "INVALID_JSON"),
    ("[" * 50_000, "INVALID_JSON"),
    (b"\xff\xfe", "INVALID_JSON"),
    (b'{"type": "state"}', "INVALID_JSON"),  # a binary frame
    ("[]", "UNKNOWN_TYPE VALIDATION_ERROR"),
    ("5", "VALIDATION_ERROR"),
    ("null", "VALIDATION_ERROR"),
    ("{}", "UNKNOWN_TYPE"),
    ('{"type": 5}', "UNKNOWN_TYPE"),
    ('{"type": null}', "UNKNOWN_TYPE"),
    ('{"type": {"a": []}}', "UNKNOWN_TYPE"),
    ('{"type": "dance", "more": 1}', "UNKNOWN_TYPE"),
    ('{"type": "step"}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": null}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": [1]}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": null}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": "buy"}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": [[0.0]]}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": [true]}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": [1, [2]]}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": {"a": 1}}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": [0.0], "surprise": 1}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": [0.0]}, "surprise": 1}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "call_tool", "tool_name": "x", "arguments": {}}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "finish"}}', "EXECUTION_ERROR"),
    ('{"type": "reset", "data": 5}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": 1.5}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": true}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": 99999999999999999999999999}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"index": 10000}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"task": "oil"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"task": ["oil"]}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"split": "test"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"episode_id": 5}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"start": "last"}}', "EXECUTION_ERROR"),
    ('{"type": "state", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "close", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "mcp"}', "VALIDATION_ERROR"),
]


def test_the_session_goes_on_after_every_malformed_frame(server: Server) -> None:
    with server.socket() as socket:
        assert code(asked(socket, STEP)) == "EXECUTION_ERROR"  # nothing was begun
        assert asked(socket, RESET)["type"] == "observation"
        for text, expected in ERRORS:
            told = asked(socket, text)
            assert code(told) in expected, text
            if code(told) == "VALIDATION_ERROR":
                assert told["data"]["errors"][0]["msg"], text
        assert asked(socket, STEP)["data"]["reward"] == 0.0
        assert asked(socket, {"type": "state"})["data"]["step_count"] == 1


def test_a_frame_that_is_not_text_of_utf_8_ends_the_connection(server: Server) -> None:
    with server.socket() as socket:
        asked(socket, RESET)
        socket.socket.sendall(b"\x81\x82\0\0\0\0\xff\xfe")
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20.0)
    assert settled(server, 0) == 0


def test_a_giant_frame_ends_the_connection_and_nothing_else(server: Server) -> None:
    with server.socket() as other:
        asked(other, RESET)
        with server.socket() as socket:
            with pytest.raises(ConnectionClosed) as closed:
                asked(socket, json.dumps({"type": "step", "data": {"action": "x" * MAX_FRAME}}))
            assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
        assert asked(other, STEP)["type"] == "observation"
    assert server.http.post("/reset", content=b" " * (MAX_FRAME + 1)).status_code == 413


def test_tasks_and_instances_are_chosen_by_reset(server: Server) -> None:
    with server.socket() as socket:
        task = server.http.post(f"/{OTHER}/task", json={"split": "train", "index": 3}).json()["task"]
        assert task == {"task": OTHER, "split": "train", "index": 3}
        one = asked(socket, {"type": "reset", "data": task})
        assert asked(socket, {"type": "reset", "data": {"task": task}}) == one
        assert asked(socket, {"type": "reset", "data": {"index": 4}})["data"] != one["data"]  # of the same task
        assert asked(socket, {"type": "state"})["data"]["task"] == OTHER
        group = [asked(socket, {"type": "reset", "data": {"seed": 77}}) for _ in range(2)]
        assert group[0] == group[1]
        counted = [asked(socket, {"type": "reset"})["type"] and asked(socket, {"type": "state"}) for _ in range(2)]
        assert counted[0]["data"]["index"] + 1 == counted[1]["data"]["index"]


def test_capacity(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(server.socket()) for _ in range(20)]
        with server.socket() as late:
            told = json.loads(late.recv(timeout=20.0))
            assert code(told) == "CAPACITY_REACHED"
            assert (told["data"]["active_sessions"], told["data"]["max_sessions"]) == (20, 20)
            with pytest.raises(ConnectionClosed):
                late.recv(timeout=20.0)
        refused = server.rpc("openenv/session/create")["error"]
        assert refused["code"] == -32000
        assert refused["data"] == {"active_sessions": 20, "max_sessions": 20}
        assert server.http.post("/reset", json={}).status_code == 503
        with server.socket("/mcp") as late:
            assert json.loads(late.recv(timeout=20.0))["error"]["code"] == -32000
        held.pop().close()
        assert settled(server, 19) == 19
        assert "result" in server.rpc("openenv/session/create")
    assert settled(server, 1) == 1  # the one that was made over HTTP
    (session,) = server.app[SESSIONS]._open
    assert server.rpc("openenv/session/close", session_id=session)["result"]["closed"] is True
    assert settled(server, 0) == 0


def test_a_session_over_mcp_has_one_socket_at_a_time(server: Server) -> None:
    name = server.rpc("openenv/session/create")["result"]["session_id"]
    with server.socket(f"/ws?session_id={name}") as socket:
        asked(socket, RESET)
        with server.socket(f"/ws?session_id={name}") as second:
            assert code(json.loads(second.recv(timeout=20.0))) == "SESSION_ERROR"
        assert asked(socket, STEP)["type"] == "observation"
    with server.socket(f"/ws?session_id={name}") as socket:  # detaching has kept it
        assert asked(socket, {"type": "state"})["data"]["step_count"] == 1
        assert server.rpc("tools/list", session_id=name)["result"] == {"tools": []}
        found = server.rpc("openenv/session/close", session_id=name)["result"]
        assert found == {"session_id": name, "closed": False, "closing": True}
    assert settled(server, 0) == 0
    with server.socket(f"/ws?session_id={name}") as socket:
        assert code(json.loads(socket.recv(timeout=20.0))) == "SESSION_ERROR"


RPC_ERRORS: list[tuple[Any, int]] = [
    ({}, -32600),
    ([], -32600),
    (None, -32600),
    ({"jsonrpc": "1.0", "method": "tools/list"}, -32600),
    ({"jsonrpc": "2.0", "method": 5}, -32600),
    ({"jsonrpc": "2.0", "method": "tools/list", "params": [1]}, -32600),
    ({"jsonrpc": "2.0", "method": "tools/list", "id": [1]}, -32600),
    ({"jsonrpc": "2.0", "method": "tools/list", "surprise": 1}, -32600),
    ({"jsonrpc": "2.0", "method": "dance", "id": 1}, -32601),
    ({"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {}}, -32602),
    ({"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {"name": "run_python"}}, -32602),
    ({"jsonrpc": "2.0", "method": "tools/list", "id": 1, "params": {"session_id": "none"}}, -32602),
    ({"jsonrpc": "2.0", "method": "openenv/session/close", "id": 1}, -32602),
    ({"jsonrpc": "2.0", "method": "openenv/session/close", "id": 1, "params": {"session_id": "none"}}, -32602),
]


def test_json_rpc_over_http_and_both_sockets(server: Server) -> None:
    broken = server.http.post("/mcp", content=b"{")
    assert (broken.status_code, broken.json()["error"]["code"]) == (200, -32700)
    with server.socket("/mcp") as rpc, server.socket() as ws:
        assert asked(rpc, "{")["error"]["code"] == -32700
        for request, expected in RPC_ERRORS:
            answer = server.http.post("/mcp", content=json.dumps(request))
            assert answer.status_code == 200
            assert answer.json()["error"]["code"] == expected, request
            if isinstance(request, dict) and request.get("method") == "tools/list" and request.get("id") == 1:
                continue  # a socket has a session of its own
            found = asked(rpc, request)
            assert found["error"]["code"] == expected, request
            assert "result" not in found
            if isinstance(request, dict):
                inner = asked(ws, {"type": "mcp", "data": request})
                assert inner["type"] == "mcp"
                assert inner["data"]["error"]["code"] == expected, request
        own = asked(rpc, {"jsonrpc": "2.0", "id": "a", "method": "openenv/session/create"})["result"]["session_id"]
        ending = {"jsonrpc": "2.0", "id": "b", "method": "openenv/session/close", "params": {"session_id": own}}
        assert asked(rpc, ending)["error"]["code"] == -32600  # it is the socket's own


def test_every_route(server: Server) -> None:
    http = server.http
    paths = http.get("/openapi.json").json()["paths"]
    assert {"/reset", "/step", "/state"} <= set(paths)
    assert http.get("/openapi.json").json()["info"]["version"].startswith("1.")
    assert http.get("/health").json() == {"status": "healthy"}
    about = http.get("/metadata").json()
    assert set(about) == {"name", "description", "readme_content", "version", "author", "documentation_url"}
    assert isinstance(about["name"], str)
    assert isinstance(about["description"], str)
    schema = http.get("/schema").json()
    assert schema["action"]["required"] == ["action"]
    assert schema["action"]["properties"]["action"]["minItems"] == len(STEP["data"]["action"])
    assert schema["observation"]["type"] == schema["state"]["type"] == "object"
    assert http.get("/state").json() == {"episode_id": None, "step_count": 0}
    first = http.post("/reset").json()
    assert set(first) == {"observation", "reward", "done"}
    assert http.post("/reset", json={"seed": 5}).json() == http.post("/reset", json={"seed": 5}).json()
    assert http.post("/reset", json={"seed": "five"}).status_code == 422
    assert http.post("/reset", content=b"{").status_code == 422
    assert http.post("/step", json={"action": STEP["data"]}).json()["reward"] == 0.0
    assert http.post("/step", json={"action": {"nonsense": 1}}).status_code == 422
    assert http.post("/step", json={}).status_code == 422
    assert http.get("/list_environments").json() == [TASK, OTHER]
    assert http.get(f"/{TASK.upper()}/splits").json() == [{"name": "train", "type": "train"}]
    assert http.get("/nobody/splits").status_code == 404
    tasks = http.post(f"/{TASK}/tasks", json={"split": "train"}).json()
    assert tasks["env_name"] == TASK
    assert len(tasks["tasks"]) == INSTANCE_COUNT
    assert http.post(f"/{TASK}/num_tasks", json={"split": "train"}).json() == {"num_tasks": INSTANCE_COUNT}
    assert http.post(f"/{TASK}/task", json={"split": "train", "index": INSTANCE_COUNT}).status_code == 400
    assert http.post(f"/{TASK}/task", json={"split": "train", "index": -1}).status_code == 400
    assert http.post(f"/{TASK}/task", json={"split": "train", "index": "1"}).status_code == 422
    assert http.post(f"/{TASK}/task", json={"split": "test", "index": 0}).status_code == 404
    assert http.post(f"/{TASK}/tasks", json={}).status_code == 422
    found = http.post(f"/{TASK}/task_range", json={"split": "train", "start": 2, "stop": 4}).json()["tasks"]
    assert [task["index"] for task in found] == [2, 3]
    assert settled(server, 0) == 0


def test_pages_and_rebound_names_are_kept_out(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        server.socket(origin="https://evil.example")
    assert refused.value.response.status_code == 403
    for path in ("/reset", "/mcp"):
        assert server.http.post(path, json={}, headers={"Host": "evil.example"}).status_code == 403


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_clients_that_vanish_leave_nothing(server: Server) -> None:
    with server.socket() as once:
        asked(once, RESET)
    assert settled(server, 0) == 0
    before, threads = descriptors(), threading.active_count()
    for number in range(120):
        with server.socket() as socket:
            if number % 3:
                socket.send(json.dumps(RESET))
            if number % 3 == 2:
                socket.send(json.dumps(STEP))
            socket.socket.shutdown(2)  # without a word
    assert settled(server, 0) == 0
    deadline = time.monotonic() + 20.0
    while descriptors() > before + 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert descriptors() <= before + 2
    assert threading.active_count() <= threads + 8  # the pool's


def test_a_slow_reader_holds_up_nobody_and_does_not_fill_the_memory(server: Server) -> None:
    with server.socket(max_queue=1) as slow, server.socket() as quick:
        asked(slow, RESET)
        asked(quick, RESET)

        def pour() -> None:
            # It ends by being stopped, as its reader reads nothing: one answer waits, not one for each step.
            for _ in range(20_000):
                try:
                    slow.socket.sendall(b"\x81\x90\0\0\0\0" + b'{"type":"state"}')
                except OSError:
                    return

        pouring = threading.Thread(target=pour, daemon=True)
        pouring.start()
        for _ in range(30):
            assert asked(quick, STEP)["type"] == "observation" or asked(quick, RESET)
        slow.socket.shutdown(2)
        pouring.join(20.0)
    assert settled(server, 0) == 0


def test_forgotten_sessions_are_closed_and_a_stop_closes_the_rest() -> None:
    def made() -> Any:
        return application(Served([TASK]), sessions=600, idle_s=1.0)

    with contextlib.ExitStack() as stack, served(made) as running:
        for _ in range(500):
            running.rpc("openenv/session/create")
        kept = stack.enter_context(running.socket())
        asked(kept, RESET)
        assert settled(running, 1) == 1  # which has a socket
        assert asked(kept, STEP)["type"] == "observation"
        running.end()
        with pytest.raises(ConnectionClosed) as closed:
            kept.recv(timeout=20.0)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
    assert len(running.app[SESSIONS]) == 0


def test_what_cannot_be_played_is_a_factory_error() -> None:
    def made() -> Any:
        return application(Served([TASK], ("validation",)), sessions=2)

    with served(made) as running:
        with running.socket() as socket:
            told = json.loads(socket.recv(timeout=60.0))
            assert code(told) == "FACTORY_ERROR"
            assert told["data"]["factory_name"] == TASK
            assert "--tools" in told["data"]["message"]
        assert running.rpc("openenv/session/create")["error"]["code"] == -32000
        assert settled(running, 0) == 0
    with pytest.raises(TaskNotFoundError, match="equity-rolling-forecast"):
        Served(["equity-rolling-forecats"])
