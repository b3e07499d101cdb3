"""A verifier that strangers reach over TCP: what they send before anybody knows them costs nothing, and tells them
nothing.

Attacks: 590 MB of body without a token filled the memory (the token is checked before the body is read); half-open
connections, before TLS too, kept everybody out; the token could be read in `/proc/PID/environ`.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from openfingym.errors import UsageError, VerifierError
from openfingym.listener import Listener, TlsCertificate
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.participants.tokens import TokenIssuer
from tests.verifier.conftest import make_package

ADMIN = "an-admin-token-for-tests"
TASK = "tiny"
MIB = 1 << 20
UNREAD = 64 * MIB
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def command(package: BuiltPackage, state: Path, *arguments: str) -> list[str]:
    start = [sys.executable, "-P", "-m", "openfingym_verifier", "--state", str(state), "--port", "0", *arguments]
    return [*start, "--package", str(package.public), str(package.truth)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENFINGYM_ADMIN_TOKEN": ADMIN}


class Served:
    """A verifier in a process of its own, on TCP."""

    def __init__(self, package: BuiltPackage, state: Path, *arguments: str, files: int | None = None) -> None:
        # By a shell that becomes the server: nothing of this process, which has threads, is forked to run in between.
        limit = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        self.process = subprocess.Popen(
            [*limit, *command(package, state, *arguments)], env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def client(self, token: str = ADMIN) -> VerifierClient:
        return VerifierClient(base_url=self.url, admin_token=token)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    @property
    def memory(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """A task that is answered in one array, which is the body of a request."""
    return make_package(tmp_path_factory.mktemp("package"), TASK)


@pytest.fixture
def serve(package: BuiltPackage, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(*arguments: str, files: int | None = None) -> Served:
        started.append(Served(package, tmp_path / "state", *arguments, files=files))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def verifier(package: BuiltPackage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that nothing here may harm."""
    served = Served(package, tmp_path_factory.mktemp("state"))
    yield served
    served.stop()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def answered(connection: socket.socket) -> int:
    """Read one answer, its body included."""
    with contextlib.closing(http.client.HTTPResponse(connection)) as answer:
        answer.begin()
        answer.read()
        return answer.status


def post(path: str, headers: str, length: int | None) -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}{size}\r\n\r\n".encode()
    )


def chunk(length: int) -> bytes:
    return b"%x\r\n" % length + b"x" * length + b"\r\n"


