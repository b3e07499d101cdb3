"""Tapes behind a real verifier: drawn from its key, other for every rollout, the same after it was killed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import VerifierError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.scoring.truth import HiddenTask, load_tasks
from openfingym_verifier.scoring.workers import MAX_TAPES, Workers
from openfingym_verifier.service import Service
from tests.marks import SOCKETS_DROPPED

FORECAST, GRAPHS, FRESH_BARS, REAL_BARS, TRADED_BARS, REAL = (
    "crypto-forecast",
    "ba2motifs-fraud",
    "crypto-rolling-forecast",
    "equity-rolling-forecast",
    "equity-trading",
    "treasury-forecast",
)
pytestmark = SOCKETS_DROPPED


@pytest.fixture(scope="module")
def built(store_home: Path) -> dict[str, BuiltPackage]:
    return {name: build(load_task(name)) for name in (FORECAST, GRAPHS, FRESH_BARS, REAL_BARS, TRADED_BARS, REAL)}


@pytest.fixture(scope="module")
def client(built: dict[str, BuiltPackage], serve: Callable[..., Any]) -> Iterator[VerifierClient]:
    with serve(list(built.values())) as server:
        yield server.client


def zeros(package: BuiltPackage) -> np.ndarray:
    return np.zeros(package.manifest.submission_shape)


def begin(client: VerifierClient, name: str, *, fresh: bool = True) -> tuple[str, Any]:
    """A rollout's tape, and the bars it begins with."""
    ticket = client.create_rollout(name, fresh=fresh)
    bars = client.start_episode(ticket.token).observation["bars"]
    client.finalize(ticket.rollout_id)
    return ticket.tape, bars


def test_fresh_inputs_and_a_baseline_on_the_same_tape(client: VerifierClient, built: dict[str, BuiltPackage]) -> None:
    package = built[FORECAST]
    results, inputs = [], []
    for fresh in (True, True, False):
        ticket = client.create_rollout(FORECAST, fresh=fresh)
        tape = "fresh" if fresh else "given"
        assert ticket.tape == client.rollout_status(ticket.rollout_id).tape == tape
        assert client.data(ticket.rollout_id) == {}, "what is shown in the order of time is public on no tape"
        inputs.append(np.array(client.start_episode(ticket.token).observation["inputs"]))
        client.walk(ticket.token, zeros(package)[package.manifest.n_public :])
        results.append(client.finalize(ticket.rollout_id))
        assert results[-1].tape == tape
    # The baseline of this task is zero, so it is what was answered.
    assert [result.relative_total for result in results] == [1.0, 1.0, 1.0]
    assert len({result.total for result in results}) == len({result.baseline_total for result in results}) == 3
    np.testing.assert_array_equal(inputs[-1][0], package.read_truth()["test_inputs"][package.manifest.n_public])
    assert len({array.tobytes() for array in inputs}) == 3


def test_the_agents_token_does_not_open_the_data_of_a_tape(client: VerifierClient) -> None:
    ticket = client.create_rollout(FORECAST, fresh=True)
    answer = client._connection.send("GET", f"/v1/rollouts/{ticket.rollout_id}/data", ticket.token)
    assert answer.status_code == 403


def test_hidden_labels_are_scored_on_their_own_tape(client: VerifierClient, built: dict[str, BuiltPackage]) -> None:
    """The package's labels are worth nothing on another tape."""
    package = built[GRAPHS]
    truth = package.read_truth()["labels"].astype(float)
    for fresh, low, high in ((False, 1.0, 1.0), (True, 0.3, 0.7)):
        ticket = client.create_rollout(GRAPHS, fresh=fresh)
        client.submit(ticket.token, truth)
        assert low <= client.finalize(ticket.rollout_id).metrics["auroc"] <= high


def test_hidden_data_that_cannot_be_drawn_stay_given(client: VerifierClient) -> None:
    assert client.create_rollout(REAL, fresh=True).tape == "given"


def test_a_real_tape_is_played_once(built: dict[str, BuiltPackage], serve: Callable[..., Any]) -> None:
    with serve([built[REAL_BARS]]) as server:
        client = server.client
        # Nobody who ended without a private episode has played it, practice or not.
        ticket = client.create_rollout(REAL_BARS, fresh=True)
        client.start_episode(ticket.token, "public")
        client.finalize(ticket.rollout_id)
        # Who has it could still play it: of two at once, one has a twin.
        first, second = (client.create_rollout(REAL_BARS, fresh=True) for _ in range(2))
        assert [ticket.tape, first.tape, second.tape] == ["given", "given", "twin"]
        real = client.start_episode(first.token).observation["bars"]
        assert client.start_episode(second.token).observation["bars"] != real
        client.finalize(first.rollout_id)
        assert begin(client, REAL_BARS)[0] == begin(client, REAL_BARS)[0] == "twin"
        assert begin(client, REAL_BARS)[1] != begin(client, REAL_BARS)[1]
        # Who does not ask for another one gets what everybody got.
        assert begin(client, REAL_BARS, fresh=False) == ("given", real)


