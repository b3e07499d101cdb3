"""Slices of questions at the verifier: what the ledger keeps of them, what is refused, and what a score discloses."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym.kinds.hindsight import with_hindsight
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.ledger import schema as ledger_schema
from openfingym_verifier.ledger.ledger import Ledger
from tests.marks import SOCKETS_DROPPED

pytestmark = SOCKETS_DROPPED
TASK = "jar-forecast"


@pytest.fixture
def package(jar_task: Path) -> BuiltPackage:
    return build(Task.read(jar_task))


@contextlib.contextmanager
def strict(package: BuiltPackage) -> Iterator[tuple[VerifierClient, VerifierClient]]:
    """A client of the operator, and one of a participant."""
    with (
        EmbeddedVerifier.start([package], policy="strict") as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
        VerifierClient(uds=running.uds, admin_token=operator.add_participant("curious")) as curious,
    ):
        yield operator, curious


def play(client: VerifierClient, token: str, answers: dict[int, float]) -> None:
    """Answer the questions at these places of the private fold, in order."""
    for number, level in answers.items():
        at = client.start_episode(token)
        assert at.number == number
        client.step(token, at.episode, 1, {"answer": level})


def test_a_killed_verifier_goes_on_with_the_slice(
    package: BuiltPackage, launch: Callable[..., Any], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    first = launch([package], state)
    with first.client() as client:
        ticket = client.create_rollout(TASK, questions="4-6")
        assert (ticket.questions, ticket.budget) == ("4-6", 3)
        play(client, ticket.token, {3: 0.4, 4: 0.5})
    first.kill()
    second = launch([package], state)
    with second.client() as client:
        assert client.rollout_status(ticket.rollout_id).questions == "4-6"
        play(client, ticket.token, {5: 0.6})
        with pytest.raises(SubmissionError, match="episodes-exhausted"):
            client.start_episode(ticket.token)
        result = client.finalize(ticket.rollout_id)
        assert (result.state, result.questions, result.submissions_accepted) == ("scored", "4-6", 3)
        targets = package.read_truth()["targets"][package.manifest.n_public :][3:6, 0]
        assert result.metrics["mse"] == pytest.approx(((targets - [0.4, 0.5, 0.6]) ** 2).mean())
        assert client.log(ticket.rollout_id)[0].entry["question_range"] == "4-6"
    second.stop()
    verify_ledger(state)
    # The log knows which questions were asked: a ledger that says otherwise was changed.
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.execute("UPDATE rollouts SET question_range = '1-3'")
        connection.commit()
    with pytest.raises(VerifierError, match="question_range"):
        verify_ledger(state)


def test_what_is_refused(package: BuiltPackage) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"questions": "20-26"}, "has questions 1 to 25"),
        ({"questions": "3-1"}, "backwards"),
        ({"questions": "0-1"}, "counted from 1"),
        ({"questions": "1-2'--"}, "expected a range"),
        ({"questions": "1-2", "split": "train", "instance": 0}, "leave out fresh, session and questions"),
        ({"questions": "1-2", "fresh": True}, "leave out fresh"),
    ]
    with (
        EmbeddedVerifier.start([package]) as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as client,
    ):
        for order, words in wrong:
            with pytest.raises(VerifierError, match=f"422 malformed-request.*{words}"):
                client.create_rollout(TASK, **order)


def test_who_goes_on_gets_another_token_and_no_question_twice(
    package: BuiltPackage, packages: dict[str, BuiltPackage]
) -> None:
    with (
        EmbeddedVerifier.start([package, packages["tiny"]]) as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as client,
    ):
        lost = client.create_rollout(TASK, questions="1-3", ttl_s=0.5)
        play(client, lost.token, {0: 0.4})
        time.sleep(0.6)
        with pytest.raises(VerifierError, match="expired"):
            client.start_episode(lost.token)
        found = client.reopen(lost.rollout_id, 60.0)
        assert (found.rollout_id, found.begun, found.budget, found.questions) == (lost.rollout_id, 1, 3, "1-3")
        play(client, found.token, {1: 0.4, 2: 0.4})
        result = client.finalize(lost.rollout_id)
        assert result.submissions_accepted == 3
        # Nothing is open any more: whoever asks again is told that all questions are over, and opens nothing.
        over = client.reopen(lost.rollout_id, 60.0)
        assert over.begun == over.budget
        with pytest.raises(SubmissionError, match="rollout-finished"):
            client.start_episode(over.token)
        assert client.finalize(lost.rollout_id) == result
        # An agent holds no more than its rollout's token, which buys no time.
        for token in (found.token, "x" * 40):
            with (
                VerifierClient(uds=running.uds, admin_token=token) as agent,
                pytest.raises(VerifierError, match=r"40[13]"),
            ):
                agent.reopen(lost.rollout_id, 60.0)
        with pytest.raises(VerifierError, match="asks no questions"):
            client.reopen(client.create_rollout("tiny").rollout_id, 60.0)
        with pytest.raises(VerifierError, match="not-found"):
            client.reopen("r" + "0" * 20, 60.0)
        verify_ledger(running.state)


def test_scores_of_questions_are_rationed_and_slices_are_the_operators(package: BuiltPackage) -> None:
    """Who is told the exact score of one question, or of all with one answer changed, knows what is true."""
    with strict(package) as (operator, curious):
        with pytest.raises(VerifierError, match=r"403 forbidden.*slice"):
            curious.create_rollout(TASK, questions="7-7")
        assert operator.create_rollout(TASK, questions="7-7").questions == "7-7"
        told = []
        for level in (0.1, 0.2, 0.3, 0.4):
            ticket = curious.create_rollout(TASK)
            play(curious, ticket.token, {0: level})
            told.append(curious.finalize(ticket.rollout_id))
        assert [(one.state, one.total, one.flags) for one in told] == [("held", None, ())] * 4


def test_tools_that_look_ahead_are_the_operators(jar_task: Path) -> None:
    package = build(with_hindsight(Task.read(jar_task)))
    with strict(package) as (operator, curious):
        with pytest.raises(VerifierError, match=r"403 forbidden.*show the answers"):
            curious.create_rollout(package.manifest.name)
        ticket = operator.create_rollout(package.manifest.name)
        play(operator, ticket.token, {0: 0.1})
        assert operator.finalize(ticket.rollout_id).data_kind == "simulated with hindsight"


def test_a_ledger_from_before_there_were_slices_is_taken_over(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.executescript("".join(ledger_schema.STEPS[:9]))
        connection.execute(
            "INSERT INTO rollouts (id, task, task_digest, budget, created_ns, expires_ns, bucket_tokens, bucket_ns)"
            " VALUES ('r1', 't', 'd', 5, 1, 2, 1.0, 1)"
        )
        connection.execute("PRAGMA user_version = 9")
        connection.commit()
    for _ in range(2):
        with contextlib.closing(Ledger(state)) as ledger:
            row, _ = ledger.rollout("r1")
            assert (row.question_range, row.asked) == (None, None)
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (ledger_schema.VERSION,)
