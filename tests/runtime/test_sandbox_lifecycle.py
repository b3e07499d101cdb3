"""How a program is stopped, and that nothing is left behind however the launcher goes."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.job import Job, Limits, Outcome
from openfingym_runtime.sandbox import SandboxBackend, launch
from openfingym_runtime.sandbox.python_view import python_view

pytestmark = pytest.mark.sandbox

LIMITS = Limits(timeout_s=60, memory_mb=512, cpus=1, pids=32, storage_mb=16, output_bytes=1 << 16)
FOREVER = (
    "import os, time\nfor _ in range(3):\n    if os.fork() == 0: break\nos.write(1, b'up\\n')\nwhile True: "
    "time.sleep(60)"
)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    gate = tmp_path / "gate"
    gate.mkdir(mode=0o755)
    return Job(f"life-{uuid.uuid4().hex}", "", {}, gate, LIMITS)


def _left(job: Job) -> list[int]:
    """Processes of the job that are still alive, wherever they hang in the process tree."""
    mark = f"OPENFINGYM_ROLLOUT={job.rollout_id}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _traces() -> tuple[list[str], set[str], int, int]:
    """What a run could leave: mounts, files in the temporary folder, descriptors, child processes."""
    # Tests in other processes mount meanwhile: engines for containers, file systems that are full.
    mounts = [mount for mount in Path("/proc/self/mountinfo").read_text().splitlines() if "openfingym" in mount]
    temporary = {path.name for path in Path(tempfile.gettempdir()).iterdir()}
    return mounts, temporary, len(list(Path("/proc/self/fd").iterdir())), len(psutil.Process().children(recursive=True))


@pytest.fixture(autouse=True)
def nothing_is_left(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes make and remove files in the usual one
    python_view()
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # what tests before this one dropped must not go in the middle of the count
    before = _traces()
    yield
    assert _left(job) == []
    assert _traces() == before


def _run(job: Job, program: str, **limits: float) -> Outcome:
    changed = replace(LIMITS, **limits)  # type: ignore[arg-type]  # every field is a number
    return SandboxBackend().run(replace(job, program=program, limits=changed))


def test_success_leaves_nothing(job: Job) -> None:
    assert _run(job, "print(1)").exit_code == 0


def test_background_children_end_with_the_program(job: Job) -> None:
    started = time.monotonic()
    outcome = _run(job, "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('out')")
    assert (outcome.ended_by, outcome.output) == ("exit", b"out\n")
    assert time.monotonic() - started < 40


def test_timeout_keeps_what_was_printed(job: Job) -> None:
    outcome = _run(job, FOREVER, timeout_s=1.5)
    assert (outcome.ended_by, outcome.exit_code) == ("timeout", None)
    assert outcome.output.startswith(b"up\n")
    assert 1.5 <= outcome.wall_s < 30


def test_cancel_ends_the_program_soon(job: Job) -> None:
    timer = threading.Timer(0.8, job.cancel.set)
    timer.start()
    outcome = _run(job, FOREVER)
    timer.join()
    assert outcome.ended_by == "cancelled"
    assert outcome.wall_s < 30


def test_output_is_cut_at_the_limit(job: Job) -> None:
    outcome = _run(job, "import os\nwhile True: os.write(1, b'x' * 65536)", output_bytes=1000)
    assert (outcome.ended_by, outcome.exit_code, outcome.output) == ("output", None, b"x" * 1000)


def test_output_at_the_limit_is_allowed(job: Job) -> None:
    outcome = _run(job, "import os; os.write(1, b'x' * 1000)", output_bytes=1000)
    assert (outcome.ended_by, outcome.exit_code, len(outcome.output)) == ("exit", 0, 1000)


def test_a_program_may_close_its_output(job: Job) -> None:
    assert _run(job, "import os, sys, time\nos.close(1); os.close(2)\ntime.sleep(0.3)\nos._exit(5)").exit_code == 5


def test_a_full_disk_is_an_error_inside_only(job: Job) -> None:
    program = (
        "f = open('/work/a', 'wb')\ntry:\n    for _ in range(100): f.write(bytes(1 << 20)); f.flush()\nexcept OSError "
        "as e: print(e.errno)"
    )
    assert _run(job, program).output == b"28\n"


def test_one_cpu_means_one_cpu(job: Job) -> None:
    assert _run(job, "import os; print(len(os.sched_getaffinity(0)))").output == b"1\n"


def test_sixteen_at_once(job: Job) -> None:
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda number: _run(job, f"print({number})"), range(16)))
    assert [outcome.output for outcome in outcomes] == [f"{number}\n".encode() for number in range(16)]


def test_a_failed_setup_leaves_nothing(job: Job) -> None:
    broken = replace(python_view(), binds=(("/nowhere/at/all", "/x"),))
    with (
        pytest.raises(RuntimeFailureError, match=r"step 'mounts' failed.*/nowhere/at/all"),
        launch.sandbox(job, broken),
    ):
        pytest.fail("a sandbox came of it")


def test_a_program_that_cannot_start_is_our_failure(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    view = replace(python_view(), interpreter="/no/python")
    monkeypatch.setattr("openfingym_runtime.sandbox.python_view.python_view", lambda: view)
    with pytest.raises(RuntimeFailureError, match="could not start the program"):
        _run(job, "")


def _launcher(job: Job) -> subprocess.Popen[str]:
    """A launcher process of its own, with the program already running in its sandbox."""
    code = f"""
        import sys, pathlib
        from openfingym_runtime.job import Job, Limits
        from openfingym_runtime.sandbox import SandboxBackend
        limits = Limits(60, 512, 1, 32, 16, 1 << 16)
        try:
            gate = pathlib.Path({str(job.gate_directory)!r})
            SandboxBackend().run(Job({job.rollout_id!r}, {FOREVER!r}, {{}}, gate, limits))
        except KeyboardInterrupt:
            print("interrupted")
    """
    path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier", "runtime", "runtime/agent"))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while len(_left(job)) < 4:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    return process


def _wait_until_gone(processes: list[psutil.Process]) -> None:
    _gone, alive = psutil.wait_procs(processes, timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_ctrl_c_takes_everything_along(job: Job) -> None:
    with _launcher(job) as launcher:
        family = psutil.Process(launcher.pid).children(recursive=True)
        assert len(family) >= 6
        launcher.send_signal(signal.SIGINT)
        assert launcher.communicate(timeout=20)[0] == "interrupted\n"
        _wait_until_gone(family)


def test_kill_9_of_the_launcher_takes_everything_along(job: Job) -> None:
    with _launcher(job) as launcher:
        family = psutil.Process(launcher.pid).children(recursive=True)
        assert len(family) >= 6
        launcher.kill()
        launcher.wait()
        _wait_until_gone(family)


def _python_for_others() -> str | None:
    """An interpreter that any user of this machine may start."""
    for name in (sys.executable, *(f"/usr/bin/python3{minor}" for minor in ("", ".13", ".12", ".11"))):
        if shutil.which(name) and all(folder.stat().st_mode & 0o001 for folder in Path(name).resolve().parents):
            version = subprocess.run(
                [name, "-c", "import sys; print(sys.version_info >= (3, 11))"],
                capture_output=True,
                text=True,
                check=False,
            )
            if version.stdout == "True\n":
                return name
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are the ordinary user's case already")
@pytest.mark.parametrize("start", ["cold", "warm"])
def test_an_ordinary_user_may_launch_too(job: Job, start: str) -> None:
    python = _python_for_others()
    if python is None:
        pytest.skip("no Python 3.11 or later on this machine that an ordinary user may start")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # which others may enter
        place = Path(folder)
        place.chmod(0o755)
        for part in ("openfingym", "runtime"):
            shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
        gate = place / "gate"
        gate.mkdir()
        code = f"""
            import pathlib
            from openfingym_runtime.job import Job, Limits
            from openfingym_runtime.sandbox import SandboxBackend
            backend = SandboxBackend()
            backend.check()
            limits = Limits(20, 256, 1, 32, 16, 1 << 16)
            program = (
                "import os, sys\\nprint(os.getresuid(), os.getresgid(), 'openfingym_agent' in sys.modules)\\n"
                "try: os.setuid(0)\\nexcept OSError as error: print(error.strerror)"
            )
            outcome = backend.run(Job({job.rollout_id!r}, program, {{}}, pathlib.Path({str(gate)!r}), limits))
            print(outcome.ended_by, outcome.output.decode())
            hog = "x = []\\nwhile True: x.append(bytearray(1 << 24))"
            print(backend.run(Job({job.rollout_id!r}, hog, {{}}, pathlib.Path({str(gate)!r}), limits)).ended_by)
        """
        environment = {"PYTHONPATH": f"{place}:{place / 'runtime'}", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["OPENFINGYM_WARM"] = str(int(start == "warm"))
        done = subprocess.run(
            [python, "-c", textwrap.dedent(code)],
            user=65534,
            group=65534,
            extra_groups=[],
            cwd="/",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.stderr == ""
    assert done.stdout.split("\n") == [
        f"exit {(65534,) * 3} {(65534,) * 3} {start == 'warm'}",
        "Invalid argument",  # root has no number there
        "",
        "memory",
        "",
    ]
