"""What the ledger says of deferred rollouts, and of questions that they could be asked."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.questions.reading import LedgerQuestion, question_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from openfingym.kinds.material import Array


@dataclass(frozen=True, eq=False)
class QuestionOutcomes:
    """What a deferred rollout was asked, and what has come of it so far, in the order of its private rows."""

    questions: tuple[LedgerQuestion, ...]
    states: tuple[str, ...]
    """The state of each question, one of :data:`openfingym_verifier.questions.reading.STATES`."""
    truths: tuple[Any, ...]
    """The truth of each question, as a JSON value; None where there is none yet, or where the question is void."""
    answers: tuple[Any, ...]
    """The rollout's answers that count, as JSON values; None where a question has no answer in time."""

    @property
    def all_ended(self) -> bool:
        """Whether every question is scored or void."""
        return all(state in {"scored", "void"} for state in self.states)


def outcomes_of(connection: sqlite3.Connection, rollout_id: str) -> QuestionOutcomes:
    """What a rollout was asked, and what has come of it so far."""
    # n = 1 is the resolution that decides. Several rollouts may be asked the same question, so that forecasts are told
    # apart by their rollout.
    query = (
        "SELECT questions.id, questions.content, simulated, state, truth, forecasts.answer"
        " FROM rollout_questions JOIN questions ON questions.id = rollout_questions.question"
        " LEFT JOIN resolutions ON resolutions.question = questions.id AND n = 1"
        " LEFT JOIN forecasts ON forecasts.question = questions.id AND counts = 1"
        " AND forecasts.rollout_id = rollout_questions.rollout_id"
        " WHERE rollout_questions.rollout_id = ? ORDER BY row"
    )
    rows = connection.execute(query, (rollout_id,)).fetchall()
    return QuestionOutcomes(
        questions=tuple(map(_known, rows)),
        states=tuple(row[3] for row in rows),
        truths=tuple(_parsed(row[4]) for row in rows),
        answers=tuple(_parsed(row[5]) for row in rows),
    )


def packed(arrays: Mapping[str, Array]) -> bytes:
    """Arrays that a rollout is shown, as the ledger keeps them: ``.npz`` without pickle."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def shown_to(connection: sqlite3.Connection, rollout_id: str) -> dict[str, Array]:
    """What a rollout is shown of its questions: rows of public arrays by their names, and ``shown``, the prices."""
    row = connection.execute("SELECT content FROM rollout_data WHERE rollout_id = ?", (rollout_id,)).fetchone()
    with np.load(io.BytesIO(row[0]), allow_pickle=False) as arrays:
        return dict(arrays)


def unsettled(connection: sqlite3.Connection, questions: Sequence[int] | None) -> list[str]:
    """Ids of the rollouts with a deferred result none of whose questions is open any more.

    Args:
        connection: a reader of the ledger.
        questions: rows of questions, of which a rollout was asked at least one; None for all rollouts.
    """
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
    """Id of the latest rollout of a task that was asked about the real market, if all of its questions were generated
    since a moment and are open still; None otherwise.

    Args:
        connection: a reader of the ledger.
        task_digest: digest of the task.
        since_ns: Unix time in nanoseconds.
    """
    query = (
        "SELECT rollouts.id, min(generated_ns), sum(state != 'pending') FROM rollouts"
        " JOIN rollout_questions ON rollout_id = rollouts.id JOIN questions ON questions.id = question"
        " WHERE task_digest = ? AND rollouts.questions IS NOT NULL AND clock = ?"
        " AND rollouts.created_ns >= ? GROUP BY rollouts.id ORDER BY rollouts.created_ns DESC LIMIT 1"
    )
    row = connection.execute(query, (task_digest, REAL_CLOCK, since_ns)).fetchone()
    # A rollout may be new and its questions old: it was asked those of an earlier one, whose time runs from then.
    return None if row is None or row[1] < since_ns or row[2] else str(row[0])


def open_questions(connection: sqlite3.Connection, form: str, after_ns: int) -> list[LedgerQuestion]:
    """Questions of the real clock that take answers until a moment or longer, those that are resolved first in front;
    without those that were asked for a rollout about a market.

    Args:
        connection: a reader of the ledger.
        form: form of the answer to the questions.
        after_ns: Unix time in nanoseconds before which no deadline lies.
    """
    # A question that was made for a rollout bears its id and row as a name.
    query = (
        "SELECT id, content, simulated FROM questions WHERE state = 'pending' AND form = ? AND clock = ?"
        " AND simulated = 0 AND deadline_ns >= ? AND NOT EXISTS (SELECT 1 FROM rollout_questions"
        " WHERE question = questions.id AND name = rollout_id || '/' || row) ORDER BY evaluation_ns, id"
    )
    return list(map(_known, connection.execute(query, (form, REAL_CLOCK, after_ns))))


def named_questions(connection: sqlite3.Connection, names: Sequence[str]) -> list[LedgerQuestion]:
    """Questions by their ids, in the order of the ids; an id that no question has is left out."""
    query = (
        "SELECT questions.id, content, simulated FROM questions JOIN json_each(?) AS named ON named.value = name"
        " ORDER BY named.key"
    )
    return list(map(_known, connection.execute(query, (json.dumps(list(names)),))))


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _known(row: sqlite3.Row) -> LedgerQuestion:
    return LedgerQuestion(row[0], question_of(row[1]), bool(row[2]))
