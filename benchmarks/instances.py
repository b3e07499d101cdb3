"""Instances of forecast tasks, as a verifier makes them, beside loading the task's own package in the same run.

Run ``python benchmarks/instances.py [TASK...]``. Seconds are of the processor, in the order of time both in turn.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from size import sized

from openfingym.catalog import load_task as known
from openfingym.packages.build import build
from openfingym_verifier.episodes.instances import TaskInstances
from openfingym_verifier.scoring.truth import load_task

TASKS = ("treasury-forecast", "fx-forecast", "stock10-forecast", "commodity-forecast")
TIMES = sized(30, 1)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    with ThreadPoolExecutor(1) as threads, tempfile.TemporaryDirectory() as state:
        for name in sys.argv[1:] or sized(TASKS, TASKS[:1]):
            package = build(known(name))
            task, instances = load_task(package), TaskInstances(Path(state), threads)
            instances.built(task, "train", TIMES)  # which reads the package
            own, made = [], []
            for index in range(TIMES):
                own.append(seconds(partial(load_task, package)))
                made.append(seconds(partial(instances.built, task, "train", index)))
            ratio = median(made) / median(own)
            print(
                f"{name}: an instance built and loaded in {1e3 * median(made):.1f} ms, the package loaded in "
                f"{1e3 * median(own):.1f} ms, ratio {ratio:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
