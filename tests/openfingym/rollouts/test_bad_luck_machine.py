"""A machine that runs out of memory or disk, whose clock is changed, and that has more to do than it can at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psutil
import pytest

from openfingym.models.testing import StandIn
from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym.packages.package import BuiltPackage
from tests.openfingym.rollouts.driving import NAIVE, Cli, fill, require_complete, run_of, runs, script, wait_for

ISOLATED = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]
GREEDY = """
import os
if int(os.environ["OPENFINGYM_SEED"]) % 2:
    hoard = []
    while True:
        hoard.append(b"x" * (64 << 20))
""" + NAIVE.format(pause="0")
"""Takes more memory than there is where its seed is odd."""


class Greedy:
    """A model that runs the program once, and submits nothing of its own."""

    def respond(self, request: CompletionRequest) -> Reply:
        if request.turn:
            return Reply("Done.")
        return Reply("Let me see.", calls=(Call("run_python", {"code": GREEDY}),))


@pytest.mark.parametrize("backend", ISOLATED)
@pytest.mark.parametrize("name", ["script", "react"])
def test_who_takes_too_much_memory_has_failed_and_nobody_else(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path, backend: str, name: str
) -> None:
    out = tmp_path / "run"
    with StandIn(policies={"greedy": Greedy()}) as stand_in:
        agent = {
            "script": script(tmp_path / "greedy.py", GREEDY),
            "react": ["--agent", "react", "--model", "greedy", "--base-url", stand_in.base_url],
        }[name]
        status, _, err = cli.run(*run_of(*agent, out=out, seeds=4, backend=backend))
    assert status == 3, err
    assert "will be tried again" not in err
    found = {one["seed"]: one for one in runs(out)}
    assert [found[seed]["state"] for seed in range(4)] == ["scored", "rejected", "scored", "rejected"]
    for folder in out.glob("*/*-s[13]-*"):
        # An agent that talks may have been told, and have gone on.
        told = folder / ("result.json" if name == "script" or backend == "sandbox" else "trajectory.json")
        assert "memory" in told.read_text()
    assert cli.leftovers() == []


@pytest.mark.sandbox
def test_a_disk_that_fills_ends_the_run_which_goes_on_with_space(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path, small_disk: Path
) -> None:
    out = small_disk / "run"
    slow = script(tmp_path / "slow.py", NAIVE.format(pause="0.5"))
    command = run_of(*slow, out=out, seeds=6, backend="sandbox")
    process = cli.start(*command)
    wait_for(out, 1)
    ballast = fill(small_disk)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 6, err
    assert "No space left" in err
    assert "free some space, then run the same command again" in err
    assert "Traceback" not in err
    kept = runs(out)
    assert {one["state"] for one in kept} == {"scored"}
    assert 1 <= len(kept) < 6
    assert cli.leftovers() == []
    ballast.unlink()
    status, _, err = cli.run(*command)
    assert status == 0, err
    require_complete(out, 6)
    assert not (out / ".failed").exists()
    assert cli.leftovers() == []


@pytest.mark.sandbox
def test_without_space_for_temporary_files_nothing_is_scored_and_it_is_said(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path, small_disk: Path
) -> None:
    out = tmp_path / "run"
    ballast = fill(small_disk)
    usual = dict(cli.environment)
    cli.environment |= {"TMPDIR": str(small_disk), "XDG_RUNTIME_DIR": str(small_disk)}
    command = ["--tasks", "treasury-forecast", "--agent", "naive", "--backend", "sandbox", "--out", str(out)]
    status, _, err = cli.run(*command)
    assert status in {4, 6}, err
    assert "No space left" in err
    assert "Traceback" not in err
    assert {one["state"] for one in runs(out)} <= {"error"}
    ballast.unlink()
    cli.environment.update(usual)
    status, _, err = cli.run(*command, "--retry", "error")
    assert status == 0, err
    require_complete(out, 1)


def test_a_hundred_queued_leave_nothing_behind_and_take_no_more_than_the_first(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = cli.start(*run_of("--agent", "nop", out=out, seeds=120, backend="inline"))
    seen = psutil.Process(process.pid)
    early: list[tuple[int, int, int]] = []
    late: list[tuple[int, int, int]] = []
    assert process.stderr is not None
    for line in process.stderr:
        done = int(line.partition("/120 ")[0]) if re.match(r"\d+/120 ", line) else 0
        if 25 <= done < 35 or 106 <= done < 116:
            taken = early if done < 35 else late
            taken.append((seen.memory_info().rss, seen.num_fds(), seen.num_threads()))
            assert len(list((out / ".staging").iterdir())) <= 3, "what runs, and one that is about to"
    process.communicate(timeout=60)
    assert process.returncode == 3, "they submit nothing"
    require_complete(out, 120, "rejected")
    assert len(early) == len(late) == 10
    # The least of each: programs come and go, whose files and threads are some more.
    (before, files, threads), (after, files_after, threads_after) = (
        map(min, zip(*taken, strict=True)) for taken in (early, late)
    )
    assert after - before < 4 << 20
    assert files_after - files <= 4
    assert threads_after <= threads
    assert cli.leftovers() == []


SET_CLOCK = """
import os, pathlib, time
_shift, _time_ns = pathlib.Path(os.environ["TEST_CLOCK"]), time.time_ns
time.time_ns = lambda: _time_ns() + int(_shift.read_text()) * 10**9
time.time = lambda: time.time_ns() / 1e9
"""
"""Python runs this at the start of every process; the monotonic clock is left alone, as by whoever sets a clock."""
TWICE = """
import time, interface, numpy as np
for practice in (True, False):
    interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1), practice=practice)
    time.sleep(1.0 if practice else 0.0)
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("days", [1, -1])
def test_a_clock_that_is_set_under_a_run_changes_no_result(
    cli: Cli, treasury: BuiltPackage, tmp_path: Path, days: int
) -> None:
    out, clock = tmp_path / "run", tmp_path / "shift"
    clock.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(SET_CLOCK)
    cli.environment["PYTHONPATH"] = f"{tmp_path}:{cli.environment['PYTHONPATH']}"
    cli.environment["TEST_CLOCK"] = str(clock)
    process = cli.start(*run_of(*script(tmp_path / "twice.py", TWICE), out=out, seeds=6, backend="sandbox"))
    wait_for(out, 1)
    fresh = clock.with_suffix(".new")
    fresh.write_text(str(days * 86400))
    fresh.rename(clock)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "will be tried again" not in err
    require_complete(out, 6)
    for one in runs(out):
        assert one["submissions_accepted"] == 1
        assert 1.0 <= float(str(one["wall_s"])) < 120.0
    for path in out.glob("*/*/log.jsonl"):
        written = [json.loads(line)["entry"]["at_ns"] for line in path.read_text().splitlines()]
        assert len(written) >= 4
        assert written == sorted(written)
    assert cli.leftovers() == []
