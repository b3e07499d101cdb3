"""Attacks on what the log speaks for beside the rows of test_receipts.py: deferred rollouts, rows without an entry,
figures that a result states twice, and what one participant can learn of another's questions.

Attacks: the final result of a deferred rollout, its questions or the prices it was shown changed; a key, a season, a
rollout without an entry in the log; triggers dropped or changed, an index that leaves forecasts out, an older format
claimed; `skill`, `verdict` or `reward` changed alone; a bad score restated as an error of ours; a held result given
another task, agent or seed; a false loss, in table and log.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from openfingym.digests import canonical_json, sha256_of
from openfingym.errors import OpenFinGymError, ReceiptError, StoreError
from openfingym.receipts import Receipt
from openfingym.results import read_run
from openfingym.results.faults import SCORE_FIELDS
from openfingym.results.run_folder import RECEIPT, RESULT, VERIFIED
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.receipt_check import check_run
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.disclosure.disclosure import disclosed
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.receipts import Receipts, load_signing_key
from openfingym_verifier.ledger.rows import RolloutRow
from openfingym_verifier.ledger.writer import Transaction
from openfingym_verifier.questions.resolution_events import (
    ForecastScore,
    ForecastsScored,
    Resolution,
    Resolvable,
    Resolved,
)
from openfingym_verifier.rollouts import events
from tests.verifier.deferred_runs import ASKED, quick_markets, rows


@dataclass(frozen=True)
class Scene:
    """The operator's deferred rollout that is settled, one that is not, and what a participant was answered."""

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
        EmbeddedVerifier.start([package], state, policy="strict") as verifier,
        contextlib.closing(VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token)) as client,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(verifier.uds)), base_url="http://verifier") as bare,
    ):
        tickets = [
            client.create_rollout("quick-markets", agent="tester", seed=1, questions={"clock": "simulated"})
            for _ in range(2)
        ]
        for ticket in tickets:
            client.walk(ticket.token, np.full(ASKED, 0.4))
            client.finalize(ticket.rollout_id)
        first, second = (ticket.rollout_id for ticket in tickets)
        deferred, owned = client.receipt(first), list(client.questions.list())
        bare.headers["authorization"] = f"Bearer {client.add_participant('other')}"
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
    "somebody else's key": "INSERT INTO participants VALUES ('mallory', 'x', 1, NULL, NULL)",
    "another season": "INSERT INTO seasons VALUES (7, '7', 1, NULL, 'sealed', '[]', NULL)",
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
    "a column of another type": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'market_loss REAL',"
        " 'market_loss TEXT') WHERE name = 'forecasts'"
    ),
    "no check of a column": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'CHECK (counts IN (0, 1))', '')"
        " WHERE name = 'forecasts'"
    ),
    "a table of one's own": "CREATE TABLE mine (a)",
    "an index that is not of its table": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master"
        " WHERE name = 'rollouts_unsettled') WHERE name = 'forecasts_counting'"
    ),
}
KEEPING_TRIGGERS = ("no trigger", "a trigger", "no index", "no check", "an older", "an index", "a column", "a table")


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


def folder_of(root: Path, receipts: Receipts, rollout: str, told: dict[str, Any], values: bytes, **own: Any) -> Path:
    """A run's folder as the launcher writes it, of what a participant is told."""
    folder = root / rollout
    (folder / "submissions").mkdir(parents=True)
    receipt = receipts.of_rollout(rollout)
    assert receipt is not None
    (folder / RECEIPT).write_bytes(receipt.to_json())
    (folder / VERIFIED).write_bytes(canonical_json(told))
    state = "deferred" if told["state"] == "held" else told["state"]
    result = {**told, "state": state, "backend": "inline", **own}
    (folder / RESULT).write_text(json.dumps(result))
    np.save(folder / "submissions" / "1.npy", np.frombuffer(values, "<f8"))
    return folder


@pytest.fixture
def opened(scene: Scene, tmp_path: Path) -> Iterator[tuple[Ledger, Receipts]]:
    copied = Path(shutil.copytree(scene.state, tmp_path / "state"))
    with contextlib.closing(Ledger(copied)) as ledger:
        yield ledger, Receipts(ledger, load_signing_key(copied))


def known(ledger: Ledger, rollout: str) -> tuple[RolloutRow, bytes]:
    found, payload = ledger.rollout(rollout), ledger.payload(rollout, 1)
    assert found is not None
    assert payload is not None
    return found[0], payload


def test_the_receipt_of_a_deferred_run_holds_until_it_is_settled(
    scene: Scene, opened: tuple[Ledger, Receipts], tmp_path: Path
) -> None:
    ledger, receipts = opened
    row, payload = known(ledger, scene.waiting)
    assert row.result is not None
    # Forecasts are scored one after the other, before the rollout has its final result.
    ledger.writer.run(lambda transaction: transaction.log(scene.waiting, {"event": "forecast-scored", "at_ns": 1}))
    folder = folder_of(tmp_path, receipts, scene.waiting, row.result, payload)
    assert check_run(folder).verified["state"] == "deferred"
    path = folder / RESULT
    content = json.loads(path.read_text())
    for change in ({"state": "void"}, {"questions": {**content["questions"], "clock": "real"}}, {"questions": None}):
        path.write_text(json.dumps(content | change))
        with pytest.raises(ReceiptError):
            check_run(folder)


