"""Tokens, budgets, rate limits, idempotency and the uniformity of errors."""

from __future__ import annotations

import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from openfingym.errors import SubmissionError
from openfingym.headers import KEY_RULE
from openfingym.metrics import Truth, relative, score
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import RolloutTicket

SLUG = "urn:openfingym:problem:"


@pytest.fixture
def body(packages: dict[str, BuiltPackage], to_npy: Any) -> bytes:
    return to_npy(0.01 * np.random.default_rng(5).standard_normal(packages["tiny"].manifest.submission_shape))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_feedback_and_result_are_the_losses_of_their_folds(server: Any, packages: dict[str, BuiltPackage]) -> None:
    package = packages["tiny"]
    truth, scoring, n = package.read_truth()["targets"], package.task.spec.scoring, package.manifest.n_public
    values = 0.02 * np.random.default_rng(1).standard_normal(truth.shape)
    folds = {
        part: Truth({"y_true": truth[rows]}) for part, rows in {"public": slice(n), "private": slice(n, None)}.items()
    }

    ticket = server.client.create_rollout("tiny", agent="a", seed=7)
    assert ticket.task_digest == package.manifest.digest
    feedback = server.client.submit(ticket.token, values)
    public = score(scoring, folds["public"], {"y_pred": values[:n]})
    assert feedback.metrics == {name: float(f"{loss:.2e}") for name, loss in public.metrics.items()}
    result = server.client.finalize(ticket.rollout_id)
    private = score(scoring, folds["private"], {"y_pred": values[n:]})
    zero = score(scoring, folds["private"], {"y_pred": np.zeros_like(truth[n:])})
    assert (result.state, result.total, result.metrics) == ("scored", private.total, private.metrics)
    assert (result.baseline, result.baseline_total, result.baseline_metrics) == ("naive", zero.total, zero.metrics)
    assert result.relative_total == relative(scoring, private.metrics, zero.metrics) > 1.0
    assert (result.flags, result.data_kind, result.reason) == ((), "simulated", None)


def test_the_last_accepted_submission_counts(server: Any, packages: dict[str, BuiltPackage]) -> None:
    truth = packages["tiny"].read_truth()["targets"]
    ticket = server.client.create_rollout("tiny")
    assert server.client.submit(ticket.token, truth).total == 0.0
    server.client.submit(ticket.token, np.zeros_like(truth))
    with pytest.raises(SubmissionError):
        server.client.submit(ticket.token, truth[:-1])
    result = server.client.finalize(ticket.rollout_id)
    assert result.total == result.baseline_total > 0.0
    assert result.relative_total == 1.0
    assert (result.submissions_accepted, result.submissions_rejected) == (2, 1)


def test_without_an_accepted_submission_the_rollout_is_rejected_with_the_reason(server: Any) -> None:
    ticket = server.client.create_rollout("tiny")
    with pytest.raises(SubmissionError):
        server.client.submit(ticket.token, np.zeros(3))
    result = server.client.finalize(ticket.rollout_id)
    assert (result.state, result.total, result.metrics) == ("rejected", None, {})
    assert result.reason is not None
    assert "wrong-shape" in result.reason
    assert result.relative_total is None
    assert result.baseline_total > 0.0


def test_finalizing_is_idempotent_and_ends_submissions(server: Any, body: bytes) -> None:
    ticket = server.client.create_rollout("tiny")
    server.post(ticket.token, body)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: server.client.finalize(ticket.rollout_id), range(8)))
    assert all(result == results[0] for result in results)
    answer = server.post(ticket.token, body)
    assert (answer.status_code, answer.json()["type"]) == (409, SLUG + "rollout-finished")
    events = [row.entry["event"] for row in server.client.log(ticket.rollout_id)]
    assert events == ["rollout-created", "accepted", "scored", "finalized"]
    view = server.http.get("/v1/rollout", headers=bearer(ticket.token)).json()
    assert view["state"] == "finished"
    assert str(results[0].total) not in str(view)


def test_the_budget_is_spent_by_accepted_submissions_only(
    server: Any, packages: dict[str, BuiltPackage], to_npy: Any
) -> None:
    good = to_npy(np.zeros(packages["frugal"].manifest.submission_shape))
    ticket = server.client.create_rollout("frugal")
    for _ in range(5):
        assert server.post(ticket.token, b"junk").status_code == 422
    assert [server.post(ticket.token, good).json()["remaining"] for _ in range(2)] == [1, 0]
    for sent in (good, b"junk"):
        answer = server.post(ticket.token, sent)
        assert (answer.status_code, answer.json()["type"]) == (409, SLUG + "budget-exhausted")


