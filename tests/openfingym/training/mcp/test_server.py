"""The Model Context Protocol, message by message, as a coding agent's client speaks it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from openfingym.results import read_run
from openfingym.training.mcp.messages import VERSIONS, McpConversation
from openfingym.training.mcp.played import PlayTerms
from openfingym.training.mcp.streamable import SESSION, Streamable

from ..serving import Server, served

TASK = "treasury-forecast"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "Test Client!", "version": "1"}}
PROGRAM = """
import numpy as np, interface
steps, channels = interface.SUBMISSION_SHAPE[1:]
interface.predict_each(lambda shown: np.repeat(shown[:, -1:, :channels], steps, axis=1))
"""


class Client:
    """A client of the command, by its standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.input: IO[bytes] = process.stdin
        self.output: IO[bytes] = process.stdout
        self.heard: list[dict[str, Any]] = []
        self._id = 0

    def send(self, text: bytes) -> None:
        self.input.write(text + b"\n")
        self.input.flush()

    def next(self) -> dict[str, Any]:
        line = self.output.readline()
        assert line, "the server has ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self._id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode())
        while (told := self.next()).get("id") != self._id:
            self.heard.append(told)
        return told

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return found


@contextlib.contextmanager
def started(*options: str) -> Iterator[Client]:
    command = [str(Path(sys.executable).with_name("openfingym")), "mcp", TASK, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield Client(process)
        finally:
            process.kill()


def results(folder: Path) -> list[Any]:
    return [read_run(path) for path in folder.iterdir() if (path / "result.json").exists()]


MALFORMED: list[tuple[bytes, int]] = [
    (b"{", -32700),
    (b"\xff", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"5", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "2.0"}', -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', -32601),  # what a client of 2026 tries first
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', -32600),  # before initialize
    (b'{"jsonrpc": "2.0", "id": ' + b"1" * 5000 + b', "method": 5}', -32700),
    (b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}', -32700),
    *((b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}' % odd, -32600) for odd in (b"null", b"true", b"1.5", b"{}")),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),  # before a revision was agreed to that has lists
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "more": "' + b"x" * (16 * 1024 * 1024) + b'"}', -32700),
]


def test_malformed_messages_are_answered_and_nothing_is_started(tmp_path: Path) -> None:
    with started("--out", str(tmp_path / "runs")) as client:
        for text, code in MALFORMED:
            client.send(text)
            assert client.next()["error"]["code"] == code, text[:80]
        client.send(b"\n\n")
        for odd in (b"5", b"[1]", b"{}", b"null", b"true", b"1.5", b'"x"'):
            client.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": %s}}' % odd)
        client.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}')
        client.send(b'{"jsonrpc": "2.0", "id": 5, "result": {}}')
        assert client.ask("ping")["result"] == {}
        client.input.close()
        assert client.process.wait(30.0) == 0
        assert client.output.read() == b""
        assert client.process.stderr is not None
        assert b"Traceback" not in client.process.stderr.read()
    assert not (tmp_path / "runs").exists()