def test_a_result_that_is_held_is_known_by_all_that_is_told_of_it(
    scene: Scene, opened: tuple[Ledger, Receipts], tmp_path: Path
) -> None:
    ledger, receipts = opened
    row, payload = known(ledger, scene.settled)
    assert row.settled is not None
    rollout = "rheld"
    full = {key: value for key, value in row.settled.items() if key != "log_head"} | {"rollout_id": rollout}
    held = replace(row, id=rollout, questions=None, result=None, settled=None, policy="strict")
    made = events.Accepted(rollout, 1, 1, None, None, memoryview(payload), sha256_of(payload), row.bucket)
    for one in (events.Created(held), made, events.Finalized(rollout, 2, full, "held")):
        complete = ledger.writer.run(one.apply)
    assert isinstance(complete, dict)
    told = disclosed(complete, "held")
    folder = folder_of(tmp_path, receipts, rollout, told, payload)
    assert "held" in check_run(folder).steps[2].detail
    for change in ({"agent": "mine"}, {"seed": 77}, {"task": "another"}, {"submissions_rejected": 3}):
        for name in (VERIFIED, RESULT):
            (folder / name).write_bytes(canonical_json(json.loads((folder / name).read_text()) | change))
        with pytest.raises(ReceiptError) as caught:
            check_run(folder)
        assert caught.value.step == "result"
        for name in (VERIFIED, RESULT):
            document = json.loads((folder / name).read_text())
            (folder / name).write_bytes(canonical_json(document | {key: told[key] for key in change}))
    check_run(folder)


FIGURES: dict[str, object] = {"skill": 0.5, "verdict": "better", "reward": 1.0}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_that_follow_from_others_are_not_changed_alone(
    scene: Scene, opened: tuple[Ledger, Receipts], tmp_path: Path, name: str
) -> None:
    ledger, receipts = opened
    row, payload = known(ledger, scene.settled)
    assert row.settled is not None
    folder = folder_of(tmp_path, receipts, scene.settled, row.settled, payload)
    honest = read_run(folder).to_dict()
    (folder / RESULT).write_text(json.dumps(honest))
    check_run(folder)
    (folder / RESULT).write_text(json.dumps(honest | {name: FIGURES[name]}))
    with pytest.raises(ReceiptError, match=r"result\.json says"):
        check_run(folder)


def test_an_error_of_ours_cannot_be_of_another_agent(
    scene: Scene, opened: tuple[Ledger, Receipts], tmp_path: Path
) -> None:
    ledger, receipts = opened
    row, payload = known(ledger, scene.settled)
    assert row.settled is not None
    nothing: dict[str, object] = {"state": "error", "metrics": {}, **dict.fromkeys(SCORE_FIELDS)}
    folder = folder_of(tmp_path, receipts, scene.settled, row.settled, payload, **nothing)
    # That a score is kept back is said: the verifier has one.
    assert "to the verifier it is scored" in check_run(folder).steps[2].detail
    content = json.loads((folder / RESULT).read_text())
    for change in ({"agent": "mine"}, {"metrics": {"mse": 0.1}}, {"total_interval": [0.1, 0.2]}):
        (folder / RESULT).write_text(json.dumps(content | change))
        with pytest.raises((ReceiptError, StoreError), match=r"agent|states one|states a score"):
            check_run(folder)


def test_a_loss_that_a_verifier_makes_up_is_found(scene: Scene, tmp_path: Path) -> None:
    """Not the file is changed, but what the verifier writes: table and log agree, and the truth does not."""
    copied = Path(shutil.copytree(scene.state, tmp_path / "state"))
    with contextlib.closing(Ledger(copied)) as ledger:
        ledger.writer.run(lambda transaction: made_up(transaction, scene.waiting))
    with pytest.raises(OpenFinGymError, match="does not follow from its answer"):
        verify_ledger(copied)


def made_up(transaction: Transaction, rollout: str) -> None:
    """Resolve one question and score its forecast, at will."""
    query = "SELECT id FROM questions WHERE name = ?"
    (row,) = transaction.connection.execute(query, (f"{rollout}/0",)).fetchone()
    forecast, principal = transaction.connection.execute(
        "SELECT forecasts.id, principal FROM forecasts JOIN forecasters ON forecasters.id = forecaster"
        " WHERE question = ? AND counts = 1",
        (row,),
    ).fetchone()
    name, truth = f"{rollout}/0", Resolution("resolved", "1.0", 1.0, "s", "{}", "", None, 1)
    Resolvable(row, name, 1).apply(transaction)
    assert Resolved(row, name, truth, 1, "").apply(transaction)
    score = ForecastScore(forecast, rollout, principal, 0.0, 0.25, None, True)
    assert ForecastsScored(row, name, [score], 1).apply(transaction)


def content_of(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, as bytes, but for what the log does not speak of."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.text_factory = bytes
        tables = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        rows_of = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    return {name: found for name, found in rows_of.items() if name not in {"disclosures", "rollouts", "submissions"}}


def test_any_byte_of_a_ledgers_file(scene: Scene, tmp_path: Path) -> None:
    """What is not found is room that nothing is in, or rationing: never a row that anything is decided by."""
    file, draw, found = tmp_path / "ledger.db", random.Random(8), 0
    with contextlib.closing(sqlite3.connect(scene.state / "ledger.db")) as connection:
        connection.execute("VACUUM INTO ?", (str(file),))
    honest, content = file.read_bytes(), content_of(file)
    for _ in range(200):
        place = draw.randrange(len(honest))
        file.write_bytes(honest[:place] + bytes([honest[place] ^ draw.randrange(1, 256)]) + honest[place + 1 :])
        try:
            verify_ledger(file)
        except OpenFinGymError:
            found += 1
        else:
            assert content_of(file) == content, place
    assert found > 30
