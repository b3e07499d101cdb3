"""Checks of a ledger's log, row by row, and of the rest of the ledger against what the log says of it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of, sha256_of_json, sha256_of_text
from openfingym.errors import ReceiptError, StoreError, VerifierError
from openfingym.receipts.frontier import Frontier
from openfingym.receipts.merkle import leaf_hash
from openfingym_verifier.audit.questions import QuestionRowsCheck
from openfingym_verifier.audit.statements import Statements
from openfingym_verifier.ledger import tree
from openfingym_verifier.ledger.log import GENESIS, entry_hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database

    from openfingym.receipts.checkpoint import Checkpoint

OTHER_HEADS = """
SELECT id FROM rollouts WHERE result IS NOT NULL AND json_extract(result, '$.log_head') IS NOT
(SELECT hash FROM log WHERE rollout_id = rollouts.id AND json_extract(entry, '$.event') = 'finalized')
"""
"""Results that state another hash than that of their row, to which they cannot commit by the digest that it holds."""
OTHER_FINAL_HEADS = OTHER_HEADS.replace("result", "settled").replace("'finalized'", "'settled'")
"""Final results of deferred rollouts that state another hash than that of their row."""


@dataclass(frozen=True)
class ChainReport:
    """The result of checking a log that is intact."""

    entries: int
    head: str
    """Hash of the last row, or :data:`GENESIS`."""
    root: str
    """Root of the tree over all rows, base64 as in a checkpoint."""


def verify_chain(path: Path, *, expected_head: str | None = None, earlier: Checkpoint | None = None) -> ChainReport:
    """Check a ledger's log, row by row, and the ledger against it.

    Finds any row edited, dropped, inserted or moved, a tail cut off, hashes of the tree that are not of these rows,
    and payloads, feedback or results that are not the ones whose digests the log holds.

    Args:
        path: ``ledger.db`` of a state directory, or the directory; opened read-only.
        expected_head: a ``log_head`` from a result, which must be among the hashes.
        earlier: a checkpoint that the log gave before, with which it must begin; whoever kept one finds a log that was
            cut short or written anew, whatever was done to the rest of the ledger.

    Raises:
        VerifierError: with the first thing that does not fit.
        ReceiptError: the log does not begin with ``earlier``.
        StoreError: the file cannot be read.
    """
    # Imported here: sqlite-utils brings pandas along, which a server's start cannot wait for.
    import sqlite3

    import sqlite_utils

    file = path / "ledger.db" if path.is_dir() else path
    if not file.is_file():
        raise StoreError(f"{file}: no such ledger")
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        # recursive_triggers and plug-ins are for writers; a plug-in could also change what this check sees.
        database = sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False)
        return _verify(database, expected_head, earlier)
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
        raise VerifierError(f"{file}: the log cannot be read: {error}") from error
    finally:
        connection.close()


def _verify(database: Database, expected_head: str | None, earlier: Checkpoint | None) -> ChainReport:
    head, last, heads, digests = GENESIS, 0, {GENESIS}, Digests()
    frontier, tree_hashes, statements = Frontier(), dict[object, str](), Statements()
    questions = QuestionRowsCheck(database.conn)
    # Each row: numbered without a gap, chained to the one before, hashed as it stands, filed under its rollout.
    _compare(frontier, earlier)
    for row in database.query("SELECT seq, rollout_id, entry, prev_hash, hash FROM log ORDER BY seq"):
        seq, text = int(row["seq"]), str(row["entry"])
        if seq != last + 1:
            raise VerifierError(f"log row {last + 1} is missing: row {last} is followed by row {seq}")
        if row["prev_hash"] != head:
            raise VerifierError(f"log row {seq} does not continue row {last}: rows were moved, dropped or rewritten")
        if entry_hash(head, text.encode()) != row["hash"]:
            raise VerifierError(f"log row {seq} was edited: its hash does not match its entry")
        entry = json.loads(text)
        if entry["rollout"] != row["rollout_id"]:
            raise VerifierError(f"log row {seq} was edited: it is filed under another rollout than its entry names")
        digests.add(entry)
        statements.add(entry)
        questions.add(seq, entry)
        tree_hashes.update(((level, n), hash_.hex()) for level, n, hash_ in frontier.push(leaf_hash(text.encode())))
        head, last = str(row["hash"]), seq
        heads.add(head)
        _compare(frontier, earlier)
    # The end of the log: AUTOINCREMENT remembers the largest number that was ever given, in a table of SQLite's own.
    (written,) = database.conn.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'log'"
    ).fetchone()
    if written != last:
        raise VerifierError(f"log rows {last + 1} to {written} are missing at the end")
    if expected_head is not None and expected_head not in heads:
        raise VerifierError(f"no log row has the hash {expected_head}; this is not the log that the result came from")
    if earlier is not None and last < earlier.size:
        raise ReceiptError(
            f"the log has {last} entries, and the checkpoint was given at {earlier.size}: it was cut short, or is "
            "another one",
            step="consistency",
        )
    # The other tables against what the log says of them. A ledger that no verifier has opened since there is a tree
    # has none.
    if database.conn.execute("PRAGMA user_version").fetchone()[0] >= tree.VERSION:
        stored = database.query("SELECT level, n, hash FROM tree")
        _same("tree's hash", tree_hashes, (((row["level"], row["n"]), bytes(row["hash"]).hex()) for row in stored))
    digests.compare(database)
    # The digest in the log is of a result without log_head, which is therefore compared by itself.
    for query in (OTHER_HEADS, OTHER_FINAL_HEADS) if digests.settled else (OTHER_HEADS,):
        for row in database.query(query):
            raise VerifierError(f"the log_head of the result of {row['id']} is not the hash of its row in the log")
    statements.compare(database)
    questions.finish()
    return ChainReport(last, head, base64.b64encode(frontier.root()).decode())


def _compare(frontier: Frontier, earlier: Checkpoint | None) -> None:
    """Check the root at the size of an earlier checkpoint."""
    if earlier is not None and frontier.size == earlier.size and frontier.root() != earlier.root:
        raise ReceiptError(
            f"the first {earlier.size} entries of the log are not those of the checkpoint: the log was written anew, "
            "or is another one",
            step="consistency",
        )


class Digests:
    """Digests that the log states for the rows of the other tables, by the columns that tell these rows apart."""

    def __init__(self) -> None:
        self.payload: dict[tuple[str, int], str] = {}
        """Values of submissions, by rollout and number."""
        self.feedback: dict[tuple[str, int], str] = {}
        """Feedback on submissions, by rollout and number."""
        self.result: dict[str, str] = {}
        """Results by rollout."""
        self.settled: dict[str, str] = {}
        """Final results of deferred rollouts, by rollout."""
        self.asked: dict[str, str] = {}
        """Questions of deferred rollouts, with what was shown of them, by rollout."""
        self.episode: dict[tuple[str, int], str] = {}
        """Fold and number of episodes, by rollout and count."""
        self.action: dict[tuple[str, int, int], str] = {}
        """Actions by rollout, episode and step."""
        self.board: dict[str, str] = {}
        """Boards by season."""

    def add(self, entry: dict[str, object]) -> None:
        """Record the digests that one entry states."""
        rollout = str(entry["rollout"])
        match entry:
            case {"event": "accepted" | "practised" | "played", "submission": int(n), "payload": str(digest)}:
                self.payload[rollout, n] = digest
            case {"event": "episode-started", "episode": int(n), "fold": str(fold), "number": int(number)}:
                self.episode[rollout, n] = f"{fold} {number}"
            case {"event": "stepped", "episode": int(n), "step": int(step), "action": str(digest)}:
                self.action[rollout, n, step] = digest
            case {"event": "scored", "submission": int(n), "feedback": str(digest)}:
                if (rollout, n) in self.feedback:
                    raise VerifierError(f"submission {n} of rollout {rollout} was scored twice")
                self.feedback[rollout, n] = digest
            case {"event": "finalized", "result": str(digest)}:
                if rollout in self.result:
                    raise VerifierError(f"rollout {rollout} was finalized twice")
                self.result[rollout] = digest
            case {"event": "settled", "result": str(digest)}:
                if rollout in self.settled:
                    raise VerifierError(f"rollout {rollout} was settled twice")
                self.settled[rollout] = digest
            case {"event": "season-closed", "season": str(season), "board": str(digest)}:
                self.board[season] = digest
            case {"event": "rollout-asked", "questions": str(questions), "shown": str(digest)}:
                self.asked[rollout] = f"{questions} {digest}"

    def compare(self, database: Database) -> None:
        """Check every payload, action, feedback and result against what the log says of it.

        Raises:
            VerifierError: with the first one that is not what the log says, or is missing.
        """
        _same("payload", self.payload, self._payloads(database))
        _same("feedback", self.feedback, self._feedback(database))
        _same("result", self.result, self._results(database, "result"))
        # A ledger that no verifier has opened since there are episodes, or deferred rollouts, has no tables of them.
        tables = database.table_names()
        if "rollout_data" in tables or self.asked:
            _same("settled result", self.settled, self._results(database, "settled"))
            _same("questions", self.asked, self._asked(database))
        if "retired" in tables or self.board:
            _same("board", self.board, self._boards(database))
        if "episodes" in tables:
            _same("episode", self.episode, self._episodes(database))
            _same("action", self.action, self._actions(database))

    @staticmethod
    def _payloads(database: Database) -> Iterator[tuple[object, str]]:
        for row in database.query(
            "SELECT rollout_id, n, content FROM submissions JOIN payloads ON submission = submissions.id"
        ):
            yield (row["rollout_id"], row["n"]), sha256_of(row["content"])

    @staticmethod
    def _feedback(database: Database) -> Iterator[tuple[object, str]]:
        for row in database.query("SELECT rollout_id, n, feedback FROM submissions WHERE feedback IS NOT NULL"):
            yield (row["rollout_id"], row["n"]), sha256_of_text(row["feedback"])

    @staticmethod
    def _episodes(database: Database) -> Iterator[tuple[object, str]]:
        for row in database.query("SELECT rollout_id, n, fold, number FROM episodes"):
            yield (row["rollout_id"], row["n"]), f"{row['fold']} {row['number']}"

    @staticmethod
    def _actions(database: Database) -> Iterator[tuple[object, str]]:
        for row in database.query("SELECT rollout_id, n, step, action FROM steps JOIN episodes ON episode = id"):
            yield (row["rollout_id"], row["n"], row["step"]), sha256_of_text(row["action"])

    @staticmethod
    def _asked(database: Database) -> Iterator[tuple[object, str]]:
        asked: dict[str, list[str]] = {}
        query = "SELECT rollout_id, row, name FROM rollout_questions LEFT JOIN questions ON id = question ORDER BY row"
        for row in database.query(query):
            asked.setdefault(row["rollout_id"], []).append(f"{row['row']} {row['name']}")
        shown = {row["rollout_id"]: sha256_of(row["content"]) for row in database.query("SELECT * FROM rollout_data")}
        for rollout in asked.keys() | shown.keys():
            questions = sha256_of_text("\n".join(asked.get(rollout, [])))
            yield rollout, f"{questions} {shown.get(rollout)}"

    @staticmethod
    def _boards(database: Database) -> Iterator[tuple[object, str]]:
        for row in database.query("SELECT name, board FROM seasons WHERE board IS NOT NULL"):
            yield row["name"], sha256_of_text(row["board"])

    @staticmethod
    def _results(database: Database, column: str) -> Iterator[tuple[object, str]]:
        query = f"SELECT id, {column} AS result FROM rollouts WHERE {column} IS NOT NULL"  # noqa: S608  # one of two
        # Without log_head, which was not known yet when the digest was made.
        for row in database.query(query):
            document = {key: value for key, value in json.loads(row["result"]).items() if key != "log_head"}
            yield row["id"], sha256_of_json(document)


def _same(what: str, logged: object, rows: Iterator[tuple[object, str]]) -> None:
    """Check digests of the ledger's rows against those of the log, in both directions.

    Args:
        what: name of what is compared, for messages.
        logged: the digests that the log states, by key.
        rows: key and digest of each row of the ledger.
    """
    assert isinstance(logged, dict)
    seen = set()
    for key, digest in rows:
        seen.add(key)
        if logged.get(key) != digest:
            raise VerifierError(f"the {what} of {key} is not the one in the log")
    if missing := logged.keys() - seen:
        raise VerifierError(f"the {what} of {min(missing)} is in the log but not in the ledger")
