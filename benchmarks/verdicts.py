"""How often reports are right: equal models told apart, planted differences found, intervals that hold the truth.

Run ``python benchmarks/verdicts.py [REPORTS]`` (or with ``--short``) from the root of the repository; 2,000 reports a
design take minutes. Prints the table of docs/reports.md, and how the interval of one row's own skill does.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from size import sized

from tests.openfingym.reports.verdict_designs import DESIGNS, measure, measure_own

REPORTS = sized(2_000, 10)


def main() -> None:
    """Measure every design and print a line for each."""
    reports = int(sys.argv[1]) if len(sys.argv) > 1 else REPORTS
    print("| design | equal models told apart | interval holds the truth | width | 80 % found |\n|---|---|---|---|---|")
    for name, design in DESIGNS.items():
        found = measure(design, reports)
        print(
            f"| {name} | {found.named:.1%} | {found.covered:.1%} | {found.width:.2f} | {found.found:.1%} of "
            f"{found.detectable:.2g} |",
            flush=True,
        )
    for name, design in DESIGNS.items():
        covered, width = measure_own(design, reports)
        print(f"{name}: the interval of a row's own skill holds the truth {covered:.1%}, width {width:.2f}", flush=True)


if __name__ == "__main__":
    main()
