"""Attacks on questions that are resolved later: their time, their truths, and answers once those are known."""

from __future__ import annotations

import json
from contextlib import closing

import httpx
import numpy as np
import pytest

from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.verifier.deferred_runs import ASKED, answer_of, begin, quick_markets, refused, rows, running, truths_of


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    return quick_markets(tmp_path_factory.mktemp("deferred"))


def test_what_a_rollout_is_asked_and_shown_is_its_own_and_holds_no_truth(package, tmp_path):
    state = tmp_path / "state"
    with running(package, state) as client:
        tickets = [begin(client) for _ in range(2)]
        shown = [client.data(ticket.rollout_id) for ticket in tickets]
        stored = np.asarray(package.array("test_inputs"))[-ASKED:]
        private = [data["test_inputs"][-ASKED:] for data in shown]
        for one, other in ((private[0], private[1]), (private[0], stored), (private[1], stored)):
            assert not (one == other).all(axis=1).any()
        assert set(shown[0]) <= {"test_inputs", "test_times", "test_texts"}
        keys = b"".join((state / name).read_bytes() for name in ("tape.key", "provider.key"))
        whole = b"".join(array.tobytes() for data in shown for array in data.values())
        assert not any(key in whole for key in (keys[:32], keys[32:]))
        # Before its clock has passed them, nobody who asks over HTTP is told a truth.
        name = f"{tickets[0].rollout_id}/0"
        assert client.questions.show(name)["resolutions"] == []
        assert "truth" not in json.dumps(client.questions.show(name))


def test_answers_after_the_deadline_or_after_the_truth_are_refused_whole(package, tmp_path):
    state = tmp_path / "state"
    with running(package, state) as client:
        late, other = begin(client), begin(client)
        client.submit(late.token, answer_of(package, np.full(ASKED, 0.4)))
        clock = f"rollout/{late.rollout_id}"
        client.questions.advance(clock, 2 * 10**18)
        client.questions.resolve()
        truths = truths_of(state, late.rollout_id)
        assert len(truths) == ASKED
        before = rows(state, "SELECT count(*) FROM forecasts"), rows(state, "SELECT count(*) FROM submissions")
        assert "deadline-passed" in refused(lambda: client.submit(late.token, answer_of(package, truths)))
        assert before == (
            rows(state, "SELECT count(*) FROM forecasts"),
            rows(state, "SELECT count(*) FROM submissions"),
        )
        # Not through another rollout either: it is asked other questions, by its own clock.
        client.submit(other.token, answer_of(package, truths))
        assert client.finalize(late.rollout_id).state in {"deferred", "scored"}
        client.questions.resolve()
        final = client.finalize(late.rollout_id)
        assert final.total == pytest.approx(((0.4 - truths) ** 2).mean(), rel=1e-12)
        assert client.finalize(other.rollout_id).state == "deferred"


def test_a_client_can_neither_say_what_time_it_is_nor_move_it(package, tmp_path):
    state = tmp_path / "state"
    with (
        EmbeddedVerifier.start([package], state) as verifier,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(verifier.uds)), base_url="http://v") as http,
        closing(VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token)) as client,
    ):
        admin = {"Authorization": f"Bearer {verifier.admin_token}"}
        for more in ({"now": 1}, {"questions": {"clock": "simulated", "now": 1}}, {"questions": {"clock": "mine"}}):
            order = {"task": "quick-markets", "questions": {"clock": "simulated"}, **more}
            assert http.post("/v1/rollouts", json=order, headers=admin).status_code == 422
        ticket = begin(client)
        agent = {"Authorization": f"Bearer {ticket.token}"}
        assert "not ended" in refused(lambda: client.settle(ticket.rollout_id))
        rollout = f"/v1/rollouts/{ticket.rollout_id}"
        for method, path in (
            ("POST", f"{rollout}/settle"),
            ("POST", "/v1/resolutions"),
            ("POST", f"/v1/clocks/rollout/{ticket.rollout_id}"),
            ("GET", f"/v1/questions/{ticket.rollout_id}/0"),
            ("GET", f"{rollout}/data"),
        ):
            answer = http.request(method, path, json={"now": "2100-01-01T00:00:00Z"}, headers=agent)
            assert answer.status_code in {401, 403}, (path, answer.text)
        body = {"predictions": answer_of(package, np.full(ASKED, 0.5)).tolist()}
        stated = {"Date": "Mon, 01 Jan 2001 00:00:00 GMT", "X-Received-At": "2001-01-01T00:00:00Z"}
        answer = http.post("/v1/submissions", json=body, headers={**agent, **stated})
        assert answer.status_code == 201, answer.text
        answer = http.post("/v1/submissions", json={**body, "received_at": 0}, headers=agent)
        assert answer.status_code == 422
        (times,) = rows(state, "SELECT min(received_ns), max(received_ns), max(generated_ns) FROM forecasts, questions")
        assert times[0] == times[1] == times[2]
