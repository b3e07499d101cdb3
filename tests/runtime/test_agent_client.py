"""What an agent's program imports: against the gate and a real server behind it."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from openfingym_agent import Budget, Feedback, Interface, SubmissionRefused, VerifierUnavailable

AGENT = Path(__file__).parents[2] / "runtime" / "agent"
SHAPES = {
    "train_inputs": (9, 5, 3),
    "train_targets": (9, 2, 3),
    "test_inputs": (4, 5, 3),
    "train_times": (9, 7),
    "test_times": (4, 7),
}
CONTRACT = {
    "kind": "forecast",
    "submission_shape": [4, 2, 3],
    "submission_axes": ["window", "step", "channel"],
    "low": -1.0,
    "high": 1.0,
    "unit": "log return",
    "lookback": 5,
    "horizon": 2,
    "load_train": ["train_inputs", "train_targets"],
    "load_test_inputs": ["test_inputs"],
    "arrays": {name: {"shape": list(shape)} for name, shape in SHAPES.items()},
}
ANSWER = {
    "submission": 1,
    "state": "scored",
    "fold": "public",
    "feedback": {"total": 0.5, "metrics": {"rmse": 0.25, "mae": 0.75}},
    "remaining": 4,
}


@pytest.fixture
def task(tmp_path):
    data = tmp_path / "task" / "data"
    data.mkdir(parents=True)
    (data / "contract.json").write_text(json.dumps(CONTRACT))
    random = np.random.default_rng(0)
    for name, shape in SHAPES.items():
        values = (
            np.arange(np.prod(shape)).reshape(shape).astype("datetime64[ns]")
            if "times" in name
            else random.standard_normal(shape)
        )
        np.save(data / f"{name}.npy", values)
    return data.parent


@pytest.fixture
def interface(task, keeper, upstream, monkeypatch):
    monkeypatch.delenv("OPENFINGYM_DEADLINE", raising=False)
    upstream.answer = lambda _: (201, {}, ANSWER)
    with keeper.open(rollout_id="r", token="t") as gate:
        monkeypatch.setenv("OPENFINGYM_GATE", str(gate.socket))
        interface = Interface(task)
        yield interface
        interface.close()


def test_loading(interface):
    inputs, targets = interface.load_train()
    assert inputs.shape == (9, 5, 3)
    assert targets.shape == (9, 2, 3)
    assert interface.load_test_inputs().shape == (4, 5, 3)
    assert interface.load("train_times").dtype == np.dtype("datetime64[ns]")
    assert interface.contract == CONTRACT


def test_submitting_sends_npy_and_returns_feedback(interface, upstream):
    values = np.linspace(-1, 1, 24).reshape(4, 2, 3)
    feedback = interface.submit(values.tolist())
    assert feedback == Feedback(submission=1, total=0.5, metrics={"rmse": 0.25, "mae": 0.75}, remaining=4)
    assert str(feedback) == "submission 1: public loss 0.5 (rmse 0.25, mae 0.75); 4 left"
    received = np.load(io.BytesIO(upstream.seen[0].body), allow_pickle=False)
    assert received.dtype == np.float64
    assert np.array_equal(received, values)
    assert dict(upstream.seen[0].headers)[b"content-type"] == b"application/x-npy"


def test_any_memory_order_and_real_dtype_arrives_the_same(interface, upstream):
    values = np.arange(24).reshape(4, 2, 3) % 2
    for given in (
        values.astype(np.float32),
        values.astype(np.int8),
        np.asfortranarray(values.astype(float)),
        values[::-1][::-1],
    ):
        interface.submit(given)
    assert all(np.array_equal(np.load(io.BytesIO(seen.body)), values) for seen in upstream.seen)


@pytest.mark.parametrize(
    ("values", "slug", "message"),
    [
        (np.zeros((4, 2)), "wrong-shape", r"expected shape \(4, 2, 3\).*found \(4, 2\)"),
        ([[1, 2], [3]], "wrong-shape", "regular"),
        (np.full((4, 2, 3), np.nan), "not-finite", r"found nan at index \(0, 0, 0\)"),
        (np.where(np.arange(24).reshape(4, 2, 3) == 23, np.inf, 0), "not-finite", r"found inf at index \(3, 1, 2\)"),
        (np.full((4, 2, 3), 1e308), "out-of-range", r"in \[-1, 1\] log return"),
        (np.full((4, 2, 3), "a"), "wrong-dtype", "real numbers"),
        (np.full((4, 2, 3), 1j), "wrong-dtype", "complex"),
        (np.full((4, 2, 3), None), "wrong-dtype", "object"),
        (np.ones((4, 2, 3), bool), "wrong-dtype", "bool"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_sent(interface, upstream, values, slug, message):
    with pytest.raises(SubmissionRefused, match=message) as refused:
        interface.submit(values)
    assert (refused.value.problem, refused.value.status) == (slug, None)
    assert not upstream.seen


def test_a_refusal_of_the_verifier_is_passed_on(interface, upstream):
    upstream.answer = lambda _: (
        409,
        {},
        {"type": "urn:openfingym:problem:budget-exhausted", "detail": "all 5 submissions are used"},
    )
    with pytest.raises(SubmissionRefused, match="all 5 submissions are used") as refused:
        interface.submit(np.zeros((4, 2, 3)))
    assert (refused.value.problem, refused.value.status) == ("budget-exhausted", 409)
    assert len(upstream.seen) == 1


def test_waits_when_told_to_slow_down(interface, upstream):
    replies = iter([(429, {"retry-after": "0.3"}, {"detail": "slow"}), (201, {}, ANSWER)])
    upstream.answer = lambda _: next(replies)
    started = time.monotonic()
    assert interface.submit(np.zeros((4, 2, 3))).remaining == 4
    assert time.monotonic() - started >= 0.3
    assert len({dict(seen.headers)[b"idempotency-key"] for seen in upstream.seen}) == 1


def test_does_not_wait_past_the_deadline(interface, upstream, monkeypatch):
    monkeypatch.setenv("OPENFINGYM_DEADLINE", str(time.time() + 5))
    assert interface.deadline == pytest.approx(time.time() + 5, abs=1)
    upstream.answer = lambda _: (
        429,
        {"retry-after": "60"},
        {"type": "urn:openfingym:problem:rate-limited", "detail": "slow"},
    )
    with pytest.raises(SubmissionRefused) as refused:
        interface.submit(np.zeros((4, 2, 3)))
    assert refused.value.problem == "rate-limited"


def test_a_passing_failure_of_the_verifier_is_waited_out(interface, upstream):
    replies = iter([(500, {}, {}), (503, {}, {}), (201, {}, ANSWER)])
    upstream.answer = lambda _: next(replies)
    assert interface.submit(np.zeros((4, 2, 3))).submission == 1
    assert len({dict(seen.headers)[b"idempotency-key"] for seen in upstream.seen}) == 1


def test_budget(interface, upstream):
    upstream.answer = lambda _: (200, {}, {"state": "open", "budget": 5, "remaining": 2, "submissions": []})
    assert interface.budget() == Budget(total=5, remaining=2)


def test_a_dropped_connection_is_retried_with_the_same_key(task, short_dir):
    """The first connection is cut after the request was read: the program cannot know whether it counted."""
    path = str(short_dir / "g.sock")
    keys = []

    def serve(listener: socket.socket) -> None:
        for number in range(2):
            connection, _ = listener.accept()
            with connection:
                data = b""
                while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < 320:
                    data += connection.recv(65536)
                keys.append([line for line in data.split(b"\r\n") if line.lower().startswith(b"idempotency-key")])
                if number:
                    content = json.dumps(ANSWER).encode()
                    connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        interface = Interface(task, gate=path)
        assert interface.submit(np.zeros((4, 2, 3))).submission == 1
        thread.join(5)
        interface.close()
    assert keys[0] == keys[1] != []


def test_no_gate_is_said_clearly(task):
    with pytest.raises(VerifierUnavailable, match="nowhere"):
        Interface(task, gate="/nowhere/gate.sock").submit(np.zeros((4, 2, 3)))


def test_needs_nothing_but_the_standard_library_until_arrays_are_used():
    code = (
        "import sys, openfingym_agent; sys.exit(bool({'numpy', 'requests', 'httpx', 'openfingym'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(AGENT)}, check=False).returncode == 0
    )
