"""The gate against a real server, spoken to over real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import httpx
import pytest

from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.headers import KEY_RULE
from openfingym_runtime import owned_directory
from openfingym_runtime.gate import protocol as gate_protocol
from openfingym_runtime.gate.gate import Gate, GateKeeper

HOSTILE = Path(__file__).parent / "hostile"
NPY = {"Content-Type": "application/x-npy"}


@pytest.fixture
def gate(keeper):
    with keeper.open(rollout_id="r1", token="secret-token", max_body_bytes=100_000, max_calls=50) as gate:
        yield gate


def client(gate: Gate) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(gate.socket)), base_url="http://gate", timeout=10)


def talk(gate: Gate, raw: bytes, wait: float = 5.0) -> bytes:
    """Send raw bytes, and return everything that comes back until the gate closes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(wait)
        connection.connect(str(gate.socket))
        connection.sendall(raw)
        answer = b""
        while block := connection.recv(65536):
            answer += block
        return answer


def problem(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["type"].removeprefix("urn:openfingym:problem:")


def test_forwards_its_routes_with_the_token_and_nothing_of_the_agents(gate, upstream):
    with client(gate) as http:
        http.headers.update(
            {"Authorization": "Bearer forged", "X-Forwarded-For": "1.2.3.4", "Cookie": "a=b", "X-Admin": "1"}
        )
        assert http.get("/v1/task").json()["path"] == "/v1/task"
        assert http.get("/v1/rollout").status_code == 200
        answer = http.post("/v1/submissions", content=b"x" * 70_000, headers=NPY | {"Idempotency-Key": "k-1"})
        for path in ("/v1/episodes", "/v1/steps"):
            assert http.post(path, json={}).json() == {"path": path, "bytes": 2}
    assert answer.json() == {"path": "/v1/submissions", "bytes": 70_000}
    for seen in upstream.seen:
        headers = dict(seen.headers)
        assert headers[b"authorization"] == b"Bearer secret-token"
        assert set(headers) <= {b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key"}
        assert len(headers) == len(seen.headers)
    assert dict(upstream.seen[2].headers)[b"idempotency-key"] == b"k-1"
    assert (gate.calls, gate.refused, gate.verifier_failures) == (5, 0, 0)


def test_a_submission_without_a_key_gets_one(gate, upstream):
    with client(gate) as http:
        for _ in range(2):
            http.post("/v1/submissions", content=b"x", headers=NPY)
    keys = [dict(seen.headers)[b"idempotency-key"] for seen in upstream.seen]
    assert len(set(keys)) == 2


def test_passes_back_status_content_type_and_retry_after_only(gate, upstream):
    upstream.answer = lambda _: (
        429,
        {"retry-after": "7", "set-cookie": "a=b", "x-internal": "path"},
        {"detail": "slow down"},
    )
    with client(gate) as http:
        answer = http.get("/v1/task")
    assert answer.status_code == 429
    assert set(answer.headers) == {"content-type", "content-length", "retry-after"}
    assert answer.headers["retry-after"] == "7"
    assert answer.json() == {"detail": "slow down"}


@pytest.mark.parametrize(
    "line",
    [
        "GET /v1/rollouts", "POST /v1/rollouts", "POST /v1/rollouts/r1/finalize", "GET /v1/tasks", "GET /metrics",
        "GET /openapi.json",
        "GET /v1/task?x=1", "GET /v1/task/", "GET /v1/task#f", "GET /v1/../v1/tasks", "GET /v1/%74ask",
        "GET //v1/task", "GET /V1/task",
        "GET http://verifier/v1/task", "POST /v1/task", "PUT /v1/submissions", "DELETE /v1/rollout", "OPTIONS *",
        "HEAD /v1/task",
        "CONNECT verifier:80", "TRACE /v1/task", "PRI *", "GET /v1/task%00", "GET /v1/episodes", "GET /v1/steps",
        "PUT /v1/steps",
        "POST /v1/steps/", "POST /v1/steps?x", "POST /v1/episodes/live", "GET /v1/episodes/live",
        "GET /v1/rollouts/r1/actions",
    ],
)  # fmt: skip
def test_every_other_route_is_not_found(gate, upstream, line):
    answer = talk(gate, f"{line} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.split()[1] in {b"404", b"400"}
    assert b"problem+json" in answer
    assert not upstream.seen
    assert gate.refused == 1


HIDDEN = b"GET /v1/rollout HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN, id="length and chunked"
        ),
        pytest.param(POST + b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + HIDDEN, id="two lengths"),
        pytest.param(POST + b"Transfer-Encoding: xchunked\r\n\r\n" + HIDDEN, id="unknown coding"),
        pytest.param(POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN, id="two codings"),
        pytest.param(POST + b"Content-Length : 3\r\n\r\nabc" + HIDDEN, id="blank before colon"),
        pytest.param(POST + b"Content-Length: +3\r\n\r\nabc", id="signed length"),
        pytest.param(POST + b"Content-Length: 0x3\r\n\r\nabc", id="hexadecimal length"),
        pytest.param(POST + b"Content-Length: 99999999999999999999999\r\n\r\nabc", id="length overflow"),
        pytest.param(b"GET /v1/task HTTP/1.1\r\nHost: x\r\n\r\n" + HIDDEN, id="pipelining"),
        pytest.param(b"GET /v1/task HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", id="GET with a body"),
        pytest.param(
            b"GET /v1/task HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", id="upgrade"
        ),
        pytest.param(b"GET /v1/task\r\n\r\n", id="HTTP/0.9"),
        pytest.param(b"GET /v1/task HTTP/1.1\nHost: x\n\n" + HIDDEN, id="bare newlines"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"GET /v1/task HTTP/1.1\r\nX: a\x00b\r\n\r\n", id="NUL in a header"),
    ],
)
def test_malformed_and_smuggled_requests_reach_nobody(gate, upstream, raw):
    answer = talk(gate, raw)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 413"))
    assert answer.count(b"HTTP/1.1 4") == 1
    assert not upstream.seen


