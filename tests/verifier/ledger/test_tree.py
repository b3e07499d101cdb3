"""The tree over the log: it agrees with the log whatever happens, and proves what it says to who has the key.

Attacks: a ledger cut short or made anew; a log whose entry is hashed but whose tree is not, after `kill -9`; a key file
that others may read, which could sign checkpoints by somebody else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.errors import ReceiptError, UsageError, VerifierError
from openfingym.receipts import Checkpoint, SigningKey
from openfingym.receipts.frontier import Frontier
from openfingym.receipts.merkle import is_included, leaf_hash
from openfingym.receipts.tiles import TilePath, unbundled
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.audit.questions import TABLES
from openfingym_verifier.ledger import schema as ledger_schema
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.receipts import KEY_FILE, Receipts, load_signing_key
from openfingym_verifier.ledger.writer import Transaction

MANY = 256 * 3 + 7


def root_by_definition(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0]).digest() if leaves else hashlib.sha256(b"").digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    left, right = root_by_definition(leaves[:k]), root_by_definition(leaves[k:])
    return hashlib.sha256(b"\1" + left + right).digest()


def extend(ledger: Ledger, count: int) -> list[int]:
    """Append entries in one transaction; their numbers."""

    def write(transaction: Transaction) -> list[int]:
        rows = []
        for i in range(count):
            transaction.log("", {"event": "test", "n": i})
            rows.append(transaction.seq)
        return rows

    found = ledger.writer.run(write)
    assert isinstance(found, list)
    return found


def entries(state: Path) -> list[bytes]:
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        return [row[0].encode() for row in connection.execute("SELECT entry FROM log ORDER BY seq")]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with a log of three full tiles and a bit."""
    state = tmp_path_factory.mktemp("tree") / "state"
    with contextlib.closing(Ledger(state)) as ledger:
        for count in (1, 254, 2, 255, MANY - 512):
            extend(ledger, count)
        load_signing_key(state)
    return state


