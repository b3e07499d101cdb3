"""Rollouts on instances: the verifier builds them for itself, tells their scores in full, and adds nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import VerifierError
from openfingym.instances import INSTANCE_COUNT, build_instance
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.episodes.instances import TaskInstances
from openfingym_verifier.scoring.truth import HiddenTask, load_task
from tests.marks import SOCKETS_DROPPED

pytestmark = SOCKETS_DROPPED
TASK = "trained"


@pytest.fixture(scope="module")
def package(make: Callable[..., BuiltPackage], tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    return make(tmp_path_factory.mktemp("instances"), TASK, rows=1500)


@pytest.fixture(scope="module")
def built(package: BuiltPackage, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """The instance of the tests."""
    return build_instance(package, "train", 7, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def verifier(package: BuiltPackage) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([package]) as running:
        yield running


@pytest.fixture(scope="module")
def client(verifier: EmbeddedVerifier) -> Iterator[VerifierClient]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as running:
        yield running


def noisy(package: BuiltPackage, seed: int = 0) -> np.ndarray:
    """The truth of a package with noise."""
    truth = package.read_truth()["targets"]
    return truth + 0.5 * truth.std() * np.random.default_rng(seed).standard_normal(truth.shape)


def rows(state: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(f"file:{state / 'ledger.db'}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def test_it_is_scored_by_its_own_hidden_part(
    client: VerifierClient, verifier: EmbeddedVerifier, package: BuiltPackage, built: BuiltPackage
) -> None:
    ticket = client.create_rollout(TASK, split="train", instance=7, agent="me")
    assert (ticket.split, ticket.instance, ticket.tape) == ("train", 7, "given")
    assert ticket.task_digest == built.manifest.digest != package.manifest.digest
    answer = noisy(built)
    feedback = client.submit(ticket.token, answer)
    task = load_task(built)
    assert feedback.metrics["mae"] == pytest.approx(task.grader.public_score(answer).metrics["mae"], rel=0.01)
    result = client.finalize(ticket.rollout_id)
    assert (result.state, result.split, result.instance, result.disclosure) == ("scored", "train", 7, "full")
    assert result.total == task.grader.private_score(answer).total
    assert result.baseline_total == task.grader.baseline_score().total
    assert result.task_digest == built.manifest.digest
    np.testing.assert_array_equal(client.submission(ticket.rollout_id, 1), answer)
    status = client.rollout_status(ticket.rollout_id)
    assert (status.split, status.instance) == ("train", 7)
    created = client.log(ticket.rollout_id)[0].entry
    assert (created["split"], created["instance"]) == ("train", 7)
    assert not rows(verifier.state, "SELECT * FROM disclosures"), "no label of the task was told of"


def test_a_rollout_on_the_task_says_nothing_of_instances(client: VerifierClient, package: BuiltPackage) -> None:
    ticket = client.create_rollout(TASK)
    client.submit(ticket.token, noisy(package))
    result = client.finalize(ticket.rollout_id)
    assert (result.split, result.instance, result.task_digest) == ("test", None, package.manifest.digest)
    assert not {"split", "instance"} & client.log(ticket.rollout_id)[0].entry.keys()


def test_its_form_is_its_own(client: VerifierClient, verifier: EmbeddedVerifier, built: BuiltPackage) -> None:
    import httpx

    ticket = client.create_rollout(TASK, split="train", instance=7)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(verifier.uds)), base_url="http://v") as http:
        told = http.get("/v1/task", headers={"Authorization": f"Bearer {ticket.token}"}).json()
    assert told["submission_shape"] == list(built.manifest.submission_shape)
    assert told["task_digest"] == built.manifest.digest
    assert not client.data(ticket.rollout_id)


def test_nothing_is_called_probing(client: VerifierClient, package: BuiltPackage, built: BuiltPackage) -> None:
    def flags(place: dict[str, Any], of: BuiltPackage) -> tuple[str, ...]:
        ticket, answer = client.create_rollout(TASK, **place), noisy(of)
        for cell in range(4):
            answer[cell, 0, 0] += 0.01
            client.submit(ticket.token, answer)
        return client.finalize(ticket.rollout_id).flags

    assert "probing" in flags({}, package), "which on the task itself it is"
    assert flags({"split": "train", "instance": 7}, built) == ()


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ({"split": "train"}, "needs the number of an instance"),
        ({"instance": 3}, "leave out the instance"),
        ({"split": "trian", "instance": 3}, "'test', 'train' or 'validation'"),
        ({"split": "train", "instance": INSTANCE_COUNT}, f"less than {INSTANCE_COUNT}"),
        ({"split": "train", "instance": -1}, "greater than or equal to 0"),
        ({"split": "train", "instance": 3, "fresh": True}, "leave out fresh, session and questions"),
        ({"split": "train", "instance": 3, "session": {"venue": "simulated"}}, "leave out fresh, session"),
        ({"split": "train", "instance": 3, "questions": {"clock": "simulated"}}, "leave out fresh, session"),
    ],
)
def test_what_is_refused(client: VerifierClient, order: dict[str, Any], words: str) -> None:
    with pytest.raises(VerifierError, match=f"422 malformed-request.*{words}"):
        client.create_rollout(TASK, **order)


def test_too_little_training_data_is_the_callers_matter(make: Callable[..., BuiltPackage], tmp_path: Path) -> None:
    small = make(tmp_path, "small", rows=40)
    with EmbeddedVerifier.start([small]) as running:
        with VerifierClient(uds=running.uds, admin_token=running.admin_token) as client:
            with pytest.raises(VerifierError, match="422 malformed-request: small: "):
                client.create_rollout("small", split="train", instance=0)
            assert client.create_rollout("small").split == "test"
        assert not list((running.state / "instances").glob("*"))


def test_killed_between_two_rollouts_of_an_instance_it_goes_on(
    launch: Callable[..., Any], package: BuiltPackage, built: BuiltPackage, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    first, second = noisy(built, 1), noisy(built, 2)
    process = launch([package], state)
    with process.client() as client:
        tickets = [client.create_rollout(TASK, split="train", instance=7) for _ in range(2)]
        feedback = client.submit(tickets[0].token, first, idempotency_key="k")
        client.submit(tickets[1].token, second)
        done = client.finalize(tickets[1].rollout_id)
    process.kill()
    # What a killed verifier leaves of a build goes when the next one starts.
    (state / "instances" / "99" / "truth").mkdir(parents=True)
    again = launch([package], state)
    assert not (state / "instances").exists()
    with again.client() as client:
        assert client.submit(tickets[0].token, first, idempotency_key="k") == feedback
        client.submit(tickets[0].token, second)
        assert client.finalize(tickets[0].rollout_id).total == done.total
        assert client.finalize(tickets[1].rollout_id) == done
        np.testing.assert_array_equal(client.submission(tickets[1].rollout_id, 1), second)
    assert again.stop() == 0
    verify_ledger(state)
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as ledger:
        ledger.execute("UPDATE rollouts SET split = 'test', instance = NULL")
        ledger.commit()
    with pytest.raises(VerifierError, match=r"the split of .* is not the one in the log"):
        verify_ledger(state)


def test_another_build_of_the_task_ends_its_rollouts(
    launch: Callable[..., Any], make: Callable[..., BuiltPackage], package: BuiltPackage, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout(TASK, split="train", instance=7)
    process.kill()
    again = launch([make(tmp_path, TASK, rows=1500, seed=5)], state)
    with again.client() as client, pytest.raises(VerifierError, match="503 task-unavailable: The task was rebuilt"):
        client.finalize(ticket.rollout_id)


def test_participants_of_a_strict_verifier_have_none(package: BuiltPackage, built: BuiltPackage) -> None:
    with (
        EmbeddedVerifier.start([package], policy="strict") as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
        VerifierClient(uds=running.uds, admin_token=operator.add_participant("eve")) as eve,
    ):
        with pytest.raises(VerifierError, match="403 forbidden: Instances are the operator's"):
            eve.create_rollout(TASK, split="train", instance=7)
        ticket = operator.create_rollout(TASK, split="train", instance=7)
        operator.submit(ticket.token, noisy(built))
        result = operator.finalize(ticket.rollout_id)
    assert (result.state, result.disclosure, result.tape) == ("scored", "full", "given")


def test_few_are_in_memory_and_none_on_the_disk(package: BuiltPackage, tmp_path: Path) -> None:
    task = load_task(package)

    async def play() -> None:
        with ThreadPoolExecutor(2) as threads:
            instances = TaskInstances(tmp_path, threads, most=3)
            left: list[HiddenTask] = []
            instances.on_dropped = left.append
            group = await asyncio.gather(*(instances.get(task, "train", 0) for _ in range(8)))
            assert len({id(one) for one in group}) == 1
            for index in range(1, 8):
                shutil.rmtree(tmp_path / "instances", ignore_errors=True)  # whoever clears what is not his
                await instances.get(task, "train", index)
            assert [one.identity for one in left] == [f"{TASK}/train/{index}" for index in range(5)]
            assert (await instances.get(task, "train", 0)).manifest == group[0].manifest
        assert not list((tmp_path / "instances").glob("*"))

    asyncio.run(play())
