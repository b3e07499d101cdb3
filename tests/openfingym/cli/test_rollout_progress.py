"""What people see of a run: lines in a log, a bar on a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.cli.rollout_progress import LiveProgress, duration
from tests.openfingym.rollouts.driving import paper, spec


def tell(progress: LiveProgress, out: Path) -> None:
    with progress:
        for seed, state in enumerate(["scored", "rejected", "error"]):
            progress.started(spec(seed=seed))
            if seed == 2:
                progress.again(spec(seed=seed), "the engine\nwent away " + "x" * 500)
                progress.started(spec(seed=seed))
            progress.ended(spec(seed=seed), paper(spec(seed=seed), state, out))


def test_a_log_has_a_line_for_each_result_and_each_failure_of_ours(tmp_path: Path) -> None:
    stream = io.StringIO()
    tell(LiveProgress(5, 2, stream=stream), tmp_path)
    lines = stream.getvalue().splitlines()
    assert [re.match(r"(\d/5 )?some-task test seed \d", line) is not None for line in lines] == [True] * 4
    assert lines[0] == "3/5 some-task test seed 0: scored, skill 0.2 (0.0 s; about 0 s left)"
    assert lines[1] == "4/5 some-task test seed 1: rejected: as it was told to (0.0 s; about 0 s left)"
    assert lines[2].startswith(
        "some-task test seed 2: failed for a reason of ours, will be tried again: the engine went away xxx"
    )
    assert len(lines[2]) < 250
    assert lines[3].startswith("5/5 some-task test seed 2: error")


def test_what_is_left_follows_from_what_this_process_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("openfingym.cli.rollout_progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    with LiveProgress(30, 10, stream=stream) as progress:
        now += 500.0  # starting takes its time, and says nothing of the rollouts
        for seed in range(2):
            progress.started(spec(seed=seed))
            now += 100.0
            progress.ended(spec(seed=seed), paper(spec(seed=seed), "scored", tmp_path))
    assert [re.search(r"about (.*) left", line)[1] for line in stream.getvalue().splitlines()] == [
        "31 min 40 s",
        "30 min 0 s",
    ]  # type: ignore[index]  # every line has one


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (9600, "2 h 40 min")]
)
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_wish_to_stop_is_answered_at_once_and_again() -> None:
    stream = io.StringIO()
    with LiveProgress(5, 2, stream=stream) as progress:
        progress.stopping()
        progress.stopping()
    first, second = stream.getvalue().splitlines()
    assert first.startswith("stopping")
    assert second.startswith("still stopping")


def test_what_an_agent_wrote_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    with LiveProgress(1, 0, stream=stream) as progress:
        progress.started(spec())
        progress.ended(
            spec(), replace(paper(spec(), "rejected", tmp_path), reason="\x1b]0;mine\x07 said the program\nand more")
        )
    assert "rejected: \\x1b]0;mine\\x07 said the program and more" in stream.getvalue()


def test_a_terminal_has_a_bar_with_counts_and_failures_of_ours_stay_on_it(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    shown = bytearray()

    def look() -> None:
        with contextlib.suppress(OSError):  # the terminal was closed
            while part := os.read(controller, 1 << 16):
                shown.extend(part)

    eyes = threading.Thread(target=look)
    eyes.start()
    with os.fdopen(terminal, "w") as stream:
        tell(LiveProgress(5, 2, stream=stream), tmp_path)
    eyes.join()
    os.close(controller)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "5/5" in text
    assert "1 error, 1 rejected, 1 scored" in text
    assert "will be tried again" in text
    assert "skill 0.2" not in text, "one line a result would scroll the bar away"