@pytest.mark.sandbox
def test_a_coding_agent_plays_a_task(tmp_path: Path) -> None:
    with started("--split", "train", "--index", "3", "--backend", "sandbox", "--out", str(tmp_path)) as client:
        hello = client.ask("initialize", **HELLO)["result"]
        assert hello["protocolVersion"] == HELLO["protocolVersion"]
        client.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        assert list(tools) == ["run_python", "read_file", "write_file", "finish"]
        assert all(tool["inputSchema"]["type"] == "object" for tool in tools.values())
        (resource,) = client.ask("resources/list")["result"]["resources"]
        (content,) = client.ask("resources/read", uri=resource["uri"])["result"]["contents"]
        assert "# Treasury yield forecast" in content["text"]
        assert content["text"] == client.ask("prompts/get", name="play")["result"]["messages"][0]["content"]["text"]
        assert client.ask("resources/read", uri="file:///etc/passwd")["error"]["code"] == -32002
        assert client.ask("tools/call", name="step", arguments={})["error"]["code"] == -32602
        assert client.ask("tools/call", name="read_file", arguments=[1])["error"]["code"] == -32602
        assert client.call("run_python", code="print(6 * 7)") == {
            "content": [{"type": "text", "text": "42"}],
            "isError": False,
        }
        assert client.call("run_python")["isError"] is True  # without its argument
        assert client.call("run_python", code="1 / 0")["isError"] is True
        assert client.call("read_file", path="nowhere.txt")["isError"] is True
        assert client.call("write_file", path="a.txt", content="x")["isError"] is False
        told = client.ask(
            "tools/call",
            name="run_python",
            arguments={"code": f"import time; time.sleep(6){PROGRAM}"},
            _meta={"progressToken": "p"},
        )
        assert told["result"]["isError"] is False
        assert client.heard[-1]["method"] == "notifications/progress"
        assert client.heard[-1]["params"]["progressToken"] == "p"
        ended = client.call("finish")
        assert ended["structuredContent"]["relative_total"] == 1.0
        assert "over" in client.call("run_python", code="print(1)")["content"][0]["text"]
        client.input.close()
        assert client.process.wait(30.0) == 0
    (result,) = results(tmp_path)
    assert (result.agent, result.state, result.split, result.instance) == ("mcp-test-client", "scored", "train", 3)
    assert str(result.path) == ended["structuredContent"]["path"]


