"""Questions about a world of the rollout's own, behind a real verifier: drawn from its key, and the same again after it
was killed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym import store
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.reports.certificate import certify
from openfingym.reports.questions.played import played_runs
from openfingym.results import read_run
from openfingym.rollouts.single import run
from openfingym.suites.suite import SuiteQuestion
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.receipt_check import check_run
from openfingym_verifier.audit.log import verify_chain
from tests.marks import SOCKETS_DROPPED

TASK = "mirai-relation-forecast"
pytestmark = SOCKETS_DROPPED


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task(TASK))


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def latest(client: VerifierClient, token: str) -> tuple[Any, Any]:
    """The next question, and what its tools show of the last days before it."""
    at = client.start_episode(token)
    return at, client.step(token, at.episode, 1, {"tool": "get_events", "arguments": {}})


def test_each_rollout_has_questions_and_tools_of_its_own_and_keeps_them_when_it_is_killed(
    launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    on_disk = files(store.home())
    process = launch([package], state, "--fresh")
    with process.client() as client:
        tickets = [client.create_rollout(TASK) for _ in range(2)]
        assert [ticket.tape for ticket in tickets] == ["fresh", "fresh"]
        data = [client.data(ticket.rollout_id) for ticket in tickets]
        for own in data:
            assert own.keys() == {"test_questions", "snapshot"}, "what is given with its answers is the same"
            assert own["test_questions"].shape == package.array("test_questions").shape
        every = [*data, {name: package.array(name) for name in data[0]}]
        asked = [{SuiteQuestion.from_json(str(text)).text for text in own["test_questions"]} for own in every]
        assert all(len(one & other) < 10 for place, one in enumerate(asked) for other in asked[:place])
        assert len({str(own["snapshot"][0]) for own in every}) == 3
        begun = [latest(client, ticket.token) for ticket in tickets]
        for own, (at, _) in zip(data, begun, strict=True):
            first = SuiteQuestion.from_json(str(own["test_questions"][package.manifest.n_public]))
            assert at.observation["question"] == first.text
        # A month after the worlds parted, their tools show other events.
        seen = [shown.observation["value"] for _, shown in begun]
        assert len(seen[0]) == len(seen[1]) == 30
        assert seen[0] != seen[1]
    process.kill()
    again = launch([package], state)
    with again.client() as client:
        ticket, (at, shown) = tickets[0], begun[0]
        assert client.step(ticket.token, at.episode, 1, {"tool": "get_events", "arguments": {}}) == shown
        repeated = client.step(ticket.token, at.episode, 2, {"tool": "get_events", "arguments": {}})
        assert repeated.observation["value"] == shown.observation["value"]
        np.testing.assert_array_equal(client.data(ticket.rollout_id)["test_questions"], data[0]["test_questions"])
        client.step(ticket.token, at.episode, 3, {"answer": package.contract["prior"]})
        for _ in range(package.manifest.n_private - 1):
            at = client.start_episode(ticket.token)
            client.step(ticket.token, at.episode, 1, {"answer": package.contract["prior"]})
        result = client.finalize(ticket.rollout_id)
        assert result.tape == "fresh"
        assert result.relative_total == pytest.approx(1.0, abs=1e-9)  # the answers are the baseline's
        created = client.log(ticket.rollout_id)[0].entry
        assert created["tape"] == "fresh"
        assert created["tape_commitment"]
    assert again.stop() == 0
    verify_chain(state)
    # Worlds are in memory alone: neither the store nor the verifier's state has a file of them.
    written = files(store.home()) - on_disk | files(state)
    assert {path.suffix for path in written}.isdisjoint({".columns", ".search", ".parquet"})


def test_while_a_world_is_drawn_others_begin_their_rollouts(
    launch: Callable[..., Any], make: Callable[..., BuiltPackage], package: BuiltPackage, tmp_path: Path
) -> None:
    """A world takes seconds; a participant that asks for many would otherwise keep all others out for minutes."""
    tiny = make(tmp_path / "tiny", "tiny")
    process = launch([package, tiny], tmp_path / "state")
    with process.client() as operator:
        keys = [operator.add_participant(name) for name in ("ann", "bob")]
    ann, bob = (VerifierClient(uds=process.uds, admin_token=key) for key in keys)
    drawing = threading.Thread(target=lambda: [ann.create_rollout(TASK) for _ in range(2)])
    with ann, bob:
        drawing.start()
        for _ in range(3):
            ticket = bob.create_rollout("tiny")
            bob.submit(ticket.token, np.zeros(tiny.manifest.submission_shape))
            bob.finalize(ticket.rollout_id)
        assert drawing.is_alive()
        drawing.join()


def test_a_run_on_a_world_of_its_own_has_a_receipt_and_says_what_cannot_be_repeated(
    package: BuiltPackage, tmp_path: Path
) -> None:
    result = run(TASK, "naive", backend="inline", fresh=True, out=tmp_path)
    assert (result.state, result.tape) == ("scored", "fresh"), result.reason
    assert result.relative_total == pytest.approx(1.0, abs=1e-9)
    assert result.path is not None
    check_run(result.path)
    assert read_run(result.path).tape == "fresh"
    kept = (result.path / "questions.jsonl").read_text()
    rows = [json.loads(line) for line in kept.splitlines()]
    assert len(rows) == package.manifest.n_private
    # Its questions are kept nowhere else: rows have what the agent was shown of them as data, and no answer.
    assert {tuple(sorted(row)) for row in rows} == {
        ("actions", "as_of", "begun", "id", "query", "question", "state", "tags")
    }
    assert {tuple(sorted(row["query"])) for row in rows} == {("date", "head", "tail", "today")}
    (played,) = played_runs([read_run(result.path)])
    assert played.months == tuple(row["query"]["date"][:7] for row in rows)
    assert (played.hidden, played.asked[0].tags) == (None, tuple(rows[0]["tags"]))
    # A folder may be a stranger's: what cannot be read is not known.
    for damage in ({"as_of": "soon"}, {"query": []}, {"query": {}}, {"as_of": None, "query": None}):
        text = "".join(json.dumps({**row, **damage}) + "\n" for row in rows)
        (result.path / "questions.jsonl").write_text(text)
        (played,) = played_runs([read_run(result.path)])
        assert (played.months, len(played.asked)) == ((), len(rows))
    (result.path / "questions.jsonl").write_text(kept)
    with pytest.raises(UsageError, match="which nobody keeps"):
        certify(result.path)
