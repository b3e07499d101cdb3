"""Real verifiers on real sockets, over small packages made by the real builder."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.suites.conftest import (  # noqa: F401  # fixtures for tests of questions
    jar_path,
    jar_site,
    jar_task,
    jar_verifiers,
)
from tests.warm_verifiers import WarmVerifiers

ADMIN = "an-admin-token-for-tests"
OPEN_RATE = "requests_per_minute = 1e9\nburst = 100000000"

TEMPLATE = """schema_version = "1.4"
[task]
name = "tests/{name}"
version = "1.0.0"
description = "A test."
[metadata.openfingym]
format = 1
family = "{family}"
asset_class = "{asset_class}"
frequency = "{frequency}"
panel = "a test"
[metadata.openfingym.dataset]
{dataset}
{split}
[metadata.openfingym.contract]
kind = "{kind}"
{contract}
[metadata.openfingym.scoring]
baseline = "{baseline}"
metrics = [{metrics}]
[metadata.openfingym.verification]
{verification}
[metadata.openfingym.provenance]
paper = "none: a test"
"""
FILE = """file = "data.csv"
measure = "price"
kind = "simulated"
source = "random walk"
licence = "CC0-1.0"
"""
SPLIT = """[metadata.openfingym.split]
train = {}
public = {}
private = {}
embargo = {}
"""


def write_task(
    folder: Path, name: str, *, metrics: tuple[str, ...], verification: str = OPEN_RATE, **parts: str
) -> Path:
    """A task folder; ``parts`` fill the template."""
    task = folder / "tasks" / name
    task.mkdir(parents=True)
    entries = (f'name = "{metric}", weight = {1 / len(metrics):.9f}' for metric in metrics)
    weighted = ", ".join(
        f"{{{entry.replace('@future', '')}{', on = ' + repr('future') if '@' in entry else ''}}}" for entry in entries
    )
    filled = {"asset_class": "synthetic", "frequency": "daily", "split": "", "baseline": "naive", **parts}
    (task / "task.toml").write_text(TEMPLATE.format(name=name, metrics=weighted, verification=verification, **filled))
    (task / "instruction.md").write_text(f"# {name}\n")
    return task


def seal(folder: Path, task: Path) -> BuiltPackage:
    """Build a task folder."""
    package = BuiltPackage(folder / "public" / task.name, folder / "truth" / task.name)
    write_package(Task.read(task), package.public, package.truth)
    return package


def write_walk(task: Path, rows: int, names: list[str], seed: int) -> None:
    """``data.csv``: a seeded random walk."""
    prices = 100 * np.exp(np.cumsum(0.01 * np.random.default_rng(seed).standard_normal((rows, len(names))), axis=0))
    days = np.datetime64("1700-01-01") + np.arange(rows)
    lines = [",".join([str(day), *(f"{price:.6f}" for price in row)]) for day, row in zip(days, prices, strict=True)]
    (task / "data.csv").write_text("\n".join([",".join(["date", *names]), *lines]) + "\n")


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
    """A forecast over a seeded random walk, answered in one array; (rows * 0.3 - 3) // 5 windows a fold."""
    names = [f"c{i}" for i in range(channels)]
    contract = (
        f'lookback = 3\nhorizon = 2\nvalue_semantics = "{semantics}"\nunit = "log return"\nlow = {low}\nhigh = {high}'
    )
    task = write_task(
        folder,
        name,
        metrics=metrics,
        verification=verification,
        family="forecasting",
        kind="array",
        contract=contract,
        dataset=f"{FILE}channels = {names}",
        split=SPLIT.format(0.4, 0.3, 0.3, 3) + "hidden_stride = 5\n",
    )
    write_walk(task, rows, names, seed)
    return seal(folder, task)


def make_generation(
    folder: Path,
    name: str,
    *,
    lookback: int = 0,
    futures: int = 1,
    rows: int = 1000,
    metrics: tuple[str, ...] = ("marginal",),
    **parts: str,
) -> BuiltPackage:
    """Windows of four rows of a seeded random walk, with a context or without."""
    names = ["c0", "c1"]
    contract = f"lookback = {lookback}\nhorizon = 4\nfutures = {futures}\ndated = {str(lookback > 0).lower()}\n"
    contract += 'value_semantics = "log_return"\nunit = "log return"\nlow = -2.0\nhigh = 2.0'
    task = write_task(
        folder, name, metrics=metrics, family="generation", kind="generation", contract=contract, baseline="gaussian",
        dataset=f"{FILE}channels = {names}", split=SPLIT.format(0.5, 0.25, 0.25, 4), **parts,
    )  # fmt: skip
    write_walk(task, rows, names, seed=4)
    return seal(folder, task)


