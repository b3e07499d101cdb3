"""Rollouts in workspaces that were started before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.rollouts import LocalRollouts, RolloutSettings, RolloutSpec
from openfingym.rollouts.launcher import Launcher

from .conftest import player


@pytest.mark.sandbox
def test_what_waits_is_taken_and_nothing_stays(
    store_home: Path, tmp_path: Path, warm_start: Callable[..., None]
) -> None:
    package = build(load_task("treasury-forecast"))
    # What stays for as long as this process is there before: fork servers, and the verifiers that tests share.
    warm_start(science=True)
    with Launcher([package]):
        before = {process.pid for process in psutil.Process().children(recursive=True)}
    with Launcher([package], backend="sandbox") as launcher:
        launcher.warm(launcher.packages[0], resolve("oneshot"), 3)
        pool = launcher._parts.line_of(launcher.packages[0]).pool
        assert pool is not None
        give_up = time.monotonic() + 20
        while pool.waiting < 2 and time.monotonic() < give_up:
            time.sleep(0.05)
        assert pool.waiting == 2
        play = player(launcher, tmp_path)
        for agent, policy in (("oneshot", "competent"), ("react", "competent"), ("oneshot", "careless")):
            left = play(agent, policy)
            assert left.result.state == ("scored" if policy == "competent" else "rejected")
            assert left.result.ended_by == ("exit" if agent == "oneshot" else "finished")
        assert left.result.exit_code == 1
        assert "SubmissionRefused" in str(left.result.reason)
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


@pytest.mark.sandbox
def test_every_rollout_of_a_run_finds_a_workspace(store_home: Path, tmp_path: Path) -> None:
    package = build(load_task("treasury-forecast"))
    specs = [
        RolloutSpec("treasury-forecast", package.manifest.digest, resolve("oneshot"), "stand-in/competent", seed=n)
        for n in (0, 1)
    ]
    with LocalRollouts([package], RolloutSettings("sandbox", upcoming=tuple(specs), places=2)) as rollouts:
        assert rollouts.run(specs[0], tmp_path, threading.Event()).state == "scored"
        assert rollouts._started is not None
        pool = rollouts._started.launcher._parts.line_of(package).pool
        assert pool is not None
        give_up = time.monotonic() + 60
        while pool.waiting == 0 and time.monotonic() < give_up:
            time.sleep(0.05)
        assert pool.waiting == 1, "for the second, though the first had begun before the pool was there"
        assert rollouts.run(specs[1], tmp_path, threading.Event()).state == "scored"
        assert pool.waiting == 0