def test_header_limit(gate, upstream):
    assert problem(talk(gate, b"GET /v1/task HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n")) == (
        431,
        "headers-too-large",
    )
    assert problem(talk(gate, b"GET /v1/task HTTP/1.1\r\n" + b"X-Endless: a\r\n" * 100_000)) == (
        431,
        "headers-too-large",
    )
    assert not upstream.seen


def test_body_limit_by_length_and_by_count(gate, upstream):
    with client(gate) as http:
        assert http.post("/v1/submissions", content=b"x" * 100_000, headers=NPY).status_code == 200
    stated = talk(gate, POST + b"Content-Length: 2000000000\r\n\r\n" + b"x" * 300_000)
    assert problem(stated) == (413, "payload-too-large")
    chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    assert problem(talk(gate, POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 30)) == (413, "payload-too-large")
    assert len(upstream.seen) == 1


def test_framing_without_end_is_cut_off(gate, upstream):
    extension = b"1;" + b"e" * 10_000 + b"\r\nx\r\n"
    assert problem(talk(gate, POST + b"Transfer-Encoding: chunked\r\n\r\n" + extension * 60)) == (
        400,
        "malformed-request",
    )
    assert not upstream.seen


def test_chunked_body_is_forwarded_with_a_length(gate, upstream):
    raw = (
        POST
        + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nAuthorization: Bearer "
        b"forged\r\n\r\n"
    )
    assert b"200 OK" in talk(gate, raw)
    assert upstream.seen[0].body == b"abcde"
    headers = dict(upstream.seen[0].headers)
    assert headers[b"content-length"] == b"5"
    assert headers[b"authorization"] == b"Bearer secret-token"


def test_content_type_and_key_are_checked(gate, upstream):
    with client(gate) as http:
        assert http.post("/v1/submissions", content=b"x").status_code == 415
        assert (
            http.post("/v1/submissions", content=b"x", headers={"Content-Type": "application/x-pickle"}).status_code
            == 415
        )
        refused = http.post("/v1/submissions", content=b"x", headers=NPY | {"Idempotency-Key": "a b"})
        assert (refused.status_code, refused.json()["detail"]) == (400, KEY_RULE)
        longest = NPY | {"Idempotency-Key": "a=b,c;" + "~" * 194}
        assert http.post("/v1/submissions", content=b"x", headers=longest).status_code == 200
        assert (
            http.post(
                "/v1/submissions", content=b"{}", headers={"Content-Type": "application/json; charset=utf-8"}
            ).status_code
            == 200
        )
    assert dict(upstream.seen[0].headers)[b"idempotency-key"] == longest["Idempotency-Key"].encode()
    assert dict(upstream.seen[1].headers)[b"content-type"] == b"application/json"
    assert gate.refused == 3


