"""Every benchmark, one after the other, and a table of all of them at the end.

python benchmarks/run.py [--short] [NAME ...]

Each prints what it measures and runs in a process of its own. In the table, `met` is one whose targets are met or that
has none, `missed` one that is slower than a target of its own, and `failed` one that did not come to its end.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

from size import OPTION, SHORT

FOLDER = Path(__file__).parent
PARTS = frozenset({"metric_peers", "run", "size", "trading_peers"})
"""Modules that are no benchmarks: parts of others, and what all have in common."""
MISSED = 1
"""Exit status of a benchmark that missed a target; a traceback has it too, and is told from it by what it prints."""


def names() -> list[str]:
    """The benchmarks, in the order of their names."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in PARTS)


def measured(name: str) -> tuple[str, str, float, float]:
    """Run a benchmark, printing what it prints; returns its name, how it ended, and wall and CPU seconds."""
    print(f"\n== {name}", flush=True)
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(FOLDER / f"{name}.py"), *([OPTION] if SHORT else [])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            sys.stderr.write(line)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    broken = any(line.startswith("Traceback") for line in said) or child.returncode not in {0, MISSED}
    ended = "failed" if child.returncode and broken else "missed" if child.returncode else "met"
    return name, ended, time.perf_counter() - begun, cpu


def main() -> int:
    """Run those that are named, or all; fails if one failed."""
    known, asked = names(), sys.argv[1:]
    if unknown := [name for name in asked if name not in known]:
        print(f"no benchmark is named {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    rows = [measured(name) for name in asked or known]
    print(f"\n{'benchmark':20} {'targets':>8} {'wall s':>9} {'CPU s':>9}")
    for name, ended, wall, cpu in rows:
        print(f"{name:20} {ended:>8} {wall:9.1f} {cpu:9.1f}")
    return int(any(ended == "failed" for _, ended, _, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
