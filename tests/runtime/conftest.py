"""A real HTTP server on a unix socket that plays the verifier, and jobs to run."""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Job, Limits


@pytest.fixture(autouse=True)
def warm(request: pytest.FixtureRequest, warm_start: Callable[..., None]) -> None:
    """Programs in the sandbox are forked, as they are from the second one of a process on."""
    if request.node.get_closest_marker("sandbox"):
        warm_start()


HOSTILE = Path(__file__).parent / "hostile"


@dataclass
class Seen:
    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass
class Upstream:
    """What plays the verifier: records each request, answers as told."""

    uds: Path
    seen: list[Seen] = field(default_factory=list)
    answer: Callable[[Seen], tuple[int, dict[str, str], dict[str, Any]]] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        seen = Seen(scope["method"], scope["path"], scope["query_string"], list(scope["headers"]), body)
        self.seen.append(seen)
        status, headers, document = (
            self.answer(seen) if self.answer else (200, {}, {"path": seen.path, "bytes": len(body)})
        )
        raw = [
            (name.encode(), value.encode()) for name, value in ({"content-type": "application/json"} | headers).items()
        ]
        content = json.dumps(document).encode()
        raw.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": content})


@contextlib.contextmanager
def serving(app: Upstream, where: Path | int) -> Iterator[None]:
    """Serve ``app`` on a unix socket or a TCP port, from another thread."""
    address = {"uds": str(where)} if isinstance(where, Path) else {"port": where}
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, **address)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 10
    while not server.started and time.monotonic() < end:
        time.sleep(0.005)
    assert server.started
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def serve() -> Callable[[Upstream, Path | int], contextlib.AbstractContextManager[None]]:
    return serving


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A folder whose path is short enough for unix sockets."""
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        yield Path(folder)


@pytest.fixture
def upstream(short_dir: Path) -> Iterator[Upstream]:
    app = Upstream(short_dir / "verifier.sock")
    with serving(app, app.uds):
        yield app


@pytest.fixture
def keeper(upstream: Upstream, short_dir: Path) -> Iterator[GateKeeper]:
    with GateKeeper(upstream.uds, runtime_directory=short_dir) as keeper:
        yield keeper


@pytest.fixture
def task_files(tmp_path: Path) -> dict[str, Path]:
    """A task's public files, below a folder that is private to us."""
    root = tmp_path / "store"
    data = root / "data"
    data.mkdir(parents=True)
    (root / "interface.py").write_text("SHAPE = (2, 1, 1)\n")
    (data / "contract.json").write_text('{"name": "tiny"}\n')
    root.chmod(0o700)
    return {"interface.py": root / "interface.py", "data": data}


@pytest.fixture
def make_job(task_files: dict[str, Path], tmp_path: Path) -> Callable[..., Job]:
    """``make_job(program, gate=None, **limits)``."""

    def make(program: str, gate: Path | None = None, **limits: Any) -> Job:
        if gate is None:
            gate = tmp_path / "no-gate"
            gate.mkdir(exist_ok=True)
        bounds = {
            "timeout_s": 60.0,
            "memory_mb": 1024,
            "cpus": 1,
            "pids": 64,
            "storage_mb": 64,
            "output_bytes": 1 << 18,
        } | limits
        return Job(
            rollout_id="r-test", program=program, task_files=task_files, gate_directory=gate, limits=Limits(**bounds)
        )

    return make
