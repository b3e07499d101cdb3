"""A report on a ledger of one million scored forecasts, beside summing one of its columns in SQL and nothing more.

Run ``python benchmarks/forecast_report.py [FORECASTS]``. Prints wall seconds, CPU seconds and peak memory of each
child, medians of interleaved runs, and the ratio to the bare sum. Children start Python and import what they need.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from size import sized

from scripts.simulated_season import PEOPLE, write_season

FORECASTS = sized(1_000_000, 2_000)
RUNS = sized(5, 1)
WEEKS = sized(104, 12)
SUM = """
import sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(connection.execute("SELECT sum(loss) FROM forecasts WHERE counts = 1 AND loss IS NOT NULL").fetchone())
"""
REPORT = """
import sys
from pathlib import Path
from openfingym.reports.forecasts import forecast_report
found = forecast_report(Path(sys.argv[1]))
print(found.forecasts)
"""
PAGE = REPORT + "print(len(found.html()))\n"
JSON = REPORT + "print(len(found.to_json()))\n"
CHILDREN = {"sum in SQL": SUM, "report": REPORT, "report and page": PAGE, "report and JSON": JSON}


def measured(program: str, ledger: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB of a child."""
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", program, str(ledger)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"a child failed with {child.returncode}")
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else FORECASTS
    people = tuple(dataclasses.replace(one, name=f"{one.name}-{n}") for n in range(3) for one in PEOPLE)
    attending = sum(one.answers * (WEEKS - one.since) for one in people)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        count = write_season(ledger, people, weeks=WEEKS, questions=round(wanted / attending))
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in CHILDREN}
        for _ in range(RUNS):
            for name, program in CHILDREN.items():
                found[name].append(measured(program, ledger))
        medians = {name: [statistics.median(one) for one in zip(*runs, strict=True)] for name, runs in found.items()}
        size = ledger.stat().st_size / 1e6
    print(f"{count:,} forecasts of {len(people)} forecasters in {WEEKS} weeks, a ledger of {size:.0f} MB")
    for name, (wall, cpu, peak) in medians.items():
        ratio = wall / medians["sum in SQL"][0]
        print(f"{name:>16}: {wall:6.2f} s wall, {cpu:6.2f} s CPU, {peak:6.0f} MB, {ratio:6.1f} x the sum")
    print(json.dumps(medians))


if __name__ == "__main__":
    main()
