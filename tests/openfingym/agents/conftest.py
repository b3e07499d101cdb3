"""Tiny tasks whose law is known, so that it is known what a baseline must find in them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.agents import resolve
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.task import Task

Panel = NDArray[np.float64]

TASK = """schema_version = "1.4"

[task]
name = "tests/{name}"
version = "0.1.0"
description = "A tiny task of the tests."

[metadata.openfingym]
format = 1
family = "{family}"
asset_class = "synthetic"
frequency = "daily"
panel = "a law that the test knows"

[metadata.openfingym.dataset]
file = "data.csv"
measure = "{measure}"
kind = "simulated"
source = "drawn by the tests"
licence = "CC0-1.0"

[metadata.openfingym.split]
train = {train}
public = {public}
private = {public}
embargo = 25
{scaling}

[metadata.openfingym.contract]
unit = "as drawn"
low = -1e9
high = 1e9
{contract}

[metadata.openfingym.scoring]
baseline = "{baseline}"

{metrics}
[metadata.openfingym.provenance]
paper = "none"
"""


def write_task(
    parent: Path,
    name: str,
    values: Panel,
    contract: dict[str, object],
    metrics: dict[str, float],
    *,
    channels: Sequence[str] = (),
    measure: str = "price",
    train: float = 0.6,
    scaling: str = "",
) -> BuiltPackage:
    """Write, read and build a task on ``values``, float64[rows, channels], one row a weekday; ``scaling`` of windows,
    if any."""
    channels = channels or [f"c{k}" for k in range(values.shape[1])]
    folder = parent / name
    folder.mkdir()
    days = np.busday_offset(np.datetime64("2000-01-03", "D"), np.arange(len(values)))
    rows = (f"{day}," + ",".join(f"{value:.10g}" for value in row) for day, row in zip(days, values, strict=True))
    (folder / "data.csv").write_text("\n".join([f"date,{','.join(channels)}", *rows]) + "\n")
    generation = contract["kind"] == "generation"
    text = TASK.format(
        name=name,
        family="generation" if generation else "forecasting",
        baseline="gaussian" if generation else "naive",
        measure=measure,
        train=train,
        scaling=f'scaling = "{scaling}"' if scaling else "",
        public=round((1.0 - train) / 2.0, 3),
        contract="\n".join(f"{key} = {json.dumps(value)}" for key, value in contract.items()),
        metrics="".join(
            f'[[metadata.openfingym.scoring.metrics]]\nname = "{key}"\nweight = {value}\n\n'
            for key, value in metrics.items()
        ),
    )
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("A tiny task of the tests.\n")
    return build(Task.read(folder))


MakeTask = Callable[..., BuiltPackage]


@pytest.fixture(scope="session")
def make_task(tmp_path_factory: pytest.TempPathFactory) -> MakeTask:
    """Writes and builds a task: ``make_task(name, values, contract, metrics)``, see :func:`write_task`."""
    parent = tmp_path_factory.mktemp("tasks")
    return functools.partial(write_task, parent)


Run = Callable[..., RolloutResult]


@pytest.fixture(scope="module")
def run_on(tmp_path_factory: pytest.TempPathFactory, forked_programs: str) -> Iterator[Run]:
    """Runs a built-in agent on a package through a real verifier; results are kept, so that files can be looked at."""
    out = tmp_path_factory.mktemp("runs")
    launchers: dict[str, Launcher] = {}
    known: dict[tuple[str, str, int], RolloutResult] = {}

    def run(package: BuiltPackage, agent: str, *, seed: int = 0, again: bool = False) -> RolloutResult:
        """The result of an agent; an earlier one, unless it is to be run again."""
        digest = package.manifest.digest
        if (digest, agent, seed) in known and not again:
            return known[digest, agent, seed]
        if digest not in launchers:
            launchers[digest] = Launcher(
                [package], backend=forked_programs
            ).__enter__()  # closed below, with all others
        result = launchers[digest].run(package, resolve(agent), RolloutOrder(seed=seed), out=out)
        assert result.path is not None
        assert result.state == "scored", (result.reason, (result.path / "output.log").read_text())
        assert result.submissions_accepted == 1
        assert result.exit_code == 0
        known[digest, agent, seed] = result
        return result

    yield run
    for launcher in launchers.values():
        launcher.__exit__(None, None, None)
