"""Building every package from a clean store: seconds, peak memory, size on disk; no peer, so no ratio.

Run ``python benchmarks/packages.py``.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from size import sized

BUILD = """
import resource, sys, time
from openfingym import catalog
from openfingym.packages.build import build
import sys
names = sys.argv[1:] or list(catalog.task_folders())
for name in names:
    start = time.perf_counter()
    build(catalog.load_task(name))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.perf_counter() - start:8.2f} s  {peak:6.0f} MiB so far  {name}", flush=True)
"""


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="openfingym-benchmark-"))
    try:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", BUILD, *sized([], ["fx-forecast"])],
            check=True,
            env={**os.environ, "OPENFINGYM_HOME": str(home)},
        )
        wall = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        print(f"all: {wall:.1f} s wall, {used.ru_utime + used.ru_stime:.1f} s CPU")
        print(f"peak {used.ru_maxrss / 1024:.0f} MiB of memory, {size / 2**20:.0f} MiB on disk")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
