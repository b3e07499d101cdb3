"""Every server of this library under the same attacks: `mcp --http`, `env serve` and `verifier serve`, each in a
process of its own that may have few descriptors.

Attacks: 1,200 half-open connections, in the midst of a head or a body too, kept everybody out of two of them; 1,002
WebSockets with the token of one rollout closed other connections; a web page of another origin, or by a name that was
rebound, talked to a server on 127.0.0.1; slowed guesses of a token locked out the right one.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import httpx
import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient

TOKEN = "a-token-of-everybody-0123456789"
MIB = 1 << 20
UNREAD = 64 * MIB
FILES = 256
"""Descriptors that a server may have."""
SCRIPT = str(Path(sys.executable).with_name("openfingym"))
COMMANDS = {
    "mcp": ("mcp", "treasury-forecast", "--split", "train", "--http", "--port", "0"),
    "openenv": ("env", "serve", "--openenv", "equity-rolling-forecast", "--port", "0"),
}
SESSIONS = {"mcp": "/mcp", "openenv": "/ws", "verifier": "/v1/episodes/live"}
"""A path of each that only its own clients may use."""


class Door:
    """A server in a process of its own."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], files: tuple[int, int]) -> None:
        self.name = name
        # By a shell that becomes the server: nothing of this process, which has threads, is forked to run in between.
        limit = f'ulimit -S -n {files[0]}; ulimit -H -n {files[1]}; exec "$@"'
        self.process = subprocess.Popen(
            ["sh", "-c", limit, "sh", *command],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self._output: IO[str] = self.process.stdout
        said = []
        for line in iter(self._output.readline, ""):
            said.append(line)
            if found := re.search(r" on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError(f"it does not listen: {''.join(said)}")
        # What it says later must not fill the pipe.
        self._reading = threading.Thread(target=self._output.read)
        self._reading.start()
        self.url = f"http://127.0.0.1:{self.port}"
        self.health = "/healthz" if name == "verifier" else "/health"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def get(self, path: str, token: str | None = TOKEN, **headers: str) -> httpx.Response:
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.get(self.url + path, headers={**given, **headers}, timeout=20)

    def answers(self) -> bool:
        """Whether a good client gets an answer, five times in a row and without waiting for long."""
        try:
            return all(self.get(self.health).status_code == 200 for _ in range(5))
        except httpx.HTTPError:
            return False

    @contextlib.contextmanager
    def socket(self, token: str = TOKEN, **headers: str) -> Iterator[ClientConnection]:
        given = {"Authorization": f"Bearer {token}", **headers}
        url = f"ws://127.0.0.1:{self.port}{SESSIONS[self.name]}"
        with connect(url, additional_headers=given, proxy=None, open_timeout=20) as opened:
            yield opened

    @property
    def memory(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join()
        self._output.close()


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task("equity-rolling-forecast"))


@pytest.fixture(scope="module")
def opened(package: BuiltPackage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Door]]:
    started: list[Door] = []

    def start(name: str, files: tuple[int, int] = (FILES, FILES)) -> Door:
        folder = tmp_path_factory.mktemp(name)
        if name == "verifier":
            command = [sys.executable, "-P", "-m", "openfingym_verifier", "--state", str(folder), "--port", "0"]
            command += ["--package", str(package.public), str(package.truth)]
            more = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENFINGYM_ADMIN_TOKEN": TOKEN}
        else:
            (folder / "token").write_text(TOKEN)
            (folder / "token").chmod(0o600)
            command, more = [SCRIPT, *COMMANDS[name], "--token-file", str(folder / "token")], {}
        started.append(Door(name, command, more, files))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module", params=["mcp", "openenv", "verifier"])
def door(opened: Callable[..., Door], request: pytest.FixtureRequest) -> Door:
    """One that nothing here may harm."""
    return opened(request.param)


def pour(door: Door, head: str, piece: bytes) -> bytes:
    """Send a head and 64 MiB after it, whatever is answered; returns what could be read of an answer."""
    answer = b""
    with door.connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(head.encode())
            for _ in range(UNREAD // len(piece)):
                connection.sendall(piece)
        with contextlib.suppress(OSError):
            answer = connection.recv(4096)
    return answer


def test_half_open_connections_keep_nobody_out(door: Door) -> None:
    """More of them than the server may have descriptors, some in the midst of a head: the oldest make room."""
    with contextlib.ExitStack() as kept:
        for number in range(FILES + 150):
            connection = kept.enter_context(door.connect())
            if number % 2:
                connection.sendall(b"GET /health HTTP/1.1\r\nHos")
        assert door.answers()


def test_slow_bodies_keep_nobody_out(door: Door) -> None:
    """A request counts as one when it is whole: until then it makes room as well."""
    path, who = "/healthz", ""
    if door.name != "verifier":
        path, who = "/mcp", f"Authorization: Bearer {TOKEN}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{who}Content-Length: 100\r\n\r\n{{"
    with contextlib.ExitStack() as kept:
        for _ in range(FILES + 150):
            kept.enter_context(door.connect()).sendall(head.encode())
        assert door.answers()


def test_heads_end(door: Door) -> None:
    """Fields without end are cut off, not collected."""
    assert door.answers()  # what the first request loads is not counted
    before = door.memory
    pour(door, f"GET {door.health} HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X-Filler: " + b"x" * 1000 + b"\r\n")
    assert door.memory - before < UNREAD // 2
    assert door.answers()


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_end(door: Door, chunked: bool, token: str | None) -> None:
    """Nothing of a stranger's body is kept, and of a client's no more than a request may have."""
    before = door.memory
    size = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {UNREAD}"
    who = "" if token is None else f"Authorization: Bearer {token}\r\n"
    path = "/v1/rollouts" if door.name == "verifier" else "/mcp"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{who}Content-Type: application/json\r\n{size}\r\n\r\n"
    answer = pour(door, head, b"%x\r\n" % MIB + b"x" * MIB + b"\r\n" if chunked else b"x" * MIB)
    assert answer == b"" or answer.split(b" ")[1] in ({b"401"} if token is None else {b"413"})
    assert door.memory - before < (UNREAD // 4 if token is None else UNREAD)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0", "[::1", "192.0.2.1:80"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(door: Door, host: str) -> None:
    for path in (door.health, SESSIONS[door.name]):
        assert door.get(path, Host=host).status_code == 403, path


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example"])
def test_pages_of_other_origins_are_refused(door: Door, origin: str) -> None:
    for path in (door.health, SESSIONS[door.name]):
        assert door.get(path, Origin=origin).status_code == 403, path
    if door.name != "mcp":
        with pytest.raises(InvalidStatus) as refused, door.socket(Origin=origin):
            pass
        assert refused.value.response.status_code == 403


def test_wrong_guesses_do_not_lock_out_the_right_token(door: Door) -> None:
    path = {"mcp": "/health", "openenv": "/metadata", "verifier": "/v1/tasks"}[door.name]
    wanted = door.get(path).status_code
    assert wanted == 200
    with httpx.Client(base_url=door.url, timeout=20) as http:
        for number in range(60):
            wrong = {"Authorization": f"Bearer {TOKEN[:-4]}{number:04d}"}
            assert http.get(path, headers=wrong).status_code == 401
            assert number % 20 or door.get(path).status_code == wanted


@pytest.mark.parametrize("name", ["mcp", "openenv", "verifier"])
def test_a_server_raises_its_own_limit(opened: Callable[..., Door], name: str) -> None:
    """The usual soft limit of 1,024 descriptors is not what a service has to live with."""
    door = opened(name, (FILES, 1500))
    assert resource.prlimit(door.process.pid, resource.RLIMIT_NOFILE) == (1500, 1500)


def test_sockets_of_one_token_displace_nobody(door: Door) -> None:
    """Far more WebSockets than there may be descriptors: later ones are refused, and others are let in."""
    if door.name == "mcp":
        pytest.skip("it has none")
    tokens, statuses = [TOKEN, TOKEN], []
    with contextlib.ExitStack() as kept:
        if door.name == "verifier":
            operator = kept.enter_context(VerifierClient(base_url=door.url, admin_token=TOKEN))
            tokens = [operator.create_rollout("equity-rolling-forecast").token for _ in range(2)]
            other = kept.enter_context(door.socket(tokens[1]))
        for _ in range(FILES + 50):
            try:
                kept.enter_context(door.socket(tokens[0]))
            except (InvalidStatus, OSError, TimeoutError) as error:
                statuses.append(error.response.status_code if isinstance(error, InvalidStatus) else 0)
        assert door.answers()
        if door.name == "verifier":
            assert set(statuses) == {429}
            other.ping().wait(10)
            with door.socket(tokens[1]):
                pass
            assert operator.create_rollout("equity-rolling-forecast").budget
