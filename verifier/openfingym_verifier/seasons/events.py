"""The events of seasons and of what is entered in them, each one operation on the ledger with its log entries."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json, sha256_of
from openfingym_verifier.disclosure.disclosure import told_digest
from openfingym_verifier.disclosure.rations import Released
from openfingym_verifier.ledger.rows import RetiredFold, rollout_row
from openfingym_verifier.policy import ENTRIES, LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.events import disclose
from openfingym_verifier.seasons.boards import board_of

if TYPE_CHECKING:
    import sqlite3

    from openfingym_verifier.ledger.rows import RolloutRow, SeasonRecord
    from openfingym_verifier.ledger.writer import Transaction

WAS_TOLD = (
    "SELECT 1 FROM rollouts WHERE id = ? AND result IS NOT NULL"
    " AND (disclosure != 'held' OR json_extract(result, '$.ladder') IS NOT NULL)"
)
"""Query of whether a rollout's principal has been told anything of its private result."""


@dataclass(frozen=True)
class SeasonOpened:
    """A season began."""

    season: SeasonRecord

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where there was one of that name."""
        season = self.season
        written = transaction.connection.execute(
            "INSERT INTO seasons (name, opened_ns, kind, reused) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (season.name, season.opened_ns, season.kind, json.dumps(season.reused)),
        )
        if written.rowcount == 1:
            entry = {"event": "season-opened", "at_ns": season.opened_ns, "season": season.name, "kind": season.kind}
            transaction.log("", {**entry, "reused": list(season.reused)})
        return written.rowcount == 1


@dataclass(frozen=True)
class Entered:
    """A participant entered a rollout in its season, or made it its primary entry."""

    rollout_id: str
    at_ns: int
    primary: bool
    """Whether it is to be the primary entry; the first one is anyway."""

    def apply(self, transaction: Transaction) -> bool | Problem:
        """Write it; returns whether it is the primary entry, or why it cannot be entered."""
        connection = transaction.connection
        if connection.execute(WAS_TOLD, (self.rollout_id,)).fetchone() is not None:
            return Problem(
                "too-late", "Something was told of this rollout's private fold; enter a rollout before that."
            )
        others = dict(
            connection.execute(
                "SELECT rollout_id, is_primary FROM entries JOIN rollouts AS own ON own.id = rollout_id JOIN rollouts"
                " AS this ON this.id = ? WHERE (own.season, own.task, own.principal) = (this.season, this.task,"
                " this.principal)",
                (self.rollout_id,),
            ).fetchall()
        )
        if self.rollout_id not in others and len(others) >= ENTRIES:
            return Problem(
                "entries-exhausted", f"{ENTRIES} rollouts of this task are entered, as many as may be; enter no other."
            )
        before = next((known for known, is_primary in others.items() if is_primary), None)
        primary = self.primary or before in {None, self.rollout_id}
        instead = before if primary and before != self.rollout_id else None
        if instead is not None and connection.execute(WAS_TOLD, (instead,)).fetchone() is not None:
            return Problem(
                "too-late", "Something was told of the primary entry, which therefore stays the primary one."
            )
        enter(transaction, self.rollout_id, self.at_ns, primary=primary, instead=instead)
        return primary


def enter(transaction: Transaction, rollout_id: str, at_ns: int, *, primary: bool, instead: str | None = None) -> None:
    """Write that a rollout is entered.

    Args:
        transaction: the transaction of the event.
        rollout_id: the rollout.
        at_ns: Unix time in nanoseconds.
        primary: whether it is the primary entry.
        instead: the entry that was the primary one before; None where none was.
    """
    connection = transaction.connection
    if instead is not None:
        connection.execute("UPDATE entries SET is_primary = 0 WHERE rollout_id = ?", (instead,))
    connection.execute(
        "INSERT INTO entries (rollout_id, is_primary, filed_ns) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET is_primary = excluded.is_primary, filed_ns = excluded.filed_ns,"
        " changes = changes + 1",
        (rollout_id, int(primary), at_ns),
    )
    entry = {"event": "entered", "at_ns": at_ns, "primary": primary}
    transaction.log(rollout_id, entry | ({} if instead is None else {"instead": instead}))


@dataclass(frozen=True)
class Closing:
    """What became of a season that was closed."""

    released: tuple[Released, ...]
    retired: tuple[RetiredFold, ...]


@dataclass(frozen=True)
class SeasonClosed:
    """A season ended: all that was entered is told at once, and the hidden data that were told of are retired."""

    season: SeasonRecord
    at_ns: int

    def apply(self, transaction: Transaction) -> Closing | None:
        """Write it; returns what is told and retired, or None where there is no open season of that name."""
        connection, name = transaction.connection, self.season.name
        written = connection.execute(
            "UPDATE seasons SET closed_ns = ? WHERE name = ? AND closed_ns IS NULL", (self.at_ns, name)
        )
        if written.rowcount != 1:
            return None
        played = _played(connection, name)
        # Of each participant and task the first: whoever could choose among several, having been shown what came of
        # their answers, would enter the luckiest.
        for row in {(row.task, row.principal): row for row in reversed(played)}.values():
            enter(transaction, row.id, self.at_ns, primary=True)
        entries = [
            (rollout_row({key: row[key] for key in row if key != "is_primary"}), bool(row["is_primary"]))
            for row in _rows(
                connection,
                "SELECT rollouts.*, is_primary FROM entries JOIN rollouts ON rollout_id = id WHERE season = ?"
                " ORDER BY task, filed_ns, id",
                (name,),
            )
        ]
        released = tuple(
            self._release(transaction, row) for row, _ in entries if row.result is not None and row.disclosure == "held"
        )
        # What was played was shown, and what is told follows from an answer.
        told = {
            row.hidden_digest or row.task_digest: row
            for row in (*(row for row, _ in entries if row.result is not None and row.accepted), *played)
            if row.shared
        }
        retired = tuple(RetiredFold(fold, row.task, name, row.task_digest) for fold, row in sorted(told.items()))
        for fold in retired:
            connection.execute(
                "INSERT INTO retired (fold, task, season, task_digest) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " season = excluded.season, task = excluded.task, task_digest = excluded.task_digest",
                astuple(fold),
            )
        board = canonical_json(board_of(self.season, self.at_ns, entries))
        connection.execute("UPDATE seasons SET board = ? WHERE name = ?", (board.decode(), name))
        entry = {"event": "season-closed", "at_ns": self.at_ns, "season": name, "board": sha256_of(board)}
        transaction.log("", {**entry, "retired": {fold.fold: fold.task for fold in retired}})
        return Closing(released, retired)

    def _release(self, transaction: Transaction, row: RolloutRow) -> Released:
        """Write that a result that was held is told."""
        assert row.result is not None
        result = {key: value for key, value in row.result.items() if key != "log_head"}
        transaction.connection.execute("UPDATE rollouts SET disclosure = 'rounded' WHERE id = ?", (row.id,))
        transaction.log(
            row.id,
            {
                "event": "released",
                "at_ns": self.at_ns,
                "disclosure": "rounded",
                "state": result["state"],
                "flags": result["flags"],
                "result": sha256_of(canonical_json(result)),
                "told": told_digest(result),
            },
        )
        # What the ladder has answered is counted already.
        counts = row.shared and "ladder" not in result
        disclose(transaction, row.id, "private", 1, self.at_ns)
        return Released(row.id, row.principal, row.told_of("private"), counts)


def _played(connection: sqlite3.Connection, season: str) -> list[RolloutRow]:
    """The rollouts of participants, on tasks as they are, that have begun to play a private fold in a season, in the
    order in which they did.
    """
    query = (
        "SELECT rollouts.* FROM rollouts JOIN (SELECT rollout_id, min(started_ns) AS began FROM episodes"
        " WHERE fold = 'private' GROUP BY rollout_id) ON rollout_id = rollouts.id WHERE season = ?"
        " AND policy = 'strict' AND principal NOT IN (?, ?) AND split = 'test' AND session IS NULL"
        " AND questions IS NULL AND question_range IS NULL ORDER BY began, rollouts.id"
    )
    return [rollout_row(row) for row in _rows(connection, query, (season, LOCAL_USER, OPERATOR))]


def _rows(connection: sqlite3.Connection, query: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
    """The rows of a query by the names of its columns."""
    found = connection.execute(query, values)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
