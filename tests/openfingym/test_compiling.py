"""Compiled functions: compiled once, however many processes begin at the same time, and also without a cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
from openfingym.compiling import compiled

made = compiled(total)
print("ready", flush=True)
sys.stdin.readline()
assert made(np.arange(4.0)) == 6.0
print(sum(made.stats.cache_misses.values()) if made.stats else "compiled")
"""


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    (folder / "functions.py").write_text(FUNCTION)
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
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
    misses = [int(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(misses) == [0, 0, 1]


def test_where_nothing_can_be_written_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    process = start(tmp_path, NUMBA_CACHE_DIR="/proc/nowhere")
    process.communicate("\n")
    assert process.returncode == 0