def test_call_limit(gate, upstream):
    with client(gate) as http:
        statuses = [http.get("/v1/task").status_code for _ in range(60)]
    assert statuses == [200] * 50 + [403] * 10
    assert (gate.calls, gate.refused, len(upstream.seen)) == (50, 10, 50)


def connect(gate: Gate) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    while True:
        try:
            connection.connect(str(gate.socket))
        except BlockingIOError:  # the queue of connections not yet accepted is full
            time.sleep(0.01)
        else:
            return connection


def test_connection_limit_leaves_no_descriptors(gate):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(gate)) for _ in range(200)]
        turned_away = 0
        for connection in held:
            try:
                connection.sendall(b"GET /v1/task HTTP/1.1\r\nHost: x\r\n\r\n")
                turned_away += connection.recv(12) != b"HTTP/1.1 200"
            except OSError:
                turned_away += 1
        assert turned_away == 192
        assert (
            len(list(Path("/proc/self/fd").iterdir())) - before - len(held) < 24
        )  # eight served, their server ends, the upstream's
    with client(gate) as http:
        assert http.get("/v1/task").status_code == 200


def test_slow_requests_are_ended(gate, upstream, monkeypatch):
    monkeypatch.setattr(gate_protocol, "HEADER_TIMEOUT_S", 0.2)
    monkeypatch.setattr(gate_protocol, "BODY_TIMEOUT_S", 0.3)
    monkeypatch.setattr(gate_protocol, "IDLE_TIMEOUT_S", 0.2)
    assert talk(gate, b"") == b""
    assert problem(talk(gate, b"GET /v1/task HTTP/1.1\r\nHost:")) == (408, "request-timeout")
    assert problem(talk(gate, POST + b"Content-Length: 10\r\n\r\nabc")) == (408, "request-timeout")
    assert not upstream.seen


def test_a_verifier_that_is_down_is_ours(short_dir):
    with (
        GateKeeper(short_dir / "nobody.sock", runtime_directory=short_dir) as keeper,
        keeper.open(rollout_id="r", token="t") as gate,
    ):
        with client(gate) as http:
            answer = http.get("/v1/task")
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:openfingym:problem:verifier-unavailable"
        assert "nobody.sock" not in answer.text
        assert gate.verifier_failures == 1


@pytest.mark.parametrize(("status", "ours"), [(500, 0), (502, 1), (503, 1), (504, 1)])
def test_a_failure_is_ours_where_the_verifier_says_so(gate, upstream, status, ours):
    upstream.answer = lambda _: (status, {}, {"type": "urn:openfingym:problem:internal"})
    with client(gate) as http:
        assert http.get("/v1/task").status_code == status
    assert gate.verifier_failures == ours


def test_what_was_told_is_noted(gate, upstream):
    with client(gate) as http:
        http.get("/v1/task")
        upstream.answer = lambda _: (422, {}, {"type": "urn:openfingym:problem:wrong-shape"})
        http.post("/v1/submissions", content=b"x", headers=NPY)
        assert not gate.told
        upstream.answer = lambda _: (201, {}, {"submission": 1})
        http.post("/v1/submissions", content=b"x", headers=NPY)
    assert gate.told


def test_a_restarted_verifier_is_not_noticed(short_dir, upstream, serve):
    with (
        GateKeeper(short_dir / "second.sock", runtime_directory=short_dir) as keeper,
        keeper.open(rollout_id="r", token="t") as gate,
    ):
        with client(gate) as http:
            for _ in range(2):
                with serve(upstream, short_dir / "second.sock"):
                    assert http.post("/v1/submissions", content=b"x", headers=NPY).status_code == 200
        assert gate.verifier_failures == 0


