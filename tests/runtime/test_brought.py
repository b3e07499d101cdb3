"""A folder that the user brings along, and what comes with it: a shell, and TCP that leads nowhere but back.

The attack: data that is queued in TCP sockets of the loopback interface is in no process's memory. Without a control
group it ends a sandbox at 64 MiB; a socket of a container holds 64 KiB in each direction.
"""

from __future__ import annotations

import http.server
import json
import os
import socketserver
import stat
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openfingym_runtime.job import Backend, Job, Outcome

BACKENDS = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "sandbox":
        from openfingym_runtime.sandbox import SandboxBackend

        return SandboxBackend()
    from openfingym_runtime.docker import images
    from openfingym_runtime.docker.backend import DockerBackend

    images.ensure_agent_image()
    return DockerBackend()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A command line's folder, with links out of it, in a folder that only its owner may enter."""
    private = tmp_path / "private"
    folder = private / "command-line"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "hello").write_text("#!/bin/sh\necho hello | tr a-z A-Z\n")
    (private / "truth.csv").write_text("the hidden answer")
    (folder / "absolute").symlink_to(private / "truth.csv")
    (folder / "relative").symlink_to("../truth.csv")
    (folder / "above").symlink_to("..")
    (folder / "inner").symlink_to("bin/hello")
    (folder / "bin" / "hello").chmod(0o755)
    for path in (folder, folder / "bin"):
        path.chmod(0o755)
    private.chmod(0o700)
    return folder


@pytest.fixture
def run(backend: Backend, folder: Path, make_job: Callable[..., Job]) -> Callable[..., Outcome]:
    def run(program: str, *, brought: bool = True, **limits: Any) -> Outcome:
        job = make_job(textwrap.dedent(program), **limits)
        return backend.run(replace(job, brought=folder.resolve() if brought else None))

    return run


@pytest.fixture
def host_port() -> Iterator[int]:
    """Port of a server on this machine's own loopback interface."""
    with socketserver.TCPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


LOOK = """
import errno, json, os, socket, subprocess, sys

def attempt(call):
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno]

def reach(host, port):
    with socket.socket() as far:
        far.settimeout(5)
        far.connect((host, port))
    return "reached"

def shell(command):
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout.strip()

def echo():
    with socket.create_server(("127.0.0.1", 8080)) as server:
        code = "import socket; s = socket.create_connection(('127.0.0.1', 8080)); s.sendall(s.recv(9) + b'!')"
        child = subprocess.Popen([sys.executable, "-c", code])
        near, _ = server.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        near.sendall(b"over TCP")
        heard = near.recv(99)
        child.wait()
        return heard.decode()

HOST_PORT = %d
print(json.dumps({
    "echo": attempt(echo),
    "host": attempt(lambda: reach("127.0.0.1", HOST_PORT)),
    "world": attempt(lambda: reach("1.1.1.1", 53)),
    "gateway": attempt(lambda: reach("172.17.0.1", 22)),
    "udp": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()),
    "raw": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()),
    "version 6": attempt(lambda: socket.socket(socket.AF_INET6).close()),
    "netlink": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()),
    "upper layer": attempt(lambda: socket.socket().setsockopt(socket.IPPROTO_TCP, 31, b"tls")),
    "interfaces": [name for _, name in socket.if_nameindex()] if False else [],
    "shell": shell("/opt/cli/bin/hello; ls /opt/cli | sort | xargs"),
    "inner": attempt(lambda: open("/opt/cli/inner").readline()),
    **{name: attempt(lambda: open(f"/opt/cli/{name}").read()) for name in ("absolute", "relative", "above/truth.csv")},
    "write": attempt(lambda: open("/opt/cli/new", "w").close()),
    "change": attempt(lambda: open("/opt/cli/bin/hello", "a").close()),
    "remove": attempt(lambda: os.unlink("/opt/cli/inner")),
    "who": os.getuid(),
    "mounts": [line for line in attempt(lambda: open("/proc/self/mountinfo").read()).splitlines() if "private" in line],
}))
"""


def test_what_is_there_and_what_is_not(run: Callable[..., Outcome], host_port: int, folder: Path) -> None:
    before = {path: path.lstat().st_mode for path in folder.rglob("*")}
    outcome = run(LOOK % host_port)
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome.output.decode()
    seen = json.loads(outcome.output)
    assert seen["echo"] == "over TCP!"
    # The machine's own servers are behind another loopback interface, and nothing else is behind any.
    assert seen["host"] == "ECONNREFUSED"
    assert seen["world"] == seen["gateway"] == "ENETUNREACH"
    for name in ("udp", "raw", "version 6", "netlink", "upper layer"):
        assert seen[name] == "EPERM", name
    assert seen["shell"].split("\n") == ["HELLO", "above absolute bin inner relative"]
    assert seen["inner"] == "#!/bin/sh\n"
    assert [seen[name] for name in ("absolute", "relative", "above/truth.csv")] == ["ENOENT"] * 3
    for name in ("write", "change", "remove"):
        assert seen[name] in {"EROFS", "EACCES", "EPERM"}, name
    assert (seen["who"] >= 65534, seen["mounts"]) == (True, [])
    assert {path: path.lstat().st_mode for path in folder.rglob("*")} == before


def test_no_other_program_has_any_of_it(run: Callable[..., Outcome]) -> None:
    outcome = run(
        "import os, socket\nprint(os.path.exists('/opt/cli/bin'))\nsocket.socket()",
        brought=False,
    )
    assert outcome.exit_code == 1
    assert outcome.output.startswith(b"False\n")
    assert b"PermissionError" in outcome.output


def test_what_tcp_holds_is_bounded(run: Callable[..., Outcome]) -> None:
    # Written and never read: it is in no process's memory. With a control group of version 2 the kernel counts it.
    outcome = run(
        """
        import socket, time
        kept, sent = [socket.create_server(("127.0.0.1", 8080))], 0
        for _ in range(110):
            near = socket.create_connection(("127.0.0.1", 8080))
            near.setblocking(False)
            kept += [near, kept[0].accept()[0]]
            try:
                while True:
                    sent += near.send(bytes(1 << 16))
            except BlockingIOError:
                pass
        print(sent >> 20, flush=True)
        time.sleep(2)
        print("kept all", flush=True)
        """,
        memory_mb=128,
    )
    sent_mb = int(outcome.output.split()[0]) if outcome.output else None
    assert outcome.ended_by == "memory" or (sent_mb is not None and sent_mb <= 128), outcome


def test_the_folder_may_be_anybody_elses(run: Callable[..., Outcome], folder: Path) -> None:
    (folder / "bin" / "set-user").write_text("#!/bin/sh\nid -u\n")
    (folder / "bin" / "set-user").chmod(0o4755)
    assert stat.S_IMODE((folder / "bin" / "set-user").stat().st_mode) == 0o4755
    outcome = run("import subprocess; print(subprocess.run('/opt/cli/bin/set-user', capture_output=True).stdout)")
    assert outcome.exit_code == 0, outcome.output
    assert b"'0" not in outcome.output
    assert os.geteuid() != 0 or (folder / "bin" / "set-user").exists()