def test_real_bars_are_played_once_whatever_the_task(built: dict[str, BuiltPackage], serve: Callable[..., Any]) -> None:
    """Two tasks over one series hide the same bars at the same time."""
    with serve([built[REAL_BARS], built[TRADED_BARS], built[FRESH_BARS]]) as server:
        client = server.client
        first = client.create_rollout(REAL_BARS, fresh=True)
        client.start_episode(first.token)
        assert client.create_rollout(TRADED_BARS, fresh=True).tape == "twin"
        client.finalize(first.rollout_id)
        assert client.create_rollout(TRADED_BARS, fresh=True).tape == "twin"
        assert client.create_rollout(FRESH_BARS, fresh=True).tape == "fresh"


def test_a_body_that_arrives_after_the_end_plays_nothing(
    built: dict[str, BuiltPackage], serve: Callable[..., Any]
) -> None:
    """Who has a start on its way when its rollout expires must not begin a second one on the same real bars
    meanwhile."""
    body = b'{"fold":"private"}'
    with serve([built[REAL_BARS]]) as server, socket.socket(socket.AF_UNIX) as late:
        client, uds = server.client, server.embedded.uds
        ticket = client.create_rollout(REAL_BARS, fresh=True, ttl_s=1.0)
        late.settimeout(20)
        late.connect(str(uds))
        headers = (
            f"Host: v\r\nAuthorization: Bearer {ticket.token}\r\nContent-Type: application/json\r\nContent-Length: "
            f"{len(body)}"
        )
        late.sendall(f"POST /v1/episodes HTTP/1.1\r\n{headers}\r\n\r\n".encode() + body[:1])
        threading.Event().wait(1.1)
        assert client.rollout_status(ticket.rollout_id).state == "expired"
        assert client.create_rollout(REAL_BARS, fresh=True).tape == "twin", (
            "what was begun in time may not be on the disk yet"
        )
        late.sendall(body[1:])
        assert late.recv(1 << 16).startswith(b"HTTP/1.1 401")
        assert client.rollout_status(ticket.rollout_id).submissions_accepted == 0


def test_real_tapes_asked_for_at_once(built: dict[str, BuiltPackage], serve: Callable[..., Any]) -> None:
    with serve([built[REAL_BARS]]) as server, ThreadPoolExecutor(8) as threads:
        tapes = list(threads.map(lambda _: server.client.create_rollout(REAL_BARS, fresh=True).tape, range(8)))
    assert sorted(tapes) == ["given"] + ["twin"] * 7


@pytest.mark.parametrize(("name", "tape"), [(FRESH_BARS, "fresh"), (REAL_BARS, "twin")])
def test_killed_in_the_middle_it_goes_on_over_the_same_tape(
    launch: Callable[..., Any], built: dict[str, BuiltPackage], tmp_path: Path, name: str, tape: str
) -> None:
    package, state = built[name], tmp_path / "state"
    process = launch([package], state, "--fresh")
    with process.client() as client:
        if tape == "twin":
            begin(client, name, fresh=False)
        ticket = client.create_rollout(name)  # nobody has to ask where the policy is fresh
        assert ticket.tape == tape
        at = [client.start_episode(ticket.token)]
        at += [client.step(ticket.token, 1, step, None) for step in range(1, 6)]
    process.kill()
    assert (state / "tape.key").stat().st_mode & 0o777 == 0o600
    again = launch([package], state)  # even if the policy is another one by now
    with again.client() as client:
        assert client.step(ticket.token, 1, 5, None) == at[-1]
        after = client.step(ticket.token, 1, 6, None)
        # All but the newest bar were seen before the end of the first process.
        assert after.observation["bars"][:-1] == at[-1].observation["bars"][1:]  # type: ignore[index]
        assert client.finalize(ticket.rollout_id).tape == tape
        created = client.log(ticket.rollout_id)[0].entry
    assert created["tape"] == tape
    assert again.stop() == 0
    verify_chain(state)
    key, words = (state / "tape.key").read_bytes(), (state / "ledger.db").read_bytes()
    assert key not in words
    assert key.hex().encode() not in words


