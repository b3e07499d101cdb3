"""The verifier against a bare endpoint that does the same arithmetic.

Both parse a ``.npy`` of 10,000 float64 and compute the same five losses over the same cells,
under uvicorn with the same options, on a unix socket, in the same run and in turns. The
verifier also authenticates, checks, rations, hashes, and commits payload, budget and log to
the disk before it answers. Clients are processes of their own that speak just enough HTTP.

``--heavy`` measures something else: how long a light submission takes while 16 heavy ones (a
signature kernel over generated windows, seconds of a processor each) keep every core busy.

    python benchmarks/verifier.py [--rounds 5] [--requests 300] [--heavy]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

# Two BLAS threads would make both servers several times slower, and unevenly so.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import httpx
import numpy as np
from fastapi import Request
from size import sized, status

ROOT = Path(__file__).resolve().parent.parent
# The last has a kind of task that is answered in one array of a size that can be chosen.
PLACES = [str(ROOT), str(ROOT / "verifier"), str(ROOT / "runtime"), str(ROOT / "tests" / "distribution")]
sys.path[:0] = PLACES

TARGET = 1.5
CLIENTS = sized((1, 32), (1, 2))
ADMIN = "benchmark-admin-token"
CHANNELS = [f"c{i}" for i in range(10)]
ROWS, SHAPE = 2880, (200, 5, 10)

TASK = f"""schema_version = "1.4"
[task]
name = "openfingym/bench"
version = "1.0.0"
description = "Random walks."
[metadata.openfingym]
format = 1
family = "forecasting"
asset_class = "synthetic"
frequency = "daily"
panel = "ten random walks"
[metadata.openfingym.dataset]
file = "data.csv"
measure = "price"
kind = "simulated"
source = "random walks"
licence = "CC0-1.0"
channels = {CHANNELS!r}
[metadata.openfingym.split]
train = 0.3
public = 0.35
private = 0.35
hidden_stride = 10
embargo = 5
[metadata.openfingym.contract]
kind = "array"
lookback = 5
horizon = 5
value_semantics = "log_return"
unit = "log return"
low = -2.0
high = 2.0
[metadata.openfingym.scoring]
baseline = "naive"
metrics = [
  {{name = "mae", weight = 0.2}}, {{name = "rmse", weight = 0.2}}, {{name = "delta_sharpe", weight = 0.2}},
  {{name = "delta_var", weight = 0.2}}, {{name = "delta_es", weight = 0.2}},
]
[metadata.openfingym.verification]
budget = 10_000_000
requests_per_minute = 1e9
burst = 1_000_000_000
[metadata.openfingym.provenance]
paper = "none: a benchmark"
"""


HEAVY = TASK.replace("openfingym/bench", "openfingym/heavy").replace('family = "forecasting"', 'family = "generation"')
HEAVY = (
    HEAVY[: HEAVY.index("[metadata.openfingym.contract]")]
    + """[metadata.openfingym.contract]
