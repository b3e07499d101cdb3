"""``openfingym report`` on 10,000 finished rollouts, beside reading their ``result.json`` and nothing more.

Run ``python benchmarks/report.py [ROLLOUTS]``. Prints wall seconds, CPU seconds and peak memory of each child, medians
of interleaved runs, and ratios to the bare reading.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from size import sized

from openfingym import catalog
from openfingym.results import RolloutResult

ROLLOUTS = sized(10_000, 20)
RUNS = sized(3, 1)
AGENTS = [(agent, f"model-{n}") for agent in ("oneshot", "react", "codeblock") for n in range(4)]
BARE = """
import json, sys
from pathlib import Path
print(len([json.loads(path.read_bytes()) for path in Path(sys.argv[1]).rglob("result.json")]))
"""


def write_runs(root: Path, count: int) -> None:
    """Write ``count`` rollouts of all tasks by twelve agents: nine of ten scored."""
    generator = np.random.default_rng(0)
    infos = catalog.tasks()
    inputs = {"agent_digest": "0" * 64, "allowance": {"turns": 10}}
    for number in range(count):
        agent, model = AGENTS[number % len(AGENTS)]
        info = infos[number // len(AGENTS) % len(infos)]
        state = ("scored", "rejected", "error")[int(np.searchsorted([0.9, 0.97], generator.random()))]
        relative = float(generator.lognormal(-0.2, 0.4)) if state == "scored" else None
        result = RolloutResult(
            rollout_id=f"r{number}",
            task=info.name,
            task_digest="0" * 64,
            data_kind=info.data_kind,
            agent=agent,
            backend="docker",
            seed=number // (len(AGENTS) * len(infos)),
            state=state,  # type: ignore[arg-type]
            reason=None if relative else "no submission was accepted",
            total=relative,
            relative_total=relative,
            metrics={"mae": 0.1, "rmse": 0.2} if relative else {},
            baseline_metrics={"mae": 0.1, "rmse": 0.2},
            wall_s=30.0,
            model=model,
            boundary=None if relative else "agent" if state == "rejected" else "verifier",
            prompt_tokens=8000,
            completion_tokens=1000,
            cost_usd=0.02,
        )
        folder = root / info.name / f"{agent}-{model}-{number}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(result.to_dict(), indent=2, sort_keys=True))
        (folder / "config.json").write_text(json.dumps({"inputs": inputs}))


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MB of one child."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0


def main() -> None:
    """Measure, interleaved, and print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROLLOUTS
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_runs(root / "runs", count)
        report = [sys.executable, "-m", "openfingym", "report"]
        commands = {
            "bare json.loads": [sys.executable, "-c", BARE, str(root / "runs")],
            "report": [*report, str(root / "runs")],
            "report --html --csv": [
                *report,
                str(root / "runs"),
                "--html",
                str(root / "t.html"),
                "--csv",
                str(root / "t.csv"),
            ],
        }
        found: dict[str, list[tuple[float, float, float]]] = {title: [] for title in commands}
        for _ in range(RUNS):
            for title, command in commands.items():
                found[title].append(measure(command))
    base = statistics.median(wall for wall, _, _ in found["bare json.loads"])
    print(f"{count:,} rollouts\n{'command':22} {'wall s':>8} {'CPU s':>8} {'MB':>7} {'ratio':>7}")
    for title, values in found.items():
        wall, cpu, memory = (statistics.median(column) for column in zip(*values, strict=True))
        print(f"{title:22} {wall:8.2f} {cpu:8.2f} {memory:7.0f} {wall / base:7.1f}")


if __name__ == "__main__":
    main()
