"""Workspaces in both kinds of isolation, a verifier to talk to through their gates, and a count of what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import psutil
import pytest

from openfingym.packages.package import BuiltPackage
from openfingym.workspace import Workspace, open_workspace
from openfingym_runtime.backends import select
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Backend, Limits
from openfingym_runtime.sandbox.python_view import python_view

LIMITS = Limits(timeout_s=60, memory_mb=256, cpus=1, pids=48, storage_mb=16, output_bytes=100_000)
BACKENDS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("sandbox", marks=pytest.mark.sandbox)]
DOCKER = pytest.mark.parametrize("backend", [BACKENDS[0]], indirect=True)
SANDBOX = pytest.mark.parametrize("backend", [BACKENDS[1]], indirect=True)

Open = Callable[..., contextlib.AbstractAsyncContextManager[Workspace]]


def containers() -> list[str]:
    """Containers of this process."""
    with contextlib.closing(docker.from_env()) as engine:
        label = f"{docker_container.OWNER_LABEL}={docker_container.owner_id()}"
        return [found["Id"] for found in engine.api.containers(all=True, filters={"label": label})]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, warm_start: Callable[..., None]) -> Backend:
    if request.param == "sandbox":
        warm_start(science=True)
    return select(request.param, trusted=False)


@pytest.fixture
def short_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        yield Path(folder)


@pytest.fixture
def gates(short_dir: Path) -> Iterator[GateKeeper]:
    """A gate keeper with all its sockets and folders below ``short_dir``; its verifier is there while :func:`verifier`
    is entered."""
    with GateKeeper(short_dir / "verifier.sock", runtime_directory=short_dir) as gates:
        yield gates


@pytest.fixture
def opened(backend: Backend, gates: GateKeeper, treasury: BuiltPackage) -> Open:
    """``opened(rollout_id="r-test", **limits)``: a workspace with a gate of its own."""

    @contextlib.asynccontextmanager
    async def opened(rollout_id: str = "r-test", **limits: float) -> AsyncIterator[Workspace]:
        with gates.open(rollout_id=rollout_id, token=f"token-of-{rollout_id}") as gate:
            bounds = replace(LIMITS, **limits)  # type: ignore[arg-type]
            async with open_workspace(
                backend, treasury, gate, seed=7, limits=bounds, rollout_id=rollout_id
            ) as workspace:
                yield workspace

    return opened


@contextlib.asynccontextmanager
async def verifier(folder: Path) -> AsyncIterator[list[str]]:
    """A verifier that knows one answer; the tokens it was asked with."""
    tokens: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        tokens.extend(line.partition("Bearer ")[2] for line in lines if line.lower().startswith("authorization"))
        body = json.dumps({"budget": 1, "remaining": 1, "practice_left": 4})
        writer.write(f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(answer, str(folder / "verifier.sock"))
    try:
        yield tokens
    finally:
        server.close()
        (folder / "verifier.sock").unlink(missing_ok=True)  # Python 3.13 does it by itself


def traces(folder: Path) -> tuple[set[str], int, list[int]]:
    """What a workspace could leave: files beside the sockets, descriptors, child processes."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    children = [child.pid for child in psutil.Process().children(recursive=True)]
    return files, len(list(Path("/proc/self/fd").iterdir())), children


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves a container, a process, a socket, a descriptor or a folder."""
    if "gates" not in request.fixturenames:
        yield
        return
    python_view()
    if "backend" in request.fixturenames:
        request.getfixturevalue("backend")  # its first use starts what stays
    folder = request.getfixturevalue("short_dir")
    request.getfixturevalue("gates")
    asyncio.run(asyncio.sleep(0))
    before = traces(folder)
    yield
    until = time.monotonic() + 3
    while (left := traces(folder)) != before and time.monotonic() < until:  # a killed child's entry goes a moment later
        if left[0] == before[0] and left[1] < before[1]:  # a descriptor of an earlier test was collected
            break
        time.sleep(0.02)
    assert left[0] == before[0]
    assert left[1] <= before[1]
    assert left[2] == before[2]
    if "docker" in request.node.name or request.node.get_closest_marker("docker"):
        assert containers() == []