def test_walks_go_on_over_the_same_tape(
    launch: Callable[..., Any], built: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package, state = built[FORECAST], tmp_path / "state"
    process = launch([package], state)
    answers = zeros(package)
    action = {"predictions": answers[:1].tolist()}
    with process.client() as client:
        ticket = client.create_rollout(FORECAST, fresh=True)
        told = client.walk(ticket.token, answers[: package.manifest.n_public], "public").info["feedback"]
        at = client.start_episode(ticket.token)
        for _ in range(3):
            at = client.step(ticket.token, at.episode, at.step + 1, action)
    process.kill()
    again = launch([package], state)
    with again.client() as client:
        [past] = client.rollout_status(ticket.rollout_id).submissions
        assert past.feedback is not None
        assert past.feedback.total == told["total"]  # type: ignore[index]  # a document
        resumed = client.start_episode(ticket.token)
        assert (resumed.step, resumed.observation) == (3, at.observation)
        while not resumed.done:
            resumed = client.step(ticket.token, resumed.episode, resumed.step + 1, action)
        assert client.finalize(ticket.rollout_id).relative_total == 1.0
    assert again.stop() == 0


def test_with_another_key_a_rollout_ends_rather_than_change_its_data(
    launch: Callable[..., Any], built: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package, state = built[FORECAST], tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout(FORECAST, fresh=True)
        client.walk(ticket.token, zeros(package)[package.manifest.n_public :])
    assert process.stop() == 0
    (state / "tape.key").unlink()
    again = launch([package], state)
    with again.client() as client, pytest.raises(VerifierError, match="key of tapes was replaced"):
        client.finalize(ticket.rollout_id)
    assert again.stop() == 0


def test_the_same_key_and_rollout_make_the_same_tape(built: dict[str, BuiltPackage], tmp_path: Path) -> None:
    tasks = load_tasks([built[FORECAST]])

    async def created(service: Service) -> tuple[Any, HiddenTask]:
        rollout = await service.create(CreationRequest(FORECAST, ttl_s=60.0, fresh=True))
        return rollout.row, await service.tapes.of(rollout)

    async def loaded(service: Service, rollout_id: str) -> HiddenTask:
        return await service.tapes.of(await service.find(rollout_id))

    with contextlib.closing(Ledger(tmp_path)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        row, first = asyncio.run(created(service))
        _, other = asyncio.run(created(service))
    with contextlib.closing(Ledger(tmp_path)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        again = asyncio.run(loaded(service, row.id))
        with pytest.raises(Problem, match="key of tapes was replaced"):
            service.tapes.drawn_here(row.__class__(**{**row.__dict__, "id": "r0"}), tasks[FORECAST])
    assert first is not again
    assert first.hidden["targets"].tobytes() == again.hidden["targets"].tobytes()
    assert first.hidden["test_inputs"].tobytes() == again.hidden["test_inputs"].tobytes()
    assert not np.array_equal(first.hidden["targets"], other.hidden["targets"])
    assert len({first.identity, other.identity, FORECAST}) == 3
    assert first.grader.baseline_score().total != other.grader.baseline_score().total


def test_tapes_in_memory_are_few_and_go_with_their_rollouts(built: dict[str, BuiltPackage], tmp_path: Path) -> None:
    tasks = load_tasks([built[FORECAST]])

    async def many(service: Service) -> None:
        service.tapes._most = 2
        rollouts = [await service.create(CreationRequest(FORECAST, ttl_s=60.0, fresh=True)) for _ in range(4)]
        assert len(service.tapes._kept) == 2
        for rollout in rollouts:
            await service.finalize(rollout)
        assert not service.tapes._kept
        assert not service.grading._known

    with contextlib.closing(Ledger(tmp_path)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        asyncio.run(many(service))


def test_a_worker_is_told_the_labels_of_a_tape_once_and_keeps_few(
    generation: Callable[..., BuiltPackage], tmp_path: Path
) -> None:
    task = load_tasks([generation(tmp_path, "windows")])["windows"]
    values = np.asarray(task.grader.baseline)
    tapes = [task, *(_renamed(task, f"windows/r{i}") for i in range(MAX_TAPES + 2))]

    async def scenario() -> None:
        scores = {(await workers.score(tape, "private", values)).total for tape in (*tapes, *tapes[::-1])}
        assert len(scores) == 1
        assert await workers.score(task, "baseline") == await workers.score(tapes[1], "baseline")

    workers = Workers(count=1)
    try:
        asyncio.run(scenario())
        (worker,) = workers._alive
        assert len(worker._knows) == MAX_TAPES + 1
        assert "windows" in worker._knows
        known = worker._job(tapes[1], "private", values, None)
        assert known.grader is None
        assert worker._job(_renamed(task, "windows/new"), "private", values, None).grader is task.grader
    finally:
        workers.close()


def _renamed(task: HiddenTask, identity: str) -> HiddenTask:
    from dataclasses import replace

    return replace(task, identity=identity)
