"""A gate with a model: what it answers, and that neither the verifier nor the model has a part in the other's."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from openfingym_runtime.gate.gate import Gate, GateKeeper
from openfingym_runtime.gate.request import MODEL_BODY_BYTES
from openfingym_runtime.gate.upstream import UpstreamAnswer

from .conftest import Upstream

SMALL = 1000
"""Longest body that goes to the verifier."""


@dataclass
class Model:
    """Records what it is asked."""

    asked: list[tuple[str, bytes]] = field(default_factory=list)
    hang: bool = False
    hung_up: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, path: str, body: bytes) -> UpstreamAnswer:
        self.asked.append((path, body))
        if self.hang:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.hung_up.set()
                raise
        return UpstreamAnswer(200, b"text/event-stream", b"2", b"data: hello\n\n")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def gate(keeper: GateKeeper, model: Model) -> Iterator[Gate]:
    with keeper.open(rollout_id="r1", token="secret", max_body_bytes=SMALL, max_calls=5, model=model) as gate:
        yield gate


def client(gate: Gate) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(gate.socket)), base_url="http://gate", timeout=10)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/messages?beta=true"])
def test_the_model_answers_what_it_is_asked_and_the_verifier_hears_nothing(
    gate: Gate, model: Model, upstream: Upstream, path: str
) -> None:
    with client(gate) as http:
        http.headers.update({"Authorization": "Bearer forged", "Idempotency-Key": "not a key", "X-Api-Key": "k"})
        # More often than the verifier may be called, and longer than what it may be sent.
        for _ in range(7):
            answer = http.post(path, json={"a": "x" * 2 * SMALL})
        assert (answer.status_code, answer.text) == (200, "data: hello\n\n")
        assert (answer.headers["content-type"], answer.headers["retry-after"]) == ("text/event-stream", "2")
        assert http.get("/v1/models").status_code == 200
    assert [asked for asked, _ in model.asked] == [path.partition("?")[0]] * 7 + ["/v1/models"]
    assert json.loads(model.asked[0][1]) == {"a": "x" * 2 * SMALL}
    assert (upstream.seen, gate.calls, gate.told) == ([], 0, False)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/responses"), ("POST", "/v1/files"), ("GET", "/v1/files/f/content"), ("POST", "/v1/embeddings"),
        ("POST", "/v1/completions"), ("POST", "/v1/chat/completions?x=y"), ("POST", "/v1/chat/completions/"),
        ("POST", "/v1/messages?beta=false"), ("POST", "/v1/messages/batches"), ("POST", "/v1/messages/count_tokens"),
        ("POST", "//v1/messages"), ("POST", "/v1/%6dessages"), ("POST", "/v1/../v1/messages/"), ("GET", "/v1/messages"),
        ("DELETE", "/v1/models"), ("GET", "/v1/models/m"), ("POST", "/v1/models"), ("PUT", "/v1/messages"),
        ("POST", "http://evil.example/v1/messages"), ("POST", "/v1/MESSAGES"), ("POST", "/v1/images/generations"),
    ],
)  # fmt: skip
def test_nothing_else_is_answered(gate: Gate, model: Model, upstream: Upstream, method: str, path: str) -> None:
    with client(gate) as http:
        answer = http.request(method, "/", json={} if method != "GET" else None, extensions={"target": path.encode()})
    assert answer.status_code in {400, 404}
    assert (model.asked, upstream.seen) == ([], [])


def test_without_a_model_there_is_none(keeper: GateKeeper, upstream: Upstream) -> None:
    with keeper.open(rollout_id="r1", token="secret", max_body_bytes=SMALL) as gate, client(gate) as http:
        for path in ("/v1/chat/completions", "/v1/messages"):
            assert http.post(path, json={}).status_code == 404
        assert http.get("/v1/models").status_code == 404
    assert upstream.seen == []


def test_the_verifier_is_reached_as_without_a_model(gate: Gate, model: Model, upstream: Upstream) -> None:
    with client(gate) as http:
        assert http.get("/v1/task").status_code == 200
        assert http.post("/v1/submissions", content=b"x" * 10, headers={"Content-Type": "application/x-npy"}).is_success
        too_long = http.post(
            "/v1/submissions", content=b"x" * (SMALL + 1), headers={"Content-Type": "application/x-npy"}
        )
        assert too_long.status_code == 413
    assert [seen.path for seen in upstream.seen] == ["/v1/task", "/v1/submissions"]
    assert model.asked == []


def test_bodies_are_bounded_and_of_json(gate: Gate, model: Model) -> None:
    with client(gate) as http:
        for content in (b"x" * (MODEL_BODY_BYTES + 1), iter([b"x" * MODEL_BODY_BYTES, b"x"])):
            answer = http.post("/v1/messages", content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code == 413
        for kind in ("multipart/form-data; boundary=x", "text/plain", "application/x-npy"):
            assert http.post("/v1/messages", content=b"x", headers={"Content-Type": kind}).status_code == 415
        assert http.post("/v1/messages", content=b"").status_code == 415
    assert model.asked == []


def test_a_gate_that_closes_waits_for_no_answer(keeper: GateKeeper, model: Model) -> None:
    model.hang = True
    with (
        keeper.open(rollout_id="r1", token="secret", model=model) as gate,
        client(gate) as http,
        pytest.raises(httpx.ReadTimeout),
    ):
        http.post("/v1/messages", json={}, timeout=0.3)
    assert model.hung_up.wait(10)
