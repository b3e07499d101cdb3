"""Attacks on questions that are resolved later: their time, their truths, and answers once those are known.

Attacks: a client's time in a forecast; moving a simulated clock, by a participant or backwards; a forecast when the
market has closed or the event came early; truths read out of what a rollout is shown.
"""

from __future__ import annotations

import json
from contextlib import closing

import httpx
import numpy as np
import pytest

from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.verifier.deferred_runs import ASKED, begin, quick_markets, refused, rows, running, shown_of, truths_of


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    return quick_markets(tmp_path_factory.mktemp("deferred"))


def test_what_a_rollout_is_asked_and_shown_is_its_own_and_holds_no_truth(package, tmp_path):
    state = tmp_path / "state"
    with running(package, state) as client:
        tickets = [begin(client) for _ in range(2)]
        shown = [shown_of(client, ticket) for ticket in tickets]
        stored = np.asarray(package.shown_array("test_inputs"))[-ASKED:]
        private = [data["inputs"] for data in shown]
        for one, other in ((private[0], private[1]), (private[0], stored), (private[1], stored)):
            assert not (one == other).all(axis=1).any()
        assert set(shown[0]) == {"inputs", "times", "texts"}
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
        early, late, other = (begin(client) for _ in range(3))
        for ticket in (early, late):
            shown_of(client, ticket)
        client.walk(early.token, np.full(ASKED, 0.4))
        for ticket in (early, late):
            client.questions.advance(f"rollout/{ticket.rollout_id}", 2 * 10**18)
        client.questions.resolve()
        truths = truths_of(state, early.rollout_id)
        assert len(truths) == ASKED
        written = [f"SELECT count(*) FROM {table}" for table in ("forecasts", "steps", "submissions")]
        before = [rows(state, query) for query in written]
        known = truths_of(state, late.rollout_id)
        assert "deadline-passed" in refused(lambda: client.walk(late.token, known))
        assert "episodes-exhausted" in refused(lambda: client.walk(early.token, truths)), "an answer stays"
        assert before == [rows(state, query) for query in written]
        assert client.start_episode(late.token).step == 0, "what is refused is no answer"
        # Not through another rollout either: it is asked other questions, by its own clock.
        client.walk(other.token, truths)
        assert client.finalize(early.rollout_id).state in {"deferred", "scored"}
        client.questions.resolve()
        final = client.finalize(early.rollout_id)
        assert final.total == pytest.approx(((0.4 - truths) ** 2).mean(), rel=1e-12)
        assert client.finalize(other.rollout_id).state == "deferred"
        assert client.finalize(late.rollout_id).state == "rejected"


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
        shown_of(client, ticket)
        body = {"episode": 1, "step": 1, "action": {"predictions": [0.5] * ASKED}}
        answer = http.post("/v1/steps", json={**body, "received_at": 0}, headers=agent)
        assert answer.status_code == 422
        stated = {"Date": "Mon, 01 Jan 2001 00:00:00 GMT", "X-Received-At": "2001-01-01T00:00:00Z"}
        answer = http.post("/v1/steps", json=body, headers={**agent, **stated})
        assert answer.status_code == 200, answer.text
        (times,) = rows(state, "SELECT min(received_ns), max(received_ns), max(generated_ns) FROM forecasts, questions")
        assert times[0] == times[1] == times[2]