def test_concurrent_submissions_never_exceed_the_budget(
    server: Any, packages: dict[str, BuiltPackage], to_npy: Any
) -> None:
    good = to_npy(np.zeros(packages["frugal"].manifest.submission_shape))
    ticket = server.client.create_rollout("frugal")
    with ThreadPoolExecutor(16) as pool:
        codes = sorted(pool.map(lambda _: server.post(ticket.token, good).status_code, range(16)))
    assert codes == [201] * 2 + [409] * 14


def test_idempotency_key(server: Any, body: bytes, packages: dict[str, BuiltPackage], to_npy: Any) -> None:
    ticket = server.client.create_rollout("tiny")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.post(ticket.token, body, idempotency_key="k1"), range(8)))
    assert [answer.status_code for answer in answers] == [201] * 8
    assert all(answer.content == answers[0].content for answer in answers)
    assert server.client.rollout_status(ticket.rollout_id).submissions_accepted == 1
    other = to_npy(np.zeros(packages["tiny"].manifest.submission_shape))
    conflict = server.post(ticket.token, other, idempotency_key="k1")
    assert (conflict.status_code, conflict.json()["type"]) == (409, SLUG + "idempotency-conflict")
    assert server.post(ticket.token, b"junk", idempotency_key="k1").status_code == 409
    # A refusal does not use a key up, and keys of one rollout mean nothing to another.
    assert server.post(ticket.token, b"junk", idempotency_key="k2").status_code == 422
    assert server.post(ticket.token, body, idempotency_key="k2").json()["submission"] == 2
    assert server.post(server.client.create_rollout("tiny").token, other, idempotency_key="k1").status_code == 201


def test_a_retry_is_free_even_when_budget_and_rate_are_spent(
    server: Any, packages: dict[str, BuiltPackage], to_npy: Any
) -> None:
    good = to_npy(np.zeros(packages["slow"].manifest.submission_shape))
    ticket = server.client.create_rollout("slow")
    first = server.post(ticket.token, good, idempotency_key="once")
    while server.post(ticket.token, good).status_code != 429:
        pass
    again = server.post(ticket.token, good, idempotency_key="once")
    assert (again.status_code, again.content) == (201, first.content)


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "caf\xe9"])
def test_bad_idempotency_keys_are_refused(server: Any, body: bytes, key: str) -> None:
    headers = {**bearer(server.client.create_rollout("tiny").token), "Idempotency-Key": key.encode("latin-1")}
    answer = server.http.post("/v1/submissions", content=body, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, SLUG + "bad-request")
    assert answer.json()["detail"] == KEY_RULE


def test_ten_thousand_submissions_are_limited_and_nobody_else_notices(
    server: Any, packages: dict[str, BuiltPackage], to_npy: Any
) -> None:
    flood = server.client.create_rollout("slow")
    calm = server.client.create_rollout("tiny")
    body = to_npy(np.zeros(packages["slow"].manifest.submission_shape))
    codes: list[int] = []
    head = (
        f"POST /v1/submissions HTTP/1.1\r\nHost: v\r\nAuthorization: Bearer {flood.token}\r\nContent-Type: "
        "application/x-npy\r\n"
    )
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def attack(count: int) -> None:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(server.embedded.uds))
            answers = sock.makefile("rb")
            for _ in range(count):
                sock.sendall(request)
                codes.append(int(answers.readline().split()[1]))
                lines = iter(answers.readline, b"\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in list(lines) if line.lower().startswith(b"content-length")
                )
                answers.read(length)

    start = time.perf_counter()
    attackers = [threading.Thread(target=attack, args=(2500,)) for _ in range(4)]
    for attacker in attackers:
        attacker.start()
    accepted = 0
    while any(attacker.is_alive() for attacker in attackers):
        assert server.post(calm.token, body).status_code == 201
        accepted += 1
        time.sleep(0.05)
    for attacker in attackers:
        attacker.join()
    seconds = time.perf_counter() - start
    assert len(codes) == 10_000
    assert set(codes) == {201, 429}
    assert 5 <= codes.count(201) <= 5 + seconds + 1  # burst 5, 60 a minute
    assert accepted > 3
    # On a busy machine a token may have come back since the last of them.
    limited = next(
        answer for answer in (server.post(flood.token, body) for _ in range(20)) if answer.status_code != 201
    )
    assert limited.status_code == 429
    assert limited.headers["retry-after"] == "1"


