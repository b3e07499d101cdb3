"""Fixtures shared by every test: a store of its own for the whole session, whatever the number of processes that run
it."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

# Before NumPy is loaded, here and in the commands that tests start: where processes share cores, threads of one product
# that wait for one another cost eight times its work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"
# A kind for tests, which every process finds as if it were installed.
sys.path.insert(0, str(Path(__file__).parent / "distribution"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))
# Tests start hundreds of commands, and each would compile what it imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import HealthCheck, settings
from platformdirs import user_cache_path
from threadpoolctl import threadpool_limits

from openfingym.catalog import load_task
from openfingym.packages.build import build, write_package
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from openfingym_verifier import embedded
from openfingym_verifier.child import environment
from tests import sweeps
from tests.owned_folders import contents, owned_folders
from tests.warm_verifiers import WarmVerifiers

HARBOR = "harbor==0.24.0"
LONGEST = {
    Path(__file__).parent / name
    for name in (
        "adversarial/test_recorded_tapes.py",
        "adversarial/test_signals.py",
        "openfingym/agents/test_forecasts.py",
        "openfingym/leaks/test_traces.py",
        "openfingym/packages/test_tapes.py",
        "test_benchmarks.py",
        "test_end_to_end.py",
        "verifier/rollouts/test_deferred_real.py",
        "verifier/scoring/test_workers.py",
    )
}
"""Files of minutes each on a busy machine: at the end, one alone would keep one process while the others have nothing
to do."""

sys.dont_write_bytecode = False  # as above, of this process: what pytest makes of the tests is kept too
# A shell has what it starts in the background ignore the interrupt, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Examples follow from the test alone: what passes today passes tomorrow. Who looks deeper gets other ones each time.
if not sweeps.ALL:
    # Else constants of all modules that are loaded would be among them, which differ with the tests that came before.
    # Where a version of Hypothesis has no such name, a test says so.
    name = "hypothesis.internal.conjecture.providers.is_local_module_file"
    pytest.MonkeyPatch().setattr(name, lambda _: False, raising=False)
# How long an example takes on a busy machine, or is drawn, says nothing of what it tests.
TIMELESS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("calm", max_examples=50, derandomize=True, **TIMELESS)
settings.register_profile("deep", max_examples=100, **TIMELESS)
settings.load_profile("deep" if sweeps.ALL else "calm")
threadpool_limits(1, user_api="blas")  # of what a plugin has loaded before this


@pytest.fixture(scope="session", autouse=True)
def store_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store that no other test run shares, and every process of this one does; also clears what could redirect a test
    elsewhere."""
    folder = tmp_path_factory.getbasetemp()
    home = (folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder) / "store"
    home.mkdir(exist_ok=True)
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENFINGYM_HOME", str(home))
    for name in (
        "OPENFINGYM_TASKS",
        "OPENFINGYM_VERIFIER",
        "OPENFINGYM_ADMIN_TOKEN",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        patch.delenv(name, raising=False)
    yield home
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def warm_verifiers(store_home: Path) -> Iterator[WarmVerifiers]:
    """Has verifiers of this process forked, where the system can; see :mod:`tests.warm_verifiers`."""
    warm = WarmVerifiers(embedded._spawn, environment(OPENBLAS_NUM_THREADS="1"))
    patch = pytest.MonkeyPatch()
    patch.setattr(embedded, "_spawn", warm.spawn)
    if warm.forking and os.environ.get("PYTEST_XDIST_WORKER"):  # of many tests, some will need one
        warm.start()
    yield warm
    patch.undo()
    warm.close()


@pytest.fixture(scope="module", autouse=True)
def nothing_left_open() -> Iterator[None]:
    """The tests of a file leave no environment open, whose launcher those of another file would share, and no folder
    that a gate, a view or a program's own was made in.
    """
    environments, folders = _open_environments(), set(owned_folders())
    yield
    left = {str(folder): contents(folder) for folder in set(owned_folders()) - folders}
    assert (_open_environments() - environments, left) == (set(), {})


def _open_environments() -> set[object]:
    """What environments with a rollout have a launcher for: a package, a backend and a verifier each."""
    # Where no environment of the process had a rollout, the module is not loaded.
    lease = sys.modules.get("openfingym.envs.lease")
    return set() if lease is None else set(lease.Lease._open)


@pytest.fixture
def cold_verifiers(warm_verifiers: WarmVerifiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifiers load their modules themselves, as they do outside of tests."""
    monkeypatch.setattr(warm_verifiers, "forking", False)


@pytest.fixture(scope="session")
def quick_live(store_home: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """The built package of a live task whose session takes two seconds: two bars of one second, after three before."""
    folder = tmp_path_factory.mktemp("live") / "quick-live"
    text = (Path(__file__).parents[1] / "tasks" / "crypto-trading-live" / "task.toml").read_text()
    for name, value in {"interval_s": 1, "steps": 2, "lookback": 3, "longest_s": 60}.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
    text = text.replace("crypto-trading-live", "quick-live").replace("6307200.0", "31536000.0")
    folder.mkdir()
    (folder / "task.toml").write_text(text + "\n")
    (folder / "instruction.md").write_text("# Quick\n")
    package = BuiltPackage(folder.parent / "public", folder.parent / "truth")
    write_package(Task.read(folder), package.public, package.truth)
    return package


@pytest.fixture(scope="session")
def treasury(store_home: Path) -> BuiltPackage:
    """The built package of ``treasury-forecast``."""
    return build(load_task("treasury-forecast"))


@pytest.fixture
def warm_start(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``warm_start(science=False)``: have every program of the sandbox forked from a fork server, of which the one for
    programs that use NumPy alone runs when this returns, or both do."""

    def start(*, science: bool = False) -> None:
        from openfingym_runtime.sandbox import forkserver
        from openfingym_runtime.sandbox.python_view import python_view

        monkeypatch.setenv(forkserver.VARIABLE, "1")
        for server in forkserver.servers()[: 1 + science]:
            server.start(python_view())

    return start


@pytest.fixture
def processes_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs read the files of ``/proc``, as a command line that somebody brought along may: they tell tests what
    else a program has."""
    from openfingym_runtime.docker import container as docker_container
    from openfingym_runtime.sandbox import launch

    rights = launch.bounds
    # Not the programs that find out whether others are confined.
    monkeypatch.setattr(launch, "bounds", lambda job: rights(job) | {"processes": job.rollout_id != "probe"})
    monkeypatch.setattr(docker_container, "command", lambda _job: ["brought"])


@pytest.fixture(scope="session")
def forked_programs() -> Iterator[str]:
    """The backend on which a program of ours starts soonest, for tests of what it answers: the sandbox with programs
    forked from the first on, which need not import scikit-learn each time, and without a sandbox none at all."""
    if _sandbox_unavailable():
        yield "inline"
        return
    from openfingym_runtime.sandbox import forkserver

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(forkserver.VARIABLE, "1")
        yield "sandbox"


@pytest.fixture
def own_task(tmp_path: Path) -> Path:
    """The folder of a freshly scaffolded task, named ``my-task``."""
    return new_task("my-task", tmp_path)


@pytest.fixture(scope="session")
def harbor_python() -> Path:
    """A Python with Harbor, made once a machine."""
    base = _python_312()
    if base is None:
        pytest.skip("Harbor needs Python 3.12 or later, and none was found")
    version = subprocess.run([base, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = user_cache_path("openfingym") / "tests" / f"{HARBOR.replace('==', '-')}-python-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            new = Path(made) / "environment"
            subprocess.run([base, "-m", "venv", new], check=True)
            subprocess.run(
                [new / "bin" / "python", "-m", "pip", "install", "-q", "--no-compile", HARBOR],
                check=True,
                capture_output=True,
            )
            with contextlib.suppress(OSError):  # somebody else was faster
                # Whole or not at all; nothing but its scripts, which nobody calls, knows the other place.
                new.rename(folder)
    return python


def _python_312() -> str | None:
    if sys.version_info >= (3, 12):
        return sys.executable
    candidates = [shutil.which(name) for name in ("python3.12", "python3.13")]
    candidates += [
        str(path) for path in Path(os.environ.get("PYENV_ROOT", "/nonexistent")).glob("versions/3.1[23]*/bin/python")
    ]
    for candidate in filter(None, candidates):
        probe = subprocess.run(
            [candidate, "-c", "import venv, ensurepip, sys; print(sys.version_info >= (3, 12))"],
            capture_output=True,
            text=True,
            check=False,
        )
        if probe.stdout.strip() == "True":
            return candidate
    return None


def _all_files(config: pytest.Config) -> bool:
    """Whether all files of tests are collected."""
    return [Path(path).resolve() for path in config.args] == [Path(__file__).parent]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where the rest is asked for, do not load the files that have none of it: half of them, in each process."""
    if config.option.markexpr != "rest" or not collection_path.name.startswith("test_") or collection_path.is_dir():
        return None
    return None if sweeps.may_hold_rest(collection_path, _slow()) else True


_slow = functools.cache(sweeps.slow)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out, begin with the files that take longest, and skip what this machine
    cannot run, unless CI requires it."""
    for item in items:
        if sweeps.is_slow(item.nodeid, _slow()):
            item.add_marker(pytest.mark.rest)
    config.stash[sweeps.COLLECTED] = {item.nodeid: item.get_closest_marker("rest") is not None for item in items}
    items.sort(key=lambda item: item.path not in LONGEST)
    reasons = {"docker": _docker_unavailable, "sandbox": _sandbox_unavailable}
    if os.environ.get("OPENFINGYM_REQUIRE_DOCKER"):
        return
    for marker, unavailable in reasons.items():
        marked = [item for item in items if item.get_closest_marker(marker)]
        reason = unavailable() if marked else None
        for item in marked:
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, and never in what that loads: next to nothing of it is any."""
    gc.disable()
    with contextlib.suppress(ImportError, AttributeError):  # where pytest has it elsewhere, each process does all
        _rewrite_share(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _rewrite_share(config: pytest.Config) -> None:
    """Of all tests in several processes, rewrite the assertions of a share of the files, as the others do of theirs.

    Otherwise each of them would rewrite all in a fresh checkout, at the same time.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    folder = Path(__file__).parent
    if worker is None or sys.dont_write_bytecode or not _all_files(config):
        return
    from _pytest.assertion import rewrite

    files = sorted(path for path in folder.rglob("*.py") if path.name.startswith(("test_", "conftest.")))
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, kept) is None and rewrite.try_makedirs(kept.parent):
            stat, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, kept)


def _docker_unavailable() -> str | None:
    return _unavailable("docker")


def _sandbox_unavailable() -> str | None:
    return _unavailable("sandbox")


def _unavailable(backend: str) -> str | None:
    from openfingym.errors import BackendUnavailableError
    from openfingym_runtime.backends import select

    try:
        select(backend, trusted=False)
    except BackendUnavailableError as error:
        return str(error)
    return None
