"""What a participant may have stored: in all its rollouts together, of any kind, and after a restart too.

The attack: 12 rollouts whose answers are large added 200 MB to the ledger, and so on without end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import OpenFinGymError, SubmissionError, VerifierError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.storage import MB
from openfingym_verifier.policy import LOCAL, STRICT
from tests.verifier.ledger.test_crash import limit_file_size
from tests.verifier.scripted import START, question

STEPPED = "equity-rolling-forecast"


def size(state: Path) -> int:
    return sum(file.stat().st_size for file in state.glob("ledger.db*"))


def refused(call: Callable[..., object], *arguments: object) -> str:
    """The refusal that a call ends in; empty where it is taken."""
    try:
        call(*arguments)
    except (SubmissionError, VerifierError) as error:
        if error.problem != "storage-exhausted":
            raise
        return str(error)
    return ""


def fill(client: VerifierClient, task: str, answer: np.ndarray) -> list[str]:
    """Create rollouts and spend their budgets until both are refused."""
    found: list[str] = []
    for _ in range(200):
        try:
            ticket = client.create_rollout(task)
        except VerifierError as error:
            if error.problem != "storage-exhausted":
                raise
            return [*filter(None, found), str(error)]
        told = (refused(client.submit, ticket.token, answer) for _ in range(ticket.budget))
        found += [next((text for text in told if text), "")]
    raise AssertionError("there is no end")


def test_rollouts_of_one_participant_do_not_fill_the_disk(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    wide, state = packages["wide"], tmp_path / "state"
    answer = np.zeros(wide.manifest.submission_shape)
    most = 4.5 * answer.nbytes / MB
    verifier = launch([wide, packages["tiny"]], state, "--stored-mb", str(most))
    with verifier.client() as operator:
        keys = [operator.add_participant(name) for name in ("greedy", "modest")]
        before = size(state)
        with VerifierClient(uds=verifier.uds, admin_token=keys[0]) as greedy:
            told = fill(greedy, "wide", answer)
            assert all("ask the operator" in text and "--stored-mb" in text for text in told)
            assert refused(greedy.create_rollout, "wide")
            # A small task still fits, until nothing does.
            assert fill(greedy, "tiny", np.zeros(packages["tiny"].manifest.submission_shape))
        # Twice, since the log of SQLite has what is not yet copied into the database.
        assert size(state) - before < 2 * most * MB + 5 * MB
        for key in (keys[1], operator):
            with VerifierClient(uds=verifier.uds, admin_token=key) if isinstance(key, str) else key as other:
                ticket = other.create_rollout("wide")
                assert other.submit(ticket.token, answer).submission == 1
    verifier.kill()
    again = launch([wide, packages["tiny"]], state, "--stored-mb", str(most))
    with VerifierClient(uds=again.uds, admin_token=keys[0]) as greedy:
        assert refused(greedy.create_rollout, "wide")
        assert refused(greedy.create_rollout, "tiny")
    again.kill()
    more = launch([wide, packages["tiny"]], state, "--stored-mb", str(2 * most))
    with VerifierClient(uds=more.uds, admin_token=keys[0]) as greedy:
        assert greedy.create_rollout("wide").budget == 5


def test_steps_are_counted(launch: Any, store_home: Path, tmp_path: Path) -> None:
    package = build(load_task(STEPPED))
    verifier = launch([package], tmp_path / "state", "--stored-mb", "0.1")
    with verifier.client() as operator:
        key = operator.add_participant("greedy")
    action = {"predictions": [0.0] * package.manifest.submission_shape[-1]}
    with VerifierClient(uds=verifier.uds, admin_token=key) as greedy:
        token = greedy.create_rollout(STEPPED).token
        for _ in range(5):
            episode = greedy.start_episode(token, "public").episode
            for step in range(1, 101):
                if refused(greedy.step, token, episode, step, action):
                    return
    pytest.fail("there is no end")


def test_the_ledger_counts_as_memory_does(launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    """What is counted after a restart is what was counted before."""
    state = tmp_path / "state"
    tiny = packages["tiny"]
    verifier = launch([tiny], state)
    with verifier.client() as operator:
        key = operator.add_participant("one")
        operator.submit(operator.create_rollout("tiny").token, np.zeros(tiny.manifest.submission_shape))
    with VerifierClient(uds=verifier.uds, admin_token=key) as one:
        token = one.create_rollout("tiny").token
        for _ in range(3):
            one.submit(token, np.zeros(tiny.manifest.submission_shape))
        with pytest.raises(OpenFinGymError, match="wrong-shape"):
            one.submit(token, np.zeros(3))
    verifier.stop()
    ledger = Ledger(state)
    try:
        payload = 8 * int(np.prod(tiny.manifest.submission_shape))
        assert ledger.stored_bytes() == {"one": 8192 + 3 * (2048 + payload) + 512}
    finally:
        ledger.close()


def test_a_forecast_is_counted_once_and_acknowledged_again_on_a_full_account(launch: Any, tmp_path: Path) -> None:
    """A repetition, and what is refused, take no room; and whoever lost an acknowledgement gets it, room or not."""
    state = tmp_path / "state"
    verifier = launch([], state, "--stored-mb", "0.004")
    with verifier.client() as operator:
        operator.questions.advance("season", START)
        operator.questions.ask([question("q", provider="simulated", query={"market": "m"})])
        key = operator.add_participant("one")
    with VerifierClient(uds=verifier.uds, admin_token=key) as one:

        def forecast(number: int, p: float = 0.5) -> Any:
            sent = {"probability": p}
            return one.questions.forecast("q", sent, agent="a", idempotency_key=f"key-{number}")["forecast"]

        first = forecast(0)
        for _ in range(20):
            assert forecast(0) == first
            with pytest.raises(SubmissionError, match="idempotency-conflict"):
                forecast(0, 0.75)
        taken = next(number for number in range(1, 20) if refused(forecast, number))
        # 4,000 bytes are room for seven of a little more than 512.
        assert taken == 7
        assert forecast(0) == first
        assert refused(forecast, taken)
    verifier.stop()
    ledger = Ledger(state)
    try:
        assert ledger.stored_bytes() == {"one": 7 * (512 + len('{"probability":0.5}'))}
    finally:
        ledger.close()


def test_what_a_full_disk_refused_is_not_counted(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    wide = packages["wide"]
    answer = np.zeros(wide.manifest.submission_shape)
    verifier = launch([wide], tmp_path / "state", "--stored-mb", str(3.5 * answer.nbytes / MB))
    with verifier.client() as operator:
        key = operator.add_participant("patient")
    with VerifierClient(uds=verifier.uds, admin_token=key) as patient:
        ticket = patient.create_rollout("wide")
        limit_file_size(verifier.popen.pid, 4096)
        for number in range(4):
            with pytest.raises(VerifierError, match="503 unavailable"):
                patient.submit(ticket.token, answer, idempotency_key=f"key-{number}")
            with pytest.raises(VerifierError, match="503 unavailable"):
                patient.create_rollout("wide")
        limit_file_size(verifier.popen.pid, -1)
        assert [patient.submit(ticket.token, answer).submission for _ in range(3)] == [1, 2, 3]
        assert refused(patient.submit, ticket.token, answer)


def test_policies() -> None:
    assert LOCAL.stored_bytes is None
    assert STRICT.stored_bytes == 1000 * MB
