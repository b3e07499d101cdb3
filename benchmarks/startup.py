"""CPU cost of starting: ``openfingym --help`` and ``import openfingym``, beside bare Python and Gymnasium.

Run ``python benchmarks/startup.py``. Prints medians of CPU seconds (user + system of the child) and ratios to bare
Python.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

from size import sized

RUNS = sized(15, 1)


def cpu_s(command: list[str]) -> float:
    """CPU seconds of one run of ``command``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main() -> None:
    """Measure, interleaved, and print the table."""
    python, script = sys.executable, str(Path(sys.executable).with_name("openfingym"))
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import openfingym": [python, "-c", "import openfingym"],
        "openfingym --help": [script, "--help"],
        "openfingym tasks": [script, "tasks"],
        "import gymnasium": [python, "-c", "import gymnasium"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            times[name].append(cpu_s(command))
    base = statistics.median(times["python -c pass"])
    print(f"{'command':22} {'CPU s':>8} {'ratio':>8}")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:22} {median:8.3f} {median / base:8.1f}")


if __name__ == "__main__":
    main()
