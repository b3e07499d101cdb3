"""A Docker engine that is restarted under a run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.packages.package import BuiltPackage
from tests.openfingym.rollouts.driving import NAIVE, Cli, runs, wait_for
from tests.openfingym.rollouts.private_engine import PrivateEngine

pytestmark = pytest.mark.docker
SEEDS, PLACES = 6, 2


@pytest.fixture(scope="module")
def loaded() -> Iterator[PrivateEngine]:
    obstacle = PrivateEngine.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    private = PrivateEngine()
    try:
        private.start()
        private.load_agent_image()
        yield private
    finally:
        private.remove()


@pytest.fixture
def engine(loaded: PrivateEngine, cli: Cli) -> PrivateEngine:
    cli.environment["DOCKER_HOST"] = loaded.host
    return loaded


def agent(tmp_path: Path, name: str) -> list[str]:
    if name != "script":
        return ["--agent", name, "--model", "stand-in/competent"]
    program = tmp_path / "slow.py"
    program.write_text(NAIVE.format(pause="2"))
    return ["--agent", "script", "--program", str(program)]


@pytest.mark.parametrize(("name", "how"), [("script", signal.SIGTERM), ("react", signal.SIGKILL)])
def test_a_run_waits_for_an_engine_that_is_restarted(
    cli: Cli, engine: PrivateEngine, treasury: BuiltPackage, tmp_path: Path, name: str, how: signal.Signals
) -> None:
    out = tmp_path / "run"
    process = cli.start(
        "--tasks",
        "treasury-forecast",
        *agent(tmp_path, name),
        "--seeds",
        str(SEEDS),
        "--concurrency",
        str(PLACES),
        "--backend",
        "docker",
        "--out",
        str(out),
    )
    wait_for(out, PLACES)
    engine.stop(how)
    assert process.stderr is not None
    waiting = next((line for line in process.stderr if "waiting for it" in line), None)
    engine.start()
    assert waiting is not None
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    found = runs(out)
    assert sorted(one["seed"] for one in found) == list(range(SEEDS))
    # What had been told its feedback when the engine went is not made again: that would be a second try.
    lost = [one for one in found if one["state"] != "scored"]
    assert all(one["state"] == "error" and one["told"] for one in lost), err
    assert len(lost) <= PLACES
    assert process.returncode == (4 if lost else 0), err
    made_again = list((out / ".failed").iterdir()) if (out / ".failed").exists() else []
    assert len(made_again) <= PLACES, "those that were running, and no others"
    assert engine.containers() == []
    assert cli.leftovers() == []
