"""Streamed answers as endpoints really send them: cut anywhere, uncounted, unnumbered, broken off, or no answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models import Completion, Message, ModelSpec, Usage
from openfingym.models.endpoint import ModelEndpoint
from openfingym.rollouts import Plan
from tests.openfingym.models.conftest import HELLO, RUN, Ask

TEXT = "Die Rendite fällt um 3 ‰ — 収益率 📉\u2028und steigt."


class Server(ThreadingHTTPServer):
    """Sends one body after the other, in chunks of ``size`` bytes; None in a body cuts the connection."""

    daemon_threads = True

    def __init__(self, bodies: Sequence[Sequence[bytes | None]], size: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies, self.size, self.asked = list(bodies), size, list[dict[str, object]]()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = self.server.bodies[min(len(self.server.asked), len(self.server.bodies)) - 1]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = b"".join(part for part in body if part is not None)
        for start in range(0, len(sent), self.server.size):
            piece = sent[start : start + self.server.size]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        if None in body:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


def event(delta: dict[str, object] | None, finish: str | None = None, **more: object) -> bytes:
    """A chunk of a completion, its characters as they are."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "x", "object": "chat.completion.chunk", "model": "m-1", "choices": choices, **more}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def part(name: str | None, arguments: str, call_id: str | None = None, **more: object) -> dict[str, object]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"tool_calls": [{**more, **({"id": call_id} if call_id else {}), "function": function}]}


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
DONE = b"data: [DONE]\n\n"
WHOLE = (event({"role": "assistant", "content": ""}), *(event({"content": letter}) for letter in TEXT))
GOOD = (*WHOLE, event({}, "stop"), event(None, usage=USAGE), DONE)

Send = Callable[..., tuple[Completion, Server]]


@pytest.fixture
def send() -> Iterator[Send]:
    """Has bodies sent, one for each request, and the last for all others."""
    servers: list[Server] = []

    def sending(
        *bodies: Sequence[bytes | None], size: int = 4096, patience_s: float = 20.0, **options: object
    ) -> tuple[Completion, Server]:
        server = Server(bodies, size)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        async def once() -> Completion:
            url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            async with ModelEndpoint(url, "none", patience_s=patience_s, timeout_s=10.0, loopback=True) as endpoint:
                return await endpoint.model("m", stream=True).complete((Message("user", "hello"),), **options)

        return asyncio.run(once()), server

    yield sending
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_chunks_may_be_cut_within_lines_and_characters(send: Send, size: int) -> None:
    found, server = send(GOOD, size=size)
    assert (found.message.content, found.usage, found.model, found.attempts) == (TEXT, Usage(11, 7), "m-1", 1)
    assert server.asked[0]["stream"] is True
    assert server.asked[0]["stream_options"] == {"include_usage": True}


def test_comments_and_other_ends_of_lines(send: Send) -> None:
    body = b": keep-alive\n\n".join(GOOD).replace(b"\n", b"\r\n")
    assert send([body], size=5)[0].message.content == TEXT


def test_without_usage_the_tokens_are_estimated(send: Send) -> None:
    found, _ = send([*WHOLE, event({}, "stop", usage=None), DONE])
    assert not found.counted
    assert found.cost_usd is None
    assert found.usage.completion == -(-len(TEXT) // 4)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thoughts(send: Send, name: str) -> None:
    found, _ = send([event({name: "think "}), event({name: "more"}), *GOOD])
    assert (found.message.reasoning, found.message.content) == ("think more", TEXT)


def test_calls_are_joined_from_their_pieces(send: Send) -> None:
    pieces = [
        event(part("run_python", "", "a", index=0)),
        event(part(None, '{"code": "print(', index=0)),
        event(part("read_file", '{"pa', "b", index=1)),
        event(part(None, "'ä')\"}", index=0)),
        event(part(None, 'th": "x"}', index=1)),
    ]
    found, _ = send([*pieces, event({}, "tool_calls"), event(None, usage=USAGE), DONE], size=2, tools=[RUN])
    first, second = found.message.tool_calls
    assert found.finish_reason == "tool_calls"
    assert (first.id, first.name, first.parsed()) == ("a", "run_python", {"code": "print('ä')"})
    assert (second.id, second.name, second.parsed()) == ("b", "read_file", {"path": "x"})


@pytest.mark.parametrize("number", [{}, {"index": 0}])
def test_calls_that_are_not_numbered_are_told_apart_by_their_ids(send: Send, number: dict[str, int]) -> None:
    calls = [event(part("run_python", f'{{"code": "{name}"}}', name, **number)) for name in "ab"]
    found, _ = send([*calls, event({}, "stop"), DONE], tools=[RUN])
    assert [(call.id, call.parsed()) for call in found.message.tool_calls] == [
        ("a", {"code": "a"}),
        ("b", {"code": "b"}),
    ]


@pytest.mark.parametrize(
    "body",
    [
        [*WHOLE, None],
        [*WHOLE[:3], WHOLE[3][:20], None],
        [*WHOLE],
        [*WHOLE, DONE],
        [],
        [WHOLE[0], b"data: <html>\n\n"],
        [b"<html>bad gateway</html>"],
        [b"data: [1, 2]\n\n", *GOOD],
        [b"data: 5\n\n", *GOOD],
        [b'data: {"choices": [7]}\n\n', *GOOD],
        [b'data: {"choices": [{"delta": "text"}]}\n\n', *GOOD],
        [b"data: \xff\xfe\n\n", *GOOD],
        [WHOLE[0], b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'],
    ],
    ids=[
        "cut",
        "cut-in-a-line",
        "unfinished",
        "unfinished-done",
        "nothing",
        "html",
        "page",
        "list",
        "number",
        "choice",
        "delta",
        "bytes",
        "error",
    ],
)
def test_what_is_no_whole_answer_is_asked_for_again(send: Send, body: list[bytes | None]) -> None:
    found, server = send(body, GOOD)
    assert (found.message.content, found.attempts, len(server.asked)) == (TEXT, 2, 2)


def test_what_stays_broken_is_no_answer(send: Send) -> None:
    with pytest.raises(ModelUnavailableError, match="the stream ended before the answer did"):
        send([*WHOLE], patience_s=2.0)


def test_an_endpoint_that_answers_in_streams_alone(ask: Ask) -> None:
    with pytest.raises(ModelRefusedError, match="--stream asks for them"):
        ask("stand-in/competent+stream-only")
    assert ask("stand-in/competent+stream-only", stream=True).attempts == 1


def test_an_endpoint_that_counts_no_stream(ask: Ask) -> None:
    found = ask("stand-in/competent+no-stream-options", stream=True)
    assert (found.attempts, found.counted) == (2, False)


def test_a_spec_says_that_its_model_streams(tmp_path: Path) -> None:
    async def asking(spec: ModelSpec) -> Completion:
        async with spec.open() as model:
            return await model.complete(HELLO)

    assert asyncio.run(asking(ModelSpec("stand-in/competent+stream-only", stream=True))).message.content
    file = tmp_path / "plan.toml"
    file.write_text(
        'tasks = ["treasury-forecast"]\nagents = ["react"]\nstream = true\n'
        'models = ["one", { name = "two", stream = false }]\n'
    )
    assert [(spec.name, spec.stream) for spec in Plan.read(file).model_specs] == [("one", True), ("two", False)]
