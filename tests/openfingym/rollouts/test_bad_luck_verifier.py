"""A verifier of one's own that is restarted under a run, its ledger on disk."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from tests.openfingym.rollouts.driving import (
    NAIVE,
    Cli,
    alive,
    descendants,
    require_complete,
    run_of,
    runs,
    script,
    wait_for,
)

pytestmark = pytest.mark.sandbox
SEEDS, PLACES = 4, 2
MANY = 30
"""Rollouts of which some are not done yet when the first one is."""
TOKEN = "an-admin-token-of-a-test"


def serve(cli: Cli, state: Path) -> subprocess.Popen[str]:
    """A verifier, once it answers."""
    process = cli.start(
        "serve",
        "--task",
        "treasury-forecast",
        "--uds",
        str(cli.temporary / "v"),
        "--state",
        str(state),
        verb="verifier",
    )
    assert process.stderr is not None
    assert next((line for line in process.stderr if line.startswith("serving")), None), "it ended before it served"
    return process


@pytest.fixture
def arguments(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> list[str]:
    cli.environment["OPENFINGYM_ADMIN_TOKEN"] = TOKEN
    slow = script(tmp_path / "slow.py", NAIVE.format(pause="1"))
    asked = run_of(*slow, out=tmp_path / "run", seeds=SEEDS, backend="sandbox", concurrency=PLACES)
    return [*asked, "--verifier", str(cli.temporary / "v")]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_waits_for_its_verifier_and_nothing_counts_twice(
    cli: Cli, arguments: list[str], tmp_path: Path, how: signal.Signals
) -> None:
    out, state = tmp_path / "run", tmp_path / "state"
    verifier = serve(cli, state)
    process = cli.start(*arguments)
    wait_for(out, 1)
    below = descendants(verifier.pid)
    verifier.send_signal(how)
    verifier.communicate(timeout=30)
    assert alive(below) == []
    told: list[str] = []
    reading = threading.Thread(target=lambda: told.extend(process.stderr or ()))
    reading.start()
    # The run says that it waits when it asks for something itself. Programs in the midst of a walk ask again for some
    # seconds first, and go on if they are answered.
    until = time.monotonic() + 5.0
    while time.monotonic() < until and not any("waiting for it" in line for line in told):
        time.sleep(0.05)
    verifier = serve(cli, state)
    process.wait(timeout=120)
    reading.join()
    process.communicate()  # closes what is left of it
    err = "".join(told)
    assert process.returncode == 0, err
    assert err.count("will be tried again") <= PLACES, "those that were running, and no others"
    require_complete(out, SEEDS)
    with VerifierClient(uds=cli.temporary / "v", admin_token=TOKEN) as client:
        for result in runs(out):
            status = client.rollout_status(str(result["rollout_id"]))
            assert (status.state, status.submissions_accepted, status.remaining) == ("scored", 1, status.budget - 1)
            finals = [row for row in client.log(status.rollout_id) if row.entry.get("event") == "finalized"]
            assert len(finals) == 1
    verifier.send_signal(signal.SIGTERM)
    verifier.communicate(timeout=30)
    assert cli.leftovers() == []


def test_a_verifier_that_stays_away_ends_the_run_which_goes_on_later(
    cli: Cli, arguments: list[str], tmp_path: Path
) -> None:
    out, state = tmp_path / "run", tmp_path / "state"
    command = [
        "--tasks",
        "treasury-forecast",
        "--agent",
        "oracle",
        "--seeds",
        str(MANY),
        *arguments[8:],
        "--patience",
        "1.5",
    ]
    verifier = serve(cli, state)
    process = cli.start(*command)
    wait_for(out, 1)
    verifier.kill()
    verifier.communicate()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 4, err
    assert "cannot be reached" in err
    assert "Traceback" not in err
    assert len(runs(out)) < MANY
    verifier = serve(cli, state)
    status, _, err = cli.run(*command, "--retry", "error")
    assert status == 0, err
    require_complete(out, MANY)
    verifier.terminate()
    verifier.communicate()
    assert cli.leftovers() == []
