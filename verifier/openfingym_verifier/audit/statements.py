"""What the log states of rows of the other tables, beside the digests of what they hold.

Not stated, and so not found when it is changed, is what a rollout's rationing goes by: the tokens of its bucket, its
last refusal, the keys of repeated requests, and the count of disclosures.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from openfingym.errors import VerifierError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlite_utils import Database

CREATED = ("task", "task_digest", "agent", "seed", "budget", "expires_ns", "principal", "season", "policy", "tape")
"""Columns of a rollout that its first entry states under the same names."""
ORDERS = frozenset({"session", "questions"})
"""Columns of a rollout that hold JSON, or nothing where the entry does not speak of them."""
IN_JSON = ORDERS | {"reused"}
"""Columns that hold JSON."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "rollouts": ("id",),
    "submissions": ("rollout_id", "n"),
    "episodes": ("rollout_id", "n"),
    "participants": ("name",),
    "seasons": ("name",),
    "agents": ("principal", "digest"),
    "entries": ("rollout_id",),
    "retired": ("fold",),
}
"""Tables, and the columns that their rows are known by."""
LARGE = frozenset({"result", "feedback", "board"})
"""Columns that are compared by their digests."""

Row = dict[str, Any]


class Statements:
    """Rows as the log states them, column by column; a column that no entry speaks of is not compared."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, dict[tuple[object, ...], Row]] = defaultdict(dict)
        self._committed: dict[str, Mapping[str, Any]] = {}
        """The entry of each rollout's end, with what it commits to."""

    def add(self, entry: Mapping[str, Any]) -> None:
        """Record what one entry states."""
        rollout, at_ns = entry["rollout"], entry.get("at_ns")
        # Of an entry about no rollout, or about one that the log never created, what it changes is not compared here.
        row = self._rows["rollouts"].get((rollout,), {})
        match entry:
            case {"event": "rollout-created"}:
                self._create(entry)
            case {"event": "agents-filed", "principal": principal, "agents": digests}:
                self._file(principal, digests, at_ns)
            case {"event": "accepted", "submission": n}:
                row["accepted"] = row.get("accepted", 0) + 1
                self._rows["submissions"][rollout, n] = {"received_ns": at_ns}
            case {"event": "practised" | "played", "submission": n}:
                self._rows["submissions"][rollout, n] = {"received_ns": at_ns}
            case {"event": "extended", "expires_ns": expires_ns}:
                row["expires_ns"] = expires_ns
            case {"event": "rejected"}:
                row["rejected"] = row.get("rejected", 0) + 1
            case {"event": "episode-started", "episode": n, "fold": fold}:
                row["accepted"] = row.get("accepted", 0) + (fold == "private")
                self._rows["episodes"][rollout, n] = {"started_ns": at_ns}
            case {"event": "finalized", "disclosure": disclosure}:
                row["disclosure"] = disclosure
                self._committed[rollout] = entry
            case {"event": "released", "disclosure": disclosure}:
                ended = self._committed.get(rollout, {})
                if (entry.get("result"), entry.get("told")) != (ended.get("result"), ended.get("told")):
                    raise VerifierError(f"rollout {rollout} was told another result than the one it ended with")
                row["disclosure"] = disclosure
            case {"event": "entered", "primary": primary}:
                entries = self._rows["entries"]
                if "instead" in entry:
                    entries.setdefault((entry["instead"],), {})["is_primary"] = 0
                entries[rollout,] = {"is_primary": int(primary), "filed_ns": at_ns}
            case {"event": "participant-added", "participant": name}:
                # The first versions did not write the digest of the key.
                stated = {"key_digest": entry["key"]} if "key" in entry else {}
                stated |= {"organisation": entry.get("organisation")}
                self._rows["participants"][name,] = {"created_ns": at_ns, "revoked_ns": None, **stated}
            case {"event": "participant-revoked", "participant": name}:
                self._rows["participants"].setdefault((name,), {})["revoked_ns"] = at_ns
            case {"event": "season-opened", "season": name}:
                # The first versions had one kind of season.
                stated = {"kind": entry.get("kind", "disclosing"), "reused": entry.get("reused", [])}
                self._rows["seasons"][name,] = {"opened_ns": at_ns, "closed_ns": None, **stated}
            case {"event": "season-closed", "season": name}:
                self._rows["seasons"].setdefault((name,), {})["closed_ns"] = at_ns
                for fold, task in entry.get("retired", {}).items():
                    self._rows["retired"][fold,] = {"task": task, "season": name}

    def _create(self, entry: Mapping[str, Any]) -> None:
        """Record that a rollout was created, and with it that its agent was filed."""
        stated = {name: entry[name] for name in (*CREATED, "tape_commitment") if name in entry}
        created = {"created_ns": entry.get("at_ns"), "accepted": 0, "rejected": 0}
        created |= {name: entry.get(name) for name in ORDERS}
        # An entry that does not speak of them is of a rollout on the task as it is.
        created |= {"split": entry.get("split", "test"), "instance": entry.get("instance")}
        created |= {name: entry.get(name) for name in ("question_range", "agent_digest")}
        if (digest := entry.get("agent_digest")) is not None:
            self._file(entry["principal"], [digest], entry.get("at_ns"))
        self._rows["rollouts"][entry["rollout"],] = {**stated, **created}

    def _file(self, principal: str, digests: Iterable[str], at_ns: object) -> None:
        """Record that agents were filed; the first time counts."""
        for digest in digests:
            self._rows["agents"].setdefault((principal, digest), {"filed_ns": at_ns})

    def compare(self, database: Database) -> None:
        """Check the rows.

        Raises:
            VerifierError: with the first row and column that is not what the log states.
        """
        tables = set(database.table_names())
        for table in KEYS:
            if table in tables:
                self._compare(database, table, self._rows[table])

    @staticmethod
    def _compare(database: Database, table: str, stated: Mapping[tuple[object, ...], Row]) -> None:
        columns = [column.name for column in database[table].columns if column.name not in LARGE]
        unseen = set(stated)
        for row in database.query(f"SELECT {', '.join(columns)} FROM {table}"):  # noqa: S608  # names of its schema
            key = tuple(row[name] for name in KEYS[table])
            if key not in stated:
                raise VerifierError(f"{' '.join(map(str, key))} is in {table} but not in the log")
            unseen.discard(key)
            for name, value in stated[key].items():
                # An older format of the ledger lacks columns that the log speaks of with their defaults.
                if name in row and not _same(name, row[name], value):
                    raise VerifierError(
                        f"the {name} of {' '.join(map(str, key))} in {table} is not the one in the log: "
                        f"{str(row[name])[:80]!r}, where the log has {str(value)[:80]!r}"
                    )
        if unseen:
            missing = min(" ".join(map(str, key)) for key in unseen)
            raise VerifierError(f"{missing} is in the log but not in {table}")


def _same(name: str, stored: object, stated: object) -> bool:
    """Whether a column holds what the log states of it."""
    if name in IN_JSON:
        return (None if stored is None else json.loads(str(stored))) == stated
    # A result that was held is released when its season is closed.
    return stored == stated or (name, stated, stored) == ("disclosure", "held", "rounded")
