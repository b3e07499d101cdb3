"""The server of OpenEnv's protocol, played by verifiers' own taskset for it; and the MCP's SDK of major version 2."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ..conftest import required
from ..serving import PROGRAM, check_both_ways, command

vf = required("verifiers.v1")

ACTIONS = [
    {"type": "call_tool", "tool_name": "run_python", "arguments": {"code": PROGRAM}},
    {"type": "call_tool", "tool_name": "submit", "arguments": {"path": "answer.npy"}},
    {"type": "call_tool", "tool_name": "finish", "arguments": {}},
]


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A model that answers with one action after the other."""
    left = iter(ACTIONS)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": json.dumps(next(left))}
            body = json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "m",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


def test_the_taskset_for_openenv_gets_the_verified_reward(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from verifiers.v1 import clients

    monkeypatch.setenv("A_KEY", "k")

    async def rewards(url: str) -> Any:
        taskset = {"id": "openenv", "base_url": url, "resets": [{"index": 3}]}
        # The default runtime is a machine of a service that wants a login.
        player = {"runtime": {"type": "subprocess"}, "harness": {"id": "null"}}
        config = vf.resolve_env_config({"taskset": taskset, "player": player})
        env = vf.load_environment(config)
        client = clients.EvalClientConfig(base_url=endpoint, api_key_var="A_KEY")
        (slot,) = env.slots(next(iter(env.taskset.load())))
        async with env.serving():
            return await env.run_slot(slot, vf.ModelContext(model="m", client=client), asyncio.Semaphore(1))

    with command("env", "serve", "--openenv", "treasury-forecast", "--port", "0", "--backend", "sandbox") as url:
        episode = asyncio.run(rewards(url))
    (trace,) = episode.traces
    assert trace.ok
    assert trace.reward == 0.0


def test_the_sdk_of_the_model_context_protocol_2(tmp_path: Path) -> None:
    check_both_ways(tmp_path)
