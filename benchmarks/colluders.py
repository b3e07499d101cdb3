"""What a thousand parties gain together from what a season tells them, and what an honest entrant is still found by.

Run ``python benchmarks/colluders.py [--short] [TASK...]`` from the root of the repository; some tens of minutes in all.
Prints the tables of docs/trust.md: disclosing seasons, by climbing and by questions of one bit, from the baseline and
from an honest answer 10 % better, and the same climb against exact scores; sealed seasons, in how many of which anybody
without skill is called better; and the power that is left at the number of entries, stated and simulated.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from size import SHORT, sized, status

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial.colluders import PARTIES, Season, climbed_by_exact_scores, collude, field_of
from tests.adversarial.sealed import Pilot, false_finds

TASKS = sized(
    ("treasury-forecast", "amazon-fraud", "mirai-relation-forecast", "equity-trading"), ("treasury-forecast",)
)
SEEDS = {"treasury-forecast": sized(8, 1), "amazon-fraud": 3, "mirai-relation-forecast": 3, "equity-trading": 2}
SPLITS = sized((15, 30, 0), (15,))
"""How many of the answers go to the climb; the others go to the edge."""
SEASONS, ENTRIES = sized(200, 2), sized(PARTIES, 20)
POWER_SEASONS = sized(1_000, 20)
SIGNALS = sized((0.6, 0.8, 1.2), (0.8,))
MOST_GAIN, MOST_FALSE, MOST_OFF = 0.01, 0.05, 0.03


def disclosing(task: HiddenTask) -> float:
    """Print what colluders gain on a task; returns the largest mean gain."""
    field = field_of(task)
    worst = -math.inf
    for start in (None, 0.1):
        numbers = None if start is None else field.honest(start)
        for climbs in SPLITS:
            gains, raised = [], 0
            for seed in range(SEEDS[task.name]):
                season = Season(task)
                best, begin = collude(field, season, seed, climbs=climbs, start=numbers)
                gains.append(field.gain(best) - field.gain(begin))
                raised += season.raised
            worst = max(worst, float(np.mean(gains)))
            begin = "the baseline" if start is None else f"honest, {field.gain(numbers):.1%}"
            print(
                f"| {task.name} | {begin} | {climbs} + {30 - climbs} | {np.mean(gains):+.2%} ({max(gains):+.2%}) | "
                f"{raised / len(gains):.1f} |",
                flush=True,
            )
    if task.spec.contract.kind == "forecast":
        gains = [climbed_by_exact_scores(field, seed, answers=sized(3 * PARTIES, 100)) for seed in range(sized(3, 1))]
        print(f"| {task.name} | the baseline | exact scores, all answers | {np.mean(gains):+.2%} | - |", flush=True)
    return worst


def sealed(task: HiddenTask) -> float:
    """Print in how many sealed seasons anybody without skill is called better; returns the share."""
    found = [false_finds(task, seed, entries=ENTRIES) for seed in range(SEASONS)]
    share = float(np.mean([count > 0 for count in found]))
    print(f"{share:.1%} of {SEASONS} sealed seasons with {ENTRIES} blind entries call somebody better", flush=True)
    return share


def powers(task: HiddenTask) -> float:
    """Print the power of an honest entrant, stated from some seasons and found in others; returns the largest
    difference.
    """
    print("\n| gain | entries | power, stated | found |\n|---|---|---|---|")
    off = 0.0
    for signal in SIGNALS:
        first, others = (
            Pilot.of(task, range(begin, begin + POWER_SEASONS), signal) for begin in (0, 10 * POWER_SEASONS)
        )
        for entries in (1, 10, 100, 1000):
            stated, found = first.stated(entries), others.found(entries)
            off = max(off, abs(stated - found))
            gain = -math.expm1(-float(first.gains.mean()))
            print(f"| {gain:.1%} | {entries} | {stated:.0%} | {found:.0%} |", flush=True)
    return off


def main() -> int:
    """Measure, and say whether the bounds are kept."""
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or TASKS
    print("| task | from | climb + edge | gain, mean (max) | rungs raised |\n|---|---|---|---|---|")
    gain = max(disclosing(load_hidden(build(load_task(name)))) for name in names)
    if len(names) < len(TASKS) and not SHORT:
        return status(gain < MOST_GAIN)
    task = load_hidden(build(load_task("treasury-forecast")))
    false, off = sealed(task), powers(task)
    print(f"\nlargest mean gain {gain:.2%}, false finds {false:.1%}, power off by {off:.1%}")
    return status(gain < MOST_GAIN and false <= MOST_FALSE and (SHORT or off <= MOST_OFF))


if __name__ == "__main__":
    sys.exit(main())
