"""What the gate adds to a submission of 10,000 float64 (.npy), one client, against straight to the server.

Run: ``python benchmarks/gate.py``. Server, gate and client are processes of their own; direct and
gated requests take turns, so that the machine's moods hit both alike.
"""

from __future__ import annotations

import http.client
import io
import multiprocessing
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
from size import sized, status

ROUNDS = sized(1500, 5)
WARM_UP = sized(100, 1)
LIMIT_MS = 0.5


async def endpoint(_scope, receive, send):  # type: ignore[no-untyped-def]  # the ASGI signature
    """Read the body, parse it, answer a few bytes."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    mean = np.load(io.BytesIO(body), allow_pickle=False).mean()
    content = b'{"submission": 1, "feedback": %d}' % int(mean)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def serve(path: str) -> None:
    import uvicorn

    uvicorn.run(endpoint, uds=path, log_level="critical", lifespan="off", access_log=False)


def gate(path: str, folder: str, told: multiprocessing.SimpleQueue[str], done: Event) -> None:
    from openfingym_runtime.gate.gate import GateKeeper

    keeper = GateKeeper(Path(path), runtime_directory=Path(folder))
    with keeper, keeper.open(rollout_id="bench", token="t", max_calls=10**9) as one:
        told.put(str(one.socket))
        done.wait()


def poster(path: str, body: bytes) -> Callable[[], float]:
    """A function that makes one request over a kept connection and returns its milliseconds."""
    connection = http.client.HTTPConnection("gate")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    headers = {"Content-Type": "application/x-npy"}

    def post() -> float:
        started = time.perf_counter()
        connection.request("POST", "/v1/submissions", body, headers)
        response = connection.getresponse()
        response.read()
        assert response.status == 201
        return (time.perf_counter() - started) * 1e3

    return post


def main() -> int:
    buffer = io.BytesIO()
    np.save(buffer, np.random.default_rng(0).standard_normal(10_000))
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        path = f"{folder}/s.sock"
        told, done = context.SimpleQueue(), context.Event()
        server = context.Process(target=serve, args=(path,), daemon=True)
        server.start()
        while not Path(path).exists():
            time.sleep(0.05)
        middle = context.Process(target=gate, args=(path, folder, told, done), daemon=True)
        middle.start()
        direct, gated = poster(path, buffer.getvalue()), poster(told.get(), buffer.getvalue())
        for _ in range(WARM_UP):
            direct(), gated()
        times = [(direct(), gated()) for _ in range(ROUNDS)]
        done.set()
        middle.join(5)
        server.terminate()
        server.join(5)
    straight, through = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{'path':<10}{'p50 ms':>10}")
    print(f"{'direct':<10}{straight:>10.3f}")
    print(f"{'gate':<10}{through:>10.3f}")
    print(f"{'added':<10}{through - straight:>10.3f}   limit {LIMIT_MS}")
    return status(through - straight <= LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