def make_kind(folder: Path, kind: str) -> BuiltPackage:
    """A package of a kind with data of its own, over what is bundled."""
    split = SPLIT.format(0.6, 0.2, 0.2, 1)
    parts: dict[str, dict[str, str]] = {
        "curves": {
            "family": "forecasting", "asset_class": "rates", "frequency": "monthly",
            "split": SPLIT.format(0.9, 0.05, 0.05, 1),  # few hidden windows, each of which is asked for by itself
            "dataset": 'name = "sim-eiopa-curves"', "contract": 'lookback = 10\nunit = "percent"\nlow = -20.0\nhigh = '
                                                                '40.0',
        },
        "rows": {
            "family": "forecasting", "asset_class": "equity", "frequency": "monthly", "split": split,
            "dataset": 'name = "sim-us-characteristics"', "contract": 'unit = "log return"\nlow = -2.0\nhigh = 2.0',
        },
        "nodes": {
            "family": "fraud", "asset_class": "graph", "frequency": "none", "baseline": "random",
            "dataset": 'name = "amazon"', "contract": 'unit = "score"\nlow = -10.0\nhigh = 10.0',
        },
        "graphs": {
            "family": "fraud", "asset_class": "graph", "frequency": "none", "baseline": "random",
            "dataset": 'name = "ba2motifs"', "contract": 'unit = "score"\nlow = 0.0\nhigh = 1.0',
        },
    }  # fmt: skip
    metrics = {
        "curves": ("relative_mse", "nmpiw"),
        "rows": ("mse", "long_short_sharpe"),
        "nodes": ("auroc", "recall_at_k"),
        "graphs": ("auroc", "f1"),
    }
    return seal(folder, write_task(folder, kind, kind=kind, metrics=metrics[kind], **parts[kind]))


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
        make_package(
            folder, "wide", rows=4000, channels=100, metrics=("mae", "rmse", "delta_es"), verification=OPEN_RATE
        ),
        make_package(
            folder,
            "prices",
            semantics="price_level",
            low=0.0,
            high=1e6,
            metrics=("mae", "delta_sharpe"),
            verification=OPEN_RATE,
        ),
    ]
    return {package.manifest.name: package for package in made}


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltPackage]:
    """A package of every kind but forecasts."""
    folder = tmp_path_factory.mktemp("kinds")
    made = [
        *(make_kind(folder, kind) for kind in ("curves", "rows", "nodes", "graphs")),
        make_generation(folder, "windows"),
        make_generation(folder, "futures", lookback=3, futures=5, metrics=("marginal", "american_put_error@future")),
    ]
    return {package.manifest.name: package for package in made}


@pytest.fixture(scope="session")
def generation() -> Callable[..., BuiltPackage]:
    """Builds generation tasks, which are heavy; see :func:`make_generation`."""
    return make_generation


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
        content: Any = body  # whatever httpx takes
        return self.http.post("/v1/submissions", content=content, headers=all_headers)


@contextlib.contextmanager
def serving(packages: Iterable[BuiltPackage]) -> Iterator[Server]:
    """A verifier of these packages, and clients of it."""
    with EmbeddedVerifier.start(list(packages)) as embedded:
        transport = httpx.HTTPTransport(uds=str(embedded.uds))
        with (
            VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as client,
            httpx.Client(base_url="http://v", transport=transport, timeout=120, trust_env=False) as http,
        ):
            yield Server(embedded, client, http)


@pytest.fixture(scope="session")
def server(packages: dict[str, BuiltPackage]) -> Iterator[Server]:
    with serving(packages.values()) as running:
        yield running


@pytest.fixture(scope="session")
def kinds_server(kinds: dict[str, BuiltPackage]) -> Iterator[Server]:
    with serving(kinds.values()) as running:
        yield running


@pytest.fixture(scope="session")
def serve() -> Callable[..., contextlib.AbstractContextManager[Server]]:
    """Starts verifiers; see :func:`serving`."""
    return serving


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


@pytest.fixture(scope="session")
def to_npy() -> Callable[[np.ndarray], bytes]:
    return npy


class Process:
    """``python -m openfingym_verifier`` on a state directory, to be stopped and killed."""

    def __init__(
        self, start: Callable[..., Any], packages: list[BuiltPackage], state: Path, uds: Path, *arguments: str
    ) -> None:
        words = ["--state", str(state), "--uds", str(uds), *arguments]
        for package in packages:
            words += ["--package", str(package.public), str(package.truth)]
        self.uds = uds
        # Not a pipe: nobody reads what it logs meanwhile, and a full one would stop it.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # for as long as the process
        self.popen = start(words, self._log.fileno(), OPENFINGYM_ADMIN_TOKEN=ADMIN)
        self.greeting = self.popen.stdout.readline().decode()

    def client(self) -> VerifierClient:
        return VerifierClient(uds=self.uds, admin_token=ADMIN)

    def log(self) -> str:
        """What it has written to stderr."""
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        self._log.close()
        self.popen.stdout.close()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        self.popen.terminate()
        return self.popen.wait(timeout=15)  # type: ignore[no-any-return]  # of Popen, or what stands in its place


@pytest.fixture
def launch(tmp_path: Path, warm_verifiers: WarmVerifiers) -> Iterator[Callable[..., Process]]:
    """Starts processes that do not outlive the test."""
    started: list[Process] = []

    def start(packages: list[BuiltPackage], state: Path, *arguments: str) -> Process:
        uds = Path(f"/tmp/ofg-{os.getpid()}-{time.monotonic_ns()}.sock")
        process = Process(warm_verifiers.service, packages, state, uds, *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.popen.poll() is None:
            process.kill()
        process.close()
        process.uds.unlink(missing_ok=True)
