"""Answers that would take a launcher's memory, or end it, are failures of the endpoint and nothing more."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from openfingym.errors import ModelUnavailableError
from openfingym.models import Completion, Message, Usage, bounded_answers
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.stated_usage import MOST_TOKENS

from .scripted import completion

ANSWER = completion({"content": "Hello."})
DIGITS = "9" * 5000


@contextmanager
def answering(body: bytes, status: int = 200, **headers: str) -> Iterator[str]:
    """A server with one answer to everything, and its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # nobody reads it to its end

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def asked(base_url: str, *, stream: bool = False) -> Completion:
    async def ask() -> Completion:
        async with ModelEndpoint(base_url, "no-key", timeout_s=20.0, patience_s=2.0, loopback=True) as endpoint:
            return await endpoint.model("m", stream=stream, tokens=True).complete([Message("user", "Hello?")])

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(json.dumps(ANSWER).encode()), {"Content_Encoding": "gzip"}),
        (zlib.compress(json.dumps(ANSWER).encode()), {"Content_Encoding": "deflate"}),
        (json.dumps(ANSWER).encode(), {"Content_Encoding": "identity"}),
    ],
)
def test_a_compressed_answer_is_read(body: bytes, headers: dict[str, str]) -> None:
    with answering(body, **headers) as url:
        assert asked(url).message.content == "Hello."


@pytest.mark.parametrize(("status", "stream"), [(200, False), (200, True), (400, False)])
def test_an_answer_beyond_the_limit_is_not_read_to_its_end(
    status: int, stream: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bounded_answers, "MOST_BYTES", 1 << 20)
    decoded = []
    decompressed = bounded_answers._decompressed
    monkeypatch.setattr(
        bounded_answers,
        "_decompressed",
        lambda *arguments: decoded.append(decompressed(*arguments)) or decoded[-1],  # type: ignore[func-returns-value]
    )
    body = gzip.compress(json.dumps(ANSWER).encode() + b" " * (64 << 20))
    with answering(body, status, Content_Encoding="gzip") as url, pytest.raises(ModelUnavailableError):
        asked(url, stream=stream)
    assert "what came back is an answer of more than 1 MiB" in caplog.text
    assert max(map(len, decoded)) <= (1 << 20) + 1, "what is too large is never held"


@pytest.mark.parametrize(
    ("body", "headers", "words"),
    [
        (b"{}", {"Content_Encoding": "br"}, "'br', which was not asked for"),
        (b"no gzip at all", {"Content_Encoding": "gzip"}, "cannot be decompressed"),
        (b"{" + f'"usage": {{"prompt_tokens": {DIGITS}}}'.encode() + b"}", {}, "no chat completion"),
        (b"[" * 100_000, {}, "no chat completion"),
        (b"\xff\xfe", {}, "no chat completion"),
    ],
)
def test_what_cannot_be_read_is_the_endpoints_failure(
    body: bytes, headers: dict[str, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with answering(body, **headers) as url, pytest.raises(ModelUnavailableError):
        asked(url)
    assert words in caplog.text


@pytest.mark.parametrize("count", [MOST_TOKENS + 1, 10**120, 10**4000])
def test_tokens_that_no_answer_has_are_estimated(count: int) -> None:
    body = json.dumps({**ANSWER, "usage": {"prompt_tokens": count, "completion_tokens": 5}}).encode()
    with answering(body) as url:
        found = asked(url)
    assert not found.counted
    assert found.usage.total < 100
    assert asked_usage({"prompt_tokens": MOST_TOKENS, "completion_tokens": 5}) == Usage(MOST_TOKENS, 5)


def asked_usage(usage: dict[str, int]) -> Usage:
    with answering(json.dumps({**ANSWER, "usage": usage}).encode()) as url:
        return asked(url).usage


@pytest.mark.parametrize("logprob", [10**400, float("inf"), float("nan"), 1e300, "x", None, [1]])
def test_strange_probabilities_are_left_out(logprob: object) -> None:
    choice = {"logprobs": {"content": [{"logprob": logprob}]}, "token_ids": [10**400]}
    with answering(json.dumps(completion({"content": "Hello."}, **choice)).encode()) as url:
        found = asked(url)
    assert found.message.content == "Hello."
    assert found.tokens is not None
    assert found.tokens.logprobs == ()