def test_a_heavy_submission_does_not_stall_the_others(
    server: Any, packages: dict[str, BuiltPackage], body: bytes, to_npy: Any
) -> None:
    heavy_body = to_npy(0.01 * np.random.default_rng(2).standard_normal(packages["wide"].manifest.submission_shape))
    heavy, light = (server.client.create_rollout("wide") for _ in range(2)), server.client.create_rollout("tiny")
    done: list[float] = []

    def submit(token: str) -> None:
        for _ in range(2):
            begin = time.perf_counter()
            assert server.post(token, heavy_body).status_code == 201
            done.append(time.perf_counter() - begin)

    threads = [threading.Thread(target=submit, args=(ticket.token,)) for ticket in heavy]
    for thread in threads:
        thread.start()
    waits = []
    while any(thread.is_alive() for thread in threads):
        begin = time.perf_counter()
        assert server.post(light.token, body).status_code == 201
        waits.append(time.perf_counter() - begin)
    for thread in threads:
        thread.join()
    assert len(done) == 4
    # If the others were held up, each of them would wait for a whole heavy one; on a busy machine some wait anyway.
    assert min(waits) < np.median(done)


def test_tokens_are_worth_what_they_say(server: Any, body: bytes) -> None:
    ticket = server.client.create_rollout("tiny")
    other = server.client.create_rollout("tiny")
    name, expiry, signature = ticket.token.split(".")
    forged = [
        f"{other.rollout_id}.{expiry}.{signature}",
        f"{name}.{int(expiry) + 1}.{signature}",
        f"{name}.{expiry}.{signature[:-1]}{'A' if signature[-1] != 'A' else 'E'}",
        f"{name}.{expiry}.",
        f"{name}.{expiry}",
        "x",
    ]
    for token in forged:
        answer = server.post(token, body)
        assert (answer.status_code, answer.json()["type"]) == (401, SLUG + "unauthorized"), token
        assert answer.headers["www-authenticate"] == "Bearer"
    assert server.post(other.token, body).status_code == 201
    assert server.client.rollout_status(ticket.rollout_id).submissions_accepted == 0
    assert server.client.rollout_status(other.rollout_id).submissions_accepted == 1


def test_an_expired_token_is_refused_and_its_rollout_can_still_be_finalized(server: Any, body: bytes) -> None:
    ticket = server.client.create_rollout("tiny", ttl_s=0.4)
    assert server.post(ticket.token, body).status_code == 201
    time.sleep(0.5)
    answer = server.post(ticket.token, body)
    assert (answer.status_code, answer.json()["detail"]) == (401, "The token has expired; create a new rollout.")
    assert server.http.get("/v1/rollout", headers=bearer(ticket.token)).status_code == 401
    assert server.client.rollout_status(ticket.rollout_id).state == "expired"
    assert server.client.finalize(ticket.rollout_id).state == "scored"


def test_each_token_opens_its_own_doors(server: Any) -> None:
    ticket = server.client.create_rollout("tiny")
    admin_routes = [
        ("GET", "/v1/tasks"),
        ("POST", "/v1/agents"),
        ("POST", "/v1/rollouts"),
        ("GET", f"/v1/rollouts/{ticket.rollout_id}"),
        ("POST", f"/v1/rollouts/{ticket.rollout_id}/finalize"),
        ("POST", f"/v1/rollouts/{ticket.rollout_id}/token"),
        ("GET", f"/v1/rollouts/{ticket.rollout_id}/log"),
        ("GET", f"/v1/rollouts/{ticket.rollout_id}/submissions/1"),
        ("GET", "/v1/questions"),
        ("POST", "/v1/questions"),
        ("GET", "/v1/questions/some"),
        ("GET", "/v1/forecasts"),
        ("POST", "/v1/forecasts"),
        ("GET", "/v1/forecasts/1/receipt"),
        ("POST", "/v1/recordings"),
        ("POST", "/v1/past-forecasts"),
        ("POST", "/v1/resolutions"),
        ("POST", "/v1/references"),
        ("POST", "/v1/clocks/some"),
        ("GET", "/v1/ledger"),
        ("GET", "/v1/participants"),
        ("POST", "/v1/participants"),
        ("DELETE", "/v1/participants/somebody"),
        ("GET", "/v1/season"),
        ("POST", "/v1/season"),
        ("POST", "/v1/season/close"),
    ]
    rollout_routes = [
        ("GET", "/v1/task"),
        ("GET", "/v1/rollout"),
        ("POST", "/v1/submissions"),
        ("POST", "/v1/episodes"),
        ("POST", "/v1/steps"),
    ]
    for routes, wrong in ((admin_routes, bearer(ticket.token)), (rollout_routes, server.admin)):
        for method, path in routes:
            assert server.http.request(method, path, headers=wrong, json={"task": "tiny"}).status_code == 403, path
            for headers in ({}, {"Authorization": "Basic eDp5"}, bearer("nobody")):
                assert server.http.request(method, path, headers=headers, json={"task": "tiny"}).status_code == 401, (
                    path
                )