@pytest.mark.sandbox
def test_closing_the_input_in_the_midst_of_a_program_scores_what_was_answered(tmp_path: Path) -> None:
    with started("--split", "train", "--backend", "sandbox", "--out", str(tmp_path)) as client:
        client.ask("initialize", **HELLO)
        client.call("run_python", code=PROGRAM)
        busy = {"name": "run_python", "arguments": {"code": "import time; time.sleep(600)"}}
        client.send(json.dumps({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": busy}).encode())
        time.sleep(1.0)  # it runs by then; were it slower, the test would be easier
        client.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}')
        assert client.ask("ping")["result"] == {}  # answered while the program runs, which nobody waits for
        client.input.close()
        assert client.process.wait(60.0) == 0
        assert client.process.stderr is not None
        assert b"Scored by the verifier" in client.process.stderr.read()
    (result,) = results(tmp_path)
    assert result.state == "scored"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    terms = PlayTerms(TASK, "train", backend="sandbox", out=tmp_path_factory.mktemp("runs"))
    with served(Streamable(terms, sessions=2, idle_s=600.0).application) as running:
        yield running


def post(server: Server, method: str, session: str | None = None, **params: object) -> Any:
    headers = {"Accept": "application/json, text/event-stream"} | ({SESSION: session} if session else {})
    return server.http.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=headers
    )


def events(answer: Any) -> list[dict[str, Any]]:
    assert answer.headers["content-type"] == "text/event-stream"
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


def ping(name: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": name, "method": "ping"}


class Unplayed:
    """Stands for a rollout that is not begun."""

    def __init__(self, *_: object) -> None:
        """Begin nothing."""

    async def instruction(self) -> str:
        return "Play."


async def _agreed(version: str) -> McpConversation:
    async def send(_: object) -> None:
        """Tell nobody."""

    conversation = McpConversation(PlayTerms(TASK), send=send)
    answer = await conversation.answered(
        {**ping(0), "method": "initialize", "params": {**HELLO, "protocolVersion": version}}
    )
    assert answer is not None
    assert answer["result"]["protocolVersion"] == conversation.version == version
    return conversation


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_messages_are_taken_in_the_revisions_that_have_them(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym.training.mcp.messages.PlayedRollout", Unplayed)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    async def talked(sent: object) -> Any:
        return await (await _agreed(version)).answered_all(sent)

    pings = asyncio.run(talked([ping(2), note, ping("3")]))
    if version not in {"2024-11-05", "2025-03-26"}:
        assert (pings["error"]["code"], pings["id"]) == (-32600, None)
        return
    assert pings == [{"jsonrpc": "2.0", "id": 2, "result": {}}, {"jsonrpc": "2.0", "id": "3", "result": {}}]
    assert asyncio.run(talked([note])) is None
    assert asyncio.run(talked([]))["error"]["code"] == -32600
    assert asyncio.run(talked([ping(1)] * 65))["error"]["code"] == -32600
    mixed = asyncio.run(talked([5, ping([1]), ping(7), {**ping(8), "method": "nothing"}]))
    assert [(one["id"], one.get("error", {}).get("code")) for one in mixed] == [
        (None, -32600),
        (None, -32600),
        (7, None),
        (8, -32601),
    ]


@pytest.mark.sandbox
def test_a_list_of_messages_over_http(server: Server) -> None:
    begun = post(server, "initialize", **{**HELLO, "protocolVersion": "2025-03-26"})
    session = {SESSION: begun.headers[SESSION]}
    assert server.http.post("/mcp", json=[ping(1), ping(2)]).status_code == 400
    told = server.http.post("/mcp", json=[ping(1), ping(2)], headers=session).json()
    assert [one["id"] for one in told] == [1, 2]
    call = {**ping(3), "method": "tools/call", "params": {"name": "run_python", "arguments": {}}}
    (answers,) = events(server.http.post("/mcp", json=[call, ping(4)], headers=session))
    assert [one["id"] for one in answers] == [3, 4]
    assert answers[0]["result"]["isError"] is True
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.http.post("/mcp", json=[note], headers=session).status_code == 202
    odd = server.http.post("/mcp", json=ping([1]), headers=session)
    assert (odd.status_code, odd.json()["error"]["code"], odd.json()["id"]) == (200, -32600, None)
    assert server.http.delete("/mcp", headers=session).status_code == 204
    later = {SESSION: post(server, "initialize", **HELLO).headers[SESSION]}
    assert server.http.post("/mcp", json=[ping(1)], headers=later).status_code == 400
    assert server.http.delete("/mcp", headers=later).status_code == 204


@pytest.mark.sandbox
def test_each_client_over_http_plays_a_rollout_of_its_own(server: Server) -> None:
    names = []
    for _ in range(2):
        answer = post(server, "initialize", **HELLO)
        assert answer.json()["result"]["instructions"]
        names.append(answer.headers[SESSION])
    assert post(server, "initialize", **HELLO).status_code == 503
    told = [
        events(post(server, "tools/call", name, name="write_file", arguments={"path": "a.txt", "content": name}))
        for name in names
    ]
    assert all(one[-1]["result"]["isError"] is False for one in told)
    seen = events(post(server, "tools/call", names[0], name="read_file", arguments={"path": "a.txt"}))
    assert seen[-1]["result"]["content"][0]["text"] == names[0]
    assert post(server, "ping", "nobody").status_code == 404
    assert post(server, "ping").status_code == 400
    assert server.http.get("/mcp").status_code == 405
    noted = server.http.post(
        "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers={SESSION: names[0]}
    )
    assert noted.status_code == 202
    for name in names:
        assert server.http.delete("/mcp", headers={SESSION: name}).status_code == 204
        assert post(server, "ping", name).status_code == 404


def test_pages_and_rebound_names_are_kept_out(server: Server) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        assert server.http.post("/mcp", json={}, headers=headers).status_code == 403
        assert server.http.delete("/mcp", headers=headers).status_code == 403
    assert server.http.post("/mcp", content=b"{").status_code == 400
    assert server.http.post("/mcp", json=[]).status_code == 400


def test_revisions_are_those_of_the_handshake() -> None:
    assert tuple(sorted(VERSIONS)) == VERSIONS
    assert "2025-11-25" in VERSIONS
