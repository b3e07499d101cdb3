"""Episodes of a real task: each step taken once, on the disk, and scored from the record."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, unix_connect

from openfingym.catalog import load_task
from openfingym.errors import SubmissionError, VerifierError
from openfingym.kinds import kind_named, score_fold
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import MAX_ACTION_BYTES, Step
from openfingym.verifiers.client import EpisodeStep, VerifierClient
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.episodes.play import answer
from openfingym_verifier.ledger import log
from openfingym_verifier.ledger import schema as ledger_schema
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.rows import EpisodeRow
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts import episode_service
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.rollouts.events import Created
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.scoring.truth import load_tasks
from openfingym_verifier.service import Service
from tests.marks import SOCKETS_DROPPED

TASK = "equity-rolling-forecast"
STEPS, SYMBOLS, PRACTICE, EPISODES = 100, 3, 5, 11
LIVE = "ws://verifier/v1/episodes/live"
pytestmark = SOCKETS_DROPPED


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task(TASK))


@pytest.fixture(scope="module")
def running(package: BuiltPackage, packages: dict[str, BuiltPackage], serve: Callable[..., Any]) -> Iterator[Any]:
    with serve([package, packages["tiny"]]) as server:
        yield server


def forecasts(seed: int) -> np.ndarray:
    """Predictions of every private episode."""
    return (0.02 * np.random.default_rng(seed).standard_normal((EPISODES, STEPS, SYMBOLS))).round(6)


def act(values: np.ndarray) -> dict[str, object]:
    return {"predictions": values.tolist()}


def play(client: VerifierClient, token: str, values: np.ndarray, *, until: int = STEPS) -> list[EpisodeStep]:
    """The next private episode, up to a step."""
    seen = [client.start_episode(token)]
    for k in range(1, until + 1):
        seen.append(client.step(token, seen[0].episode, k, act(values[k - 1])))
    return seen


def refused(call: Callable[..., object], *arguments: object, **named: object) -> str:
    with pytest.raises(SubmissionError) as caught:
        call(*arguments, **named)
    return caught.value.problem


@contextlib.contextmanager
def live(server: Any, token: str) -> Iterator[ClientConnection]:
    headers = {"Authorization": f"Bearer {token}"}
    with unix_connect(str(server.embedded.uds), LIVE, additional_headers=headers, compression=None) as connection:
        yield connection


def say(connection: ClientConnection, **message: object) -> dict[str, Any]:
    connection.send(json.dumps(message))
    answer: dict[str, Any] = json.loads(connection.recv(10))
    return answer


def slug(document: dict[str, Any]) -> str:
    assert document["type"] == "problem"
    return str(document["problem"]["type"]).rpartition(":")[2]


def test_what_is_scored_is_what_was_predicted(running: Any, package: BuiltPackage) -> None:
    client, values = running.client, forecasts(1)
    ticket = client.create_rollout(TASK)
    assert ticket.budget == EPISODES
    for number in range(EPISODES):
        seen = play(client, ticket.token, values[number])
        assert [(s.episode, s.fold, s.number, s.episodes_left) for s in seen] == [
            (number + 1, "private", number, EPISODES - 1 - number)
        ] * (STEPS + 1)
        assert [s.step for s in seen] == list(range(STEPS + 1))
        assert [s.done for s in seen] == [False] * STEPS + [True]
    assert refused(client.start_episode, ticket.token) == "episodes-exhausted"
    result = client.finalize(ticket.rollout_id)
    kept = client.submission(ticket.rollout_id, 1)
    np.testing.assert_array_equal(kept[package.manifest.n_public :], values)
    # The practice episodes were not played, which is the same as forecasts of no change.
    assert not kept[: package.manifest.n_public].any()
    spec, manifest = package.task.spec, package.manifest
    folds = kind_named(spec.contract).folds(
        spec, package.array, package.read_truth(), (manifest.n_public, manifest.n_private), 0
    )
    expected = score_fold(spec.contract, spec.scoring, folds[1], kept)
    assert (result.state, result.total, result.metrics) == ("scored", expected.total, dict(expected.metrics))
    assert (result.submissions_accepted, result.submissions_rejected, result.budget, result.flags) == (
        *(EPISODES, 0, EPISODES, ()),
    )
    low, high = result.relative_interval
    assert low < result.relative_total < high
    assert set(result.standard_errors) == set(result.metrics)
    taken = client.actions(ticket.rollout_id)
    assert [(a.episode, a.fold, a.number, a.step) for a in taken[:101]] == [
        (1, "private", 0, k) for k in range(1, 101)
    ] + [(2, "private", 1, 1)]
    answered = [a.action["predictions"] for a in taken]  # type: ignore[index]
    np.testing.assert_array_equal(answered, values.reshape(-1, SYMBOLS))
    assert verify_chain(running.embedded.state, expected_head=result.log_head).entries > EPISODES * STEPS


def test_observations_hold_the_past_only_and_go_on_by_a_bar(running: Any) -> None:
    ticket = running.client.create_rollout(TASK)
    seen = [s.observation["bars"] for s in play(running.client, ticket.token, forecasts(2)[0])]
    for earlier, later in itertools.pairwise(seen):
        assert earlier[1:] == later[:-1]
    assert len({json.dumps(bars[-1]) for bars in seen}) == STEPS + 1


def test_http_and_websocket_give_the_same(running: Any) -> None:
    values = forecasts(3)
    tickets = [running.client.create_rollout(TASK) for _ in range(2)]
    by_http = [vars(step) for number in range(2) for step in play(running.client, tickets[0].token, values[number])]
    by_socket = []
    with live(running, tickets[1].token) as connection:
        for number in range(2):
            by_socket.append(say(connection, type="start"))
            by_socket += [
                say(connection, type="step", episode=number + 1, step=k + 1, action=act(values[number][k]))
                for k in range(STEPS)
            ]
        assert slug(say(connection, type="step", episode=2, step=STEPS + 1, action=None)) == "episode-over"
        # The connection stays, and the two ways of calling are one rollout.
        assert running.client.step(tickets[1].token, 2, STEPS, act(values[1][-1])).step == STEPS
        assert say(connection, type="start", fold="private")["episode"] == 3
    assert [{**step, "type": "step"} for step in by_http] == by_socket
    results = [running.client.finalize(ticket.rollout_id) for ticket in tickets]
    assert (results[0].total, results[0].metrics) == (results[1].total, results[1].metrics)


class Model:
    """What an agent may expect, beside the verifier that it drives."""

    def __init__(self, client: VerifierClient, token: str, seed: int) -> None:
        self.client, self.token, self.random = client, token, np.random.default_rng(seed)
        self.kept = np.zeros((PRACTICE + EPISODES, STEPS, SYMBOLS))
        self.first = self.at = EpisodeStep(0, "private", 0, EPISODES, 0, {}, 0.0, False, False, {})
        self.last: object = None
        self.begun = {"private": 0, "public": 0}
        self.wrong = 0

    def some(self) -> dict[str, Any]:
        return act(self.random.uniform(-1, 1, SYMBOLS).round(4))

    def step(self, episode: int, number: int, action: object) -> EpisodeStep:
        return self.client.step(self.token, self.at.episode + episode, self.at.step + number, action)

    def start(self, fold: Any) -> None:
        count = sum(self.begun.values())
        if fold == "private" and self.begun[fold] == EPISODES:
            assert refused(self.client.start_episode, self.token, fold) == "episodes-exhausted"
            return
        self.first = self.at = self.client.start_episode(self.token, fold, idempotency_key=f"key-{count}")
        assert (self.at.episode, self.at.number) == (
            count + 1,
            self.begun[fold] % (PRACTICE if fold == "public" else EPISODES),
        )
        self.begun[fold] += 1
        self.kept[self.at.number + PRACTICE * (fold == "private")] = 0.0

    def start_again(self) -> None:
        key = f"key-{sum(self.begun.values()) - 1}"
        assert self.client.start_episode(self.token, self.at.fold, idempotency_key=key) == self.first

    def take(self, action: dict[str, Any] | None) -> None:
        expected = self.at.step + 1
        self.at, self.last = self.step(0, 1, action), action
        assert self.at.step == expected
        if action is not None:
            self.kept[self.at.number + PRACTICE * (self.at.fold == "private"), self.at.step - 1] = action["predictions"]

    def repeat(self) -> None:
        if self.at.step:
            assert self.step(0, 0, self.last) == self.at
            assert refused(self.step, 0, 0, act(np.full(3, 1.5))) == "idempotency-conflict"

    def malform(self) -> None:
        if self.wrong < 5:  # there is a rate
            self.wrong += 1
            assert refused(self.step, 0, 1, {"predictions": [1.0]}) == "malformed-action"

    def do(self, operation: str) -> None:
        if operation in {"private", "public"}:
            self.start(operation)
        elif not self.at.episode:
            assert refused(self.step, 1, 1, None) == "out-of-step"
        elif operation in {"act", "rest"}:
            self.take(self.some() if operation == "act" else None)
        elif operation in {"start_again", "repeat", "malform"}:
            getattr(self, operation)()
        else:
            episode, number, expected = MISTAKES[operation]
            assert refused(self.step, episode, number, self.some()) == expected


MISTAKES = {
    "skip": (0, 2, "out-of-step"),
    "back": (0, -1, "out-of-step"),
    "ahead": (1, 1, "out-of-step"),
    "past": (-1, 1, "episode-over"),
}
OPERATIONS = ["private", "public", "act", "act", "act", "rest", "repeat", "start_again", "malform", *MISTAKES]


@settings(
    max_examples=20, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(operations=st.lists(st.sampled_from(OPERATIONS), min_size=20, max_size=60), seed=st.integers(0, 2**20))
def test_every_step_happens_once_whatever_is_repeated_or_mixed_up(
    running: Any, operations: list[str], seed: int
) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    model = Model(client, ticket.token, seed)
    for operation in operations:
        model.do(operation)
    result = client.finalize(ticket.rollout_id)
    assert (result.submissions_accepted, result.submissions_rejected) == (model.begun["private"], model.wrong)
    if model.begun["private"]:
        np.testing.assert_array_equal(client.submission(ticket.rollout_id, 1), model.kept)
    else:
        assert result.state == "rejected"


def test_the_same_step_sent_by_many_at_once_is_taken_once(running: Any) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    client.start_episode(ticket.token)
    with ThreadPoolExecutor(8) as pool:
        for k in range(1, 21):
            answers = list(pool.map(lambda _, k=k: client.step(ticket.token, 1, k, act(np.full(3, k / 100))), range(8)))
            assert all(found == answers[0] for found in answers)
        started = list(pool.map(lambda _: client.start_episode(ticket.token, idempotency_key="same"), range(8)))
        assert {s.episode for s in started} == {2}
    assert [a.step for a in client.actions(ticket.rollout_id)] == list(range(1, 21))


def test_kill_9_in_an_episode_changes_nothing(
    launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path, running: Any
) -> None:
    values, state = forecasts(5), tmp_path / "state"
    undisturbed = running.client.create_rollout(TASK)
    expected = [play(running.client, undisturbed.token, values[number]) for number in range(EPISODES)]
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout(TASK)
        client.start_episode(ticket.token, "public")
        client.step(ticket.token, 1, 1, act(values[0][0]))
        play(client, ticket.token, values[0])
        before = play(client, ticket.token, values[1], until=37)
    process.kill()
    process = launch([package], state)
    with process.client() as client:
        # Asked again, the last step is answered as it was, and so is the start of the episode at hand.
        assert client.step(ticket.token, 3, 37, act(values[1][36])) == before[-1]
        assert refused(client.step, ticket.token, 3, 37, None) == "idempotency-conflict"
        after = [client.step(ticket.token, 3, k, act(values[1][k - 1])) for k in range(38, STEPS + 1)]
    process.kill()
    process = launch([package], state)
    with process.client() as client:
        play(client, ticket.token, values[2])
        play(client, ticket.token, values[3], until=60)
    assert process.stop() == 0
    process = launch([package], state)
    with process.client() as client:
        for k in range(61, STEPS + 1):
            client.step(ticket.token, 5, k, act(values[3][k - 1]))
        for rest in values[4:]:
            play(client, ticket.token, rest)
        result = client.finalize(ticket.rollout_id)
        np.testing.assert_array_equal(client.submission(ticket.rollout_id, 1)[PRACTICE:], values)
    trajectory = [(s.observation, s.reward, s.done) for s in (*before, *after)]
    assert trajectory == [(s.observation, s.reward, s.done) for s in expected[1]]
    same = running.client.finalize(undisturbed.rollout_id)
    assert (result.total, result.metrics, result.submissions_accepted) == (same.total, same.metrics, EPISODES)
    process.kill()
    verify_chain(state, expected_head=result.log_head)


def test_killed_under_load_every_answered_step_is_kept(
    launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    process = launch([package], state)
    with process.client() as client:
        tickets = [client.create_rollout(TASK) for _ in range(4)]
        for ticket in tickets:
            client.start_episode(ticket.token)
    answered = dict.fromkeys((ticket.token for ticket in tickets), 0)
    plenty = threading.Event()

    def load(token: str) -> None:
        with process.client() as client, contextlib.suppress(VerifierError):
            for k in range(1, STEPS + 1):
                client.step(token, 1, k, act(np.full(3, k / 1000)))
                answered[token] = k
                if k == 20:
                    plenty.set()

    threads = [threading.Thread(target=load, args=(token,)) for token in answered]
    for thread in threads:
        thread.start()
    assert plenty.wait(30)
    process.kill()
    for thread in threads:
        thread.join()
    process = launch([package], state)
    with process.client() as client:
        for ticket in tickets:
            taken, k = client.actions(ticket.rollout_id), answered[ticket.token]
            assert len(taken) in {k, k + 1}
            assert [a.action for a in taken] == [act(np.full(3, a.step / 1000)) for a in taken]
            # Retrying what was never answered neither loses nor repeats it.
            if k < STEPS:
                assert client.step(ticket.token, 1, k + 1, act(np.full(3, (k + 1) / 1000))).step == k + 1
                assert len(client.actions(ticket.rollout_id)) == k + 1
            client.finalize(ticket.rollout_id)
    process.kill()
    verify_chain(state)


def test_a_key_starts_one_episode(running: Any) -> None:
    client = running.client
    token = client.create_rollout(TASK).token
    first = client.start_episode(token, idempotency_key="a")
    client.step(token, 1, 1, None)
    assert client.start_episode(token, idempotency_key="a") == first
    assert refused(client.start_episode, token, "public", idempotency_key="a") == "idempotency-conflict"
    assert client.start_episode(token, idempotency_key="b").episode == 2
    assert refused(client.start_episode, token, idempotency_key="a") == "episode-over"
    assert refused(client.step, token, 1, 2, None) == "episode-over"


def test_practice_comes_round_again_within_its_budget(running: Any, package: BuiltPackage) -> None:
    client, budget = running.client, package.task.spec.verification.budget
    token = client.create_rollout(TASK).token
    starts = [client.start_episode(token, "public") for _ in range(budget)]
    assert [s.number for s in starts] == [n % package.manifest.n_public for n in range(budget)]
    assert {s.episodes_left for s in starts} == {EPISODES}
    assert starts[0].observation == starts[package.manifest.n_public].observation
    assert refused(client.start_episode, token, "public") == "budget-exhausted"
    assert client.start_episode(token).number == 0


def test_ending_in_the_middle_and_ending_without_an_episode(running: Any) -> None:
    client, values = running.client, forecasts(6)
    ticket = client.create_rollout(TASK)
    play(client, ticket.token, values[0])
    play(client, ticket.token, values[1], until=10)
    result = client.finalize(ticket.rollout_id)
    assert (result.state, result.submissions_accepted, result.budget) == ("scored", 2, EPISODES)
    kept = client.submission(ticket.rollout_id, 1)[PRACTICE:]
    np.testing.assert_array_equal(kept[1, :10], values[1, :10])
    assert not kept[1, 10:].any()
    assert not kept[2:].any()
    assert client.finalize(ticket.rollout_id) == result
    assert (
        refused(client.start_episode, ticket.token)
        == refused(client.step, ticket.token, 2, 11, None)
        == "rollout-finished"
    )

    idle = client.create_rollout(TASK)
    client.start_episode(idle.token, "public")
    assert refused(client.step, idle.token, 1, 1, "buy") == "malformed-action"
    nothing = client.finalize(idle.rollout_id)
    assert (nothing.state, nothing.submissions_accepted, nothing.submissions_rejected) == ("rejected", 0, 1)
    assert "no private episode was begun (1 actions refused; the last refusal was malformed-action" in str(
        nothing.reason
    )
    status = client.rollout_status(ticket.rollout_id)
    assert (status.state, status.remaining) == ("scored", EPISODES - 2)
    assert [s.submission for s in status.submissions] == [1]


DEEP = b"[" * 100_000 + b"]" * 100_000
BODIES = [
    (b"", "malformed-request"),
    (b"[]", "malformed-request"),
    (b"{", "malformed-request"),
    (b'{"episode":1,"step":1}', "malformed-request"),
    (b'{"episode":1,"step":1,"action":null,"more":1}', "malformed-request"),
    (b'{"episode":true,"step":1,"action":null}', "malformed-request"),
    (b'{"episode":1,"step":1.0,"action":null}', "malformed-request"),
    (b'{"episode":1,"step":"1","action":null}', "malformed-request"),
    (b'{"episode":1,"step":1,"action":' + b"9" * 5000 + b"}", "malformed-request"),
    (b'{"episode":1,"step":1,"action":' + DEEP + b"}", "malformed-request"),
    (b'{"episode":1,"step":1,"action":"\xff"}', "malformed-request"),
    (b'{"episode":1,"step":0,"action":null}', "out-of-step"),
    (b'{"episode":1,"step":-1,"action":null}', "out-of-step"),
    (b'{"episode":1,"step":1,"action":NaN}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":{"predictions":[0,0,-Infinity]}}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":{"predictions":[0,0,1e999]}}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":"\\ud800"}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":{"predictions":[0,0]}}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":{"predictions":[0,0,null]}}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":{"predictions":[0,0,123456789012345678]}}', "malformed-action"),
    (b'{"episode":1,"step":1,"action":"' + b"x" * MAX_ACTION_BYTES + b'"}', "payload-too-large"),
]


def test_a_wrong_form_leaves_the_episode_as_it_was(running: Any) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    client.start_episode(ticket.token)
    headers = {"Authorization": f"Bearer {ticket.token}", "Content-Type": "application/json"}
    for body, expected in BODIES:
        found = running.http.post("/v1/steps", content=body, headers=headers)
        assert found.json()["type"] == f"urn:openfingym:problem:{expected}", body[:100]
        assert len(found.content) < 2000
    for body in (b'{"fold":"hidden"}', b'{"fold":1}', b'{"number":1}', b"null"):
        assert (
            running.http.post("/v1/episodes", content=body, headers=headers)
            .json()["type"]
            .endswith(":malformed-request")
        )
    text = running.http.post("/v1/steps", content=b"{}", headers={**headers, "Content-Type": "text/plain"})
    assert (text.status_code, text.json()["type"]) == (415, "urn:openfingym:problem:unsupported-media-type")
    assert running.http.get("/v1/steps", headers=headers).status_code == 405
    assert not client.actions(ticket.rollout_id)
    assert client.step(ticket.token, 1, 1, act(np.zeros(3))).step == 1
    refusals = [body for body, expected in BODIES if expected == "malformed-action"]
    assert client.finalize(ticket.rollout_id).submissions_rejected == len(refusals)


def test_refused_actions_are_recorded_at_the_pace_of_submissions(running: Any, package: BuiltPackage) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    client.start_episode(ticket.token)
    found = [refused(client.step, ticket.token, 1, 1, "sell") for _ in range(30)]
    burst = package.task.spec.verification.burst
    assert found[:burst] == ["malformed-action"] * burst
    assert "rate-limited" in found[burst:]
    # Actions of the right form have no rate.
    assert client.step(ticket.token, 1, 1, None).step == 1
    assert burst <= client.rollout_status(ticket.rollout_id).submissions_rejected < 25


def test_each_task_has_its_own_interface(running: Any, package: BuiltPackage) -> None:
    client = running.client
    stepped, array = client.create_rollout(TASK), client.create_rollout("tiny")
    assert refused(client.submit, stepped.token, np.zeros(package.manifest.submission_shape)) == "wrong-interface"
    assert refused(client.start_episode, array.token) == "wrong-interface"
    assert refused(client.step, array.token, 1, 1, None) == "wrong-interface"
    contract = running.http.get("/v1/task", headers={"Authorization": f"Bearer {stepped.token}"}).json()
    assert (contract["budget"], contract["n_private"], contract["media_types"]) == (
        EPISODES,
        EPISODES,
        ["application/json"],
    )
    assert contract["limits"]["max_body_bytes"] == MAX_ACTION_BYTES
    held = {task.name: task for task in client.tasks()}
    assert held[TASK].budget == EPISODES


def test_a_websocket_is_refused_like_a_request(running: Any) -> None:
    finished = running.client.create_rollout(TASK)
    running.client.finalize(finished.rollout_id)
    cases = {
        "nobody": (401, "unauthorized"),
        running.embedded.admin_token: (403, "forbidden"),
        finished.token: (409, "rollout-finished"),
    }
    for token, (status, expected) in cases.items():
        with pytest.raises(InvalidStatus) as caught, live(running, token):
            pass
        assert caught.value.response.status_code == status
        assert json.loads(caught.value.response.body)["type"].endswith(expected)
    # Where there is no WebSocket there is none.
    token = running.client.create_rollout(TASK).token
    with pytest.raises(InvalidStatus), unix_connect(str(running.embedded.uds), "ws://v/v1/steps"):
        pass
    assert running.http.get("/v1/episodes/live", headers={"Authorization": f"Bearer {token}"}).status_code == 404


def test_messages_of_a_wrong_form(running: Any) -> None:
    token = running.client.create_rollout(TASK).token
    with live(running, token) as connection:
        for text, expected in (
            ("", "malformed-request"),
            ("[]", "malformed-request"),
            ('{"type":"stop"}', "malformed-request"),
            ('{"type":"start","fold":"x"}', "malformed-request"),
            ('{"type":"start","key":""}', "malformed-request"),
            ('{"type":"start","key":7}', "malformed-request"),
            ('{"type":"step","episode":1,"step":1,"action":null}', "out-of-step"),
        ):
            connection.send(text)
            assert slug(json.loads(connection.recv(5))) == expected
        # In pieces, with pings in between, it is the same message.
        connection.send(iter(['{"type":', '"start","key"', ':"k"}']))
        assert json.loads(connection.recv(5))["episode"] == 1
        connection.ping().wait(5)
        assert say(connection, type="step", episode=1, step=1, action=None)["step"] == 1
        connection.send('{"type":"step","episode":1,"step":2,"action":NaN}')
        assert slug(json.loads(connection.recv(5))) == "malformed-action"
        assert say(connection, type="start", key="k")["step"] == 0
    for message, code in ((b"{}", 1003), ("x" * (MAX_ACTION_BYTES + 1), 1009)):
        with live(running, token) as connection, pytest.raises(ConnectionClosed) as closed:
            (connection.send(message), connection.recv(5))
        # A server that does not read to the end may be gone before its reason is read.
        assert closed.value.rcvd is None or closed.value.rcvd.code == code


def test_the_end_of_a_rollout_ends_its_websocket(running: Any) -> None:
    ticket = running.client.create_rollout(TASK)
    with live(running, ticket.token) as connection:
        assert say(connection, type="start")["step"] == 0
        running.client.finalize(ticket.rollout_id)
        assert slug(say(connection, type="step", episode=1, step=1, action=None)) == "rollout-finished"
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008
    assert not running.client.actions(ticket.rollout_id)


def test_an_expired_token_takes_no_step(running: Any) -> None:
    ticket = running.client.create_rollout(TASK, ttl_s=2.0)
    with live(running, ticket.token) as connection:
        say(connection, type="start")
        threading.Event().wait(2.1)
        assert slug(say(connection, type="step", episode=1, step=1, action=None)) == "unauthorized"


def test_memory_that_may_differ_from_the_ledger_is_dropped(running: Any) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    client.start_episode(ticket.token)
    client.step(ticket.token, 1, 1, None)
    text = json.dumps(act(np.full(3, 0.5)), separators=(",", ":"))
    with contextlib.closing(sqlite3.connect(running.embedded.state / "ledger.db")) as ledger:
        # The next step cannot be written: there is one already, as if its commit had been reported as failed.
        ledger.execute(
            "INSERT INTO steps SELECT id, 2, ? FROM episodes WHERE rollout_id = ?", (text, ticket.rollout_id)
        )
        ledger.commit()
        with pytest.raises(VerifierError, match="500 internal"):
            client.step(ticket.token, 1, 2, act(np.full(3, 0.1)))
        assert refused(client.step, ticket.token, 1, 2, act(np.full(3, 0.1))) == "idempotency-conflict"
        assert client.step(ticket.token, 1, 2, act(np.full(3, 0.5))).step == 2
        assert client.step(ticket.token, 1, 3, None).step == 3
        ledger.execute(
            "DELETE FROM steps WHERE step = 2 AND episode = (SELECT id FROM episodes WHERE rollout_id = ?)",
            (ticket.rollout_id,),
        )
        ledger.execute(
            "UPDATE steps SET step = 2 WHERE step = 3 AND episode = (SELECT id FROM episodes WHERE rollout_id = ?)",
            (ticket.rollout_id,),
        )
        ledger.commit()


@pytest.fixture(scope="module")
def written(package: BuiltPackage, serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger with a finished rollout, as one file."""
    copy = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with serve([package]) as server:
        ticket = server.client.create_rollout(TASK)
        play(server.client, ticket.token, forecasts(8)[0], until=5)
        server.client.finalize(ticket.rollout_id)
        with (
            contextlib.closing(sqlite3.connect(server.embedded.state / "ledger.db")) as source,
            contextlib.closing(sqlite3.connect(copy)) as to,
        ):
            source.backup(to)
    return copy.read_bytes()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE steps SET action = 'null' WHERE step = 3", "the action of .* is not the one in the log"),
        ("DELETE FROM steps WHERE step = 5", "the action of .* is in the log but not in the ledger"),
        ("INSERT INTO steps VALUES (1, 6, 'null')", "the action of .* is not the one in the log"),
        ("UPDATE episodes SET number = 4", "the episode of .* is not the one in the log"),
        ("DELETE FROM episodes", "the episode of .* is in the log but not in the ledger"),
        ("UPDATE payloads SET content = zeroblob(length(content))", "the payload of .* is not the one in the log"),
    ],
)
def test_a_changed_record_is_found(written: bytes, tmp_path: Path, statement: str, complaint: str) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(written)
    assert verify_chain(path).entries == 1 + 1 + 1 + 5 + 2
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(VerifierError, match=complaint):
        verify_chain(path)


