"""A run from Python: results in the order of the plan, nothing run twice, interruptions, and threads with a loop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from openfingym import rollouts
from openfingym.errors import UsageError
from openfingym.market.session.terms import SessionOrder
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts import single
from openfingym.rollouts.bounds import gate_bounds
from openfingym.rollouts.engine import RunWatcher
from openfingym.rollouts.preparation import Work
from openfingym.rollouts.selection import Selection
from openfingym_verifier.scoring.truth import load_task as load_truth
from tests.openfingym.rollouts.driving import NAIVE, Cli, runs

PLAN = {"tasks": ["treasury-forecast"], "agents": ["naive", "mean"], "seeds": 2, "backend": "inline", "concurrency": 2}

RUN = """
import signal, sys
from openfingym import rollouts
from openfingym.rollouts import single

for sign in (signal.SIGINT, signal.SIGTERM):
    signal.signal(sign, signal.default_int_handler)
try:
    rollouts.run(sys.argv[1], sys.argv[2])
except KeyboardInterrupt:
    print("interrupted", [signal.getsignal(sign).__name__ for sign in (signal.SIGINT, signal.SIGTERM)])
"""


class Listener(RunWatcher):
    """Notes what a run says."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def prepared(self, selection: Selection, work: Work) -> None:
        self.heard.append(("prepared", len(work.done), len(work.missing)))

    def ended(self, spec: rollouts.RolloutSpec, result: RolloutResult) -> None:
        self.heard.append(("ended", spec.agent.name, spec.seed, result.state))


def test_results_come_in_the_order_of_the_plan_and_nothing_runs_twice(treasury: BuiltPackage, tmp_path: Path) -> None:
    first, second = Listener(), Listener()
    plan = rollouts.Plan.make(PLAN)
    results = rollouts.run(plan, tmp_path / "run", watch=first)
    assert [(one.agent, one.seed, one.state) for one in results] == [
        (agent, seed, "scored") for seed in (0, 1) for agent in ("naive", "mean")
    ]
    assert first.heard[0] == ("prepared", 0, 4)
    assert sorted(first.heard[1:]) == sorted(("ended", one.agent, one.seed, "scored") for one in results)
    again = rollouts.run(plan, str(tmp_path / "run"), watch=second)
    assert second.heard == [("prepared", 4, 0)]
    assert [one.rollout_id for one in again] == [one.rollout_id for one in results]


def test_on_a_thread_that_runs_an_event_loop_it_says_what_to_do(treasury: BuiltPackage, tmp_path: Path) -> None:
    plan = rollouts.Plan.make({**PLAN, "agents": ["naive"], "seeds": 1})

    async def notebook() -> list[RolloutResult]:
        with pytest.raises(UsageError, match=r"await asyncio.to_thread\(rollouts.run, plan, out\)"):
            rollouts.run(plan, tmp_path / "run")
        return await asyncio.to_thread(rollouts.run, plan, tmp_path / "run")

    assert [one.state for one in asyncio.run(notebook())] == ["scored"]


@pytest.mark.sandbox
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_what_is_finished_and_nothing_else(
    treasury: BuiltPackage, cli: Cli, tmp_path: Path, sign: signal.Signals
) -> None:
    (tmp_path / "slow.py").write_text(
        f"import os\nif os.environ['OPENFINGYM_SEED'] == '1': import time; time.sleep(600)\n{NAIVE.format(pause=0)}"
    )
    plan, out = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text(
        "tasks = ['treasury-forecast']\nseeds = 2\nconcurrency = 1\nbackend = 'sandbox'\n"
        "[[agents]]\nname = 'slow'\nprogram = 'slow.py'\n"
    )
    command = [sys.executable, "-c", RUN, str(plan), str(out)]
    with subprocess.Popen(command, env=cli.environment, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not runs(out) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # into the second rollout
        os.kill(process.pid, sign)
        said, _ = process.communicate(timeout=120)
    assert said == "interrupted ['default_int_handler', 'default_int_handler']\n"
    assert [(one["seed"], one["state"]) for one in runs(out)] == [(0, "scored")]
    assert cli.leftovers() == []


def test_the_gate_forwards_whatever_body_the_verifier_would_read(treasury: BuiltPackage) -> None:
    longest, _ = gate_bounds(treasury)
    assert longest == load_truth(treasury).max_body_bytes
    # The longest text of a float64, in a submission of nothing else.
    number = repr(-np.nextafter(np.finfo(np.float64).tiny, 1.0))
    assert (len(number) + 1) * np.prod(treasury.manifest.submission_shape) < longest


@pytest.mark.parametrize("duration_s", [0, 61, 25_200, 360_000])
def test_a_session_that_cannot_last_so_long_is_refused_before_anything_begins(tmp_path: Path, duration_s: int) -> None:
    with pytest.raises(UsageError, match=f"a session cannot last {duration_s} s; expected a multiple of 60 s"):
        single.run("crypto-trading-live", agent="cash", session=SessionOrder(duration_s=duration_s), out=tmp_path)
    assert list(tmp_path.iterdir()) == []