@pytest.fixture
def copied(state: Path, tmp_path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.execute("VACUUM INTO ?", (str(tmp_path / "ledger.db"),))
    (tmp_path / KEY_FILE).write_text((state / KEY_FILE).read_text())
    return tmp_path


@pytest.fixture
def receipts(state: Path) -> Iterator[Receipts]:
    with contextlib.closing(Ledger(state)) as ledger:
        yield Receipts(ledger, load_signing_key(state))


def test_checkpoint_is_of_the_log(state: Path, receipts: Receipts) -> None:
    found = Checkpoint.opened(receipts.checkpoint(), receipts.key.public)
    assert (found.size, found.root) == (MANY, root_by_definition(entries(state)))
    assert (state / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert found.origin.startswith("openfingym.local/")
    assert receipts.checkpoint() == receipts.checkpoint()


@pytest.mark.parametrize("row", [1, 2, 255, 256, 257, 512, 600, MANY - 1, MANY])
def test_every_row_has_a_receipt_that_holds(state: Path, receipts: Receipts, row: int) -> None:
    receipt = receipts.of_entries([row])
    checkpoint = receipt.checked(receipts.key.public)
    (leaf,) = receipt.leaves
    assert leaf.entry.encode() == entries(state)[row - 1]
    assert is_included(leaf_hash(leaf.entry.encode()), row - 1, MANY, leaf.proof, checkpoint.root)


@pytest.mark.parametrize("row", [0, -1, MANY + 1])
def test_there_is_no_receipt_of_a_row_that_is_not_there(receipts: Receipts, row: int) -> None:
    with pytest.raises(VerifierError, match="no receipt"):
        receipts.of_entries([row])


def test_tiles_hold_the_whole_log(state: Path, receipts: Receipts) -> None:
    frontier, read = Frontier(), []
    for n in range(4):
        width = min(256, MANY - 256 * n)
        content = receipts.tile(TilePath("entries", n, width))
        hashes = receipts.tile(TilePath(0, n, width))
        assert content is not None
        assert hashes is not None
        read += unbundled(content)
        assert hashes == b"".join(leaf_hash(entry) for entry in read[256 * n :])
    for entry in read:
        frontier.push(leaf_hash(entry))
    assert read == entries(state)
    assert frontier.root() == Checkpoint.opened(receipts.checkpoint(), receipts.key.public).root
    upper = receipts.tile(TilePath(1, 0, 3))
    assert upper is not None
    assert upper[32:64] == root_by_definition(read[256:512])
    for beyond in (TilePath(0, 3), TilePath(0, 3, 8), TilePath(1, 0, 4), TilePath(2, 0, 1), TilePath("entries", 4, 1)):
        assert receipts.tile(beyond) is None


def test_a_ledger_from_before_there_was_a_tree_is_taken_over(copied: Path) -> None:
    with contextlib.closing(sqlite3.connect(copied / "ledger.db")) as connection:
        kept = connection.execute("SELECT * FROM tree").fetchall()
        deferred = "DROP INDEX rollouts_unsettled; DROP INDEX rollouts_asked;" + "".join(
            f"ALTER TABLE rollouts DROP COLUMN {name};"
            for name in (
                "questions",
                "settled",
                "split",
                "instance",
                "question_range",
                "agent_digest",
                "hidden_digest",
                "instruments",
            )
        )
        deferred += "ALTER TABLE participants DROP COLUMN organisation;" + "".join(
            f"ALTER TABLE seasons DROP COLUMN {name};" for name in ("kind", "reused", "board")
        )
        own = ("entries", "retired", "agents", "exposures")
        tables = ("tree", *TABLES, "forecasters", "rollout_questions", "rollout_data", *own)
        later = deferred + "".join(f"DROP TABLE {name};" for name in tables)
        connection.executescript(f"PRAGMA foreign_keys = OFF; {later} PRAGMA user_version = 5;")
    before = verify_chain(copied)
    for _ in range(2):
        Ledger(copied).close()
    assert verify_chain(copied) == before
    with contextlib.closing(sqlite3.connect(copied / "ledger.db")) as connection:
        assert connection.execute("SELECT * FROM tree").fetchall() == kept
        assert connection.execute("PRAGMA user_version").fetchone() == (ledger_schema.VERSION,)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tree SET hash = zeroblob(32) WHERE n = 1",
        "UPDATE tree SET n = 9 WHERE n = 2",
        "UPDATE tree SET level = 2 WHERE n = 0",
        "DELETE FROM tree WHERE n = 0",
        "INSERT INTO tree VALUES (1, 3, zeroblob(32))",
        "INSERT INTO tree VALUES (2, 0, zeroblob(32))",
        "UPDATE tree SET hash = 'text' WHERE n = 1",
        "UPDATE tree SET hash = 7 WHERE n = 1",
    ],
)
def test_a_change_of_the_tree_is_found(copied: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(copied / "ledger.db")) as connection:
        if not statement.startswith("INSERT"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
        for name in ("tree_no_update", "tree_no_delete"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        connection.commit()
    with pytest.raises(VerifierError, match=r"tree's hash|cannot be read"):
        verify_chain(copied)


def test_a_tree_that_is_gone_is_missed(copied: Path) -> None:
    with contextlib.closing(sqlite3.connect(copied / "ledger.db")) as connection:
        connection.execute("DROP TABLE tree")
    with pytest.raises(VerifierError, match="cannot be read"):
        verify_chain(copied)


def cut(state: Path, size: int) -> None:
    """What somebody does who owns the file and knows what is in it."""
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        connection.executescript(
            "DROP TRIGGER log_no_delete; DROP TRIGGER tree_no_delete;"
            f"DELETE FROM log WHERE seq > {size}; DELETE FROM tree WHERE (n + 1) * 256 > {size};"
            f"UPDATE sqlite_sequence SET seq = {size} WHERE name = 'log';"
        )


@pytest.mark.parametrize("size", [0, 1, 256, 511, MANY - 1])
def test_a_log_cut_short_is_found_by_who_kept_a_checkpoint(
    copied: Path, receipts: Receipts, tmp_path: Path, size: int
) -> None:
    kept = tmp_path / "kept"
    kept.write_text(receipts.checkpoint())
    assert verify_ledger(copied, kept).entries == MANY
    cut(copied, size)
    assert verify_chain(copied).entries == size, "nothing in the ledger itself shows it"
    with pytest.raises(ReceiptError, match="cut short") as caught:
        verify_ledger(copied, kept)
    assert caught.value.step == "consistency"


def test_a_ledger_made_anew_is_found_by_who_kept_a_checkpoint(receipts: Receipts, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text(receipts.checkpoint())
    forged = tmp_path / "state"
    with contextlib.closing(Ledger(forged)) as ledger:
        ledger.writer.run(lambda transaction: [transaction.log("", {"event": "forged"}) for _ in range(MANY + 9)])
    assert verify_chain(forged).entries == MANY + 9
    with pytest.raises(ReceiptError, match="written anew") as caught:
        verify_ledger(forged, kept)
    assert caught.value.step == "consistency"
    # With a key of its own it is found by the signature already, and with the true one by the root.
    load_signing_key(forged)
    with pytest.raises(ReceiptError, match="the key is of"):
        verify_ledger(forged, kept)
    with pytest.raises(ReceiptError, match="written anew"):
        verify_ledger(forged, kept, receipts.key.public)


WRITER = """
import sys
from pathlib import Path
from openfingym_verifier.ledger.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    ledger.writer.run(lambda transaction: [transaction.log("", {"event": "test", "n": n}) for n in range(50)])
"""


def test_killed_in_the_middle_of_commits_tree_and_log_agree(tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.15)
            process.send_signal(signal.SIGKILL)
        before = verify_chain(tmp_path)
        assert before.entries % 50 == 0, "a group is there whole or not at all"
        with contextlib.closing(Ledger(tmp_path)) as ledger:
            rows = extend(ledger, 300)
            receipts = Receipts(ledger, load_signing_key(tmp_path))
            assert receipts.of_entries([1, rows[0], rows[-1]]).checked().size == before.entries + 300
            extend(ledger, 200)
    assert verify_chain(tmp_path).entries > 1000


def test_an_operation_that_fails_leaves_the_tree_as_it_was(copied: Path) -> None:
    before = verify_chain(copied)

    def fail(transaction: Transaction) -> None:
        for i in range(400):
            transaction.log("", {"event": "test", "n": i})
        raise ValueError("after two tiles were completed")

    with contextlib.closing(Ledger(copied)) as ledger:
        with pytest.raises(ValueError, match="two tiles"):
            ledger.writer.run(fail)
        assert verify_chain(copied) == before
        assert extend(ledger, 1) == [MANY + 1]
    verify_chain(copied)


def test_an_entry_that_no_bundle_holds_is_refused(copied: Path) -> None:
    with contextlib.closing(Ledger(copied)) as ledger, pytest.raises(VerifierError, match="expected at most 65,535"):
        ledger.writer.run(lambda transaction: transaction.log("", {"event": "x" * 66_000}))


@pytest.mark.parametrize("content", ["", "PRIVATE+KEY+a+00000000+AAAA", "PRIVATE+KEY+a", "\0" * 40])
def test_a_key_that_is_none_is_named_and_not_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / KEY_FILE).write_text(content)
    with pytest.raises(VerifierError, match=r"checkpoint\.key: no private key") as caught:
        load_signing_key(tmp_path)
    assert "AAAA" not in str(caught.value)


def test_a_log_keeps_its_name(tmp_path: Path) -> None:
    made = load_signing_key(tmp_path, "example.org/log")
    assert load_signing_key(tmp_path).public == load_signing_key(tmp_path, "example.org/log").public == made.public
    with pytest.raises(VerifierError, match="keeps its name"):
        load_signing_key(tmp_path, "example.org/other")


def test_a_key_that_others_can_read_signs_nothing(tmp_path: Path) -> None:
    key = load_signing_key(tmp_path, "example.org/log")
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE], "nothing half written stays"
    assert load_signing_key(tmp_path).public == key.public
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(VerifierError, match="of mode 640"):
        load_signing_key(tmp_path)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\0b", "a\x7f", "a\nb", "x" * 201])
def test_a_name_that_no_checkpoint_can_bear_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a log"):
        SigningKey(name, bytes(32))
