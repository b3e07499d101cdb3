"""Participants: what a key opens, what is added up under it, and what is kept from its holder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from openfingym.digests import sha256_of_json
from openfingym.errors import VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.receipts.merkle import leaf_hash
from openfingym.receipts.tiles import unbundled
from openfingym.verifiers.client import VerifiedResult, VerifierClient
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.policy import STRICT

TASK = "tiny"


@pytest.fixture(scope="module")
def strict(packages: dict[str, BuiltPackage]) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([packages[TASK]], policy="strict") as running:
        yield running


@pytest.fixture(scope="module")
def operator(strict: EmbeddedVerifier) -> Iterator[VerifierClient]:
    with VerifierClient(uds=strict.uds, admin_token=strict.admin_token) as client:
        yield client


@pytest.fixture
def join(strict: EmbeddedVerifier, operator: VerifierClient) -> Iterator[Callable[[str], VerifierClient]]:
    """Makes participants, and clients with their keys."""
    clients = []

    def make(name: str) -> VerifierClient:
        client = VerifierClient(uds=strict.uds, admin_token=operator.add_participant(name))
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def answer(packages: dict[str, BuiltPackage]) -> np.ndarray:
    """What scores well: the truth with a little noise."""
    truth = packages[TASK].read_truth()["targets"]
    return truth + 0.01 * truth.std() * np.random.default_rng(0).standard_normal(truth.shape)


def played(client: VerifierClient, values: np.ndarray) -> VerifiedResult:
    ticket = client.create_rollout(TASK)
    client.submit(ticket.token, values)
    return client.finalize(ticket.rollout_id)


def test_a_key_opens_its_own_doors_and_no_other(
    strict: EmbeddedVerifier, operator: VerifierClient, join: Any, answer: np.ndarray
) -> None:
    mine, theirs = join("doors-a"), join("doors-b")
    ticket = mine.create_rollout(TASK)
    mine.submit(ticket.token, answer)
    assert mine.rollout_status(ticket.rollout_id).submissions_accepted == 1
    assert mine.tasks()[0].baseline_total is None, "the baseline's private loss is the operator's to know"
    assert operator.tasks()[0].baseline_total is not None
    for call in (
        lambda: theirs.rollout_status(ticket.rollout_id),
        lambda: theirs.finalize(ticket.rollout_id),
        lambda: theirs.log(ticket.rollout_id),
        lambda: theirs.submission(ticket.rollout_id, 1),
        lambda: theirs.actions(ticket.rollout_id),
    ):
        with pytest.raises(VerifierError, match="404 not-found"):
            call()
    for call in (
        mine.participants,
        lambda: mine.add_participant("another"),
        lambda: mine.revoke_participant("doors-b"),
        mine.close_season,
        lambda: mine.open_season("x"),
    ):
        with pytest.raises(VerifierError, match="403 forbidden"):
            call()
    assert operator.rollout_status(ticket.rollout_id).submissions_accepted == 1
    key = mine._connection.admin_token
    with httpx.Client(base_url="http://v", transport=httpx.HTTPTransport(uds=str(strict.uds)), trust_env=False) as http:
        for path in ("/v1/submissions", "/v1/episodes"):
            assert http.post(path, headers={"Authorization": f"Bearer {key}"}).status_code == 401, (
                "a key is no rollout's token"
            )


def test_a_key_is_shown_once_and_can_be_withdrawn(
    strict: EmbeddedVerifier, operator: VerifierClient, join: Any
) -> None:
    client = join("leaver")
    client.create_rollout(TASK)
    for taken in ("leaver", "operator", "local", "With Capitals", "", "a/b"):
        with pytest.raises(VerifierError, match="name"):
            operator.add_participant(taken)
    operator.revoke_participant("leaver")
    with pytest.raises(VerifierError, match="401 unauthorized"):
        client.create_rollout(TASK)
    with pytest.raises(VerifierError, match="404"):
        operator.revoke_participant("leaver")
    with pytest.raises(VerifierError, match="name-taken"):
        operator.add_participant("leaver")
    listed = {one.name: one.revoked_at for one in operator.participants()}
    assert listed["leaver"] is not None
    key = client._connection.admin_token or ""
    stored = b"".join(path.read_bytes() for path in strict.state.iterdir() if path.is_file())
    assert key.encode() not in stored


def test_feedback_ends_after_so_many_submissions(join: Any, answer: np.ndarray) -> None:
    client = join("asker")
    shown = []
    while len(shown) < (STRICT.public_disclosures or 0) + 7:
        ticket = client.create_rollout(TASK)
        shown += [client.submit(ticket.token, answer + 1e-3 * len(shown)) for _ in range(ticket.budget)]
    told = [one for one in shown if one.total is not None]
    assert len(told) == STRICT.public_disclosures
    assert all(one.metrics == {} for one in shown[len(told) :])
    past = client.rollout_status(ticket.rollout_id).submissions
    assert past[-1].feedback.total is None


def test_the_log_alone_tells_nothing_of_a_result(operator: VerifierClient, join: Any, answer: np.ndarray) -> None:
    client = join("logger")
    held = [played(client, answer), played(client, answer)]
    digests = {
        row.entry["result"] for one in held for row in client.log(one.rollout_id) if row.entry["event"] == "finalized"
    }
    assert len(digests) == 2, (
        "the same answer with the same score has another digest each time, so none can be looked up"
    )


def test_the_local_policy_tells_everything(packages: dict[str, BuiltPackage], answer: np.ndarray) -> None:
    with (
        EmbeddedVerifier.start([packages[TASK]]) as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as client,
    ):
        found = [played(client, answer) for _ in range(6)]
    assert {(one.policy, one.disclosure, one.state) for one in found} == {("local", "full", "scored")}
    assert len({one.relative_total for one in found}) == 1


def test_so_many_rollouts_may_be_open_and_no_more(join: Any, operator: VerifierClient, answer: np.ndarray) -> None:
    client, most = join("opener"), STRICT.open_rollouts or 0

    def create(_: int) -> str | None:
        try:
            return client.create_rollout(TASK).rollout_id
        except VerifierError as error:
            if "too-many-rollouts" not in str(error):
                raise
            return None

    with ThreadPoolExecutor(16) as pool:
        begun = [one for one in pool.map(create, range(most + 40)) if one is not None]
    assert len(begun) == most
    assert played(operator, answer).state == "scored", "nobody else is kept from anything"
    client.finalize(begun[0])
    assert create(0) is not None
    assert create(0) is None


def test_expired_rollouts_are_not_taken_up_and_can_still_be_ended(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    first = launch([packages[TASK]], tmp_path / "state")
    with first.client() as operator:
        ticket = operator.create_rollout(TASK, ttl_s=0.5)
    time.sleep(0.6)
    first.kill()
    second = launch([packages[TASK]], tmp_path / "state")
    with second.client() as operator:
        assert operator.load().open_rollouts == 0
        assert operator.rollout_status(ticket.rollout_id).state == "expired"
        assert operator.finalize(ticket.rollout_id).state == "rejected"


def test_a_key_opens_nothing_where_everything_is_told(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    first = launch([packages[TASK]], tmp_path / "state")
    with first.client() as operator:
        key = operator.add_participant("elsewhere")
    first.kill()
    second = launch([packages[TASK]], tmp_path / "state", "--policy", "local")
    with VerifierClient(uds=second.uds, admin_token=key) as client, pytest.raises(VerifierError, match="local policy"):
        client.create_rollout(TASK)


def test_receipts_prove_what_participants_are_told_and_no_more(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path, answer: np.ndarray
) -> None:
    process = launch([packages[TASK]], tmp_path / "state")
    with (
        process.client() as operator,
        VerifierClient(uds=process.uds, admin_token=operator.add_participant("mine")) as mine,
        VerifierClient(uds=process.uds, admin_token=operator.add_participant("theirs")) as theirs,
    ):
        held = played(mine, answer).rollout_id
        mine.enter(held)
        rounded = mine.create_rollout(TASK).rollout_id
        assert mine.receipt(rounded) is None, "there is none before there is a result"
        shown = json.loads(mine.result_document(held))
        assert (shown["disclosure"], shown["salt"]) == ("held", None)
        ended = mine.receipt(held).leaves[-1].document
        assert not {"state", "flags"} & ended.keys(), "how it ended is told at the close"
        operator.close_season()
        entry = mine.receipt(held).leaves[-1].document
        assert (entry["event"], entry["state"]) == ("released", "scored")
        assert (entry["told"], entry["result"]) == (ended["told"], ended["result"])
        told = json.loads(mine.result_document(held))
        told.pop("log_head")
        assert (told["disclosure"], sha256_of_json(told)) == ("rounded", entry["told"])
        full = json.loads(operator.result_document(held))
        full.pop("log_head")
        assert (full["disclosure"], sha256_of_json(full)) == ("full", entry["result"])
        assert told["salt"] != full["salt"]
        row = mine.receipt(held).leaves[-1].index + 1
        assert mine.receipt_of_row(row).leaves[0].document == entry
        assert theirs.checkpoint() == mine.checkpoint()
        assert len(theirs.tile("0/000.p/5")) == 5 * 32
        for call in (
            lambda: theirs.receipt_of_row(row),
            lambda: theirs.receipt_of_row(10**9),
            lambda: theirs.receipt_of_row(1),
            lambda: theirs.result_document(held),
            lambda: theirs.tile("0/001"),
        ):
            with pytest.raises(VerifierError, match="404 not-found"):
                call()
        assert theirs.receipt(held) is None
        with pytest.raises(VerifierError, match="403 forbidden"):
            mine.tile("entries/000.p/5")
        with pytest.raises(VerifierError, match="422 malformed-request"):
            mine.tile("0/000.p/256")
        entries = list(unbundled(operator.tile("entries/000.p/5")))
        assert [leaf_hash(one) for one in entries] == [theirs.tile("0/000.p/5")[i : i + 32] for i in range(0, 160, 32)]
    assert process.stop() == 0
    verify_chain(tmp_path / "state")