kind = "generation"
horizon = 5
value_semantics = "log_return"
unit = "log return"
low = -2.0
high = 2.0
[metadata.openfingym.scoring]
baseline = "gaussian"
metrics = [{name = "sig_mmd", weight = 1.0}]
"""
    + HEAVY[HEAVY.index("[metadata.openfingym.verification]") :]
)
HEAVY_ROWS, HEAVY_CLIENTS, LIGHT_TARGET = 12_000, 16, 3.0


def write_package(folder: Path, name: str = "bench", text: str = TASK, rows: int = ROWS) -> tuple[Path, Path]:
    from openfingym.packages.build import write_package as build
    from openfingym.task import Task

    task = folder / name
    task.mkdir()
    (task / "task.toml").write_text(text)
    (task / "instruction.md").write_text(f"# {name}\n")
    prices = 100 * np.exp(np.cumsum(0.01 * np.random.default_rng(0).standard_normal((rows + 1, len(CHANNELS))), axis=0))
    days = np.datetime64("1900-01-01") + np.arange(rows + 1)
    lines = (",".join([str(day), *(f"{price:.6f}" for price in row)]) for day, row in zip(days, prices, strict=True))
    (task / "data.csv").write_text("\n".join([",".join(["date", *CHANNELS]), *lines]) + "\n")
    public, truth = folder / f"{name}-public", folder / f"{name}-truth"
    build(Task.read(task), public, truth)
    return public, truth


def serve_bare(uds: str, public: Path, truth: Path) -> None:
    """The peer: what one would write in ten lines."""
    import uvicorn
    from fastapi import FastAPI

    from openfingym.metrics import Truth, score
    from openfingym.packages.package import BuiltPackage

    package = BuiltPackage(public, truth)
    n, spec = package.manifest.n_public, package.task.spec
    arrays = {
        "y_true": package.read_truth()["targets"][:n],
        "last_value": np.array(package.array("test_inputs"))[:n, -1, :],
    }
    options = {
        "semantics": "log_return",
        "periods_per_year": spec.scoring.periods_per_year,
        "tail_level": spec.scoring.tail_level,
    }
    app = FastAPI()

    @app.post("/v1/submissions", status_code=201)
    async def submit(request: Request) -> dict[str, object]:
        values = np.load(io.BytesIO(await request.body()))
        # Ten lines keep nothing between requests: the truth is checked and summarised anew each time.
        got = score(spec.scoring, Truth(arrays, options), {"y_pred": values[:n]})
        return {"total": got.total, "metrics": got.metrics}

    uvicorn.run(app, uds=uds, log_level="warning", access_log=False, lifespan="off", server_header=False, backlog=2048)


@contextlib.contextmanager
def running(command: list[str], uds: Path) -> Iterator[None]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PLACES), "OPENFINGYM_ADMIN_TOKEN": ADMIN}
    process = subprocess.Popen([sys.executable, *command], env=environment)
    try:
        while not uds.exists():
            if process.poll() is not None:
                sys.exit(f"{command} ended with code {process.returncode}")
            time.sleep(0.02)
        time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait(20)


def request_bytes(token: str, shape: tuple[int, ...] = SHAPE, seed: int = 1) -> bytes:
    body = io.BytesIO()
    np.save(body, 0.01 * np.random.default_rng(seed).standard_normal(shape))
    head = (
        f"POST /v1/submissions HTTP/1.1\r\nHost: v\r\nAuthorization: Bearer {token}\r\nContent-Type: "
        "application/x-npy\r\n"
    )
    return f"{head}Content-Length: {body.tell()}\r\n\r\n".encode() + body.getvalue()


def client(uds: str, request: bytes, count: int, start: Barrier, out: SimpleQueue[list[float]]) -> None:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(uds)
    buffer = bytearray(65536)
    start.wait()
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        sock.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += buffer[: sock.recv_into(buffer)]
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += buffer[: sock.recv_into(buffer)]
        times.append(time.perf_counter() - begin)
        if not head.startswith(b"HTTP/1.1 201"):
            raise SystemExit(got[:600])
    out.put(times)


def measure(uds: Path, tokens: list[str], count: int) -> tuple[float, float]:
    """Median and 99th percentile in seconds over all requests of one round, one process a token."""
    start = multiprocessing.Barrier(len(tokens) + 1)
    out: SimpleQueue[list[float]] = multiprocessing.SimpleQueue()
    processes = [
        multiprocessing.Process(target=client, args=(str(uds), request_bytes(token), count, start, out))
        for token in tokens
    ]
    for process in processes:
        process.start()
    start.wait()
    times = sorted(seconds for _ in processes for seconds in out.get())
    for process in processes:
        process.join()
    return times[len(times) // 2], times[int(len(times) * 0.99)]


def rollout_tokens(uds: Path, count: int, task: str = "bench") -> list[str]:
    with httpx.Client(base_url="http://v", transport=httpx.HTTPTransport(uds=str(uds)), trust_env=False) as http:
        headers = {"Authorization": f"Bearer {ADMIN}"}
        return [http.post("/v1/rollouts", json={"task": task}, headers=headers).json()["token"] for _ in range(count)]


def submission_table(rounds: int, requests: int) -> bool:
    """Part one: a submission against the bare endpoint. Returns whether the target is met."""
    with tempfile.TemporaryDirectory(prefix="ofg-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        public, truth = write_package(folder)
        bare, ours = folder / "bare.sock", folder / "ours.sock"
        stack.enter_context(running([__file__, "--bare", str(bare), str(public), str(truth)], bare))
        packages = ["--package", str(public), str(truth), "--state", str(folder / "state")]
        stack.enter_context(running(["-m", "openfingym_verifier", *packages, "--uds", str(ours)], ours))
        print(f"milliseconds; the ratio of medians should be at most {TARGET}; then the ratio in the quietest round")
        print(
            f"{'clients':>7} {'bare p50':>9} {'ours p50':>9} {'bare p99':>9} {'ours p99':>9} {'ratio':>7} "
            f"{'quietest':>9}"
        )
        met = True
        for clients in CLIENTS:
            tokens = rollout_tokens(ours, clients)
            each = max(20, requests // clients)
            for uds in (bare, ours):
                measure(uds, tokens, each)
            results = [(measure(bare, tokens, each), measure(ours, tokens, each)) for _ in range(rounds)]
            columns = [
                1e3 * statistics.median(r[server][column] for r in results) for column in (0, 1) for server in (0, 1)
            ]
            ratios = [our[0] / their[0] for their, our in results]
            ratio = statistics.median(ratios)
            met = met and ratio <= TARGET
            figures = " ".join(f"{column:>9.3f}" for column in columns)
            print(f"{clients:>7} {figures} {ratio:>6.2f}x {min(ratios):>8.2f}x")
        return met


def heavy_table(requests: int) -> bool:
    """Part two: a light client alone, and beside 16 heavy ones. Returns whether the target is met."""
    from openfingym.packages.package import BuiltPackage

    with tempfile.TemporaryDirectory(prefix="ofg-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        uds = folder / "ours.sock"
        light, heavy = write_package(folder), write_package(folder, "heavy", HEAVY, HEAVY_ROWS)
        shape = BuiltPackage(*heavy).manifest.submission_shape
        packages = [part for public, truth in (light, heavy) for part in ("--package", str(public), str(truth))]
        stack.enter_context(
            running(["-m", "openfingym_verifier", *packages, "--state", str(folder / "state"), "--uds", str(uds)], uds)
        )
        measure(uds, rollout_tokens(uds, 1), requests)
        alone = measure(uds, rollout_tokens(uds, 1), requests)
        start = multiprocessing.Barrier(HEAVY_CLIENTS + 1)
        out: SimpleQueue[list[float]] = multiprocessing.SimpleQueue()
        tokens = rollout_tokens(uds, HEAVY_CLIENTS, "heavy")
        loads = [
            multiprocessing.Process(target=client, args=(str(uds), request_bytes(token, shape, seed), 1, start, out))
            for seed, token in enumerate(tokens, 100)
        ]
        for load in loads:
            load.start()
        start.wait()
        begin = time.perf_counter()
        rounds = []
        while any(load.is_alive() for load in loads):
            rounds.append(measure(uds, rollout_tokens(uds, 1), requests))
            while not out.empty():
                out.get()
        seconds = time.perf_counter() - begin
        for load in loads:
            load.join()
        beside = statistics.median(r[0] for r in rounds), statistics.median(r[1] for r in rounds)
        print(
            f"{HEAVY_CLIENTS} heavy submissions of {shape} took {seconds:.1f} s on {os.cpu_count()} cores; light ones, "
            "in milliseconds:"
        )
        print(f"{'':>12} {'p50':>8} {'p99':>8}")
        print(f"{'alone':>12} {1e3 * alone[0]:>8.2f} {1e3 * alone[1]:>8.2f}")
        print(f"{'beside them':>12} {1e3 * beside[0]:>8.2f} {1e3 * beside[1]:>8.2f}  median of {len(rounds)} rounds")
        ratio = beside[1] / alone[1]
        print(f"p99 {ratio:.2f}x of what it is alone; the target is {LIGHT_TARGET}")
        return ratio <= LIGHT_TARGET


def main() -> int:
    parser = argparse.ArgumentParser(description="Verifier submissions against a bare endpoint.")
    parser.add_argument("--rounds", type=int, default=sized(5, 1))
    parser.add_argument("--requests", type=int, default=sized(600, 4), help="requests a round, shared by the clients")
    parser.add_argument("--heavy", action="store_true", help="light submissions beside heavy ones")
    parser.add_argument("--bare", nargs=3, metavar=("UDS", "PUBLIC", "TRUTH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        serve_bare(options.bare[0], Path(options.bare[1]), Path(options.bare[2]))
        return 0
    if options.heavy:
        return status(heavy_table(options.requests))
    return status(submission_table(options.rounds, options.requests))


if __name__ == "__main__":
    sys.exit(main())
