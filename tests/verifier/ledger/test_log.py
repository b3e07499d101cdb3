"""The log: nothing in it can be changed without being found."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import StoreError, SubmissionError, VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.embedded import EmbeddedVerifier


@pytest.fixture(scope="module")
def written(packages: dict[str, BuiltPackage], tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """A ledger with two finished rollouts as one file, and the first one's log head."""
    state = tmp_path_factory.mktemp("state")
    package = packages["tiny"]
    heads = []
    with (
        EmbeddedVerifier.start([package], state) as embedded,
        VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as client,
    ):
        for seed in range(2):
            ticket = client.create_rollout("tiny")
            for i in range(3):
                client.submit(
                    ticket.token,
                    np.random.default_rng([seed, i]).standard_normal(package.manifest.submission_shape).clip(-1, 1),
                )
            with pytest.raises(SubmissionError):
                client.submit(ticket.token, np.zeros(1))
            heads.append(client.finalize(ticket.rollout_id).log_head)
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return (state / "ledger.db").read_bytes(), heads[0]


@pytest.fixture
def ledger(written: tuple[bytes, str], tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    path.write_bytes(written[0])
    return path


@contextlib.contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of someone who owns the file, and so can drop the triggers."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        connection.commit()


def test_an_untouched_log_is_intact(ledger: Path, written: tuple[bytes, str]) -> None:
    report = verify_chain(ledger, expected_head=written[1])
    assert report.entries == 1 + 2 * (1 + 3 + 3 + 1 + 1)
    assert verify_chain(ledger.parent) == report


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET entry = '{}'",
        "UPDATE log SET hash = 'x' WHERE seq = 3",
        "DELETE FROM log",
        "DELETE FROM log WHERE seq = 18",
        "REPLACE INTO log (seq, rollout_id, entry, prev_hash, hash) VALUES (3, '', '{}', '', '')",
    ],
)
def test_triggers_forbid_changes(ledger: Path, statement: str) -> None:
    with (
        contextlib.closing(sqlite3.connect(ledger)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(statement)


TAMPERINGS: dict[str, str] = {
    "edited entry": "UPDATE log SET entry = replace(entry, 'wrong-shape', 'not-finite')",
    "edited hash": "UPDATE log SET hash = prev_hash WHERE seq = 5",
    "edited rollout": "UPDATE log SET rollout_id = 'r0' WHERE seq = 5",
    "dropped first": "DELETE FROM log WHERE seq = 1",
    "dropped middle": "DELETE FROM log WHERE seq = 9",
    "dropped tail": "DELETE FROM log WHERE seq > 15",
    "dropped all": "DELETE FROM log",
    "swapped": "UPDATE log SET seq = CASE seq WHEN 4 THEN -5 ELSE -4 END WHERE seq IN (4, 5); UPDATE log SET seq = "
    "-seq WHERE seq < 0",
    "forged result": "UPDATE rollouts SET result = replace(result, '\"total\":', '\"total\":1')",
    "forged head of a result": "UPDATE rollouts SET result = json_set(result, '$.log_head', 'x')",
    "forged feedback": 'UPDATE submissions SET feedback = \'{"metrics":{},"total":0.0}\' WHERE n = 2',
    "forged payload": "UPDATE payloads SET content = zeroblob(length(content)) WHERE submission = 1",
    "lost payload": "DELETE FROM payloads WHERE submission = 1",
    "lost result": "UPDATE rollouts SET result = NULL",
    "unlogged feedback": "INSERT INTO submissions (rollout_id, n, received_ns, feedback) SELECT id, 9, 0, '{}' FROM "
    "rollouts",
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(ledger: Path, name: str) -> None:
    with tampering(ledger) as connection:
        connection.executescript(TAMPERINGS[name])
    with pytest.raises(VerifierError):
        verify_chain(ledger)


def rewrite_from_third_row(connection: sqlite3.Connection) -> None:
    """A forger who recomputes every hash."""
    from openfingym_verifier.ledger.log import entry_hash

    head = connection.execute("SELECT hash FROM log WHERE seq = 2").fetchone()[0]
    for seq, entry in connection.execute("SELECT seq, entry FROM log WHERE seq > 2 ORDER BY seq").fetchall():
        forged = entry.replace("wrong-shape", "not-finite")
        connection.execute(
            "UPDATE log SET entry = ?, prev_hash = ?, hash = ? WHERE seq = ?",
            (forged, head, entry_hash(head, forged.encode()), seq),
        )
        head = entry_hash(head, forged.encode())
    connection.execute(
        "UPDATE rollouts SET result = json_set(result, '$.log_head',"
        " (SELECT hash FROM log WHERE rollout_id = rollouts.id AND json_extract(entry, '$.event') = 'finalized'))"
    )


def test_a_rewritten_log_is_found_by_the_head_in_a_result(ledger: Path, written: tuple[bytes, str]) -> None:
    with tampering(ledger) as connection:
        rewrite_from_third_row(connection)
    verify_chain(ledger)
    with pytest.raises(VerifierError, match="not the log that the result came from"):
        verify_chain(ledger, expected_head=written[1])


def test_the_log_holds_no_label_and_no_prediction(ledger: Path, packages: dict[str, BuiltPackage]) -> None:
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        entries = " ".join(row[0] for row in connection.execute("SELECT entry FROM log"))
        everything = (
            b"".join(bytes(row[0]) for row in connection.execute("SELECT content FROM payloads")) + ledger.read_bytes()
        )
    for label in packages["tiny"].read_truth()["targets"].ravel():
        assert f"{label:.6g}" not in entries
        assert label.tobytes() not in everything


@pytest.mark.parametrize(
    "damage", [lambda data: b"not a database, and long enough to be read as one" * 100, lambda data: data[:5000]]
)
def test_a_damaged_file_is_an_error(ledger: Path, damage: Callable[[bytes], bytes]) -> None:
    ledger.write_bytes(damage(ledger.read_bytes()))
    with pytest.raises((VerifierError, StoreError)):
        verify_chain(ledger)
    with pytest.raises(StoreError, match="no such ledger"):
        verify_chain(ledger.parent / "absent.db")
