"""``openfingym forge run``, killed with its whole process group, goes on, and ends as if it never had been killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.sweeps import fixed_part

CORPUS = Path(__file__).parent / "corpus"
PAPERS = ("treasury-curve.pdf", "calm-forecasts.txt")
RECORDS = ("harvest", "screen", "extract", "rewards")
"""Stages; as soon as one of them has left a record, everything is killed."""


def command(papers: Path, out: Path) -> list[str]:
    options = ["--model", "stand-in/forge", "--out", str(out), "--backend", "inline", "--upto", "assemble"]
    return [sys.executable, "-c", "from openfingym.cli import main; main()", "forge", "run", str(papers), *options]


def timeless(value: object) -> object:
    """A record without what differs from run to run: seconds and times of day."""
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key not in {"seconds", "when", "time", "started"}}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def content(forge: Path) -> dict[str, object]:
    """Every file of a forge but the journals of its requests, by its path."""
    found: dict[str, object] = {}
    for path in sorted(forge.rglob("*")):
        name = path.relative_to(forge).as_posix()
        if path.is_dir() or path.name.endswith(("journal.jsonl", ".lock")):
            continue
        found[name] = timeless(json.loads(path.read_text())) if path.suffix == ".json" else path.read_bytes()
    return found


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    for name in PAPERS:
        shutil.copy(CORPUS / name, folder)
    return folder


@pytest.fixture(scope="module")
def whole(papers: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a run leaves that nobody troubles."""
    out = tmp_path_factory.mktemp("whole") / "forge"
    subprocess.run(command(papers, out), check=True, capture_output=True)
    found = content(out)
    assert sum(name.endswith("/task/task.toml") for name in found) == 1
    return found


def test_killed_again_and_again_it_ends_as_if_it_never_had_been(
    papers: Path, whole: dict[str, object], tmp_path: Path
) -> None:
    out = tmp_path / "forge"
    for stage in fixed_part(RECORDS, 2):
        process = subprocess.Popen(
            command(papers, out), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 60
        while not list(out.glob(f"papers/*/{stage}.json")) and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert psutil.wait_procs(below, timeout=30)[1] == []
    done = subprocess.run(command(papers, out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert content(out) == whole
    assert [path for path in out.rglob("*") if "partial" in path.name] == []
