"""The inline backend: a plain program, and nothing of it left however its launcher ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from openfingym_runtime import owned_directory
from openfingym_runtime.inline import InlineBackend
from openfingym_runtime.job import Job

FAMILY = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
place = pathlib.Path({place!r})
place.with_suffix(".partial").write_text(f"{{os.getpid()}} {{child.pid}} {{os.getcwd()}}")
place.with_suffix(".partial").rename(place)
time.sleep({pause})
"""
"""Has a child, and tells where they are."""


@pytest.fixture(autouse=True)
def private_root(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_dir))
    return owned_directory.private_root()


def test_a_program_is_run_as_python_runs_it(make_job: Callable[..., Job], private_root: Path) -> None:
    program = """
import sys, openfingym_agent
print(__name__, __file__ == sys.argv[0], sys.argv[1:], sys.path[0] in __file__, sys.stdin.read())
"""
    outcome = InlineBackend().run(make_job(program))
    assert (outcome.ended_by, outcome.exit_code, outcome.output) == ("exit", 0, b"__main__ True [] True \n")
    assert list(private_root.iterdir()) == []


@pytest.mark.parametrize(("program", "code", "words"), [
    ("raise SystemExit(3)", 3, b""),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, b""),
    ("1 / 0", 1, b"ZeroDivisionError: division by zero\n"),
    ("1 +", 1, b"SyntaxError: invalid syntax\n"),
])  # fmt: skip
def test_how_it_ended_is_told(make_job: Callable[..., Job], program: str, code: int, words: bytes) -> None:
    outcome = InlineBackend().run(make_job(program))
    assert (outcome.ended_by, outcome.exit_code) == ("exit", code)
    assert outcome.output.endswith(words)


def _family(place: Path) -> tuple[list[psutil.Process], Path]:
    first, second, folder = place.read_text().split(" ", 2)
    found = []
    for pid in (first, second):
        try:
            found.append(psutil.Process(int(pid)))
        except psutil.NoSuchProcess:
            continue
    return found, Path(folder)


@pytest.mark.parametrize("pause", [0, 60])
def test_what_a_program_started_ends_with_it(
    make_job: Callable[..., Job], tmp_path: Path, private_root: Path, pause: int
) -> None:
    place = tmp_path / "family"
    job = make_job(FAMILY.format(place=str(place), pause=pause))

    def cancel() -> None:
        while not place.exists():
            time.sleep(0.01)
        job.cancel.set()

    if pause:
        threading.Thread(target=cancel).start()
    outcome = InlineBackend().run(job)
    assert outcome.ended_by == ("cancelled" if pause else "exit")
    assert psutil.wait_procs(_family(place)[0], timeout=10)[1] == []
    assert list(private_root.iterdir()) == []


def test_a_killed_launcher_takes_its_program_along_and_the_next_removes_its_folder(
    tmp_path: Path, private_root: Path
) -> None:
    place = tmp_path / "family"
    code = f"""
        import pathlib
        from openfingym_runtime.inline import InlineBackend
        from openfingym_runtime.job import Job, Limits
        program = {FAMILY.format(place=str(place), pause=60)!r}
        InlineBackend().run(Job("r", program, {{}}, pathlib.Path("/tmp"), Limits(60, 512, 1, 32, 16, 1 << 16)))
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=environment) as launcher:
        while not place.exists():
            assert launcher.poll() is None
        processes, folder = _family(place)
        launcher.kill()
    assert len(processes) == 2
    assert psutil.wait_procs(processes, timeout=20)[1] == []
    assert folder.is_relative_to(private_root)
    assert owned_directory.reap() == 1
    assert list(private_root.iterdir()) == []
