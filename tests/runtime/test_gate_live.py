"""WebSockets through the gate: to a real verifier, and to servers and agents that misbehave."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, unix_connect

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.task.episodes import MAX_ACTION_BYTES
from openfingym.verifiers.client import VerifierClient
from openfingym_runtime.gate import relay
from openfingym_runtime.gate.gate import Gate, GateKeeper
from openfingym_runtime.gate.relay import Frames, WebSocketFrameError
from openfingym_verifier.embedded import EmbeddedVerifier

TASK = "equity-rolling-forecast"
JSON = {"Content-Type": "application/json"}
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = {
    "Host": "x",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": KEY,
}


@pytest.fixture(scope="module")
def verifier(store_home: Path) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([build(load_task(TASK))]) as running:
        yield running


@pytest.fixture(scope="module")
def client(verifier: EmbeddedVerifier) -> Iterator[VerifierClient]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as found:
        yield found


@pytest.fixture(scope="module")
def live_keeper(verifier: EmbeddedVerifier) -> Iterator[GateKeeper]:
    with GateKeeper(verifier.uds) as keeper:
        yield keeper


@pytest.fixture
def gate(live_keeper: GateKeeper, client: VerifierClient) -> Iterator[Gate]:
    ticket = client.create_rollout(TASK)
    with live_keeper.open(
        rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=MAX_ACTION_BYTES, max_calls=400
    ) as opened:
        yield opened


def live(gate: Gate, **options: Any) -> contextlib.AbstractContextManager[ClientConnection]:
    return unix_connect(str(gate.socket), "ws://gate/v1/episodes/live", **options)


def say(connection: ClientConnection, **message: object) -> dict[str, Any]:
    connection.send(json.dumps(message))
    answer: dict[str, Any] = json.loads(connection.recv(10))
    return answer


def raw(gate: Gate, *, end: bytes = b"", line: str = "GET /v1/episodes/live HTTP/1.1", **changed: str | None) -> bytes:
    """The handshake with some headers changed, and what it is answered with."""
    with opened(gate, end=end, line=line, **changed) as connection:
        answer = b""
        while block := connection.recv(65536):
            answer += block
        return answer


@contextlib.contextmanager
def opened(
    gate: Gate, *, end: bytes = b"", line: str = "GET /v1/episodes/live HTTP/1.1", **changed: str | None
) -> Iterator[socket.socket]:
    headers = {**HANDSHAKE, **{name.replace("_", "-"): value for name, value in changed.items()}}
    lines = [line, *(f"{name}: {value}" for name, value in headers.items() if value is not None)]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(gate.socket))
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + end)
        yield connection


@contextlib.contextmanager
def upgraded(gate: Gate) -> Iterator[socket.socket]:
    """A connection past its handshake, to send bytes on."""
    with opened(gate) as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 101 ")
        yield connection


def frame(text: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True) -> bytes:
    return Frame(opcode, text, fin).serialize(mask=True)


def closing(connection: socket.socket) -> int:
    """The code of the close frame that comes next, after which the connection ends."""
    answer = b""
    while block := connection.recv(65536):
        answer += block
    assert answer[:2] == b"\x88\x02"
    return int.from_bytes(answer[2:4])


def test_steps_by_request_and_by_message_through_the_gate(gate: Gate, client: VerifierClient) -> None:
    http = httpx.Client(transport=httpx.HTTPTransport(uds=str(gate.socket)), base_url="http://gate")
    with http, live(gate) as connection:
        started = http.post("/v1/episodes", content=b"{}", headers=JSON | {"Idempotency-Key": "k"})
        assert (started.status_code, started.json()["step"]) == (201, 0)
        assert say(connection, type="start", key="k") == {"type": "step", **started.json()}
        by_message = say(connection, type="step", episode=1, step=1, action=None)
        by_request = http.post("/v1/steps", json={"episode": 1, "step": 1, "action": None})
        assert by_message == {"type": "step", **by_request.json()}
        assert http.post("/v1/steps", content=b"{}", headers={"Content-Type": "application/x-npy"}).status_code == 415
        assert http.post("/v1/steps", content=b'"' + b"x" * MAX_ACTION_BYTES + b'"', headers=JSON).status_code == 413
    assert [a.step for a in client.actions(gate.rollout_id)] == [1]
    assert gate.verifier_failures == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"Upgrade": None}, {"Upgrade": "h2c"}, {"Connection": "keep-alive"}, {"Sec-WebSocket-Version": "8"},
        {"Sec-WebSocket-Version": None},
        {"Sec-WebSocket-Key": None}, {"Sec-WebSocket-Key": "short"}, {"Sec-WebSocket-Key": KEY + "="},
        {"Sec-WebSocket-Key": "!" * 24},
        {"Content-Length": "3"}, {"Transfer-Encoding": "chunked"}, {"line": "POST /v1/episodes/live HTTP/1.1"},
        {"line": "GET /v1/episodes/live?x HTTP/1.1"}, {"line": "GET /v1/task HTTP/1.1"}, {"line": "GET /v1/episodes "
                                                                                                  "HTTP/1.1"},
        {"line": "GET /v1/episodes/live HTTP/1.0", "Connection": "close"},
    ],
)  # fmt: skip
def test_a_wrong_handshake_reaches_nobody(gate: Gate, changed: dict[str, str | None]) -> None:
    answer = raw(gate, **changed)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404")), answer
    assert b"problem+json" in answer
    assert (gate.calls, gate.refused) == (0, 1)


def test_what_comes_with_the_handshake_reaches_nobody(gate: Gate) -> None:
    for end in (frame(b'{"type":"start"}'), b"GET /v1/rollouts HTTP/1.1\r\n\r\n", b"x"):
        assert raw(gate, end=end).startswith(b"HTTP/1.1 400")
    assert gate.calls == 0


class RawServer:
    """Answers one handshake after another as told; keeps what it was sent."""

    def __init__(self, path: Path, answer: Callable[[bytes], bytes]) -> None:
        self.heads: list[bytes] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        head += connection.recv(65536)
                    self.heads.append(head)
                    connection.sendall(self._answer(head))

    def close(self) -> None:
        self._listener.close()


def accepting(head: bytes) -> bytes:
    key = next(line.split(b": ")[1] for line in head.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key"))
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    return (
        b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept
        + b"\r\n\r\n\x81\x02hi"
    )


def test_nothing_of_the_agents_handshake_goes_on(short_dir: Path) -> None:
    server = RawServer(short_dir / "v.sock", accepting)
    with (
        GateKeeper(short_dir / "v.sock", runtime_directory=short_dir) as keeper,
        keeper.open(rollout_id="r", token="secret") as gate,
    ):
        forged = {"Authorization": "Bearer forged", "Cookie": "a=b", "X-Admin": "1", "Sec-WebSocket-Protocol": "p"}
        with opened(gate, Sec_WebSocket_Extensions="permessage-deflate", **forged) as connection:
            answer = b""
            while block := connection.recv(4096):
                answer += block
    server.close()
    head, _, frames = answer.partition(b"\r\n\r\n")
    # What the verifier sent right behind its own handshake arrives, and its end is the end.
    assert frames == b"\x81\x02hi"
    lines = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert lines == {b"upgrade", b"connection", b"sec-websocket-accept"}
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head  # as RFC 6455, section 1.3, has it for this key
    sent = dict(line.split(b": ") for line in server.heads[0].split(b"\r\n")[1:-2])
    assert sent.keys() == {
        b"Host",
        b"Authorization",
        b"Upgrade",
        b"Connection",
        b"Sec-WebSocket-Version",
        b"Sec-WebSocket-Key",
    }
    assert sent[b"Authorization"] == b"Bearer secret"
    assert sent[b"Sec-WebSocket-Key"] != KEY.encode()
    assert gate.verifier_failures == 1  # it broke off without a close frame


@pytest.mark.parametrize(
    "answer",
    [
        (
            b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
            b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        ),
        b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"",
        b"HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_a_verifier_that_cannot_shake_hands_is_ours(short_dir: Path, answer: bytes) -> None:
    server = RawServer(short_dir / "v.sock", lambda _: answer)
    with (
        GateKeeper(short_dir / "v.sock", runtime_directory=short_dir) as keeper,
        keeper.open(rollout_id="r", token="t") as gate,
    ):
        assert raw(gate).split()[1] == b"503"
        assert gate.verifier_failures == 1
    server.close()


def test_a_refusal_of_the_verifier_is_passed_back(live_keeper: GateKeeper) -> None:
    with live_keeper.open(rollout_id="r", token="not-a-token") as gate:
        with pytest.raises(InvalidStatus) as caught, live(gate):
            pass
        assert (caught.value.response.status_code, gate.verifier_failures) == (401, 0)
        assert json.loads(caught.value.response.body)["type"] == "urn:openfingym:problem:unauthorized"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(Frame(Opcode.TEXT, b"{}").serialize(mask=False), 1002, id="not masked"),
        pytest.param(b"\xc1" + frame(b"{}")[1:], 1002, id="reserved bit"),
        pytest.param(b"\x83" + frame(b"{}")[1:], 1002, id="unknown opcode"),
        pytest.param(b"\x89\xfe\x00\x7e" + bytes(130), 1002, id="long ping"),
        pytest.param(b"\x09" + frame(b"")[1:], 1002, id="ping in pieces"),
        pytest.param(b"\x81\xff" + (1 << 62).to_bytes(8) + bytes(4), 1009, id="endless frame"),
        pytest.param(b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(4), 1009, id="negative length"),
        pytest.param(
            frame(b"x" * 200_000, fin=False) + frame(b"x" * 100_000, Opcode.CONT), 1009, id="long message in pieces"
        ),
    ],
)
def test_a_frame_out_of_order_ends_the_connection(gate: Gate, data: bytes, code: int) -> None:
    with upgraded(gate) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
        assert closing(connection) == code
    assert gate.refused == 1
    with live(gate) as again:
        assert say(again, type="start")["episode"] == 1
    assert gate.verifier_failures == 0


def test_slow_and_silent_connections_are_ended(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "FRAME_TIMEOUT_S", 0.3)
    whole = frame(b'{"type":"start"}')
    with upgraded(gate) as connection, contextlib.suppress(OSError):
        for byte in whole + whole:  # ever so slowly, but never silent
            connection.sendall(bytes((byte,)))
            time.sleep(0.05)
        pytest.fail("a frame took longer than it may")
    monkeypatch.setattr(relay, "LIVE_IDLE_S", 0.3)
    with upgraded(gate) as connection:
        for byte in whole:
            connection.sendall(bytes((byte,)))
        assert b'"step":0' in connection.recv(65536)
        deadline = time.monotonic() + 10
        while connection.recv(1 << 20):
            assert time.monotonic() < deadline


def test_frames_count_as_calls(live_keeper: GateKeeper, client: VerifierClient) -> None:
    ticket = client.create_rollout(TASK)
    with live_keeper.open(
        rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=MAX_ACTION_BYTES, max_calls=10
    ) as gate:
        with upgraded(gate) as connection:
            for _ in range(9):
                connection.sendall(frame(b"{}"))
                assert b"malformed-request" in connection.recv(4096)
            connection.sendall(frame(b"{}"))
            assert closing(connection) == 1008
        assert (gate.calls, gate.refused) == (10, 1)
        assert raw(gate).startswith(b"HTTP/1.1 403")


def test_the_end_of_the_gate_ends_a_websocket_at_once(live_keeper: GateKeeper, client: VerifierClient) -> None:
    ticket = client.create_rollout(TASK)
    gate = live_keeper.open(rollout_id=ticket.rollout_id, token=ticket.token)
    with upgraded(gate) as connection:
        connection.sendall(frame(b'{"type":"start"}'))
        assert connection.recv(100)
        gate.close()
        with contextlib.suppress(OSError):
            connection.sendall(frame(b'{"type":"step","episode":1,"step":1,"action":null}'))
            while connection.recv(1 << 20):
                pass
    assert not client.actions(ticket.rollout_id)
    assert gate.verifier_failures == 0


def test_a_thousand_connections_are_eight(gate: Gate) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    served = 0
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            for _ in range(10):
                connection = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
                connection.settimeout(5)
                with contextlib.suppress(OSError):
                    connection.connect(str(gate.socket))
                    connection.sendall(
                        "\r\n".join(
                            ["GET /v1/episodes/live HTTP/1.1", *(f"{k}: {v}" for k, v in HANDSHAKE.items()), "", ""]
                        ).encode()
                    )
                    served += connection.recv(12) == b"HTTP/1.1 101"
        assert served == 8
        assert len(list(Path("/proc/self/fd").iterdir())) - before - 1000 < 32
    until = time.monotonic() + 30
    while True:
        try:
            with live(gate) as connection:
                assert say(connection, type="start")["step"] == 0
            return
        except (InvalidHandshake, OSError):  # the gate has not seen yet that one of the eight is gone
            assert time.monotonic() < until
            time.sleep(0.05)


def test_an_agent_that_does_not_read_is_made_to_wait(live_keeper: GateKeeper, client: VerifierClient) -> None:
    ask = frame(b'{"type":"step","episode":1,"step":1,"action":null}')
    ticket = client.create_rollout(TASK)
    gate = live_keeper.open(
        rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=MAX_ACTION_BYTES, max_calls=30_000
    )
    with gate, upgraded(gate) as connection:
        connection.sendall(frame(b'{"type":"start"}') + ask)
        connection.settimeout(0.5)
        sent = 2
        with contextlib.suppress(TimeoutError):
            while sent < 15_000:
                connection.sendall(ask)
                sent += 1
        assert sent < 15_000, "300 MB of answers wait somewhere"
        connection.settimeout(5)
        frames = Frames(masked=False, max_bytes=1 << 62)
        seen = 0
        while seen < sent:
            seen += frames.feed(connection.recv(1 << 20))
    # Nothing was lost, and nothing was taken twice.
    assert seen == sent
    assert [a.step for a in client.actions(gate.rollout_id)] == [1]


def test_a_killed_verifier_is_ours(store_home: Path) -> None:
    with EmbeddedVerifier.start([build(load_task(TASK))]) as verifier:
        with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client:
            ticket = client.create_rollout(TASK)
        with GateKeeper(verifier.uds) as keeper, keeper.open(rollout_id=ticket.rollout_id, token=ticket.token) as gate:
            with live(gate) as connection:
                say(connection, type="start")
                os.kill(verifier.pid, 9)
                with pytest.raises(ConnectionClosed):
                    connection.recv(5)
            assert gate.verifier_failures == 1
            assert raw(gate).startswith(b"HTTP/1.1 503")


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PING, Opcode.PONG]),
        st.integers(0, 70_000) | st.integers(0, 130),
    ),
    max_size=12,
)


@given(
    messages=MESSAGES,
    cuts=st.lists(st.integers(1, 5000), min_size=1, max_size=50),
    masked=st.booleans(),
    close=st.booleans(),
)
def test_frames_are_followed_wherever_they_are_cut(
    messages: list[tuple[Opcode, int]], cuts: list[int], masked: bool, close: bool
) -> None:
    control = {Opcode.PING, Opcode.PONG}
    made = [Frame(opcode, b"x" * (min(size, 125) if opcode in control else size)) for opcode, size in messages]
    made += [Frame(Opcode.CLOSE, b"\x03\xe8")] if close else []
    data = b"".join(one.serialize(mask=masked) for one in made)
    frames, found, at = Frames(masked=masked, max_bytes=70_000), 0, 0
    for n in range(len(data)):
        if at >= len(data):
            break
        piece = data[at : at + cuts[n % len(cuts)]]
        found += frames.feed(piece)
        at += len(piece)
        assert frames.within or not data[at:] or found < len(made)
    assert (found, frames.within, frames.closed) == (len(made), False, close)
    wrong = next((Frame(o, b"x" * 70_001) for o, s in messages if o not in control), None)
    if wrong is not None:
        with pytest.raises(WebSocketFrameError):
            frames.feed(wrong.serialize(mask=masked))
