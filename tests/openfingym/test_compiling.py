"""Compiled functions: compiled once, however many processes begin at the same time, and also without a cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym.files import locks

FUNCTION = """
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result
"""
PROGRAM = """
import sys
import numpy as np
from functions import total
import openfingym.compiling
from openfingym.compiling import compiled

openfingym.compiling.PATIENCE = 0.01
made = compiled(total, "the sum")
print("ready", flush=True)
sys.stdin.readline()
assert made(np.arange(4.0)) == 6.0
print(sum(made.stats.cache_misses.values()) if made.stats else "compiled")
"""


COMPILING = "compiling, for the first time, the sum; it is cached\n"


def start(folder: Path, first: str = "", **environment: str) -> subprocess.Popen[str]:
    (folder / "functions.py").write_text(FUNCTION)
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", first + PROGRAM],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_processes_that_begin_together_compile_once(tmp_path: Path) -> None:
    processes = [start(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate() for process in processes]
    misses = [int(out) for out, _ in said]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(misses) == [0, 0, 1]
    assert COMPILING in [errors for missed, (_, errors) in zip(misses, said, strict=True) if missed]
    assert {errors for _, errors in said} <= {"", COMPILING}, "who waits may be told the same"


def test_what_is_in_the_cache_is_taken_without_a_word(tmp_path: Path) -> None:
    said = [start(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).communicate("\n") for _ in range(2)]
    assert said == [("1\n", COMPILING), ("0\n", "")]


def test_a_user_silences_it_as_any_logger(tmp_path: Path) -> None:
    quiet = 'import logging; logging.getLogger("openfingym.compiling").setLevel("ERROR")\n'
    assert start(tmp_path, quiet, NUMBA_CACHE_DIR=str(tmp_path / "cache")).communicate("\n") == ("1\n", "")


def test_where_nothing_can_be_written_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    process = start(tmp_path, NUMBA_CACHE_DIR="/proc/nowhere")
    _, errors = process.communicate("\n")
    assert process.returncode == 0
    assert errors.startswith("compiling, for the first time, the sum")


def test_where_the_source_is_read_only_the_cache_is_the_users(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    site.mkdir()
    home.mkdir()
    (site / "__pycache__").touch()  # a file where Numba would make a folder: root may write anywhere
    users = {"NUMBA_CACHE_DIR": "", "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    said = [start(site, **users).communicate("\n") for _ in range(2)]
    assert said == [("1\n", COMPILING), ("0\n", "")]
    assert list(home.rglob("*.nbc"))


def test_a_disk_that_is_full_fails_nothing(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    process = start(tmp_path, full, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    process.communicate("\n")
    assert process.returncode == 0
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_cache_fails_nothing(tmp_path: Path, kind: str) -> None:
    cache = tmp_path / "cache"
    start(tmp_path, NUMBA_CACHE_DIR=str(cache)).communicate("\n")
    (damaged,) = cache.rglob(f"*.{kind}")
    damaged.write_bytes(damaged.read_bytes()[:100])
    process = start(tmp_path, NUMBA_CACHE_DIR=str(cache))
    process.communicate("\n")
    assert process.returncode == 0


def test_a_process_that_was_stopped_while_compiling_is_not_waited_for_forever(tmp_path: Path) -> None:
    cache, soon = tmp_path / "cache", "import openfingym.compiling; openfingym.compiling.LONGEST_WAIT_S = 0.3\n"
    start(tmp_path, NUMBA_CACHE_DIR=str(cache)).communicate("\n")
    (lock,) = cache.rglob("*.lock")
    with locks.take(lock):
        process = start(tmp_path, soon, NUMBA_CACHE_DIR=str(cache))
        process.communicate("\n", timeout=60)
    assert process.returncode == 0
