"""Episodes from inside a container and a sandbox: what ``interface.make()`` is for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from openfingym.agents import Agent, resolve
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher

ISOLATED = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]
PROGRAM = """
import interface
import numpy as np
from openfingym_agent import SubmissionRefused

env = interface.make(transport="TRANSPORT")
assert env.episodes_left == 11
env.reset(options={"fold": "public"})
env.step(None)
try:
    env.step({"predictions": "up"})
except SubmissionRefused as refused:
    print(refused.problem)
while env.episodes_left:
    observation, info = env.reset()
    done = False
    while not done:
        closes = observation["bars"][:, :, 3]
        action = {"predictions": np.clip(np.log(closes[-1] / closes[-6]), -0.5, 0.5).round(9)}
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
"""


@pytest.fixture(scope="module", params=ISOLATED)
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    with Launcher.for_tasks(["equity-rolling-forecast"], backend=request.param) as launcher:
        yield launcher


def run(launcher: Launcher, source: str, out: Path) -> RolloutResult:
    return launcher.run(launcher.packages[0], Agent("test", "program", source), out=out)


def test_both_transports_from_inside(launcher: Launcher, tmp_path: Path) -> None:
    results = {
        transport: run(launcher, PROGRAM.replace("TRANSPORT", transport), tmp_path)
        for transport in ("http", "websocket")
    }
    records, outcomes = [], []
    for result in results.values():
        assert result.path is not None
        output = (result.path / "output.log").read_text()
        assert (result.state, result.exit_code, result.submissions_accepted, result.budget) == ("scored", 0, 11, 11), (
            output
        )
        assert output.split() == ["malformed-action"]
        assert result.submissions_rejected == 1
        records.append([json.loads(line) for line in (result.path / "actions.jsonl").read_text().splitlines()])
        outcomes.append(np.load(result.path / "submissions" / "1.npy"))
        events = [json.loads(line)["entry"]["event"] for line in (result.path / "log.jsonl").read_text().splitlines()]
        practice, private = ["episode-started", "stepped", "rejected"], ["episode-started", *["stepped"] * 100]
        assert events == ["rollout-created", *practice, *private * 11, "played", "finalized"]
    assert results["http"].metrics == results["websocket"].metrics
    assert records[0] == records[1]
    np.testing.assert_array_equal(outcomes[0], outcomes[1])
    # The account is the verifier's, and is what the program did.
    private = [record["action"]["predictions"] for record in records[0] if record["fold"] == "private"]
    np.testing.assert_array_equal(outcomes[0][5:].reshape(-1, 3), private)


def test_the_oracle_plays_from_the_host_and_is_best(launcher: Launcher) -> None:
    oracle, nop = (launcher.run(launcher.packages[0], resolve(name)) for name in ("oracle", "nop"))
    assert (oracle.state, oracle.total, oracle.submissions_accepted) == ("scored", 0.0, 11)
    assert nop.state == "rejected"
    assert "no private episode was begun" in str(nop.reason)
    naive = launcher.run(
        launcher.packages[0], Agent("idle", "program", "import interface\nenv = interface.make()\nenv.reset()")
    )
    assert naive.total == pytest.approx(naive.baseline_total)


def test_a_program_that_stops_in_the_middle_is_scored_on_what_it_did(launcher: Launcher, tmp_path: Path) -> None:
    source = (
        'import interface\nenv = interface.make()\nenv.reset()\nenv.step({"predictions": [0.1, 0.2, 0.3]})\nraise '
        "SystemExit(7)"
    )
    result = run(launcher, source, tmp_path)
    assert (result.state, result.exit_code, result.submissions_accepted) == ("scored", 7, 1)
    assert result.path is not None
    outcome = np.load(result.path / "submissions" / "1.npy")
    np.testing.assert_array_equal(outcome[5, 0], [0.1, 0.2, 0.3])
    assert np.count_nonzero(outcome) == 3
