"""The verifier as a child: quick to start, silent about secrets, and never an orphan."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from openfingym.errors import DigestMismatchError, VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier

pytestmark = pytest.mark.usefixtures("cold_verifiers")

PARENT = """
import sys, time
from pathlib import Path
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.embedded import EmbeddedVerifier

verifier = EmbeddedVerifier.start([BuiltPackage(Path(sys.argv[1]), Path(sys.argv[2]))])
print(verifier.pid, verifier.uds, flush=True)
time.sleep(60)
"""


def gone(pid: int, timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_starts_fast_and_leaves_nothing(packages: dict[str, BuiltPackage]) -> None:
    verifier = EmbeddedVerifier.start([packages["tiny"]])
    spent = psutil.Process(verifier.pid).cpu_times()
    assert verifier.uds.exists()
    verifier.close()
    verifier.close()
    assert gone(verifier.pid)
    assert not verifier.uds.parent.exists()
    assert not verifier.state.exists()
    assert spent.user + spent.system < 4.0, "seconds; 0.7 on an idle machine"


def test_a_given_state_stays(packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    package, state = packages["tiny"], tmp_path / "state"
    with (
        EmbeddedVerifier.start([package], state) as first,
        VerifierClient(uds=first.uds, admin_token=first.admin_token) as client,
    ):
        ticket = client.create_rollout("tiny")
    with (
        EmbeddedVerifier.start([package], state) as second,
        VerifierClient(uds=second.uds, admin_token=second.admin_token) as client,
    ):
        assert second.admin_token != first.admin_token
        assert client.submit(ticket.token, np.zeros(package.manifest.submission_shape)).submission == 1
    assert (state / "ledger.db").is_file()


def test_secrets_are_nowhere_to_be_read(
    packages: dict[str, BuiltPackage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    with EmbeddedVerifier.start([packages["tiny"]], tmp_path / "state") as verifier:
        process = psutil.Process(verifier.pid)
        assert verifier.admin_token not in " ".join(process.cmdline())
        assert verifier.admin_token not in str(process.environ())
        assert str(packages["tiny"].truth) not in " ".join(process.cmdline())
        assert not [file.path for file in process.open_files() if "/truth/" in file.path or "/public/" in file.path]
        assert not [m.path for m in process.memory_maps() if "/truth/" in m.path or "/public/" in m.path]
        assert stat.S_IMODE(verifier.uds.stat().st_mode) == 0o600
        assert stat.S_IMODE(verifier.uds.parent.stat().st_mode) == 0o700
        for name in ("ledger.db", "ledger.db-wal", "token.key"):
            assert stat.S_IMODE((verifier.state / name).stat().st_mode) == 0o600
        assert process.environ()["OPENBLAS_NUM_THREADS"] == "1"


@pytest.fixture
def own_temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder that no other process starts verifiers in: any start there would clean up as well."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own paths are too long for a socket
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_dies_with_a_parent_that_is_killed_and_the_next_start_cleans_up(
    packages: dict[str, BuiltPackage], own_temporary: Path
) -> None:
    package = packages["tiny"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PARENT, str(package.public), str(package.truth)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    pid, uds = parent.stdout.readline().split()
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert gone(int(pid))
    assert Path(uds).parent.exists()
    assert Path(uds).is_relative_to(own_temporary)
    with EmbeddedVerifier.start([package]) as alive:
        assert not Path(uds).parent.exists()
        with EmbeddedVerifier.start([package]):
            assert alive.uds.exists()


@pytest.mark.parametrize("half", ["truth/targets.npy", "public/environment/data/test_inputs.npy"])
def test_a_changed_package_is_refused(packages: dict[str, BuiltPackage], tmp_path: Path, half: str) -> None:
    shutil.copytree(packages["tiny"].public, tmp_path / "public")
    shutil.copytree(packages["tiny"].truth, tmp_path / "truth")
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o700)
    victim = tmp_path / half
    data = bytearray(victim.read_bytes())
    data[-9] ^= 1
    victim.write_bytes(data)
    with pytest.raises(DigestMismatchError):
        EmbeddedVerifier.start([BuiltPackage(tmp_path / "public", tmp_path / "truth")]).close()


def test_start_errors_reach_the_caller(packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="no built package; it is rebuilt"):
        EmbeddedVerifier.start([BuiltPackage(tmp_path / "absent", tmp_path / "absent")])
    with pytest.raises(VerifierError, match="two packages"):
        EmbeddedVerifier.start([packages["tiny"], packages["tiny"]])
    with (
        EmbeddedVerifier.start([packages["tiny"]], tmp_path / "s"),
        pytest.raises(VerifierError, match="another verifier"),
    ):
        EmbeddedVerifier.start([packages["tiny"]], tmp_path / "s")


def test_command_line_refuses_to_start(
    packages: dict[str, BuiltPackage], tmp_path: Path, launch: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(packages["tiny"].truth, tmp_path / "truth")
    targets = tmp_path / "truth" / "targets.npy"
    tmp_path.joinpath("truth").chmod(0o700)
    targets.chmod(0o600)
    data = bytearray(targets.read_bytes())
    data[-1] ^= 1
    targets.write_bytes(data)
    command = [
        sys.executable,
        "-m",
        "openfingym_verifier",
        "--state",
        str(tmp_path / "state"),
        "--uds",
        str(tmp_path / "s.sock"),
        "--package",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TOKEN": "a-long-enough-admin-token"}

    def refuses(truth: Path, *more: str, **changes: str) -> tuple[int, str]:
        done = subprocess.run(
            [*command, str(packages["tiny"].public), str(truth), "--admin-token-env", "TOKEN", *more],
            env={**environment, **changes}, capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    code, message = refuses(tmp_path / "truth")
    assert code == 4
    assert "not the ones this package was built with" in message
    assert refuses(packages["tiny"].truth, TOKEN="")[0] == 2
    assert refuses(packages["tiny"].truth, "--host", "192.0.2.1")[0] == 2
    assert refuses(packages["tiny"].truth, "--host", "192.0.2.1", "--behind-proxy")[0] == 4


def test_tcp_and_unix_socket_together(
    packages: dict[str, BuiltPackage], tmp_path: Path, launch: Callable[..., object]
) -> None:
    from typing import Any, cast

    process = cast(
        "Any",
        launch([packages["tiny"]], tmp_path / "state", "--host", "127.0.0.1", "--port", "0", "--body-timeout", "0.5"),
    )
    url = next(part.strip(",") for part in process.greeting.split() if part.startswith("http://"))
    with VerifierClient(base_url=url, admin_token="an-admin-token-for-tests") as tcp, process.client() as unix:
        assert tcp.tasks() == unix.tasks()
        slow_body(url, tcp.create_rollout("tiny").token)
    assert process.stop() == 0
    assert not process.uds.exists()


def slow_body(url: str, token: str) -> None:
    """A body that dribbles in is cut off in time, whatever it stated."""
    import socket

    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        lines = [
            "POST /v1/submissions HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {token}",
            "Content-Type: application/x-npy",
            "Content-Length: 1000",
        ]
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        begin = time.monotonic()
        answer = b""
        while b"}" not in answer:
            try:
                sock.sendall(b"x")
                sock.settimeout(0.05)
                answer += sock.recv(4096)
            except TimeoutError:
                assert time.monotonic() - begin < 60
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"problem:request-timeout" in answer
        assert b"connection: close" in answer.lower()