def test_over_tcp_with_a_prefix(short_dir, upstream, serve):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    keeper = GateKeeper(f"http://127.0.0.1:{port}/api/", runtime_directory=short_dir)
    with serve(upstream, port), keeper, keeper.open(rollout_id="r", token="t") as gate, client(gate) as http:
        assert http.get("/v1/task").json()["path"] == "/api/v1/task"


def test_many_gates_at_once_keep_their_tokens_apart(keeper, upstream):
    gates = [keeper.open(rollout_id=f"r{n}", token=f"token-{n}") for n in range(16)]
    errors = []

    def work(number: int) -> None:
        with client(gates[number]) as http:
            statuses = [
                http.post("/v1/submissions", content=str(number).encode(), headers=NPY).status_code for _ in range(10)
            ]
        errors.extend(status for status in statuses if status != 200)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(upstream.seen) == 160
    assert all(dict(seen.headers)[b"authorization"] == b"Bearer token-" + seen.body for seen in upstream.seen)


def test_modes_and_closing(keeper):
    gate = keeper.open(rollout_id="r", token="t")
    assert stat.S_IMODE(gate.directory.stat().st_mode) == 0o755
    assert stat.S_IMODE(gate.socket.stat().st_mode) == 0o666
    assert stat.S_IMODE(gate.directory.parent.stat().st_mode) == 0o700
    assert list(gate.directory.iterdir()) == [gate.socket]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(gate.socket))
        connection.sendall(b"GET /v1/task HTTP/1.1\r\n")
        time.sleep(0.05)
        gate.close()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    assert not gate.directory.exists()
    gate.close()


def test_closing_ends_a_request_under_way(keeper, upstream):
    entered, released = threading.Event(), threading.Event()

    def slow(_):
        entered.set()
        released.wait(30)
        return 200, {}, {}

    upstream.answer = slow
    gate = keeper.open(rollout_id="r", token="t")
    result: list[Exception] = []

    def ask() -> None:
        with client(gate) as http:
            try:
                http.get("/v1/task")
            except httpx.TransportError as error:
                result.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert entered.wait(30)
    gate.close()
    thread.join(20)
    assert result, "ended, though its answer is still being made"
    released.set()


def test_keeper_refuses_nonsense(short_dir, keeper):
    for address in ("ftp://host", "http://", "verifier", "http://user:pw@host"):
        with pytest.raises(UsageError):
            GateKeeper(address, runtime_directory=short_dir)
    for token in ("", "a b", "a\r\nX: y", "é"):
        with pytest.raises(UsageError):
            keeper.open(rollout_id="r", token=token)
    deep = short_dir / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with (
        GateKeeper(short_dir / "v.sock", runtime_directory=deep) as long,
        pytest.raises(RuntimeFailureError, match="too long"),
    ):
        long.open(rollout_id="r", token="t")


def test_a_folder_of_another_is_not_used(short_dir):
    (short_dir / f"openfingym-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(RuntimeFailureError, match="0700"):
        owned_directory.create(short_dir)


OWNER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from openfingym_runtime.gate.gate import GateKeeper

    keeper = GateKeeper(Path("/nonexistent.sock"), runtime_directory=Path(sys.argv[1]))
    gate = keeper.open(rollout_id="r", token="t")
    print(gate.socket, flush=True)
    time.sleep(60)
    """
)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_sockets_of_a_dead_owner_are_reaped(short_dir, how):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(short_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        assert path.is_socket()
        with GateKeeper(short_dir / "v.sock", runtime_directory=short_dir):
            assert path.is_socket(), "a living owner's socket must stay"
        process.send_signal(how)
        process.wait(10)
    assert path.exists() == (how == signal.SIGKILL)
    assert owned_directory.reap(short_dir) == (how == signal.SIGKILL)
    assert not any((short_dir / f"openfingym-{os.getuid()}").iterdir())


def test_abusive_program_gets_nothing(gate, upstream):
    done = subprocess.run(
        [sys.executable, HOSTILE / "abuse_gate.py"],
        env={"OPENFINGYM_GATE": str(gate.socket)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "BREACH" not in done.stdout
    assert done.stdout.splitlines()[-1] == "CONTAINED"
    assert {seen.path for seen in upstream.seen} <= {"/v1/task", "/v1/rollout", "/v1/submissions"}