def test_contract(server: Any, packages: dict[str, BuiltPackage]) -> None:
    ticket = server.client.create_rollout("frugal")
    contract = server.http.get("/v1/task", headers=bearer(ticket.token)).json()
    manifest = packages["frugal"].manifest
    assert tuple(contract["submission_shape"]) == manifest.submission_shape
    assert (contract["budget"], contract["n_public"], contract["low"], contract["high"]) == (
        2,
        manifest.n_public,
        -2.0,
        2.0,
    )
    assert (contract["kind"], contract["labels"], contract["submission_axes"]) == (
        "array",
        ["c0", "c1"],
        list(manifest.submission_axes),
    )
    assert contract["metrics"][0] == {"name": "mae", "weight": 0.5, "direction": "lower"}
    assert "naive" not in str(contract)


def test_every_error_is_a_problem_document(server: Any) -> None:
    requests = [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1/submissions", 405, "method-not-allowed"),
        ("DELETE", "/v1/rollouts", 405, "method-not-allowed"),
        ("GET", "/v1/rollouts/unknown", 404, "not-found"),
        ("GET", f"/v1/rollouts/{'x' * 65}", 422, "malformed-request"),
    ]
    for method, path, status, slug in requests:
        answer = server.http.request(method, path, headers=server.admin)
        assert (answer.status_code, answer.json()["type"]) == (status, SLUG + slug), path
        assert answer.headers["content-type"] == "application/problem+json"
    for order in ({}, {"task": "tiny", "extra": 1}, {"task": "tiny", "ttl_s": -1}, {"task": 3}, []):
        answer = server.http.post("/v1/rollouts", json=order, headers=server.admin)
        assert (answer.status_code, answer.json()["type"]) == (422, SLUG + "malformed-request")
    answer = server.http.post("/v1/rollouts", json={"task": "no-such-task"}, headers=server.admin)
    assert (answer.status_code, answer.json()["type"]) == (404, SLUG + "not-found")


def test_a_failure_of_ours_is_503_and_leaks_nothing(
    server: Any, packages: dict[str, BuiltPackage], body: bytes
) -> None:
    ticket = server.client.create_rollout("tiny")
    server.post(ticket.token, body)
    time.sleep(0.2)
    with sqlite3.connect(server.embedded.state / "ledger.db") as ledger:
        ledger.execute(
            "DELETE FROM payloads WHERE submission IN (SELECT id FROM submissions WHERE rollout_id = ?)",
            (ticket.rollout_id,),
        )
    ledger.close()
    answer = server.http.post(f"/v1/rollouts/{ticket.rollout_id}/finalize", headers=server.admin)
    assert (answer.status_code, answer.json()["type"]) == (503, SLUG + "unavailable")
    assert answer.headers["content-type"] == "application/problem+json"
    for secret in (str(packages["tiny"].truth), "Traceback", ".py", "ledger"):
        assert secret not in answer.text
    # It is not a result either: the rollout stays open.
    assert server.client.rollout_status(ticket.rollout_id).state == "open"


