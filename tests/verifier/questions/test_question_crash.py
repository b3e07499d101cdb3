"""Killed before any write of a question's life, or with a full disk: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym_verifier.audit.log import verify_chain
from tests.verifier.ledger.test_crash import limit_file_size
from tests.verifier.scripted import START, question

ROOT = Path(__file__).resolve().parents[3]
YEAR_2100 = 4_102_444_800_000_000_000
# httpcore leaves a unix socket that could not be connected to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
]


def test_kill_9_before_each_write(tmp_path: Path) -> None:
    path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.verifier.question_lifecycle", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if one["wrong"]] == []
    assert len(found) > 40
    assert {len(one["acknowledged"]) for one in found} == {0, 1, 2, 3, 4}, "it was killed at every stage"


def test_a_full_disk_refuses_forecasts_and_loses_none(launch: Callable[..., Any], tmp_path: Path) -> None:
    process = launch([], tmp_path / "state")
    asked = question("q", provider="manual", query={}, clock="real", deadline_ns=YEAR_2100, evaluation_ns=YEAR_2100 + 1)
    with process.client() as client:
        client.questions.ask([asked])
        accepted = []

        def forecast(n: int) -> None:
            found = client.questions.forecast("q", {"probability": 0.5}, agent=f"a{n}", idempotency_key=f"k{n}")
            accepted.append(found["forecast"])

        forecast(0)
        limit_file_size(process.popen.pid, 400_000)
        with pytest.raises(VerifierError, match="503 unavailable"):
            until_full(forecast)
        limit_file_size(process.popen.pid, -1)
        forecast(1000)
        there = [row["forecast"] for row in client.questions.forecasts(question="q")]
        assert set(accepted) <= set(there)
        assert len(there) == len(set(there)) == len(accepted)
    assert process.stop() == 0
    verify_chain(tmp_path / "state")


def until_full(forecast: Callable[[int], None]) -> None:
    for n in range(1, 400):
        forecast(n)


def test_participants_see_their_own_forecasts_and_the_operators_routes_are_closed_to_them(
    launch: Callable[..., Any], tmp_path: Path
) -> None:
    from openfingym.verifiers.client import VerifierClient

    process = launch([], tmp_path / "state")
    with process.client() as operator:
        operator.questions.advance("season", START)
        asked = question("q", provider="simulated", query={"market": "m"})
        operator.questions.ask([asked])
        keys = {name: operator.add_participant(name) for name in ("anna", "bob")}
        clients = {name: VerifierClient(uds=process.uds, admin_token=key) for name, key in keys.items()}
        anna, bob = clients.values()
        receipt = anna.questions.forecast("q", {"probability": 0.3}, agent="model", version="2")["receipt"]
        assert len(json.dumps(receipt)) <= 4096
        assert json.loads(receipt["leaves"][0]["entry"])["principal"] == "anna"
        assert list(bob.questions.forecasts()) == []
        assert [row["principal"] for row in anna.questions.forecasts()] == ["anna"]
        for call in (
            lambda: bob.questions.ask([asked]),
            bob.questions.resolve,
            lambda: bob.questions.advance("season", START + 1),
            lambda: bob.questions.record([{"question": "q"}]),
            bob.questions.status,
            lambda: bob.json("GET", "/v1/forecasts/1/receipt"),
        ):
            with pytest.raises(VerifierError, match=r"403 forbidden|404 not-found"):
                call()
        operator.questions.advance("season", asked.evaluation_ns)
        with pytest.raises(SubmissionError) as caught:
            bob.questions.forecast("q", {"probability": 0.3}, agent="model")
        assert caught.value.problem == "deadline-passed"
        assert operator.questions.resolve()["forecasts"] == 1
        (seen,) = bob.questions.forecasts()
        assert seen["loss"] is not None
        leaves = anna.json("GET", f"/v1/forecasts/{seen['forecast']}/receipt")["leaves"]
        assert [json.loads(leaf["entry"])["event"] for leaf in leaves] == ["forecast", "forecast-scored"]
        for client in clients.values():
            client.close()
    assert process.stop() == 0
    verify_chain(tmp_path / "state")


def test_a_verifier_resolves_by_itself(launch: Callable[..., Any], tmp_path: Path) -> None:
    process = launch([], tmp_path / "state", "--resolve-every", "0.1")
    with process.client() as client:
        client.questions.advance("season", START)
        asked = question("q", provider="simulated", query={"market": "m"})
        client.questions.ask([asked])
        client.questions.forecast("q", {"probability": 0.3}, agent="a")
        client.questions.advance("season", asked.evaluation_ns)
        while client.questions.show("q")["state"] != "scored":
            time.sleep(0.05)
    assert process.stop() == 0
    verify_chain(tmp_path / "state")