def pour(verifier: Served, head: bytes, *, chunked: bool = False) -> int:
    """Send a body of 64 MiB, whatever is answered; returns the status, 0 where the connection was cut before one was
    read."""
    with verifier.connect() as connection:
        connection.sendall(head)
        piece = chunk(MIB) if chunked else b"x" * MIB
        try:
            for _ in range(UNREAD // MIB):
                connection.sendall(piece)
            return status_of(connection.recv(4096))
        except OSError:
            try:
                return status_of(connection.recv(4096))
            except (OSError, IndexError):
                return 0
        except IndexError:
            return 0


@linux
@pytest.mark.parametrize(
    "path", ["/v1/rollouts", "/v1/participants", "/v1/season", "/v1/submissions", "/healthz", "/nowhere"]
)
def test_nothing_is_buffered_of_whom_nobody_knows(verifier: Served, path: str) -> None:
    before = verifier.memory
    for headers, chunked in (("", False), ("", True), ("Authorization: Bearer wrong-token-of-some-length\r\n", False)):
        assert pour(verifier, post(path, headers, None if chunked else UNREAD), chunked=chunked) in {0, 401, 405, 413}
    assert verifier.memory - before < UNREAD // 4


@linux
def test_nor_of_whom_it_knows_beyond_what_a_request_may_have(verifier: Served) -> None:
    with verifier.client() as operator:
        key = operator.add_participant("somebody")
        before = verifier.memory
        for chunked in (False, True):
            head = post("/v1/rollouts", f"Authorization: Bearer {key}\r\n", None if chunked else UNREAD)
            assert pour(verifier, head, chunked=chunked) in {0, 413}
        assert verifier.memory - before < UNREAD // 4


@linux
def test_heads_end(verifier: Served) -> None:
    """Headers without end are cut off, not collected."""
    before = verifier.memory
    with verifier.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        line = b"X-Filler: " + b"x" * 1000 + b"\r\n"
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            connection.sendall(line * (UNREAD // len(line)))
    assert verifier.memory - before < UNREAD // 4


@pytest.fixture
def known(verifier: Served) -> str:
    """The header of somebody whose submissions are refused where they are too large."""
    with verifier.client() as operator:
        return f"Authorization: Bearer {operator.create_rollout(TASK).token}\r\n"


@pytest.mark.parametrize("length", [200_000, MIB])
def test_who_is_refused_while_still_sending_reads_the_refusal(verifier: Served, known: str, length: int) -> None:
    """The rest of the body is no head of a request, and the connection is of further use."""
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with verifier.connect() as connection:
        for _ in range(2):
            connection.sendall(post("/v1/submissions", known, length) + b"x")
            assert answered(connection) == 413
            connection.sendall(b"x" * (length - 1) + ask)
            assert answered(connection) == 200


def test_the_rest_of_a_refused_body_ends(verifier: Served, known: str) -> None:
    with verifier.connect() as connection:
        connection.sendall(post("/v1/submissions", known, None) + chunk(200_000))
        assert status_of(connection.recv(4096)) == 413
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            connection.sendall(chunk(MIB) * (UNREAD // MIB))


def test_a_slow_body_is_not_waited_for(serve: Callable[..., Served]) -> None:
    verifier = serve("--body-timeout", "0.3")
    with verifier.connect() as connection:
        connection.sendall(post("/v1/rollouts", f"Authorization: Bearer {ADMIN}\r\n", 100) + b"{")
        assert status_of(connection.recv(4096)) == 408


def test_half_open_connections_keep_nobody_out(serve: Callable[..., Served]) -> None:
    """More of them than the verifier may have descriptors: the oldest make room."""
    verifier = serve(files=256)
    half_open = []
    try:
        for number in range(400):
            connection = verifier.connect()
            half_open.append(connection)
            if number % 2:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHos")
        for _ in range(5):
            assert httpx.get(f"{verifier.url}/healthz", timeout=30).status_code == 200
        with verifier.client() as operator:
            assert operator.create_rollout(TASK).budget == 5
    finally:
        for connection in half_open:
            connection.close()


@pytest.mark.parametrize("token", ["fifteen-letters", "a" * 40, "abcdefg" * 9, "random-but-with\nlines-in-it"])
def test_the_admin_token_is_too_long_to_be_guessed(token: str) -> None:
    """Guesses are answered as quickly as they come, so that they keep nobody out; see `test_open_doors.py`."""
    with pytest.raises(UsageError, match=f"{len(token)} characters.*at random"):
        TokenIssuer(b"k" * 32, token)
    with pytest.raises(UsageError, match="the monitor's token"):
        TokenIssuer(b"k" * 32, ADMIN, token)


@linux
def test_the_token_is_not_in_the_environment(verifier: Served) -> None:
    proc = Path("/proc", str(verifier.process.pid))
    assert ADMIN.encode() not in proc.joinpath("environ").read_bytes()
    # Only root may look into a process that cannot be dumped.
    assert proc.joinpath("environ").stat().st_uid == 0
    for child in psutil.Process(verifier.process.pid).children(recursive=True):
        assert ADMIN not in child.environ().values()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_nothing_travels_in_the_clear(host: str) -> None:
    with pytest.raises(UsageError, match="--tls-cert"):
        Listener(host).require_encrypted()
    Listener(host, proxies="127.0.0.1").require_encrypted()
    for own in ("127.0.0.1", "::1", "localhost"):
        Listener(own).require_encrypted()


def test_the_command_line_says_so(package: BuiltPackage, tmp_path: Path) -> None:
    everywhere = command(package, tmp_path, "--host", "0.0.0.0")
    done = subprocess.run(everywhere, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--behind-proxy" in done.stderr


def test_tls(serve: Callable[..., Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=v",
    ]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    verifier = serve("--tls-cert", str(certificate), "--tls-key", str(key), files=256)
    assert verifier.url.startswith("https://")
    with verifier.client() as stranger, pytest.raises(VerifierError, match=r"certificate|CERTIFICATE"):
        stranger.tasks()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with verifier.client() as operator:
        assert [task.name for task in operator.tasks()] == [TASK]
    # A connection is counted before its handshake, which strangers need not begin.
    with contextlib.ExitStack() as half_open:
        for _ in range(400):
            half_open.enter_context(verifier.connect())
        with verifier.client() as operator:
            assert operator.create_rollout(TASK).budget == 5
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with verifier.connect() as plain, pytest.raises(OSError, match=r"(?i)ssl|tls|reset"):
        old.wrap_socket(plain)
    with pytest.raises(UsageError, match="both files"):
        TlsCertificate.of(certificate, None)


def test_what_strangers_are_told(verifier: Served) -> None:
    for path in ("/metrics", "/openapi.json", "/v1/tasks", "/v1/season", "/v1/participants", "/docs", "/nowhere"):
        assert httpx.get(verifier.url + path).status_code == 401, path
    answer = httpx.get(f"{verifier.url}/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "tasks": 1})
    admin = {"Authorization": f"Bearer {ADMIN}"}
    assert httpx.get(f"{verifier.url}/metrics", headers=admin).status_code == 200
    assert httpx.get(f"{verifier.url}/openapi.json", headers=admin).status_code == 200


@linux
def test_it_says_that_it_is_unwell_where_nothing_can_be_written(serve: Callable[..., Served]) -> None:
    verifier = serve()
    pid = verifier.process.pid
    with verifier.client() as operator, httpx.Client(base_url=verifier.url) as http:
        assert http.get("/healthz").status_code == 200
        # As on a full disk, every write beyond what is there fails.
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        until = time.monotonic() + 30
        while (answer := http.get("/healthz")).status_code == 200 and time.monotonic() < until:
            time.sleep(0.2)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:openfingym:problem:unavailable")
        with pytest.raises(VerifierError, match="503 unavailable"):
            operator.create_rollout(TASK)
        with pytest.raises(VerifierError, match="disk"):
            operator.require_well()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        until = time.monotonic() + 30
        while http.get("/healthz").status_code != 200 and time.monotonic() < until:
            time.sleep(0.2)
        assert operator.create_rollout(TASK).budget == 5