def test_the_ledger_itself_refuses_a_second_time(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(written)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in (
            (
                "INSERT INTO episodes (rollout_id, n, fold, number, started_ns) SELECT rollout_id, 2, fold, number, 0 "
                "FROM "
                "episodes"
            ),
            "INSERT INTO steps VALUES (1, 5, 'null')",
            "UPDATE rollouts SET accepted = budget + 1",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(statement)


def test_a_ledger_from_before_there_were_episodes_is_taken_over(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.executescript(f"{ledger_schema.SCHEMA} {log.SCHEMA} PRAGMA user_version = 1;")
        connection.execute(
            "INSERT INTO rollouts VALUES ('r1', 't', 'd', NULL, NULL, 5, 1, 2, 0, 0, NULL, 1.0, 1, NULL)"
        )
        log.write(connection, [log.row_after(1, log.GENESIS, "r1", {"event": "rollout-created", "at_ns": 1})])
        connection.commit()
    assert verify_chain(state).entries == 1
    for _ in range(2):
        ledger = Ledger(state)
        assert ledger.open_rollouts(1) == ["r1"]
        found = ledger.rollout("r1")
        assert found is not None
        assert found[0].tape == "given"
        assert (ledger.episodes("r1"), ledger.actions("r1", 1), ledger.all_actions("r1")) == ([], [], b"")
        ledger.close()
    assert verify_chain(state).entries == 1
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (ledger_schema.VERSION,)


def test_a_ledger_from_before_there_were_sessions_is_taken_over(tmp_path: Path) -> None:
    """An open rollout and a finished one, as format 4 kept them: neither has a session, and a new one may."""
    state = tmp_path / "state"
    state.mkdir()
    before = (ledger_schema.SCHEMA, log.SCHEMA, ledger_schema.EPISODES, ledger_schema.PRINCIPALS, ledger_schema.PROBES)
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.executescript(f"{' '.join(before)} PRAGMA user_version = 4;")
        columns = "id, task, task_digest, budget, created_ns, expires_ns, accepted, rejected, bucket_tokens, bucket_ns"
        for name, result in (("r1", None), ("r2", '{"state": "scored"}')):
            connection.execute(
                f"INSERT INTO rollouts ({columns}, result) VALUES (?, 't', 'd', 5, 1, 2, 0, 0, 1.0, 1, ?)",
                (name, result),
            )
        connection.commit()
    order: dict[str, object] = {"venue": "simulated", "duration_s": 4, "tape": None}
    for _ in range(2):
        with contextlib.closing(Ledger(state)) as ledger:
            (first, _), (second, _) = ledger.rollout("r1"), ledger.rollout("r2")
            assert (first.session, second.session, second.result) == (None, None, {"state": "scored"})
            if ledger.rollout("r3") is None:
                ledger.writer.run(Created(replace(first, id="r3", session=order)).apply)
            assert ledger.rollout("r3")[0].session == order
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (ledger_schema.VERSION,)


def test_numbers_that_are_not_finite_are_null() -> None:
    step = Step(
        MappingProxyType({"a": [1.0, float("nan"), [float("inf")]], "b": "NaN"}),
        reward=float("-inf"),
        info={"c": (float("nan"), 1)},
    )
    found = json.loads(answer(EpisodeRow(1, "public", 0, None), 3, 2, step), parse_constant=pytest.fail)
    assert (found["observation"], found["reward"], found["info"]) == (
        {"a": [1.0, None, [None]], "b": "NaN"},
        None,
        {"c": [None, 1]},
    )


def test_calls_are_counted(running: Any) -> None:
    def counts() -> Counter[str]:
        text = running.http.get("/metrics", headers=running.admin).text
        found = re.findall(rf'openfingym_episode_calls_total\{{outcome="(\S+?)",task="{TASK}"\}} (\S+)', text)
        return Counter({outcome: int(float(count)) for outcome, count in found})

    client, before = running.client, counts()
    token = client.create_rollout(TASK).token
    for _ in range(EPISODES):
        client.start_episode(token)
    assert client.step(token, EPISODES, 1, None).step == 1
    assert refused(client.step, token, EPISODES, 2, "buy") == "malformed-action"
    assert refused(client.step, token, EPISODES, 3, None) == "out-of-step"
    assert refused(client.step, token, EPISODES, 3, None) == "out-of-step"
    assert refused(client.step, token, 1, 1, None) == "episode-over"
    assert refused(client.start_episode, token) == "episodes-exhausted"
    assert counts() - before == {
        "answered": EPISODES + 1,
        "malformed-action": 1,
        "out-of-step": 2,
        "episode-over": 1,
        "episodes-exhausted": 1,
    }


def test_what_a_rollout_may_have_kept_is_bounded_and_survives_a_restart(
    package: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_service, "MAX_KEPT_BYTES", 100)
    tasks = load_tasks([package])
    action = {"predictions": [0.25, 0.25, 0.25]}  # 32 bytes as JSON

    async def fill(service: Service, rollout: Rollout, first: int) -> int:
        """Step until refused; the step that was."""
        for k in itertools.count(first):
            try:
                await service.episodes.step(rollout, {"episode": 1, "step": k, "action": action})
            except Problem as problem:
                if problem.slug != "payload-too-large":
                    raise
                return k
        raise AssertionError("unreachable")

    async def begin(service: Service) -> str:
        rollout = await service.create(CreationRequest(TASK, ttl_s=60))
        await service.episodes.start(rollout, {}, None)
        assert await fill(service, rollout, 1) == 4
        return rollout.id

    async def go_on(service: Service) -> None:
        rollout = await service.find(rollout_id)
        assert await fill(service, rollout, 4) == 4
        await service.episodes.step(rollout, {"episode": 1, "step": 4, "action": None})

    with contextlib.closing(Ledger(tmp_path)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        rollout_id = asyncio.run(begin(service))
    with contextlib.closing(Ledger(tmp_path)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        asyncio.run(go_on(service))
    verify_chain(tmp_path)
