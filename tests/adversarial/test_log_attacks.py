"""Attacks on what the log speaks for beside the rows of test_receipts.py: deferred rollouts, rows without an entry,
figures that a result states twice, and what one participant can learn of another's questions.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from openfingym.digests import canonical_json
from openfingym.errors import OpenFinGymError, ReceiptError, VerifierError
from openfingym.receipts import Receipt
from openfingym.results import RECEIPT, RESULT, VERIFIED
from openfingym.rollouts.launcher import run
from openfingym.verifiers import VerifierAddress
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.receipt_check import check_run
from openfingym_verifier import events
from openfingym_verifier.disclosure import disclosed
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.ledger_check import verify_ledger
from tests.verifier.deferred_runs import ASKED, answer_of, begin, quick_markets, rows


@dataclass(frozen=True)
class Scene:
    """A participant's deferred rollout that is settled, one that is not, and what another participant was answered."""

    state: Path
    settled: str
    waiting: str
    deferred: Receipt | None
    waited: Receipt | None
    answers: dict[str, int]
    listed: list[Any]
    owned: list[Any]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("log-attacks")
    package, state = quick_markets(root), root / "state"
    with (
        EmbeddedVerifier.start([package], state) as verifier,
        contextlib.closing(VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token)) as client,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(verifier.uds)), base_url="http://verifier") as bare,
    ):
        keys = {name: client.add_participant(name) for name in ("owner", "other")}
        owner = VerifierClient(uds=verifier.uds, admin_token=keys["owner"])
        with contextlib.closing(owner):
            tickets = [begin(owner) for _ in range(2)]
            for ticket in tickets:
                owner.submit(ticket.token, answer_of(package, np.full(ASKED, 0.4)))
                owner.finalize(ticket.rollout_id)
            deferred = owner.receipt(tickets[0].rollout_id)
            owned = list(owner.questions.list())
        first, second = (ticket.rollout_id for ticket in tickets)
        bare.headers["authorization"] = f"Bearer {keys['other']}"
        asked_row = rows(state, "SELECT log_row FROM questions WHERE name = ?", f"{second}/0")[0][0]
        client.questions.advance(f"rollout/{first}", 2 * 10**18)
        client.questions.resolve()
        answers = {
            "question": bare.get(f"/v1/questions/{second}/0").status_code,
            "no question": bare.get("/v1/questions/nothing/0").status_code,
            "receipt of a question": bare.get(f"/v1/receipts/{asked_row}").status_code,
            "forecast": bare.post(
                "/v1/forecasts", json={"question": f"{second}/0", "answer": {"probability": 0.5}, "agent": "a"}
            ).status_code,
        }
        listed = [*bare.get("/v1/questions").json(), *bare.get("/v1/forecasts").json()]
        waited = client.receipt(second)
    return Scene(state, first, second, deferred, waited, answers, listed, owned)


def test_questions_of_a_rollout_are_nobody_elses(scene: Scene) -> None:
    assert len(scene.owned) == 2 * ASKED, "its owner sees them"
    assert scene.listed == []
    assert set(scene.answers.values()) == {404}, scene.answers


def test_a_deferred_result_has_a_receipt_before_and_after_it_is_settled(scene: Scene) -> None:
    assert scene.deferred is not None
    assert scene.deferred.leaves[-1].document["state"] == "deferred"
    assert scene.waited is not None


CHANGES = {
    "a better final result": "UPDATE rollouts SET settled = json_set(settled, '$.relative_total', 0.1)",
    "a final result that came before its time": (
        "UPDATE rollouts SET settled = (SELECT settled FROM rollouts WHERE settled IS NOT NULL) WHERE settled IS NULL"
    ),
    "no final result": "UPDATE rollouts SET settled = NULL",
    "another head of a final result": "UPDATE rollouts SET settled = json_set(settled, '$.log_head', 'x')",
    "another order of questions": "UPDATE rollouts SET questions = json_set(questions, '$.clock', 'real')",
    "no order of questions": "UPDATE rollouts SET questions = NULL",
    "other prices shown": "UPDATE rollout_data SET content = zeroblob(length(content))",
    "nothing shown": "DELETE FROM rollout_data",
    "a question less": "DELETE FROM rollout_questions WHERE row = 6",
    "a question at another place": "UPDATE rollout_questions SET row = 9 WHERE row = 6",
    "somebody else's key": "INSERT INTO participants VALUES ('mallory', 'x', 1, NULL)",
    "another season": "INSERT INTO seasons VALUES (7, '7', 1, NULL)",
    "a rollout that nobody began": (
        "INSERT INTO rollouts (id, task, task_digest, budget, created_ns, expires_ns, bucket_tokens, bucket_ns)"
        " VALUES ('r0', 't', 'd', 1, 1, 1, 1, 1)"
    ),
    "a submission that nobody made": (
        "INSERT INTO submissions (rollout_id, n, received_ns) SELECT id, 9, 0 FROM rollouts LIMIT 1"
    ),
    "no trigger against changes": "DROP TRIGGER forecasts_fixed",
    "a trigger of one's own": (
        "CREATE TRIGGER mine AFTER INSERT ON resolutions BEGIN UPDATE forecasts SET loss = 0; END"
    ),
    "a trigger that does nothing": (
        "DROP TRIGGER log_no_delete; CREATE TRIGGER log_no_delete BEFORE DELETE ON log BEGIN SELECT 1; END"
    ),
    "no index of keys": "DROP INDEX forecasts_key",
    "an older format": "PRAGMA user_version = 5",
    "an index that leaves forecasts out": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'counts = 1', 'counts = 0')"
        " WHERE name = 'forecasts_counting'"
    ),
    "an index that is not of its table": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master"
        " WHERE name = 'rollouts_unsettled') WHERE name = 'forecasts_counting'"
    ),
}
KEEPING_TRIGGERS = ("no trigger", "a trigger", "no index", "an older", "an index")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_ledger_is_found(scene: Scene, tmp_path: Path, name: str) -> None:
    copied = Path(shutil.copytree(scene.state, tmp_path / "state"))
    assert verify_ledger(copied).entries > 0
    with contextlib.closing(sqlite3.connect(copied / "ledger.db")) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        kept = name.startswith(KEEPING_TRIGGERS)
        for trigger, _ in [] if kept else triggers:
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.executescript(CHANGES[name])
        # Whoever is thorough puts them back.
        for _, sql in [] if kept else triggers:
            connection.execute(sql)
        connection.commit()
    with pytest.raises(OpenFinGymError):
        verify_ledger(copied)
