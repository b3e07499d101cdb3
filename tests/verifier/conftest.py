"""Real verifiers on real sockets, over small packages made by the real builder."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

from openfingym.build import write_package
from openfingym.client import VerifierClient
from openfingym.package import BuiltPackage
from openfingym.task import Task
from openfingym_verifier.embedded import EmbeddedVerifier

ROOT = Path(__file__).resolve().parents[2]
ADMIN = "an-admin-token-for-tests"
OPEN_RATE = "requests_per_minute = 1e9\nburst = 100000000"

TEMPLATE = """schema_version = "1.4"
[task]
name = "tests/{name}"
version = "1.0.0"
description = "A random walk."
[metadata.openfingym]
format = 1
family = "forecasting"
asset_class = "synthetic"
frequency = "daily"
[metadata.openfingym.dataset]
file = "data.csv"
measure = "price"
kind = "simulated"
source = "random walk"
licence = "CC0-1.0"
channels = {channels}
[metadata.openfingym.split]
train = 0.4
public = 0.3
private = 0.3
embargo = 3
[metadata.openfingym.contract]
lookback = 3
horizon = 2
value_semantics = "{semantics}"
unit = "log return"
low = {low}
high = {high}
[metadata.openfingym.scoring]
metrics = [{metrics}]
[metadata.openfingym.verification]
{verification}
[metadata.openfingym.provenance]
paper = "none: a test"
"""


def make_package(
    folder: Path,
    name: str,
    *,
    rows: int = 200,
    channels: int = 2,
    semantics: str = "log_return",
    low: float = -2.0,
    high: float = 2.0,
    metrics: tuple[str, ...] = ("mae", "rmse"),
    verification: str = OPEN_RATE,
    seed: int = 0,
) -> BuiltPackage:
    """A package over a seeded random walk; (rows * 0.3 - 3) // 5 windows a fold."""
    task = folder / "tasks" / name
    task.mkdir(parents=True)
    names = [f"c{i}" for i in range(channels)]
    weighted = ", ".join(f'{{name = "{metric}", weight = {1 / len(metrics):.9f}}}' for metric in metrics)
    text = TEMPLATE.format(name=name, channels=names, semantics=semantics, low=low, high=high, metrics=weighted, verification=verification)
    (task / "task.toml").write_text(text)
    (task / "instruction.md").write_text(f"# {name}\n")
    prices = 100 * np.exp(np.cumsum(0.01 * np.random.default_rng(seed).standard_normal((rows, channels)), axis=0))
    days = np.datetime64("1700-01-01") + np.arange(rows)
    lines = [",".join([str(day), *(f"{price:.6f}" for price in row)]) for day, row in zip(days, prices, strict=True)]
    (task / "data.csv").write_text("\n".join([",".join(["date", *names]), *lines]) + "\n")
    package = BuiltPackage(folder / "public" / name, folder / "truth" / name)
    write_package(Task.read(task), package.public, package.truth)
    return package


@pytest.fixture(scope="session")
def make() -> Callable[..., BuiltPackage]:
    """Builds packages; see :func:`make_package`."""
    return make_package


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltPackage]:
    folder = tmp_path_factory.mktemp("packages")
    made = [
        make_package(folder, "tiny", verification=f"budget = 1000\n{OPEN_RATE}"),
        make_package(folder, "frugal", verification=f"budget = 2\n{OPEN_RATE}"),
        make_package(folder, "slow", verification="budget = 1000\nrequests_per_minute = 60\nburst = 5"),
        make_package(folder, "wide", rows=4000, channels=100, metrics=("mae", "rmse", "delta_es"), verification=OPEN_RATE),
        make_package(folder, "prices", semantics="price_level", low=0.0, high=1e6, metrics=("mae", "delta_sharpe"), verification=OPEN_RATE),
    ]
    return {package.manifest.name: package for package in made}


@dataclass(frozen=True)
class Server:
    """A verifier and ways to talk to it."""

    embedded: EmbeddedVerifier
    client: VerifierClient
    http: httpx.Client
    """Speaks plain HTTP, without a token."""

    @property
    def admin(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.embedded.admin_token}"}

    def post(self, token: str, body: object, media_type: str = "application/x-npy", **headers: str) -> httpx.Response:
        all_headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": media_type,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return self.http.post("/v1/submissions", content=body, headers=all_headers)  # type: ignore[arg-type]  # whatever httpx takes


@pytest.fixture(scope="session")
def server(packages: dict[str, BuiltPackage]) -> Iterator[Server]:
    with EmbeddedVerifier.start(list(packages.values())) as embedded:
        transport = httpx.HTTPTransport(uds=str(embedded.uds))
        with (
            VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as client,
            httpx.Client(base_url="http://v", transport=transport, timeout=30, trust_env=False) as http,
        ):
            yield Server(embedded, client, http)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


@pytest.fixture(scope="session")
def to_npy() -> Callable[[np.ndarray], bytes]:
    return npy


class Process:
    """``python -m openfingym_verifier`` on a state directory, to be stopped and killed."""

    def __init__(self, packages: list[BuiltPackage], state: Path, uds: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "openfingym_verifier", "--state", str(state), "--uds", str(uds), *arguments]
        for package in packages:
            command += ["--package", str(package.public), str(package.truth)]
        path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier"))
        environment = {**os.environ, "PYTHONPATH": path, "OPENFINGYM_ADMIN_TOKEN": ADMIN}
        self.uds = uds
        self.popen = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.popen.stdout is not None
        self.greeting = self.popen.stdout.readline()

    def client(self) -> VerifierClient:
        return VerifierClient(uds=self.uds, admin_token=ADMIN)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.communicate()

    def stop(self) -> int:
        self.popen.terminate()
        self.popen.communicate(timeout=15)
        return self.popen.returncode


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts processes that do not outlive the test."""
    started: list[Process] = []

    def start(packages: list[BuiltPackage], state: Path, *arguments: str) -> Process:
        process = Process(packages, state, Path(f"/tmp/ofg-{os.getpid()}-{time.monotonic_ns()}.sock"), *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.popen.poll() is None:
            process.kill()
        process.uds.unlink(missing_ok=True)