def test_open_routes_and_metrics(server: Any, body: bytes) -> None:
    assert server.http.get("/healthz").json() == {"status": "ok", "tasks": 5}
    ticket = server.client.create_rollout("tiny")
    server.post(ticket.token, body, idempotency_key="m")
    server.post(ticket.token, body, idempotency_key="m")
    server.post(ticket.token, b"junk")
    text = server.http.get("/metrics", headers=server.admin).text
    for line in (
        'openfingym_submissions_total{outcome="accepted",task="tiny"}',
        'openfingym_submissions_total{outcome="replayed",task="tiny"}',
        'openfingym_submissions_total{outcome="malformed-submission",task="tiny"}',
        'openfingym_scoring_seconds_bucket{le="0.001",task="tiny"}',
        "openfingym_open_rollouts ",
        "openfingym_ledger_queue_depth ",
    ):
        assert line in text
    assert ticket.rollout_id not in text


def test_openapi_describes_every_route(server: Any) -> None:
    schema = server.http.get("/openapi.json", headers=server.admin).json()
    described = {(method.upper(), path) for path, item in schema["paths"].items() for method in item}
    assert described == {
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/v1/tasks"),
        ("POST", "/v1/agents"),
        ("POST", "/v1/rollouts"),
        ("GET", "/v1/rollouts/{rollout_id}"),
        ("POST", "/v1/rollouts/{rollout_id}/finalize"),
        ("POST", "/v1/rollouts/{rollout_id}/token"),
        ("POST", "/v1/rollouts/{rollout_id}/settle"),
        ("GET", "/v1/rollouts/{rollout_id}/data"),
        ("GET", "/v1/rollouts/{rollout_id}/log"),
        ("GET", "/v1/rollouts/{rollout_id}/tape"),
        ("GET", "/v1/rollouts/{rollout_id}/receipt"),
        ("GET", "/v1/rollouts/{rollout_id}/result"),
        ("GET", "/v1/receipts/{row}"),
        ("GET", "/v1/checkpoint"),
        ("GET", "/v1/tile/{path}"),
        ("POST", "/v1/rollouts/{rollout_id}/settle"),
        ("GET", "/v1/rollouts/{rollout_id}/data"),
        ("GET", "/v1/rollouts/{rollout_id}/submissions/{n}"),
        ("GET", "/v1/questions"),
        ("POST", "/v1/questions"),
        ("GET", "/v1/questions/{name}"),
        ("GET", "/v1/forecasts"),
        ("POST", "/v1/forecasts"),
        ("GET", "/v1/forecasts/{forecast}/receipt"),
        ("POST", "/v1/recordings"),
        ("POST", "/v1/past-forecasts"),
        ("POST", "/v1/resolutions"),
        ("POST", "/v1/references"),
        ("POST", "/v1/clocks/{name}"),
        ("GET", "/v1/ledger"),
        ("GET", "/v1/participants"),
        ("POST", "/v1/participants"),
        ("DELETE", "/v1/participants/{name}"),
        ("GET", "/v1/season"),
        ("POST", "/v1/season"),
        ("POST", "/v1/season/close"),
        ("GET", "/v1/season/{name}/board"),
        ("POST", "/v1/rollouts/{rollout_id}/entry"),
        ("GET", "/v1/task"),
        ("GET", "/v1/rollout"),
        ("POST", "/v1/submissions"),
        ("POST", "/v1/episodes"),
        ("POST", "/v1/steps"),
        ("GET", "/v1/episodes/live"),
        ("GET", "/v1/rollouts/{rollout_id}/actions"),
    }
    submit = schema["paths"]["/v1/submissions"]["post"]
    assert "application/x-npy" in submit["requestBody"]["content"]
    assert {"201", "409", "413", "415", "422", "429", "500"} <= set(submit["responses"])
    references = {part.split('"')[0] for part in str(schema).replace("'", '"').split("#/components/schemas/")[1:]}
    assert references <= set(schema["components"]["schemas"])


def test_many_rollouts_of_many_tasks_at_once(server: Any, packages: dict[str, BuiltPackage]) -> None:
    def rollout(i: int) -> tuple[str, float | None]:
        name = ("tiny", "frugal", "prices")[i % 3]
        offset = 100.0 if name == "prices" else 0.0
        values = offset + 0.01 * np.random.default_rng(i).standard_normal(packages[name].manifest.submission_shape)
        ticket: RolloutTicket = server.client.create_rollout(name)
        for _ in range(2):
            server.client.submit(ticket.token, values)
        np.testing.assert_array_equal(server.client.submission(ticket.rollout_id, 2), values)
        return server.client.finalize(ticket.rollout_id).state, server.client.finalize(ticket.rollout_id).total

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(rollout, range(48)))
    assert {state for state, _ in results} == {"scored"}
    assert len({total for _, total in results}) == 48
