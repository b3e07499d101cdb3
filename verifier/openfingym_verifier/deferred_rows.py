"""What the ledger says of deferred rollouts, and of questions that they could be asked."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.questions import Question
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.questions.reading import LedgerQuestion

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from openfingym.kinds import Array


@dataclass(frozen=True, eq=False)
class Kept:
    """What the ledger holds of a deferred rollout's questions, in the order of its private rows."""

    questions: tuple[LedgerQuestion, ...]
    states: tuple[str, ...]
    truths: tuple[Any, ...]
    """None where there is none."""
    answers: tuple[Any, ...]
    """The answers that count, as JSON values; None where there is none."""

    @property
    def over(self) -> bool:
        """Whether every question is scored or void."""
        return all(state in {"scored", "void"} for state in self.states)


def kept_of(connection: sqlite3.Connection, rollout_id: str) -> Kept:
    """What a rollout was asked, and what came of it."""
    query = (
        "SELECT questions.id, questions.content, simulated, state, truth, forecasts.answer"
        " FROM rollout_questions JOIN questions ON questions.id = rollout_questions.question"
        " LEFT JOIN resolutions ON resolutions.question = questions.id AND n = 1"
        " LEFT JOIN forecasts ON forecasts.question = questions.id AND counts = 1"
        " AND forecasts.rollout_id = rollout_questions.rollout_id"
        " WHERE rollout_questions.rollout_id = ? ORDER BY row"
    )
    rows = connection.execute(query, (rollout_id,)).fetchall()
    parsed = [[None if text is None else json.loads(text) for text in (row[4], row[5])] for row in rows]
    states, truths = tuple(row[3] for row in rows), tuple(one[0] for one in parsed)
    return Kept(tuple(map(_known, rows)), states, truths, tuple(one[1] for one in parsed))


def packed(arrays: Mapping[str, Array]) -> bytes:
    """Arrays that a rollout is shown, as they are kept."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def shown_to(connection: sqlite3.Connection, rollout_id: str) -> dict[str, Array]:
    """What a rollout is shown of its questions: rows of public arrays by their names, and ``shown``, the prices."""
    row = connection.execute("SELECT content FROM rollout_data WHERE rollout_id = ?", (rollout_id,)).fetchone()
    with np.load(io.BytesIO(row[0]), allow_pickle=False) as arrays:
        return dict(arrays)


def unsettled(connection: sqlite3.Connection, questions: Sequence[int] | None) -> list[str]:
    """Rollouts with a deferred result none of whose questions is open; of some questions, or of all."""
    query = (
        "SELECT DISTINCT rollouts.id FROM rollouts JOIN rollout_questions ON rollout_id = rollouts.id"
        " WHERE rollouts.questions IS NOT NULL AND settled IS NULL AND json_extract(result, '$.state') = 'deferred'"
        " AND (:some IS NULL OR question IN (SELECT value FROM json_each(:some))) AND NOT EXISTS (SELECT 1 FROM"
        " rollout_questions AS other JOIN questions ON questions.id = other.question"
        " WHERE other.rollout_id = rollouts.id AND state NOT IN ('scored', 'void'))"
    )
    some = None if questions is None else json.dumps(questions)
    return [row[0] for row in connection.execute(query, {"some": some})]


def asked_since(connection: sqlite3.Connection, task_digest: str, since_ns: int) -> str | None:
    """The latest rollout of a task that was asked about the real market after a moment, while that is all open; None
    where there is none.
    """
    query = (
        "SELECT rollouts.id, min(generated_ns), sum(state != 'pending') FROM rollouts"
        " JOIN rollout_questions ON rollout_id = rollouts.id JOIN questions ON questions.id = question"
        " WHERE task_digest = ? AND rollouts.questions IS NOT NULL AND clock = ?"
        " AND rollouts.created_ns >= ? GROUP BY rollouts.id ORDER BY rollouts.created_ns DESC LIMIT 1"
    )
    row = connection.execute(query, (task_digest, REAL_CLOCK, since_ns)).fetchone()
    return None if row is None or row[1] < since_ns or row[2] else str(row[0])


def open_questions(connection: sqlite3.Connection, form: str, after_ns: int) -> list[LedgerQuestion]:
    """Questions of the real clock that take answers until a moment or longer, those that are resolved first in front;
    without those that were asked for a rollout about a market.
    """
    query = (
        "SELECT id, content, simulated FROM questions WHERE state = 'pending' AND form = ? AND clock = ?"
        " AND simulated = 0 AND deadline_ns >= ? AND NOT EXISTS (SELECT 1 FROM rollout_questions"
        " WHERE question = questions.id AND name = rollout_id || '/' || row) ORDER BY evaluation_ns, id"
    )
    return list(map(_known, connection.execute(query, (form, REAL_CLOCK, after_ns))))


def named_questions(connection: sqlite3.Connection, names: Sequence[str]) -> list[LedgerQuestion]:
    """Questions by their ids, in that order; those that there are."""
    query = (
        "SELECT questions.id, content, simulated FROM questions JOIN json_each(?) AS named ON named.value = name"
        " ORDER BY named.key"
    )
    return list(map(_known, connection.execute(query, (json.dumps(list(names)),))))


def _known(row: sqlite3.Row) -> LedgerQuestion:
    return LedgerQuestion(row[0], Question.from_dict(json.loads(row[1])), bool(row[2]))
