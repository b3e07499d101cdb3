"""Killed at any moment, the verifier loses nothing, gives nothing back and scores nothing twice."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.agents.llm.tools import ToolOutcome
from openfingym.errors import SubmissionError, VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import RolloutTicket, VerifierClient
from openfingym_verifier.audit.log import verify_chain
from tests.marks import SOCKETS_DROPPED

pytestmark = SOCKETS_DROPPED


def shaped(package: BuiltPackage, seed: int) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(package.manifest.submission_shape)


@pytest.mark.parametrize("delay_s", [0.02, 0.2])
def test_kill_9_under_load(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path, delay_s: float
) -> None:
    package, state = packages["tiny"], tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        tickets = [client.create_rollout("tiny") for _ in range(4)]
    answered: dict[str, list[tuple[int, float]]] = {ticket.rollout_id: [] for ticket in tickets}

    def load(ticket: RolloutTicket) -> None:
        with process.client() as client, contextlib.suppress(VerifierError):
            for i in range(900):
                feedback = client.submit(ticket.token, shaped(package, i), idempotency_key=f"k{i}")
                answered[ticket.rollout_id].append((feedback.submission, feedback.total))

    threads = [threading.Thread(target=load, args=(ticket,)) for ticket in tickets]
    for thread in threads:
        thread.start()
    while not any(answered.values()):
        time.sleep(0.001)
    time.sleep(delay_s)
    process.kill()
    for thread in threads:
        thread.join()

    again = launch([package], state)
    with again.client() as client:
        for ticket in tickets:
            before, status = answered[ticket.rollout_id], client.rollout_status(ticket.rollout_id)
            # Everything answered is there; at most the one on its way when the end came is there besides.
            assert status.submissions_accepted in {len(before), len(before) + 1}
            assert [(s.submission, s.feedback.total) for s in status.submissions][: len(before)] == before
            assert all(s.feedback is not None for s in status.submissions)
            assert status.remaining == status.budget - status.submissions_accepted
            for i in range(status.submissions_accepted):
                np.testing.assert_array_equal(client.submission(ticket.rollout_id, i + 1), shaped(package, i))
            # Retrying what was never answered neither loses nor repeats it.
            i = len(before)
            assert client.submit(ticket.token, shaped(package, i), idempotency_key=f"k{i}").submission == i + 1
            assert client.rollout_status(ticket.rollout_id).submissions_accepted == i + 1
            assert client.finalize(ticket.rollout_id).submissions_accepted == i + 1
    assert again.stop() == 0
    verify_chain(state)


def test_accepted_but_not_scored_is_scored_once_at_the_next_start(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package, state = packages["frugal"], tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout("frugal")
        feedback = client.submit(ticket.token, shaped(package, 1), idempotency_key="k")
    assert process.stop() == 0
    # The state as it is when the process dies after the commit and before the score.
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as ledger:
        ledger.execute("UPDATE submissions SET feedback = NULL")
        ledger.execute("DROP TRIGGER log_no_delete")
        ledger.execute("DELETE FROM log WHERE entry LIKE '%\"scored\"%'")
        ledger.execute("UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM log) WHERE name = 'log'")
        ledger.commit()
    for _ in range(2):  # a second restart finds nothing left to do
        process = launch([package], state)
        with process.client() as client:
            status = client.rollout_status(ticket.rollout_id)
            (past,) = status.submissions
            assert (past.submission, past.feedback.total, past.feedback.metrics) == (
                1,
                feedback.total,
                feedback.metrics,
            )
            assert status.remaining == 1
            assert client.submit(ticket.token, shaped(package, 1), idempotency_key="k") == feedback
            assert [row.entry["event"] for row in client.log(ticket.rollout_id)] == [
                "rollout-created",
                "accepted",
                "scored",
            ]
        assert process.stop() == 0
    verify_chain(state)


def test_an_accepted_submission_without_a_score_is_no_error_for_ever(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package, state = packages["prices"], tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout("prices")
        client.submit(ticket.token, 100.0 + shaped(package, 1), idempotency_key="k")
    assert process.stop() == 0
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as ledger:
        # Prices without returns, as if they had been accepted before anybody tried to score them.
        ledger.execute("UPDATE submissions SET feedback = NULL")
        ledger.execute("UPDATE payloads SET content = ?", (bytes(8 * int(np.prod(package.manifest.submission_shape))),))
        ledger.commit()
    process = launch([package], state)
    with process.client() as client:
        assert client.rollout_status(ticket.rollout_id).submissions[0].feedback is None
        with pytest.raises(SubmissionError, match="positive prices") as caught:
            client.submit(ticket.token, 100.0 + shaped(package, 1), idempotency_key="k")
        assert caught.value.problem == "out-of-range"
        result = client.finalize(ticket.rollout_id)
        assert (result.state, result.submissions_accepted) == ("rejected", 1)
        assert "positive prices" in str(result.reason)
        assert client.finalize(ticket.rollout_id) == result
    assert process.stop() == 0


def test_tokens_budgets_buckets_and_results_survive_a_restart(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    slow, frugal, state = packages["slow"], packages["frugal"], tmp_path / "state"
    process = launch([slow, frugal], state)
    with process.client() as client:
        rated, spent = client.create_rollout("slow"), client.create_rollout("frugal")
        done = client.create_rollout("frugal")
        for seed in range(2):
            client.submit(spent.token, shaped(frugal, seed))
        client.submit(done.token, shaped(frugal, 0))
        result = client.finalize(done.rollout_id)
        for seed in range(5):
            client.submit(rated.token, shaped(slow, seed))
        with pytest.raises(SubmissionError) as caught:
            client.submit(rated.token, shaped(slow, 9))
        assert caught.value.problem == "rate-limited"
        assert ToolOutcome(f"Refused: {caught.value}", failed=True).limited, "who is told to wait has not failed"
    process.kill()
    killed = time.monotonic()
    process = launch([slow, frugal], state)
    with process.client() as client:
        granted = until_refused(client, rated, slow)
        assert granted <= 2 + time.monotonic() - killed  # one a second since, and not a fresh burst of five
        for token, problem in ((spent.token, "budget-exhausted"), (done.token, "rollout-finished")):
            with pytest.raises(SubmissionError) as caught:
                client.submit(token, shaped(frugal, 3))
            assert caught.value.problem == problem
        assert client.finalize(done.rollout_id) == result
    assert process.stop() == 0


@pytest.mark.usefixtures("cold_verifiers")
def test_a_state_directory_has_one_verifier(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    first = launch([packages["tiny"]], tmp_path / "state")
    second = launch([packages["tiny"]], tmp_path / "state")
    assert second.popen.wait(timeout=20) == 4
    assert "another verifier" in second.log()
    assert first.stop() == 0


def test_a_rebuilt_task_makes_its_old_rollouts_unavailable(
    launch: Callable[..., Any], make: Callable[..., BuiltPackage], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    process = launch([packages["frugal"]], state)
    with process.client() as client:
        ticket, done = client.create_rollout("frugal"), client.create_rollout("frugal")
        client.submit(ticket.token, shaped(packages["frugal"], 1))
        result = client.finalize(done.rollout_id)
    assert process.stop() == 0
    rebuilt = make(tmp_path, "frugal", seed=9)
    process = launch([rebuilt], state)
    with process.client() as client:
        for attempt in (
            lambda: client.submit(ticket.token, shaped(rebuilt, 1)),
            lambda: client.finalize(ticket.rollout_id),
        ):
            with pytest.raises(VerifierError, match="task-unavailable"):
                attempt()
        assert client.finalize(done.rollout_id) == result
    assert process.stop() == 0


def test_a_full_disk_is_our_error_and_costs_nothing(
    launch: Callable[..., Any], packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package, state = packages["tiny"], tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout("tiny")
        client.submit(ticket.token, shaped(package, 0))
        limit_file_size(process.popen.pid, 100_000)
        with pytest.raises(VerifierError, match="503 unavailable"):
            until_refused(client, ticket, package)
        failed = client.rollout_status(ticket.rollout_id)
        limit_file_size(process.popen.pid, -1)
        assert client.submit(ticket.token, shaped(package, 500)).submission == failed.submissions_accepted + 1
        assert client.finalize(ticket.rollout_id).state == "scored"
    assert process.stop() == 0
    verify_chain(state)


def until_refused(client: VerifierClient, ticket: RolloutTicket, package: BuiltPackage) -> int:
    """Submit until the rate limit says no; returns how often it did not."""
    for granted in range(200):
        try:
            client.submit(ticket.token, shaped(package, granted))
        except SubmissionError as error:
            assert error.problem == "rate-limited"  # noqa: PT017 - the number of successes is what matters
            return granted
    raise AssertionError("200 submissions went through")


def limit_file_size(pid: int, size: int) -> None:
    import resource

    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux's prlimit to stand in for a full disk")
    resource.prlimit(
        pid, resource.RLIMIT_FSIZE, (size if size >= 0 else resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )


def test_client_gives_up_with_our_error(tmp_path: Path) -> None:
    with (
        VerifierClient(uds=tmp_path / "nobody.sock") as client,
        pytest.raises(VerifierError, match="cannot be reached"),
    ):
        client.tasks()
