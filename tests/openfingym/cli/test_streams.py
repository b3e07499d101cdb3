"""Nobody need read what the command line prints: its exit status is that of its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = f"exec {sys.executable} -m openfingym"
FAILS = "report /nowhere/at/all"
"""Says in one line on stderr that there is nothing to report on."""


def shell(command: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **changes}
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("arguments", "status"), [("tasks --json", 0), ("--help", 0), (FAILS, 2)])
def test_who_reads_no_longer_changes_no_exit_status(arguments: str, status: int, unbuffered: str) -> None:
    done = shell(f"{PROGRAM} {arguments} 2>&1 | true; exit ${{PIPESTATUS[0]}}", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "status"), [("--version", 0), (FAILS, 2)])
def test_streams_that_were_never_open_are_not_taken_by_files(arguments: str, status: int, closed: str) -> None:
    done = shell(f"{PROGRAM} {arguments} {closed}")
    assert done.returncode == status
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
@pytest.mark.parametrize("arguments", ["tasks", "--version"])
def test_a_full_disk_is_an_error_that_is_said(arguments: str) -> None:
    done = shell(f"{PROGRAM} {arguments} >/dev/full")
    assert done.returncode == 4
    assert "standard output (No space left on device); free some space" in done.stderr
    assert "Traceback" not in done.stderr
    quiet = shell(f"{PROGRAM} {arguments} 2>/dev/full")
    assert (quiet.returncode, quiet.stderr) == (0, ""), "what is said beside the results may be lost"
