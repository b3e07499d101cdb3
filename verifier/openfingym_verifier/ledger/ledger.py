"""The durable record: rollouts, budgets, submissions and results in one SQLite file.

::

    <state>/ledger.db     this file; WAL, synchronous=FULL, one writer
    <state>/token.key     signs rollout tokens
    <state>/lock          held by the one verifier that uses the directory
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from openfingym.errors import StoreError, VerifierError
from openfingym.files.locks import Lock, take
from openfingym.task.exposure import Exposure
from openfingym_verifier.ledger.rows import (
    Climbed,
    Disclosures,
    EntryRow,
    EpisodeRow,
    Playing,
    RetiredFold,
    RolloutRow,
    SeasonRecord,
    SubmissionRow,
    rollout_row,
    submission_row,
)
from openfingym_verifier.ledger.schema import migrate
from openfingym_verifier.ledger.storage import EVENT_BYTES, ROLLOUT_BYTES, SUBMISSION_BYTES
from openfingym_verifier.ledger.writer import LedgerWriter
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.principals import ParticipantRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openfingym_verifier.ledger.writer import Transaction

LOCK_PAUSE_S = 0.05
"""Pause between two tries to take the lock of a state directory."""
UNDERWAY_NS = 60_000_000_000
"""How long after a rollout has expired an episode that it began in time may still be on its way to the disk."""
CHECKPOINT_PAGES = 4096
"""16 MB of log before it is copied into the database: some hundred submissions."""

STORED = """
WITH others AS (SELECT id, principal, rejected FROM rollouts WHERE principal NOT IN (:local, :operator)),
sizes (principal, size) AS (
    SELECT principal, :rollout + :event * rejected FROM others
    UNION ALL SELECT principal, :submission + length(content) FROM payloads
        JOIN submissions ON submissions.id = submission JOIN others ON others.id = rollout_id
    UNION ALL SELECT principal, :event FROM episodes JOIN others ON others.id = rollout_id
    UNION ALL SELECT principal, :event * changes FROM entries JOIN others ON others.id = rollout_id
    UNION ALL SELECT principal, :event + length(CAST(action AS BLOB)) FROM steps
        JOIN episodes ON episodes.id = episode JOIN others ON others.id = rollout_id
    UNION ALL SELECT principal, :event + length(answer) FROM forecasts
        JOIN forecasters ON forecasters.id = forecaster WHERE principal NOT IN (:local, :operator)
    UNION ALL SELECT principal, :event FROM agents WHERE principal NOT IN (:local, :operator) AND NOT EXISTS
        (SELECT 1 FROM rollouts AS first WHERE first.principal = agents.principal AND created_ns = filed_ns)
)
SELECT principal, sum(size) FROM sizes GROUP BY principal
"""
"""Query of what is stored of each participant, as :mod:`openfingym_verifier.ledger.storage` counts it."""
TOLD = """
WITH told AS (
    SELECT principal, task, hidden_digest, instruments, fold, policy, result FROM disclosures
    JOIN rollouts ON rollout_id = id WHERE tape = 'given' AND session IS NULL AND split = 'test'
)
SELECT principal, task AS told_of, fold, policy, result FROM told
UNION ALL SELECT principal, hidden_digest, fold, policy, result FROM told WHERE hidden_digest IS NOT NULL
UNION ALL SELECT principal, value, fold, policy, result FROM told, json_each(instruments) WHERE fold = 'private'
"""
"""Query of what was told of given tapes, once for each name that it is counted by (:meth:`RolloutRow.told_of`)."""
PROBE_BYTES = 64 * 1024
"""Bytes that are written and emptied again, to see whether a rollout could be written."""


class Ledger:
    """One state directory, held exclusively: a writer and short-lived readers."""

    def __init__(self, state: Path, *, wait_s: float = 0.0) -> None:
        """Open or create the ledger in ``state``.

        Args:
            state: the state directory, which is made if it is missing.
            wait_s: seconds to wait for another verifier that uses the directory.

        Raises:
            VerifierError: another verifier uses the directory, or it was written by a newer version.
            StoreError: the directory or the ledger cannot be read or written.
        """
        try:
            with contextlib.ExitStack() as unless_opened:
                state.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Before the file is opened: two verifiers on one ledger would each spend the same budget.
                self._lock = _exclusive(state / "lock", wait_s)
                unless_opened.callback(self._lock.release)
                self.path = state / "ledger.db"
                # SQLite gives its side files the mode of the database.
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                # Transactions are the writer's own; Python would otherwise begin some by itself.
                connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
                unless_opened.callback(connection.close)
                _prepare(connection)
                migrate(connection, self.path)
                unless_opened.pop_all()
        except (OSError, sqlite3.DatabaseError) as error:
            raise StoreError(f"{state}: the verifier's state cannot be opened: {error}") from error
        self.writer = LedgerWriter(connection)

    def close(self) -> None:
        """Write what is queued and let go of the directory."""
        self.writer.close()
        self._lock.release()

    async def probe(self) -> None:
        """Write as much as a small rollout does, and roll it back: whether the disk can be written.

        Raises:
            sqlite3.OperationalError: the disk is full, or cannot be written.
        """

        def write(transaction: Transaction) -> None:
            transaction.connection.execute("INSERT INTO probes VALUES (zeroblob(?))", (PROBE_BYTES,))
            transaction.connection.execute("DELETE FROM probes")

        await self.writer.submit(write)

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection for one consistent look."""
        # Read-only and short-lived: readers in several threads share nothing with the writer.
        connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            # One transaction, so that all of a reader's queries see the same moment.
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()

    def rollout(self, rollout_id: str) -> tuple[RolloutRow, list[SubmissionRow]] | None:
        """A rollout and its accepted submissions in order; None where there is no such rollout."""
        with self.read() as connection:
            row = connection.execute("SELECT * FROM rollouts WHERE id = ?", (rollout_id,)).fetchone()
            if row is None:
                return None
            query = "SELECT n, idempotency_key, body_digest, feedback FROM submissions WHERE rollout_id = ? ORDER BY n"
            return rollout_row(row), [submission_row(entry) for entry in connection.execute(query, (rollout_id,))]

    def open_rollouts(self, now_ns: int) -> list[str]:
        """Ids of the rollouts without a result that have not expired."""
        query = "SELECT id FROM rollouts WHERE result IS NULL AND expires_ns > ? ORDER BY created_ns"
        with self.read() as connection:
            return [row["id"] for row in connection.execute(query, (now_ns,))]

    def entered(self, principal: str, season: str) -> set[str]:
        """Names of the tasks on which a principal has begun a rollout in a season, instances left out."""
        query = "SELECT DISTINCT task FROM rollouts WHERE principal = ? AND season = ? AND split = 'test'"
        with self.read() as connection:
            return {row["task"] for row in connection.execute(query, (principal, season))}

    def may_have_played(self, principal: str, now_ns: int) -> list[Playing]:
        """What a principal has played on given tapes, or could still play: begun a private episode of it, or created a
        rollout in which it could begin one.

        Args:
            principal: name of the principal.
            now_ns: present Unix time in nanoseconds.
        """
        begun = (
            "SELECT task, hidden_digest, task_digest, created_ns AS first_ns FROM rollouts WHERE principal = ?"
            " AND tape = 'given' AND session IS NULL AND split = 'test'"
            " AND (accepted > 0 OR (result IS NULL AND expires_ns > ?))"
        )
        return self._playings(begun, (principal, now_ns - UNDERWAY_NS))

    def shown(self, rollout: RolloutRow) -> list[Playing]:
        """What the principal of a rollout was shown in others: the private episodes that it began on given tapes, or of
        a session on a tape that was recorded those on the same tape.
        """
        begun = (
            "SELECT task, hidden_digest, task_digest, min(started_ns) AS first_ns FROM episodes JOIN rollouts"
            " ON rollouts.id = rollout_id WHERE principal = ? AND tape = 'given' AND split = 'test'"
            " AND questions IS NULL AND rollouts.id != ? AND fold = 'private'"
            " AND CASE WHEN ? THEN session IS NULL ELSE json_extract(session, '$.tape') = ? END GROUP BY rollout_id"
        )
        tape = None if rollout.session is None else rollout.session.get("tape")
        return self._playings(begun, (rollout.principal, rollout.id, rollout.session is None, tape))

    def _playings(self, begun: str, values: tuple[object, ...]) -> list[Playing]:
        """What rollouts have played, from a query of their tasks and the times at which they began."""
        query = (
            f"SELECT task, hidden_digest, content, count(*), min(first_ns) FROM ({begun}) LEFT JOIN exposures"  # noqa: S608
            " USING (task_digest) GROUP BY task, hidden_digest, task_digest"
        )
        with self.read() as connection:
            rows = connection.execute(query, values).fetchall()
        return [
            Playing(task, digest, None if content is None else Exposure.of(json.loads(content)), count, first_ns)
            for task, digest, content, count, first_ns in rows
        ]

    def filed(self, principal: str) -> dict[str, int]:
        """When a principal filed each of its agents or first ran it, in Unix nanoseconds, by the agent's digest."""
        with self.read() as connection:
            query = "SELECT digest, filed_ns FROM agents WHERE principal = ?"
            return {row["digest"]: row["filed_ns"] for row in connection.execute(query, (principal,))}

    def payload(self, rollout_id: str, n: int) -> bytes | None:
        """Values of the n-th accepted submission, from 1: little-endian float64, C order; None where there is none."""
        query = "SELECT content FROM payloads JOIN submissions ON submission = id WHERE rollout_id = ? AND n = ?"
        with self.read() as connection:
            row = connection.execute(query, (rollout_id, n)).fetchone()
            return None if row is None else bytes(row["content"])

    def payloads(self, rollout_id: str) -> Iterator[bytes]:
        """Values of every accepted submission of a rollout, in order, read one at a time."""
        query = "SELECT content FROM payloads JOIN submissions ON submission = id WHERE rollout_id = ? ORDER BY n"
        with self.read() as connection:
            for row in connection.execute(query, (rollout_id,)):
                yield row["content"]

    def episodes(self, rollout_id: str) -> list[EpisodeRow]:
        """The episodes of a rollout, in the order they began."""
        query = "SELECT n, fold, number, idempotency_key FROM episodes WHERE rollout_id = ? ORDER BY n"
        with self.read() as connection:
            return [EpisodeRow(**dict(row)) for row in connection.execute(query, (rollout_id,))]

    def actions(self, rollout_id: str, n: int) -> list[str]:
        """The actions of a rollout's n-th episode in order, each as JSON."""
        query = "SELECT action FROM steps JOIN episodes ON episode = id WHERE rollout_id = ? AND n = ? ORDER BY step"
        with self.read() as connection:
            return [row["action"] for row in connection.execute(query, (rollout_id, n))]

    def all_actions(self, rollout_id: str) -> bytes:
        """The actions of all episodes of a rollout in order, one JSON object a line."""
        query = (
            "SELECT n, fold, number, step, action FROM steps JOIN episodes ON episode = id WHERE rollout_id = ? ORDER "
            "BY n, step"
        )
        # Put together as text: an action is JSON already, and the log holds the digest of these very bytes.
        with self.read() as connection:
            lines = (
                f'{{"episode":{row["n"]},"fold":"{row["fold"]}","number":{row["number"]},'
                f'"step":{row["step"]},"action":{row["action"]}}}\n'
                for row in connection.execute(query, (rollout_id,))
            )
            return "".join(lines).encode()

    def action_bytes(self, rollout_id: str) -> int:
        """Length of all actions of a rollout together, in bytes."""
        query = (
            "SELECT coalesce(sum(length(CAST(action AS BLOB))), 0) FROM steps JOIN episodes ON episode = id WHERE "
            "rollout_id = ?"
        )
        with self.read() as connection:
            return int(connection.execute(query, (rollout_id,)).fetchone()[0])

    def stored_bytes(self) -> dict[str, int]:
        """About how many bytes are kept of what each principal has sent, whose names are those of participants."""
        names = {"local": LOCAL_USER, "operator": OPERATOR}
        sizes = {"rollout": ROLLOUT_BYTES, "submission": SUBMISSION_BYTES, "event": EVENT_BYTES}
        with self.read() as connection:
            return {row[0]: row[1] for row in connection.execute(STORED, {**names, **sizes})}

    def participants(self) -> list[ParticipantRecord]:
        """Everybody who was ever given a key, by name."""
        query = "SELECT name, key_digest, created_ns, revoked_ns, organisation FROM participants ORDER BY name"
        with self.read() as connection:
            return [ParticipantRecord(**dict(row)) for row in connection.execute(query)]

    def seasons(self) -> list[SeasonRecord]:
        """All seasons, in the order they were opened."""
        with self.read() as connection:
            return [
                SeasonRecord(row[0], row[1], row[2], row[3], tuple(json.loads(row["reused"])))
                for row in connection.execute(
                    "SELECT name, opened_ns, closed_ns, kind, reused FROM seasons ORDER BY id"
                )
            ]

    def board(self, season: str) -> dict[str, object] | None:
        """The board of a season; None where there is none, or not yet."""
        with self.read() as connection:
            row = connection.execute("SELECT board FROM seasons WHERE name = ?", (season,)).fetchone()
        return None if row is None or row["board"] is None else json.loads(row["board"])

    def retired(self) -> list[RetiredFold]:
        """The hidden data that were told of at the close of a season."""
        with self.read() as connection:
            return [
                RetiredFold(*row) for row in connection.execute("SELECT fold, task, season, task_digest FROM retired")
            ]

    def exposures(self) -> dict[str, Exposure]:
        """What tasks that were played show and hide, by the digest of the task."""
        with self.read() as connection:
            rows = connection.execute("SELECT task_digest, content FROM exposures").fetchall()
        return {row["task_digest"]: Exposure.of(json.loads(row["content"])) for row in rows}

    def of_unknown_data(self) -> set[str]:
        """Digests of the tasks of which there are rollouts, from an older version, without their hidden data's."""
        query = (
            "SELECT DISTINCT task_digest FROM rollouts WHERE hidden_digest IS NULL AND tape = 'given'"
            " AND split = 'test' AND session IS NULL UNION SELECT fold FROM retired WHERE task_digest IS NULL"
        )
        with self.read() as connection:
            return {row[0] for row in connection.execute(query)}

    def entry(self, rollout_id: str) -> bool | None:
        """Whether a rollout is a primary entry; None where it is not entered."""
        with self.read() as connection:
            row = connection.execute("SELECT is_primary FROM entries WHERE rollout_id = ?", (rollout_id,)).fetchone()
            return None if row is None else bool(row[0])

    def ladders(self) -> list[Climbed]:
        """How far the ladder of each fold was climbed, and how much was told of it in all."""
        query = (
            f"SELECT told_of, count(*), min(json_extract(result, '$.ladder.top')) FROM ({TOLD}) WHERE fold = 'private'"  # noqa: S608
            " AND policy = 'strict' AND principal NOT IN (?, ?) GROUP BY told_of"
        )
        with self.read() as connection:
            return [Climbed(*row) for row in connection.execute(query, (LOCAL_USER, OPERATOR))]

    def entries(self, season: str) -> list[EntryRow]:
        """What was entered in a season, in the order in which it was filed."""
        query = (
            "SELECT rollout_id, task, principal, is_primary, filed_ns FROM entries JOIN rollouts ON rollout_id = id"
            " WHERE season = ? ORDER BY filed_ns, rollout_id"
        )
        with self.read() as connection:
            return [
                EntryRow(row[0], row[1], row[2], bool(row[3]), row[4]) for row in connection.execute(query, (season,))
            ]

    def disclosures(self) -> list[Disclosures]:
        """What has been disclosed of given tapes, added up over rollouts; whatever the season, since labels stay the
        same.
        """
        query = f"SELECT principal, told_of, fold, count(*) FROM ({TOLD}) GROUP BY principal, told_of, fold"  # noqa: S608
        with self.read() as connection:
            return [Disclosures(*row) for row in connection.execute(query)]

    def finished_of(self, principal: str, task_digest: str, newest: int) -> list[str]:
        """Ids of a principal's latest finished rollouts on a task's given tape, oldest first.

        Args:
            principal: name of the principal.
            task_digest: digest of the task.
            newest: how many there are at most; older ones are left out.
        """
        query = (
            "SELECT id FROM rollouts WHERE principal = ? AND task_digest = ? AND tape = 'given' AND result IS NOT NULL"
            " AND questions IS NULL AND question_range IS NULL ORDER BY created_ns DESC, id LIMIT ?"
        )
        with self.read() as connection:
            return [row["id"] for row in connection.execute(query, (principal, task_digest, newest))][::-1]

    def flags_of(self, principal: str, task_digest: str) -> set[str]:
        """Every flag that a result of a principal in a task has."""
        finished = "principal = ? AND task_digest = ? AND result IS NOT NULL"
        # The text is put together from constants.
        query = f"SELECT DISTINCT value FROM rollouts, json_each(result, '$.flags') WHERE {finished}"  # noqa: S608
        with self.read() as connection:
            return {row["value"] for row in connection.execute(query, (principal, task_digest))}

    def log_entries(self, rollout_id: str) -> list[dict[str, object]]:
        """This rollout's rows of the log."""
        query = "SELECT seq, entry, prev_hash, hash FROM log WHERE rollout_id = ? ORDER BY seq"
        with self.read() as connection:
            return [
                {**dict(row), "entry": json.loads(row["entry"])} for row in connection.execute(query, (rollout_id,))
            ]


def _exclusive(path: Path, wait_s: float) -> Lock:
    """The lock of a state directory, waited for at most ``wait_s`` seconds."""
    until = time.monotonic() + wait_s
    while True:
        try:
            return take(path, wait=False, mode=0o644)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise VerifierError(
                    f"{path.parent}: another verifier is using this state directory; stop it or choose another"
                ) from None
        # Asked again and again, since waiting for the lock itself cannot be given a time.
        time.sleep(LOCK_PAUSE_S)


def _prepare(connection: sqlite3.Connection) -> None:
    """Set what a writer's connection needs, and SQLite does not remember."""
    connection.execute("PRAGMA journal_mode = WAL")
    # Every commit is on the disk before it is answered: a power cut must not give an agent its budget back.
    connection.execute("PRAGMA synchronous = FULL")
    # SQLite leaves them unchecked unless each connection asks.
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
